package mapping_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"github.com/portico-commerce/portico/cache"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// imported returns a record as an import brings it. values are names and values in turn.
func imported(t testing.TB, r adapter.Resource, values ...any) adapter.Record {
	t.Helper()
	record := adapter.NewRecord(adapter.NewSchemas().Of(r))
	for i := 0; i < len(values); i += 2 {
		switch v := values[i+1].(type) {
		case int:
			record.Set(values[i].(string), adapter.IntegerValue(int64(v)))
		case string:
			record.Set(values[i].(string), adapter.TextValue(v))
		default:
			t.Fatalf("%v of %s", v, r)
		}
	}
	return record
}

// TestCachedRepliesAfterImports checks that after an import by another process Guests read the
// same from a service with caches as from one that has just started, and that replies about
// products that the import has not changed are still cached.
func TestCachedRepliesAfterImports(t *testing.T) {
	t.Parallel()
	store := openSQLiteDemo(t)
	importer := openFile(t, sqlstore.Options{DSN: "sqlite:" + store.path, MediaDir: engine.MediaDir(store.path)})
	announcement, err := importer.Changes().Announce(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	with := settings()
	with.Prices = resource.PriceSettings{TaxCountry: "US", TaxRegion: "CA"}
	fresh := func() *shop { return serveShop(t, contract.Documented(), with, demotest.Data(t), store, store) }
	watch := openFile(t, sqlstore.Options{DSN: "sqlite:" + store.path}).Changes().NewWatch()
	with.AwaitChanges = watch.Await
	if with.ReplyCache, err = cache.New(t.Context(), cache.Options{
		TTL: 1 << 50, MemoryBytes: 8 << 20, Registerer: prometheus.NewRegistry(), Now: with.Now, Changes: watch,
	}); err != nil {
		t.Fatal(err)
	}
	cached := fresh()
	with.AwaitChanges, with.ReplyCache = nil, nil
	watch.Start(t.Context(), 0, nil, cached.service.InvalidateChanged)
	t.Cleanup(func() { _ = watch.Close() })

	merged := func(r adapter.Resource, values ...any) adapter.Aggregate {
		return adapter.Aggregate{Record: imported(t, r, values...)}
	}
	gone := func(r adapter.Resource, values ...any) adapter.Aggregate {
		return adapter.Aggregate{Record: imported(t, r, values...), Gone: true}
	}
	pages := []string{"/stockitems?limit=1&page=99", "/orders?limit=1&page=99", "/customers?limit=1&page=99"} // beyond a length that is cached
	for _, c := range []struct {
		name       string
		batch      adapter.Aggregate
		everything bool // the replies about all products may have changed
	}{
		{"name", merged(adapter.Products, "entity_id", 1, "name", "Imported"), false},
		{"price", merged(adapter.Products, "entity_id", 1, "price", "77.5000"), false},
		{"another SKU", merged(adapter.Products, "entity_id", 1, "sku", "kettle-new"), false},
		{"stock", merged(adapter.StockItems, "item_id", 1, "product_id", 1, "is_in_stock", 0, "qty", "0.0000"), false},
		{"images", adapter.Aggregate{
			Record: imported(t, adapter.Products, "entity_id", 1), PartsOnly: true, PartsOf: []adapter.Resource{adapter.ProductImages},
			Parts: []adapter.Record{imported(t, adapter.ProductImages, "id", 700, "product_id", 1, "file", "/k/e/kettle.png", "media_type", "image/png")},
		}, false},
		{"hidden", merged(adapter.Products, "entity_id", 1, "visibility", 1), false},
		{"removed", gone(adapter.Products, "entity_id", 1), false},
		{"a customer", merged(adapter.Customers, "entity_id", 900, "website_id", 1, "store_id", 1, "group_id", 1, "email", "new@example.com", "firstname", "A", "lastname", "B", "disable_auto_group_change", 0), false},
		{"a tax rate", merged(adapter.TaxRates, "tax_rate_id", 1, "country_id", "US", "region", "CA", "tax_class_id", 2, "rate", "50.0000", "name", "US-CA"), true},
		{"a store view", gone(adapter.Stores, "store_id", 2), true},
		{"a category", gone(adapter.Categories, "category_id", 3), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, target := range guestTargets() {
				cached.guestRead(target)
			}
			for _, page := range pages {
				cached.serve(contract.Admin, "GET", page, "")
			}
			o := adapter.ImportOptions{Existing: adapter.MergeExisting}
			if c.batch.PartsOnly {
				o.Existing = adapter.ReplaceExisting
			}
			outcomes, err := importer.Adapter().Announced(announcement).Import(t.Context(), []adapter.Aggregate{c.batch}, o)
			if err != nil || outcomes[0].Outcome == adapter.ImportEqual {
				t.Fatal(outcomes, err)
			}
			s := fresh()
			for _, page := range pages {
				got, want := cached.serve(contract.Admin, "GET", page, ""), s.serve(contract.Admin, "GET", page, "")
				if string(got.Body) != string(want.Body) {
					t.Errorf("%s\ngot  %s\nwant %s", page, got.Body, want.Body)
				}
			}
			for _, target := range guestTargets() {
				got, outcome := cached.guestRead(target)
				if want, _ := s.guestRead(target); got != want {
					t.Errorf("%s (%s)\ngot  %s\nwant %s", target, outcome, got, want)
				}
				if other := strings.HasPrefix(target, "/products/2") || strings.HasPrefix(target, "/products/3"); other && !c.everything && outcome != "hit" {
					t.Errorf("%s: %s, though only product 1 has changed", target, outcome)
				}
			}
		})
	}
}

