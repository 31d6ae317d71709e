package mapping_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/auth"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// testRoles are roles that a test can change.
type testRoles struct {
	atomic.Pointer[adapter.AccessRoles]
}

func (r *testRoles) AccessRoles(context.Context) (adapter.AccessRoles, error) { return *r.Load(), nil }

// adminID is the administrator of the demo store.
const adminID = 1

// rolesWith returns roles with the same rules for all kinds of users.
func rolesWith(rules ...adapter.AccessRule) *adapter.AccessRoles {
	return &adapter.AccessRoles{
		Roles:    []adapter.AccessRole{{ID: adapter.GuestRole, Rules: rules}, {ID: adapter.CustomerRole, Rules: rules}, {ID: 3, Rules: rules}},
		Assigned: []adapter.RoleAssignment{{AdminID: adminID, RoleID: 3}},
	}
}

// openRolesShop opens a demo store with roles.
func openRolesShop(t testing.TB, d *contract.Dialect) (*shop, *testRoles) {
	t.Helper()
	store, roles := openDemo(t), &testRoles{}
	roles.Store(&adapter.AccessRoles{})
	store.roles = roles
	return serveDemo(t, d, settings(), store, nil), roles
}

// setRoles changes the roles, and lets the service see them.
func (s *shop) setRoles(roles *testRoles, to *adapter.AccessRoles) {
	roles.Store(to)
	s.purge()
}

// an unreadBody fails a test that reads it.
type unreadBody struct {
	t    *testing.T
	what string
}

func (b unreadBody) Read([]byte) (int, error) {
	b.t.Errorf("%s: the body was read", b.what)
	return 0, fmt.Errorf("must not be read")
}

// spellings returns paths that lead to a route, in spellings that the store takes for the same.
func spellings(random *rand.Rand, r *contract.Route) []string {
	plain := strings.NewReplacer(":category_id", "3", ":customer_id", "1", ":order_id", "1", ":product_id", "1", ":website_id", "1",
		":address_type", "billing", ":store", "2", ":image", "1", ":id", "1").Replace(r.Path)
	escaped := []byte(nil)
	for _, c := range []byte(plain) {
		if c != '/' && random.IntN(3) == 0 {
			escaped = fmt.Appendf(escaped, "%%%02x", c)
		} else {
			escaped = append(escaped, c)
		}
	}
	return []string{plain, plain + "/", "//" + strings.TrimPrefix(plain, "/"), string(escaped), plain + "?store=2&limit=1", plain + "?attrs=entity_id&_method=GET", plain + "?category_id=3"}
}

// TestRolesRefuseEverySpelling gives callers random roles. A call without the privilege gets 403 in
// every spelling of its path, in every format, before its body is read, and a call with it does not.
func TestRolesRefuseEverySpelling(t *testing.T) {
	t.Parallel()
	random := testenv.NewSample(t).Rand
	for _, d := range testenv.Rows(t, contract.Dialects(), 2) {
		t.Run(d.Name, func(t *testing.T) {
			s, roles := openRolesShop(t, d)
			table := contract.NewTable(contract.Routes(contract.StandardFields()))
			for range 4 {
				var rules []adapter.AccessRule
				allowed := map[string]bool{}
				for _, name := range contract.StandardFields().Resources(false) {
					for m, privilege := range contract.Privileges() {
						if random.IntN(3) == 0 {
							rules = append(rules, adapter.AccessRule{Resource: adapter.Resource(name), Privilege: string(privilege)})
							allowed[name+contract.Methods()[m].String()] = true
						}
					}
				}
				s.setRoles(roles, rolesWith(rules...))
				for _, r := range table.Routes() {
					for _, path := range spellings(random, r) {
						bare, _, _ := strings.Cut(path, "?")
						matched, _ := table.Match(bare)
						if matched == nil {
							t.Fatalf("%s matches no route", path)
						}
						for _, m := range contract.Methods() {
							for _, role := range contract.Roles() {
								s.checkRole(t, role, m, path, matched, allowed[matched.Resource+m.String()])
							}
						}
					}
				}
			}
		})
	}
}

