package mapping

import (
	"context"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
)

// A noStore stands for the store of a resource that the adapter does not offer. Calls for
// that resource are answered before they reach it. Calls for other resources find no
// record that they could refer to.
type noStore struct{}

func (noStore) List(context.Context, *adapter.ListParams) (*adapter.ListResult, error) {
	return &adapter.ListResult{}, nil
}

func (noStore) Get(context.Context, *adapter.GetParams) (adapter.Record, error) {
	return adapter.Record{}, &adapter.Error{Kind: adapter.NotFound, Op: "get"}
}

func (noStore) Create(context.Context, *adapter.CreateParams) (adapter.Key, error) {
	return 0, &adapter.Error{Kind: adapter.Unsupported, Op: "create"}
}

func (noStore) Update(context.Context, *adapter.UpdateParams) error {
	return &adapter.Error{Kind: adapter.NotFound, Op: "update"}
}

func (noStore) Delete(context.Context, *adapter.DeleteParams) error {
	return &adapter.Error{Kind: adapter.NotFound, Op: "delete"}
}

// Offers reports whether backend offers the resource that a route addresses. If not, calls
// of the route that the contract serves are answered as those of a method that is not
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
