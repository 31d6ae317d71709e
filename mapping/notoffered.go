package mapping

import (
	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
)

// Offers reports whether backend offers the resource that a route addresses. If not, calls of
// the route that the contract serves are answered like calls of a method that is not
// implemented.
func Offers(backend adapter.Adapter, r *contract.Route) bool {
	_, err := backend.Store(adapter.Resource(r.Resource))
	return adapter.KindOf(err) != adapter.Unsupported
}

// notOffered returns the routes of table whose resources backend does not offer.
func notOffered(backend adapter.Adapter, routes []*contract.Route) map[*contract.Route]bool {
	missing := map[*contract.Route]bool{}
	for _, r := range routes {
		if !Offers(backend, r) {
			missing[r] = true
		}
	}
	return missing
}