// checkRole makes a call of a role, and checks whether it is refused.
func (s *shop) checkRole(t *testing.T, role contract.Role, m contract.Method, path string, route *contract.Route, allowed bool) {
	t.Helper()
	access := route.Access(s.dialect, role, m)
	refused := !allowed || access == contract.Deny
	if !refused && (m != contract.GET || access != contract.Serve) {
		return // it would write
	}
	for _, accept := range []string{"application/json", "text/xml", "text/plain"} {
		what := fmt.Sprintf("%s %s %s as %s", role, m, path, accept)
		r := httptest.NewRequest(m.String(), "/api/rest"+path, nil)
		if refused {
			r.Body = http.NoBody
			if m == contract.POST || m == contract.PUT {
				r = httptest.NewRequest(m.String(), "/api/rest"+path, unreadBody{t, what})
			}
		}
		r.Header.Set("Accept", accept)
		r.Header.Set("Content-Type", "application/json")
		if signed := s.authorizations[role]; signed != "" {
			r.Header.Set("Authorization", signed)
		}
		got := s.service.Serve(t.Context(), &resource.Request{HTTP: r, Scheme: "http"}, nil)
		if denied := got.Status == 403 && strings.Contains(strings.ReplaceAll(string(got.Body), "+", " "), "Access denied"); denied != refused {
			t.Errorf("%s: %d %.200s, want refused: %t", what, got.Status, got.Body, refused)
		}
	}
}

// TestRoles compares what roles answer with configurations 8.
func TestRoles(t *testing.T) {
	t.Parallel()
	rule := func(resource adapter.Resource, privilege string) adapter.AccessRule {
		return adapter.AccessRule{Resource: resource, Privilege: privilege}
	}
	none := &adapter.AccessRoles{Assigned: []adapter.RoleAssignment{{AdminID: adminID}}}
	gone := &adapter.AccessRoles{Assigned: []adapter.RoleAssignment{{AdminID: adminID, RoleID: 7}}}
	system := rolesWith()
	system.Roles[0].Everything, system.Roles[1].Everything, system.Assigned[0].RoleID = true, true, adapter.CustomerRole
	every := rolesWith()
	every.Assigned[0] = adapter.RoleAssignment{AdminID: adminID, Everything: true}
	byName := rolesWith()
	for _, offered := range contract.OfferedRules(contract.Admin) {
		for _, p := range offered.Privileges {
			byName.Roles[2].Rules = append(byName.Roles[2].Rules, rule(adapter.Resource(offered.Resource), string(p)))
		}
	}
	for _, c := range []struct {
		name         string
		roles        *adapter.AccessRoles
		role         contract.Role
		method, path string
		status       int
		has, lacks   string
	}{
		{"no roles", &adapter.AccessRoles{}, contract.Admin, "GET", "/customers", 200, "ada@example.com", ""},
		{"an administrator without a role", none, contract.Admin, "GET", "/products", 500, `{"messages":{"error":[{"code":0,"message":"Admin role not found"}]}}`, ""},
		{"the same, at no route", none, contract.Admin, "GET", "/nothing", 404, "", ""},
		{"the same, who may not make the call", none, contract.Admin, "DELETE", "/products", 500, "Admin role not found", ""},
		{"Guests beside it", none, contract.Guest, "GET", "/products/1", 200, "sku", ""},
		{"a role that is missing", gone, contract.Admin, "GET", "/products", 500, "Admin role not found", ""},
		{"the role of Customers", system, contract.Admin, "GET", "/stockitems", 403, "", ""},
		{"the role of Customers, products", system, contract.Admin, "GET", "/products/1", 200, "sku", ""},
		{"every right by an operator", every, contract.Admin, "GET", "/customers/1", 200, "ada@example.com", ""},
		{"no rules", rolesWith(), contract.Guest, "GET", "/products/1", 403, "Access denied", ""},
		{"every privilege by name", byName, contract.Admin, "POST", "/customers", 403, "Access denied", ""},
		{"a 405 behind the privilege", byName, contract.Admin, "DELETE", "/products", 405, "", ""},
		{"a 405 without it", byName, contract.Admin, "DELETE", "/stockitems/1", 403, "", ""},
		{"orders alone", rolesWith(rule(adapter.Orders, "retrieve")), contract.Admin, "GET", "/orders/1", 200, "increment_id", "order_items"},
		{"orders with lines", rolesWith(rule(adapter.Orders, "retrieve"), rule(adapter.OrderItems, "retrieve")), contract.Customer, "GET", "/orders/1", 200, "order_items", "addresses"},
		{"orders with addresses in a list", rolesWith(rule(adapter.Orders, "retrieve"), rule(adapter.OrderAddresses, "retrieve")), contract.Admin, "GET", "/orders", 200, "addresses", "order_comments"},
		{"an unknown privilege", rolesWith(rule(adapter.Products, "all")), contract.Admin, "GET", "/products/1", 403, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, roles := openRolesShop(t, contract.Magento())
			s.setRoles(roles, c.roles)
			got := s.serve(c.role, c.method, c.path, `{"a":1}`, "Accept", "application/json", "Content-Type", "application/json")
			if body := string(got.Body); got.Status != c.status || !strings.Contains(body, c.has) || c.lacks != "" && strings.Contains(body, c.lacks) {
				t.Errorf("%d %.900s", got.Status, body)
			}
		})
	}
}

