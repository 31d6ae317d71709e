package report_test

import (
	"encoding/json"
	"fmt"
	"github.com/portico-commerce/portico/contracttests"
	"os"
	"strings"
	"testing"
	"time"
)

// hostile is a text that a server may send to harm readers of a report: markup, a script,
// end tags of the elements of the page, the end of a terminal's paste, colors, a change
// of the text direction, characters that XML 1.0 does not allow, and invalid UTF-8.
const hostile = `</script><script>document.title="run"</script><img src=x onerror='document.title="run"'>` +
	`"><svg onload=document.title="run"></style></pre></details><!--]]>&amp;{{.}}${1}` +
	"\x1b[31m\x1b[201~\x00\x07\u202eevil\u2066\ufffe\x9b\xff javascript:alert(1)"

// A sampler makes reports like the reports of real runs.
type sampler struct {
	clauses []contracttests.Coverage
	calls   []contracttests.CallLog
}

// newSampler returns a sampler with the clauses of the suite and the requests of the
// recordings.
func newSampler(t testing.TB) *sampler {
	t.Helper()
	s := &sampler{}
	var clauses []struct {
		Name, Section, Says, Unshown string
		Fields                       []string
	}
	readJSON(t, "../clauses.json", &clauses)
	for _, c := range clauses {
		s.clauses = append(s.clauses, contracttests.Coverage{Clause: c.Name, Section: c.Section, Says: c.Says, Untestable: c.Unshown, Rows: max(1, len(c.Fields))})
	}
	var exchanges []contracttests.Exchange
	readJSON(t, "../exchanges/customers.json", &exchanges)
	for _, e := range exchanges {
		for _, step := range e.Steps {
			body := ""
			if step.Body != nil {
				body = *step.Body
			}
			kind := "text/plain"
			if step.Response.ContentType != nil {
				kind = *step.Response.ContentType
			}
			s.calls = append(s.calls, contracttests.CallLog{
				As:      step.As,
				Request: fmt.Sprintf("%s /api/rest%s HTTP/1.1\r\nHost: shop.example\r\nAuthorization: (left out)\r\n\r\n%s", step.Method, step.Path, body),
				Reply:   fmt.Sprintf("%d OK\r\nContent-Type: %s\r\n\r\n%s", step.Response.Status, kind, step.Response.Body),
			})
		}
	}
	return s
}

