package sqlstore

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/config/testenv"
)

// openWithStoreViewValues opens the demo store with images and values of store views.
func openWithStoreViewValues(t testing.TB, e sqltest.Engine) *DB {
	t.Helper()
	db := openDemo(t, e)
	addStoreViewValues(t, db)
	return db
}

// addStoreViewValues adds images and values of store views to the demo store.
func addStoreViewValues(t testing.TB, db *DB) {
	t.Helper()
	for _, v := range []struct {
		product, store   int
		attribute, value any
	}{
		{1, 2, "name", "Bouilloire à l'étain"},
		{1, 2, "meta_title", nil},
		{1, 1, "visibility", "1"},
		{2, 1, "status", "2"},
		{2, 2, "status", "2"},
		{2, 2, "name", "aaa"},
		{2, 3, "country_of_manufacture", nil},
		{2, 2, "special_from_date", "2015-05-05 00:00:00"},
		{3, 2, "description", ""},
		{3, 2, "url_key", "lampe"},
		{4, 2, "tax_class_id", "0"},
		{4, 2, "price", "70.5000"},
		{5, 2, "custom_design_from", "2012-01-01 00:00:00"},
		{12, 2, "visibility", "3"},
	} {
		var folded any
		if text, ok := v.value.(string); ok {
			folded = adapter.Fold(text)
		}
		if _, err := db.records.WriteStatements.Exec(t.Context(), "INSERT INTO product_value (product_id, store_id, attribute, value, value_folded) VALUES (?, ?, ?, ?, ?)",
			v.product, v.store, v.attribute, v.value, folded); err != nil {
			t.Fatal(err)
		}
	}
	execute(t, db,
		"INSERT INTO product_group_price (product_id, website_id, cust_group, price) VALUES (1, 0, 2, 30)",
		"INSERT INTO product_tier_price (product_id, website_id, cust_group, price, price_qty) VALUES (1, 0, 2, 25, 5)",
		"UPDATE product SET nulls = CONCAT(nulls, 'meta_keyword,'), meta_keyword = NULL, meta_keyword_folded = NULL WHERE entity_id = 1",
		"INSERT INTO product_image (id, product_id, file, media_type) VALUES (1, 1, 'f/r/front.png', 'image/png'), (2, 1, 'b/a/back.png', 'image/png'), (3, 2, 'c/o/copper.png', 'image/png')",
		"INSERT INTO product_image_pointer (product_id, store_id, type, image_id) VALUES (1, 0, 'image', 1), (1, 2, 'image', 2), (1, 0, 'thumbnail', 2), (2, 0, 'image', 3), (2, 2, 'image', NULL)",
	)
	if advance := db.records.Engine.Counters.Advance; advance != nil {
		execute(t, db, advance(engine.Counter{Table: "product_image", Column: "id"}))
	}
	if err := db.RebuildListing(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// restricted is an adapter that offers only products, restricted by its parameters.
type restricted struct {
	*RecordAdapter
	adaptertest.Bounds
}

func (b restricted) Store(r adapter.Resource) (adapter.Store, error) {
	store, err := b.RecordAdapter.Store(r)
	if err != nil || r != adapter.Products {
		return nil, &adapter.Error{Kind: adapter.Unsupported, Op: "store " + string(r)}
	}
	return adaptertest.RestrictedStore{Store: store, Bounds: b.Bounds}, nil
}

// oneVariant returns a function that reports whether to run a variant of a suite: outside nightly runs
// it chooses one of names.
func oneVariant(t *testing.T, names ...string) func(name string) bool {
	t.Helper()
	if testenv.Nightly() {
		return func(string) bool { return true }
	}
	one := names[testenv.NewSample(t).IntN(len(names))]
	return func(name string) bool { return name == one }
}

// TestConformanceInStoreViews runs the whole product suite on the values that store
// views, websites and categories show, so that every query on the scoped tables is
// compared with adapter.Apply.
func TestConformanceInStoreViews(t *testing.T) {
	sqltest.EachEngineFullSuite(t, testConformanceInStoreViews)
}

func testConformanceInStoreViews(t *testing.T, e sqltest.Engine) {
	chosen := oneVariant(t, "store view", "category of a website, with its values alone", "product listing")
	unsupported := map[adapter.Resource]string{}
	for _, table := range engine.Layout(adapter.NewSchemas()) {
		if table.Schema.Resource != adapter.Products {
			unsupported[table.Schema.Resource] = "not of this test"
		}
	}
	for _, c := range []struct {
		name   string
		bounds adaptertest.Bounds
	}{
		{"store view", adaptertest.Bounds{StoreID: 2}},
		{"category of a website, with its values alone", adaptertest.Bounds{StoreID: 2, WebsiteScope: true, Filters: []adapter.Filter{{Name: adapter.InWebsite, Value: 1}, {Name: adapter.InCategory, Value: 3}}}},
		{"product listing", adaptertest.Bounds{StoreID: 2, WebsiteScope: true, Filters: []adapter.Filter{{Name: adapter.Listed}}}},
	} {
		if !chosen(c.name) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			open := StoreOpener(t, e, func(tb testing.TB) *DB { return openWithStoreViewValues(tb, e) }, func(tb testing.TB, db *DB) {
				if err := db.Reset(tb.Context(), DemoData(tb)); err != nil {
					tb.Fatal(err)
				}
				addStoreViewValues(tb, db)
			})
			adaptertest.Run(t, adaptertest.Harness{
				Open:        func(t *testing.T) adapter.Adapter { return restricted{open(t).Adapter(), c.bounds} },
				Unsupported: unsupported,
				Sampled:     sqltest.Sampled(t),
			})
		})
	}
}

