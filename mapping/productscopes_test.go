package mapping_test

import (
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// openScopedShop serves the demo store with values for store views, after changes by SQL.
func openScopedShop(t *testing.T, d *contract.Dialect, changes ...string) *shop {
	t.Helper()
	dsn := demotest.SQLite(t)
	raw, err := sql.Open("sqlite", "file:"+strings.TrimPrefix(dsn, "sqlite:"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = raw.Close() }()
	scoped := "INSERT INTO product_value (product_id, store_id, attribute, value, value_folded) VALUES (?, ?, ?, ?, ?)"
	for _, v := range []struct {
		product, store   int
		attribute, value string
	}{
		{1, 2, "name", "Bouilloire"}, {1, 2, "url_key", "bouilloire"},
		{3, 1, "visibility", "1"},
		{4, 1, "status", "2"}, {4, 2, "status", "2"},
		{5, 1, "status", "1"}, {5, 2, "status", "1"},
		{6, 1, "visibility", "4"},
		{9, 1, "tax_class_id", "2"}, {9, 2, "tax_class_id", "2"},
		{8, 2, "name", "Abc"},
	} {
		if _, err := raw.ExecContext(t.Context(), scoped, v.product, v.store, v.attribute, v.value, adapter.Fold(v.value)); err != nil {
			t.Fatal(err)
		}
	}
	for _, change := range changes {
		if _, err := raw.ExecContext(t.Context(), change); err != nil {
			t.Fatal(err)
		}
	}
	if err := openFile(t, sqlstore.Options{DSN: dsn}).RebuildListing(t.Context()); err != nil {
		t.Fatal(err)
	}
	settings := settings()
	settings.Prices = resource.PriceSettings{TaxCountry: "US", TaxRegion: "CA"}
	return serveDemo(t, d, settings, openSQLite(t, dsn, nil, nil), nil)
}

const productNotFound = `{"messages":{"error":[{"code":404,"message":"Resource not found."}]}}`

// checkReply reads a path as a role and compares the reply, in which BASE is the base URL.
func (s *shop) checkReply(t *testing.T, role contract.Role, path string, status int, body string) {
	t.Helper()
	r := s.serve(role, "GET", path, "", "Accept", "application/json")
	got := strings.ReplaceAll(strings.ReplaceAll(string(r.Body), `\/`, "/"), exampleBase, "BASE")
	if r.Status != status || got != body {
		t.Errorf("GET %s as %s: %d %s\nwant %d %s", path, role, r.Status, got, status, body)
	}
}

// exampleBase is the base URL of requests that a shop serves.
const exampleBase = "http://example.com"

// TestProductIdentifiers checks the ways to name a product in a path (products 3.7).
func TestProductIdentifiers(t *testing.T) {
	shop := openScopedShop(t, contract.Documented(),
		"UPDATE product SET sku = '007', sku_folded = '007' WHERE entity_id = 10",
		"UPDATE product SET sku = '555', sku_folded = '555' WHERE entity_id = 8",
		"UPDATE product SET sku = 'Thé Vert', sku_folded = 'THE VERT' WHERE entity_id = 9")
	for id, sku := range map[string]string{
		"1": "kettle-steel", "+1": "kettle-steel", "%2B1": "kettle-steel", "01": "kettle-steel", "1.0": "kettle-steel", "1%20": "kettle-steel",
		"KETTLE-STEEL": "kettle-steel", "kettle-steel%20": "kettle-steel", "007": "007", "th%C3%A9+vert": "Thé Vert", "the%20VERT": "Thé Vert",
		"555": "", "0": "", "-1": "", "1abc": "", "abc": "", "99999999999999999999": "", "1.9": "", "%20kettle-steel": "", "store": "", "kettle%25": "",
	} {
		want, status := productNotFound, 404
		if sku != "" {
			quoted, _ := json.Marshal(sku)
			want, status = `{"sku":`+strings.ReplaceAll(string(quoted), "é", `\u00e9`)+`}`, 200
		}
		t.Run(id, func(t *testing.T) { shop.checkReply(t, contract.Admin, "/products/"+id+"?attrs=sku", status, want) })
	}
	// 007 is the product with that SKU, even for roles that may not see it.
	shop.checkReply(t, contract.Guest, "/products/007", 404, productNotFound)
}

// TestProductLinks checks the links of a product (products 3.4).
func TestProductLinks(t *testing.T) {
	shop := openScopedShop(t, contract.Documented(),
		"UPDATE product SET url_key = NULL, url_key_folded = NULL WHERE entity_id = 2",
		"INSERT INTO product_image (id, product_id, file, media_type) VALUES (1, 1, 'f/r/front.png', 'image/png')",
		"INSERT INTO product_image_pointer (product_id, store_id, type, image_id) VALUES (1, 0, 'image', 1)")
	shop.checkReply(t, contract.Guest, "/products/2?attrs=url", 200, `{"url":"BASE/index.php/catalog/product/view/id/2/"}`)
	shop.checkReply(t, contract.Guest, "/products?attrs=image_url&limit=2", 200, `{"1":{"image_url":"BASE/media/catalog/product/cache/1/image/f/r/front.png"},`+
		`"2":{"image_url":"BASE/skin/frontend/base/default/images/catalog/product/placeholder/image.jpg"}}`)

	form := regexp.MustCompile(`^` + exampleBase + `/index\.php/checkout/cart/add/uenc/([A-Za-z0-9,_-]+)/product/1/form_key/([A-Za-z0-9]{16})/$`)
	keys := map[string]bool{}
	for range 2 {
		body := shop.serve(contract.Guest, "GET", "/products/1?attrs=buy_now_url", "", "Accept", "application/json").Body
		var product struct {
			URL string `json:"buy_now_url"`
		}
		if err := json.Unmarshal(body, &product); err != nil {
			t.Fatal(err)
		}
		parts := form.FindStringSubmatch(product.URL)
		if parts == nil {
			t.Fatalf("buy_now_url %s", product.URL)
		}
		back, err := base64.StdEncoding.DecodeString(strings.NewReplacer("-", "+", "_", "/", ",", "=").Replace(parts[1]))
		if err != nil || string(back) != exampleBase+"/api/rest/products/1?attrs=buy_now_url" {
			t.Errorf("leads back to %q, %v", back, err)
		}
		keys[parts[2]] = true
	}
	if len(keys) != 2 {
		t.Error("the form key is the same in two calls")
	}
}
