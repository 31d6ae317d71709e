package mapping_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/mapping/contract"
)

// TestStatements checks how many SQL statements each kind of request executes, once the
// caller's credentials and the shop are cached, and that no statement is prepared again.
// Change the numbers only deliberately.
func TestStatements(t *testing.T) {
	// PostgreSQL returns the parts of one product with it, without a statement for them.
	withParts := []string{"guest /products/1", "guest /products/1/store/2", "customer /products/1", "admin /products/1", "admin /products/1/store/2", "guest /products/1/images"}
	engines := map[string]func(testing.TB) string{
		"sqlite": demotest.SQLite, "postgres": demotest.Postgres, "mariadb": demotest.MariaDB,
	}
	for _, e := range sqltest.EnginesInTurn(t) {
		engine := e.Name
		t.Run(engine, func(t *testing.T) {
			var watched sqltest.Statements
			db := openFile(t, sqlstore.Options{DSN: engines[engine](t), Wrap: watched.Wrap})
			records := &store{Adapter: db.Adapter(), credentials: db.Credentials(), save: func(testing.TB) func(testing.TB) bool { return nil }}
			shop := serveDemo(t, contract.Documented(), settings(), records, nil)
			for _, c := range []struct {
				role contract.Role
				path string
				want int
			}{
				{contract.Guest, "/products/1", 2},
				{contract.Guest, "/products/kettle-steel", 2},
				{contract.Guest, "/products/1/store/2", 2},
				{contract.Guest, "/products", 2},
				{contract.Guest, "/products/store/2", 2},
				{contract.Guest, "/products/category/5", 3},
				{contract.Guest, "/products?filter[0][attribute]=sku&filter[0][eq]=kettle-steel", 2},
				{contract.Guest, "/products?order=name&dir=asc", 2},
				{contract.Guest, "/products?page=2&limit=3", 2},
				{contract.Guest, "/products?page=99", 2},
				{contract.Guest, "/products?limit=0", 2},
				{contract.Customer, "/products/1", 3},
				{contract.Customer, "/products", 3},
				{contract.Admin, "/products/1", 3},
				{contract.Admin, "/products/1/store/2", 3},
				{contract.Admin, "/products?limit=100", 1},
				{contract.Admin, "/products/store/1?limit=100", 2},
				{contract.Guest, "/products/1/images", 3},
				{contract.Admin, "/products/1/images", 2},
				{contract.Admin, "/products/1/websites", 2},
				{contract.Admin, "/products/1/categories", 2},
				{contract.Admin, "/stockitems/1", 1},
				{contract.Admin, "/stockitems", 1},
				{contract.Admin, "/customers", 1},
				{contract.Admin, "/customers/1", 1},
				{contract.Customer, "/customers/1", 1},
				{contract.Admin, "/customers/1/addresses", 1},
				{contract.Customer, "/customers/1/addresses", 1},
				{contract.Customer, "/customers/addresses/1", 1},
				{contract.Admin, "/orders", 4},
				{contract.Customer, "/orders", 4},
				{contract.Admin, "/orders/1", 4},
				{contract.Customer, "/orders/1", 4},
				{contract.Customer, "/orders/1/items", 2},
				{contract.Customer, "/orders/1/addresses", 2},
				{contract.Customer, "/orders/1/addresses/billing", 2},
				{contract.Customer, "/orders/1/comments", 2},
			} {
				name := c.role.String() + " " + c.path
				if engine == "postgres" && slices.Contains(withParts, name) {
					c.want--
				}
				t.Run(name, func(t *testing.T) {
					ask := func() (executed, prepared []string) {
						t.Helper()
						watched.Take()
						if got := shop.serve(c.role, http.MethodGet, c.path, ""); got.Status != http.StatusOK {
							t.Fatalf("%d %s", got.Status, got.Body)
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
