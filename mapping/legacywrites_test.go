package mapping_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// TestLegacyWrite looks for the records that forwarded writes name.
func TestLegacyWrite(t *testing.T) {
	s := openShop(t, contract.Magento())
	many := strings.Repeat(`{"item_id": 1},`, 1001)
	for _, tt := range []struct {
		name, method, path, body, location string
		status                             int
		resource                           adapter.Resource // "": the write counts for nothing
		keys                               []adapter.Key
	}{
		{"a read", "GET", "/products/1", "", "", 200, "", nil},
		{"a refused write", "PUT", "/products/1", "{}", "", 400, "", nil},
		{"a redirect", "PUT", "/products/1", "{}", "", 302, "", nil},
		{"no call", "DELETE", "/products", "", "", 200, "", nil},
		{"a product", "PUT", "/products/12", "{}", "", 200, adapter.Products, []adapter.Key{12}},
		{"a product at a store view", "PUT", "/products/12/store/2", "{}", "", 200, adapter.Products, []adapter.Key{12}},
		{"a product by its SKU", "DELETE", "/products/kettle-steel", "", "", 200, adapter.Products, []adapter.Key{1}},
		{"a product by an unknown SKU", "PUT", "/products/nothing", "{}", "", 200, adapter.Products, nil},
		{"a new product", "POST", "/products", "{}", "http://old.example/shop/api/rest/products/77", 200, adapter.Products, []adapter.Key{77}},
		{"a new product without an address", "POST", "/products", "{}", "", 200, adapter.Products, nil},
		{"a new product with a strange address", "POST", "/products", "{}", "http://[/api/rest/products/77", 200, adapter.Products, nil},
		{"a new product elsewhere", "POST", "/products", "{}", "/products/77", 200, adapter.Products, nil},
		{"a new image", "POST", "/products/5/images", "{}", "/api/rest/products/5/images/9", 200, adapter.Products, []adapter.Key{5}},
		{"websites of a product", "POST", "/products/5/websites", "[]", "", 207, adapter.Products, []adapter.Key{5}},
		{"a category of a product", "DELETE", "/products/5/categories/3", "", "", 200, adapter.Products, []adapter.Key{5}},
		{"a customer", "DELETE", "/customers/4", "", "", 200, adapter.Customers, []adapter.Key{4}},
		{"an address", "PUT", "/customers/addresses/6", "{}", "", 200, adapter.CustomerAddresses, []adapter.Key{6}},
		{"a new address", "POST", "/customers/4/addresses", "{}", "/api/rest/customers/addresses/8", 200, adapter.Customers, []adapter.Key{4}},
		{"a comment", "POST", "/orders/3/comments", "{}", "/api/rest/orders/comments/8", 200, adapter.Orders, []adapter.Key{3}},
		{"a stock item", "PUT", "/stockitems/7", `{"item_id": 9}`, "", 200, adapter.StockItems, []adapter.Key{7}},
		{"a fraction", "PUT", "/stockitems/7.6", `{}`, "", 200, adapter.StockItems, []adapter.Key{7, 8}},
		{"stock items in JSON", "PUT", "/stockitems", `[{"item_id":1,"qty":2},{"qty":3, "item_id" : "40"},{"item_id":"x"},{"item_id":-5}]`, "", 207, adapter.StockItems, []adapter.Key{1, 40, 5}},
		{"stock items in XML", "PUT", "/stockitems", "<magento_api><data_item item_id='21'/><data_item>\n<item_id>22</item_id></data_item></magento_api>", "", 207, adapter.StockItems, []adapter.Key{21, 22}},
		{"an id at the end", "PUT", "/stockitems", `item_id=31`, "", 207, adapter.StockItems, []adapter.Key{31}},
		{"an id out of range", "PUT", "/stockitems", `[{"item_id":99999999999999999999}]`, "", 207, adapter.StockItems, nil},
		{"too many stock items", "PUT", "/stockitems", many, "", 207, adapter.StockItems, nil},
		{"no stock items", "PUT", "/stockitems", "[]", "", 207, adapter.StockItems, nil},
	} {
		for name, body := range map[string]io.Reader{"at once": strings.NewReader(tt.body), "in pieces": iotest.OneByteReader(strings.NewReader(tt.body))} {
			t.Run(tt.name+" "+name, func(t *testing.T) {
				r := &resource.Request{HTTP: httptest.NewRequestWithContext(t.Context(), tt.method, "/api/rest"+tt.path, body)}
				items := s.service.BatchItems(r)
				if sent, err := io.ReadAll(r.HTTP.Body); err != nil || string(sent) != tt.body {
					t.Fatalf("%v: the body is %q", err, sent)
				}
				header := http.Header{"Location": {tt.location}}
				got, ok := s.service.LegacyWrite(t.Context(), r, tt.status, header, items)
				if ok != (tt.resource != "") || got.Resource != tt.resource || !slices.Equal(got.Keys, tt.keys) {
					t.Errorf("%t, %s %v; want %s %v", ok, got.Resource, got.Keys, tt.resource, tt.keys)
				}
			})
		}
	}
}
