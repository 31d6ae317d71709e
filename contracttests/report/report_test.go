package report_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/contracttests/report"
)

// table returns the report for a terminal.
func table(t *testing.T, r *contracttests.Report, color, verbose bool) string {
	t.Helper()
	var b bytes.Buffer
	if err := report.Table(&b, r, color, verbose); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// smallReport returns a report of three runs, with clauses in every state.
func smallReport() *contracttests.Report {
	return &contracttests.Report{
		URL: "http://127.0.0.1:8080", Dialect: "magento", Started: time.Date(2026, 3, 4, 15, 16, 17, 0, time.UTC), Took: 2.34,
		Results: []contracttests.Result{
			{Resource: "customers", Name: "a", Format: "json", Roles: []string{"admin"}, Clauses: []string{"Customers: GET"}, Status: contracttests.Passed, Took: 1500 * time.Millisecond},
			{Resource: "customers", Name: "a", Format: "xml", Roles: []string{"admin"}, Clauses: []string{"Customers: PUT"}, Status: contracttests.Failed, Took: 20 * time.Millisecond,
				Failure: failures()[0]},
			{Resource: "orders", Name: "b", Format: "json", Roles: []string{"guest"}, Clauses: []string{"Orders: GET"}, Status: contracttests.Skipped, Reason: "no orders in the fixtures"},
		},
		Clauses: []contracttests.Coverage{
			{Clause: "Customers: GET", Rows: 3, Passed: 1},
			{Clause: "Customers: POST", Rows: 2, Passed: 1},
			{Clause: "Customers: PUT", Rows: 1, Failed: 1},
			{Clause: "Orders: GET", Rows: 1, Skipped: 1},
			{Clause: "Orders: custom", Rows: 2, Untestable: "no store has it"},
			{Clause: "Limits: 1", Rows: 1},
		},
	}
}

// TestTable checks the whole report for a terminal.
func TestTable(t *testing.T) {
	got := table(t, smallReport(), false, false)
	const want = `FAILED  3 runs: 1 passed, 1 failed, 1 skipped in 2.3 s, dialect magento, http://127.0.0.1:8080

Causes, with the number of runs that failed for each:
           1  firstname: want Bea, got Ada (customers)

The details of each cause. A run is one case in one format, and its name is FILE/CASE/FORMAT. A clause is a
sentence of the contract that the case tests: "contracttest list" has the text of each. guest, customer_1,
customer_2 and admin are the callers, from the file of credentials. $ is the body of the reply: $.sku is the
field sku of a record, $[0].sku that of the first record of a list, $.17.sku that of the record 17.

FAILED  customers/a/xml
  step 2: admin: PUT /customers/17
  repeat the request:
curl -sS -i --path-as-is -g -X 'PUT' -H 'User-Agent:' -H "Authorization: $AUTHORIZATION_ADMIN" -H 'Content-Type: application/json' --data-raw '{"firstname":"Bea","note":"it'\''s"}' 'https://shop.example:8443/api/rest/customers/17'
  expected:
    record: customer
    like: before
    except: [updated_at]
    values: {firstname: Bea}
  $.firstname
    want Bea
    got  Ada
  $.email
    want contracttest-4711@example.com
    got  contracttest-4712@example.com
         ("2" in place of "1")
  $.taxvat
    want null
    got  (nothing)

skipped: 1 run
    1  no orders in the fixtures
         orders/b/json

Clauses of the contract, with the runs that test each ("contracttest list" has their text):
  passed  failed  skipped  clause
       0       1        0  Customers: PUT
       2                   Customers: 2 clauses passed
       0       0        1  Orders: GET
                           Orders: 1 clause cannot be tested

coverage: 6 of 10 rows in the tables of the contract document; 2 cannot be tested: no store has it; 1 only skipped; 1 not run
FAILED  3 runs: 1 passed, 1 failed, 1 skipped in 2.3 s, dialect magento, http://127.0.0.1:8080
           1  firstname: want Bea, got Ada (customers)
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestTableContent checks parts of the report for a terminal, for reports of different
// kinds.
func TestTableContent(t *testing.T) {
	passing := smallReport()
	passing.Results, passing.Clauses = passing.Results[:1], passing.Clauses[:2]
	nothing := smallReport()
	nothing.Results = nothing.Results[2:]
	left := smallReport()
	left.Leftovers = []string{"curl -X DELETE 'http://127.0.0.1:8080/api/rest/customers/9'"}
	withoutDetails := smallReport()
	withoutDetails.Results[1].Failure = nil
	broken := smallReport()
	broken.Results[1].Failure = failures()[3]
	lines := smallReport()
	lines.Results[1].Failure = failures()[2]
	for _, tt := range []struct {
		name           string
		r              *contracttests.Report
		color, verbose bool
		want           []string
		lacks          string
	}{
		{"passed", passing, false, false,
			[]string{"coverage: 5 of 5 rows in the tables of the contract document\nPASSED  1 run: 1 passed, 0 failed, 0 skipped"}, "FAILED"},
		{"passed, in color", passing, true, false, []string{"\x1b[32mPASSED\x1b[0m"}, "\x1b[31m"},
		{"failed, in color", smallReport(), true, false,
			[]string{"\x1b[31mFAILED\x1b[0m  3 runs", "contracttest-471\x1b[32m1\x1b[0m@example.com", "contracttest-471\x1b[31m2\x1b[0m@example.com", "\x1b[33mOrders: GET\x1b[0m"}, "PASSED"},
		{"only skipped runs", nothing, false, false, []string{"NOTHING TESTED  1 run: 0 passed"}, "PASSED"},
		{"all clauses", smallReport(), false, true,
			[]string{"       1       0        0  Customers: GET\n", "       0       0        0  Orders: custom: cannot be tested, no store has it\n", "Limits: 1\n"}, "clauses passed"},
		{"leftovers", left, false, false, []string{"\ncurl -X DELETE 'http://127.0.0.1:8080/api/rest/customers/9'\n"}, ""},
		{"failure without details", withoutDetails, false, false, []string{"FAILED  customers/a/xml\n  the report has no details of the failure"}, ""},
		{"no answer", broken, false, false, []string{"  while creating what the case needs: admin: POST /products\n", "  no answer within 10 s\n"}, ""},
		{"lines", lines, false, false, []string{"    -   <email>ada@example.com</email>\n    +   <email></email>\n"}, ""},
		{"empty report", &contracttests.Report{}, false, false, []string{"coverage: 0 of 0 rows", "NOTHING TESTED  0 runs"}, "clause"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := table(t, tt.r, tt.color, tt.verbose)
			for _, want := range tt.want {
				if !strings.Contains(got, want) {
					t.Errorf("lacks %q:\n%s", want, got)
				}
			}
			if tt.lacks != "" && strings.Contains(got, tt.lacks) {
				t.Errorf("has %q:\n%s", tt.lacks, got)
			}
		})
	}
}

// TestSkipsAreGrouped checks that skipped runs are grouped by reason, the most frequent
// first.
func TestSkipsAreGrouped(t *testing.T) {
	r := smallReport()
	for range 5 {
		r.Results = append(r.Results, contracttests.Result{Resource: "stock", Name: "c", Format: "json", Status: contracttests.Skipped, Reason: "frequent"})
	}
	want := "skipped: 6 runs\n    5  frequent\n" + strings.Repeat("         stock/c/json\n", 3) + "         and 2 more\n    1  no orders in the fixtures\n"
	if got := table(t, r, false, false); !strings.Contains(got, want) {
		t.Errorf("lacks %q:\n%s", want, got)
	}
	want = "    5  frequent\n" + strings.Repeat("         stock/c/json\n", 5) + "    1"
	if got := table(t, r, false, true); !strings.Contains(got, want) {
		t.Errorf("lacks %q:\n%s", want, got)
	}
}

// TestTableEscapesHostileText checks that the report for a terminal contains only
// printable characters besides its own colors.
func TestTableEscapesHostileText(t *testing.T) {
	r := newSampler(t).hostileReport()
	colors := regexp.MustCompile(`\x1b\[[0-9]+m`)
	for _, tt := range []struct {
		name  string
		color bool
	}{{"plain", false}, {"colored", true}} {
		t.Run(tt.name, func(t *testing.T) {
			text := table(t, r, tt.color, true)
			if !strings.Contains(text, `\u202eevil`) {
				t.Error("the hostile text is missing")
			}
			if tt.color {
				text = colors.ReplaceAllString(text, "")
			}
			for _, c := range text {
				if c != '\n' && c != utf8.RuneError && !unicode.IsPrint(c) {
					t.Fatalf("%U is written", c)
				}
			}
			if !utf8.ValidString(text) {
				t.Error("the text is not UTF-8")
			}
		})
	}
}

// TestPasteableCommand checks that a shell decodes a displayed command to the original
// arguments.
func TestPasteableCommand(t *testing.T) {
	bash := testenv.Need(t, "bash")
	for _, tt := range []struct{ name, argument string }{
		{"plain", `{"a":"b"}`},
		{"lines", "<?xml version=\"1.0\"?>\n\t<a/>\r\n"},
		{"quote", "it's"},
		{"end of a paste", "a\x1b[201~\nid\n"},
		{"no UTF-8", "a\xff\x9bb"},
		{"other direction", "a\u202eb\U000e0041"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := smallReport()
			r.Results[1].Failure.Curl = "printf %s '" + strings.ReplaceAll(tt.argument, "'", `'\''`) + "'"
			_, rest, _ := strings.Cut(table(t, r, false, false), "repeat the request:\n")
			command, _, _ := strings.Cut(rest, "\n")
			run := exec.CommandContext(t.Context(), bash, "-c", command)
			run.Env = []string{"LC_ALL=C.UTF-8"}
			got, err := run.CombinedOutput()
			if err != nil || string(got) != tt.argument {
				t.Errorf("%s\nprints %q (%v), want %q", command, got, err, tt.argument)
			}
		})
	}
}

// TestJSONRoundTrip checks that the JSON report decodes to the same report, and its
// additional counts.
func TestJSONRoundTrip(t *testing.T) {
	r := newSampler(t).newReport(60, false)
	var b bytes.Buffer
	if err := report.JSON(&b, r); err != nil {
		t.Fatal(err)
	}
	var back contracttests.Report
	if err := json.Unmarshal(b.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, &back); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, want := range []string{
		`{"clause":"Limits: 1","section":"contract 9",`,
		`"dialect_differences":[{"number":10,"says":"a field that has no value","section":"rulings 2"}]`,
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("lacks %s", want)
		}
	}
	var counts map[string]any
	if err := json.Unmarshal(b.Bytes(), &counts); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"passed": r.Count(contracttests.Passed), "failed": 6, "skipped": 4} {
		if counts[name] != float64(want) {
			t.Errorf("%s is %v, want %d", name, counts[name], want)
		}
	}
}

// TestJSONOfEmptyReport checks that empty lists are not null.
func TestJSONOfEmptyReport(t *testing.T) {
	var b bytes.Buffer
	if err := report.JSON(&b, &contracttests.Report{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"results":[]`, `"clauses":[]`, `"rows_covered":0`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("lacks %s:\n%s", want, &b)
		}
	}
}

// A junitFile is a JUnit XML file as CI viewers parse it.
type junitFile struct {
	XMLName xml.Name `xml:"testsuites"`
	junitCounts
	Suites []struct {
		Name      string `xml:"name,attr"`
		Timestamp string `xml:"timestamp,attr"`
		junitCounts
		Cases []struct {
			Class   string  `xml:"classname,attr"`
			Name    string  `xml:"name,attr"`
			Time    float64 `xml:"time,attr"`
			Failure *struct {
				Message string `xml:"message,attr"`
				Text    string `xml:",chardata"`
			} `xml:"failure"`
			Skipped *struct {
				Message string `xml:"message,attr"`
			} `xml:"skipped"`
		} `xml:"testcase"`
	} `xml:"testsuite"`
}

// junitCounts are the counts that suites and whole files have.
type junitCounts struct {
	Tests    int     `xml:"tests,attr"`
	Failures int     `xml:"failures,attr"`
	Errors   int     `xml:"errors,attr"`
	Skipped  int     `xml:"skipped,attr"`
	Time     float64 `xml:"time,attr"`
}

// junit returns the JUnit report, parsed and as text.
func junit(t *testing.T, r *contracttests.Report) (*junitFile, string) {
	t.Helper()
	var b bytes.Buffer
	if err := report.JUnit(&b, r); err != nil {
		t.Fatal(err)
	}
	file := &junitFile{}
	if err := xml.Unmarshal(b.Bytes(), file); err != nil {
		t.Fatal(err)
	}
	return file, b.String()
}

// TestJUnit checks the counts, the times and the cases of a JUnit report.
func TestJUnit(t *testing.T) {
	r := newSampler(t).newReport(60, false)
	file, _ := junit(t, r)
	if want := (junitCounts{60, 6, 0, 4, 41.26}); file.junitCounts != want {
		t.Errorf("in all %+v, want %+v", file.junitCounts, want)
	}
	at := 0
	for _, suite := range file.Suites {
		counts := junitCounts{}
		for _, c := range suite.Cases {
			want := r.Results[at]
			at++
			if c.Class+"/"+c.Name != want.ID() || suite.Name != want.Resource {
				t.Errorf("%s: %s %s, want %s", suite.Name, c.Class, c.Name, want.ID())
			}
			counts.Tests++
			counts.Time += c.Time
			if c.Failure != nil {
				counts.Failures++
			}
			if c.Skipped != nil {
				counts.Skipped++
			}
			if (c.Failure != nil) != (want.Status == contracttests.Failed) || (c.Skipped != nil) != (want.Status == contracttests.Skipped) {
				t.Errorf("%s: failure %v, skipped %v", want.ID(), c.Failure, c.Skipped)
			}
			if c.Skipped != nil && c.Skipped.Message != want.Reason {
				t.Errorf("%s has the reason %q", want.ID(), c.Skipped.Message)
			}
			if math.Abs(c.Time-want.Took.Seconds()) > 0.0005 {
				t.Errorf("%s took %f s, want %s", want.ID(), c.Time, want.Took)
			}
		}
		if math.Abs(counts.Time-suite.Time) > 0.001 {
			t.Errorf("%s took %f s, its cases %f s", suite.Name, suite.Time, counts.Time)
		}
		counts.Time = suite.Time
		if suite.junitCounts != counts {
			t.Errorf("%s says %+v and has %+v", suite.Name, suite.junitCounts, counts)
		}
		if suite.Timestamp != "2026-03-04T15:16:17" {
			t.Errorf("%s started at %s", suite.Name, suite.Timestamp)
		}
	}
	if at != len(r.Results) {
		t.Errorf("%d cases, want %d", at, len(r.Results))
	}
}

// TestJUnitFailures checks the messages and texts of failures.
func TestJUnitFailures(t *testing.T) {
	file, _ := junit(t, smallReport())
	f := file.Suites[0].Cases[1].Failure
	if want := "admin: PUT /customers/17: $.firstname: want Bea, got Ada, and 2 more"; f.Message != want {
		t.Errorf("message %q, want %q", f.Message, want)
	}
	for _, want := range []string{"\ncurl -sS -i", `it'\''s`, "    like: before\n", "    want contracttest-4711@example.com\n", "    got  contracttest-4712@example.com\n"} {
		if !strings.Contains(f.Text, want) {
			t.Errorf("lacks %q:\n%s", want, f.Text)
		}
	}
	for i, want := range []string{
		1: "customer_1: GET /customers/17: status: want 403, got 200",
		2: "admin: GET /customers/17: rendering of the body is another text",
		3: "admin: POST /products: no answer within 10 s",
	} {
		r := smallReport()
		r.Results[1].Failure = failures()[i]
		file, _ := junit(t, r)
		if got := file.Suites[0].Cases[1].Failure.Message; i > 0 && got != want {
			t.Errorf("message %q, want %q", got, want)
		}
	}
}

// TestJUnitEscapesHostileText checks that the report contains only characters of XML 1.0,
// because viewers refuse a file with others.
func TestJUnitEscapesHostileText(t *testing.T) {
	file, text := junit(t, newSampler(t).hostileReport())
	for _, c := range text {
		if c != '\n' && c != '\t' && c < 0x20 || c >= 0x7f && c < 0xa0 || c == 0xfffe || c == 0xffff || c == utf8.RuneError {
			t.Fatalf("%U is written", c)
		}
	}
	if found := regexp.MustCompile(`&#x?0*(1b|27|0|7);`).FindString(strings.ToLower(text)); found != "" {
		t.Errorf("%s is written", found)
	}
	if want := `</script><script>document.title="run"</script>`; !strings.HasPrefix(file.Suites[1].Name, want) {
		t.Errorf("the name %q has no %s", file.Suites[1].Name, want)
	}
	if want := strconv.Quote("\x1b[31m"); !strings.Contains(file.Suites[1].Name, want[1:len(want)-1]) {
		t.Errorf("the name %q has no %s", file.Suites[1].Name, want)
	}
}

// TestWriteErrors checks that all reports return the errors of their writer.
func TestWriteErrors(t *testing.T) {
	full := errors.New("no space")
	r := newSampler(t).newReport(60, false)
	for _, tt := range []struct {
		name  string
		write func(io.Writer, *contracttests.Report) error
	}{
		{"Table", func(w io.Writer, r *contracttests.Report) error { return report.Table(w, r, false, false) }},
		{"JSON", report.JSON},
		{"JUnit", report.JUnit},
		{"HTML", report.HTML},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, room := range []int{0, 3000} {
				if err := tt.write(&limitedWriter{room, full}, r); !errors.Is(err, full) {
					t.Errorf("after %d bytes: %v, want %v", room, err, full)
				}
			}
		})
	}
}

// A limitedWriter accepts a limited number of bytes and then returns an error.
type limitedWriter struct {
	room int
	full error
}

func (d *limitedWriter) Write(p []byte) (int, error) {
	if len(p) > d.room {
		return d.room, d.full
	}
	d.room -= len(p)
	return len(p), nil
}
