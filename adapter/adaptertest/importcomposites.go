package adaptertest

import (
	"testing"

	"github.com/portico-commerce/portico/adapter"
)

// testComposites imports a product that is composed of others, in two groups, and lets its components
// sell out and come back. The imported stock status holds until the first such write.
func (s *importSuite) testComposites(t *testing.T) {
	websites := func(id int, more attrs, in ...int) adapter.Aggregate {
		parts := make([]adapter.Record, len(in))
		for i, website := range in {
			parts[i] = s.part(adapter.ProductWebsites, attrs{"product_id": id, "website_id": website})
		}
		one := s.aggregate(adapter.Products, importedProduct(id, "composite-"+string(rune('a'+id-900)), more), parts...)
		one.PartsOf = []adapter.Resource{adapter.ProductWebsites}
		return one
	}
	item := func(id, inStock, useConfig, manage int) adapter.Aggregate {
		g := importedStock(s.schemas.Of(adapter.StockItems), id, id)
		return s.aggregate(adapter.StockItems, g.With(attrs{"is_in_stock": inStock, "use_config_manage_stock": useConfig, "manage_stock": manage}))
	}
	bundle := websites(900, attrs{"type_id": "bundle", "components": "901,902 903"}, 1, otherWebsite)
	bundle.Levels = []adapter.Level{s.level(adapter.Products, otherView, attrs{"entity_id": 900, "stock_status": 1})}
	part := attrs{"component_of": "900,999"}
	s.expect(t, "imported", adapter.ImportOptions{}, outcomes(created, created, created, created, created, created, created, created),
		bundle, websites(901, part, 1, otherWebsite), websites(902, part, 1), websites(903, part, 1, otherWebsite),
		item(900, 1, 1, 0), item(901, 1, 1, 0), item(902, 0, 0, 1), item(903, 1, 1, 0))

	in := func(view int64, managed bool) bool {
		p := adapter.GetParams{Key: 900, StoreID: view, Filters: []adapter.Filter{{Name: adapter.InStock, Value: flag(managed)}}}
		_, err := storeOf(t, s.adapter, adapter.Products).Get(t.Context(), &p)
		return err == nil
	}
	stock := func(id adapter.Key, change attrs) {
		t.Helper()
		if err := Update(t, storeOf(t, s.adapter, adapter.StockItems), id, 0, change); err != nil {
			t.Fatal(err)
		}
	}
	soldOut, filled := attrs{"is_in_stock": 0}, attrs{"is_in_stock": 1}
	for _, step := range []struct {
		name      string
		write     func()
		one, two  bool // in stock in the two websites if stock is managed by default
		unmanaged [2]bool
	}{
		{"imported", func() {}, true, true, [2]bool{true, true}},
		{"quantity of a component", func() { stock(902, attrs{"qty": "3.0000"}) }, true, true, [2]bool{true, true}},
		{"the only component of a group sold out", func() { stock(903, attrs{"is_in_stock": 0, "use_config_manage_stock": 0, "manage_stock": 1}) }, false, false, [2]bool{}},
		{"and filled", func() { stock(903, filled) }, true, true, [2]bool{true, true}},
		{"one of two filled, which another website does not sell", func() { stock(902, filled) }, true, true, [2]bool{true, true}},
		{"the other one sold out", func() { stock(901, soldOut) }, true, false, [2]bool{true, true}},
		{"both sold out", func() { stock(902, soldOut) }, false, false, [2]bool{true, true}},
		{"the product itself sold out", func() {
			stock(901, filled)
			stock(900, attrs{"is_in_stock": 0, "use_config_manage_stock": 0, "manage_stock": 1})
		}, false, false, [2]bool{}},
		{"and filled", func() { stock(900, filled) }, true, true, [2]bool{true, true}},
		{"a component disabled", func() { s.update(t, 903, attrs{"status": 2}) }, false, false, [2]bool{}},
		{"and enabled", func() { s.update(t, 903, attrs{"status": 1}) }, true, true, [2]bool{true, true}},
		{"with its product", func() { s.update(t, 903, attrs{"stock_item": []attrs{{"is_in_stock": 0}}}) }, false, false, [2]bool{}},
		{"with its product again", func() { s.update(t, 903, attrs{"stock_item": []attrs{{"is_in_stock": 1}}}) }, true, true, [2]bool{true, true}},
		{"a component deleted", func() {
			if err := storeOf(t, s.adapter, adapter.Products).Delete(t.Context(), &adapter.DeleteParams{Key: 903}); err != nil {
				t.Fatal(err)
			}
		}, false, false, [2]bool{}},
	} {
		step.write()
		if one, two := in(aView, true), in(otherView, true); one != step.one || two != step.two {
			t.Errorf("%s: in stock %t and %t, want %t and %t", step.name, one, two, step.one, step.two)
		}
		if got := [2]bool{in(aView, false), in(otherView, false)}; got != step.unmanaged {
			t.Errorf("%s: in stock where stock is not managed %v, want %v", step.name, got, step.unmanaged)
		}
	}
}

// update changes a product.
func (s *importSuite) update(t *testing.T, key adapter.Key, change attrs) {
	t.Helper()
	if err := Update(t, storeOf(t, s.adapter, adapter.Products), key, 0, change); err != nil {
		t.Fatal(err)
	}
}
