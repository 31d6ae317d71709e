//go:build linux

package speed

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
)

var (
	products   = flag.Int("products", 0, "number of products for BenchmarkCatalog, 1000000 say; 0 leaves it out")
	engineName = flag.String("engine", "sqlite", "engine of BenchmarkCatalog: sqlite, postgres or mariadb")
	storeDSN   = flag.String("store", "", "DSN of a database for BenchmarkCatalog, which gets the products if it has none and is not removed")
)

// newCatalog returns the DSN of a database with the demo store and the products that the flags ask
// for.
func newCatalog(b *testing.B) (dsn string) {
	b.Helper()
	switch {
	case *storeDSN != "":
		dsn = *storeDSN
	case *engineName == "postgres":
		dsn = sqltest.StartLargePostgres(b).Database("shop")
	case *engineName == "mariadb":
		dsn = sqltest.MariaDB(b)
	default:
		dsn = "sqlite:" + filepath.Join(b.TempDir(), "shop.db")
	}
	if *storeDSN != "" && hasProducts(b, dsn) {
		return dsn
	}
	if err := demotest.Load(dsn); err != nil {
		b.Fatal(err)
	}
	if err := demotest.AddProducts(b.Context(), dsn, *products); err != nil {
		b.Fatal(err)
	}
	return dsn
}

// hasProducts reports whether a database has generated products, and fails unless they are as many as
// the flag asks for.
func hasProducts(b *testing.B, dsn string) bool {
	b.Helper()
	if path, ok := strings.CutPrefix(dsn, "sqlite:"); ok {
		if _, err := os.Stat(path); err != nil {
			return false
		}
	}
	var last int
	if err := sqltest.Raw(b, dsn).QueryRowContext(b.Context(), "SELECT MAX(entity_id) FROM product").Scan(&last); err != nil {
		return false // the table is missing
	}
	if found := last - demotest.FirstGeneratedID + 1; found != *products {
		b.Fatalf("the database has %d generated products, not %d", found, *products)
	}
	return true
}

// TestGeneratedProducts compares the replies about generated products before and after the program has
// written each product and listed all of them again.
func TestGeneratedProducts(t *testing.T) {
	t.Parallel()
	const generated = 100
	for name, newStore := range map[string]func(testing.TB) string{"sqlite": demotest.SQLite, "postgres": demotest.Postgres, "mariadb": demotest.MariaDB} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := newStore(t)
			if err := demotest.AddProducts(t.Context(), dsn, generated); err != nil {
				t.Fatal(err)
			}
			p := apptest.Start(t, []string{"PORTICO_SQL_DSN=" + dsn, apptest.WithoutReplyCache, "PORTICO_DIALECT=magento"})
			admin, guest := apptest.NewClient(t, p.Contract, apptest.DemoAdmin()), apptest.NewClient(t, p.Contract, "")
			before := replies(t, admin, guest)
			for id := demotest.FirstGeneratedID; id < demotest.FirstGeneratedID+generated; id++ {
				rewrite(t, admin, id)
			}
			db := demotest.Open(t, sqlstore.Options{DSN: dsn})
			if err := db.RebuildListing(t.Context()); err != nil {
				t.Fatal(err)
			}
			after := replies(t, admin, guest)
			for path, want := range after {
				if got := before[path]; got != want || len(got) < 100 {
					t.Errorf("%s: generated %.2000s\nwritten by the program %.2000s", path, got, want)
				}
			}
		})
	}
}

// replies returns replies about generated products by caller and path.
func replies(t *testing.T, admin, guest *apptest.Client) map[string]string {
	t.Helper()
	all := map[string]string{}
	for caller, client := range map[string]*apptest.Client{"admin": admin, "guest": guest} {
		for _, path := range []string{
			"/products?limit=0", "/products?limit=100&order=name&dir=asc", "/products/144", "/products?___store=german&limit=0",
			"/products?filter[0][attribute]=sku&filter[0][eq]=made-144", "/products?filter[0][attribute]=name&filter[0][like]=%25ct+5%25",
			"/products?category_id=4&limit=100",
		} {
			got := client.Get(t, path)
			if got.Status != http.StatusOK {
				t.Fatalf("%s: %d %s", path, got.Status, got.Body)
			}
			all[caller+" "+path] = withoutUpdates(t, got.Body)
		}
	}
	return all
}

// withoutUpdates returns a reply of products without the times of their last update, and without
// addresses with a random key.
func withoutUpdates(t *testing.T, body string) string {
	t.Helper()
	var reply any
	apptest.Parse(t, body, &reply)
	var remove func(any)
	remove = func(value any) {
		if object, ok := value.(map[string]any); ok {
			delete(object, "updated_at")
			delete(object, "buy_now_url")
			for _, member := range object {
				remove(member)
			}
		}
	}
	remove(reply)
	text, err := json.Marshal(reply)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// rewrite makes the program write a product's present values again.
func rewrite(t *testing.T, admin *apptest.Client, id int) {
	t.Helper()
	path := fmt.Sprintf("/products/%d", id)
	var product map[string]any
	admin.Read(t, path, &product)
	written := map[string]any{}
	for _, name := range strings.Fields("sku name url_key meta_title meta_description description short_description meta_keyword price weight status visibility tax_class_id") {
		written[name] = product[name]
	}
	body, err := json.Marshal(written)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := admin.Call(t.Context(), http.MethodPut, path, string(body)); err != nil || got.Status != http.StatusOK {
		t.Fatalf("PUT %s: %d %s, %v", path, got.Status, got.Body, err)
	}
}
