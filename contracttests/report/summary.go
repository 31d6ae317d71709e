package report

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/portico-commerce/portico/contracttests"
)

// A clauseState is the outcome of a clause over all results that cover it. It is also the
// name of its CSS class, with hyphens in place of blanks.
type clauseState string

const (
	failed     clauseState = "failed"     // at least one run failed
	passed     clauseState = "passed"     // at least one run passed, and none failed
	skipped    clauseState = "skipped"    // all runs were skipped
	untestable clauseState = "untestable" // no case can test it
	notRun     clauseState = "not run"    // no selected case covers it
)

// stateOf returns the outcome of a clause. One failed run makes the clause failed, and
// one passed run outweighs skipped ones.
func stateOf(c *contracttests.Coverage) clauseState {
	switch {
	case c.Failed > 0:
		return failed
	case c.Passed > 0:
		return passed
	case c.Skipped > 0:
		return skipped
	case c.Untestable != "":
		return untestable
	default:
		return notRun
	}
}

// A coverage counts the rows of the contract document's tables by the outcome of their
// clauses. Covered rows are the rows that passed or failed.
type coverage struct {
	Rows, Covered, Skipped, NotRun int
	Untestable                     []reason
}

// A reason is a text that explains why something was not tested, with the number of
// occurrences.
type reason struct {
	Text  string
	Count int
	IDs   []string // IDs of the skipped runs
}

// newCoverage returns the coverage of a report.
func newCoverage(r *contracttests.Report) coverage {
	var c coverage
	var untestableReasons []reason
	for i := range r.Clauses {
		clause := &r.Clauses[i]
		c.Rows += clause.Rows
		switch stateOf(clause) {
		case failed, passed:
			c.Covered += clause.Rows
		case skipped:
			c.Skipped += clause.Rows
		case notRun:
			c.NotRun += clause.Rows
		case untestable:
			untestableReasons = append(untestableReasons, reason{Text: printableLine(clause.Untestable), Count: clause.Rows})
		}
	}
	c.Untestable = mergeReasons(untestableReasons)
	return c
}

// String returns the coverage as one line of text.
func (c coverage) String() string {
	covered := fmt.Sprintf("coverage: %d of %s in the tables of the contract document", c.Covered, plural(c.Rows, "row"))
	return strings.Join(append([]string{covered}, c.gapTexts()...), "; ")
}

// gapTexts returns a text for each group of rows that were not covered.
func (c coverage) gapTexts() []string {
	var parts []string
	for _, u := range c.Untestable {
		parts = append(parts, fmt.Sprintf("%d cannot be tested: %s", u.Count, u.Text))
	}
	if c.Skipped > 0 {
		parts = append(parts, fmt.Sprintf("%d only skipped", c.Skipped))
	}
	if c.NotRun > 0 {
		parts = append(parts, fmt.Sprintf("%d not run", c.NotRun))
	}
	return parts
}

// skipReasons returns the reasons why runs were skipped, the most frequent first.
func skipReasons(r *contracttests.Report) []reason {
	var all []reason
	for i := range r.Results {
		if one := &r.Results[i]; one.Status == contracttests.Skipped {
			text := cmp.Or(printableLine(truncate(one.Reason, maxPart)), "no reason given")
			all = append(all, reason{Text: text, Count: 1, IDs: []string{printableLine(one.ID())}})
		}
	}
	return mergeReasons(all)
}

// mergeReasons merges reasons with equal texts, and sorts them by count, the highest
// first.
func mergeReasons(all []reason) []reason {
	var merged []reason
	at := map[string]int{}
	for _, one := range all {
		i, ok := at[one.Text]
		if !ok {
			at[one.Text] = len(merged)
			merged = append(merged, one)
			continue
		}
		merged[i].Count += one.Count
		merged[i].IDs = append(merged[i].IDs, one.IDs...)
	}
	slices.SortStableFunc(merged, func(a, b reason) int { return b.Count - a.Count })
	return merged
}

// A section is a group of clauses with the same prefix before the colon of their name.
type section struct {
	Name    string
	Clauses []*contracttests.Coverage
}

// groupClauses returns the clauses of a report grouped by the prefix of their name, in
// the order of the contract document.
func groupClauses(r *contracttests.Report) []section {
	var all []section
	at := map[string]int{}
	for i := range r.Clauses {
		c := &r.Clauses[i]
		name, _, _ := strings.Cut(c.Clause, ": ")
		if _, ok := at[name]; !ok {
			at[name] = len(all)
			all = append(all, section{Name: name})
		}
		all[at[name]].Clauses = append(all[at[name]].Clauses, c)
	}
	return all
}

// count returns the number of clauses with the given state.
func (s section) count(state clauseState) int {
	n := 0
	for _, c := range s.Clauses {
		if stateOf(c) == state {
			n++
		}
	}
	return n
}

// A tally counts runs by status. A run is one case in one format.
type tally struct{ Passed, Failed, Skipped int }

// add counts a run with status s.
func (t *tally) add(s contracttests.Status) {
	switch s {
	case contracttests.Passed:
		t.Passed++
	case contracttests.Failed:
		t.Failed++
	case contracttests.Skipped:
		t.Skipped++
	}
}

