package main

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
	shownExamples = 3   // of one field of one call
	shownRequest  = 300 // bytes
	shownInLine   = 70  // characters of a value in the table
)

// A comparison is what two systems answered to the same requests. It is the JSON
// report.
type comparison struct {
	Legacy    string    `json:"legacy"`    // base URLs
	Candidate string    `json:"candidate"` //
	Started   time.Time `json:"started"`   // UTC
	Took      float64   `json:"took"`      // seconds
	Compared  int       `json:"compared"`  // requests that both were asked
	Different int       `json:"different"` // how many of them were answered differently
	// Calls and Fields are sorted by name, LeftOut by how often.
	Calls   []callCount  `json:"calls"`
	Fields  []fieldCount `json:"fields"`
	LeftOut []leftOut    `json:"left_out"`

	calls   map[string]*callCount
	fields  map[[2]string]*fieldCount
	leftOut map[string]*leftOut
}

// A callCount is how often a call was compared.
type callCount struct {
	Call      string `json:"call"` // as "portico routes" names it, or other
	Compared  int    `json:"compared"`
	Different int    `json:"different"`
}

// Equal returns how often the answers were.
func (c callCount) Equal() int { return c.Compared - c.Different }

// A fieldCount is how often a field of a call differed.
type fieldCount struct {
	Call    string `json:"call"`
	Field   string `json:"field"`
	Answers int    `json:"answers"` // in how many answers
	// Examples are of the first requests with the difference, three at most.
	Examples []example `json:"examples"`
}

// An example is a request and one difference of its answers.
type example struct {
	As      string `json:"as"`
	Request string `json:"request"` // method and target
	Accept  string `json:"accept,omitempty"`
	Curl    string `json:"curl"` // asks the candidate again; credentials are shell variables
	Record  string `json:"record,omitempty"`
	// Legacy and Candidate are the two values, texts quoted; null where there is none.
	Legacy    *string `json:"legacy"`
	Candidate *string `json:"candidate"`

	number int // of the request
}

// A leftOut is how many requests were not made, and why.
type leftOut struct {
	Reason   string `json:"reason"`
	Requests int    `json:"requests"`
	Example  string `json:"example"` // method and target of one
}

func newComparison(legacy, candidate string) *comparison {
	return &comparison{
		Legacy: legacy, Candidate: candidate, Started: time.Now().UTC(),
		calls: map[string]*callCount{}, fields: map[[2]string]*fieldCount{}, leftOut: map[string]*leftOut{},
	}
}

func (c *comparison) leaveOut(reason, request string) {
	if c.leftOut[reason] == nil {
		c.leftOut[reason] = &leftOut{Reason: reason, Example: shorten(request)}
	}
	c.leftOut[reason].Requests++
}

// reasons tells why requests were left out.
func (c *comparison) reasons() string {
	return strings.Join(slices.Sorted(maps.Keys(c.leftOut)), "; ")
}

// add adds what differed in the answers to the request with a number.
func (c *comparison) add(number int, of example, call string, differences []compare.Difference) {
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
	of.number, of.Request = number, shorten(of.Request)
	seen := map[string]bool{}
	for _, d := range differences {
		if seen[d.Field] { // once for an answer
			continue
		}
		seen[d.Field] = true
		f := c.fields[[2]string{call, d.Field}]
		if f == nil {
			f = &fieldCount{Call: call, Field: d.Field}
			c.fields[[2]string{call, d.Field}] = f
		}
		f.Answers++
		one := of
		one.Record, one.Legacy, one.Candidate = d.Record, d.Legacy, d.Candidate
		// Requests end in any order, and reports of the same differences are the same.
		f.Examples = append(f.Examples, one)
		slices.SortFunc(f.Examples, func(a, b example) int { return cmp.Compare(a.number, b.number) })
		f.Examples = f.Examples[:min(len(f.Examples), shownExamples)]
	}
}

// end makes the lists of the report.
func (c *comparison) end() {
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

// shorten cuts off the end of a long request. Its characters are ASCII.
func shorten(request string) string {
	if len(request) > shownRequest {
		return request[:shownRequest] + "…"
	}
	return request
}

// Verdict says it in one sentence.
func (c *comparison) Verdict() string {
	if c.Different == 0 {
		return fmt.Sprintf("All %d answers are equal", c.Compared)
	}
	return fmt.Sprintf("%d of %d answers differ", c.Different, c.Compared)
}

// line tells an example in one line.
func (e *example) line() string {
	text := e.As + ": " + e.Request
	if e.Record != "" {
		text += ", record " + e.Record
	}
	short := func(v *string) string {
		all := []rune(e.Told(v))
		if len(all) > shownInLine {
			return string(all[:shownInLine]) + "…"
		}
		return string(all)
	}
	return text + ": " + short(e.Legacy) + " → " + short(e.Candidate)
}

// Told returns one of the two values for people to read.
func (*example) Told(v *string) string {
	if v == nil {
		return "nothing"
	}
	return *v
}

// writeJSON writes the report for programs.
func (c *comparison) writeJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	return encoder.Encode(c)
}

// writeTable writes what a terminal shows.
func (c *comparison) writeTable(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if len(c.Fields) > 0 {
		fmt.Fprintln(table, "CALL\tFIELD\tANSWERS\tEXAMPLE (LEGACY → CANDIDATE)")
		for i := range c.Fields {
			f := &c.Fields[i]
			fmt.Fprintf(table, "%s\t%s\t%d of %d\t%s\n", f.Call, f.Field, f.Answers, c.calls[f.Call].Compared, f.Examples[0].line())
		}
		fmt.Fprintln(table)
	}
	for _, l := range c.LeftOut {
		fmt.Fprintf(table, "left out: %d\t%s, such as %s\n", l.Requests, l.Reason, l.Example)
	}
	fmt.Fprintf(table, "%s: %s and %s, %.1f s\n", c.Verdict(), c.Legacy, c.Candidate, c.Took)
	return table.Flush()
}
