package passthrough

import "github.com/portico-commerce/portico/mapping/contract"

// A Side is who answers.
type Side uint8

const (
	Portico Side = iota // the adapter
	Legacy              // the old system
)

// Calls are the requests that a rule is about.
type Calls uint8

const (
	All    Calls = iota
	Reads        // what changes nothing
	Writes       // all else
)

// What rules may name besides the resources of the contract.
const (
	// Everything is every resource, and what is outside the interface.
	Everything = "all"
	// Outside is what no route serves: other paths of the host, as those of OAuth
	// and of images, and paths below /api/rest that the contract does not have.
	Outside = "outside"
)

// A Rule sends requests to a side.
type Rule struct {
	Resource string // as contract.Route.Resource has it, or one of the above
	Calls    Calls
	To       Side
	// Shadow: of reads, the other side is asked as well, in the background.
	Shadow bool
}

// Rules say who answers what. Of those that fit a request the most specific
// counts: its resource named, then reads or writes named. Where none fits Portico
// answers.
type Rules []Rule

// Of returns the rule for a request.
func (r Rules) Of(a *contract.Address) Rule {
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

// AllLegacy reports whether no request is left for Portico to answer.
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
