package mapping_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/contract"
)

func TestHandlersAndCalls(t *testing.T) {
	lowerCamel := regexp.MustCompile(`^(get|list|create|update|delete)([A-Z][a-z]*)+$`)
	verbs := map[contract.Method][]string{
		contract.GET: {"get", "list"}, contract.POST: {"create"}, contract.PUT: {"update"}, contract.DELETE: {"delete"},
	}
	type meaning struct {
		method contract.Method
		shape  contract.Shape
		help   string
	}
	meanings := map[string]meaning{}
	for _, r := range contract.Routes(contract.StandardFields()) {
		if r.Fields == nil {
			t.Errorf("%s has no fields", r.Path)
		}
		what, _, _ := strings.Cut(r.Help, " as ")        // a store view does not change the operation
		what, _, _ = strings.Cut(what, " of a category") // nor does a category
		for _, m := range contract.Methods() {
			call := r.Calls[m]
			if call == "" {
				continue
			}
			if !lowerCamel.MatchString(call) {
				t.Errorf("%s %s: call name %q", m, r.Path, call)
			}
			fits := false
			for _, verb := range verbs[m] {
				fits = fits || strings.HasPrefix(call, verb)
			}
			if !fits {
				t.Errorf("%s %s is called %s", m, r.Path, call)
			}
			this := meaning{m, r.Shape, what}
			if other, ok := meanings[call]; ok && other != this {
				t.Errorf("%s means %v and %v", call, other, this)
			}
			meanings[call] = this
		}
	}
	sources := mapping.HandlerLocations()
	for call := range meanings {
		if sources[call] == "" {
			t.Errorf("%s has no handler", call)
		}
	}
	for call, source := range sources {
		if _, ok := meanings[call]; !ok {
			t.Errorf("handler %s is not a call in the route table", call)
		}
		file, line, _ := strings.Cut(source, ":")
		text, err := os.ReadFile(filepath.Join("..", file))
		if err != nil {
			t.Errorf("%s: %v", call, err)
			continue
		}
		n, _ := strconv.Atoi(line)
		lines := strings.Split(string(text), "\n")
		if n < 1 || n > len(lines) || !strings.Contains(lines[n-1], ") "+call+"(") {
			t.Errorf("%s is not at %s", call, source)
		}
	}
}

type cells struct{ admin, customer, guest string }

type matrixRow struct {
	paths      string
	formats    string
	magento    cells
	documented *cells
	dotless    bool // 405 texts without a full stop in documented
	noRecord   bool // the demo store has no such record: a served call replies 404
}

const denied4 = "AD AD AD AD"

