//go:build linux

package migration_test

import (
	"fmt"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
	"regexp"
	"strings"
	"testing"
)

// TestMirror writes to Portico, which repeats the writes at the legacy store. In the end both
// have the same.
func TestMirror(t *testing.T) {
	front := apptest.NewFront(t, apptest.MirroredWrites)
	p, writer := front.Serve(t, append(apptest.LegacyConsumer(), "PORTICO_FOLLOW_WAIT=30s", "PORTICO_LOG_LEVEL=info")...)
	old := apptest.NewClient(t, front.Target.BaseURL, apptest.DemoAdmin())
	testenv.Await(t, "a turn of all writes", func() bool {
		return apptest.ScrapeMetrics(t, p.Ops).Sum("portico_mirror_turns_total", `outcome="turned"`) >= 8
	})
	created := "/" // the path of the record that was created last
	for _, tt := range []struct {
		name, method, path, body string
		shown                    []string // the paths that the write changes
	}{
		{"a stock item", "PUT", "/stockitems/2", `{"qty": 77, "min_sale_qty": 2}`, []string{"/stockitems/2"}},
		{"a product", "PUT", "/products/3", `{"name": "Renamed", "price": 99}`, []string{"/products/3"}},
		{"a product at a store view", "PUT", "/products/1/store/2", `{"name": "Umbenannt"}`, []string{"/products/1/store/2", "/products/1"}},
		{"many stock items", "PUT", "/stockitems", `[{"item_id": 3, "qty": 33}, {"item_id": "4", "qty": 44}]`, []string{"/stockitems/3", "/stockitems/4"}},
		{"a website of a product", "DELETE", "/products/2/websites/1", "", []string{"/products/2/websites"}},
		{"a website again", "POST", "/products/2/websites", `{"website_id": 1}`, []string{"/products/2/websites"}},
		{"a category", "POST", "/products/3/categories", `{"category_id": 2}`, []string{"/products/3/categories"}},
		{"a new product", "POST", "/products", newProduct("mirrored-1"), []string{"created"}},
		{"its price", "PUT", "created", `{"price": "5.5000", "stock_data": {"qty": 9}}`, []string{"created"}},
		{"a new customer", "POST", "/customers", `{"firstname":"Ada","lastname":"L","email":"mirror@example.com","website_id":1,"group_id":1,"password":"swordfish1"}`, []string{"created"}},
		{"a first address", "POST", "created/addresses", apptest.AddressBody("Rue 1"), []string{"created"}},
		{"a changed address", "PUT", "created", `{"city": "Paris"}`, []string{"created"}},
		{"another default address", "POST", "/customers/1/addresses", apptest.AddressBody("Rue 2"), []string{"/customers/1/addresses", "/customers/1"}},
		{"a customer", "PUT", "/customers/1", `{"firstname": "Grace", "taxvat": ""}`, []string{"/customers/1"}},
		{"a deleted address", "DELETE", "/customers/addresses/1", "", []string{"/customers/1/addresses", "/customers/addresses/1"}},
		{"a deleted customer", "DELETE", "/customers/2", "", []string{"/customers/2", "/customers/2/addresses"}},
		{"a deleted product", "DELETE", "/products/3", "", []string{"/products/3", "/stockitems/3"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			at := func(path string) string { return strings.Replace(path, "created", created, 1) }
			got, err := writer.Call(t.Context(), tt.method, at(tt.path), tt.body)
			if err != nil || got.Status >= 300 {
				t.Fatalf("%d %s %v", got.Status, got.Body, err)
			}
			if _, path, ok := strings.Cut(got.Header.Get("Location"), "/api/rest"); ok {
				created = path
			}
			for _, path := range tt.shown {
				path = at(path)
				here := writer.Get(t, path)
				var there apptest.Reply
				testenv.Await(t, path+" at the legacy store", func() bool {
					there = old.Get(t, path)
					return there.Status == here.Status && withoutURLs(there.Body) == withoutURLs(writer.Get(t, path).Body)
				})
			}
		})
	}
	p.Stop(t)
	if t.Failed() {
		t.Log(p.Stderr.Text())
	}
}

// newProduct returns a new product.
func newProduct(sku string) string {
	return fmt.Sprintf(`{"type_id":"simple","attribute_set_id":4,"sku":%q,"name":"N","description":"D","short_description":"S","price":1,"weight":1,"status":1,"visibility":4,"tax_class_id":2,"stock_data":{"qty":5,"is_in_stock":1}}`, sku)
}

var anyURL = regexp.MustCompile(`"[a-z_]*url":"[^"]*",?`)

// withoutURLs returns a body without the addresses in it, which differ from server to server.
func withoutURLs(body string) string { return anyURL.ReplaceAllString(body, "") }