// TestInvalidateChanged checks the cached replies that each kind of change invalidates.
func TestInvalidateChanged(t *testing.T) {
	targets := []string{"/products/1", "/products/2", "/products/kettle-steel", "/products"}
	type changes = map[adapter.Resource][]adapter.Key
	for _, c := range []struct {
		name    string
		changed changes
		ended   []string
	}{
		{"everything", nil, targets},
		{"nothing", changes{}, nil},
		{"all products", changes{adapter.Products: nil}, targets},
		{"a product", changes{adapter.Products: {1, 99}}, []string{"/products/1", "/products/kettle-steel", "/products"}},
		{"a stock item", changes{adapter.StockItems: {2}}, []string{"/products/2", "/products/kettle-steel"}},
		{"all stock items", changes{adapter.StockItems: {}}, targets},
		{"customers and orders", changes{adapter.Customers: {1}, adapter.Orders: nil}, nil},
		{"a tax rate", changes{adapter.TaxRates: {1}}, targets},
		{"a product and a store view", changes{adapter.Products: {1}, adapter.Stores: {1}}, targets},
	} {
		t.Run(c.name, func(t *testing.T) {
			ended := endedReplies(t, targets, c.changed)
			if !slices.Equal(ended, c.ended) {
				// Tags may share a counter by the cache's random hash, which invalidates too
				// many replies. It does not happen twice in a row.
				ended = endedReplies(t, targets, c.changed)
			}
			if !slices.Equal(ended, c.ended) {
				t.Errorf("%q end, want %q", ended, c.ended)
			}
		})
	}
}

// endedReplies returns the cached replies that a new service no longer returns after a change.
func endedReplies(t *testing.T, targets []string, changed map[adapter.Resource][]adapter.Key) (ended []string) {
	t.Helper()
	s := openCachedPair(t, contract.Documented(), settings()).cached
	for _, target := range targets {
		s.guestRead(target)
	}
	s.service.InvalidateChanged(t.Context(), changed)
	for _, target := range targets {
		switch _, outcome := s.guestRead(target); outcome {
		case "miss":
			ended = append(ended, target)
		case "hit":
		default:
			t.Errorf("%s: %s", target, outcome)
		}
	}
	return ended
}
