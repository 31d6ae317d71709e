package mapping_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/mapping/contract"
)

// A writeCase is the result of a write that the access table admits, with a valid body if
// it reads one.
type writeCase struct {
	// refused returns the entries with which the call itself refuses, joined by "; ". If
	// it is nil or returns "", the call succeeds.
	refused func(c caller, p []string) string
	// owners returns the owners whose records the call may change, as named by ownersOf;
	// created is the id in Location, if there is one.
	owners func(p []string, created string) []string
}

// writeCases returns a case for every write in the route table.
func (m *labeledShop) writeCases() map[string]writeCase {
	// what returns the owner named by a path parameter.
	what := func(of string, at int) func([]string, string) []string {
		return func(p []string, _ string) []string { return []string{of + " " + p[at]} }
	}
	created := func(of string) func([]string, string) []string {
		return func(_ []string, id string) []string { return []string{of + " " + id} }
	}
	has := func(resource adapter.Resource, names ...string) bool {
		return slices.ContainsFunc(m.data.Records[resource], func(rec adapter.Record) bool {
			for i := 0; i < len(names); i += 2 {
				if rec.Get(names[i]).Text() != names[i+1] {
					return false
				}
			}
			return true
		})
	}
	view := func(p []string, at int) string {
		if at < len(p) {
			return p[at]
		}
		return ""
	}
	onSale := func(p []string, at int) bool { return m.isVisible(caller{role: contract.Admin}, p[0], view(p, at)) }
	const summary = "; 400 Resource data pre-validation error."
	address, withoutAddress := what("customer", 0), func(p []string, _ string) []string {
		rec, _ := m.record(adapter.CustomerAddresses, p[0])
		return []string{"customer " + rec.Get("customer_id").Text()}
	}
	image := func(_ caller, p []string) string {
		switch _, known := m.images[p[0]+" "+p[1]]; {
		case !onSale(p, 2):
			return m.text("404 Resource not found", "404 Resource not found.")
		case !known:
			return m.text("404 Product image not found", "404 Resource not found.")
		default:
			return ""
		}
	}
	product := func(at int) func(caller, []string) string {
		return func(_ caller, p []string) string {
			if !onSale(p, at) {
				return "404 Resource not found."
			}
			return ""
		}
	}
	website := func(p []string, then func(assigned bool) string) string {
		if _, ok := m.record(adapter.Products, p[0]); !ok {
			return m.text("404 Product not found", "404 Product #"+p[0]+" not found.")
		}
		return then(has(adapter.ProductWebsites, "product_id", p[0], "website_id", "2"))
	}
	return map[string]writeCase{
		"createCustomer":        {owners: created("customer")},
		"updateCustomer":        {refused: m.notFoundUnlessOwn(adapter.Customers), owners: what("customer", 0)},
		"deleteCustomer":        {refused: m.notFoundUnlessOwn(adapter.Customers), owners: what("customer", 0)},
		"createCustomerAddress": {refused: m.notFoundUnlessOwn(adapter.Customers), owners: address},
		"updateCustomerAddress": {refused: m.notFoundUnlessOwn(adapter.CustomerAddresses), owners: withoutAddress},
		"deleteCustomerAddress": {owners: withoutAddress, refused: func(c caller, p []string) string {
			if refused := m.notFoundUnlessOwn(adapter.CustomerAddresses)(c, p); refused != "" {
				return refused
			}
			if rec, _ := m.record(adapter.CustomerAddresses, p[0]); rec.Get("is_default_billing").Int()+rec.Get("is_default_shipping").Int() > 0 {
				return "400 Address is default for customer so is not allowed to be deleted"
			}
			return ""
		}},

		"createProduct": {owners: created("product")},
		"updateProduct": {refused: product(1), owners: what("product", 0)},
		"deleteProduct": {refused: product(1), owners: what("product", 0)},

		"createProductImage": {
			owners: func(p []string, _ string) []string { return []string{"product " + p[0], "media_file", "file"} },
			refused: func(_ caller, p []string) string {
				if !onSale(p, 1) {
					return m.text("404 Resource not found", "400 Resource unknown error.")
				}
				return ""
			}},
		"updateProductImage": {refused: image, owners: what("product", 0)},
		"deleteProductImage": {refused: image, owners: what("product", 0)},

		"createProductWebsites": {owners: what("product", 0), refused: func(_ caller, p []string) string {
			return website(p, func(assigned bool) string {
				if assigned {
					return "400 Product #" + p[0] + " is already assigned to website #2" + summary
				}
				return ""
			})
		}},
		"deleteProductWebsite": {owners: what("product", 0), refused: func(_ caller, p []string) string {
			return website(p, func(bool) string {
				switch {
				case !has(adapter.Websites, "website_id", p[1]):
					return m.text("404 Website not found", "404 Website #"+p[1]+" not found.")
				case !has(adapter.ProductWebsites, "product_id", p[0], "website_id", p[1]):
					return m.text("400 Product "+p[0]+" isn't assigned to website "+p[1]+".", "400 Product #"+p[0]+" isn't assigned to website #"+p[1]) + summary
				default:
					return ""
				}
			})
		}},
		"createProductCategory": {owners: what("product", 0), refused: func(c caller, p []string) string {
			switch {
			case !onSale(p, 1):
				return "404 Resource not found."
			case has(adapter.ProductCategories, "product_id", p[0], "category_id", "4"):
				return m.text("400 Product "+p[0]+" is already assigned to category 4", "400 Product #"+p[0]+" is already assigned to category #4")
			default:
				return ""
			}
		}},
		"deleteProductCategory": {owners: what("product", 0), refused: func(_ caller, p []string) string {
			switch {
			case !onSale(p, 2):
				return "404 Resource not found."
			case !has(adapter.ProductCategories, "product_id", p[0], "category_id", p[1]):
				return "400 Product #" + p[0] + " isn't assigned to category #" + p[1]
			default:
				return ""
			}
		}},

		"updateStockItem":    {refused: product(1), owners: what("product", 0)},
		"updateStockItems":   {owners: func([]string, string) []string { return []string{"product 2"} }},
		"createOrderComment": {refused: m.notFoundUnlessOwn(adapter.Orders), owners: what("order", 0)},
	}
}