// All returns the number of runs.
func (t tally) All() int { return t.Passed + t.Failed + t.Skipped }

// newTally returns the counts of a report.
func newTally(r *contracttests.Report) tally {
	return tally{r.Count(contracttests.Passed), r.Count(contracttests.Failed), r.Count(contracttests.Skipped)}
}

func (t tally) String() string {
	return fmt.Sprintf("%s: %d passed, %d failed, %d skipped", plural(t.All(), "run"), t.Passed, t.Failed, t.Skipped)
}

// verdict returns the word for the outcome of all runs. If none failed and none passed,
// the outcome is not "passed".
func (t tally) verdict() string {
	switch {
	case t.Failed > 0:
		return "failed"
	case t.Passed == 0:
		return "nothing tested"
	default:
		return "passed"
	}
}

// A cause is a group of failures that have a deviation in common: the same kind of
// difference at the same place.
type cause struct {
	Text     string // the deviation on one printable line
	Failures []*contracttests.Result
	// more has, for each failure, whether it has other deviations than the first one.
	more   []bool
	silent string // the resource that does not answer, or ""
	form   bool   // what is wrong in every reply
}

// First returns the failure that is shown in full.
func (c *cause) First() *contracttests.Result { return c.Failures[0] }

// findCauses divides the failures of a report into as few causes as a greedy search finds:
// the deviation that most failures share comes first and takes these failures, and so on
// with the others. Of deviations that equally many share, the first in the report counts.
func (o *overview) findCauses(r *contracttests.Report) []cause {
	type failure struct {
		result     *contracttests.Result
		deviations []deviation
	}
	var open []failure
	for i := range r.Results {
		if one := &r.Results[i]; one.Status == contracttests.Failed {
			open = append(open, failure{one, o.deviationsOf(one.Failure)})
		}
	}
	var causes []cause
	for len(open) > 0 {
		counts := map[string]int{}
		var best deviation
		for _, f := range open {
			for _, d := range f.deviations {
				counts[d.key]++
			}
		}
		for _, f := range open {
			for _, d := range f.deviations {
				if counts[d.key] > counts[best.key] {
					best = d
				}
			}
		}
		found := cause{Text: best.text, silent: best.silent, form: best.form}
		var rest, grouped []failure
		for _, f := range open {
			if slices.ContainsFunc(f.deviations, func(d deviation) bool { return d.key == best.key }) {
				grouped = append(grouped, f)
			} else {
				rest = append(rest, f)
			}
		}
		for _, f := range grouped {
			found.Failures = append(found.Failures, f.result)
			found.more = append(found.more, slices.ContainsFunc(f.deviations, func(d deviation) bool {
				return !slices.ContainsFunc(grouped[0].deviations, func(first deviation) bool { return first.key == d.key })
			}))
		}
		causes, open = append(causes, found), rest
	}
	return causes
}

// A deviation is a kind of difference at a place. Deviations with the same key are equal.
type deviation struct {
	key, text string
	silent    string // see cause
	form      bool   // see cause
}

// deviationsOf returns the deviations of a failure, each once, and at least one. It leaves out what is
// wrong in every reply, and what follows from a refusal.
func (o *overview) deviationsOf(f *contracttests.Failure) []deviation {
	if f == nil {
		return []deviation{{key: "unknown", text: "the report has no details of the failure"}}
	}
	for _, s := range o.Silent {
		if resourceOf(o.table, f.Call) == s.Name {
			return []deviation{{key: "silent " + s.Name, text: "the resource " + s.Name + " does not answer", silent: s.Name}}
		}
	}
	for i := range f.Differences {
		if d := &f.Differences[i]; d.Where == "status" && d.Want < "400" && d.Got >= "400" {
			return []deviation{statusDeviation(d.Want, d.Got)}
		}
	}
	var all []deviation
	add := func(d deviation) {
		if !slices.ContainsFunc(all, func(other deviation) bool { return other.key == d.key }) {
			all = append(all, d)
		}
	}
	if f.Broken != "" {
		add(brokenDeviation(f.Broken))
	}
	for i := range f.Differences {
		d := &f.Differences[i]
		if !slices.ContainsFunc(o.Faults, func(fault formFault) bool { return fault.explains(d) }) {
			add(newDeviation(d))
		}
	}
	if len(all) == 0 && len(f.Differences) > 0 {
		add(deviation{key: "every reply", text: "nothing but what is wrong in every reply", form: true})
	}
	if len(all) == 0 {
		add(deviation{key: "not as expected", text: "not as expected"})
	}
	return all
}

// notCreated matches the failure of a prerequisite and the status of the reply.
var notCreated = regexp.MustCompile(`^\S+ could not be created: (\d{3}) `)

// variable matches the name of an object that a case needs, which many cases call
// differently.
var variable = regexp.MustCompile(`\{\{[^{}]*\}\}`)

