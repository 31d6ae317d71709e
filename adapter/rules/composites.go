package rules

import (
	"context"
	"strconv"
	"strings"

	"github.com/portico-commerce/portico/adapter"
)

// The values of stock_status. A composite product can be in stock only where stock is not managed
// by default, because its parts are.
const (
	soldOut            = 0
	inStock            = 1
	inStockIfUnmanaged = 2
)

// better and worse return the better and the worse of two stock statuses.
func better(a, b int64) int64 {
	if a == inStock || b == inStock {
		return inStock
	}
	return max(a, b)
}

func worse(a, b int64) int64 {
	if a == soldOut || b == soldOut {
		return soldOut
	}
	return max(a, b)
}

// restockComposites computes the stock status of a product, if it is composed of others, and of
// the products that are composed of it (configurations 5.2). The product is locked, or deleted.
func restockComposites(ctx context.Context, tx Tx, product adapter.Record) error {
	if err := restockComposite(ctx, tx, product); err != nil {
		return err
	}
	for _, id := range keysIn(product.Get("component_of").Text()) {
		composite, err := tx.Lock(ctx, adapter.Products, id)
		if isNotFound(err) {
			continue
		}
		if err == nil {
			err = restockComposite(ctx, tx, composite)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// restockComposite stores the stock status of a locked product in its websites, if its components
// are known: that of its worst group of components, of which the best component counts, or that of
// its own stock item if it is worse.
func restockComposite(ctx context.Context, tx Tx, composite adapter.Record) error {
	groups := strings.Fields(composite.Get("components").Text())
	if len(groups) == 0 {
		return nil
	}
	websites, err := tx.Websites(ctx, composite.Key())
	if err != nil {
		return err
	}
	all, err := tx.StoreViews(ctx)
	if err != nil {
		return err
	}
	own, err := itemStatus(ctx, tx, composite.Key())
	if err != nil {
		return err
	}
	for _, website := range websites {
		views := ViewsOf(all, website)
		if len(views) == 0 {
			continue
		}
		status := own
		for _, group := range groups {
			best := int64(soldOut)
			for _, id := range keysIn(group) {
				one, err := componentStatus(ctx, tx, id, website, views[0])
				if err != nil {
					return err
				}
				best = better(best, one)
			}
			status = worse(status, best)
		}
		values := adapter.NewRecord(composite.Schema)
		values.Set("stock_status", adapter.IntegerValue(status))
		if err := tx.SetValues(ctx, composite.Key(), views, values); err != nil {
			return err
		}
	}
	return tx.Restocked(ctx, composite.Key())
}

// componentStatus returns the stock status of a product in a website, one of whose store views is
// given: it is sold out unless the website sells it and it is enabled there.
func componentStatus(ctx context.Context, tx Tx, id adapter.Key, website, view int64) (int64, error) {
	product, err := tx.Get(ctx, adapter.Products, id)
	if isNotFound(err) {
		return soldOut, nil
	}
	if err != nil {
		return 0, err
	}
	websites, err := tx.Websites(ctx, id)
	if err != nil {
		return 0, err
	}
	there, err := tx.At(ctx, product, view)
	if err != nil {
		return 0, err
	}
	const enabled = 1
	sold := false
	for _, one := range websites {
		sold = sold || one == website
	}
	switch status := there.Get("stock_status"); {
	case !sold || there.Get("status").Int() != enabled:
		return soldOut, nil
	case !status.Empty():
		return status.Int(), nil
	}
	return itemStatus(ctx, tx, id)
}

// itemStatus returns the stock status that follows from the stock item of a product.
func itemStatus(ctx context.Context, tx Tx, product adapter.Key) (int64, error) {
	items, err := tx.Find(ctx, adapter.StockItems, "product_id", []adapter.Value{adapter.IntegerValue(int64(product))})
	if err != nil || len(items) == 0 {
		return soldOut, err
	}
	item := items[0]
	switch {
	case item.Get("is_in_stock").Int() == 1:
		return inStock, nil
	case item.Get("use_config_manage_stock").Int() != 0:
		return inStockIfUnmanaged, nil
	case item.Get("manage_stock").Int() == 0:
		return inStock, nil
	}
	return soldOut, nil
}

// keysIn returns the keys in a list with commas. It leaves out texts that are no keys.
func keysIn(list string) (keys []adapter.Key) {
	for one := range strings.SplitSeq(list, ",") {
		if id, err := strconv.ParseInt(one, 10, 64); err == nil && id > 0 {
			keys = append(keys, adapter.Key(id))
		}
	}
	return keys
}
