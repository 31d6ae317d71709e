package mapping_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// A readCase is the result of a GET of a route for a caller whom the access table admits.
// The write tests follow the same rules: for every other method of the route, the call
// may proceed to its own checks if finds is true. If it is false, the refusal must be the
// same as for GET, and the store must be unchanged.
type readCase struct {
	// path is the path of the route. parameters are the values of each parameter; the
	// tests request every combination.
	path       string
	parameters [][]string
	// finds reports whether the caller finds something. If it is nil, the caller always
	// does.
	finds func(c caller, p []string) bool
	// entries returns how many entries a list has for the caller, or -1 for any number.
	entries func(c caller, p []string) int
	// label returns the label of the data in a reply.
	label func(c caller, p []string) ownerLabel

	route *contract.Route
}

// isOwned reports whether the records belong to customers.
func (r *readCase) isOwned() bool {
	return strings.HasPrefix(r.path, "/customers") || strings.HasPrefix(r.path, "/orders")
}

// view returns the store view among the parameters, or "" if the path has none.
func (r *readCase) view(p []string) string {
	if at, ok := r.route.Param("store"); ok {
		return p[at]
	}
	return ""
}

// absent is the id of no record.
const absent = "999"

// readCases returns a case for every route in the table. The tests request all ids of the
// store, so each caller requests their own records, records of others, records without an
// owner and records that do not exist.
func (m *labeledShop) readCases() []readCase {
	// of returns finds and label for the records of a resource.
	of := func(resource adapter.Resource) (finds func(caller, []string) bool, shows func(caller, []string) ownerLabel) {
		shows = func(_ caller, p []string) ownerLabel {
			rec, ok := m.record(resource, p[0])
			if !ok {
				return nobodyLabel
			}
			return m.labelOf(rec)
		}
		return func(c caller, p []string) bool { return c.maySee(shows(c, p), "") }, shows
	}
	// count counts the records that the caller may see and whose parent is p[0].
	count := func(resource adapter.Resource, parent string) func(caller, []string) int {
		return func(c caller, p []string) int {
			n := 0
			for _, rec := range m.data.Records[resource] {
				if c.maySee(m.labelOf(rec), "") && (parent == "" || rec.Get(parent).Text() == p[0]) {
					n++
				}
			}
			return n
		}
	}
	customer, customerLabel := of(adapter.Customers)
	address, addressLabel := of(adapter.CustomerAddresses)
	order, orderLabel := of(adapter.Orders)
	orderAddress := func(c caller, p []string) bool {
		return order(c, p) && slices.ContainsFunc(m.data.Records[adapter.OrderAddresses], func(rec adapter.Record) bool {
			return rec.Get("parent_id").Text() == p[0] && strings.EqualFold(rec.Get("address_type").Text(), p[1])
		})
	}
	ownAddresses := count(adapter.CustomerAddresses, "customer_id")
	// Customer Dot has no address.
	addressesLabel := func(c caller, p []string) ownerLabel {
		if ownAddresses(c, p) == 0 {
			return unlabeled
		}
		return customerLabel(c, p)
	}

	customers, addresses, orders := m.ids(adapter.Customers), m.ids(adapter.CustomerAddresses), m.ids(adapter.Orders)
	products, images, websites := m.ids(adapter.Products), []string{"1", "2", "3", absent}, []string{"1", "2", absent}
	views := []string{"1", "2", germanView, "admin"}
	categories := []string{"2", "3", "4", "5"}
	anyNumber := func(caller, []string) int { return -1 }
	product := func(c caller, p []string) bool { return m.isVisible(c, p[0], "") }
	productIn := func(c caller, p []string) bool { return m.isVisible(c, p[0], p[len(p)-1]) }
	image := func(c caller, p []string) bool {
		of, ok := m.images[p[0]+" "+p[1]]
		return ok && c.maySee(of, "")
	}
	all := []readCase{
		{path: "/customers/:id", parameters: [][]string{customers}, finds: customer, label: customerLabel},
		{path: "/customers", entries: count(adapter.Customers, "")},
		{path: "/customers/addresses/:id", parameters: [][]string{addresses}, finds: address, label: addressLabel},
		{path: "/customers/:customer_id/addresses", parameters: [][]string{customers}, finds: customer, entries: ownAddresses, label: addressesLabel},

		{path: "/products/:id", parameters: [][]string{products}, finds: product},
		{path: "/products/:id/store/:store", parameters: [][]string{products, views}, finds: productIn},
		{path: "/products", entries: anyNumber},
		{path: "/products/store/:store", parameters: [][]string{views}, entries: anyNumber},
		{path: "/products/category/:category_id", parameters: [][]string{categories}, entries: anyNumber},
		{path: "/products/store/:store/category/:category_id", parameters: [][]string{views, categories}, entries: anyNumber},
		{path: "/products/category/:category_id/store/:store", parameters: [][]string{categories, views}, entries: anyNumber},
		{path: "/products/:id/categories", parameters: [][]string{products}, finds: product, entries: anyNumber},
		{path: "/products/:id/categories/:category_id", parameters: [][]string{products, categories}, finds: product},
		{path: "/products/:id/images/:image", parameters: [][]string{products, images}, finds: func(c caller, p []string) bool { return product(c, p) && image(c, p) }},
		{path: "/products/:id/images/:image/store/:store", parameters: [][]string{products, images, views}, finds: func(c caller, p []string) bool { return productIn(c, p) && image(c, p) }},
		{path: "/products/:id/images", parameters: [][]string{products}, finds: product, entries: m.countImages},
		{path: "/products/:id/images/store/:store", parameters: [][]string{products, views}, finds: productIn, entries: m.countImages},
		{path: "/products/:product_id/websites/:website_id", parameters: [][]string{products, websites}},
		{path: "/products/:product_id/websites", parameters: [][]string{products}, finds: product, entries: anyNumber},

		{path: "/stockitems/:id", parameters: [][]string{products}, finds: product, label: func(caller, []string) ownerLabel { return adminLabel }},
		{path: "/stockitems", entries: func(caller, []string) int { return len(m.data.Records[adapter.StockItems]) }},

		{path: "/orders/:id", parameters: [][]string{orders}, finds: order, label: orderLabel},
		{path: "/orders", entries: count(adapter.Orders, "")},
		{path: "/orders/:id/items", parameters: [][]string{orders}, finds: order, entries: count(adapter.OrderItems, "order_id"), label: orderLabel},
		{path: "/orders/:order_id/addresses/:address_type", parameters: [][]string{orders, {"billing", "shipping", "SHIPPING", "1", "3", "%25", "_______"}}, finds: orderAddress, label: orderLabel},
		{path: "/orders/:order_id/addresses", parameters: [][]string{orders}, finds: order, entries: count(adapter.OrderAddresses, "parent_id"), label: orderLabel},
		{path: "/orders/comments/:id", parameters: [][]string{m.ids(adapter.OrderComments)}, finds: func(_ caller, p []string) bool { return p[0] != absent }},
		{path: "/orders/:id/comments", parameters: [][]string{orders}, finds: order, entries: count(adapter.OrderComments, "parent_id"), label: orderLabel},
	}
	for _, route := range contract.Routes(contract.StandardFields()) {
		for i := range all {
			if all[i].path == route.Path {
				all[i].route = route
			}
		}
	}
	return all
}

