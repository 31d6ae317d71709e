package mapping_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// randomConfiguration draws settings that change answers, each of them on or off, or of several values.
func randomConfiguration(t testing.TB, random *testenv.Sample) (with mapping.Settings, described string) {
	t.Helper()
	flag := func() bool { return random.IntN(2) == 0 }
	one := func(values ...string) string { return values[random.IntN(len(values))] }
	zone, err := time.LoadLocation(one("UTC", "America/Los_Angeles", "Europe/Berlin", "Asia/Kolkata"))
	if err != nil {
		t.Fatal(err)
	}
	locale := one("en_US", "en_GB", "de_DE", "ja_JP")
	with = settings()
	with.Regional = resource.RegionalSettings{Zone: zone, Locale: contract.LocaleOf(locale)}
	with.Prices = resource.PriceSettings{
		TimeZone: zone, TaxCountry: one("US", "DE", "GB"), TaxRegion: one("CA", "NY", ""), TaxPostcode: one("", "*", "90034", "10001-10499"),
		TaxBasedOn: one(resource.ByShipping, resource.ByBilling, resource.ByOrigin), PricesIncludeTax: flag(), TaxCrossBorder: flag(),
		OriginCountry: one("US", "DE"), OriginRegion: one("CA", "NY"), OriginPostcode: one("90034", ""), TaxGroup: int64(random.IntN(4)),
		Rounding: resource.Rounding(random.IntN(2)),
	}
	with.Stock.HideSoldOut, with.Stock.ManageStock = flag(), flag()
	with.Customers.NoConfirmation, with.Customers.SharedAccounts = flag(), flag()
	with.Products.SingleStoreMode = flag()
	return with, fmt.Sprintf("zone %s, locale %s, prices %+v, stock %+v", zone, locale, with.Prices, with.Stock)
}

// TestRandomConfigurations serves the demo store in random configurations and checks what holds in every
// one of them: a sold-out product that is hidden is in no public list and in every list of the Admin, no
// price is lower with tax than without, lists and singles agree on regular prices, and a Guest whose
// role lacks the privilege gets 403.
func TestRandomConfigurations(t *testing.T) {
	t.Parallel()
	random := testenv.NewSample(t)
	for _, d := range contract.Dialects() {
		t.Run(d.Name, func(t *testing.T) {
			for range 12 {
				with, described := randomConfiguration(t, random)
				store, roles := openDemo(t), &testRoles{}
				roles.Store(&adapter.AccessRoles{})
				store.roles = roles
				s := serveDemo(t, d, with, store, nil)
				s.checkLists(t, with, described)
				s.checkPrices(t, described)
				s.setRoles(roles, rolesWith(adapter.AccessRule{Resource: adapter.Orders, Privilege: string(contract.Retrieve)}))
				for _, target := range []string{"/products", "/products/1", "/products/store/2", "/products/1/images"} {
					if r := s.serve(contract.Guest, "GET", target, "", "Accept", "application/json"); r.Status != 403 {
						t.Errorf("%s: a Guest without the privilege gets %d from %s", described, r.Status, target)
					}
				}
			}
		})
	}
}

// checkLists compares public lists with the stock items, and with the list of the Admin.
func (s *shop) checkLists(t *testing.T, with mapping.Settings, described string) {
	t.Helper()
	inStock := map[int]bool{}
	items, err := s.items.List(t.Context(), &adapter.ListParams{})
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range items.Records {
		managed := with.Stock.ManageStock
		if item.Get("use_config_manage_stock").Int() == 0 {
			managed = item.Get("manage_stock").Int() != 0
		}
		inStock[int(item.Get("product_id").Int())] = !managed || item.Get("is_in_stock").Int() == 1
	}
	const query = "?attrs=entity_id,sku&limit=100"
	admins := s.listedIDs(t, contract.Admin, "/products"+query)
	for _, target := range []string{"/products/store/1", "/products/store/2", "/products/store/3", "/products/category/3"} {
		for _, role := range []contract.Role{contract.Guest, contract.Customer} {
			for _, id := range s.listedIDs(t, role, target+query) {
				if with.Stock.HideSoldOut && !inStock[id] || !slices.Contains(admins, id) {
					t.Errorf("%s: %s lists product %d to %s", described, target, id, role)
				}
			}
		}
	}
	if len(admins) != len(items.Records) {
		t.Errorf("%s: an Admin lists %d products of %d", described, len(admins), len(items.Records))
	}
}

// checkPrices compares the prices that products have with and without tax, in lists and alone.
func (s *shop) checkPrices(t *testing.T, described string) {
	t.Helper()
	price := func(v any) float64 {
		text := fmt.Sprint(v)
		if v == nil {
			return 0
		}
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatalf("price %q", text)
		}
		return n
	}
	const attrs = "attrs=type_id,regular_price_with_tax,regular_price_without_tax,final_price_with_tax,final_price_without_tax"
	for _, role := range []contract.Role{contract.Guest, contract.Customer} {
		var listed map[string]map[string]any
		r := s.serve(role, "GET", "/products/store/1?limit=100&"+attrs, "", "Accept", "application/json")
		if err := json.Unmarshal(r.Body, &listed); err != nil || len(listed) == 0 {
			t.Fatalf("%s: %d %s", described, r.Status, r.Body)
		}
		for id, product := range listed {
			var alone map[string]any
			if err := json.Unmarshal(s.serve(role, "GET", "/products/"+id+"/store/1?"+attrs, "", "Accept", "application/json").Body, &alone); err != nil {
				t.Fatal(err)
			}
			for _, shown := range []map[string]any{product, alone} {
				for _, kind := range []string{"regular", "final"} {
					if with, without := price(shown[kind+"_price_with_tax"]), price(shown[kind+"_price_without_tax"]); with < without {
						t.Errorf("%s: product %s costs %v with tax, %v without", described, id, with, without)
					}
				}
			}
			if product["type_id"] != "simple" {
				continue
			}
			for _, name := range []string{"regular_price_with_tax", "regular_price_without_tax"} {
				if price(product[name]) != price(alone[name]) {
					t.Errorf("%s: %s of product %s is %v in the list, %v alone", described, name, id, product[name], alone[name])
				}
			}
		}
	}
}
