package mapping_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/cache"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/contract"
)

// newReplyCache returns a cache in memory with the clock now.
func newReplyCache(t testing.TB, now func() time.Time) *cache.Cache {
	t.Helper()
	replies, err := cache.New(t.Context(), cache.Options{
		TTL: time.Hour, StaleTTL: time.Hour, MemoryBytes: 8 << 20, Registerer: prometheus.NewRegistry(), Now: now,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := replies.Close(); err != nil {
			t.Error(err)
		}
	})
	return replies
}

// A cachedPair is two services on one store, one with a reply cache and one without.
type cachedPair struct{ cached, uncached *shop }

func openCachedPair(t testing.TB, d *contract.Dialect, with mapping.Settings) cachedPair {
	t.Helper()
	data := demotest.Data(t)
	store := openDemo(t)
	plain := serveShop(t, d, with, data, store, store)
	with.ReplyCache = newReplyCache(t, with.Now)
	return cachedPair{serveShop(t, d, with, data, store, store), plain}
}

// guestRead returns the reply that a Guest gets at target, and the cache outcome.
func (s *shop) guestRead(target string) (text, outcome string) {
	r := s.serve(contract.Guest, "GET", target, "", "Accept", "application/json")
	return fmt.Sprintf("%d %s %s", r.Status, r.ContentType, formKey.ReplaceAll(r.Body, []byte("form_key"))), r.CacheOutcome
}

// guestTargets returns reads whose replies are cached: single products by number and SKU,
// known and unknown, lists of every form, and images.
func guestTargets() []string {
	targets := []string{
		"/products", "/products?limit=100", "/products?limit=3&page=2&order=name&dir=desc", "/products?attrs=sku,image_url",
		"/products?filter[0][attribute]=name&filter[0][like]=%25e%25", "/products?store=2", "/products/store/2", "/products/category/3",
		"/products?category_id=3", "/products?___store=french&attrs=sku,is_saleable", "/products/kettle-steel", "/products/KETTLE-STEEL", "/products/kettle-new", "/products/kettle-steel/images", "/products/kettle-steel/store/2",
	}
	for id := 1; id <= 14; id++ {
		targets = append(targets, fmt.Sprintf("/products/%d", id))
	}
	for _, id := range []int{1, 2, 3} {
		targets = append(targets, fmt.Sprintf("/products/%d/store/2", id), fmt.Sprintf("/products/%d/images", id), fmt.Sprintf("/products/%d/images/1", id))
	}
	return targets
}

