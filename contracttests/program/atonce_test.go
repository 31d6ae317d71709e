package program

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/gif"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/mapping/contract"
)

const (
	// concurrentClients is the number of clients that write at the same time.
	concurrentClients = 50
	// concurrentUploads is the number of clients that upload an image of one name: one after another gets
	// its file name synced to disk, within upstream.timeout of the last one, and a disk may be slow.
	concurrentUploads = 20
)

// TestConcurrentWrites checks that no write is lost or made twice if many clients make the
// same write at the same time, and that all but one are refused where only one can
// succeed.
func TestConcurrentWrites(t *testing.T) {
	t.Parallel()
	for engine, newDSN := range apptest.DemoDatabases(t) {
		for _, d := range contract.Dialects() {
			// Dialects differ only above the store, so that one dialect for each engine is enough outside nightly runs.
			if (d.Name == "magento") != (engine == "sqlite") && !testenv.Nightly() {
				continue
			}
			t.Run(engine+" "+d.Name, func(t *testing.T) { testConcurrentWrites(t, engine, newDSN(t), d) })
		}
	}
}

// testConcurrentWrites runs the cases of TestConcurrentWrites on one database and dialect.
func testConcurrentWrites(t *testing.T, engine, dsn string, d *contract.Dialect) {
	server := apptest.StartDemoOn(t, dsn, d.Name, "PORTICO_UPSTREAM_TIMEOUT=20s", "PORTICO_UPSTREAM_MAX_WAIT=5s")
	admin := apptest.NewClient(t, server.Contract, apptest.DemoAdmin())
	documented := d.Name == "documented"
	either := func(documentedText, magentoText string) string {
		if documented {
			return documentedText
		}
		return magentoText
	}

	t.Run("fields of a product", func(t *testing.T) { testConcurrentFields(t, admin) })
	t.Run("images of a name", func(t *testing.T) { testConcurrentImages(t, admin) })

	// Passwords are required there, and hashing them takes nearly all of the time.
	customers, password := concurrentClients, ""
	if documented {
		customers, password = 5, `,"password":"secret77"`
	}
	const product = `{"type_id":"simple","attribute_set_id":4,"sku":"one-sku","name":"N","description":"D","short_description":"S","price":1,"weight":1,"status":1,"visibility":4,"tax_class_id":2}`
	notFound := `404,"message":"Resource not found."`
	for _, c := range []struct {
		name    string
		request request
		clients int
		refusal string // the reply to all calls but one
		// The list and the entry that show the one successful call, and how often it must be there.
		list, entry string
		times       int
		elsewhere   bool // tested in package mapping
	}{
		{name: "customers of an e-mail address", clients: customers, elsewhere: engine == "sqlite",
			request: request{http.MethodPost, "/customers", `{"firstname":"Eve","lastname":"Poe","email":"eve@example.com","website_id":1,"group_id":1` + password + "}"},
			refusal: either("400", "500") + `,"message":"This customer email already exists"`,
			list:    "/customers?limit=100", entry: `"eve@example.com"`, times: 1},
		{name: "a customer gone", clients: concurrentClients, refusal: notFound,
			request: request{http.MethodDelete, "/customers/3", ""},
			list:    "/customers?limit=100", entry: `"carla@example.com"`},
		{name: "products of a SKU", clients: concurrentClients, elsewhere: engine == "sqlite",
			request: request{http.MethodPost, "/products", product},
			refusal: `400,"message":"Invalid attribute \"sku\": The value of attribute \"SKU\" must be unique"`,
			list:    "/products?limit=100", entry: `"one-sku"`, times: 1},
		{name: "a product gone", clients: concurrentClients, refusal: notFound,
			request: request{http.MethodDelete, "/products/4", ""},
			list:    "/products?limit=100", entry: `"Floor Lamp`},
		{name: "an image gone", clients: concurrentClients, refusal: either(`404,"message":"Product image not found"`, notFound),
			request: request{http.MethodDelete, "/products/2/images/1", ""},
			list:    "/products/2/images", entry: `"id":"1"`},
		{name: "one website", clients: concurrentClients, refusal: `400,"message":"Product #3 is already assigned to website #2"`,
			request: request{http.MethodPost, "/products/3/websites", `{"website_id":2}`},
			list:    "/products/3/websites", entry: `{"website_id":"2"}`, times: 1},
		{name: "one category", clients: concurrentClients,
			request: request{http.MethodPost, "/products/3/categories", `{"category_id":6}`},
			refusal: either(`400,"message":"Product 3 is already assigned to category 6"`, `400,"message":"Product #3 is already assigned to category #6"`),
			list:    "/products/3/categories", entry: `{"category_id":"6"}`, times: 1},
	} {
		if c.elsewhere {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			done := 0
			for _, got := range callConcurrently(t, admin, slices.Repeat([]request{c.request}, c.clients)) {
				if got.Status == http.StatusOK {
					done++
				} else if !strings.Contains(got.Body, `"code":`+c.refusal) {
					t.Errorf("%d %s", got.Status, got.Body)
				}
			}
			if list := admin.Get(t, c.list); done != 1 || strings.Count(list.Body, c.entry) != c.times {
				t.Errorf("done %d times, and listed is %s", done, list.Body)
			}
		})
	}
}

