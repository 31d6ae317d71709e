package plan

import (
	"github.com/portico-commerce/portico/mapping/legacy/proxy"
	"slices"
)

// withRule returns rules under which rule decides about its resource and calls, and nothing
// else changes. rule names a resource.
func withRule(rules proxy.Rules, rule proxy.Rule) proxy.Rules {
	replaced := func(r proxy.Rule) bool {
		return r.Resource == rule.Resource && (r.Calls == rule.Calls || rule.Calls == proxy.All)
	}
	return append(slices.DeleteFunc(slices.Clone(rules), replaced), rule)
}

// Lines returns the section routes of the configuration that has the rules.
func Lines(rules proxy.Rules) []string {
	if len(rules) == 0 {
		return []string{"routes: []"}
	}
	all := []string{"routes:"}
	for _, r := range rules {
		line := "  - {resource: " + r.Resource
		switch r.Calls {
		case proxy.Reads:
			line += ", calls: reads"
		case proxy.Writes:
			line += ", calls: writes"
		}
		line += ", to: " + nameOf(r.To)
		if r.Shadow {
			line += ", shadow: true"
		}
		if r.Mirror {
			line += ", mirror: true"
		}
		all = append(all, line+"}")
	}
	return all
}