// TestCachedRepliesAfterWrites checks that after every kind of write Guests read the same
// from a service with a cache as from one without, whatever was cached before.
func TestCachedRepliesAfterWrites(t *testing.T) {
	t.Parallel()
	for _, d := range []*contract.Dialect{contract.Documented(), contract.Magento()} {
		t.Run(d.Name, func(t *testing.T) {
			s := openCachedPair(t, d, settings())
			for _, write := range []struct{ name, method, target, body string }{
				{"price", "PUT", "/products/1", `{"price":"77.5"}`},
				{"price by SKU", "PUT", "/products/kettle-steel", `{"price":"78.5"}`},
				{"special price", "PUT", "/products/1", `{"special_price":"7"}`},
				{"group and tier prices", "PUT", "/products/1", `{"group_price":[{"website_id":0,"cust_group":0,"price":5}],"tier_price":[{"website_id":0,"cust_group":0,"price_qty":2,"price":4}]}`},
				{"name of a store view", "PUT", "/products/1/store/2", `{"name":"Wasserkessel"}`},
				{"hidden", "PUT", "/products/2", `{"visibility":1}`},
				{"shown", "PUT", "/products/2", `{"visibility":4}`},
				{"disabled", "PUT", "/products/2", `{"status":2}`},
				{"enabled", "PUT", "/products/2", `{"status":1}`},
				{"another SKU", "PUT", "/products/1", `{"sku":"kettle-new"}`},
				{"the SKU again", "PUT", "/products/1", `{"sku":"kettle-steel"}`},
				{"out of stock by the product", "PUT", "/products/1", `{"stock_data":{"is_in_stock":0}}`},
				{"in stock", "PUT", "/stockitems/1", `{"qty":5,"is_in_stock":1}`},
				{"out of stock", "PUT", "/stockitems/1", `{"qty":5,"is_in_stock":0}`},
				{"many in stock", "PUT", "/stockitems", `[{"item_id":1,"qty":5,"is_in_stock":1},{"item_id":2,"qty":5,"is_in_stock":0}]`},
				{"image", "POST", "/products/1/images", body(t, newImage(), "types", []string{"image"})},
				{"label of an image", "PUT", "/products/1/images/1", `{"label":"Other"}`},
				{"image deleted", "DELETE", "/products/1/images/1", ""},
				{"website removed", "DELETE", "/products/3/websites/1", ""},
				{"website", "POST", "/products/3/websites", `{"website_id":1}`},
				{"category", "POST", "/products/5/categories", `{"category_id":3}`},
				{"category removed", "DELETE", "/products/5/categories/3", ""},
				{"new product", "POST", "/products", newProduct("kettle-other", `"name":"Kettle"`)},
				{"product deleted", "DELETE", "/products/13", ""},
				{"product with the SKU deleted", "DELETE", "/products/1", ""},
			} {
				t.Run(write.name, func(t *testing.T) {
					for _, target := range guestTargets() {
						s.cached.guestRead(target)
						if _, outcome := s.cached.guestRead(target); outcome != "hit" {
							t.Errorf("%s is not cached: %q", target, outcome)
						}
					}
					if r := s.cached.send(write.method, write.target, write.body); r.Status >= 300 {
						t.Fatalf("%d %s", r.Status, r.Body)
					}
					s.uncached.service.InvalidateLists() // the other service wrote
					for _, target := range guestTargets() {
						want, _ := s.uncached.guestRead(target)
						if got, outcome := s.cached.guestRead(target); got != want {
							t.Errorf("%s (%s)\ngot  %s\nwant %s", target, outcome, got, want)
						}
					}
				})
			}
		})
	}
}

// TestCachedReplies checks which replies are cached, and for whom.
func TestCachedReplies(t *testing.T) {
	s := openCachedPair(t, contract.Documented(), settings()).cached
	for _, c := range []struct {
		name, target string
		role         contract.Role
		want         string // outcome of the second read
	}{
		{"product", "/products/1", contract.Guest, "hit"},
		{"product by SKU", "/products/kettle-steel", contract.Guest, "hit"},
		{"list", "/products", contract.Guest, "hit"},
		{"image", "/products/1/images/1", contract.Guest, "hit"},
		{"missing product", "/products/99", contract.Guest, "hit"},
		{"missing store view", "/products/1/store/99", contract.Guest, "bypass"},
		{"crash of the original", "/products?page=x", contract.Guest, "bypass"},
		{"list without a limit", "/products?limit=0", contract.Guest, ""},
		{"list without a limit, in another spelling", "/products?limit=0.0", contract.Guest, ""},
		{"very long query", "/products?x=" + strings.Repeat("x", 9000), contract.Guest, ""},
		{"categories", "/products/1/categories", contract.Guest, ""},
		{"unknown path", "/products/1/foo", contract.Guest, ""},
		{"Customer", "/products/2", contract.Customer, ""},
		{"Admin", "/products/3", contract.Admin, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var outcome string
			for range 2 {
				outcome = s.serve(c.role, "GET", c.target, "").CacheOutcome
			}
			if outcome != c.want {
				t.Errorf("%q, want %q", outcome, c.want)
			}
		})
	}
}

