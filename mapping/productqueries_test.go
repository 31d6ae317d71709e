package mapping_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// TestProductReadQueries checks the store reads of product calls. For one product the SQL
// adapter reads the values of a store view and all prices with one further statement.
func TestProductReadQueries(t *testing.T) {
	var recorded reads
	moment := time.Date(2013, 1, 1, 0, 0, 0, 0, time.UTC)
	s := settings()
	s.Now = func() time.Time { return moment }
	s.Prices = resource.PriceSettings{TaxCountry: "US", TaxRegion: "CA"}
	shop := openShopWith(t, contract.Documented(), s, recorded.counting)
	ask := func(path string) []adapter.Resource {
		t.Helper()
		recorded.take()
		if r := shop.serve(contract.Guest, "GET", path, ""); r.Status != http.StatusOK {
			t.Fatalf("%s: %d %s", path, r.Status, r.Body)
		}
		return recorded.take()
	}
	ask("/products/1") // reads the shop configuration, which is then cached
	for _, c := range []struct {
		path string
		want []adapter.Resource
	}{
		{"/products/1", []adapter.Resource{adapter.Products}},
		{"/products/kettle-steel", []adapter.Resource{adapter.Products}},
		{"/products/1?attrs=name,url", []adapter.Resource{adapter.Products}},
		{"/products", []adapter.Resource{adapter.Products}},
		{"/products?limit=0", []adapter.Resource{adapter.Products}},
		{"/products/store/2/category/3", []adapter.Resource{adapter.Categories, adapter.Products}},
		{"/products?page=2&limit=5", []adapter.Resource{adapter.Products}},
	} {
		t.Run(c.path, func(t *testing.T) {
			if got := ask(c.path); !slices.Equal(got, c.want) {
				t.Errorf("read %v, want %v", got, c.want)
			}
		})
	}

	moment = moment.Add(11 * time.Second)
	if got := ask("/products?limit=1"); !slices.Contains(got, adapter.Stores) {
		t.Errorf("read %v: the expired shop configuration is not read again", got)
	}
}