// matrix returns the table of wire 3 for requests with all parameters 1 and neither a
// body nor a Content-Type. The cells are GET POST PUT DELETE:
//
//	served  200, own data or a missing Content-Type: handed to the handler
//	ct      served, but the body is checked first
//	NI, NS  405 not implemented, 405 does not support
//	AD      403
//	late    405 does not support, after the checks of the body
//	denied  403 does not support, after the checks of the body
//
// documented is set where the dialects differ (rulings 6 and 7; wire 15; customers 1;
// stock_orders 1.7; product_parts 3.6 and 4.4). formats are the default formats of the
// specification: GET POST PUT DELETE and others.
func matrix() []matrixRow {
	read := cells{"served NI NI NI", "served AD AD AD", denied4}
	catalogList := cells{"served ct NI NI", "served AD AD AD", "served AD AD AD"}
	catalogOne := cells{"served NI ct served", "served AD AD AD", "served AD AD AD"}
	addressOfOrder := &cells{"served NS NS NS", "served AD AD AD", denied4}
	return []matrixRow{
		{paths: "/customers", formats: "xxxxx",
			magento:    cells{"served ct NI NI", "served AD denied AD", denied4},
			documented: &cells{"served ct NS NS", "AD AD NS NS", denied4}},
		{paths: "/customers/1", formats: "xxxxx",
			magento:    cells{"served NI ct served", "served AD ct AD", denied4},
			documented: &cells{"served NS ct served", "served NS ct AD", denied4}},
		{paths: "/customers/1/addresses", formats: "xxxxx",
			magento:    cells{"served ct NI NI", "served ct NI NI", denied4},
			documented: &cells{"served ct NS NS", "served ct NS NS", denied4}},
		{paths: "/customers/addresses/1", formats: "xxxxx",
			magento:    cells{"served NI ct served", "served NI ct served", denied4},
			documented: &cells{"served NS ct served", "served NS ct served", denied4}},
		{paths: "/products /products/store/1 /products/category/1 /products/store/1/category/1 /products/category/1/store/1",
			formats: "xjjjj", magento: catalogList},
		{paths: "/products/1 /products/1/store/1", formats: "xjjjj", magento: catalogOne},
		{paths: "/products/1/images /products/1/images/store/1", formats: "xxxxx", magento: catalogList},
		{paths: "/products/1/images/1 /products/1/images/1/store/1", formats: "xxxxx", magento: catalogOne, noRecord: true},
		{paths: "/products/1/websites", formats: "xxxxx", magento: cells{"served ct NI NI", denied4, denied4}},
		{paths: "/products/1/websites/1", formats: "xxxxx", magento: cells{"NS NI late served", denied4, denied4}},
		{paths: "/products/1/categories", formats: "jjjjj", dotless: true,
			magento:    catalogList,
			documented: &cells{"served ct NI NI", "served AD AD AD", denied4}},
		{paths: "/products/1/categories/1", formats: "jjjjj", dotless: true,
			magento:    cells{"served NI late served", "served AD AD AD", "served AD AD AD"},
			documented: &cells{"NI NI NI served", "NI AD AD AD", denied4}},
		{paths: "/stockitems", formats: "jjjjj", magento: cells{"served NI ct NI", denied4, denied4}},
		{paths: "/stockitems/1", formats: "jjjjj",
			magento:    cells{"served NI ct NI", denied4, denied4},
			documented: &cells{"served NI ct NS", denied4, denied4}},
		{paths: "/orders", formats: "xxxxx",
			magento:    cells{"served NI NI NI", "served AD AD AD", denied4},
			documented: &cells{"served NI NI NI", "served AD AD AD", "served AD AD AD"}},
		{paths: "/orders/1 /orders/1/items", formats: "xxxxx", magento: read},
		{paths: "/orders/1/addresses /orders/1/addresses/billing /orders/1/addresses/shipping", formats: "xxxxx",
			magento: read, documented: addressOfOrder},
		{paths: "/orders/1/comments", formats: "xxxxx",
			magento:    cells{"served ct NI NI", "served AD AD AD", denied4},
			documented: &read},
		{paths: "/orders/comments/1", formats: "xxxxx", magento: cells{"served NI NI NI", "NI AD AD AD", denied4}},
	}
}

func TestMatrix(t *testing.T) {
	t.Parallel()
	methods := []string{"GET", "POST", "PUT", "DELETE", "HEAD", "PATCH"}
	table := contract.NewTable(contract.Routes(contract.StandardFields()))
	reached := map[*contract.Route]bool{}
	inBothDialects(t, func(t *testing.T, s *shop) {
		for _, row := range matrix() {
			roles := row.magento
			if s.documented() && row.documented != nil {
				roles = *row.documented
			}
			for path := range strings.FieldsSeq(row.paths) {
				route, _ := table.Match(path)
				if route == nil {
					t.Fatalf("%s matches no route", path)
				}
				reached[route] = true
				for role, cells := range map[contract.Role]string{contract.Admin: roles.admin, contract.Customer: roles.customer, contract.Guest: roles.guest} {
					for i, method := range methods {
						cell := "other"
						if i < len(contract.Methods()) {
							cell = strings.Fields(cells)[i]
						}
						want := expect(s, row, path, cell)
						path := path
						if method == "DELETE" && cell == "served" {
							// A missing record, so that the existing ones stay.
							path, want = strings.Replace(path, "1", "99", 1), expectation{404, ""}
						}
						for _, accept := range []string{"application/json", "text/xml", "text/plain", "*/*", ""} {
							t.Run(fmt.Sprintf("%s %s %s %q", role, method, path, accept), func(t *testing.T) {
								got := s.serve(role, method, path, "", acceptHeader(accept)...)
								if method == "DELETE" && got.Status == 200 && want == (expectation{status: 200}) {
									checkSaved(t, got)
									s.reset(t)
									return
								}
								checkCell(t, s, row.formats[min(i, 4)], want, got, accept)
							})
						}
					}
				}
			}
		}
	})
	for _, r := range table.Routes() {
		found := false
		for seen := range reached {
			found = found || seen.Path == r.Path
		}
		if !found {
			t.Errorf("%s is not in the matrix", r.Path)
		}
	}
}