// TestCacheKeys checks that requests with different replies have different cache keys,
// and that requests that differ only in spelling are answered without another store read.
func TestCacheKeys(t *testing.T) {
	counted := &reads{}
	with := settings()
	with.ReplyCache = newReplyCache(t, with.Now)
	s := openShopWith(t, contract.Documented(), with, counted.counting)
	read := func(target string, header ...string) (string, int) {
		counted.take()
		r := s.serve(contract.Guest, "GET", target, "", header...)
		return string(r.Body), len(counted.take())
	}
	first, _ := read("/products?limit=2")
	for _, c := range []struct {
		name, target string
		header       []string
		same         bool
	}{
		{"the same request", "/products?limit=2", nil, true},
		{"an unread parameter", "/products?limit=2&nocache=17", nil, true},
		{"another order of parameters", "/products?nocache=17&limit=2", nil, true},
		{"escaped", "/%70roducts?%6cimit=2", nil, true},
		{"the default format by name", "/products?limit=2", []string{"Accept", "application/xml"}, true},
		{"a version", "/products?limit=2", []string{"Version", "3"}, true},
		{"another format", "/products?limit=2", []string{"Accept", "application/json"}, false},
		{"another page", "/products?limit=2&page=2", nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, reads := read(c.target, c.header...)
			if (got == first) != c.same || (reads == 0) != c.same {
				t.Errorf("%d store reads, %s", reads, got)
			}
		})
	}
}

// TestScheduledPriceChanges checks that Guests see the begin and the end of a special
// price, and of a day with a price of a rule, immediately, without a write.
func TestScheduledPriceChanges(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name      string
		zone      *time.Location
		ofWebsite bool // not of the settings
	}{
		{"website in Berlin", berlin, true},
		{"Berlin", berlin, false},
		{"UTC", time.UTC, false},
		{"Midway", time.FixedZone("", -11*3600), false},
	} {
		if !c.ofWebsite && !testenv.Nightly() {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			var clock atomic.Int64
			start := time.Date(2013, 3, 29, 12, 0, 0, 0, time.UTC)
			clock.Store(start.Unix())
			with := settings()
			if !c.ofWebsite {
				with.Prices.TimeZone = c.zone
			}
			with.Now = func() time.Time { return time.Unix(clock.Load(), 0) }
			s := openCachedPair(t, contract.Magento(), with)
			importRules(t, s.cached.direct, c.zone, c.ofWebsite)
			// In Berlin, clocks go forward in this period.
			checkSaved(t, s.cached.send("PUT", "/products/1", `{"special_price":"1","special_from_date":"2013-03-31 01:30:00","special_to_date":"2013-04-01 10:00:00"}`))
			checkSaved(t, s.cached.send("PUT", "/products/2", `{"special_price":"2","special_from_date":"2013-03-30 00:00:00"}`))
			seen := map[string]bool{}
			for step := 0; step < 6*24*4; step++ {
				for _, target := range []string{"/products/1?attrs=final_price_with_tax", "/products/2?attrs=final_price_with_tax", "/products/3?attrs=final_price_with_tax",
					"/products?attrs=final_price_with_tax"} {
					want, _ := s.uncached.guestRead(target)
					got, outcome := s.cached.guestRead(target)
					if got != want {
						t.Fatalf("%s at %s (%s)\ngot  %s\nwant %s", target, with.Now().In(c.zone), outcome, got, want)
					}
					seen[got] = true
				}
				clock.Add(15 * 60)
			}
			if len(seen) != 2+2+2+4 {
				t.Errorf("%d different replies", len(seen))
			}
		})
	}
}

