package rules

import (
	"context"
	"slices"
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
// the products that are composed of it (configurations 5.2). The product is locked, or deleted. The
// number of statements does not depend on the number of products.
func restockComposites(ctx context.Context, tx Tx, product adapter.Record) error {
	var composites []adapter.Record
	if product.Get("components").Text() != "" {
		composites = append(composites, product)
	}
	keys := keysIn(product.Get("component_of").Text())
	// A row of a legacy store may say that a product is composed of itself, which decides nothing.
	if keys = slices.DeleteFunc(keys, func(key adapter.Key) bool { return key == product.Key() }); len(keys) > 0 {
		slices.Sort(keys)
		locked, err := tx.Keys(ctx, adapter.Products, slices.Compact(keys), true)
		if err != nil {
			return err
		}
		found, err := tx.Find(ctx, adapter.Products, product.Schema.Key, integers(locked))
		if err != nil {
			return err
		}
		composites = append(composites, found...)
	}
	if len(composites) == 0 {
		return nil
	}
	parts, err := readComponents(ctx, tx, composites)
	if err != nil {
		return err
	}
	return parts.restock(ctx, tx, composites)
}

// components are the data that decide whether composite products are in stock: websites, stock items
// and scoped values of the composites and of their components, by product.
type components struct {
	views    []StoreView
	products map[adapter.Key]adapter.Record
	websites map[adapter.Key][]int64
	items    map[adapter.Key]adapter.Record
	levels   map[adapter.Key]map[int64]adapter.Record // by store view
}

// readComponents reads the data of composite products.
func readComponents(ctx context.Context, tx Tx, composites []adapter.Record) (*components, error) {
	var keys []adapter.Key
	for _, composite := range composites {
		keys = append(keys, composite.Key())
		for group := range strings.FieldsSeq(composite.Get("components").Text()) {
			keys = append(keys, keysIn(group)...)
		}
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	c := &components{
		products: map[adapter.Key]adapter.Record{}, websites: map[adapter.Key][]int64{}, items: map[adapter.Key]adapter.Record{}, levels: map[adapter.Key]map[int64]adapter.Record{},
	}
	var err error
	if c.views, err = tx.StoreViews(ctx); err != nil {
		return nil, err
	}
	for _, of := range []struct {
		resource  adapter.Resource
		attribute string
		add       func(key adapter.Key, r adapter.Record)
	}{
		{adapter.Products, composites[0].Schema.Key, func(key adapter.Key, r adapter.Record) { c.products[key] = r }},
		{adapter.ProductWebsites, "product_id", func(key adapter.Key, r adapter.Record) {
			c.websites[key] = append(c.websites[key], r.Get("website_id").Int())
		}},
		{adapter.StockItems, "product_id", func(key adapter.Key, r adapter.Record) { c.items[key] = r }},
	} {
		found, err := tx.Find(ctx, of.resource, of.attribute, integers(keys))
		if err != nil {
			return nil, err
		}
		for _, r := range found {
			of.add(adapter.Key(r.Get(of.attribute).Int()), r)
		}
	}
	levels, err := tx.Levels(ctx, adapter.Products, keys)
	for _, l := range levels {
		if c.levels[l.Key] == nil {
			c.levels[l.Key] = map[int64]adapter.Record{}
		}
		c.levels[l.Key][l.Level] = l.Record
	}
	return c, err
}

// integers returns keys as values.
func integers(keys []adapter.Key) []adapter.Value {
	values := make([]adapter.Value, len(keys))
	for i, key := range keys {
		values[i] = adapter.IntegerValue(int64(key))
	}
	return values
}

// restock stores the stock status of composite products where it has changed in a website. A group of
// components has the status of its best component. A composite has the worst status among its groups
// and its own stock item.
func (c *components) restock(ctx context.Context, tx Tx, composites []adapter.Record) error {
	var changes []LevelChange
	var restocked []adapter.Key
	for _, composite := range composites {
		key, groups := composite.Key(), strings.Fields(composite.Get("components").Text())
		if len(groups) == 0 {
			continue
		}
		restocked = append(restocked, key)
		for _, view := range c.views {
			if !slices.Contains(c.websites[key], view.Website) {
				continue
			}
			status := c.itemStatus(key)
			for _, group := range groups {
				best := int64(soldOut)
				for _, id := range keysIn(group) {
					best = better(best, c.status(id, view))
				}
				status = worse(status, best)
			}
			current := c.levels[key][view.ID]
			if current.Schema != nil && Same(current.Get("stock_status"), adapter.IntegerValue(status)) {
				continue
			}
			change := adapter.NewRecord(composite.Schema)
			change.Set("stock_status", adapter.IntegerValue(status))
			changes = append(changes, LevelChange{Key: key, Level: view.ID, Current: current, Change: change})
		}
	}
	if len(changes) > 0 {
		if err := tx.SetLevels(ctx, adapter.Products, changes...); err != nil {
			return err
		}
	}
	return tx.Restocked(ctx, restocked...)
}

// status returns the stock status of a component at a store view: it is sold out unless the website
// sells it and it is enabled there.
func (c *components) status(id adapter.Key, view StoreView) int64 {
	const enabled = 1
	product, ok := c.products[id]
	if !ok || !slices.Contains(c.websites[id], view.Website) {
		return soldOut
	}
	shown := func(attribute string) adapter.Value {
		if own := c.levels[id][view.ID]; own.Schema != nil && own.Get(attribute).Kind() != adapter.Absent {
			return own.Get(attribute)
		}
		return product.Get(attribute)
	}
	switch stored := shown("stock_status"); {
	case shown("status").Int() != enabled:
		return soldOut
	case !stored.Empty():
		return stored.Int()
	}
	return c.itemStatus(id)
}

// itemStatus returns the stock status that follows from the stock item of a product.
func (c *components) itemStatus(id adapter.Key) int64 {
	item, ok := c.items[id]
	switch {
	case !ok:
		return soldOut
	case item.Get("is_in_stock").Int() == 1:
		return inStock
	case item.Get("use_config_manage_stock").Int() != 0:
		return inStockIfUnmanaged
	case item.Get("manage_stock").Int() == 0:
		return inStock
	}
	return soldOut
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
