package report

import (
	"cmp"
	"fmt"
	"github.com/portico-commerce/portico/contracttests"
	"slices"
	"strings"
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
	covered := fmt.Sprintf("coverage: %d of %s of the document", c.Covered, plural(c.Rows, "row"))
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