func acceptHeader(accept string) []string {
	if accept == "" {
		return nil
	}
	return []string{"Accept", accept}
}

// An expectation is a status and, for an error reply, its text.
type expectation struct {
	status int
	text   string
}

func expect(s *shop, row matrixRow, path, cell string) expectation {
	const implemented, supported = "Resource method not implemented yet.", "Resource does not support method."
	notImplemented := expectation{405, implemented}
	if row.dotless && s.documented() {
		notImplemented.text = strings.TrimSuffix(implemented, ".")
	}
	missing := expectation{400, "Content-Type header is empty"}
	if s.documented() && !strings.HasPrefix(path, "/stockitems") {
		missing.text = "Decoding error." // decoded in the default format from an empty body
	}
	switch cell {
	case "served":
		if row.noRecord {
			return expectation{404, ""}
		}
		return expectation{200, ""}
	case "ct", "late", "denied":
		return missing
	case "NI":
		return notImplemented
	case "NS":
		return expectation{405, supported}
	case "AD":
		return expectation{403, "Access denied"}
	default:
		return expectation{400, "Invalid request method"}
	}
}

// checkCell checks a reply against an expectation, in the format the caller requested or
// else the default one.
func checkCell(t *testing.T, s *shop, format byte, want expectation, got mapping.Response, accept string) {
	t.Helper()
	switch accept {
	case "application/json":
		format = 'j'
	case "text/xml":
		format = 'x'
	case "text/plain":
		format = 't'
	case "":
		if !s.documented() {
			checkReply(t, got, 500, typeHTML, "Service temporary unavailable")
			return
		}
	case "*/*":
		if !s.documented() {
			format = 'j'
		}
	}
	contentType := map[byte]string{'j': typeJSON, 'x': typeXML, 't': typeText}[format]
	if want.text == "" {
		// An empty list in text/plain is an empty body.
		empty := len(got.Body) == 0 && format != 't'
		if got.Status != want.status || got.ContentType != contentType || empty {
			t.Errorf("got %d %s and %d bytes, want %d %s", got.Status, got.ContentType, len(got.Body), want.status, contentType)
		}
		return
	}
	checkReply(t, got, want.status, contentType, envelope(s, format, want))
}

// envelope returns an error reply with one entry, in the form of wire 8.
func envelope(s *shop, format byte, e expectation) string {
	switch format {
	case 'j':
		return fmt.Sprintf(`{"messages":{"error":[{"code":%d,"message":"%s"}]}}`, e.status, e.text)
	case 'x':
		root := s.text("service_api", "magento_api")
		return fmt.Sprintf(`<?xml version="1.0"?>
<%s>
  <messages>
    <error>
      <data_item>
        <code>%d</code>
        <message>%s</message>
      </data_item>
    </error>
  </messages>
</%[1]s>
`, root, e.status, e.text)
	default:
		return fmt.Sprintf("messages%%5Berror%%5D%%5B0%%5D%%5Bcode%%5D=%d&messages%%5Berror%%5D%%5B0%%5D%%5Bmessage%%5D=%s",
			e.status, strings.ReplaceAll(e.text, " ", "+"))
	}
}
