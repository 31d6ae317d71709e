package resource

import (
	"context"
	"github.com/portico-commerce/portico/adapter"
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
