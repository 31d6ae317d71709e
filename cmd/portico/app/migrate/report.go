package migrate

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/portico-commerce/portico/mapping/legacy/compare"
)

const (
	maxExamples     = 3   // for one field of one call
	maxRequestBytes = 300 // bytes
	maxValueChars   = 70  // characters of a value in the table
	maxOneSidedKeys = 20  // records of one list that are named
)

// A Report holds the differences between the answers of two systems to the same
// requests. It is encoded as the JSON report. After the last call of the methods that add
// to it, finish fills the exported lists.
type Report struct {
	Legacy    string    `json:"legacy"`    // base URLs
	Candidate string    `json:"candidate"` //
	Started   time.Time `json:"started"`   // UTC
	Took      float64   `json:"took"`      // seconds
	Compared  int       `json:"compared"`  // requests that both systems got
	Different int       `json:"different"` // how many of them were answered differently
	// Expected is the number of requests with only differences that expectations accept.
	Expected int `json:"expected,omitempty"`
	// Lost is the number of lists that could not be read to their end.
	Lost int `json:"lost,omitempty"`
	// Sweep is the coverage of a sweep, nil if recorded requests were compared.
	Sweep *sweepCoverage `json:"sweep,omitempty"`
	// Calls and Fields are sorted by name, LeftOut by the number of requests.
	Calls   []callCount  `json:"calls"`
	Fields  []FieldCount `json:"fields"`
	LeftOut []leftOut    `json:"left_out"`
	// OneSided is sorted by resource, caller and system, Expectations has the order of
	// their file.
	OneSided     []OneSided         `json:"one_sided,omitempty"`
	Expectations []expectationCount `json:"expectations,omitempty"`
	// Prices counts the prices with and without tax that differ.
	Prices priceCounts `json:"prices,omitzero"`

	calls    map[string]*callCount
	fields   map[[2]string]*FieldCount
	leftOut  map[string]*leftOut
	oneSided map[[3]string]*OneSided
	resumed  time.Time // when this run began
	before   float64   // seconds that earlier runs took
}

// OneSided counts the records of a list that only one system has.
type OneSided struct {
	Resource string   `json:"resource"`
	As       string   `json:"as"`
	Only     string   `json:"only"` // legacy or candidate
	Records  int      `json:"records"`
	Keys     []string `json:"keys"` // the first ones, at most maxOneSidedKeys
}

// An expectationCount counts the answers whose differences an expectation accepted.
type expectationCount struct {
	Call     string `json:"call,omitempty"` // call or resource
	Resource string `json:"resource,omitempty"`
	Field    string `json:"field"`
	Record   string `json:"record,omitempty"`
	Reason   string `json:"reason"`
	Answers  int    `json:"answers"` // number of requests whose answers differ as expected
}

// A callCount counts the comparisons of a call.
type callCount struct {
	Call      string `json:"call"` // as "portico routes" names it, or other
	Compared  int    `json:"compared"`
	Different int    `json:"different"`
	Expected  int    `json:"expected,omitempty"`
}

// Equal returns the number of requests with equal answers.
func (c callCount) Equal() int { return c.Compared - c.Different - c.Expected }

// A FieldCount counts the answers in which a field of a call differed.
type FieldCount struct {
	Call    string `json:"call"`
	Field   string `json:"field"`
	Answers int    `json:"answers"` // number of requests whose answers differ in the field
	// Examples has the first requests with the difference, at most maxExamples.
	Examples []Example `json:"examples"`
}

// An Example is a request and one difference between its answers.
type Example struct {
	As      string `json:"as"`
	Request string `json:"request"` // method and target
	Accept  string `json:"accept,omitempty"`
	Curl    string `json:"curl"` // sends the request to the candidate; credentials are shell variables
	Record  string `json:"record,omitempty"`
	// Legacy and Candidate are the two values, with texts in quotes; null for no value.
	Legacy    *string `json:"legacy"`
	Candidate *string `json:"candidate"`

	number int // index of the request in the plan
}

// A leftOut counts the requests that were not sent for one reason.
type leftOut struct {
	Reason   string `json:"reason"`
	Requests int    `json:"requests"`
	Example  string `json:"example"` // method and target of one
}

// newComparison returns an empty comparison of the systems with the given base URLs, which
// starts now.
func newComparison(legacy, candidate string) *Report {
	now := time.Now()
	return &Report{
		Legacy: legacy, Candidate: candidate, Started: now.UTC(), resumed: now,
		calls: map[string]*callCount{}, fields: map[[2]string]*FieldCount{}, leftOut: map[string]*leftOut{}, oneSided: map[[3]string]*OneSided{},
	}
}

// expect lists the expectations, which have accepted nothing yet.
func (c *Report) expect(all *compare.Expectations) {
	for _, x := range all.All() {
		c.Expectations = append(c.Expectations, expectationCount{Call: x.Call, Resource: x.Resource, Field: x.Field, Record: x.Record, Reason: x.Reason})
	}
}

