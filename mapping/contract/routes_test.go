package contract

import (
	"strings"
	"testing"
)

func route(t *testing.T, path string) *Route {
	t.Helper()
	for _, r := range Routes(StandardFields()) {
		if r.Path == path {
			return r
		}
	}
	t.Fatalf("no route %s", path)
	return nil
}

func TestEveryServedMethodHasACall(t *testing.T) {
	for _, r := range Routes(StandardFields()) {
		for _, m := range Methods() {
			served := false
			for _, d := range Dialects() {
				for _, role := range Roles() {
					access := r.Access(d, role, m)
					served = served || access == Serve
					if !strings.ContainsRune("sdinxf", rune(access)) {
						t.Errorf("%s %s for %s in %s: access %q is none of the notation", m, r.Path, role, d.Name, access)
					}
				}
			}
			if named := r.Calls[m] != ""; named != served {
				t.Errorf("%s %s: served %t, but its call is %q", m, r.Path, served, r.Calls[m])
			}
		}
		if len(r.formats) != int(methodCount)+1 || strings.Trim(r.formats, "xj") != "" {
			t.Errorf("%s: formats %q", r.Path, r.formats)
		}
		if r.Help == "" {
			t.Errorf("%s has no help", r.Path)
		}
	}
}

// TestDocumentedEndpoints compares the table with the document's Endpoints tables: who is
// served, and the default format.
func TestDocumentedEndpoints(t *testing.T) {
	rows := []struct {
		method Method
		path   string
		roles  string // A Admin, C Customer, G Guest; else the answer to the callers who may call at all
		format Format
	}{
		{GET, "/customers", "A", XML},
		{POST, "/customers", "A", XML},
		{PUT, "/customers", "not allowed", XML},
		{DELETE, "/customers", "not allowed", XML},
		{GET, "/customers/:id", "AC", XML},
		{OtherMethod, "/customers/:id", "", XML},
		{OtherMethod, "/products/:id", "", JSON},
		{OtherMethod, "/stockitems/:id", "", JSON},
		{POST, "/products/:id", "not implemented", JSON},
		{DELETE, "/products/:id/store/:store", "A", JSON},
		{POST, "/products/store/:store", "A", JSON},
		{POST, "/customers/:id", "not allowed", XML},
		{PUT, "/customers/:id", "AC", XML},
		{DELETE, "/customers/:id", "A", XML},
		{GET, "/customers/:customer_id/addresses", "AC", XML},
		{POST, "/customers/:customer_id/addresses", "AC", XML},
		{PUT, "/customers/:customer_id/addresses", "not allowed", XML},
		{DELETE, "/customers/:customer_id/addresses", "not allowed", XML},
		{GET, "/customers/addresses/:id", "AC", XML},
		{POST, "/customers/addresses/:id", "not allowed", XML},
		{PUT, "/customers/addresses/:id", "AC", XML},
		{DELETE, "/customers/addresses/:id", "AC", XML},
		{GET, "/products", "ACG", XML},
		{POST, "/products", "A", JSON},
		{GET, "/products/:id", "ACG", XML},
		{PUT, "/products/:id", "A", JSON},
		{PUT, "/products/:id/store/:store", "A", JSON},
		{DELETE, "/products/:id", "A", JSON},
		{GET, "/products/:id/images", "ACG", XML},
		{POST, "/products/:id/images", "A", XML},
		{GET, "/products/:id/images/store/:store", "ACG", XML},
		{POST, "/products/:id/images/store/:store", "A", XML},
		{GET, "/products/:id/images/:image", "ACG", XML},
		{PUT, "/products/:id/images/:image", "A", XML},
		{DELETE, "/products/:id/images/:image", "A", XML},
		{GET, "/products/:id/images/:image/store/:store", "ACG", XML},
		{PUT, "/products/:id/images/:image/store/:store", "A", XML},
		{DELETE, "/products/:id/images/:image/store/:store", "A", XML},
		{GET, "/products/:product_id/websites", "A", XML},
		{POST, "/products/:product_id/websites", "A", XML},
		{DELETE, "/products/:product_id/websites/:website_id", "A", XML},
		{GET, "/products/:id/categories", "AC", JSON},
		{POST, "/products/:id/categories", "A", JSON},
		{DELETE, "/products/:id/categories/:category_id", "A", JSON},
		{GET, "/stockitems", "A", JSON},
		{PUT, "/stockitems", "A", JSON},
		{GET, "/stockitems/:id", "A", JSON},
		{PUT, "/stockitems/:id", "A", JSON},
		{DELETE, "/stockitems/:id", "not allowed", JSON},
		{GET, "/orders", "ACG", XML},
		{POST, "/orders", "not implemented", XML},
		{PUT, "/orders", "not implemented", XML},
		{DELETE, "/orders", "not implemented", XML},
		{GET, "/orders/:id", "AC", XML},
		{POST, "/orders/:id", "not implemented", XML},
		{PUT, "/orders/:id", "not implemented", XML},
		{DELETE, "/orders/:id", "not implemented", XML},
		{GET, "/orders/:order_id/addresses", "AC", XML},
		{POST, "/orders/:order_id/addresses", "not allowed", XML},
		{PUT, "/orders/:order_id/addresses", "not allowed", XML},
		{DELETE, "/orders/:order_id/addresses", "not allowed", XML},
		{GET, "/orders/:order_id/addresses/:address_type", "AC", XML},
		{POST, "/orders/:order_id/addresses/:address_type", "not allowed", XML},
		{PUT, "/orders/:order_id/addresses/:address_type", "not allowed", XML},
		{DELETE, "/orders/:order_id/addresses/:address_type", "not allowed", XML},
	}
	d := Documented()
	letters := map[Role]string{Admin: "A", Customer: "C", Guest: "G"}
	for _, row := range rows {
		t.Run(row.method.String()+" "+row.path, func(t *testing.T) {
			r := route(t, row.path)
			for _, role := range Roles() {
				if row.method == OtherMethod {
					break // no role can get anywhere with it
				}
				access := r.Access(d, role, row.method)
				var ok bool
				switch {
				case row.roles == "not allowed" && role == Admin:
					ok = access == NotSupported
				case row.roles == "not implemented" && role == Admin:
					ok = access == NotImplemented
				case strings.HasPrefix(row.roles, "not "):
					ok = access != Serve
				default:
					ok = (access == Serve) == strings.Contains(row.roles, letters[role])
				}
				if !ok {
					t.Errorf("%s gets %q, the document says %s", role, access, row.roles)
				}
			}
			if got := r.DefaultFormat(row.method); got != row.format {
				t.Errorf("default format %s, the document says %s", got, row.format)
			}
		})
	}
}

