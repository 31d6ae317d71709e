package migration

import (
	"slices"

	"github.com/portico-commerce/portico/mapping/legacy/passthrough"
)

// withRule returns rules under which rule decides about its resource and calls, and nothing
// else changes. rule names a resource.
func withRule(rules passthrough.Rules, rule passthrough.Rule) passthrough.Rules {
	replaced := func(r passthrough.Rule) bool {
		return r.Resource == rule.Resource && (r.Calls == rule.Calls || rule.Calls == passthrough.All)
	}
	return append(slices.DeleteFunc(slices.Clone(rules), replaced), rule)
}

// Lines returns the section routes of the configuration that has the rules.
func Lines(rules passthrough.Rules) []string {
	if len(rules) == 0 {
		return []string{"routes: []"}
	}
	all := []string{"routes:"}
	for _, r := range rules {
		line := "  - {resource: " + r.Resource
		switch r.Calls {
		case passthrough.Reads:
			line += ", calls: reads"
		case passthrough.Writes:
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