// notFoundUnlessOwn returns the refusal for records that the caller does not find.
func (m *labeledShop) notFoundUnlessOwn(resource adapter.Resource) func(caller, []string) string {
	return func(c caller, p []string) string {
		if rec, ok := m.record(resource, p[0]); ok && c.maySee(m.labelOf(rec), "") {
			return ""
		}
		return "404 Resource not found."
	}
}

// expectedRefusal returns the entries, joined by "; ", with which a caller's request is
// refused, or "" if it succeeds.
func (m *labeledShop) expectedRefusal(r *contract.Route, method contract.Method, c caller, p []string, w *writeCase) string {
	text := func(key contract.FaultKey) string {
		f := m.dialect.Fault(key)
		return fmt.Sprintf("%d %s", f.Code, f.Message)
	}
	switch access := r.Access(m.dialect, c.role, method); {
	case access == contract.Deny:
		return text(contract.AccessDenied)
	case access == contract.NotSupported, access == contract.NotSupportedLate:
		return text(contract.MethodNotSupported)
	case access == contract.DenyLate:
		return text(contract.UpdateNotSupportedForRole)
	case access == contract.NotImplemented:
		return text(r.Unimplemented)
	case w.refused != nil:
		return w.refused(c, p)
	default:
		return ""
	}
}