// importRules gives product 3 a price of a rule for one day, for Guests of website 1, and
// that website a time zone if it has one of its own.
func importRules(t *testing.T, store *store, zone *time.Location, ofWebsite bool) {
	t.Helper()
	product := imported(t, adapter.Products, "entity_id", 3)
	at, _ := product.Schema.Index("rule_price")
	rule := adapter.NewRecord(product.Schema.Attributes[at].Nested)
	rule.Set("website_id", adapter.IntegerValue(1))
	rule.Set("cust_group", adapter.IntegerValue(0))
	rule.Set("rule_date", adapter.TextValue("2013-03-31 00:00:00"))
	rule.Set("price", adapter.TextValue("3.0000"))
	product.Set("rule_price", adapter.RecordsValue([]adapter.Record{rule}))
	batch := []adapter.Aggregate{{Record: product}}
	if ofWebsite {
		batch = append(batch, adapter.Aggregate{Record: imported(t, adapter.Websites, "website_id", 1, "timezone", zone.String())})
	}
	if _, err := store.Adapter.(adapter.Importer).Import(t.Context(), batch, adapter.ImportOptions{Existing: adapter.MergeExisting}); err != nil {
		t.Fatal(err)
	}
}

// TestStaleReplies checks that Guests get cached replies, with their age, while the
// backend is unavailable, but none that a write has invalidated.
func TestStaleReplies(t *testing.T) {
	var clock atomic.Int64
	clock.Store(time.Date(2013, 3, 29, 12, 0, 0, 0, time.UTC).Unix())
	with := settings()
	with.Now = func() time.Time { return time.Unix(clock.Load(), 0) }
	with.ReplyCache = newReplyCache(t, with.Now)
	down := new(atomic.Bool)
	s := openShopWith(t, contract.Documented(), with, faultyStores(func(op string, _ adapter.Key) error {
		if down.Load() && (op == "get" || op == "list") {
			return &adapter.Error{Kind: adapter.Unavailable, Op: op, Err: errors.New("connection refused")}
		}
		return nil
	}))

	for _, target := range []string{"/products/1", "/products/2", "/products"} {
		s.guestRead(target)
	}
	checkSaved(t, s.send("PUT", "/products/2", `{"price":"5"}`))
	fresh, _ := s.guestRead("/products/1")
	down.Store(true)
	clock.Add(3600 + 90)
	r := s.serve(contract.Guest, "GET", "/products/1", "", "Accept", "application/json")
	if got, _ := s.guestRead("/products/1"); got != fresh || r.CacheOutcome != "stale" || r.Age != (3600+90)*time.Second {
		t.Errorf("%s after %s: %s", r.CacheOutcome, r.Age, got)
	}
	for _, target := range []string{"/products/2", "/products", "/products/3"} {
		if r := s.serve(contract.Guest, "GET", target, "", "Accept", "application/json"); r.Status != 503 {
			t.Errorf("%s: %d %s", target, r.Status, r.Body)
		}
	}
	clock.Add(3600)
	if r := s.serve(contract.Guest, "GET", "/products/1", ""); r.Status != 503 {
		t.Errorf("after the time for stale replies: %d %s", r.Status, r.Body)
	}
	down.Store(false)
	if _, outcome := s.guestRead("/products/1"); outcome != "miss" {
		t.Errorf("after the backend is back: %s", outcome)
	}
}

// TestPanicInCachedCall checks that a panic becomes an internal error for one client, and
// is not cached.
func TestPanicInCachedCall(t *testing.T) {
	with := settings()
	with.ReplyCache = newReplyCache(t, with.Now)
	broken := new(atomic.Bool)
	s := openShopWith(t, contract.Documented(), with, faultyStores(func(string, adapter.Key) error {
		if broken.Load() {
			panic("a mistake")
		}
		return nil
	}))
	broken.Store(true)
	if r := s.serve(contract.Guest, "GET", "/products/1", "", "Accept", "application/json"); r.Status != 500 {
		t.Errorf("%d %s", r.Status, r.Body)
	}
	s.checkLog(t, "panic", "getProduct")
	broken.Store(false)
	if r := s.serve(contract.Guest, "GET", "/products/1", ""); r.Status != 200 || r.CacheOutcome != "miss" {
		t.Errorf("%d %s %s", r.Status, r.CacheOutcome, r.Body)
	}
}
