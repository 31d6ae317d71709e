package handlers

import (
	"context"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/input"
	"github.com/portico-commerce/portico/mapping/resource"
)

// rankOptions sets the places of the options, if the list is ordered by their labels at the store view
// (own_attributes 3).
func (p *Products) rankOptions(ctx context.Context, wanted *input.List, view resource.StoreView) error {
	if !wanted.ByLabel {
		return nil
	}
	shop, err := p.finder.Shops.Current(ctx)
	if err == nil {
		wanted.Query.Ranks = shop.Options.Ranks(adapter.Products, wanted.Query.OrderBy, view.Id)
	}
	return err
}

// showLabels shows labels in a list that is ordered by labels at a store view: a product that has a value
// at the store view, and none in the default scope, shows the label of its value (own_attributes 5).
func (p *Products) showLabels(ctx context.Context, bounds *adapter.ListParams, wanted *input.List, products []adapter.Record) error {
	name := wanted.Query.OrderBy
	if !wanted.ByLabel || bounds.WebsiteScope || bounds.StoreID == 0 || len(products) == 0 {
		return nil
	}
	shop, err := p.finder.Shops.Current(ctx)
	if err != nil {
		return err
	}
	alone := make(map[adapter.Key]adapter.Record, len(products))
	ids := make([]string, len(products))
	for i, product := range products {
		alone[product.Key()], ids[i] = product, product.Get("entity_id").Text()
	}
	inDefault, err := p.All(ctx, &adapter.ListParams{Only: []string{name}, Query: adapter.Query{
		Where: []adapter.Condition{resource.NewCondition("entity_id", adapter.In, ids...)},
	}})
	for _, r := range inDefault {
		if r.Get(name).Kind() != adapter.Absent {
			delete(alone, r.Key())
		}
	}
	for _, product := range alone {
		if label, ok := shop.Options.Label(adapter.Products, name, product.Get(name), bounds.StoreID); ok {
			product.Set(name, adapter.TextValue(label))
		}
	}
	return err
}
