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