// ids returns the ids of a resource's records, and one that no record has.
func (m *labeledShop) ids(resource adapter.Resource) []string {
	var ids []string
	for _, rec := range m.data.Records[resource] {
		ids = append(ids, rec.Get(rec.Schema.Key).Text())
	}
	return append(ids, absent)
}

// isVisible reports whether the caller finds a single product at a store view, or with ""
// at the default one. For an Admin that is the default scope, which has all products.
func (m *labeledShop) isVisible(c caller, product, view string) bool {
	rec, ok := m.record(adapter.Products, product)
	if !ok {
		return false
	}
	if view == "" {
		view = "1"
		if c.role == contract.Admin {
			view = "admin"
		}
	}
	website := map[string]string{"1": "1", "2": "1", germanView: "2"}[view]
	sold := website == ""
	for _, assignment := range m.data.Records[adapter.ProductWebsites] {
		sold = sold || assignment.Get("product_id").Text() == product && assignment.Get("website_id").Text() == website
	}
	if c.role == contract.Admin {
		return sold
	}
	return sold && c.maySee(m.labelOf(rec), view)
}

func (m *labeledShop) countImages(c caller, p []string) int {
	n := 0
	for image, of := range m.images {
		if strings.HasPrefix(image, p[0]+" ") && c.maySee(of, "") {
			n++
		}
	}
	return n
}

