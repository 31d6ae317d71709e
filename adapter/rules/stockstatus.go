package rules

import (
	"context"
	"slices"

	"github.com/portico-commerce/portico/adapter"
)

// The stock status of a product determines whether a website sells it. An import stores the
// status that another system computed from the product's status, its stock item and, for
// composite products, its parts. A client's write that changes the status or the stock item,
// or assigns the product to a website, therefore removes the stored one, so that it follows
// from the stock item. The stock status of composite products stays, because their parts are
// not known here.

// dropStockStatus removes the stock status that a product has at some store views.
func dropStockStatus(ctx context.Context, tx Tx, product adapter.Record, views []int64) error {
	if !slices.Contains([]string{"simple", "virtual", "downloadable"}, product.Get("type_id").Text()) {
		return nil
	}
	values := adapter.NewRecord(product.Schema)
	values.Set("stock_status", adapter.UnsetValue())
	return replaceValues(ctx, tx, product.Key(), views, values)
}

// dropStockStatusAt removes the stock status of a product at the websites of a scope: at all
// websites for the default scope, at one for a store view.
func dropStockStatusAt(ctx context.Context, tx Tx, product adapter.Record, level int64) error {
	if level != 0 {
		views, err := siblingViews(ctx, tx, level)
		if err != nil {
			return err
		}
		return dropStockStatus(ctx, tx, product, views)
	}
	all, err := tx.StoreViews(ctx)
	if err != nil {
		return err
	}
	views := make([]int64, len(all))
	for i, v := range all {
		views[i] = v.ID
	}
	return dropStockStatus(ctx, tx, product, views)
}

// changesSale reports whether a change of a stock item may change whether its product can be
// bought.
func changesSale(before, after adapter.Record) bool {
	return slices.ContainsFunc([]string{"is_in_stock", "manage_stock", "use_config_manage_stock"}, func(name string) bool {
		return !Same(after.Get(name), before.Get(name))
	})
}
