package mapping

import (
	"context"

	"github.com/portico-commerce/portico/adapter"
)

// A watchedAdapter is the adapter behind a service, with what is remembered of its
// lists. No handler has to think of that: every write of its stores ends what was
// remembered.
type watchedAdapter struct {
	adapter.Adapter
	memory *memory
}

// Store returns the adapter's store of r.
func (a *watchedAdapter) Store(r adapter.Resource) (adapter.Store, error) {
	store, err := a.Adapter.Store(r)
	if err != nil {
		return nil, err
	}
	return &watchedStore{store, a.memory, showingIn()[r]}, nil
}

// showingIn names, for the resources that calls write, those whose lists a write
// may change: for the records themselves, those that go with a deleted one, and
// values that are joined or kept up to date. A write of any other shows in all.
func showingIn() map[adapter.Resource][]adapter.Resource {
	product := []adapter.Resource{adapter.Products, adapter.ProductImages, adapter.ProductWebsites, adapter.ProductCategories, adapter.StockItems}
	order := []adapter.Resource{adapter.Orders, adapter.OrderItems, adapter.OrderAddresses, adapter.OrderComments}
	return map[adapter.Resource][]adapter.Resource{
		adapter.Products:          product,
		adapter.ProductImages:     product,
		adapter.ProductWebsites:   product,
		adapter.ProductCategories: product,
		adapter.StockItems:        {adapter.StockItems},
		adapter.Customers:         {adapter.Customers, adapter.CustomerAddresses, adapter.Orders},
		adapter.CustomerAddresses: {adapter.CustomerAddresses, adapter.Customers},
		adapter.Orders:            order,
		adapter.OrderItems:        order,
		adapter.OrderAddresses:    order,
		adapter.OrderComments:     order,
	}
}

// A watchedStore tells the memory of each write once it is over. A write that
// failed may have been done all the same: the connection can be lost at its very
// end.
type watchedStore struct {
	adapter.Store
	memory  *memory
	affects []adapter.Resource
}

func (s *watchedStore) Create(ctx context.Context, p *adapter.CreateParams) (adapter.Key, error) {
	defer s.memory.changed(s.affects)
	return s.Store.Create(ctx, p)
}

func (s *watchedStore) Update(ctx context.Context, p *adapter.UpdateParams) error {
	defer s.memory.changed(s.affects)
	return s.Store.Update(ctx, p)
}

func (s *watchedStore) Delete(ctx context.Context, p *adapter.DeleteParams) error {
	defer s.memory.changed(s.affects)
	return s.Store.Delete(ctx, p)
}