func TestMatch(t *testing.T) {
	tests := []struct {
		name, path, route string
		params            Params
	}{
		{"one record", "stockitems/1", "/stockitems/:id", Params{"1"}},
		{"slashes around", "//stockitems/1//", "/stockitems/:id", Params{"1"}},
		{"doubled slash inside", "stockitems//1", "", Params{}},
		{"empty", "", "", Params{}},
		{"only slashes", "///", "", Params{}},
		{"letter case", "Stockitems/1", "", Params{}},
		{"encoded literal", "%73tockitems/%31", "/stockitems/:id", Params{"1"}},
		{"encoded slash never splits", "stockitems%2F1", "", Params{}},
		{"encoded slash in a parameter", "stockitems/a%2Fb", "/stockitems/:id", Params{"a/b"}},
		{"blanks", "stockitems/%201+", "/stockitems/:id", Params{" 1 "}},
		{"percent sign for itself", "stockitems/5%", "/stockitems/:id", Params{"5%"}},
		{"too long", "products/1/images/2/store/3/4", "", Params{}},
		{"three parameters", "products/1/images/2/store/3", "/products/:id/images/:image/store/:store", Params{"1", "2", "3"}},
		{"store list, not a product", "products/store/1", "/products/store/:store", Params{"1"}},
		{"image called store", "products/1/images/store", "/products/:id/images/:image", Params{"1", "store"}},
		{"customer called addresses", "customers/addresses", "/customers/:id", Params{"addresses"}},
		{"order called comments", "orders/comments", "/orders/:id", Params{"comments"}},
		{"one comment", "orders/comments/2", "/orders/comments/:id", Params{"2"}},
		{"address of an order called comments", "orders/comments/addresses/billing", "/orders/:order_id/addresses/:address_type", Params{"comments", "billing"}},
		{"address, not a customer's addresses", "customers/addresses/addresses", "/customers/addresses/:id", Params{"addresses"}},
	}
	table := NewTable(Routes(StandardFields()))
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, params := table.Match(test.path)
			path := ""
			if got != nil {
				path = got.Path
			}
			if path != test.route || params != test.params {
				t.Errorf("got %q %q, want %q %q", path, params, test.route, test.params)
			}
		})
	}
}

// TestMatchTriesInDeclaredOrder compares Match with the simplest implementation of the
// rule: walk the table, compare segment by segment.
func TestMatchTriesInDeclaredOrder(t *testing.T) {
	words := []string{"customers", "addresses", "products", "store", "category", "categories", "images", "websites",
		"stockitems", "orders", "items", "comments", "1", "x"}
	table := NewTable(Routes(StandardFields()))
	var walk func(prefix []string)
	walk = func(segments []string) {
		if len(segments) > 0 {
			got, _ := table.Match(strings.Join(segments, "/"))
			want := firstMatch(table.Routes(), segments)
			if got == nil && want != "" || got != nil && got.Path != want {
				t.Fatalf("%v: got %v, want %q", segments, got, want)
			}
		}
		if len(segments) == 4 {
			return
		}
		for _, w := range words {
			walk(append(segments[:len(segments):len(segments)], w))
		}
	}
	walk(nil)
}

func firstMatch(routes []*Route, segments []string) string {
	for _, r := range routes {
		parts := strings.Split(r.Path, "/")[1:]
		fits := len(parts) == len(segments)
		for i := 0; fits && i < len(parts); i++ {
			fits = strings.HasPrefix(parts[i], ":") || parts[i] == segments[i]
		}
		if fits {
			return r.Path
		}
	}
	return ""
}

func FuzzMatch(f *testing.F) {
	for _, seed := range []string{"stockitems/1", "products/1/images/2/store/3", "%", "//", "a%2Fb/%zz", "orders/comments/addresses/billing"} {
		f.Add(seed)
	}
	table := NewTable(Routes(StandardFields()))
	f.Fuzz(func(t *testing.T, path string) {
		r, params := table.Match(path)
		if r == nil && params != (Params{}) {
			t.Errorf("%q: no route, yet parameters %q", path, params)
		}
		if again, _ := table.Match("/" + path + "/"); r != again {
			t.Errorf("%q: slashes around it change the route", path)
		}
	})
}
