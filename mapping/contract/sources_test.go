package contract

import (
	"strings"
	"testing"
)

// TestPathParams checks, for every route, where the values of its parameters come from.
func TestPathParams(t *testing.T) {
	want := map[string]string{
		"/customers/:id":                               "id of /customers",
		"/customers":                                   "",
		"/customers/addresses/:id":                     "id of /customers/:customer_id/addresses",
		"/customers/:customer_id/addresses":            "customer_id of /customers",
		"/products/:id":                                "id of /products",
		"/products/:id/store/:store":                   "id of /products, store",
		"/products":                                    "",
		"/products/store/:store":                       "store",
		"/products/category/:category_id":              "category_id like /products/:id/categories",
		"/products/store/:store/category/:category_id": "store, category_id like /products/:id/categories",
		"/products/category/:category_id/store/:store": "category_id like /products/:id/categories, store",
		"/products/:id/categories":                     "id of /products",
		"/products/:id/categories/:category_id":        "id of /products, category_id of /products/:id/categories",
		"/products/:id/images/:image":                  "id of /products, image of /products/:id/images",
		"/products/:id/images/:image/store/:store":     "id of /products, image of /products/:id/images, store",
		"/products/:id/images":                         "id of /products",
		"/products/:id/images/store/:store":            "id of /products, store",
		"/products/:product_id/websites/:website_id":   "product_id of /products, website_id of /products/:id/websites",
		"/products/:product_id/websites":               "product_id of /products",
		"/stockitems/:id":                              "id of /stockitems",
		"/stockitems":                                  "",
		"/orders/:id":                                  "id of /orders",
		"/orders":                                      "",
		"/orders/:id/items":                            "id of /orders",
		"/orders/:order_id/addresses/:address_type":    "order_id of /orders, address_type of /orders/:order_id/addresses",
		"/orders/:order_id/addresses":                  "order_id of /orders",
		"/orders/comments/:id":                         "id of /orders/:id/comments",
		"/orders/:id/comments":                         "id of /orders",
	}
	// The names of parameters differ between a list and the routes below it.
	sameList := strings.NewReplacer("/products/:product_id/websites", "/products/:id/websites")
	table := NewTable(Routes(StandardFields()))
	for _, r := range table.Routes() {
		var got []string
		for _, p := range table.PathParams(r) {
			switch {
			case p.Owner:
				got = append(got, p.Name+" of "+sameList.Replace(p.List.Path))
			case p.List != nil:
				got = append(got, p.Name+" like "+p.List.Path)
			default:
				got = append(got, p.Name)
			}
		}
		if text, known := want[r.Path]; !known || strings.Join(got, ", ") != text {
			t.Errorf("%s: %q, want %q", r.Path, strings.Join(got, ", "), text)
		}
	}
}

// TestKeyField checks the identifying field of every list.
func TestKeyField(t *testing.T) {
	want := map[string]string{
		"customers": "entity_id", "customer_addresses": "entity_id", "products": "entity_id", "product_categories": "category_id",
		"product_images": "id", "product_websites": "website_id", "stock_items": "item_id", "orders": "entity_id", "order_items": "item_id",
		"order_addresses": "address_type", "order_comments": "",
	}
	for _, r := range Routes(StandardFields()) {
		if got, known := want[r.Resource]; !known || r.KeyField() != got {
			t.Errorf("%s: key %q, want %q", r.Path, r.KeyField(), got)
		}
	}
}

// TestExpand checks paths with values in place of parameters.
func TestExpand(t *testing.T) {
	table := NewTable(Routes(StandardFields()))
	for _, path := range []string{"/products", "/products/7", "/products/7/images/8/store/2", "/products/store/1/category/4", "/orders/3/addresses/billing"} {
		r, params := table.Match(path)
		if got := r.Expand(params[:]...); got != path {
			t.Errorf("%s becomes %s", path, got)
		}
	}
}
