package plan

import (
	"fmt"
	"slices"

	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/legacy/proxy"
)

// CheckRules returns the reasons why rules must not take effect while there is a legacy store:
// under them clients would read older values than they have written, or the two systems would
// lose each other's writes. followed: Portico's store follows the legacy store's database.
func CheckRules(rules proxy.Rules, parts []Part, followed bool) (problems []string) {
	p := planner{Situation: &Situation{Rules: rules, Resources: parts}}
	atLegacy := false
	for _, part := range parts {
		reads, writes := p.rule(part.Name, true), p.rule(part.Name, false)
		atLegacy = atLegacy || reads.To == proxy.Legacy || part.Writes && (writes.To == proxy.Legacy || writes.Mirror)
		if !part.Writes || writes.To == proxy.Legacy {
			continue
		}
		if !writes.Mirror {
			if followed {
				problems = append(problems, fmt.Sprintf("portico answers the writes of %s without mirror: true, while follow.dsn takes over what the legacy store changes: that one would lack them. Add mirror: true, or leave follow.dsn empty once nobody uses the legacy store", part.Name))
			}
			continue
		}
		for _, reads := range p.readsBehind(part) {
			problems = append(problems, fmt.Sprintf("portico answers the writes of %s, and the legacy store the reads of %s, which show them: let portico answer these reads first", part.Name, reads))
		}
	}
	outside := p.rule(proxy.Outside, false)
	if followed && atLegacy && outside.To != proxy.Legacy {
		problems = append(problems, "outside must go to legacy as long as any call or mirrored write does: the legacy store does not know tokens that portico gives at /oauth/")
	}
	return problems
}

// readsBehind returns the resources whose reads show changes by writes of part, and are
// answered by the legacy store.
func (p *planner) readsBehind(part Part) (names []string) {
	for _, other := range p.Resources {
		if slices.Contains(contract.ShownBy(part.Name), other.Name) && !p.moved(other, true) {
			names = append(names, other.Name)
		}
	}
	return names
}

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
