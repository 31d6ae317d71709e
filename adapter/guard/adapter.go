package guard

import (
	"context"

	"github.com/portico-commerce/portico/adapter"
)

// An Adapter is an adapter whose calls are guarded. Its stores are those of the
// adapter, with all that package adapter says of them.
type Adapter struct {
	adapter.Adapter
	guard *Guard
}

// Adapter returns a, guarded.
func (g *Guard) Adapter(a adapter.Adapter) *Adapter { return &Adapter{a, g} }

// Store returns the store of r's records. Kinds: Unsupported.
func (a *Adapter) Store(r adapter.Resource) (adapter.Store, error) {
	s, err := a.Adapter.Store(r)
	if err != nil {
		return nil, err
	}
	return &store{s, a.guard, string(r)}, nil
}

// Ping tells whether the upstream can answer now; while the breaker is open, it
// does not ask it. Kinds: Unavailable.
func (a *Adapter) Ping(ctx context.Context) error {
	return a.guard.Do(ctx, "upstream", "ping", a.Adapter.Ping)
}

// A store is a store whose calls are guarded.
type store struct {
	adapter.Store
	guard    *Guard
	resource string
}

// List returns the records a query selects.
func (s *store) List(ctx context.Context, p *adapter.ListParams) (*adapter.ListResult, error) {
	operation := "list"
	if p.Count {
		operation = "count"
	}
	return result(ctx, s.guard, s.resource, operation, func(ctx context.Context) (*adapter.ListResult, error) {
		return s.Store.List(ctx, p)
	})
}

// Get returns one record.
func (s *store) Get(ctx context.Context, p *adapter.GetParams) (adapter.Record, error) {
	return result(ctx, s.guard, s.resource, "get", func(ctx context.Context) (adapter.Record, error) {
		return s.Store.Get(ctx, p)
	})
}

// Create stores a new record.
func (s *store) Create(ctx context.Context, p *adapter.CreateParams) (key adapter.Key, err error) {
	var refused bool
	if check := p.Check; check != nil {
		watched := *p
		watched.Check = func() error {
			err := check()
			refused = err != nil
			return err
		}
		p = &watched
	}
	err = s.guard.do(ctx, call{s.resource, "create", &refused}, func(ctx context.Context) (err error) {
		key, err = s.Store.Create(ctx, p)
		return err
	})
	if err != nil {
		return 0, err
	}
	return key, nil
}

// Update changes one record.
func (s *store) Update(ctx context.Context, p *adapter.UpdateParams) error {
	var refused bool
	watched := *p
	watched.Change = func(current adapter.Record) (adapter.Record, error) {
		change, err := p.Change(current)
		refused = err != nil
		return change, err
	}
	return s.guard.do(ctx, call{s.resource, "update", &refused}, func(ctx context.Context) error {
		return s.Store.Update(ctx, &watched)
	})
}

// Delete removes one record.
func (s *store) Delete(ctx context.Context, p *adapter.DeleteParams) error {
	var refused bool
	if check := p.Check; check != nil {
		watched := *p
		watched.Check = func(current adapter.Record) error {
			err := check(current)
			refused = err != nil
			return err
		}
		p = &watched
	}
	return s.guard.do(ctx, call{s.resource, "delete", &refused}, func(ctx context.Context) error {
		return s.Store.Delete(ctx, p)
	})
}

// result is [Guard.Do] for what returns a value.
func result[T any](ctx context.Context, g *Guard, resource, operation string, f func(context.Context) (T, error)) (T, error) {
	var value T
	err := g.Do(ctx, resource, operation, func(ctx context.Context) (err error) {
		value, err = f(ctx)
		return err
	})
	if err != nil {
		var none T
		return none, err
	}
	return value, nil
}
