package adaptertest

import (
	"errors"
	"github.com/portico-commerce/portico/adapter"
	"testing"
)

// aProduct is a product of the demo store without images and without values of store
// views. One website sells it, with the store views aView and sisterView. otherView belongs
// to a website that does not sell it.
const (
	aProduct   = 3
	aView      = 2
	sisterView = 1
	otherView  = 3
)

// testProductWrites checks the rules that only writes of products and their images have:
// scopes, prices, stock items, SKUs, images at scopes and assignments.
func testProductWrites(t *testing.T, h Harness, a adapter.Adapter, schemas *adapter.Schemas) {
	creates := func(r adapter.Resource) bool {
		s := &suite{schema: schemas.Of(r), store: storeOf(t, a, r), sampled: h.Sampled}
		return s.supportedWrites(t).creates
	}
	posts, assigns := creates(adapter.ProductImages), creates(adapter.ProductWebsites) && creates(adapter.ProductCategories)
	for _, c := range []struct {
		name    string
		applies bool
		test    func(*productSuite, *testing.T)
	}{
		{"create", true, (*productSuite).testCreate},
		{"scopes", true, (*productSuite).testScopes},
		{"everywhere", true, (*productSuite).testEverywhere},
		{"overrides", true, (*productSuite).testOverrides},
		{"prices", true, (*productSuite).testPriceLists},
		{"stock item", true, (*productSuite).testStockItem},
		{"concurrent stock writes", true, (*productSuite).testConcurrentStockWrites},
		{"SKU", true, (*productSuite).testSKU},
		{"invalid products", true, (*productSuite).testInvalidProducts},
		{"delete", true, (*productSuite).testDelete},
		{"concurrent writes", true, (*productSuite).testConcurrentWrites},
		{"images at levels", posts, (*productSuite).testImageLevels},
		{"image values frozen", posts, (*productSuite).testFreeze},
		{"images deleted", posts, (*productSuite).testImageDelete},
		{"image names", posts, (*productSuite).testImageNames},
		{"invalid images", posts, (*productSuite).testInvalidImages},
		{"assignments", assigns && posts, (*productSuite).testAssignments},
		{"copies", assigns && posts, (*productSuite).testCopies},
		{"invalid assignments", assigns, (*productSuite).testInvalidAssignments},
		{"concurrent assignments", assigns, (*productSuite).testConcurrentAssignments},
	} {
		if !c.applies {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			a := h.Open(t)
			c.test(&productSuite{
				schemas: schemas, products: storeOf(t, a, adapter.Products), images: storeOf(t, a, adapter.ProductImages), stock: storeOf(t, a, adapter.StockItems),
				websites: storeOf(t, a, adapter.ProductWebsites), categories: storeOf(t, a, adapter.ProductCategories),
			}, t)
		})
	}
}

// A productSuite tests the stores of products and of the records that belong to them.
type productSuite struct {
	schemas                 *adapter.Schemas
	products, images, stock adapter.Store
	websites, categories    adapter.Store
}

// newProduct returns the required attributes of a product, and some more.
func newProduct(sku string, more attrs) attrs {
	return attrs{"attribute_set_id": 4, "type_id": "simple", "sku": sku, "name": "N", "price": "1.0000", "status": 1, "visibility": 4, "tax_class_id": 2}.With(more)
}

func (s *productSuite) createProduct(t *testing.T, sku string, more attrs) adapter.Key {
	t.Helper()
	key, err := s.products.Create(t.Context(), &adapter.CreateParams{Record: newProduct(sku, more).Record(s.schemas.Of(adapter.Products))})
	if err != nil {
		t.Fatalf("Create %q: %v", sku, err)
	}
	return key
}

func (s *productSuite) getProduct(t *testing.T, key adapter.Key, level int64, with ...string) adapter.Record {
	t.Helper()
	return MustGet(t, s.products, adapter.GetParams{Key: key, StoreID: level, With: with})
}

// updateProduct changes a product at a scope.
func (s *productSuite) updateProduct(t *testing.T, key adapter.Key, level int64, change attrs) error {
	t.Helper()
	return Update(t, s.products, key, level, change)
}