// goodBodies returns a valid JSON body for each call that reads one. It suits every
// record.
func goodBodies() map[string]string {
	address := `{"firstname":"E","lastname":"P","street":["1 Pine St"],"city":"Austin","country_id":"US","region":"TX","postcode":"1","telephone":"5"}`
	return map[string]string{
		"createCustomer":        `{"firstname":"E","lastname":"P","email":"eve@example.com","password":"secret77","website_id":1,"group_id":1}`,
		"updateCustomer":        `{"firstname":"Eve"}`,
		"createCustomerAddress": address,
		"updateCustomerAddress": `{"city":"Austin","is_default_billing":1}`,
		"createProduct":         newProduct("new", ""),
		"updateProduct":         `{"name":"New","stock_data":{"qty":5},"tier_price":[]}`,
		"createProductImage":    `{"file_mime_type":"image/gif","file_content":"` + onePixel + `","types":["image"]}`,
		"updateProductImage":    `{"label":"New","types":["image"]}`,
		"createProductWebsites": `{"website_id":2}`,
		"createProductCategory": `{"category_id":"4"}`,
		"updateStockItem":       `{"qty":5}`,
		"updateStockItems":      `[{"item_id":2,"qty":5}]`,
		"createOrderComment":    `{"comment":"New","status":"closed"}`,
	}
}

// bodyOf returns a valid body for a call of a route. If the route does not serve the
// method, it returns a body that passes the checks of bodies.
func bodyOf(r *contract.Route, method contract.Method, d *contract.Dialect) string {
	if body, ok := goodBodies()[r.Calls[method]]; ok {
		return body
	}
	for i := range r.Fields.Fields {
		if f := &r.Fields.Fields[i]; f.Writable(d, contract.Admin) {
			return `{"` + f.Name + `":"1"}`
		}
	}
	return `{"firstname":"E"}`
}

// forEachWrite runs a test for every route, writing method and caller.
func (m *labeledShop) forEachWrite(t *testing.T, test func(t *testing.T, rule *readCase, method contract.Method, w *writeCase, c caller)) {
	t.Helper()
	writings := m.writeCases()
	for _, rule := range m.readCases() {
		for _, method := range []contract.Method{contract.POST, contract.PUT, contract.DELETE} {
			call := rule.route.Calls[method]
			w, ok := writings[call]
			if call != "" && !ok {
				t.Errorf("no case for writes of %s", call)
			}
			for _, c := range m.callers {
				t.Run(strings.Join([]string{m.dialect.Name, c.name, method.String(), rule.path}, " "), func(t *testing.T) { test(t, &rule, method, &w, c) })
			}
		}
	}
}

// TestWriteOwnership sends every write for every record as every caller. A refused call
// must give its reason and leave the store unchanged; a successful one must change only
// the records that it names.
func TestWriteOwnership(t *testing.T) {
	t.Parallel()
	for _, d := range testenv.Rows(t, bothDialects(), 2) {
		m := watchShop(t, d)
		passed := 0
		m.forEachWrite(t, func(t *testing.T, rule *readCase, method contract.Method, w *writeCase, c caller) {
			served := rule.route.Access(d, c.role, method) == contract.Serve
			for i, p := range combinations(rule.parameters) {
				// The table refuses without a look at the records.
				if i > 0 && (!served && !m.sample.Takes(10) || !rule.isOwned() && !m.sample.Takes(9)) {
					continue
				}
				path := fillPath(rule.path, p)
				r := m.ask(c, method.String(), path, "application/json", "application/json", bodyOf(rule.route, method, d))
				if refusal := m.expectedRefusal(rule.route, method, c, p, w); refusal != "" {
					checkRefused(t, r, strings.Split(refusal, "; ")...)
					m.checkAndUndo(t, path, r, nil)
				} else if changes := m.checkAndUndo(t, path, r, w.owners(p, newID(r))); len(changes) == 0 {
					t.Errorf("%s: %d %.300s, but nothing has been stored", path, r.Status, r.Body)
				} else {
					passed++
				}
			}
		})
		if passed < 50 {
			t.Errorf("%s: only %d calls succeeded", d.Name, passed)
		}
		if log := m.log.String(); log != "" {
			t.Errorf("logged: %s", log)
		}
	}
}
