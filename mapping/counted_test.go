package mapping_test

import (
	"context"
	"sync"

	"github.com/portico-commerce/portico/adapter"
)

// countedAdapter writes down which of its stores are read, once for each call,
// which is one statement on the reference adapter.
type countedAdapter struct {
	adapter.Adapter
	reads *reads
}

// reads are the calls of stores that read, in their order.
type reads struct {
	mu   sync.Mutex
	from []adapter.Resource
}

func (r *reads) add(resource adapter.Resource) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.from = append(r.from, resource)
}

// take returns the reads since it was called last.
func (r *reads) take() []adapter.Resource {
	r.mu.Lock()
	defer r.mu.Unlock()
	from := r.from
	r.from = nil
	return from
}

func (a countedAdapter) Store(r adapter.Resource) (adapter.Store, error) {
	s, err := a.Adapter.Store(r)
	return countedStore{s, r, a.reads}, err
}

type countedStore struct {
	adapter.Store
	resource adapter.Resource
	reads    *reads
}

func (s countedStore) Get(ctx context.Context, p *adapter.GetParams) (adapter.Record, error) {
	s.reads.add(s.resource)
	return s.Store.Get(ctx, p)
}

func (s countedStore) List(ctx context.Context, p *adapter.ListParams) (*adapter.ListResult, error) {
	s.reads.add(s.resource)
	return s.Store.List(ctx, p)
}