// TestPartsOfManyProducts lists more products than one statement reads parts for.
func TestPartsOfManyProducts(t *testing.T) {
	sqltest.EachEngine(t, testPartsOfManyProducts)
}

func testPartsOfManyProducts(t *testing.T, e sqltest.Engine) {
	db := openWithStoreViewValues(t, e)
	const many = 2*128 + 3 // a batch is 128
	var products, names, prices []string
	for i := range many {
		id := 100 + i
		products = append(products, fmt.Sprintf("(%d, 4, 'simple', 'bulk-%[1]d', '2012-01-01 00:00:00', '2012-01-01 00:00:00')", id))
		names = append(names, fmt.Sprintf("(%d, 2, 'name', 'bulk %[1]d')", id))
		prices = append(prices, fmt.Sprintf("(%d, 0, 1, %[1]d, 2)", id))
	}
	execute(t, db,
		"INSERT INTO product (entity_id, attribute_set_id, type_id, sku, created_at, updated_at) VALUES "+strings.Join(products, ","),
		"INSERT INTO product_value (product_id, store_id, attribute, value) VALUES "+strings.Join(names, ","),
		"INSERT INTO product_tier_price (product_id, website_id, cust_group, price, price_qty) VALUES "+strings.Join(prices, ","),
	)
	dense, sparse := adapter.Test{Attribute: "entity_id", Op: adapter.In}, adapter.Test{Attribute: "entity_id", Op: adapter.In}
	for id := 100; id < 190; id += 3 {
		dense.Operands = append(dense.Operands, strconv.Itoa(id), strconv.Itoa(id+1)) // their parts are read as a range with gaps
		sparse.Operands = append(sparse.Operands, strconv.Itoa(id))
	}
	for _, tt := range []struct {
		where adapter.Test
		want  int
	}{{adapter.Test{Attribute: "entity_id", Op: adapter.GtEq, Operands: []string{"100"}}, many}, {dense, 60}, {sparse, 30}} {
		result, err := storeOf(t, db, adapter.Products).List(t.Context(), &adapter.ListParams{
			With: []string{"tier_price"}, StoreID: 2, Query: adapter.Query{Where: []adapter.Condition{{Any: []adapter.Test{tt.where}}}},
		})
		if err != nil || len(result.Records) != tt.want {
			t.Fatalf("%d products, %v", len(result.Records), err)
		}
		for _, r := range result.Records {
			id := r.Get("entity_id").Text()
			prices := r.Get("tier_price").Records()
			if r.Get("name").Text() != "bulk "+id || len(prices) != 1 || prices[0].Get("price").Text() != id+".0000" {
				t.Fatalf("product %s: %v", id, r.Values)
			}
		}
	}
}

