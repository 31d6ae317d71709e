package mapping_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
)

// A connectionLosingStore loses its connection at the end of each write: the write
// succeeds, but returns an error.
type connectionLosingStore struct{ adapter.Store }

// loseConnection returns the error of a write that ended with err.
func loseConnection(err error) error {
	if err != nil {
		return err
	}
	return &adapter.Error{Kind: adapter.Unavailable, Op: "commit", Err: errors.New("connection reset by peer")}
}

func (s connectionLosingStore) Create(ctx context.Context, p *adapter.CreateParams) (adapter.Key, error) {
	_, err := s.Store.Create(ctx, p)
	return 0, loseConnection(err)
}

func (s connectionLosingStore) Update(ctx context.Context, p *adapter.UpdateParams) error {
	return loseConnection(s.Store.Update(ctx, p))
}

func (s connectionLosingStore) Delete(ctx context.Context, p *adapter.DeleteParams) error {
	return loseConnection(s.Store.Delete(ctx, p))
}

// TestWritesWithLostReplies checks that a write that failed although it was committed
// shows in lists whose positions and totals were cached.
func TestWritesWithLostReplies(t *testing.T) {
	const stock, people, products = "/stockitems?order=qty&dir=desc", "/customers?order=email&dir=asc", "/products?order=name&dir=asc"
	for _, c := range []struct {
		name, method, target, body string
		list                       string
		role                       contract.Role
	}{
		{"stock item", "PUT", "/stockitems/2", `{"qty":987}`, stock, contract.Admin},
		{"stock items", "PUT", "/stockitems", `[{"item_id":2,"qty":987},{"item_id":3,"qty":986}]`, stock, contract.Admin},
		{"new customer", "POST", "/customers", body(t, newCustomer(), "email", "aa@example.com", "password", "secret77"), people, contract.Admin},
		{"customer", "PUT", "/customers/4", `{"email":"aa@example.com"}`, people, contract.Admin},
		{"customer deleted", "DELETE", "/customers/1", "", people, contract.Admin},
		{"new product", "POST", "/products", newProduct("aa", `"name":"Aa"`), products, contract.Admin},
		{"product", "PUT", "/products/3", `{"name":"Aa"}`, products, contract.Admin},
		{"product of a stock list", "POST", "/products", newProduct("aa", `"stock_data":{"use_config_manage_stock":1,"qty":987}`), stock, contract.Admin},
		{"product disabled", "PUT", "/products/8", `{"status":2}`, products, contract.Guest},
		{"product deleted", "DELETE", "/products/8", "", products, contract.Guest},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := openShopWith(t, contract.Documented(), settings(), wrapStores(func(_ adapter.Resource, s adapter.Store) adapter.Store {
				return connectionLosingStore{s}
			}))
			pages := func() string {
				t.Helper()
				var all strings.Builder
				for _, page := range []int{99, 4, 3, 2, 1} { // reading the first pages first would cache the positions of the others
					r := s.serve(c.role, "GET", fmt.Sprintf("%s&limit=2&page=%d", c.list, page), "", "Accept", "application/json")
					if r.Status != 200 {
						t.Fatalf("page %d: %d %s", page, r.Status, r.Body)
					}
					fmt.Fprintf(&all, "%d %s\n", page, r.Body)
				}
				return all.String()
			}
			before := pages()
			if r := s.send(c.method, c.target, c.body); r.Status == 200 || strings.Contains(string(r.Body), `"success"`) {
				t.Fatalf("the write with a lost reply got %d %s", r.Status, r.Body)
			}
			got := pages()
			s.service.InvalidateLists()
			if want := pages(); got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			} else if got == before {
				t.Errorf("the write is not visible:\n%s", got)
			}
		})
	}
}