// mustUpdate is updateProduct for a change that must succeed.
func (s *productSuite) mustUpdate(t *testing.T, key adapter.Key, level int64, change attrs) {
	t.Helper()
	if err := s.updateProduct(t, key, level, change); err != nil {
		t.Fatalf("Update %d at %d: %v", key, level, err)
	}
}

// wantValues compares values of a product at a scope.
func (s *productSuite) wantValues(t *testing.T, key adapter.Key, level int64, want attrs) {
	t.Helper()
	got, wanted := s.getProduct(t, key, level), want.Record(s.schemas.Of(adapter.Products))
	for name := range want {
		if FormatValue(got.Get(name)) != FormatValue(wanted.Get(name)) {
			t.Errorf("product %d at %d: %s is %s, want %s", key, level, name, FormatValue(got.Get(name)), FormatValue(wanted.Get(name)))
		}
	}
}

// wantError fails unless err is of a kind and names the attribute.
func wantError(t *testing.T, what string, err error, kind adapter.ErrorKind, field string) {
	t.Helper()
	var e *adapter.Error
	if !errors.As(err, &e) || e.Kind != kind || e.Field != field {
		t.Errorf("%s: %v, want %s of %q", what, err, kind, field)
	}
}

func (s *productSuite) testCreate(t *testing.T) {
	stock := attrs{"qty": "5.0000", "low_stock_date": nil, "notify_stock_qty": nil}
	for _, a := range s.schemas.Of(adapter.StockItems).Attributes {
		if _, ok := stock[a.Name]; ok || a.ReadOnly {
			continue
		}
		stock[a.Name] = map[adapter.Kind]any{adapter.KindInteger: 1, adapter.KindDecimal: "2.0000"}[a.Kind]
	}
	first := s.createProduct(t, "n-1", nil)
	key := s.createProduct(t, "n-2", attrs{
		"meta_title": nil, "special_from_date": nil, "url_key": "n",
		"tier_price":  []attrs{{"website_id": 0, "cust_group": 1, "price": "9.0000", "price_qty": "2.0000"}, {"website_id": 0, "cust_group": 32000, "price": "8.0000", "price_qty": "2.0000"}},
		"group_price": []attrs{{"website_id": 0, "cust_group": 2, "price": "7.0000"}},
		"stock_item":  []attrs{stock},
	})
	if key <= first {
		t.Errorf("key %d after %d", key, first)
	}
	absent := adapter.Value{}
	s.wantValues(t, key, 0, attrs{"sku": "n-2", "meta_title": nil, "meta_keyword": absent, "special_from_date": nil, "url_key": "n", "default_url_key": "n"})
	s.wantValues(t, key, aView, attrs{"name": "N", "meta_title": nil})
	r := s.getProduct(t, key, 0, "tier_price", "group_price", "stock_item", "image_file")
	if created := r.Get("created_at"); created.Text() == "" || !r.Get("updated_at").Equal(created) {
		t.Errorf("created at %q, updated at %q", created.Text(), r.Get("updated_at").Text())
	}
	if got := prices(r, "tier_price"); got != "1 9.0000 2.0000|32000 8.0000 2.0000" {
		t.Errorf("tier prices: %s", got)
	}
	if got := prices(r, "group_price"); got != "2 7.0000" {
		t.Errorf("group prices: %s", got)
	}
	items := r.Get("stock_item").Records()
	if len(items) != 1 {
		t.Fatalf("stock items: %s", FormatValue(r.Get("stock_item")))
	}
	for name, v := range (attrs{"product_id": int(key), "stock_id": 1, "qty": "5.0000", "low_stock_date": nil, "manage_stock": 1, "min_qty": "2.0000"}) {
		if want := (attrs{name: v}).Record(items[0].Schema).Get(name); FormatValue(items[0].Get(name)) != FormatValue(want) {
			t.Errorf("stock item: %s is %s, want %s", name, FormatValue(items[0].Get(name)), FormatValue(want))
		}
	}
	kept, err := s.stock.Get(t.Context(), &adapter.GetParams{Key: items[0].Key()})
	if err != nil || !sameRecord(kept, items[0]) {
		t.Errorf("stock item: %s, %v", FormatRecord(kept), err)
	}
	if none := s.getProduct(t, first, 0, "stock_item").Get("stock_item"); len(none.Records()) != 0 {
		t.Errorf("unexpected stock item: %s", FormatValue(none))
	}
}

