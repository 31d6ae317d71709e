package contracttests

import (
	"net/http"
	"strings"
	"testing"
)

// TestAccept checks the differences that do not count.
func TestAccept(t *testing.T) {
	status := func(got string) []Difference { return []Difference{{"status", "200", got}} }
	for _, tt := range []struct {
		name     string
		dialect  Dialect
		method   string
		status   int
		location string
		all      []Difference
		want     string // the reason, or "" if the difference counts
	}{
		{"FastCGI", Magento, "POST", 302, "/api/rest/products/5", status("302"), "behind FastCGI, the web server of a shop answers a create with 302"},
		{"newest line", OpenMage, "POST", 201, "/api/rest/products/5", status("201"), "the newest line of the original answers a create with 201"},
		{"document", Documented, "POST", 201, "/api/rest/products/5", status("201"), ""},
		{"no create", Magento, "PUT", 201, "/api/rest/products/5", status("201"), ""},
		{"login page", Magento, "POST", 302, "/customer/account/login", status("302"), ""},
		{"refusal was wanted", Magento, "POST", 201, "/api/rest/products/5", []Difference{{"status", "400", "201"}}, ""},
		{"another difference", Magento, "POST", 302, "/api/rest/products/5", []Difference{{"body", "none", "x"}}, ""},
		{"by the target", Documented, "GET", 200, "", []Difference{{"$.sku", "a", "b"}}, "GET /products/5 $.sku"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			target := Target{Dialect: tt.dialect, Accept: func(method, path string, d Difference) string {
				if d.Where != "$.sku" {
					return ""
				}
				return method + " " + path + " " + d.Where
			}}
			open, accepted := target.accept(&Step{Method: tt.method, Path: "/products/5"}, &reply{status: tt.status, header: http.Header{"Location": {tt.location}}}, tt.all)
			if len(open)+len(accepted) != 1 || len(accepted) == 1 && accepted[0].Reason != tt.want || len(open) == 1 && tt.want != "" {
				t.Errorf("counted: %v, accepted: %v; want %q", open, accepted, tt.want)
			}
		})
	}
}

// TestLivingShopGoesOn checks that a case runs to its end in a shop that answers creates with 201,
// also where it needs an object that is created first.
func TestLivingShopGoesOn(t *testing.T) {
	const cases = `- name: a
  clauses: ["Customers: GET"]
  make: [product]
  steps:
    - {call: "GET /products/{{product}}", expect: {tree: {sku: "{{unique}}"}}}
    - {call: POST /products, send: {sku: "{{unique}}"}, expect: {location: "/api/rest/products/{{=mine}}"}}
    - {call: "GET /products/{{mine}}", expect: {tree: {sku: "{{unique}}"}}}
`
	for _, tt := range []struct {
		dialect         Dialect
		status          Status
		calls, accepted int
	}{{Magento, Passed, 4, 1}, {Documented, Failed, 3, 0}} {
		t.Run(string(tt.dialect), func(t *testing.T) {
			var sent string
			base := serve(t, func(request string) string {
				head, body, _ := strings.Cut(request, "\r\n\r\n")
				if !strings.HasPrefix(head, "POST") {
					return httpReply(200, sent, "Content-Type: application/json; charset=utf-8")
				}
				sent = body
				return httpReply(201, "", "Location: /api/rest/products/5")
			})
			sku := node{kind: record, members: []member{{"sku", node{kind: text, text: "{{unique}}"}}}}
			s := &Suite{makers: map[string]maker{"product": {Call: "POST /products", Send: yamlTree{sku}}}}
			if err := s.parseCases("a.yaml", []byte(cases)); err != nil {
				t.Fatal(err)
			}
			report, err := s.Run(t.Context(), Target{BaseURL: base, Dialect: tt.dialect, Credentials: testCredentials}, Options{})
			if err != nil || len(report.Results) != 1 {
				t.Fatalf("%v, %+v", err, report)
			}
			if got := report.Results[0]; got.Status != tt.status || len(got.Calls) != tt.calls || len(got.Accepted) != tt.accepted {
				t.Errorf("%s after %d calls with %d accepted differences, want %s, %d and %d: %v", got.Status, len(got.Calls), len(got.Accepted), tt.status, tt.calls, tt.accepted, got.Failure)
			}
		})
	}
}
