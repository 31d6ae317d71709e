package guard

import (
	"context"
	"github.com/portico-commerce/portico/adapter"
)

// An Adapter is an adapter whose calls are guarded. Its stores behave like the stores of
// the guarded adapter, and may also fail with the errors of [Guard.Do].
type Adapter struct {
	adapter.Adapter
	guard *Guard
}

// Adapter returns a with guarded calls.
func (g *Guard) Adapter(a adapter.Adapter) *Adapter { return &Adapter{a, g} }

// Store returns the guarded store of r's records. Kinds: Unsupported.
func (a *Adapter) Store(r adapter.Resource) (adapter.Store, error) {
	s, err := a.Adapter.Store(r)
	if err != nil {
		return nil, err
	}
	a.guard.metrics.initialize(string(r), "list", "count", "get", "create", "update", "delete")
	if r == adapter.StockItems { // the only records that clients change in batches
		a.guard.metrics.initialize(string(r), "update_batch")
	}
	return &store{s, a.guard, string(r)}, nil
}

// Ping reports whether the upstream can answer now. While the breaker is open it fails
// without a call. Kinds: Unavailable.
func (a *Adapter) Ping(ctx context.Context) error {
	return a.guard.Do(ctx, "upstream", "ping", a.Adapter.Ping)
}

// A store guards the calls of a store.
type store struct {
	adapter.Store
	guard    *Guard
	resource string
}

// List returns the records that a query selects.
func (s *store) List(ctx context.Context, p *adapter.ListParams) (*adapter.ListResult, error) {
	operation := "list"
	if p.Count {
		operation = "count"
	}
	return look(ctx, s.guard, s.resource, operation, s.Store.List, p)
}

// Get returns one record.
func (s *store) Get(ctx context.Context, p *adapter.GetParams) (adapter.Record, error) {
	return look(ctx, s.guard, s.resource, "get", s.Store.Get, p)
}

// Create stores a new record.
func (s *store) Create(ctx context.Context, p *adapter.CreateParams) (adapter.Key, error) {
	return doValue(ctx, s.guard, s.write("create"), func(ctx context.Context) (adapter.Key, error) {
		return s.Store.Create(ctx, p)
	})
}

// Update changes one record.
func (s *store) Update(ctx context.Context, p *adapter.UpdateParams) error {
	return s.guard.do(ctx, s.write("update"), func(ctx context.Context) error { return s.Store.Update(ctx, p) })
}

// UpdateBatch changes several records in one call, which has the time of one call for each
// thousand of them.
func (s *store) UpdateBatch(ctx context.Context, batch []adapter.UpdateParams) (failures []error, err error) {
	batcher, ok := s.Store.(adapter.BatchUpdater)
	if !ok {
		return adapter.UpdateBatch(ctx, s.Store, batch)
	}
	c := s.write("update_batch")
	c.times = 1 + len(batch)/updatesPerTimeout
	err = s.guard.do(ctx, c, func(ctx context.Context) (err error) {
		failures, err = batcher.UpdateBatch(ctx, batch)
		return err
	})
	return failures, err
}

// updatesPerTimeout is the number of updates of a batch that have the time of one call.
const updatesPerTimeout = 1000

// Delete deletes one record.
func (s *store) Delete(ctx context.Context, p *adapter.DeleteParams) error {
	return s.guard.do(ctx, s.write("delete"), func(ctx context.Context) error { return s.Store.Delete(ctx, p) })
}

// write returns the description of a write.
func (s *store) write(operation string) call {
	return call{resource: s.resource, operation: operation, write: true}
}

// doValue is [Guard.Do] for functions that return a value.
func doValue[T any](ctx context.Context, g *Guard, c call, f func(context.Context) (T, error)) (T, error) {
	var value T
	err := g.do(ctx, c, func(ctx context.Context) (err error) {
		value, err = f(ctx)
		return err
	})
	if err != nil {
		var none T
		return none, err
	}
	return value, nil
}

// look is [Guard.Do] for functions that look something up.
func look[K, T any](ctx context.Context, g *Guard, resource, operation string, f func(context.Context, K) (T, error), key K) (T, error) {
	return doValue(ctx, g, call{resource: resource, operation: operation}, func(ctx context.Context) (T, error) { return f(ctx, key) })
}
