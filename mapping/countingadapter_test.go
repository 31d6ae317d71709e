package mapping_test

import (
	"context"
	"fmt"
	"github.com/portico-commerce/portico/adapter"
	"sync"
)

// A storeWrapper is an adapter that wraps each of its stores.
type storeWrapper struct {
	adapter.Adapter
	wrap func(adapter.Resource, adapter.Store) adapter.Store
}

func (w storeWrapper) Store(r adapter.Resource) (adapter.Store, error) {
	s, err := w.Adapter.Store(r)
	if err != nil {
		return nil, err
	}
	return w.wrap(r, s), nil
}

// wrapStores returns a function that wraps each store of an adapter by wrap.
func wrapStores(wrap func(adapter.Resource, adapter.Store) adapter.Store) func(adapter.Adapter) adapter.Adapter {
	return func(a adapter.Adapter) adapter.Adapter { return storeWrapper{a, wrap} }
}

// reads are the recorded store reads, in order.
type reads struct {
	mu         sync.Mutex
	resources  []adapter.Resource
	listStarts []string // how each list among them started
}

func (r *reads) add(resource adapter.Resource) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.resources = append(r.resources, resource)
}

// take returns the reads since the last call of take or takeListStarts.
func (r *reads) take() []adapter.Resource {
	r.mu.Lock()
	defer r.mu.Unlock()
	from := r.resources
	r.resources, r.listStarts = nil, nil
	return from
}

// takeListStarts returns how the lists started that were read since the last call of take
// or takeListStarts.
func (r *reads) takeListStarts() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	forms := r.listStarts
	r.resources, r.listStarts = nil, nil
	return forms
}

// addList records the read of a list, and how it reaches its start.
func (r *reads) addList(resource adapter.Resource, p *adapter.ListParams) {
	form := "start"
	switch {
	case p.Count:
		form = "count"
	case p.Query.After != nil && p.Query.Offset > 0:
		form = fmt.Sprintf("mark and offset %d", p.Query.Offset)
	case p.Query.After != nil:
		form = "mark"
	case p.Query.Offset > 0:
		form = fmt.Sprintf("offset %d", p.Query.Offset)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.resources, r.listStarts = append(r.resources, resource), append(r.listStarts, form)
}

// counting returns an adapter that records which of the stores of a are read, once for each call of a
// store. On the reference adapter each such call is one statement.
func (r *reads) counting(a adapter.Adapter) adapter.Adapter {
	return storeWrapper{a, func(resource adapter.Resource, s adapter.Store) adapter.Store {
		return countedStore{s, resource, r}
	}}
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
	s.reads.addList(s.resource, p)
	return s.Store.List(ctx, p)
}
