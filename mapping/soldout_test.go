package mapping_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/handlers"
)

// hidingSoldOut returns the settings of a shop whose public lists leave out sold-out products.
func hidingSoldOut() mapping.Settings {
	with := settings()
	with.Stock = handlers.StockSettings{NotifyQty: 1, ManageStock: true, HideSoldOut: true}
	return with
}

// listedIDs returns the ids that a list answers, ascending.
func (s *shop) listedIDs(t testing.TB, role contract.Role, target string) (ids []int) {
	t.Helper()
	r := s.serve(role, "GET", target, "", "Accept", "application/json")
	var byID map[string]json.RawMessage
	var list []struct {
		ID string `json:"entity_id"`
	}
	if r.Status != 200 || json.Unmarshal(r.Body, &byID) != nil && json.Unmarshal(r.Body, &list) != nil {
		t.Fatalf("%s: %d %s", target, r.Status, r.Body)
	}
	for id := range byID {
		list = append(list, struct {
			ID string `json:"entity_id"`
		}{id})
	}
	for _, one := range list {
		id, err := strconv.Atoi(one.ID)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// TestSoldOutProducts sells out and refills products at random. A product that is sold out is in no
// public list and in every Admin's list, the public pages have all others without gaps and
// repetitions, and every product can still be read alone.
func TestSoldOutProducts(t *testing.T) {
	t.Parallel()
	for _, d := range testenv.Rows(t, contract.Dialects(), 2) {
		t.Run(d.Name+", in memory", func(t *testing.T) { soldOutProducts(t, d, openDemo(t)) })
		t.Run(d.Name+", SQLite", func(t *testing.T) { soldOutProducts(t, d, openSQLiteDemo(t)) })
	}
}

// soldOutProducts is TestSoldOutProducts for the demo store in one place.
func soldOutProducts(t *testing.T, d *contract.Dialect, store *store) {
	s, open := serveDemo(t, d, hidingSoldOut(), store, nil), openShopWith(t, d, settings(), nil)
	targets := []string{"/products", "/products/store/1", "/products/store/2", "/products/store/3", "/products/category/3", "/products/store/2/category/3"}
	const query = "?attrs=entity_id,sku&limit=100"
	all := map[string][]int{}
	for _, target := range targets {
		all[target] = open.listedIDs(t, contract.Guest, target+query)
	}
	admins := s.listedIDs(t, contract.Admin, "/products"+query)
	random := testenv.NewSample(t)
	items := s.stockFlags(t)
	for range 50 {
		id := 1 + random.IntN(len(items))
		body := fmt.Sprintf(`{"qty":%d,"is_in_stock":%d,"use_config_manage_stock":%d,"manage_stock":%d}`, random.IntN(2), random.IntN(2), random.IntN(2), random.IntN(2))
		checkSaved(t, s.put("/stockitems/"+strconv.Itoa(id), "application/json", body))
		items = s.stockFlags(t)
		for _, target := range targets {
			want := slices.DeleteFunc(slices.Clone(all[target]), func(id int) bool { return !items[id] })
			for _, role := range []contract.Role{contract.Guest, contract.Customer} {
				if got := s.listedIDs(t, role, target+query); !slices.Equal(got, want) {
					t.Fatalf("after %s of item %d: %s lists %v to %s, want %v", body, id, target, got, role, want)
				}
			}
			s.checkPages(t, target, want)
		}
		if got := s.listedIDs(t, contract.Admin, "/products"+query); !slices.Equal(got, admins) {
			t.Fatalf("an Admin lists %v, want %v", got, admins)
		}
		for _, id := range all["/products/store/1"] {
			if r := s.serve(contract.Guest, "GET", fmt.Sprintf("/products/%d/store/1", id), "", "Accept", "application/json"); r.Status != 200 {
				t.Fatalf("product %d alone: %d %s", id, r.Status, r.Body)
			}
		}
	}
}

// checkPages reads a public list in pages of two, in two orders, and checks that these have the
// wanted ids once each, and as many pages as follow from that.
func (s *shop) checkPages(t testing.TB, target string, want []int) {
	t.Helper()
	for _, order := range []string{"", "&order=name&dir=desc"} {
		var got []int
		for page := 1; page <= (len(want)+1)/2; page++ {
			got = append(got, s.listedIDs(t, contract.Guest, fmt.Sprintf("%s?attrs=entity_id,sku&limit=2&page=%d%s", target, page, order))...)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Fatalf("pages of %s%s have %v, want %v", target, order, got, want)
		}
	}
}

// stockFlags returns by product whether it is in stock, if stock is managed by default.
func (s *shop) stockFlags(t testing.TB) map[int]bool {
	t.Helper()
	all, err := s.items.List(t.Context(), &adapter.ListParams{})
	if err != nil {
		t.Fatal(err)
	}
	inStock := map[int]bool{}
	for _, item := range all.Records {
		managed := item.Get("use_config_manage_stock").Int() != 0 || item.Get("manage_stock").Int() != 0
		inStock[int(item.Get("product_id").Int())] = !managed || item.Get("is_in_stock").Int() == 1
	}
	return inStock
}

// TestSoldOutInCachedLists checks that cached lists of Guests end with a write of a stock item that
// changes whether a product is in stock, and stay cached when only its quantity changes.
func TestSoldOutInCachedLists(t *testing.T) {
	for _, c := range []struct {
		name string
		hide bool
		body string
		want string // outcome of the next read
	}{
		{"quantity", true, `{"qty":50}`, "hit"},
		{"sold out", true, `{"qty":0}`, "miss"},
		{"not managed", true, `{"qty":50,"use_config_manage_stock":0}`, "miss"},
		{"sold out, all products listed", false, `{"qty":0}`, "hit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			with := hidingSoldOut()
			with.Stock.HideSoldOut = c.hide
			s := openCachedPair(t, contract.Documented(), with)
			const list = "/products/store/1?limit=100"
			s.cached.storeItem(t, 1, nil)
			before, _ := s.cached.guestRead(list)
			if _, outcome := s.cached.guestRead(list); outcome != "hit" {
				t.Fatalf("%s, want a hit", outcome)
			}
			checkSaved(t, s.cached.put("/stockitems/1", "application/json", c.body))
			after, outcome := s.cached.guestRead(list)
			if fresh, _ := s.uncached.guestRead(list); after != fresh {
				t.Errorf("cached %s\nuncached %s", after, fresh)
			}
			if outcome != c.want || (after != before) != (c.name == "sold out") {
				t.Errorf("%s, want %s\nbefore %s\nafter %s", outcome, c.want, before, after)
			}
		})
	}
}

// TestSoldOutCompositeIsNotCached checks that the cached reply with a composite product ends when a
// component sells out.
func TestSoldOutCompositeIsNotCached(t *testing.T) {
	store, data := openImportedStore(t)
	store.exec(t, "UPDATE product SET components = '7' WHERE entity_id = 4")
	store.exec(t, "UPDATE product SET component_of = '4' WHERE entity_id = 7")
	with := hidingSoldOut()
	with.ReplyCache = newReplyCache(t, with.Now)
	s := serveShop(t, contract.Magento(), with, data, store, store)
	const single, list = "/products/4/store/1?attrs=is_saleable", "/products/store/1?limit=100&attrs=sku"
	for _, step := range []struct {
		write, body, want string
		listed            bool
	}{
		{"", "", `{"is_saleable":"1"}`, true},
		{"/stockitems/7", `{"qty":0}`, `{"is_saleable":"0"}`, false},
		{"/stockitems/7", `{"qty":8,"is_in_stock":1}`, `{"is_saleable":"1"}`, true},
		{"/products/7", `{"stock_data":{"qty":0,"manage_stock":1}}`, `{"is_saleable":"0"}`, false},
		{"/products/7", `{"stock_data":{"qty":5,"is_in_stock":1,"manage_stock":1}}`, `{"is_saleable":"1"}`, true},
		{"/products/7", `{"status":2}`, `{"is_saleable":"0"}`, false},
	} {
		if step.write != "" {
			checkSaved(t, s.put(step.write, "application/json", step.body))
		}
		for range 2 {
			text, _ := s.guestRead(single)
			if !strings.HasSuffix(text, step.want) {
				t.Errorf("after %s %s: %s, want %s", step.write, step.body, text, step.want)
			}
			if got := slices.Contains(s.listedIDs(t, contract.Guest, list), 4); got != step.listed {
				t.Errorf("after %s %s: listed %t", step.write, step.body, got)
			}
		}
	}
}

// TestImportedStockStatus checks that lists follow the stock status that an import has stored, until
// a client writes the stock item.
func TestImportedStockStatus(t *testing.T) {
	store, data := openImportedStore(t)
	store.exec(t, "UPDATE product_listing SET stock_state = (SELECT value FROM product_value v WHERE v.product_id = product_listing.product_id AND v.store_id = product_listing.store_id AND v.attribute = 'stock_status') "+
		"WHERE EXISTS (SELECT 1 FROM product_value v WHERE v.product_id = product_listing.product_id AND v.store_id = product_listing.store_id AND v.attribute = 'stock_status')")
	s := serveShop(t, contract.Magento(), hidingSoldOut(), data, store, store)
	const list = "/products/store/1?limit=100&attrs=sku"
	if got := s.listedIDs(t, contract.Guest, list); slices.Contains(got, 7) || slices.Contains(got, 3) || !slices.Contains(got, 4) {
		t.Errorf("%v: 3 and 7 are sold out, 4 is not", got)
	}
	checkSaved(t, s.put("/stockitems/7", "application/json", `{"qty":0}`))
	checkSaved(t, s.put("/stockitems/7", "application/json", `{"qty":5,"is_in_stock":1}`))
	if got := s.listedIDs(t, contract.Guest, list); !slices.Contains(got, 7) {
		t.Errorf("%v: 7 is in stock again", got)
	}
}
