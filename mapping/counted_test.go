package mapping_test

import (
	"context"
	"sync/atomic"

	"github.com/portico-commerce/portico/adapter"
)

// countedAdapter counts the calls of its stores that read, each of which is one
// statement on the reference adapter.
type countedAdapter struct {
	adapter.Adapter
	calls *atomic.Int64
}

func (a countedAdapter) Store(r adapter.Resource) (adapter.Store, error) {
	s, err := a.Adapter.Store(r)
	return countedStore{s, a.calls}, err
}

type countedStore struct {
	adapter.Store
	calls *atomic.Int64
}

func (s countedStore) Get(ctx context.Context, p *adapter.GetParams) (adapter.Record, error) {
	s.calls.Add(1)
	return s.Store.Get(ctx, p)
}

func (s countedStore) List(ctx context.Context, p *adapter.ListParams) (*adapter.ListResult, error) {
	s.calls.Add(1)
	return s.Store.List(ctx, p)
}