// restore continues from the report of an earlier run, which snapshot returned, with the
// same expectations.
func (c *Report) restore(report json.RawMessage) error {
	decoder := json.NewDecoder(bytes.NewReader(report))
	decoder.DisallowUnknownFields()
	restored := newComparison(c.Legacy, c.Candidate)
	if err := decoder.Decode(restored); err != nil {
		return err
	}
	if len(restored.Expectations) != len(c.Expectations) || restored.Sweep == nil {
		return errors.New("it is not the report of this sweep")
	}
	restored.before = restored.Took
	for _, count := range restored.Calls {
		restored.calls[count.Call] = &count
	}
	for _, count := range restored.Fields {
		if len(count.Examples) == 0 || restored.calls[count.Call] == nil {
			return errors.New("a difference has no example")
		}
		restored.fields[[2]string{count.Call, count.Field}] = &count
	}
	for _, left := range restored.LeftOut {
		restored.leftOut[left.Reason] = &left
	}
	for _, only := range restored.OneSided {
		restored.oneSided[[3]string{only.Resource, only.As, only.Only}] = &only
	}
	*c = *restored
	return nil
}

// leaveOut counts a request that is not sent, with the reason.
func (c *Report) leaveOut(reason, request string) {
	if c.leftOut[reason] == nil {
		c.leftOut[reason] = &leftOut{Reason: reason, Example: shorten(request)}
	}
	c.leftOut[reason].Requests++
}

// lose counts a list that could not be read to its end.
func (c *Report) lose(reason, request string) {
	c.leaveOut(reason, request)
	c.Lost++
}

// addOneSided counts the records that only one system has, among the differences of a list.
func (c *Report) addOneSided(resource, as string, differences []compare.Difference) {
	for _, d := range differences {
		if d.Field != "records" {
			continue
		}
		only := "legacy"
		if d.Legacy == nil {
			only = "candidate"
		}
		at := [3]string{resource, as, only}
		count := c.oneSided[at]
		if count == nil {
			count = &OneSided{Resource: resource, As: as, Only: only}
			c.oneSided[at] = count
		}
		count.Records++
		count.Keys = append(count.Keys, d.Record)
		slices.SortFunc(count.Keys, naturally)
		count.Keys = count.Keys[:min(len(count.Keys), maxOneSidedKeys)]
	}
}

// naturally compares texts so that the numbers in them ascend: a shorter text is less.
func naturally(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }

// leftOutReasons returns the sorted reasons for which requests were left out, in one text.
func (c *Report) leftOutReasons() string {
	return strings.Join(slices.Sorted(maps.Keys(c.leftOut)), "; ")
}

// add records the answers to the request with index number of the plan, which makes call.
// base describes the request; differences is empty if the answers are equal, apart from
// differences that the expectations with the given indexes accept.
func (c *Report) add(number int, base Example, call string, differences []compare.Difference, expected map[int]bool) {
	if c.calls[call] == nil {
		c.calls[call] = &callCount{Call: call}
	}
	c.Compared++
	c.calls[call].Compared++
	for index := range expected {
		c.Expectations[index].Answers++
	}
	if len(differences) == 0 {
		if len(expected) > 0 {
			c.Expected++
			c.calls[call].Expected++
		}
		return
	}
	c.Different++
	c.calls[call].Different++
	c.Prices.add(differences)
	base.number, base.Request = number, shorten(base.Request)
	seen := map[string]bool{}
	for _, d := range differences {
		if seen[d.Field] { // count each field once for an answer
			continue
		}
		seen[d.Field] = true
		count := c.fields[[2]string{call, d.Field}]
		if count == nil {
			count = &FieldCount{Call: call, Field: d.Field}
			c.fields[[2]string{call, d.Field}] = count
		}
		count.Answers++
		single := base
		single.Record, single.Legacy, single.Candidate = d.Record, d.Legacy, d.Candidate
		// Requests end in any order. Sorting makes equal differences give equal reports.
		count.Examples = append(count.Examples, single)
		slices.SortFunc(count.Examples, func(a, b Example) int {
			return cmp.Or(cmp.Compare(a.number, b.number), naturally(a.Request, b.Request), cmp.Compare(a.As, b.As), cmp.Compare(a.Accept, b.Accept))
		})
		count.Examples = count.Examples[:min(len(count.Examples), maxExamples)]
	}
}

// finish sets the duration and fills the sorted lists of the report.
func (c *Report) finish() {
	c.Took = c.before + time.Since(c.resumed).Seconds()
	c.Calls, c.Fields, c.LeftOut, c.OneSided = []callCount{}, []FieldCount{}, []leftOut{}, nil
	for _, name := range slices.Sorted(maps.Keys(c.calls)) {
		c.Calls = append(c.Calls, *c.calls[name])
	}
	for _, f := range c.fields {
		c.Fields = append(c.Fields, *f)
	}
	slices.SortFunc(c.Fields, func(a, b FieldCount) int {
		return cmp.Or(cmp.Compare(a.Call, b.Call), cmp.Compare(a.Field, b.Field))
	})
	for _, l := range c.leftOut {
		c.LeftOut = append(c.LeftOut, *l)
	}
	slices.SortFunc(c.LeftOut, func(a, b leftOut) int {
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), cmp.Compare(a.Reason, b.Reason))
	})
	for _, only := range c.oneSided {
		c.OneSided = append(c.OneSided, *only)
	}
	slices.SortFunc(c.OneSided, func(a, b OneSided) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.As, b.As), cmp.Compare(a.Only, b.Only))
	})
}

