package mapping_test

import (
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
)

// firstPath fills the path of a route with the ids of the first records.
var firstPath = strings.NewReplacer(":address_type", "billing", ":category_id", "4", ":customer_id", "1", ":order_id", "1", ":product_id", "1",
	":website_id", "1", ":store", "1", ":image", "1", ":id", "1")

// An offeringAdapter offers only some resources of an adapter.
type offeringAdapter struct {
	adapter.Adapter
	offers map[adapter.Resource]bool
}

func (a offeringAdapter) Store(r adapter.Resource) (adapter.Store, error) {
	if !a.offers[r] {
		return nil, &adapter.Error{Kind: adapter.Unsupported, Op: "store " + string(r)}
	}
	return a.Adapter.Store(r)
}

// TestResourcesNotOffered sends every call of the contract to a service whose adapter
// offers one resource. Calls for the others are not implemented, unless the caller may not
// send them anyway.
func TestResourcesNotOffered(t *testing.T) {
	t.Parallel()
	for _, offered := range []adapter.Resource{adapter.StockItems, adapter.Customers, adapter.Products, adapter.Orders} {
		for _, d := range contract.Dialects() {
			t.Run(string(offered)+"/"+d.Name, func(t *testing.T) {
				t.Parallel()
				s := openShopWith(t, d, settings(), func(a adapter.Adapter) adapter.Adapter {
					return offeringAdapter{a, map[adapter.Resource]bool{offered: true}}
				})
				for _, r := range contract.Routes(contract.StandardFields()) {
					for _, method := range contract.Methods() {
						for _, role := range contract.Roles() {
							served, own := r.Access(d, role, method) == contract.Serve, r.Resource == string(offered)
							if served && own && method == contract.DELETE {
								continue // later calls need the record
							}
							reply := s.serve(role, method.String(), firstPath.Replace(r.Path), "{}", "Accept", "application/json", "Content-Type", "application/json")
							refused := reply.Status == 405 && strings.Contains(string(reply.Body), d.Fault(r.Unimplemented).Message)
							switch {
							case served && own && (refused || reply.Status == 500):
								t.Errorf("%s %s as %s: %d %s", method, r.Path, role, reply.Status, reply.Body)
							case served && !own && !refused:
								t.Errorf("%s %s as %s: %d %s, want 405", method, r.Path, role, reply.Status, reply.Body)
							case !served && reply.Status/100 != 4:
								t.Errorf("%s %s as %s, which nobody serves: %d %s", method, r.Path, role, reply.Status, reply.Body)
							}
						}
					}
				}
				if reply := s.serve(contract.Admin, "GET", "/"+strings.ReplaceAll(string(offered), "_", ""), "", "Accept", "application/json"); reply.Status != 200 || len(reply.Body) < 10 {
					t.Errorf("list: %d %s", reply.Status, reply.Body)
				}
			})
		}
	}
}

// TestReadOnlyStores checks that writes of stores that take none are answered as methods that are
// not implemented, and are no failures of the backend.
func TestReadOnlyStores(t *testing.T) {
	t.Parallel()
	for _, d := range contract.Dialects() {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			s := openFaulty(t, d, func(op string, _ adapter.Key) error {
				if op == "get" || op == "list" {
					return nil
				}
				return &adapter.Error{Kind: adapter.Unsupported, Op: "write"}
			})
			for _, tt := range []struct{ method, path, body string }{
				{"PUT", "/stockitems/1", `{"qty":5}`},
				{"PUT", "/stockitems", `[{"item_id":1,"qty":5},{"item_id":2,"qty":5}]`},
				{"PUT", "/customers/1", `{"firstname":"Ada"}`},
				{"DELETE", "/customers/1", ""},
				{"DELETE", "/products/1", ""},
				{"POST", "/products/1/categories", `{"category_id":4}`},
			} {
				reply := s.serve(contract.Admin, tt.method, tt.path, tt.body, "Accept", "application/json", "Content-Type", "application/json")
				route, _ := contract.NewTable(contract.Routes(contract.StandardFields())).Match(tt.path)
				if want := d.Fault(route.Unimplemented).Message; reply.Status != 405 || !strings.Contains(string(reply.Body), want) {
					t.Errorf("%s %s: %d %s, want 405 %s", tt.method, tt.path, reply.Status, reply.Body, want)
				}
			}
			if reply := s.serve(contract.Admin, "GET", "/stockitems/1", "", "Accept", "application/json"); reply.Status != 200 {
				t.Errorf("read: %d %s", reply.Status, reply.Body)
			}
		})
	}
}