func (s *productSuite) testScopes(t *testing.T) {
	const key = aProduct
	before := s.getProduct(t, key, 0)
	s.mustUpdate(t, key, aView, attrs{"name": "Lampe", "status": 2, "price": "5.0000", "meta_title": nil, "visibility": 3, "special_to_date": "2030-01-01 00:00:00"})
	s.wantValues(t, key, 0, attrs{"name": before.Get("name"), "status": 1, "price": "5.0000", "meta_title": adapter.Value{}, "visibility": 4, "special_to_date": adapter.Value{}})
	s.wantValues(t, key, aView, attrs{"name": "Lampe", "status": 2, "price": "5.0000", "meta_title": nil, "visibility": 3, "special_to_date": "2030-01-01 00:00:00"})
	s.wantValues(t, key, sisterView, attrs{"name": before.Get("name"), "status": 2, "meta_title": adapter.Value{}, "visibility": 4, "special_to_date": "2030-01-01 00:00:00"})
	s.wantValues(t, key, otherView, attrs{"name": before.Get("name"), "status": 1, "special_to_date": adapter.Value{}})

	// Attributes without a value of the view follow the default scope.
	s.mustUpdate(t, key, 0, attrs{"name": "Lamp", "description": "D", "meta_keyword": nil})
	s.wantValues(t, key, aView, attrs{"name": "Lampe", "description": "D", "meta_keyword": nil})
	s.wantValues(t, key, sisterView, attrs{"name": "Lamp"})
	// A value equal to the default one is still a value of the view.
	s.mustUpdate(t, key, sisterView, attrs{"description": "D"})
	s.mustUpdate(t, key, 0, attrs{"description": "E"})
	s.wantValues(t, key, sisterView, attrs{"description": "D"})
	s.wantValues(t, key, aView, attrs{"description": "E"})

	unset := adapter.UnsetValue()
	s.mustUpdate(t, key, aView, attrs{"name": unset, "meta_title": unset, "status": unset, "visibility": unset})
	s.wantValues(t, key, aView, attrs{"name": "Lamp", "meta_title": adapter.Value{}, "status": 1, "visibility": 4})
	s.wantValues(t, key, sisterView, attrs{"status": 1})
	s.mustUpdate(t, key, 0, attrs{"meta_keyword": unset, "description": nil})
	s.wantValues(t, key, 0, attrs{"meta_keyword": adapter.Value{}, "description": nil})

	s.mustUpdate(t, key, aView, attrs{"url_key": "lampe", "description": ""})
	s.wantValues(t, key, aView, attrs{"url_key": "lampe", "default_url_key": before.Get("url_key"), "description": ""})

	err := s.products.Update(t.Context(), &adapter.UpdateParams{Key: key, StoreID: aView, With: []string{"tier_price"}, Change: func(current adapter.Record) (adapter.Record, error) {
		if seen := s.getProduct(t, key, aView); !sameRecord(current, seen) {
			t.Errorf("Change saw\n\t%s\nGet:\n\t%s", FormatRecord(current), FormatRecord(seen))
		}
		if current.Get("tier_price").Kind() != adapter.Records {
			t.Error("Change saw no tier prices")
		}
		return adapter.NewRecord(current.Schema), nil
	}})
	if err != nil {
		t.Error(err)
	}
	wantError(t, "unknown store view", s.updateProduct(t, key, 1<<40, attrs{"name": "x"}), adapter.Invalid, "store_id")
}

