package app

import (
	"net/http"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter/demo/demotest"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// TestStatements checks how many SQL statements each kind of request executes, once the
// caller's credentials and the shop are cached, and that no statement is prepared again.
// Change the numbers only deliberately.
func TestStatements(t *testing.T) {
	for engine, newDSN := range demoDatabases() {
		t.Run(engine, func(t *testing.T) {
			var watched sqltest.Statements
			db, err := sqlstore.Open(t.Context(), sqlstore.Options{DSN: newDSN(t), Wrap: watched.Wrap})
			if err != nil {
				t.Fatal(err)
			}
			a, server := serveApp(t, db, demotest.Data(t), "documented", withoutReplyCache)
			credentials := targetOf(t, a, server, "documented").Credentials
			for _, c := range []struct {
				role, path string
				want       int
			}{
				{"guest", "/products/1", 2},
				{"guest", "/products/kettle-steel", 2},
				{"guest", "/products/1/store/2", 2},
				{"guest", "/products", 2},
				{"guest", "/products/store/2", 2},
				{"guest", "/products/category/5", 3},
				{"guest", "/products?filter[0][attribute]=sku&filter[0][eq]=kettle-steel", 2},
				{"guest", "/products?order=name&dir=asc", 2},
				{"guest", "/products?page=2&limit=3", 2},
				{"guest", "/products?page=99", 2},
				{"guest", "/products?limit=0", 2},
				{"customer_1", "/products/1", 3},
				{"customer_1", "/products", 3},
				{"admin", "/products/1", 3},
				{"admin", "/products/1/store/2", 3},
				{"admin", "/products?limit=100", 1},
				{"admin", "/products/store/1?limit=100", 2},
				{"guest", "/products/1/images", 3},
				{"admin", "/products/1/images", 2},
				{"admin", "/products/1/websites", 2},
				{"admin", "/products/1/categories", 2},
				{"admin", "/stockitems/1", 1},
				{"admin", "/stockitems", 1},
				{"admin", "/customers", 1},
				{"admin", "/customers/1", 1},
				{"customer_1", "/customers/1", 1},
				{"admin", "/customers/1/addresses", 1},
				{"customer_1", "/customers/1/addresses", 1},
				{"customer_1", "/customers/addresses/1", 1},
				{"admin", "/orders", 4},
				{"customer_1", "/orders", 4},
				{"admin", "/orders/1", 4},
				{"customer_1", "/orders/1", 4},
				{"customer_1", "/orders/1/items", 2},
				{"customer_1", "/orders/1/addresses", 2},
				{"customer_1", "/orders/1/addresses/billing", 2},
				{"customer_1", "/orders/1/comments", 2},
			} {
				t.Run(c.role+" "+c.path, func(t *testing.T) {
					ask := func() (executed, prepared []string) {
						t.Helper()
						watched.Take()
						got := send(t, http.MethodGet, server.URL+"/api/rest"+c.path, "", "Authorization", credentials.Authorization(c.role))
						if got.status != http.StatusOK {
							t.Fatalf("%d %s", got.status, got.body)
						}
						return watched.Take()
					}
					ask()
					ask() // from now on the position of a page is cached
					executed, prepared := ask()
					// The shop is read again every ten seconds, perhaps during this call.
					if len(executed) != c.want {
						executed, prepared = ask()
					}
					if len(executed) != c.want {
						t.Errorf("%d statements, want %d:\n%s", len(executed), c.want, strings.Join(executed, "\n"))
					}
					if len(prepared) > 0 {
						t.Errorf("prepared again:\n%s", strings.Join(prepared, "\n"))
					}
				})
			}
		})
	}
}
