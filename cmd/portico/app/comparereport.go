package app

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/portico-commerce/portico/mapping/compare"
)

const (
	maxExamples     = 3   // for one field of one call
	maxRequestBytes = 300 // bytes
	maxValueChars   = 70  // characters of a value in the table
)

// A comparison holds the differences between the answers of two systems to the same
// requests. It is encoded as the JSON report. After the last call of add or leaveOut,
// finish fills the exported lists.
type comparison struct {
	Legacy    string    `json:"legacy"`    // base URLs
	Candidate string    `json:"candidate"` //
	Started   time.Time `json:"started"`   // UTC
	Took      float64   `json:"took"`      // seconds
	Compared  int       `json:"compared"`  // requests that both systems got
	Different int       `json:"different"` // how many of them were answered differently
	// Calls and Fields are sorted by name, LeftOut by the number of requests.
	Calls   []callCount  `json:"calls"`
	Fields  []fieldCount `json:"fields"`
	LeftOut []leftOut    `json:"left_out"`

	calls   map[string]*callCount
	fields  map[[2]string]*fieldCount
	leftOut map[string]*leftOut
}

// A callCount counts how often a call was compared.
type callCount struct {
	Call      string `json:"call"` // as "portico routes" names it, or other
	Compared  int    `json:"compared"`
	Different int    `json:"different"`
}

// Equal returns the number of requests with equal answers.
func (c callCount) Equal() int { return c.Compared - c.Different }

// A fieldCount counts how often a field of a call differed.
type fieldCount struct {
	Call    string `json:"call"`
	Field   string `json:"field"`
	Answers int    `json:"answers"` // number of requests whose answers differ in the field
	// Examples has the first requests with the difference, at most maxExamples.
	Examples []example `json:"examples"`
}

// An example is a request and one difference between its answers.
type example struct {
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
func newComparison(legacy, candidate string) *comparison {
	return &comparison{
		Legacy: legacy, Candidate: candidate, Started: time.Now().UTC(),
		calls: map[string]*callCount{}, fields: map[[2]string]*fieldCount{}, leftOut: map[string]*leftOut{},
	}
}

// leaveOut counts a request that is not sent, with the reason.
func (c *comparison) leaveOut(reason, request string) {
	if c.leftOut[reason] == nil {
		c.leftOut[reason] = &leftOut{Reason: reason, Example: shorten(request)}
	}
	c.leftOut[reason].Requests++
}

// leftOutReasons returns the sorted reasons for which requests were left out, in one text.
func (c *comparison) leftOutReasons() string {
	return strings.Join(slices.Sorted(maps.Keys(c.leftOut)), "; ")
}

// add records the answers to the request with index number of the plan, which makes call.
// base describes the request; differences is empty if the answers are equal.
func (c *comparison) add(number int, base example, call string, differences []compare.Difference) {
	if c.calls[call] == nil {
		c.calls[call] = &callCount{Call: call}
	}
	c.Compared++
	c.calls[call].Compared++
	if len(differences) == 0 {
		return
	}
	c.Different++
	c.calls[call].Different++
	base.number, base.Request = number, shorten(base.Request)
	seen := map[string]bool{}
	for _, d := range differences {
		if seen[d.Field] { // count each field once for an answer
			continue
		}
		seen[d.Field] = true
		count := c.fields[[2]string{call, d.Field}]
		if count == nil {
			count = &fieldCount{Call: call, Field: d.Field}
			c.fields[[2]string{call, d.Field}] = count
		}
		count.Answers++
		single := base
		single.Record, single.Legacy, single.Candidate = d.Record, d.Legacy, d.Candidate
		// Requests end in any order. Sorting makes equal differences give equal reports.
		count.Examples = append(count.Examples, single)
		slices.SortFunc(count.Examples, func(a, b example) int { return cmp.Compare(a.number, b.number) })
		count.Examples = count.Examples[:min(len(count.Examples), maxExamples)]
	}
}

// finish sets the duration and fills the sorted lists of the report.
func (c *comparison) finish() {
	c.Took = time.Since(c.Started).Seconds()
	c.Calls, c.Fields, c.LeftOut = []callCount{}, []fieldCount{}, []leftOut{}
	for _, name := range slices.Sorted(maps.Keys(c.calls)) {
		c.Calls = append(c.Calls, *c.calls[name])
	}
	for _, f := range c.fields {
		c.Fields = append(c.Fields, *f)
	}
	slices.SortFunc(c.Fields, func(a, b fieldCount) int {
		return cmp.Or(cmp.Compare(a.Call, b.Call), cmp.Compare(a.Field, b.Field))
	})
	for _, l := range c.leftOut {
		c.LeftOut = append(c.LeftOut, *l)
	}
	slices.SortFunc(c.LeftOut, func(a, b leftOut) int {
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), cmp.Compare(a.Reason, b.Reason))
	})
}

// shorten truncates a request, which is ASCII, to maxRequestBytes.
func shorten(request string) string {
	if len(request) > maxRequestBytes {
		return request[:maxRequestBytes] + "…"
	}
	return request
}

// Verdict returns the result in one sentence.
func (c *comparison) Verdict() string {
	if c.Different == 0 {
		return fmt.Sprintf("All %d answers are equal", c.Compared)
	}
	return fmt.Sprintf("%d of %d answers differ", c.Different, c.Compared)
}

// summary formats the example as one line with truncated values.
func (e *example) summary() string {
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
func (*example) Display(v *string) string {
	if v == nil {
		return "nothing"
	}
	return *v
}

// writeJSON writes the JSON report.
func (c *comparison) writeJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	return encoder.Encode(c)
}

// writeTable writes the report as a table for terminals.
func (c *comparison) writeTable(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if len(c.Fields) > 0 {
		fmt.Fprintln(table, "CALL\tFIELD\tANSWERS\tEXAMPLE (LEGACY → CANDIDATE)")
		for i := range c.Fields {
			f := &c.Fields[i]
			fmt.Fprintf(table, "%s\t%s\t%d of %d\t%s\n", f.Call, f.Field, f.Answers, c.calls[f.Call].Compared, f.Examples[0].summary())
		}
		fmt.Fprintln(table)
	}
	for _, l := range c.LeftOut {
		fmt.Fprintf(table, "left out: %d\t%s, such as %s\n", l.Requests, l.Reason, l.Example)
	}
	fmt.Fprintf(table, "%s: %s and %s, %.1f s\n", c.Verdict(), c.Legacy, c.Candidate, c.Took)
	return table.Flush()
}
