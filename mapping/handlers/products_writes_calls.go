package handlers

import (
	"context"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// CreateProduct handles POST /products, also below a store view or a category, both of
// which it ignores (products 1).
func (p *ProductWrites) CreateProduct(ctx context.Context, c *resource.Call) (*resource.Reply, error) {
	w := p.newWrite(&c.Body, nil)
	if err := w.check(ctx); err != nil {
		return nil, err
	}
	key, err := p.Store.Create(ctx, &adapter.CreateParams{Record: w.newRecord()})
	if err != nil {
		return nil, w.translateError(err)
	}
	return resource.Created("/products/", key), nil
}

// UpdateProduct handles PUT /products/:id, with or without a store view. It looks up the
// product before it checks the fields, so that a call for an unknown product reveals
// nothing about them (products 1).
func (p *ProductWrites) UpdateProduct(ctx context.Context, c *resource.Call) (*resource.Reply, error) {
	product, view, err := p.finder.Product(ctx, c, attributes{Stored: []string{"type_id", "url_key"}})
	if err != nil {
		return nil, err
	}
	w := p.newWrite(&c.Body, &product)
	if err := w.check(ctx); err != nil {
		return nil, err
	}
	if w.sendsUnusableURLKey() && p.Dialect.URLKeyByWebsite {
		if w.hasNoWebsite, err = p.hasNoWebsite(ctx, product); err != nil {
			return nil, err
		}
	}
	var with []string
	if w.changesStock() {
		with = append(with, "stock_item")
	}
	scope, everywhere, err := p.scopeOfWrites(ctx, view)
	if err != nil {
		return nil, err
	}
	err = p.Store.Update(ctx, &adapter.UpdateParams{
		Key:        product.Key(),
		StoreID:    scope,
		Everywhere: everywhere,
		With:       with,
		Change: func(current adapter.Record) (adapter.Record, error) {
			return w.changes(current, view.Id), nil
		},
	})
	if err != nil {
		return nil, w.translateError(err)
	}
	return &resource.Reply{}, nil
}

// scopeOfWrites returns the scope that a write at a store view stores values in, and whether these
// values are to hold at all store views.
func (p *ProductWrites) scopeOfWrites(ctx context.Context, view resource.StoreView) (scope int64, everywhere bool, err error) {
	if !p.settings.SingleStoreMode {
		return view.Id, false, nil
	}
	shop, err := p.finder.Shops.Current(ctx)
	if err != nil || len(shop.Views) != 1 {
		return view.Id, false, err
	}
	return defaultScope, true, nil
}

// hasNoWebsite reports whether a product is assigned to no website.
func (p *ProductWrites) hasNoWebsite(ctx context.Context, product adapter.Record) (bool, error) {
	found, err := p.websites.All(ctx, &adapter.ListParams{Query: adapter.Query{
		Where: []adapter.Condition{resource.IntegerEquals("product_id", product.Get("entity_id").Int())}, OrderBy: "website_id", Limit: 1,
	}})
	return len(found) == 0, err
}

// DeleteProduct handles DELETE /products/:id. With a store view in the path it still
// deletes the whole product, provided the view's website sells it (products 1).
func (p *ProductWrites) DeleteProduct(ctx context.Context, c *resource.Call) (*resource.Reply, error) {
	product, _, err := p.finder.Product(ctx, c, attributes{})
	if err != nil {
		return nil, err
	}
	if err := p.Store.Delete(ctx, &adapter.DeleteParams{Key: product.Key()}); err != nil {
		return nil, err
	}
	return &resource.Reply{}, nil
}

// translateError returns the fault that the client sees for an error of the store.
func (w *write) translateError(err error) error {
	if resource.IsStoreError(err, adapter.Conflict, "sku") {
		return w.Dialect.Fault(contract.SKUTaken)
	}
	return err
}
