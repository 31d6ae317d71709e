package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/portico-commerce/portico/contracttests"
)

// failedRun returns a failed result named name.
func failedRun(name, broken string, differences ...contracttests.Difference) contracttests.Result {
	return contracttests.Result{Resource: "r", Name: name, Format: "json", Status: contracttests.Failed,
		Failure: &contracttests.Failure{Step: 1, Broken: broken, Differences: differences}}
}

// TestFindCauses checks which failures have a cause in common.
func TestFindCauses(t *testing.T) {
	type difference = contracttests.Difference
	status := difference{Where: "status", Want: "200", Got: "202"}
	media := difference{Where: "Content-Type", Want: "application/json; charset=utf-8", Got: "application/json"}
	for _, tt := range []struct {
		name    string
		results []contracttests.Result
		want    []string // the text of each cause and the names of its failures
	}{
		{"no failure", []contracttests.Result{{Status: contracttests.Passed}, {Status: contracttests.Skipped}}, nil},
		{"the most frequent first", []contracttests.Result{failedRun("a", "", status), failedRun("b", "", media), failedRun("c", "", media)},
			[]string{"Content-Type: want application/json; charset=utf-8, got application/json: b c", "status: want 200, got 202: a"}},
		{"a shared one outweighs those that come with it", []contracttests.Result{
			failedRun("a", "", difference{Where: "$.sku", Want: "text a", Got: "number 1"}, media), failedRun("b", "", media)},
			[]string{"Content-Type: want application/json; charset=utf-8, got application/json: a b"}},
		{"of equals the first", []contracttests.Result{failedRun("a", "", status, media), failedRun("b", "", status, media)}, []string{"status: want 200, got 202: a b"}},
		{"twice in a failure counts once", []contracttests.Result{
			failedRun("a", "", media, difference{Where: "$[0].sku", Want: "text", Got: "number 1"}, difference{Where: "$[1].sku", Want: "text", Got: "number 2"}), failedRun("b", "", media)},
			[]string{"Content-Type: want application/json; charset=utf-8, got application/json: a b"}},
		{"a field of a record and of lists", []contracttests.Result{
			failedRun("a", "", difference{Where: "$.qty", Want: "decimal", Got: "number 5"}), failedRun("b", "", difference{Where: "$.17.qty", Want: "decimal", Got: "number 7"}),
			failedRun("c", "", difference{Where: "$[3].qty", Want: "decimal", Got: "number 2"}), failedRun("d", "", difference{Where: "$[3].sku", Want: "decimal", Got: "number 2"})},
			[]string{"qty: want decimal, got a number: a b c", "sku: want decimal, got a number: d"}},
		{"the example of a type", []contracttests.Result{failedRun("a", "", difference{Where: "$.id", Want: `id, such as "17" as text`, Got: "number 5"})},
			[]string{`id: want id, such as "17" as text, got a number: a`}},
		{"values of the same type", []contracttests.Result{
			failedRun("a", "", difference{Where: "$.sku", Want: "text contracttest-AB-1", Got: "text x"}), failedRun("b", "", difference{Where: "$.sku", Want: "text contracttest-AB-2", Got: "text y"})},
			[]string{"sku: another value is required: a b"}},
		{"a missing field, however it is found", []contracttests.Result{
			failedRun("a", "", difference{Where: "$", Want: "field sku", Got: "fields entity_id"}), failedRun("b", "", difference{Where: "$.sku", Want: "text a", Got: "no such field"})},
			[]string{"sku: the field is missing: a b"}},
		{"an unexpected field", []contracttests.Result{failedRun("a", "", difference{Where: "$", Want: "no field x", Got: "number 1"})}, []string{"x: there must be no such field: a"}},
		{"messages differ by their text, not by their ids", []contracttests.Result{
			failedRun("a", "", difference{Where: "$.messages.error[0].message", Want: "text Resource not found.", Got: "text no product 5"}),
			failedRun("b", "", difference{Where: "$.messages.error[0].message", Want: "text Resource not found.", Got: "text no product 6"}),
			failedRun("c", "", difference{Where: "$.messages.error[0].message", Want: "text Access denied", Got: "text no"})},
			[]string{"message: want text Resource not found., got text no product 5: a b", "message: want text Access denied, got text no: c"}},
		{"all credentials refused", []contracttests.Result{
			failedRun("a", "", status401("200")), failedRun("b", "", status401("404"), media), failedRun("c", "customer could not be created: 401 Unauthorized\nServer: x")},
			[]string{"status: got 401 where another one is required: a b c"}},
		{"down", []contracttests.Result{
			failedRun("a", "no answer: dial tcp 127.0.0.1:5: connect: connection refused"), failedRun("b", "no answer: dial tcp 127.0.0.1:6: connect: connection refused"), failedRun("c", "no answer: EOF")},
			[]string{"no answer: dial tcp 127.0.0.1:5: connect: connection refused: a b", "no answer: EOF: c"}},
		{"no Location", []contracttests.Result{
			failedRun("a", "the reply to the request that creates {{product}} has no Location with its id"), failedRun("b", "the reply to the request that creates {{customer}} has no Location with its id")},
			[]string{"the reply to the request that creates the object has no Location with its id: a b"}},
		{"another status without Location", []contracttests.Result{failedRun("a", "customer could not be created: 202 Accepted\nServer: x")},
			[]string{"the reply to a create has no Location with the id of the object: a"}},
		{"spelling", []contracttests.Result{
			failedRun("a", "", difference{Where: "rendering of the body", Want: "{}", Got: "{ }"}), failedRun("b", "", difference{Where: "rendering of the body", Want: "[]", Got: "[ ]"})},
			[]string{"the body has the right content, but another spelling or other blanks than the contract requires: a b"}},
		{"another format", []contracttests.Result{
			failedRun("a", "", difference{Where: "body", Want: "XML", Got: "none (x): {}"}), failedRun("b", "", difference{Where: "body", Want: "XML", Got: "none (y): []"})},
			[]string{"the body is not XML: a b"}},
		{"no details", []contracttests.Result{{Name: "a", Status: contracttests.Failed}, failedRun("b", "")},
			[]string{"the report has no details of the failure: a", "not as expected: b"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, c := range newOverview(&contracttests.Report{Results: tt.results}).Causes {
				names := ""
				for _, f := range c.Failures {
					names += " " + f.Name
				}
				got = append(got, c.Text+":"+names)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func status401(want string) contracttests.Difference {
	return contracttests.Difference{Where: "status", Want: want, Got: "401"}
}

// TestOtherDifferences checks that failures are marked that the fix of the first one may
// leave.
func TestOtherDifferences(t *testing.T) {
	a := contracttests.Difference{Where: "Allow", Want: "no such header", Got: "GET"}
	b := contracttests.Difference{Where: "status", Want: "200", Got: "202"}
	causes := newOverview(&contracttests.Report{Results: []contracttests.Result{failedRun("a", "", a), failedRun("b", "", a), failedRun("c", "", b, a)}}).Causes
	if len(causes) != 1 || causes[0].more[0] || causes[0].more[1] || !causes[0].more[2] {
		t.Errorf("got %+v, want one cause whose third failure has other differences", causes)
	}
}

// TestCausesInTable checks that the report for a terminal shows the first failure of a cause
// in full, and the others by name.
func TestCausesInTable(t *testing.T) {
	r := &contracttests.Report{Command: "contracttest --url 'http://h'"}
	for range shownFailures + 3 {
		r.Results = append(r.Results, failedRun("a.b", "", status401("200")))
	}
	for _, tt := range []struct {
		name    string
		verbose bool
		names   int
		rest    string
	}{{"short", false, shownFailures, "    and 2 more, which --verbose lists\n"}, {"verbose", true, shownFailures + 2, "\n"}} {
		t.Run(tt.name, func(t *testing.T) {
			var b strings.Builder
			if err := Table(&b, r, false, tt.verbose); err != nil {
				t.Fatal(err)
			}
			got := b.String()
			for _, want := range []string{
				"23 failures have this in common: status: got 401 where another one is required\nFAILED  r/a.b/json\n",
				"  repeat the case:\ncontracttest --url 'http://h' --run '^r/a\\.b/json$'\n",
				"  the same in:\n" + strings.Repeat("    r/a.b/json\n", tt.names) + tt.rest,
			} {
				if !strings.Contains(got, want) {
					t.Errorf("lacks %q:\n%s", want, got)
				}
			}
			if n := strings.Count(got, "FAILED  r/"); n != 1 {
				t.Errorf("%d failures are shown in full, want 1", n)
			}
		})
	}
}
