package magento1test

import (
	"context"
	"github.com/portico-commerce/portico/adapter"
	"maps"
	"slices"
	"strings"
)

// saveProductParts writes the changes of the prices, assignments and the stock item of a product.
// changed: some of its values have changed. was is nil for a new product.
func (x transaction) saveProductParts(ctx context.Context, id int64, was, is *adapter.Aggregate, changed bool) error {
	if was == nil {
		was = &adapter.Aggregate{}
	}
	for _, list := range []string{"group_price", "tier_price"} {
		if err := x.savePrices(ctx, id, list, was.Record, is.Record); err != nil {
			return err
		}
	}
	resold := changed
	for _, r := range []adapter.Resource{adapter.ProductWebsites, adapter.ProductCategories} {
		differs, err := x.saveAssignments(ctx, id, r, was.Parts, is.Parts)
		if err != nil {
			return err
		}
		resold = resold || differs
	}
	differs, err := x.saveStock(ctx, id, was.Parts, is.Parts)
	if err != nil || !differs && !resold {
		return err
	}
	return x.indexStock(ctx, id)
}

// savePrices writes the changes of a list of prices.
func (x transaction) savePrices(ctx context.Context, id int64, list string, was, is adapter.Record) error {
	table := "{p}catalog_product_entity_" + list
	before := map[adapter.Key]adapter.Record{}
	if was.Schema != nil {
		for _, entry := range was.Get(list).Records() {
			before[entry.Key()] = entry
		}
	}
	for _, entry := range is.Get(list).Records() {
		old, existed := before[entry.Key()]
		delete(before, entry.Key())
		if existed && slices.EqualFunc(old.Values, entry.Values, same) {
			continue
		}
		if err := x.exec(ctx, "DELETE FROM "+table+" WHERE value_id = ? AND entity_id = ?", int64(entry.Key()), id); existed && err != nil {
			return err
		}
		columns := map[string]any{"entity_id": id, "website_id": argument(entry.Get("website_id")), "value": argument(entry.Get("price")), "all_groups": 0, "customer_group_id": argument(entry.Get("cust_group"))}
		if entry.Get("cust_group").Int() == adapter.AllGroupsID {
			columns["all_groups"], columns["customer_group_id"] = 1, 0
		}
		if list == "tier_price" {
			columns["qty"] = argument(entry.Get("price_qty"))
		}
		if existed { // it keeps its place in the list
			columns["value_id"] = int64(entry.Key())
		}
		if err := x.insertRow(ctx, table, columns); err != nil {
			return err
		}
	}
	for key := range before {
		if err := x.exec(ctx, "DELETE FROM "+table+" WHERE value_id = ?", int64(key)); err != nil {
			return err
		}
	}
	return nil
}

// insertRow adds a row to a table.
func (x transaction) insertRow(ctx context.Context, table string, columns map[string]any) error {
	names := slices.Sorted(maps.Keys(columns))
	arguments := make([]any, len(names))
	for i, name := range names {
		arguments[i] = columns[name]
	}
	return x.exec(ctx, "INSERT INTO "+table+" ("+strings.Join(names, ", ")+") VALUES (?"+strings.Repeat(", ?", len(names)-1)+")", arguments...)
}

// saveAssignments writes the assignments of a product, and reports whether they have changed.
func (x transaction) saveAssignments(ctx context.Context, id int64, r adapter.Resource, was, is []adapter.Record) (differs bool, err error) {
	table := map[adapter.Resource]string{adapter.ProductWebsites: "{p}catalog_product_website", adapter.ProductCategories: "{p}catalog_category_product"}[r]
	of := func(parts []adapter.Record) map[int64]adapter.Record {
		all := map[int64]adapter.Record{}
		for _, part := range parts {
			if part.Schema.Resource == r {
				all[part.Get(assignedTo(r)).Int()] = part
			}
		}
		return all
	}
	before, after := of(was), of(is)
	for to := range before {
		if _, ok := after[to]; ok {
			continue
		}
		differs = true
		if err := x.exec(ctx, "DELETE FROM "+table+" WHERE product_id = ? AND "+assignedTo(r)+" = ?", id, to); err != nil {
			return false, err
		}
	}
	for to, part := range after {
		if _, ok := before[to]; ok { // its position cannot be changed
			continue
		}
		differs = true
		columns := map[string]any{"product_id": id, assignedTo(r): to}
		if r == adapter.ProductCategories {
			columns["position"] = part.Get("position").Int()
		}
		if err := x.insertRow(ctx, table, columns); err != nil {
			return false, err
		}
	}
	return differs, nil
}

