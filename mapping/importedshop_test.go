package mapping_test

import (
	"database/sql"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// openImportedStore opens the demo store with the records that only imports bring: types of
// products, computed values by store view, websites with taxes of their own, and a customer
// whose group is gone.
func openImportedStore(t *testing.T) (*store, *adapter.Dataset) {
	t.Helper()
	data := loadDemo(t)
	set := func(resource adapter.Resource, key int64, values map[string]any) {
		t.Helper()
		for _, r := range data.Records[resource] {
			if r.Get(r.Schema.Key).Int() != key {
				continue
			}
			for name, v := range values {
				switch v := v.(type) {
				case int:
					r.Set(name, adapter.IntegerValue(int64(v)))
				case string:
					r.Set(name, adapter.TextValue(v))
				}
			}
		}
	}
	set(adapter.Websites, 1, map[string]any{"is_default": 0})
	set(adapter.Websites, 2, map[string]any{"is_default": 1, "tax_country": "DE"})
	set(adapter.Products, 1, map[string]any{"type_id": "configurable"})
	set(adapter.Products, 3, map[string]any{"type_id": "grouped"})
	set(adapter.Products, 4, map[string]any{"type_id": "bundle", "price_type": 1, "special_price": "50.0000"})
	set(adapter.Products, 7, map[string]any{"has_custom_options": 1, "reviews_count": 3})
	set(adapter.Customers, 2, map[string]any{"group_id": 77})
	rate := adapter.NewRecord(data.Records[adapter.TaxRates][0].Schema)
	copy(rate.Values, data.Records[adapter.TaxRates][0].Values)
	for name, text := range map[string]string{"country_id": "DE", "region": "*", "rate": "19.0000", "name": "DE"} {
		rate.Set(name, adapter.TextValue(text))
	}
	rate.Set("tax_rate_id", adapter.IntegerValue(2))
	data.Records[adapter.TaxRates] = append(data.Records[adapter.TaxRates], rate)

	store := openSQLiteStore(t, data, adapter.NewSchemas())
	store.exec(t, `INSERT INTO product_value (product_id, store_id, attribute, value) VALUES
		(1, 1, 'stock_status', '1'), (3, 1, 'stock_status', '0'), (4, 1, 'stock_status', '1'), (7, 1, 'stock_status', '0'), (7, 2, 'stock_status', '0'),
		(7, 1, 'reviews_count', '2'), (7, 2, 'reviews_count', '0')`)
	return store, data
}

// openImportedShop serves the imported store in both dialects.
func openImportedShop(t *testing.T) *customerShop {
	t.Helper()
	store, data := openImportedStore(t)
	with := mapping.Settings{Prices: resource.PriceSettings{TaxCountry: "US", TaxRegion: "CA"}}
	return serveCustomers(t, store, data, contract.StandardFields(), adapter.NewSchemas(), with)
}

// TestImportedShop checks the replies about a shop that grew elsewhere.
func TestImportedShop(t *testing.T) {
	shop := openImportedShop(t)
	const saleable, taxed = "?attrs=sku,is_saleable", "?attrs=final_price_with_tax"
	runFieldCases(t, shop, []fieldCase{
		{"default store view of the default website", "guest", "/products?attrs=sku", asJSON, `{"2":{"sku":"kettle-copper"},"10":{"sku":"eu-teapot"}}`, same},
		{"taxes of a website", "guest", "/products/10" + taxed, asJSON, `{"final_price_with_tax":65.45}`, same},
		{"taxes of the settings", "guest", "/products/2/store/1" + taxed, asJSON, `{"final_price_with_tax":107.17}`, same},
		{"taxes at a customer's address", "customer 1", "/products/10/store/3" + taxed, asJSON, `{"final_price_with_tax":59.54}`, same},

		{"configurable product", "guest", "/products/1/store/1" + saleable, asJSON, `{"sku":"kettle-steel","is_saleable":false}`, same},
		{"grouped product", "guest", "/products/3/store/1?attrs=is_saleable,regular_price_with_tax,final_price_without_tax", asJSON, `{"regular_price_with_tax":0,"final_price_without_tax":0,"is_saleable":"0"}`, same},
		{"bundle", "guest", "/products/4/store/1?attrs=is_saleable,regular_price_without_tax,final_price_without_tax", asJSON, `{"regular_price_without_tax":75.25,"final_price_without_tax":37.63,"is_saleable":"1"}`, same},
		{"stored stock status", "guest", "/products/7/store/1" + saleable, asJSON, `{"sku":"mug-search","is_saleable":"0"}`, same},
		{"stock status from the stock item", "guest", "/products/8/store/1" + saleable, asJSON, `{"sku":"mug-catalog","is_saleable":"1"}`, same},
		{"no stock status in the default scope", "guest", "/products/8/store/admin" + saleable, asJSON, `{"sku":"mug-catalog","is_saleable":null}`, same},
		{"in lists", "guest", "/products/store/1?limit=6&attrs=is_saleable", asJSON,
			`{"1":{"is_saleable":false},"2":{"is_saleable":true},"3":{"is_saleable":false},"4":{"is_saleable":false},"7":{"is_saleable":true},"8":{"is_saleable":true}}`, same},
		{"regular price of a bundle in lists", "guest", "/products/store/1?limit=1&page=4&attrs=regular_price_with_tax,final_price_without_tax", asJSON, `{"4":{"regular_price_with_tax":0,"final_price_without_tax":37.63}}`, same},

		{"reviews at a store view", "guest", "/products/7/store/1?attrs=total_reviews_count,has_custom_options", asJSON, `{"total_reviews_count":"2","has_custom_options":true}`, same},
		{"no reviews at a store view", "guest", "/products/7/store/2?attrs=total_reviews_count", asJSON, `{"total_reviews_count":"0"}`, same},
		{"all reviews", "guest", "/products/7/store/admin?attrs=total_reviews_count", asJSON, `{"total_reviews_count":"3"}`, same},
		{"neither", "guest", "/products/8/store/1?attrs=total_reviews_count,has_custom_options", asJSON, `{"total_reviews_count":"0","has_custom_options":false}`, same},

		{"list for a group that is gone", "customer 2", "/products/store/1", asJSON, `[]`, same},
		{"list without prices for it", "customer 2", "/products/store/1?attrs=sku", asJSON, `[]`, same},
		{"single record for it", "customer 2", "/products/2/store/1?attrs=final_price_with_tax", asJSON, `{"final_price_with_tax":99}`, same},
		{"list for a group", "customer 1", "/products/store/1?limit=1&attrs=sku", asJSON, `{"1":{"sku":"kettle-steel"}}`, same},
	})
}

// TestTaxOfRegion checks that the id of an address's region decides the taxes, and its name only
// for an address without an id (configurations 4.2).
func TestTaxOfRegion(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		id   adapter.Value
		want string
	}{
		{"a region of the directory", adapter.IntegerValue(12), "107.17"},
		{"a name alone, of an imported address", adapter.IntegerValue(0), "99"},
		{"a name alone, of a backend without ids", adapter.Value{}, "107.17"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			data := loadDemo(t)
			for _, address := range data.Records[adapter.CustomerAddresses] {
				if address.Get("region").Text() == "California" {
					address.Set("region_id", tt.id)
				}
			}
			shop := serveCustomers(t, openSQLiteStore(t, data, adapter.NewSchemas()), data, contract.StandardFields(), adapter.NewSchemas(), mapping.Settings{})
			runFieldCases(t, shop, []fieldCase{
				{"at the address", "customer 1", "/products/2/store/1?attrs=final_price_with_tax", asJSON, `{"final_price_with_tax":` + tt.want + `}`, same},
			})
		})
	}
}