// brokenDeviation returns the deviation of a failure without differences.
func brokenDeviation(broken string) deviation {
	if found := notCreated.FindStringSubmatch(broken); found != nil && found[1] < "400" {
		return deviation{key: "no Location", text: "the reply to a create has no Location with the id of the object"}
	} else if found != nil {
		return statusDeviation("200", found[1])
	}
	line, _, _ := strings.Cut(broken, "\n")
	line = variable.ReplaceAllString(line, "the object")
	return deviation{key: "broken " + mask(line), text: printableLine(truncate(line, maxPart))}
}

// newDeviation returns the deviation of one difference.
func newDeviation(d *contracttests.Difference) deviation {
	place := placeOf(d.Where)
	shown := printableLine(truncate(place, maxPart))
	switch {
	case place == "status":
		return statusDeviation(d.Want, d.Got)
	case place == "rendering of the body":
		return deviation{key: place, text: "the body has the right content, but another spelling or other blanks than the contract requires"}
	case place == "body":
		if want := printableLine(d.Want); want == "JSON" || want == "XML" || want == "form" {
			return deviation{key: "body\x00" + want, text: "the body is not " + want}
		}
		return deviation{key: "body", text: "the body is another text"}
	case place == "message" || place == "code" || !strings.HasPrefix(d.Where, "$"):
		text := fmt.Sprintf("%s: want %s, got %s", shown, shortValue(d.Want), shortValue(d.Got))
		var spans shownDifference
		spans.Want, spans.Got = markDifference(d.Want, d.Got)
		if note := spans.Note(); note != "" && !strings.Contains(d.Want+d.Got, "\n") {
			text += ": " + note
		}
		return deviation{key: place + "\x00" + mask(d.Want) + "\x00" + mask(d.Got), text: text}
	}
	if name, ok := strings.CutPrefix(d.Want, "field "); ok {
		return deviation{key: name + "\x00missing", text: printableLine(truncate(name, maxPart)) + ": the field is missing"}
	}
	if name, ok := strings.CutPrefix(d.Want, "no field "); ok {
		return deviation{key: name + "\x00unexpected", text: printableLine(truncate(name, maxPart)) + ": there must be no such field"}
	}
	if d.Got == "no such field" {
		return deviation{key: place + "\x00missing", text: shown + ": the field is missing"}
	}
	want, got := kindOf(d.Want), kindOf(d.Got)
	if want == got {
		return deviation{key: place + "\x00value", text: shown + ": another value is required"}
	}
	return deviation{key: place + "\x00" + want + "\x00" + got, text: fmt.Sprintf("%s: want %s, got %s", shown, shortValue(shownKind(d.Want)), shortValue(shownKind(d.Got)))}
}

// shownKind returns the type of a value, or the whole text of anything else.
func shownKind(s string) string {
	if describedValue.MatchString(s) {
		return kindOf(s)
	}
	return s
}

// statusDeviation returns the deviation of a status. If the server refuses the credentials
// or fails, the expected status does not matter.
func statusDeviation(want, got string) deviation {
	if code, err := strconv.Atoi(got); err == nil && (code == 401 || code >= 500) {
		return deviation{key: "status\x00" + got, text: "status: got " + printableLine(got) + " where another one is required"}
	}
	return deviation{key: "status\x00" + want + "\x00" + got, text: fmt.Sprintf("status: want %s, got %s", shortValue(want), shortValue(got))}
}

// placeOf returns the place of a difference: the last name in a path of the body, such as
// sku for $.17.sku and $[3].sku, "the body" for $ and $[3], the whole text otherwise.
func placeOf(where string) string {
	if !strings.HasPrefix(where, "$") {
		return where
	}
	parts := strings.FieldsFunc(where, func(r rune) bool { return r == '.' || r == '[' || r == ']' })
	for _, part := range slices.Backward(parts) {
		if strings.Trim(part, "0123456789") != "" {
			return part
		}
	}
	return "the body"
}

// describedValue matches a value as differences describe it: its type and its text.
var describedValue = regexp.MustCompile(`(?s)^(as before: )?(text|number|literal|record|list)( .*)?$`)

// kindOf returns the type of a value, or the text of anything else without the parts that
// vary from case to case.
func kindOf(s string) string {
	if found := describedValue.FindStringSubmatch(s); found != nil {
		return found[1] + "a " + found[2]
	}
	return mask(s)
}

var (
	uniqueName = regexp.MustCompile(`contracttest-[0-9A-Za-z-]+`)
	quoted     = regexp.MustCompile(`"[^"]*"`)
	numbers    = regexp.MustCompile(`[0-9]+`)
)

// mask returns the first part of a text without names, values and numbers that vary from
// case to case.
func mask(s string) string {
	s, _, _ = strings.Cut(s[:min(len(s), maxPart)], ": [")
	s = uniqueName.ReplaceAllString(s, "…")
	if strings.Contains(s, " ") { // not a value of its own
		s = quoted.ReplaceAllString(s, "…")
	}
	return numbers.ReplaceAllString(s, "…")
}

// maxCauseValue is the number of bytes that the text of a cause shows of a value.
const maxCauseValue = 160

// shortValue returns a value for the text of a cause.
func shortValue(s string) string {
	return cmp.Or(printableLine(truncate(s, maxCauseValue)), "nothing")
}