// fillPath replaces the parameters of a path.
func fillPath(path string, p []string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if strings.HasPrefix(part, ":") {
			parts[i], p = p[0], p[1:]
		}
	}
	return strings.Join(parts, "/")
}

// combinations returns every combination of one value from each list.
func combinations(lists [][]string) [][]string {
	all := [][]string{nil}
	for _, values := range lists {
		var longer [][]string
		for _, p := range all {
			for _, v := range values {
				longer = append(longer, append(slices.Clone(p), v))
			}
		}
		all = longer
	}
	return all
}

// expectedStatus returns the status of a caller's GET: decided by the access table, then
// by whether the caller finds something.
func (m *labeledShop) expectedStatus(rule *readCase, c caller, p []string) int {
	r := rule.route
	switch access := r.Access(m.dialect, c.role, contract.GET); {
	case access == contract.Deny:
		return 403
	case access != contract.Serve:
		return 405
	case rule.finds != nil && !rule.finds(c, p):
		return 404
	default:
		return 200
	}
}

// TestReadOwnership requests every record as every caller, in every format. The reply
// must follow the access table and the record's ownership, and no reply may contain data
// that its caller may not see.
func TestReadOwnership(t *testing.T) {
	t.Parallel()
	sample := testenv.NewSample(t)
	for _, d := range contract.Dialects() {
		m := openLabeledShop(t, d)
		known := map[string]bool{}
		for _, rule := range m.readCases() {
			known[rule.path] = true
			if rule.route == nil {
				t.Errorf("%s is not a route", rule.path)
				continue
			}
			for _, c := range m.callers {
				t.Run(d.Name+" "+c.name+" "+rule.path, func(t *testing.T) {
					for _, p := range combinations(rule.parameters) {
						for j, accept := range []string{"application/json", "text/xml", "text/plain"} {
							if j == 0 || sample.Takes(5) { // formats differ only in the encoding
								m.checkRead(t, &rule, c, p, accept)
							}
						}
					}
				})
			}
		}
		for _, route := range contract.Routes(contract.StandardFields()) {
			if !known[route.Path] {
				t.Errorf("no case for reads of %s", route.Path)
			}
		}
	}
}

// checkRead sends one request, and for a list another one for all of its entries.
func (m *labeledShop) checkRead(t *testing.T, rule *readCase, c caller, p []string, accept string) {
	t.Helper()
	path := fillPath(rule.path, p)
	got := m.get(c, path+"?limit=0", accept)
	status := m.expectedStatus(rule, c, p)
	if got.Status != status {
		t.Errorf("%s as %s: %d %.200s, want %d", path, accept, got.Status, got.Body, status)
		return
	}
	if leak := m.leaks(c, got.Body, rule.view(p)); leak != "" {
		t.Errorf("%s as %s: %s", path, accept, leak)
	}
	if status != 200 {
		return
	}
	if rule.label != nil && rule.label(c, p) != unlabeled && !rule.label(c, p).isIn(string(got.Body)) {
		t.Errorf("%s as %s: %.300s lacks label %d", path, accept, got.Body, rule.label(c, p))
	}
	if rule.entries != nil && accept == "application/json" {
		want := rule.entries(c, p)
		if n := entries(t, got); want >= 0 && n != want {
			t.Errorf("%s has %d entries, want %d: %.300s", path, n, want, got.Body)
		}
	}
}

// entries returns the number of entries in a JSON list.
func entries(t *testing.T, r resource.Response) int {
	t.Helper()
	var array []json.RawMessage
	if json.Unmarshal(r.Body, &array) == nil {
		return len(array)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(r.Body, &object); err != nil {
		t.Fatalf("%.200s is not a list: %v", r.Body, err)
	}
	return len(object)
}
