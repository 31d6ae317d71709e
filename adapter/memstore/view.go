package memstore

import (
	"cmp"
	"slices"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/rules"
)

// A view is the selection of records and values that a call reads of a resource.
type view struct {
	schema  *adapter.Schema
	owner   int64 // the customer whose records are read, 0 for any
	filters []adapter.Filter
	level   int64
	list    adapter.ListParams
	named   map[string]bool // attributes that With and the query name
	only    []string
}

// newView returns the view of a list. It fails with kind Unsupported for filters and
// attributes that the resource does not have.
func newView(schema *adapter.Schema, p *adapter.ListParams) (*view, error) {
	v := &view{schema: schema, owner: p.OwnerID, filters: p.Filters, level: p.StoreID, list: *p, only: p.Only}
	names := slices.Clone(p.With)
	if p.Query.OrderBy != "" {
		names = append(names, p.Query.OrderBy)
	}
	for _, condition := range p.Query.Where {
		for _, test := range condition.Any {
			names = append(names, test.Attribute)
		}
	}
	for _, f := range p.Filters {
		if f.Name == adapter.InCategory {
			names = append(names, "category_position")
		}
	}
	return v, cmp.Or(schema.CheckFilters(p.Filters), v.include(names))
}

// include adds the named attributes to the view. It fails with kind Unsupported for
// attributes that the resource does not have.
func (v *view) include(names []string) error {
	v.named = make(map[string]bool, len(names))
	for _, name := range names {
		v.named[name] = true
	}
	return v.schema.CheckAttributes(names)
}

// selects reports whether a record belongs to the owner and meets the filters.
func (v *view) selects(s *state, r *row) bool {
	if v.owner != 0 && (v.schema.Owner == "" || r.record.Get(v.schema.Owner).Int() != v.owner) {
		return false
	}
	return !slices.ContainsFunc(v.filters, func(f adapter.Filter) bool { return !v.meets(s, r, f) })
}

// meets reports whether a product meets a filter.
func (v *view) meets(s *state, product *row, f adapter.Filter) bool {
	switch f.Name {
	case adapter.Listed:
		return s.isListed(product, v.level)
	case adapter.InStock:
		return s.isListed(product, v.level) && s.isInStock(product, v.level, f.Value != 0)
	case adapter.InCategory:
		return !s.categoryPosition(product.record.Key(), f.Value).Empty()
	default: // in a website
		sold := s.websites(product.record.Key())
		return f.Value == 0 && len(sold) > 0 || slices.Contains(sold, f.Value)
	}
}

// isListed reports whether shoppers may list a product at a store view.
func (s *state) isListed(product *row, view int64) bool {
	const enabled, invisible = 1, 1
	store := s.row(adapter.Stores, adapter.Key(view))
	if store == nil || !slices.Contains(s.websites(product.record.Key()), store.record.Get("website_id").Int()) {
		return false
	}
	if own, ok := product.views[view]; ok && own.Get("status").Kind() != adapter.Absent && own.Get("status").Int() != enabled {
		return false
	}
	visibility := product.record.Get("visibility")
	return product.record.Get("status").Int() == enabled && !visibility.Empty() && visibility.Int() != invisible
}

// isInStock reports whether a product is in stock at a store view. managed: stock is managed by
// default.
func (s *state) isInStock(product *row, view int64, managed bool) bool {
	status := product.record.Get("stock_status")
	if own, ok := product.views[view]; ok && own.Get("stock_status").Kind() != adapter.Absent {
		status = own.Get("stock_status")
	}
	if !status.Empty() {
		return status.Int() == 1 || status.Int() == 2 && !managed
	}
	for item := range s.parts(adapter.StockItems, product.record.Key()) {
		if item.record.Get("use_config_manage_stock").Int() == 0 {
			managed = item.record.Get("manage_stock").Int() != 0
		}
		return !managed || item.record.Get("is_in_stock").Int() == 1
	}
	return false
}

// categoryPosition returns the position of a product in a category, absent if it is not
// in it.
func (s *state) categoryPosition(product adapter.Key, category int64) adapter.Value {
	for r := range s.parts(adapter.ProductCategories, product) {
		if r.record.Get("category_id").Int() == category {
			return r.record.Get("position")
		}
	}
	return adapter.Value{}
}

