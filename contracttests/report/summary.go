package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/portico-commerce/portico/contracttests"
)

// A state is what became of a clause.
type state string

const (
	failed  state = "failed"  // a run of a case failed
	passed  state = "passed"  // runs passed, and none failed
	skipped state = "skipped" // all runs were skipped
	unshown state = "unshown" // no case can show it
	notRun  state = "not run" // no case was selected that shows it
)

func stateOf(c *contracttests.Coverage) state {
	switch {
	case c.Failed > 0:
		return failed
	case c.Passed > 0:
		return passed
	case c.Skipped > 0:
		return skipped
	case c.Unshown != "":
		return unshown
	default:
		return notRun
	}
}

// A coverage says how much of the document a run showed, in rows of its tables.
type coverage struct {
	Rows, Covered, Skipped, NotRun int
	Unshown                        []reason
}

// A reason is why something was not shown, and how often.
type reason struct {
	Text  string
	Count int
	IDs   []string // of the runs that were skipped
}

func coverageOf(r *contracttests.Report) coverage {
	var c coverage
	var hidden []reason
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
		case unshown:
			hidden = append(hidden, reason{Text: visibleLine(clause.Unshown), Count: clause.Rows})
		}
	}
	c.Unshown = merge(hidden)
	return c
}

func (c coverage) String() string {
	covered := fmt.Sprintf("coverage: %d of %s of the document", c.Covered, plural(c.Rows, "row"))
	return strings.Join(append([]string{covered}, c.gaps()...), "; ")
}

// gaps tells of the rows that were not covered.
func (c coverage) gaps() []string {
	var parts []string
	for _, u := range c.Unshown {
		parts = append(parts, fmt.Sprintf("%d cannot be shown: %s", u.Count, u.Text))
	}
	if c.Skipped > 0 {
		parts = append(parts, fmt.Sprintf("%d only skipped", c.Skipped))
	}
	if c.NotRun > 0 {
		parts = append(parts, fmt.Sprintf("%d not run", c.NotRun))
	}
	return parts
}

// skips returns why runs were skipped, the most frequent reason first.
func skips(r *contracttests.Report) []reason {
	var all []reason
	for i := range r.Results {
		if one := &r.Results[i]; one.Status == contracttests.Skipped {
			text := cmp.Or(visibleLine(cut(one.Reason, maxPart)), "no reason given")
			all = append(all, reason{Text: text, Count: 1, IDs: []string{visibleLine(one.ID())}})
		}
	}
	return merge(all)
}

// merge returns each reason once, the most frequent first.
func merge(all []reason) []reason {
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

// A section is the clauses whose names begin alike: what stands before the colon.
type section struct {
	Name    string
	Clauses []*contracttests.Coverage
}

// sections returns them in the order in which the document has them.
func sections(r *contracttests.Report) []section {
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

// count returns how many clauses of the section are in the state.
func (s section) count(of state) int {
	n := 0
	for _, c := range s.Clauses {
		if stateOf(c) == of {
			n++
		}
	}
	return n
}

// A tally counts runs.
type tally struct{ Passed, Failed, Skipped int }

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

// All is how many runs there were.
func (t tally) All() int { return t.Passed + t.Failed + t.Skipped }

func tallyOf(r *contracttests.Report) tally {
	return tally{r.Count(contracttests.Passed), r.Count(contracttests.Failed), r.Count(contracttests.Skipped)}
}

func (t tally) String() string {
	return fmt.Sprintf("%s: %d passed, %d failed, %d skipped", plural(t.All(), "run"), t.Passed, t.Failed, t.Skipped)
}

// verdict is the word for the whole run. A run that showed nothing has not passed.
func (t tally) verdict() string {
	switch {
	case t.Failed > 0:
		return "failed"
	case t.Passed == 0:
		return "nothing shown"
	default:
		return "passed"
	}
}
