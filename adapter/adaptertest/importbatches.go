package adaptertest

import (
	"fmt"
	"github.com/portico-commerce/portico/adapter"
	"slices"
	"strings"
	"sync"
	"testing"
)

// testBatches imports batches whose records depend on each other.
func (s *importSuite) testBatches(t *testing.T) {
	product := func(id int, sku string) adapter.Aggregate {
		return s.aggregate(adapter.Products, importedProduct(id, sku, nil))
	}
	var many []adapter.Aggregate
	var want []adapter.ImportOutcome
	for i := range 150 { // more than one statement reads
		one := product(1000+i, fmt.Sprintf("many-%d", i))
		one.Levels = []adapter.Level{s.level(adapter.Products, aView, attrs{"entity_id": 1000 + i, "name": fmt.Sprint(i)})}
		one.Parts = []adapter.Record{s.part(adapter.ProductWebsites, attrs{"product_id": 1000 + i, "website_id": 1})}
		one.PartsOf = []adapter.Resource{adapter.ProductWebsites}
		many, want = append(many, one), append(want, created)
	}
	s.expect(t, "many", replacing(), want, many...)
	s.expect(t, "many again", replacing(), slices.Repeat(outcomes(equal), 150), many...)
	s.shown(t, "many", adapter.Products, adapter.GetParams{Key: 1149, StoreID: aView, Filters: []adapter.Filter{{Name: adapter.Listed}}}, attrs{"name": "149"})
	many[77].Levels = nil
	changes := slices.Repeat(outcomes(equal), 150)
	changes[77] = changed
	s.expect(t, "one of many", replacing(), changes, many...)

	stock := importedStock(s.schemas.Of(adapter.StockItems), 900, 900)
	s.expect(t, "out of order", replacing(), outcomes(created, created, changed),
		s.aggregate(adapter.StockItems, stock), product(900, "twice"), product(900, "again"))
	s.expect(t, "a SKU that becomes free", replacing(), outcomes(created, removed), product(901, "again"), s.gone(adapter.Products, 900))
	if found := s.imported(t, adapter.StockItems); len(found) != 0 {
		t.Errorf("its stock item is left: %v", found)
	}
	for name, batch := range map[string][]adapter.Aggregate{
		"one SKU twice":             {product(902, "same"), product(903, "SÁME ")},
		"the SKU of another":        {product(902, strings.ToUpper("again"))},
		"a SKU of the same product": {product(901, "many-3")},
	} {
		_, err := s.importer.Import(t.Context(), batch, replacing())
		wantError(t, name, err, adapter.Conflict, "sku")
	}
	s.expect(t, "SKUs that move on", replacing(), outcomes(created, changed), product(902, "again"), product(901, "other"))
	_, err := s.importer.Import(t.Context(), []adapter.Aggregate{s.aggregate(adapter.StockItems, importedStock(s.schemas.Of(adapter.StockItems), 900, 900))}, replacing())
	wantError(t, "a stock item of no product", err, adapter.NotFound, "product_id")
	s.expect(t, "what no client could write", replacing(), outcomes(created), s.aggregate(adapter.Products,
		importedProduct(904, strings.Repeat("long", 20), attrs{"price": "-1.0000", "visibility": nil, "status": nil, "name": nil})))
}

// testExchanges imports batches whose records take unique values from each other.
func (s *importSuite) testExchanges(t *testing.T, oneByOne bool) {
	product := func(id int, sku string) adapter.Aggregate {
		return s.aggregate(adapter.Products, importedProduct(id, sku, nil))
	}
	customer := func(id int, email string) adapter.Aggregate {
		return s.aggregate(adapter.Customers, importedCustomer(id, attrs{"email": email}))
	}
	s.expect(t, "products", replacing(), outcomes(created, created, created), product(901, "a"), product(902, "b"), product(903, "c"))
	s.expect(t, "customers", replacing(), outcomes(created, created), customer(950, "first@example.com"), customer(951, "second@example.com"))
	products := []adapter.Aggregate{product(901, "b"), product(902, "c"), product(903, "a")}
	customers := []adapter.Aggregate{customer(950, "second@example.com"), customer(951, "first@example.com")}
	if oneByOne {
		_, err := s.importer.Import(t.Context(), products, replacing())
		wantError(t, "SKUs that change places", err, adapter.Conflict, "sku")
		_, err = s.importer.Import(t.Context(), customers, replacing())
		wantError(t, "addresses that change places", err, adapter.Conflict, "email")
		return
	}
	s.expect(t, "SKUs that change places", replacing(), outcomes(changed, changed, changed), products...)
	s.expect(t, "SKUs that have changed places", replacing(), outcomes(equal, equal, equal), products...)
	s.expect(t, "addresses that change places", replacing(), outcomes(changed, changed), customers...)
	s.expect(t, "addresses that have changed places", replacing(), outcomes(equal, equal), customers...)
}