// A request is a call with a body.
type request struct{ method, path, body string }

// callConcurrently makes all calls at the same time, and returns the replies in the order
// of calls.
func callConcurrently(t *testing.T, c *apptest.Client, calls []request) []apptest.Reply {
	t.Helper()
	replies := make([]apptest.Reply, len(calls))
	start := make(chan struct{})
	var running sync.WaitGroup
	for i, w := range calls {
		running.Go(func() {
			<-start
			var err error
			if replies[i], err = c.Call(t.Context(), w.method, w.path, w.body); err != nil {
				t.Error(err)
			}
		})
	}
	close(start)
	running.Wait()
	return replies
}

// testConcurrentFields checks that clients that change different fields of one product, or
// one field in different scopes, do not overwrite each other.
func testConcurrentFields(t *testing.T, admin *apptest.Client) {
	levels := []string{"/products/1", "/products/1/store/1", "/products/1/store/2"}
	// Fields that are sent, and the fields that must be read afterwards, by scope.
	sent, want := make([]map[string]string, len(levels)), make([]map[string]string, len(levels))
	for i := range levels {
		sent[i], want[i] = map[string]string{}, map[string]string{}
		set := func(field, json, reads string) { sent[i][field], want[i][field] = json, reads }
		for _, field := range []string{"name", "description", "short_description", "meta_title", "meta_description", "meta_keyword", "url_key"} {
			text := fmt.Sprintf("%s-of-%d", strings.ReplaceAll(field, "_", "-"), i)
			set(field, `"`+text+`"`, text)
		}
		for field, day := range map[string]int{"custom_design_from": 10, "custom_design_to": 20} {
			date := fmt.Sprintf("2013-03-%d", day+i)
			set(field, `"`+date+`"`, date+" 00:00:00")
		}
		for field, texts := range map[string][]string{"page_layout": {"empty", "one_column", "three_columns"}, "visibility": {"4", "3", "2"}} {
			set(field, `"`+texts[i]+`"`, texts[i])
		}
	}
	// Fields whose scope is wider than a store view.
	for field, value := range map[string][2]string{
		"price": {"7.5", "7.5000"}, "special_price": {"6.5", "6.5000"}, "weight": {"2.5", "2.5000"}, "msrp": {"9.5", "9.5000"},
		"special_from_date": {`"2013-01-01"`, "2013-01-01 00:00:00"}, "special_to_date": {`"2013-01-02"`, "2013-01-02 00:00:00"},
		"news_from_date": {`"2013-01-03"`, "2013-01-03 00:00:00"}, "news_to_date": {`"2013-01-04"`, "2013-01-04 00:00:00"},
		"tax_class_id": {"4", "4"}, "country_of_manufacture": {`"DE"`, "DE"}, "msrp_enabled": {"1", "1"}, "msrp_display_actual_price_type": {"3", "3"},
		"group_price": {`[{"website_id":0,"cust_group":1,"price":3}]`, "price:3.0000"},
		"tier_price":  {`[{"website_id":0,"cust_group":1,"price_qty":2,"price":4}]`, "price:4.0000"},
	} {
		sent[0][field], want[0][field] = value[0], value[1]
	}
	var calls []request
	for i, path := range levels {
		for field, json := range sent[i] {
			calls = append(calls, request{http.MethodPut, path, `{"` + field + `":` + json + `}`})
		}
	}
	stock := map[string]string{"qty": "77", "min_qty": "2", "min_sale_qty": "3", "max_sale_qty": "70", "notify_stock_qty": "5"}
	for field, number := range stock {
		calls = append(calls, request{http.MethodPut, levels[0], `{"stock_data":{"` + field + `":` + number + `}}`})
	}
	if len(calls) < concurrentClients {
		t.Fatalf("%d calls", len(calls))
	}
	for i, got := range callConcurrently(t, admin, calls) {
		if got.Status != http.StatusOK {
			t.Errorf("%s: %d %s", calls[i].body, got.Status, got.Body)
		}
	}
	for i, path := range levels {
		var product map[string]any
		admin.Read(t, path+"?attrs=stock_data,"+strings.Join(slices.Collect(maps.Keys(want[i])), ","), &product)
		for field, text := range want[i] {
			if got := fmt.Sprint(product[field]); got != text && !(strings.HasPrefix(got, "[") && strings.Contains(got, text)) {
				t.Errorf("%s: %s is %s, want %s", path, field, got, text)
			}
		}
		item, _ := product["stock_data"].(map[string]any)
		for field, number := range stock {
			if item[field] != number+".0000" {
				t.Errorf("%s: %s is %v, want %s", path, field, item[field], number)
			}
		}
	}
}