// saveStock writes the changes of the stock item, and reports whether there are any.
func (x transaction) saveStock(ctx context.Context, id int64, was, is []adapter.Record) (differs bool, err error) {
	var before adapter.Record
	for _, part := range was {
		if part.Schema.Resource == adapter.StockItems {
			before = part
		}
	}
	for _, item := range is {
		if item.Schema.Resource != adapter.StockItems {
			continue
		}
		columns := map[string]any{}
		for i, a := range item.Schema.Attributes {
			stored := a.Name != item.Schema.Key && a.Name != "product_id" && !a.OnDemand && item.Values[i].Kind() != adapter.Absent
			if stored && (before.Schema == nil || !same(before.Values[i], item.Values[i])) {
				columns[a.Name] = argument(item.Values[i])
			}
		}
		switch {
		case before.Schema == nil:
			columns["product_id"] = id
			return true, x.insertRow(ctx, "{p}cataloginventory_stock_item", columns)
		case len(columns) > 0:
			names := slices.Sorted(maps.Keys(columns))
			arguments := make([]any, len(names), len(names)+1)
			for i, name := range names {
				arguments[i] = columns[name]
			}
			return true, x.exec(ctx, "UPDATE {p}cataloginventory_stock_item SET "+strings.Join(names, " = ?, ")+" = ? WHERE item_id = ?", append(arguments, int64(item.Key()))...)
		}
	}
	return false, nil
}

// stockStatus selects the rows of cataloginventory_stock_status of products that consist of
// no others. A website takes the status of its default store view.
const stockStatus = `SELECT i.product_id, w.website_id, i.stock_id, GREATEST(i.qty, 0), IF(COALESCE(own.value, inherited.value) = 1, IF(IF(i.use_config_manage_stock = 1,
	COALESCE((SELECT value FROM {p}core_config_data WHERE path = 'cataloginventory/item_options/manage_stock' AND scope = 'default'), '1') = '1', i.manage_stock = 1), i.is_in_stock, 1), 0)
	FROM {p}cataloginventory_stock_item i JOIN {p}catalog_product_entity e ON e.entity_id = i.product_id AND e.type_id IN ('simple', 'virtual', 'downloadable')
	JOIN {p}catalog_product_website w ON w.product_id = i.product_id
	JOIN {p}core_website c ON c.website_id = w.website_id JOIN {p}core_store_group g ON g.group_id = c.default_group_id
	JOIN {p}eav_attribute a ON a.entity_type_id = e.entity_type_id AND a.attribute_code = 'status'
	LEFT JOIN {p}catalog_product_entity_int own ON own.entity_id = e.entity_id AND own.attribute_id = a.attribute_id AND own.store_id = g.default_store_id
	LEFT JOIN {p}catalog_product_entity_int inherited ON inherited.entity_id = e.entity_id AND inherited.attribute_id = a.attribute_id AND inherited.store_id = 0`

const (
	insertStatus = "INSERT INTO {p}cataloginventory_stock_status (product_id, website_id, stock_id, qty, stock_status) "
	updateStatus = " ON DUPLICATE KEY UPDATE qty = VALUES(qty), stock_status = VALUES(stock_status)"
)

// indexStock brings the stock status of a product up to date, as the original does with each
// save.
func (x transaction) indexStock(ctx context.Context, id int64) error {
	return x.execAll(ctx, []string{
		"DELETE s FROM {p}cataloginventory_stock_status s LEFT JOIN {p}catalog_product_website w ON w.product_id = s.product_id AND w.website_id = s.website_id WHERE s.product_id = ? AND w.product_id IS NULL",
		insertStatus + stockStatus + " WHERE i.product_id = ?" + updateStatus,
	}, id)
}
