package app

import (
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/demo"
)

// startScopedShop serves the demo store with values for store views. get reads a path as a
// role.
func startScopedShop(t *testing.T, dialect string, changes ...string) (get func(role, path string) (int, string), base string) {
	t.Helper()
	data, err := demo.Load()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	db, err := openDemo(t.Context(), dir, data, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := sql.Open("sqlite", filepath.Join(dir, "demo.db"))
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
	if err := db.RebuildListing(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, server := serveApp(t, db, data, dialect)
	credentials := demoTarget(t, dialect).Credentials
	return func(role, path string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/api/rest"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", "application/json")
		if authorization := credentials.Authorization(role); authorization != "" {
			r.Header.Set("Authorization", authorization)
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(body)
	}, server.URL
}

const (
	productNotFound = `{"messages":{"error":[{"code":404,"message":"Resource not found."}]}}`
	storeInvalid    = `{"messages":{"error":[{"code":400,"message":"Requested store is invalid"}]}}`
)

// TestProductsInStoreViews checks which role sees which values in store views (products
// 3.6), beyond the recorded exchanges.
func TestProductsInStoreViews(t *testing.T) {
	get, _ := startScopedShop(t, "magento")
	for _, c := range []struct {
		name, role, path string
		status           int
		body             string
	}{
		{"single has the store's texts", "guest", "/products/1/store/2?attrs=name", 200, `{"name":"Bouilloire"}`},
		{"and the default url_key", "guest", "/products/1?store=french&attrs=name,url", 200, `{"name":"Bouilloire","url":"BASE/index.php/catalog/product/view/id/1/s/steel-kettle/"}`},
		{"path beats query", "guest", "/products/1/store/2?store=99&attrs=name", 200, `{"name":"Bouilloire"}`},
		{"list has default texts", "guest", "/products/store/2?attrs=name&limit=1", 200, `{"1":{"name":"Steel Kettle"}}`},
		{"list filters by default texts", "guest", "/products/store/2?attrs=name&filter[0][attribute]=name&filter[0][eq]=Bouilloire", 200, `[]`},
		{"list of an Admin has the store's", "admin", "/products/store/2?attrs=name&limit=1", 200, `{"1":{"name":"Bouilloire"}}`},
		{"and filters by it", "admin", "/products/store/2?attrs=sku&filter[0][attribute]=name&filter[0][eq]=bouilloire", 200, `{"1":{"sku":"kettle-steel"}}`},
		{"and sorts by it", "admin", "/products/store/2?attrs=name&order=name&dir=asc&limit=2", 200, `{"8":{"name":"Abc"},"1":{"name":"Bouilloire"}}`},
		{"hidden in the store: listed", "guest", "/products?attrs=sku&filter[0][attribute]=entity_id&filter[0][eq]=3", 200, `{"3":{"sku":"lamp-desk"}}`},
		{"hidden in the store: no single", "guest", "/products/3", 404, productNotFound},
		{"hidden in another store: single", "guest", "/products/3/store/2?attrs=sku", 200, `{"sku":"lamp-desk"}`},
		{"hidden by default: not listed", "guest", "/products?attrs=sku&filter[0][attribute]=entity_id&filter[0][eq]=6", 200, `[]`},
		{"shown in the store: single", "guest", "/products/6?attrs=sku", 200, `{"sku":"spare-lid"}`},
		{"disabled in the website: not listed", "guest", "/products?attrs=sku&filter[0][attribute]=entity_id&filter[0][eq]=4", 200, `[]`},
		{"disabled in the website: no single", "customer_1", "/products/4", 404, productNotFound},
		{"enabled in the website alone: not listed", "guest", "/products?attrs=sku&filter[0][attribute]=entity_id&filter[0][eq]=5", 200, `[]`},
		{"enabled in the website alone: single", "guest", "/products/5?attrs=sku", 200, `{"sku":"lamp-old"}`},
		{"tax class of the website in a list", "guest", "/products?attrs=regular_price_with_tax&filter[0][attribute]=entity_id&filter[0][eq]=9", 200, `{"9":{"regular_price_with_tax":10.81}}`},
		{"tax class of the website in a single", "guest", "/products/9?attrs=regular_price_with_tax", 200, `{"regular_price_with_tax":10.81}`},
		{"Admin's category in a store: enabled there", "admin", "/products/store/1/category/4?attrs=sku", 200, `{"3":{"sku":"lamp-desk"},"5":{"sku":"lamp-old"}}`},
		{"Admin's category in store 0: all", "admin", "/products/store/0/category/4?attrs=sku", 200, `{"3":{"sku":"lamp-desk"},"4":{"sku":"lamp-floor"},"5":{"sku":"lamp-old"}}`},
		{"Admin in a store: own website", "admin", "/products/10/store/2", 404, productNotFound},
		{"Admin in the default scope: any", "admin", "/products/10/store/admin?attrs=sku", 200, `{"sku":"eu-teapot"}`},
		{"no store given", "guest", "/products/1?store=&attrs=name", 200, `{"name":"Steel Kettle"}`},
		{"store 0 is the default store", "guest", "/products/10/store/0", 404, productNotFound},
		{"default scope: any website", "guest", "/products/10/store/admin?attrs=sku", 200, `{"sku":"eu-teapot"}`},
		{"default scope: some website", "guest", "/products/12/store/admin", 404, productNotFound},
		{"default scope: no list", "guest", "/products/store/admin", 200, `[]`},
		{"unknown store before unknown product", "admin", "/products/99/store/99", 400, storeInvalid},
		{"other spelling of a store", "admin", "/products/1/store/02", 500, ``},
		{"list of stores", "guest", "/products?store[]=1", 500, ``},
		{"root of the tree", "guest", "/products/category/1", 200, `[]`},
		{"category by its leading number", "guest", "/products?category_id=5x&attrs=sku", 200, `{"1":{"sku":"kettle-steel"},"2":{"sku":"kettle-copper"}}`},
		{"last category counts", "guest", "/products?category_id=99&category_id=5&attrs=sku", 200, `{"1":{"sku":"kettle-steel"},"2":{"sku":"kettle-copper"}}`},
		{"path beats query", "guest", "/products/category/5?category_id=99&attrs=sku", 200, `{"1":{"sku":"kettle-steel"},"2":{"sku":"kettle-copper"}}`},
	} {
		t.Run(c.name, func(t *testing.T) { checkReply(t, get, c.role, c.path, c.status, c.body) })
	}
}

// checkReply reads a path as a role and compares the reply.
func checkReply(t *testing.T, get func(role, path string) (int, string), role, path string, status int, body string) {
	t.Helper()
	gotStatus, got := get(role, path)
	got = regexp.MustCompile(`http:\\/\\/127\.0\.0\.1:[0-9]+`).ReplaceAllString(got, "BASE")
	if got = strings.ReplaceAll(got, `\/`, "/"); gotStatus != status || got != body {
		t.Errorf("GET %s as %s: %d %s\nwant %d %s", path, role, gotStatus, got, status, body)
	}
}

// TestProductIdentifiers checks the ways to name a product in a path (products 3.7).
func TestProductIdentifiers(t *testing.T) {
	get, _ := startScopedShop(t, "documented",
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
		t.Run(id, func(t *testing.T) { checkReply(t, get, "admin", "/products/"+id+"?attrs=sku", status, want) })
	}
	// 007 is the product with that SKU, even for roles that may not see it.
	checkReply(t, get, "guest", "/products/007", 404, productNotFound)
}

// TestProductModifiers checks order and filters on special fields (products 3.8; wire 10),
// in both dialects.
func TestProductModifiers(t *testing.T) {
	const ordering = `{"messages":{"error":[{"code":400,"message":"Resource collection ordering error."}]}}`
	const filtering = `{"messages":{"error":[{"code":400,"message":"Resource collection filtering error."}]}}`
	filter := func(name, test string) string { return "&filter[0][attribute]=" + name + "&filter[0]" + test }
	for _, dialect := range []string{"documented", "magento"} {
		get, _ := startScopedShop(t, dialect)
		both := func(documented, magento string) string {
			if dialect == "magento" {
				return magento
			}
			return documented
		}
		crash := func(text string) (int, string) {
			if dialect == "magento" {
				return 500, ""
			}
			return 400, text
		}
		first := `{"1":{"sku":"kettle-steel"},"2":{"sku":"kettle-copper"}}`
		for role, fields := range map[string][]string{
			"admin": {"special_price", "tax_class_id", "country_of_manufacture", "custom_design", "page_layout", "options_container", "msrp_enabled",
				"msrp_display_actual_price_type", "gift_message_available", "tier_price", "group_price", "stock_data"},
			"customer_1": {"tier_price", "is_in_stock", "regular_price_with_tax", "final_price_without_tax", "image_url", "url", "buy_now_url", "has_custom_options"},
		} {
			for _, field := range fields {
				t.Run(dialect+" order nothing "+role+" "+field, func(t *testing.T) {
					checkReply(t, get, role, "/products?attrs=sku&limit=2&dir=desc&order="+field, 200, first)
				})
			}
		}
		for _, c := range []struct {
			name, role, query string
			status            int
			body              string
		}{
			{"price down", "admin", "&order=price&dir=DESC&limit=1", 200, `{"2":{"sku":"kettle-copper"}}`},
			{"price up", "admin", "&order=price&dir=Asc&limit=1", 200, `{"12":{"sku":"nowhere"}}`},
			{"a date, missing ones last", "admin", "&order=news_to_date&limit=1", 200, `{"4":{"sku":"lamp-floor"}}`},
			{"a date, missing ones first", "admin", "&order=news_to_date&dir=asc&limit=1", 200, `{"1":{"sku":"kettle-steel"}}`},
			{"neq leaves out what lacks it", "admin", filter("country_of_manufacture", "[neq]=XX"), 200, `{"2":{"sku":"kettle-copper"}}`},
			{"nin too", "admin", filter("country_of_manufacture", "[nin][]=XX"), 200, `{"2":{"sku":"kettle-copper"}}`},
			{"null finds what is stored as null", "admin", filter("special_from_date", "[null]=1") + "&limit=1", 200, `{"1":{"sku":"kettle-steel"}}`},
			{"null leaves out what lacks it", "admin", filter("special_to_date", "[null]=1"), 200, `[]`},
			{"cost is readable", "admin", filter("cost", "[notnull]=1"), 200, `[]`},
			{"tier_price matches nothing", "admin", filter("tier_price", "[neq]=1"), 200, `[]`},
			{"group_price matches nothing", "admin", filter("group_price", "[null]=1"), 200, `[]`},
			{"tier_price of a guest, too", "guest", filter("tier_price", "[gt]=0"), 200, `[]`},
			{"stock_data", "admin", filter("stock_data", "[eq]=1"), 400, filtering},
			{"is_saleable is ignored", "guest", filter("is_saleable", "[eq]=0") + "&limit=2", 200, first},
			{"prices", "guest", filter("final_price_with_tax", "[gt]=0"), 400, filtering},
			{"public name for an Admin", "admin", filter("is_saleable", "[eq]=1"), 400, filtering},
			{"switch of a write", "admin", filter("url_key_create_redirect", "[eq]=1"), 400, filtering},
			{"field of the Admin", "guest", "&order=visibility", 400, ordering},
			{"category field of a guest", "guest", "&category_id=3&order=weight&dir=asc", 400, ordering},
		} {
			t.Run(dialect+" "+c.name, func(t *testing.T) { checkReply(t, get, c.role, "/products?attrs=sku"+c.query, c.status, c.body) })
		}
		for _, query := range []string{"order=price", "order=price&dir=up"} {
			status, body := crash(ordering)
			checkReply(t, get, "admin", "/products?"+query, status, body)
		}
		status, body := crash(ordering)
		checkReply(t, get, "guest", "/products?order=is_saleable&dir=asc", status, body)
		status, body = crash(filtering)
		checkReply(t, get, "guest", "/products?filter[0][attribute]=is_saleable", status, body)

		checkReply(t, get, "admin", "/products?attrs=sku,news_to_date&order=news_to_date&dir=asc&limit=1", 200, `{"1":{"sku":"kettle-steel","news_to_date":null}}`)
		checkReply(t, get, "admin", "/products?attrs=sku,special_price&order=special_price&dir=asc&limit=1", 200,
			both(`{"1":{"sku":"kettle-steel","special_price":null}}`, `{"1":{"sku":"kettle-steel"}}`))
		checkReply(t, get, "guest", "/products?attrs=sku,url&limit=1", 200,
			both(`{"1":{"sku":"kettle-steel","url":"BASE/index.php/catalog/product/view/id/1/s/steel-kettle/"}}`, `{"1":{"sku":"kettle-steel"}}`))
	}
}

// TestProductLinks checks the links of a product (products 3.4).
func TestProductLinks(t *testing.T) {
	get, base := startScopedShop(t, "documented",
		"UPDATE product SET url_key = NULL, url_key_folded = NULL WHERE entity_id = 2",
		"INSERT INTO product_image (id, product_id, file, media_type) VALUES (1, 1, 'f/r/front.png', 'image/png')",
		"INSERT INTO product_image_pointer (product_id, store_id, type, image_id) VALUES (1, 0, 'image', 1)")
	checkReply(t, get, "guest", "/products/2?attrs=url", 200, `{"url":"BASE/index.php/catalog/product/view/id/2/"}`)
	checkReply(t, get, "guest", "/products?attrs=image_url&limit=2", 200, `{"1":{"image_url":"BASE/media/catalog/product/cache/1/image/f/r/front.png"},`+
		`"2":{"image_url":"BASE/skin/frontend/base/default/images/catalog/product/placeholder/image.jpg"}}`)

	form := regexp.MustCompile(`^` + base + `/index\.php/checkout/cart/add/uenc/([A-Za-z0-9,_-]+)/product/1/form_key/([A-Za-z0-9]{16})/$`)
	keys := map[string]bool{}
	for range 2 {
		_, body := get("guest", "/products/1?attrs=buy_now_url")
		var product struct {
			URL string `json:"buy_now_url"`
		}
		if err := json.Unmarshal([]byte(body), &product); err != nil {
			t.Fatal(err)
		}
		parts := form.FindStringSubmatch(product.URL)
		if parts == nil {
			t.Fatalf("buy_now_url %s", product.URL)
		}
		back, err := base64.StdEncoding.DecodeString(strings.NewReplacer("-", "+", "_", "/", ",", "=").Replace(parts[1]))
		if err != nil || string(back) != base+"/api/rest/products/1?attrs=buy_now_url" {
			t.Errorf("leads back to %q, %v", back, err)
		}
		keys[parts[2]] = true
	}
	if len(keys) != 2 {
		t.Error("the form key is the same in two calls")
	}
}