// testConcurrentImports imports the same products from many goroutines while clients change
// them. Afterwards an import finds the values of the last one unchanged.
func (s *importSuite) testConcurrentImports(t *testing.T) {
	const products, writers = 10, 12
	batch := func(name string) []adapter.Aggregate {
		var all []adapter.Aggregate
		for i := range products {
			one := s.aggregate(adapter.Products, importedProduct(900+i, fmt.Sprintf("busy-%d", i), attrs{"name": name}))
			one.Levels = []adapter.Level{s.level(adapter.Products, aView, attrs{"entity_id": 900 + i, "name": name, "price": "3.0000"})}
			one.Parts = []adapter.Record{s.part(adapter.ProductWebsites, attrs{"product_id": 900 + i, "website_id": 1})}
			one.PartsOf = []adapter.Resource{adapter.ProductWebsites}
			all = append(all, one)
		}
		return all
	}
	s.expect(t, "first", replacing(), slices.Repeat(outcomes(created), products), batch("first")...)
	client := storeOf(t, s.adapter, adapter.Products)
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			if i%2 == 0 {
				if _, err := s.importer.Import(t.Context(), batch(fmt.Sprint(i)), replacing()); err != nil {
					t.Errorf("import %d: %v", i, err)
				}
				return
			}
			for key := range products {
				if err := Update(t, client, adapter.Key(900+key), aView, attrs{"name": "client", "sku": fmt.Sprintf("busy-%d", key)}); err != nil {
					t.Errorf("change of %d: %v", key, err)
				}
			}
		})
	}
	all.Wait()
	s.expect(t, "last", replacing(), slices.Repeat(outcomes(changed), products), batch("last")...)
	s.expect(t, "last again", replacing(), slices.Repeat(outcomes(equal), products), batch("last")...)
}

// importedStock returns a stock item of another system.
func importedStock(schema *adapter.Schema, id, product int) attrs {
	item := attrs{"item_id": id, "product_id": product, "stock_id": 1}
	for _, a := range schema.Attributes {
		if _, ok := item[a.Name]; !ok && a.Required {
			item[a.Name] = map[adapter.Kind]any{adapter.KindInteger: 1, adapter.KindDecimal: "2.0000"}[a.Kind]
		}
	}
	return item
}

// testNoted checks that an adapter lists the records that came from a source.
func (s *importSuite) testNoted(t *testing.T) {
	noter := s.adapter.(adapter.Noter)
	expect := func(name, source string, r adapter.Resource, after adapter.Key, limit int, want ...adapter.Key) {
		t.Helper()
		got, err := noter.Noted(t.Context(), source, r, after, limit)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, want)
		}
	}
	o := replacing()
	o.Source = "old"
	website := s.part(adapter.ProductWebsites, attrs{"product_id": 900, "website_id": 1})
	batch := []adapter.Aggregate{s.aggregate(adapter.Products, importedProduct(900, "noted", nil), website),
		s.aggregate(adapter.Products, importedProduct(905, "noted too", nil)), s.aggregate(adapter.Customers, importedCustomer(901, nil))}
	dry := o
	dry.DryRun = true
	s.expect(t, "dry", dry, outcomes(created, created, created), batch...)
	expect("dry", "old", adapter.Products, 0, 9)
	s.expect(t, "first", o, outcomes(created, created, created), batch...)
	expect("created", "old", adapter.Products, 0, 9, 900, 905)
	expect("after a key", "old", adapter.Products, 900, 9, 905)
	expect("a limit", "old", adapter.Products, 0, 1, 900)
	expect("another source", "new", adapter.Products, 0, 9)
	expect("another resource", "old", adapter.Customers, 0, 9, 901)
	expect("parts", "old", adapter.ProductWebsites, 0, 9)
	s.expect(t, "without a source", replacing(), outcomes(created), s.aggregate(adapter.Products, importedProduct(906, "unnoted", nil)))
	expect("without a source", "old", adapter.Products, 0, 9, 900, 905)
	o.Existing = adapter.KeepExisting
	s.expect(t, "kept", o, outcomes(kept, kept), s.aggregate(adapter.Customers, importedCustomer(aCustomer, nil)), batch[0])
	expect("kept", "old", adapter.Customers, 0, 9, aCustomer, 901)
	o.Source = "new"
	s.expect(t, "another source", o, outcomes(kept), batch[0])
	expect("another source", "new", adapter.Products, 0, 9, 900)
	s.expect(t, "removed", o, outcomes(removed), s.gone(adapter.Products, 900))
	expect("removed", "old", adapter.Products, 0, 9, 905)
	expect("removed", "new", adapter.Products, 0, 9)
	MustDelete(t, storeOf(t, s.adapter, adapter.Products), adapter.DeleteParams{Key: 905})
	s.expect(t, "gone already", o, outcomes(equal), s.gone(adapter.Products, 905))
	expect("gone already", "old", adapter.Products, 0, 9)
	o.Source = strings.Repeat("s", 65)
	_, err := s.importer.Import(t.Context(), nil, o)
	wantError(t, "a long name", err, adapter.Invalid, "source")
}