// TestPricesForBuyer checks that reads for a buyer leave out the prices for other groups and websites.
func TestPricesForBuyer(t *testing.T) { sqltest.EachEngine(t, testPricesForBuyer) }

func testPricesForBuyer(t *testing.T, e sqltest.Engine) {
	db := openDemo(t, e)
	execute(t, db,
		"INSERT INTO product_group_price (product_id, website_id, cust_group, price) VALUES (1, 0, 0, 10), (1, 0, 2, 11), (1, 0, 32000, 12), (1, 1, 0, 13), (1, 2, 0, 14), (3, 2, 2, 15)",
		"INSERT INTO product_tier_price (product_id, website_id, cust_group, price, price_qty) VALUES (1, 0, 2, 20, 5), (1, 1, 32000, 21, 5), (1, 2, 32000, 22, 5), (4, 1, 0, 23, 2)",
		"INSERT INTO product_rule_price (product_id, website_id, cust_group, rule_date, price) VALUES (1, 1, 0, '2013-01-01 00:00:00', 30), (1, 1, 0, '2013-01-02 00:00:00', 31),"+
			" (1, 1, 2, '2013-01-01 00:00:00', 32), (1, 2, 0, '2013-01-01 00:00:00', 33), (1, 1, 32000, '2013-01-01 00:00:00', 34), (9, 2, 2, '2013-01-01 00:00:00', 35)",
	)
	store, lists := storeOf(t, db, adapter.Products), []string{"group_price", "tier_price", "rule_price"}
	prices := func(r adapter.Record) (all string) {
		for _, list := range lists {
			for _, price := range r.Get(list).Records() {
				whole, _, _ := strings.Cut(price.Get("price").Text(), ".")
				all += whole + " "
			}
		}
		return strings.TrimSpace(all)
	}
	for buyer, want := range map[adapter.Buyer]map[adapter.Key]string{
		{}:                       {1: "10 12", 2: "90"},
		{Group: 0, WebsiteID: 1}: {1: "10 12 13 21 30 31", 2: "90", 4: "23"},
		{Group: 2, WebsiteID: 1}: {1: "11 12 20 21 32", 2: "95 90 80"},
		{Group: 2, WebsiteID: 2}: {1: "11 12 20 22", 3: "15", 2: "95 90 80", 9: "35"},
		{Group: 7, WebsiteID: 2}: {1: "12 22", 2: "90"},
	} {
		for _, view := range []int64{0, 1} {
			params := adapter.ListParams{StoreID: view, With: lists, Buyer: &buyer}
			listed, err := store.List(t.Context(), &params)
			if err != nil {
				t.Fatal(err)
			}
			found := 0
			for _, r := range listed.Records {
				if _, ok := want[r.Key()]; ok {
					found++
				}
				alone := adaptertest.MustGet(t, store, adapter.GetParams{Key: r.Key(), StoreID: view, With: lists, Buyer: &buyer})
				params.Query = adapter.Query{Where: []adapter.Condition{{Any: []adapter.Test{{Attribute: "entity_id", Op: adapter.In, Operands: []string{strconv.Itoa(int(r.Key()))}}}}}}
				among := adaptertest.MustList(t, store, params).Records
				if expected := want[r.Key()]; prices(r) != expected || prices(alone) != expected || len(among) != 1 || prices(among[0]) != expected {
					t.Errorf("%+v at store view %d: product %d is listed with prices %q, and read with %q, want %q", buyer, view, r.Key(), prices(r), prices(alone), expected)
				}
			}
			if found != len(want) {
				t.Errorf("%+v at store view %d: %d of the products %v are listed", buyer, view, found, want)
			}
		}
	}
}
