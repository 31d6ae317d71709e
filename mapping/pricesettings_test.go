package mapping_test

import (
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// TestPricesIncludingTax checks the replies of a shop whose prices include the tax of California.
func TestPricesIncludingTax(t *testing.T) {
	store, data := openImportedStore(t)
	with := mapping.Settings{Prices: resource.PriceSettings{
		TaxCountry: "US", TaxRegion: "CA", PricesIncludeTax: true, OriginCountry: "US", OriginRegion: "CA", TaxGroup: 1,
	}}
	shop := serveCustomers(t, store, data, contract.StandardFields(), adapter.NewSchemas(), with)
	const attrs = "?attrs=regular_price_with_tax,regular_price_without_tax,final_price_with_tax,final_price_without_tax"
	const one = "&filter[1][attribute]=entity_id&filter[1][eq]="
	runFieldCases(t, shop, []fieldCase{
		{"the tax of the origin", "guest", "/products/2/store/1" + attrs, asJSON,
			`{"regular_price_with_tax":119.5,"regular_price_without_tax":110.39,"final_price_with_tax":99,"final_price_without_tax":91.45}`, same},
		{"the tax of another country", "guest", "/products/2" + attrs, asJSON,
			`{"regular_price_with_tax":131.36,"regular_price_without_tax":110.39,"final_price_with_tax":108.83,"final_price_without_tax":91.45}`, same},
		{"a buyer without tax", "customer 2", "/products/2/store/1" + attrs, asJSON,
			`{"regular_price_with_tax":110.39,"regular_price_without_tax":110.39,"final_price_with_tax":91.45,"final_price_without_tax":91.45}`, same},
		{"no tax class", "guest", "/products/9/store/1" + attrs, asJSON,
			`{"regular_price_with_tax":9.99,"regular_price_without_tax":9.99,"final_price_with_tax":9.99,"final_price_without_tax":9.99}`,
			`{"regular_price_with_tax":"9.9900","regular_price_without_tax":"9.9900","final_price_with_tax":9.99,"final_price_without_tax":9.99}`},
		{"no tax class, in a list", "guest", "/products/store/1" + attrs + one + "9", asJSON,
			`{"9":{"regular_price_with_tax":9.99,"regular_price_without_tax":9.99,"final_price_with_tax":9.99,"final_price_without_tax":9.99}}`,
			`{"9":{"regular_price_with_tax":"9.9900","regular_price_without_tax":"9.9900","final_price_with_tax":"9.9900","final_price_without_tax":"9.9900"}}`},
		{"grouped, in a list", "guest", "/products/store/1" + attrs + one + "3", asJSON,
			`{"3":{"regular_price_with_tax":0,"regular_price_without_tax":0,"final_price_with_tax":0,"final_price_without_tax":0}}`,
			`{"3":{"regular_price_with_tax":null,"regular_price_without_tax":null,"final_price_with_tax":0,"final_price_without_tax":0}}`},
		{"bundle with a price of its own", "guest", "/products/4/store/1" + attrs, asJSON,
			`{"regular_price_with_tax":75.25,"regular_price_without_tax":69.52,"final_price_with_tax":37.63,"final_price_without_tax":34.76}`, same},
	})
}

// TestPricesByWebsite checks reads and writes of a shop whose prices differ between websites, of which
// the second has a base currency of its own.
func TestPricesByWebsite(t *testing.T) {
	data, schemas := loadDemo(t), adapter.NewSchemas().WithPricesByWebsite()
	for _, r := range data.Records[adapter.Websites] {
		if r.Key() == 2 {
			r.Set("base_currency", adapter.TextValue("EUR"))
			r.Set("currency_rate", adapter.TextValue("0.9"))
		}
	}
	store := openSQLiteStore(t, data, schemas)
	with := mapping.Settings{Prices: resource.PriceSettings{ByWebsite: true, Currency: "USD"}}
	shop := serveCustomers(t, store, data, contract.StandardFields(), schemas, with)
	admin := func(target, body string, want int) {
		t.Helper()
		if r := shop.write(t, "magento", "admin", "PUT", target, body); r.Status != want {
			t.Errorf("PUT %s %s: %d %s, want %d", target, body, r.Status, r.Body, want)
		}
	}
	admin("/products/10", `{"group_price":[{"website_id":0,"cust_group":0,"price":"40"}],"tier_price":[]}`, 200)
	admin("/products/10/store/3", `{"price":"50","tier_price":[{"website_id":0,"cust_group":0,"price":"1","price_qty":"2"},{"website_id":2,"cust_group":0,"price":"30","price_qty":"3"}]}`, 200)
	admin("/products/10", `{"group_price":[{"website_id":9,"cust_group":0,"price":"40"}]}`, 400)
	admin("/products/10", `{"group_price":[{"website_id":0,"cust_group":0,"price":"40"},{"website_id":1,"cust_group":0,"price":"39"}]}`, 400)
	runFieldCases(t, shop, []fieldCase{
		{"a price of the website", "guest", "/products/10/store/3?attrs=regular_price_without_tax,final_price_without_tax", asJSON, `{"regular_price_without_tax":50,"final_price_without_tax":36}`, same},
		{"in a list", "guest", "/products/store/3?attrs=regular_price_without_tax,final_price_without_tax&filter[1][attribute]=entity_id&filter[1][eq]=10", asJSON,
			`{"10":{"regular_price_without_tax":50,"final_price_without_tax":36}}`, same},
		{"tiers of the website", "guest", "/products/10/store/3?attrs=tier_price", asJSON, `{"tier_price":[{"qty":"3.0000","price_with_tax":30,"price_without_tax":30}]}`, same},
	})
	admin("/products/10/store/3", `{"special_price":"7"}`, 200)
	runFieldCases(t, shop, []fieldCase{
		{"a special price that only the website has", "guest", "/products/10/store/3?attrs=final_price_without_tax", asJSON, `{"final_price_without_tax":7}`, same},
		{"it in a list", "guest", "/products/store/3?attrs=final_price_without_tax&filter[1][attribute]=entity_id&filter[1][eq]=10", asJSON,
			`{"10":{"final_price_without_tax":7}}`, same},
	})
}