// TestRolesAndCachedReplies narrows the role of Guests while replies to them are cached.
func TestRolesAndCachedReplies(t *testing.T) {
	t.Parallel()
	now := time.Now()
	with := settings()
	with.Now = func() time.Time { return now }
	with.ReplyCache = newReplyCache(t, with.Now)
	store, roles := openDemo(t), &testRoles{}
	roles.Store(&adapter.AccessRoles{})
	store.roles = roles
	s := serveShop(t, contract.Magento(), with, demotest.Data(t), store, store)
	read := func() int {
		r := httptest.NewRequest("GET", "/api/rest/products/1", nil)
		r.Header.Set("Accept", "application/json")
		request := &resource.Request{HTTP: r, Scheme: "http"}
		if got, ok := s.service.ServeCached(request, nil); ok {
			return got.Status
		}
		return s.service.Serve(t.Context(), request, nil).Status
	}
	for range 3 {
		if got := read(); got != 200 {
			t.Fatal(got)
		}
	}
	s.setRoles(roles, rolesWith())
	for range 3 {
		if got := read(); got != 403 {
			t.Errorf("%d after the role of Guests was narrowed", got)
		}
	}
	s.setRoles(roles, rolesWith(adapter.AccessRule{Resource: adapter.Products, Privilege: "retrieve"}))
	if got := read(); got != 200 {
		t.Errorf("%d with the privilege", got)
	}
}

// retrieveOf returns rules that let a role read resources.
func retrieveOf(resources ...adapter.Resource) (rules []adapter.AccessRule) {
	for _, r := range resources {
		rules = append(rules, adapter.AccessRule{Resource: r, Privilege: "retrieve"})
	}
	return rules
}

// TestRolesOfForwardedCalls authorizes calls that are signed again for the legacy store.
func TestRolesOfForwardedCalls(t *testing.T) {
	t.Parallel()
	retrieve := adapter.AccessRule{Resource: adapter.Products, Privilege: "retrieve"}
	none := &adapter.AccessRoles{Assigned: []adapter.RoleAssignment{{AdminID: adminID}}}
	for _, c := range []struct {
		name   string
		auth   mapping.LegacyAuth
		roles  *adapter.AccessRoles
		role   contract.Role
		path   string
		status int // 0: forwarded
	}{
		{"as the administrator of the settings", mapping.AdminSignature, rolesWith(retrieve), contract.Admin, "/products/1", 0},
		{"the same, not allowed", mapping.AdminSignature, rolesWith(retrieve), contract.Admin, "/customers", 403},
		{"the same, at a path of the legacy store's own", mapping.AdminSignature, rolesWith(retrieve), contract.Admin, "/giftcards", 403},
		{"the same, with every right", mapping.AdminSignature, &adapter.AccessRoles{}, contract.Admin, "/giftcards", 0},
		{"the same, without a role", mapping.AdminSignature, none, contract.Admin, "/products/1", 500},
		{"an order, without the lists inside it", mapping.AdminSignature, rolesWith(retrieveOf("orders", "order_items", "order_addresses")...), contract.Admin, "/orders", 403},
		{"an order with its lists", mapping.AdminSignature, rolesWith(retrieveOf("orders", "order_items", "order_addresses", "order_comments")...), contract.Admin, "/orders", 0},
		{"as the caller, not allowed", mapping.CallerSignature, rolesWith(retrieve), contract.Admin, "/customers", 403},
		{"as the caller, at a path of the legacy store's own", mapping.CallerSignature, rolesWith(retrieve), contract.Admin, "/giftcards", 0},
		{"a Guest", mapping.CallerSignature, rolesWith(), contract.Guest, "/products/1", 403},
		{"unchanged", mapping.UnchangedSignature, rolesWith(), contract.Admin, "/customers", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			with := settings()
			with.LegacyAuth, with.LegacySigner = c.auth, auth.NewSigner("key", "secret", "token", "secret")
			store, roles := openDemo(t), &testRoles{}
			roles.Store(c.roles)
			store.roles = roles
			s := serveDemo(t, contract.Magento(), with, store, nil)
			r := httptest.NewRequest("GET", "/api/rest"+c.path, nil)
			r.Header.Set("Accept", "application/json")
			if signed := s.authorizations[c.role]; signed != "" {
				r.Header.Set("Authorization", signed)
			}
			_, refusal, ok := s.service.AuthorizeLegacy(t.Context(), &resource.Request{HTTP: r, Scheme: "http"}, nil)
			if ok != (c.status == 0) || !ok && refusal.Status != c.status {
				t.Errorf("forwarded: %t, %d %s; want %d", ok, refusal.Status, refusal.Body, c.status)
			}
		})
	}
}
