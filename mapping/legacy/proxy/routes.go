package proxy

import "github.com/portico-commerce/portico/mapping/contract"

// A Target is the system that answers a request.
type Target uint8

const (
	Portico Target = iota // Portico, through its adapter
	Legacy                // the legacy store
)

// Calls are the kinds of requests that a rule applies to.
type Calls uint8

// The kinds of requests. All is the zero Calls.
const (
	All    Calls = iota
	Reads        // requests that change nothing
	Writes       // all other requests
)

// Values of Rule.Resource besides the resources of the contract.
const (
	// Everything matches all resources and everything outside the interface.
	Everything = "all"
	// Outside matches requests without a route: other paths of the host, such as the paths of
	// OAuth and of images, and paths below /api/rest that the contract does not define.
	Outside = "outside"
)

// A Rule sends matching requests to a system.
type Rule struct {
	Resource string // name as in contract.Route.Resource, or one of the above
	Calls    Calls
	To       Target
	// Shadow: the other system gets reads as well, in the background.
	Shadow bool
	// Mirror, for writes to Portico: the legacy store gets them afterwards.
	Mirror bool
}

// Rules decide which system answers a request. The most specific matching rule wins: first
// a rule that names the resource, then one that names reads or writes. Without a match
// Portico answers.
type Rules []Rule

// For returns the rule for a request.
func (r Rules) For(a *contract.Address) Rule {
	resource, calls := Outside, Writes
	if a.Route != nil {
		resource = a.Route.Resource
	}
	if a.ReadOnly {
		calls = Reads
	}
	best, found := -1, Rule{}
	for _, rule := range r {
		fit := 0
		switch rule.Resource {
		case resource:
			fit = 2
		case Everything:
		default:
			continue
		}
		switch rule.Calls {
		case calls:
			fit++
		case All:
		default:
			continue
		}
		if fit > best {
			best, found = fit, rule
		}
	}
	return found
}

// Mirrors reports whether Portico answers the writes of a resource and the legacy store gets
// them afterwards.
func (r Rules) Mirrors(resource string) bool {
	rule := r.For(&contract.Address{Route: &contract.Route{Resource: resource}})
	return rule.To == Portico && rule.Mirror
}

// AllLegacy reports whether the legacy store answers all requests.
func (r Rules) AllLegacy() bool {
	reads, writes := false, false
	for _, rule := range r {
		if rule.To != Legacy {
			return false
		}
		if rule.Resource == Everything {
			reads, writes = reads || rule.Calls != Writes, writes || rule.Calls != Reads
		}
	}
	return reads && writes
}