// TestPriceView checks that an Admin sees price_view of bundles in place of a category assignment, and
// nowhere else (own_attributes 9).
func TestPriceView(t *testing.T) {
	data := loadDemo(t)
	for _, r := range data.Records[adapter.Products] {
		if key := r.Key(); key == 4 || key == 8 { // with a price of the parts, and with one of its own
			r.Set("type_id", adapter.TextValue("bundle"))
			r.Set("price_type", adapter.IntegerValue(int64(key/8)))
			r.Set("price_view", adapter.IntegerValue(int64(key/8)))
		}
	}
	shop := serveCustomers(t, openSQLiteStore(t, data, adapter.NewSchemas()), data, contract.StandardFields(), adapter.NewSchemas(), mapping.Settings{})
	const notServed = `{"messages":{"error":[{"code":405,"message":"Resource method not implemented yet"}]}}`
	runFieldCases(t, shop, []fieldCase{
		{"bundle with the price of its parts", "admin", "/products/4/categories/4", asJSON, notServed, `…"tax_class_id":"2","price_view":"0","price":…`},
		{"bundle with its own price", "admin", "/products/8/categories/4?attrs=sku,price_view", asJSON, notServed, `{"sku":"mug-catalog","price_view":"1"}`},
		{"simple product", "admin", "/products/1/categories/3?attrs=sku,price_view", asJSON, notServed, `{"sku":"kettle-steel"}`},
		{"customer", "customer 1", "/products/4/categories/4?attrs=sku,price_view", asJSON, notServed, `{"sku":"lamp-floor"}`},
		{"product", "admin", "/products/4?attrs=sku,price_view", asJSON, `{"sku":"lamp-floor"}`, same},
		{"list", "admin", "/products?attrs=sku,price_view&limit=1&page=4", asJSON, `{"4":{"sku":"lamp-floor"}}`, same},
	})
}