func (s *productSuite) testSKU(t *testing.T) {
	s.createProduct(t, "zé-1", nil)
	s.createProduct(t, " lead", nil)
	s.createProduct(t, "trail ", nil)
	for sku, free := range map[string]bool{
		"ZE-1": false, " zé-1\t": false, "zé-1  ": false, "zé-2": true,
		"lead": true, "TRAIL": false, "\ttrail": false,
	} {
		_, err := s.products.Create(t.Context(), &adapter.CreateParams{Record: newProduct(sku, nil).Record(s.schemas.Of(adapter.Products))})
		if free && err != nil {
			t.Errorf("%q: %v", sku, err)
		} else if !free {
			wantError(t, sku, err, adapter.Conflict, "sku")
		}
	}
	_, err := s.products.Create(t.Context(), &adapter.CreateParams{Record: newProduct(" LEAD ", nil).Record(s.schemas.Of(adapter.Products))})
	wantError(t, "beside lead", err, adapter.Conflict, "sku")
	key := s.createProduct(t, "mine", nil)
	s.mustUpdate(t, key, 0, attrs{"sku": " MINE "})
	s.wantValues(t, key, 0, attrs{"sku": " MINE "})
	wantError(t, "another's", s.updateProduct(t, key, aView, attrs{"sku": "Ze-1", "name": "x"}), adapter.Conflict, "sku")
	s.wantValues(t, key, aView, attrs{"sku": " MINE ", "name": "N"})
}

func (s *productSuite) testInvalidProducts(t *testing.T) {
	schema := s.schemas.Of(adapter.Products)
	result := MustList(t, s.products, adapter.ListParams{Count: true})
	for name, more := range map[string]attrs{
		"a key":                   {"entity_id": 77},
		"a time":                  {"created_at": "2012-01-01 00:00:00"},
		"a computed value":        {"image_file": "a/b/c.png"},
		"no type":                 {"type_id": nil},
		"no SKU":                  {"sku": nil},
		"not a number":            {"price": "x"},
		"a bad price":             {"group_price": []attrs{{"cust_group": 1}}},
		"a price of a rule":       {"rule_price": []attrs{{"website_id": 1, "cust_group": 1, "rule_date": "2013-01-01 00:00:00", "price": "1.0000"}}},
		"a bad stock item":        {"stock_item": []attrs{{"qty": "1.0000"}}},
		"two stock items":         {"stock_item": []attrs{{}, {}}},
		"item of another product": {"stock_item": []attrs{{"product_id": 1}}},
	} {
		_, err := s.products.Create(t.Context(), &adapter.CreateParams{Record: newProduct("r-"+name, more).Record(schema)})
		if adapter.KindOf(err) != adapter.Invalid || err == nil {
			t.Errorf("%s: %v, want invalid", name, err)
		}
	}
	after, err := s.products.List(t.Context(), &adapter.ListParams{Count: true})
	if err != nil || after.Total != result.Total {
		t.Errorf("%d products, were %d; %v", after.Total, result.Total, err)
	}
}

func (s *productSuite) testDelete(t *testing.T) {
	const key = 2 // has prices, a stock item, websites, categories and order items
	item := s.getProduct(t, key, 0, "stock_item").Get("stock_item").Records()[0]
	sku := s.getProduct(t, key, 0).Get("sku").Text()
	last := s.createProduct(t, "last", nil)
	for _, k := range []adapter.Key{key, last} {
		MustDelete(t, s.products, adapter.DeleteParams{Key: k})
		if _, err := s.products.Get(t.Context(), &adapter.GetParams{Key: k}); adapter.KindOf(err) != adapter.NotFound || err == nil {
			t.Errorf("Get %d: %v, want not found", k, err)
		}
		if err := s.products.Delete(t.Context(), &adapter.DeleteParams{Key: k}); adapter.KindOf(err) != adapter.NotFound || err == nil {
			t.Errorf("again: %v, want not found", err)
		}
	}
	if _, err := s.stock.Get(t.Context(), &adapter.GetParams{Key: item.Key()}); adapter.KindOf(err) != adapter.NotFound || err == nil {
		t.Errorf("its stock item: %v, want not found", err)
	}
	if again := s.createProduct(t, sku, nil); again <= last {
		t.Errorf("key %d after %d", again, last)
	}
}