// testConcurrentImages checks that images that ask for the same file name get different
// ones.
func testConcurrentImages(t *testing.T, admin *apptest.Client) {
	var content bytes.Buffer
	if err := gif.Encode(&content, image.NewGray(image.Rect(0, 0, 2, 2)), nil); err != nil {
		t.Fatal(err)
	}
	body := `{"file_name":"same","file_mime_type":"image/gif","file_content":"` + base64.StdEncoding.EncodeToString(content.Bytes()) + `"}`
	ids := map[string]bool{}
	for _, got := range callConcurrently(t, admin, slices.Repeat([]request{{http.MethodPost, "/products/2/images", body}}, concurrentUploads)) {
		if got.Status != http.StatusOK {
			t.Errorf("%d %s", got.Status, got.Body)
		}
		ids[got.Header.Get("Location")] = true
	}
	var list []struct{ URL string }
	admin.Read(t, "/products/2/images", &list)
	urls := map[string]bool{}
	for _, listed := range list {
		urls[listed.URL] = true
		if got := admin.Get(t, listed.URL); got.Body != content.String() {
			t.Errorf("%s: %d, %d bytes of %d", listed.URL, got.Status, len(got.Body), content.Len())
		}
	}
	for n := range concurrentUploads {
		name := fmt.Sprintf("same_%d.gif", n)
		if n == 0 {
			name = "same.gif"
		}
		if url := admin.Base + "/media/catalog/product/s/a/" + name; !urls[url] {
			t.Errorf("no image is %s", url)
		}
	}
	if len(ids) != concurrentUploads || len(list) != concurrentUploads {
		t.Errorf("%d images are listed and %d were created, want %d", len(list), len(ids), concurrentUploads)
	}
}
