package adaptertest

import (
	"testing"

	"github.com/portico-commerce/portico/adapter"
)

// RunPricesByWebsite tests the prices of products in an adapter whose prices may differ between websites:
// h.Schemas are schemas of [adapter.Schemas.WithPricesByWebsite].
func RunPricesByWebsite(t *testing.T, h Harness) {
	a := h.Open(t)
	s := &productSuite{
		schemas: h.Schemas, products: storeOf(t, a, adapter.Products), images: storeOf(t, a, adapter.ProductImages), stock: storeOf(t, a, adapter.StockItems),
		websites: storeOf(t, a, adapter.ProductWebsites), categories: storeOf(t, a, adapter.ProductCategories),
	}
	t.Run("values", s.testWebsitePrices)
	t.Run("lists", s.testWebsitePriceLists)
}

// testWebsitePrices checks that a price that is written at a store view holds at all store views of its
// website and nowhere else.
func (s *productSuite) testWebsitePrices(t *testing.T) {
	key := s.createProduct(t, "prices of websites", attrs{"price": "10.0000", "special_price": "8.0000"})
	s.mustUpdate(t, key, aView, attrs{"price": "12.0000", "special_price": nil, "cost": "5.0000"})
	for view, want := range map[int64]attrs{
		0:          {"price": "10.0000", "special_price": "8.0000"},
		aView:      {"price": "12.0000", "special_price": nil, "cost": "5.0000"},
		sisterView: {"price": "12.0000", "special_price": nil, "cost": "5.0000"},
		otherView:  {"price": "10.0000", "special_price": "8.0000"},
	} {
		s.wantValues(t, key, view, want)
	}
	s.mustUpdate(t, key, 0, attrs{"price": "11.0000"})
	s.wantValues(t, key, aView, attrs{"price": "12.0000"})
	s.wantValues(t, key, otherView, attrs{"price": "11.0000"})
	listed := s.listed(t, adapter.ListParams{StoreID: sisterView, WebsiteScope: true})
	for _, r := range listed {
		if r.Key() == key && r.Get("price").Text() != "12.0000" {
			t.Errorf("a list of values of the website has the price %s, want 12.0000", r.Get("price").Text())
		}
	}
}

// testWebsitePriceLists checks which entries a list that is written at a scope replaces.
func (s *productSuite) testWebsitePriceLists(t *testing.T) {
	tier := func(website, group int, price string) attrs {
		return attrs{"website_id": website, "cust_group": group, "price": price, "price_qty": "1.0000"}
	}
	const list = "tier_price"
	key := s.createProduct(t, "tiers of websites", attrs{list: []attrs{tier(0, 1, "9.0000"), tier(aWebsite, 2, "8.0000"), tier(otherWebsite, 3, "7.0000")}})
	for _, c := range []struct {
		name    string
		view    int64
		entries []attrs
		want    string
	}{
		{"at a store view", aView, []attrs{tier(aWebsite, 4, "6.0000"), tier(0, 5, "5.0000")}, "1 9.0000 1.0000|3 7.0000 1.0000|4 6.0000 1.0000"},
		{"an empty list at a store view", aView, []attrs{}, "1 9.0000 1.0000|3 7.0000 1.0000"},
		{"in the default scope", 0, []attrs{tier(0, 2, "4.0000")}, "2 4.0000 1.0000"},
	} {
		s.mustUpdate(t, key, c.view, attrs{list: c.entries})
		if got := prices(s.getProduct(t, key, 0, list), list); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