// TestStaleStockStatus checks that a stored stock status does not outlive its cause, except the
// status of composite products.
func TestStaleStockStatus(t *testing.T) {
	store, data := openImportedStore(t)
	s := serveShop(t, contract.Magento(), settings(), data, store, store)
	raw, err := sql.Open("sqlite", "file:"+store.path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = raw.Close() }()
	for _, c := range []struct {
		name, product, method, target, body string
		want                                string // store views that keep it
	}{
		{"name", "7", "PUT", "/products/7", `{"name":"Mug"}`, "1 2 3"},
		{"same status", "7", "PUT", "/products/7", `{"status":1}`, "1 2 3"},
		{"status", "7", "PUT", "/products/7", `{"status":2}`, ""},
		{"status of a website", "7", "PUT", "/products/7/store/2", `{"status":2}`, "3"},
		{"quantity", "7", "PUT", "/stockitems/7", `{"qty":"3"}`, "1 2 3"},
		{"sold out", "7", "PUT", "/stockitems/7", `{"qty":"3","is_in_stock":0}`, ""},
		{"stock not managed", "7", "PUT", "/stockitems/7", `{"qty":"3","manage_stock":0,"use_config_manage_stock":0}`, ""},
		{"sold out, with its product", "7", "PUT", "/products/7", `{"stock_data":{"is_in_stock":0,"qty":0,"manage_stock":1}}`, ""},
		{"another website", "7", "POST", "/products/7/websites", `{"website_id":2}`, "1 2"},
		{"bundle sold out", "4", "PUT", "/stockitems/4", `{"qty":"3","is_in_stock":0}`, "1 2 3"},
		{"bundle disabled", "4", "PUT", "/products/4", `{"status":2}`, "1 2 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.reset(t)
			store.exec(t, "INSERT OR REPLACE INTO product_value (product_id, store_id, attribute, value) SELECT ?, store_id, 'stock_status', '1' FROM store WHERE store_id > 0", c.product)
			if r := s.serve(contract.Admin, c.method, c.target, c.body, "Accept", "application/json", "Content-Type", "application/json"); r.Status != 200 {
				t.Fatalf("%d %s", r.Status, r.Body)
			}
			const views = "SELECT coalesce(group_concat(store_id, ' ' ORDER BY store_id), '') FROM product_value WHERE attribute = 'stock_status' AND product_id = ?"
			var left string
			if err := raw.QueryRowContext(t.Context(), views, c.product).Scan(&left); err != nil || left != c.want {
				t.Errorf("store views %s have a stock status, want %s; %v", left, c.want, err)
			}
		})
	}
}