// show returns a record with the values of the view's scope, and with the named on-demand
// attributes.
func (s *state) show(v *view, stored *row) adapter.Record {
	r := stored.record.Clone()
	switch v.schema.Resource {
	case adapter.Products:
		s.showProduct(v, stored, r)
	case adapter.Categories:
		if own, ok := stored.views[v.level]; ok && own.Get("name").Kind() != adapter.Absent {
			r.Set("name", own.Get("name"))
		}
	case adapter.ProductImages:
		image := stored.image(v.level)
		image.Shown().Put(r)
		s.row(adapter.Products, adapter.Key(r.Get("product_id").Int())).types.Put(r, v.level)
	case adapter.StockItems:
		product := s.row(adapter.Products, adapter.Key(r.Get("product_id").Int()))
		v.set(r, "product_created_at", product.record.Get("created_at"))
		v.set(r, "product_updated_at", product.record.Get("updated_at"))
	case adapter.CustomerAddresses:
		customer := s.row(adapter.Customers, adapter.Key(r.Get("customer_id").Int()))
		v.set(r, "customer_group_id", customer.record.Get("group_id"))
	}
	return r
}

// set sets an attribute if it is named.
func (v *view) set(r adapter.Record, attribute string, value adapter.Value) {
	if v.named[attribute] {
		r.Set(attribute, value)
	}
}

// narrow removes the attributes from a record that the call does not select.
func (v *view) narrow(r adapter.Record) {
	for i, a := range v.schema.Attributes {
		if v.only != nil && a.Name != v.schema.Key && !v.named[a.Name] && !slices.Contains(v.only, a.Name) {
			r.Values[i] = adapter.Value{}
		}
	}
}

// showProduct sets the values of a product that its record does not hold, or not at this
// scope.
func (s *state) showProduct(v *view, product *row, r adapter.Record) {
	key := r.Key()
	if urlKey := r.Get("url_key"); !urlKey.Empty() {
		r.Set("default_url_key", urlKey)
	}
	own, differs := product.views[v.level]
	for i := range v.schema.Attributes {
		a := &v.schema.Attributes[i]
		if a.Nested != nil && !v.named[a.Name] {
			r.Values[i] = adapter.Value{}
		} else if differs && !a.Static && own.Values[i].Kind() != adapter.Absent {
			reads := v.list.Reads(a)
			if reads == adapter.ReadsAny || reads == adapter.ReadsOverrides && r.Values[i].Kind() != adapter.Absent {
				r.Values[i] = own.Values[i]
			}
		}
	}
	for _, list := range rules.PriceLists() {
		v.set(r, list, adapter.RecordsValue(r.Get(list).Records()))
	}
	for _, f := range v.filters {
		if f.Name == adapter.InCategory {
			r.Set("category_position", s.categoryPosition(key, f.Value))
		}
	}
	s.showPointers(v, product, r)
	s.showStock(v, key, r)
}

// showPointers sets the ids of the images to which the types of a product point, and the
// file of the image to which the type image points.
func (s *state) showPointers(v *view, product *row, r adapter.Record) {
	level := v.level
	if v.list.WebsiteScope {
		level = 0
	}
	for _, name := range rules.ImageTypes() {
		key, points := product.types.At(level, name)
		image := s.row(adapter.ProductImages, key)
		switch {
		case !points:
			continue
		case image == nil: // none, or one that was deleted
			v.set(r, rules.PointerTo(name), adapter.NullValue())
			continue
		}
		v.set(r, rules.PointerTo(name), adapter.IntegerValue(int64(key)))
		if name == "image" {
			v.set(r, "image_file", image.record.Get("file"))
		}
	}
}

// showStock sets the values of the stock item that a product shows.
func (s *state) showStock(v *view, product adapter.Key, r adapter.Record) {
	v.set(r, "stock_item", adapter.RecordsValue(nil))
	for item := range s.parts(adapter.StockItems, product) {
		v.set(r, "stock_item", adapter.RecordsValue([]adapter.Record{item.record}))
		for _, name := range []string{"is_in_stock", "manage_stock", "use_config_manage_stock"} {
			v.set(r, "stock_"+name, item.record.Get(name))
		}
	}
}