// testPositions checks that the position of a source is stored with the records of an import,
// or not at all.
func (s *importSuite) testPositions(t *testing.T) {
	noter := s.adapter.(adapter.Noter)
	expect := func(name, source, want string) {
		t.Helper()
		if got, err := noter.Position(t.Context(), source); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
	at := func(position string) adapter.ImportOptions {
		o := replacing()
		o.Source, o.Position = "old", position
		return o
	}
	product := s.aggregate(adapter.Products, importedProduct(900, "positioned", nil))
	expect("a new source", "old", "")
	dry := at("dry")
	dry.DryRun = true
	s.expect(t, "dry", dry, outcomes(created), product)
	expect("dry", "old", "")
	s.expect(t, "first", at("1"), outcomes(created), product)
	expect("with a record", "old", "1")
	expect("another source", "new", "")
	s.expect(t, "empty", at("2 {\"gtid\":\"0-1-2\"}"), nil)
	expect("without records", "old", "2 {\"gtid\":\"0-1-2\"}")
	long := strings.Repeat("p", 32<<10)
	s.expect(t, "long", at(long), outcomes(equal), product)
	expect("a long one", "old", long)
	s.expect(t, "none", at(""), outcomes(equal), product)
	expect("an import without one", "old", long)
	twin := s.aggregate(adapter.Products, importedProduct(901, "positioned", nil))
	_, err := s.importer.Import(t.Context(), []adapter.Aggregate{twin}, at("3"))
	wantError(t, "a refused record", err, adapter.Conflict, "sku")
	expect("a refused record", "old", long)
	for name, o := range map[string]adapter.ImportOptions{"too long": at(long + "p"), "without a source": {Position: "3"}} {
		_, err := s.importer.Import(t.Context(), nil, o)
		wantError(t, name, err, adapter.Invalid, "position")
	}
}

// testPassedKeys checks that keys of another system are passed, even without its records.
func (s *importSuite) testPassedKeys(t *testing.T) {
	o := adapter.ImportOptions{DryRun: true, Passed: map[adapter.Resource]adapter.Key{adapter.Products: 5000, adapter.ProductImages: 6000, adapter.ProductWebsites: 7000}}
	s.expect(t, "dry", o, nil)
	o.DryRun = false
	s.expect(t, "empty", o, nil)
	lower := adapter.ImportOptions{Passed: map[adapter.Resource]adapter.Key{adapter.Products: 4000}}
	s.expect(t, "a lower one", lower, nil)
	creates := map[adapter.Resource]attrs{
		adapter.Products:        newProduct("passed", nil),
		adapter.ProductImages:   {"product_id": 1, "file": "p/a/passed.png", "media_type": "image/png", "content": "x"},
		adapter.ProductWebsites: {"product_id": aProduct, "website_id": otherWebsite},
	}
	for r, passed := range o.Passed {
		key, err := storeOf(t, s.adapter, r).Create(t.Context(), &adapter.CreateParams{Record: s.part(r, creates[r])})
		if err != nil || key <= passed {
			t.Errorf("%s: the next key is %d, %v, want more than %d", r, key, err, passed)
		}
	}
	prices := s.aggregate(adapter.Products, importedProduct(900, "priced", attrs{"tier_price": []attrs{{"value_id": 3000, "website_id": 0, "cust_group": 1, "price": "7.0000", "price_qty": "10.0000"}}}))
	s.expect(t, "prices", replacing(), outcomes(created), prices)
	later := importedProduct(901, "priced too", attrs{"tier_price": []attrs{{"website_id": 0, "cust_group": 1, "price": "7.0000", "price_qty": "10.0000"}}})
	s.expect(t, "prices", replacing(), outcomes(created), s.aggregate(adapter.Products, later))
	for _, r := range s.imported(t, adapter.Products, "tier_price") {
		if key := r.Get("tier_price").Records(); r.Key() == 901 && (len(key) != 1 || key[0].Key() <= 3000) {
			t.Errorf("the next price is %s", FormatValue(r.Get("tier_price")))
		}
	}
}