// Failed reports whether the systems differ, or may differ because a list could not be read.
func (c *Report) Failed() bool { return c.Different > 0 || c.Lost > 0 }

// shorten truncates a request, which is ASCII, to maxRequestBytes.
func shorten(request string) string {
	if len(request) > maxRequestBytes {
		return request[:maxRequestBytes] + "…"
	}
	return request
}

// Verdict returns the result in one sentence.
func (c *Report) Verdict() string {
	verdict := fmt.Sprintf("All %d answers are equal", c.Compared)
	if c.Different > 0 {
		verdict = fmt.Sprintf("%d of %d answers differ", c.Different, c.Compared)
	}
	if c.Expected > 0 {
		verdict += fmt.Sprintf(", and %d as expected", c.Expected)
		if c.Different == 0 {
			verdict = fmt.Sprintf("All %d answers are equal, apart from %d that differ as expected", c.Compared, c.Expected)
		}
	}
	if c.Lost > 0 {
		verdict += fmt.Sprintf("; %d lists could not be read to their end", c.Lost)
	}
	return verdict
}

// summary formats the example as one line with truncated values.
func (e *Example) summary() string {
	text := e.As + ": " + e.Request
	if e.Record != "" {
		text += ", record " + e.Record
	}
	shorten := func(v *string) string {
		runes := []rune(e.Display(v))
		if len(runes) > maxValueChars {
			return string(runes[:maxValueChars]) + "…"
		}
		return string(runes)
	}
	return text + ": " + shorten(e.Legacy) + " → " + shorten(e.Candidate)
}

// Display returns one of the two values for display; nil becomes "nothing".
func (*Example) Display(v *string) string {
	if v == nil {
		return "nothing"
	}
	return *v
}

// List returns the keys of the records, followed by "…" if some are not listed.
func (o OneSided) List() string {
	list := strings.Join(o.Keys, ", ")
	if o.Records > len(o.Keys) {
		list += ", …"
	}
	return list
}

// Where names the call or resource, the field and the record to which the expectation applies.
func (x expectationCount) Where() string {
	where := cmp.Or(x.Call, x.Resource) + " " + x.Field
	if x.Record != "" {
		where += ", record " + x.Record
	}
	return where
}

// Matched returns the number of answers that met the expectation, and its reason.
func (x expectationCount) Matched() string {
	if x.Answers == 0 {
		return "never found: " + x.Reason
	}
	return fmt.Sprintf("%d answers: %s", x.Answers, x.Reason)
}

// writeJSON writes the JSON report.
func (c *Report) writeJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	return encoder.Encode(c)
}

// writeTable writes the report as a table for terminals.
func (c *Report) writeTable(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if len(c.Fields) > 0 {
		fmt.Fprintln(table, "CALL\tFIELD\tANSWERS\tEXAMPLE (LEGACY → CANDIDATE)")
		for i := range c.Fields {
			f := &c.Fields[i]
			fmt.Fprintf(table, "%s\t%s\t%d of %d\t%s\n", f.Call, f.Field, f.Answers, c.calls[f.Call].Compared, f.Examples[0].summary())
		}
		fmt.Fprintln(table)
	}
	for _, o := range c.OneSided {
		fmt.Fprintf(table, "only in the %s: %d %s as %s\t%s\n", o.Only, o.Records, o.Resource, o.As, o.List())
	}
	for _, x := range c.Expectations {
		fmt.Fprintf(table, "expected: %s\t%s\n", x.Where(), x.Matched())
	}
	if c.Sweep != nil {
		fmt.Fprintf(table, "swept: %s\n", c.Sweep)
	}
	for _, l := range c.LeftOut {
		fmt.Fprintf(table, "left out: %d\t%s, such as %s\n", l.Requests, l.Reason, l.Example)
	}
	for _, hint := range c.Hints() {
		fmt.Fprintf(table, "hint: %s\n", hint)
	}
	fmt.Fprintf(table, "%s: %s and %s, %.1f s\n", c.Verdict(), c.Legacy, c.Candidate, c.Took)
	return table.Flush()
}

var (
	//go:embed compare.html
	comparePage string
	//go:embed compare.css
	compareStyle string
)

// writeHTML writes the report as a self-contained page. Its content security policy allows only its
// own style sheet.
func (c *Report) writeHTML(w io.Writer) error {
	page, err := template.New("compare").Parse(comparePage)
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(compareStyle))
	return page.Execute(w, struct {
		*Report
		Policy string
		Style  template.CSS
	}{c, "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'", template.CSS(compareStyle)})
}

// CallCount returns the counts of call. The HTML template calls it.
func (c *Report) CallCount(call string) callCount { return *c.calls[call] }
