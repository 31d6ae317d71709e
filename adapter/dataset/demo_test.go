package dataset_test

import (
	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/dataset"
	"strings"
	"testing"
)

func mustLoad(t *testing.T) *adapter.Dataset {
	t.Helper()
	data, err := dataset.Load()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestLoadCounts(t *testing.T) {
	data := mustLoad(t)
	for resource, want := range map[adapter.Resource]int{
		adapter.Websites: 2, adapter.Stores: 3, adapter.CustomerGroups: 4, adapter.Categories: 5,
		adapter.TaxRates: 1, adapter.Countries: 246, adapter.Regions: 484, adapter.AttributeOptions: 2, adapter.Admins: 1,
		adapter.Customers: 4, adapter.CustomerAddresses: 5, adapter.Products: 12, adapter.StockItems: 12,
		adapter.ProductCategories: 11, adapter.ProductWebsites: 12, adapter.ProductImages: 0,
		adapter.Orders: 4, adapter.OrderItems: 5, adapter.OrderAddresses: 7, adapter.OrderComments: 2,
	} {
		if got := len(data.Records[resource]); got != want {
			t.Errorf("%d %s, want %d", got, resource, want)
		}
	}
	if len(data.Passwords) != 4 || len(data.Tokens) != 3 || data.Consumer.Key == "" || len(data.Verifier) != 32 || !data.Public {
		t.Error("credentials are incomplete")
	}
}

func TestLoadDerivedValues(t *testing.T) {
	data := mustLoad(t)
	for _, c := range []struct {
		name     string
		resource adapter.Resource
		at       int
		field    string
		want     adapter.Value
	}{
		{"stock item id", adapter.StockItems, 2, "item_id", adapter.IntegerValue(3)},
		{"flag stored as text", adapter.Products, 10, "msrp_enabled", adapter.TextValue("1")},
		{"special_from_date given", adapter.Products, 1, "special_from_date", adapter.TextValue("2012-01-01 00:00:00")},
		{"special_from_date not given", adapter.Products, 0, "special_from_date", adapter.NullValue()},
		{"value that was never stored", adapter.Products, 0, "special_price", adapter.Value{}},
		{"default container", adapter.Products, 0, "options_container", adapter.TextValue("container1")},
		{"null dropped from an account", adapter.Customers, 0, "suffix", adapter.Value{}},
		{"region of the directory", adapter.CustomerAddresses, 0, "region_id", adapter.IntegerValue(12)},
		{"region of a country without regions", adapter.CustomerAddresses, 1, "region_id", adapter.Value{}},
		{"date of an order line", adapter.OrderItems, 0, "updated_at", adapter.TextValue("2012-03-01 11:00:00")},
		{"order of an order line", adapter.OrderItems, 4, "order_id", adapter.IntegerValue(4)},
		{"guest order", adapter.Orders, 2, "customer_id", adapter.NullValue()},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := data.Records[c.resource][c.at].Get(c.field)
			if got.Kind() != c.want.Kind() || got.Text() != c.want.Text() {
				t.Errorf("%s = %v %q, want %v %q", c.field, got.Kind(), got.Text(), c.want.Kind(), c.want.Text())
			}
		})
	}
	if prices := data.Records[adapter.Products][1].Get("tier_price").Records(); len(prices) != 2 || prices[0].Get("cust_group").Int() != 32000 {
		t.Errorf("tier prices: %v", prices)
	}
	if lines := data.Records[adapter.CustomerAddresses][2].Get("street").Texts(); strings.Join(lines, "|") != "7 Long Road|Building B|Door 9" {
		t.Errorf("street: %q", lines)
	}
}

func TestPublicCredentials(t *testing.T) {
	own := &adapter.Dataset{Consumer: adapter.Consumer{Key: "own", Secret: "own secret"}}
	leaked := &adapter.Dataset{Tokens: []adapter.Token{{Token: strings.Repeat("C", 32), Secret: "x"}}}
	for _, c := range []struct {
		name string
		data *adapter.Dataset
		want bool
	}{
		{"the demo store", mustLoad(t), true}, {"own", own, false}, {"one token of the demo store", leaked, true}, {"none", &adapter.Dataset{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, err := dataset.PublicCredentials(c.data); err != nil || got != c.want {
				t.Errorf("%v, %v; want %v", got, err, c.want)
			}
		})
	}
}