// readJSON decodes a file.
func readJSON(t testing.TB, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

// newReport returns a report of n results. Every fifteenth was skipped, and every tenth
// failed unless fine is set.
func (s *sampler) newReport(n int, fine bool) *contracttests.Report {
	r := &contracttests.Report{
		URL:     "https://shop.example:8443",
		Dialect: "documented",
		Started: time.Date(2026, 3, 4, 15, 16, 17, 0, time.UTC),
		Took:    41.26,
		Clauses: append([]contracttests.Coverage(nil), s.clauses...),
	}
	resources := []string{"customers", "customer_addresses", "products", "product_images", "product_websites", "stock_items", "orders"}
	names := []string{"a change leaves the other fields alone", "the list has these fields", "a required value is missing", "another Customer's record is refused", "what is deleted is gone"}
	roles := [][]string{{"admin"}, {"admin", "customer_1"}, {"customer_1", "customer_2"}, {"guest"}, {"admin", "guest"}}
	reasons := []string{"the fixtures have no second website", "it writes the fixture orders, which is not marked writable", "the run is read-only"}
	for i := range n {
		one := contracttests.Result{
			Resource: resources[i*len(resources)/n],
			Name:     fmt.Sprintf("%s, %d", names[i%len(names)], i+1),
			Format:   []string{"json", "xml", "json", "text"}[i%4],
			Roles:    roles[i%len(roles)],
			Status:   contracttests.Passed,
			Took:     time.Duration(i*37%1400) * time.Millisecond,
		}
		clauses := []*contracttests.Coverage{&r.Clauses[i*7%len(r.Clauses)], &r.Clauses[(i*7+3)%len(r.Clauses)]}
		for _, c := range clauses {
			if c.Untestable == "" {
				one.Clauses = append(one.Clauses, c.Clause)
			}
		}
		if i%4 == 0 {
			one.DialectDifferences = []contracttests.DialectDifference{{Number: 10, Says: "a field that has no value", Section: "rulings 2"}}
		}
		for c := range 6 {
			one.Calls = append(one.Calls, s.calls[(i*5+c)%len(s.calls)])
		}
		switch {
		case i%10 == 3 && !fine:
			one.Status = contracttests.Failed
			one.Failure = failures()[i/10%len(failures())]
			one.Failure.Clause = strings.Join(one.Clauses, "; ")
		case i%15 == 4:
			one.Status, one.Calls = contracttests.Skipped, nil
			one.Reason = reasons[i/15%len(reasons)]
		}
		for _, c := range clauses {
			switch {
			case c.Untestable != "":
			case one.Status == contracttests.Passed:
				c.Passed++
			case one.Status == contracttests.Failed:
				c.Failed++
			default:
				c.Skipped++
			}
		}
		r.Results = append(r.Results, one)
	}
	return r
}

// failures returns one failure of each kind.
func failures() []*contracttests.Failure {
	const xml = "<?xml version=\"1.0\"?>\n<service_api>\n  <entity_id>17</entity_id>\n  <email>%s</email>\n  <firstname>Ada</firstname>\n  <lastname>Byron</lastname>\n</service_api>"
	curl := `curl -sS -i --path-as-is -g -X 'PUT' -H 'User-Agent:' -H "Authorization: $AUTHORIZATION_ADMIN" -H 'Content-Type: application/json' --data-raw '{"firstname":"Bea","note":"it'\''s"}' 'https://shop.example:8443/api/rest/customers/17'`
	return []*contracttests.Failure{
		{
			Step: 2, Call: "admin: PUT /customers/17", Curl: curl,
			Expect: "record: customer\nlike: before\nexcept: [updated_at]\nvalues: {firstname: Bea}\n",
			Differences: []contracttests.Difference{
				{Where: "$.firstname", Want: "Bea", Got: "Ada"},
				{Where: "$.email", Want: "contracttest-4711@example.com", Got: "contracttest-4712@example.com"},
				{Where: "$.taxvat", Want: "null", Got: ""},
			},
		},
		{
			Step: 1, Call: "customer_1: GET /customers/17", Curl: curl,
			Expect:      "status: 403\nerrors: [[403, Access denied]]\n",
			Differences: []contracttests.Difference{{Where: "status", Want: "403", Got: "200"}},
		},
		{
			Step: 3, Call: "admin: GET /customers/17", Curl: curl,
			Expect:      "record: customer\n",
			Differences: []contracttests.Difference{{Where: "rendering of the body", Want: fmt.Sprintf(xml, "ada@example.com"), Got: fmt.Sprintf(xml, "")}},
		},
		{
			Step: 0, Call: "admin: POST /products", Curl: curl,
			Expect: "status: 200\nlocation: /api/rest/products/{{=product}}\n",
			Broken: "no answer within 10 s",
		},
	}
}

// hostileReport returns a small report with hostile texts in all its fields.
func (s *sampler) hostileReport() *contracttests.Report {
	r := s.newReport(8, false)
	r.URL, r.Dialect = "http://"+hostile, contracttests.Dialect(hostile)
	r.Leftovers = []string{"DELETE " + hostile}
	r.Clauses[0].Clause, r.Clauses[0].Says, r.Clauses[0].Section, r.Clauses[1].Untestable = hostile+": "+hostile, hostile, hostile, hostile
	r.Results[1].Resource, r.Results[1].Name, r.Results[1].Format = hostile, hostile, hostile
	r.Results[1].Roles, r.Results[1].Clauses = []string{hostile}, []string{hostile}
	r.Results[4].Reason = hostile
	r.Results[4].DialectDifferences = []contracttests.DialectDifference{{Number: 1, Says: hostile, Section: hostile}}
	r.Results[3].Failure = &contracttests.Failure{
		Step: 1, Call: hostile, Curl: "curl '" + hostile + "'", Clause: hostile, Expect: hostile, Broken: hostile,
		Differences: []contracttests.Difference{
			{Where: hostile, Want: hostile, Got: "x" + hostile},
			{Where: hostile, Want: hostile + "\n" + hostile, Got: hostile + "\n" + "y"},
		},
	}
	r.Results[3].Calls = []contracttests.CallLog{{As: hostile, Request: hostile, Reply: "HTTP/1.1 200 " + hostile + "\r\n\r\n" + hostile}}
	return r
}
