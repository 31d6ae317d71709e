package report

import (
	"bytes"
	"fmt"
	"github.com/portico-commerce/portico/contracttests"
	"io"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
)

const (
	maxExpect  = 4000 // bytes shown of an expected reply
	maxCommand = 64 << 10
	shownIDs   = 3 // IDs shown of the runs skipped for one reason
	// shownFailures is the number of IDs shown of the further failures of a cause.
	shownFailures = 20
)

// A color is the ANSI code of a color or style of text.
type color string

const (
	plain  color = ""
	bold   color = "1"
	dim    color = "2"
	red    color = "31"
	green  color = "32"
	yellow color = "33"
)

// A terminal is a buffer for text with or without ANSI colors.
type terminal struct {
	bytes.Buffer
	colored bool
}

// paint returns text in a color.
func (t *terminal) paint(c color, text string) string {
	if !t.colored || c == plain || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// writeLines writes the lines of text, all with the same indentation.
func (t *terminal) writeLines(indent int, c color, text string) {
	space := strings.Repeat(" ", indent)
	for l := range strings.SplitSeq(text, "\n") {
		fmt.Fprintln(t, space+t.paint(c, l))
	}
}

// Table writes the report for a terminal: the overview, the details of failures by cause, skipped
// runs, clauses, leftovers, coverage, and the overview in ten lines. Unless verbose is set, it shortens
// long lists and summarizes the passed clauses of each section in one line.
func Table(w io.Writer, r *contracttests.Report, colored, verbose bool) error {
	t := &terminal{colored: colored}
	o := newOverview(r)
	t.writeVerdict(o, r)
	t.writeOverview(o)
	if len(o.Causes) > 0 {
		t.writeLines(0, dim, legend)
		fmt.Fprintln(t)
	}
	for _, c := range o.Causes {
		t.writeCause(&c, r.Command, verbose)
	}
	t.writeSkips(skipReasons(r), verbose)
	t.writeClauses(groupClauses(r), verbose)
	t.writeLeftovers(r.Leftovers)

	covered := newCoverage(r)
	c := plain
	if covered.Skipped+covered.NotRun > 0 {
		c = yellow
	}
	t.writeLines(0, c, covered.String())
	t.writeEnd(o, r)
	_, err := w.Write(t.Bytes())
	return err
}

// legend explains the words of the details.
const legend = `The details of each cause. A run is one case in one format, and its name is FILE/CASE/FORMAT. A clause is a
sentence of the contract that the case tests: "contracttest list" has the text of each. guest, customer_1,
customer_2 and admin are the callers, from the file of credentials. $ is the body of the reply: $.sku is the
field sku of a record, $[0].sku that of the first record of a list, $.17.sku that of the record 17.`

// writeVerdict writes the outcome, the counts and the target on one line.
func (t *terminal) writeVerdict(o *overview, r *contracttests.Report) {
	c := red
	if o.Tally.verdict() == "passed" {
		c = green
	}
	fmt.Fprintf(t, "%s  %s in %.1f s, dialect %s, %s\n", t.paint(c, strings.ToUpper(o.Tally.verdict())),
		o.Tally, r.Took, printableLine(string(r.Dialect)), printableLine(r.URL))
}

// writeOverview writes what a reader needs first.
func (t *terminal) writeOverview(o *overview) {
	if len(o.Faults) > 0 {
		t.writeLines(0, bold, "\nWrong in every reply of its kind:")
		for _, f := range o.Faults {
			t.writeCount(f.Count(), f.Text())
		}
		if o.Alone > 0 {
			t.writeLines(2, plain, plural(o.Alone, "run")+" failed for nothing else.")
		}
		if entries := o.Entries(); len(entries) > 0 {
			t.writeLines(2, plain, "A case ends at its first wrong reply. To see what else is wrong, accept these for now: put the lines\ninto expected.yaml, and add --expect expected.yaml.")
			t.writeLines(0, plain, strings.Join(entries, "\n"))
		}
	}
	if len(o.Silent) > 0 {
		t.writeLines(0, bold, "\nResources that do not answer at all:")
		for _, s := range o.Silent {
			t.writeCount(plural(s.Calls, "call"), s.Text())
		}
		t.writeLines(2, plain, "To declare that they are not built yet:")
		t.writeLines(0, plain, o.GapsCommand())
	}
	if len(o.Accepted) > 0 {
		t.writeLines(0, bold, "\nAccepted differences, which fail no case:")
		for _, a := range o.Accepted {
			t.writeCount(fmt.Sprint(a.Count), a.Text)
		}
	}
	if len(o.Other) > 0 {
		t.writeLines(0, bold, "\nCauses, with the number of runs that failed for each:")
		for _, c := range o.Other {
			t.writeCount(fmt.Sprint(c.Count), c.Text)
		}
	}
	fmt.Fprintln(t)
}

// writeCount writes a line with a number in front.
func (t *terminal) writeCount(count, text string) {
	fmt.Fprintf(t, "%12s  %s\n", count, text)
}

const (
	endLines     = 10  // of the end of the report
	maxEndLine   = 150 // bytes of a line there
	maxEndFaults = 4
)

// writeEnd writes the overview in ten lines at most: the end of a long report is what a terminal
// shows.
func (t *terminal) writeEnd(o *overview, r *contracttests.Report) {
	t.writeVerdict(o, r)
	left := endLines - 1
	line := func(count, text string) {
		if left > 0 {
			t.writeCount(count, truncate(text, maxEndLine))
			left--
		}
	}
	for i, f := range o.Faults {
		if i == maxEndFaults-1 && len(o.Faults) > maxEndFaults {
			line("", fmt.Sprintf("and %d more faults of every reply", len(o.Faults)-i))
			break
		}
		line(f.Count(), f.Text())
	}
	if len(o.Silent) > 0 {
		line("no answer", o.silentNames())
	}
	for _, a := range o.Accepted[:min(1, len(o.Accepted))] {
		line("accepted", fmt.Sprintf("%s: %s", plural(a.Count, "difference"), a.Text))
	}
	for i, c := range o.Other {
		if left == 1 && i < len(o.Other)-1 {
			line("", fmt.Sprintf("and %s more: the report begins with all", plural(len(o.Other)-i, "cause")))
			break
		}
		line(fmt.Sprint(c.Count), c.Text)
	}
}

// writeCause writes the first failure of a cause in full, and the others by name. Unless
// all is set, it shortens a long list of names.
func (t *terminal) writeCause(c *cause, command string, all bool) {
	if n := len(c.Failures); n > 1 {
		t.writeLines(0, red, fmt.Sprintf("%d failures have this in common: %s", n, c.Text))
	}
	t.writeFailure(c.First(), command)
	if len(c.Failures) == 1 {
		return
	}
	t.writeLines(2, plain, "the same in:")
	others := c.Failures[1:]
	shown := others
	if !all && len(others) > shownFailures+1 {
		shown = others[:shownFailures]
	}
	for i, f := range shown {
		line := printableLine(f.ID())
		if c.more[i+1] {
			line += t.paint(dim, "  (and other differences)")
		}
		t.writeLines(4, plain, line)
	}
	if more := len(others) - len(shown); more > 0 {
		t.writeLines(4, dim, fmt.Sprintf("and %d more, which --verbose lists", more))
	}
	fmt.Fprintln(t)
}

// repeatCase returns the command that runs the case of a result again, or "".
func repeatCase(command string, r *contracttests.Result) string {
	if command == "" {
		return ""
	}
	return Pasteable(command + " --run " + contracttests.QuoteShell("^"+regexp.QuoteMeta(r.ID())+"$"))
}

// writeFailure writes everything that a user needs to understand and repeat a failure. command
// is the command of the run.
func (t *terminal) writeFailure(r *contracttests.Result, command string) {
	fmt.Fprintf(t, "%s  %s\n", t.paint(red, "FAILED"), t.paint(bold, printableLine(r.ID())))
	f := r.Failure
	if f == nil {
		t.writeLines(2, plain, "the report has no details of the failure")
		fmt.Fprintln(t)
		return
	}
	t.writeLines(2, plain, printableLine(failedCall(f)))
	if f.Clause != "" {
		t.writeLines(2, plain, printableLine("clause: "+f.Clause))
	}
	// The commands have lines to themselves, so that they are easy to copy.
	if again := repeatCase(command, r); again != "" {
		t.writeLines(2, dim, "repeat the case:")
		t.writeLines(0, plain, again)
	}
	if f.Curl != "" {
		t.writeLines(2, dim, "repeat the request:")
		t.writeLines(0, plain, Pasteable(truncate(f.Curl, maxCommand)))
	}
	if f.Expect != "" {
		t.writeLines(2, dim, "expected:")
		t.writeLines(4, plain, printable(truncate(strings.TrimRight(f.Expect, "\n"), maxExpect)))
	}
	if f.Broken != "" {
		t.writeLines(2, red, printable(truncate(f.Broken, maxExpect)))
	}
	shown, more := limitDifferences(f)
	for _, d := range shown {
		t.writeDifference(d)
	}
	if more > 0 {
		t.writeLines(2, dim, fmt.Sprintf("and %d more", more))
	}
	fmt.Fprintln(t)
}

// failedCall returns the failed request of a case, with its step.
func failedCall(f *contracttests.Failure) string {
	if f.Step == 0 {
		return "while creating what the case needs: " + f.Call
	}
	return fmt.Sprintf("step %d: %s", f.Step, f.Call)
}

// writeDifference writes one difference, as a line for each text or as a line-by-line
// comparison.
func (t *terminal) writeDifference(d shownDifference) {
	t.writeLines(2, bold, d.Where)
	if d.Lines == nil {
		t.writeSpan("want", green, d.Want)
		t.writeSpan("got ", red, d.Got)
		if note := d.Note(); note != "" {
			t.writeLines(9, dim, "("+note+")")
		}
		return
	}
	t.writeLines(4, dim, "- want, + got")
	for _, l := range d.Lines {
		c := plain
		switch l.Sign {
		case "-":
			c = green
		case "+":
			c = red
		}
		text := l.Sign
		if l.Text != "" {
			text += " " + l.Text
		}
		t.writeLines(4, c, text)
	}
}

// writeSpan writes a text with its differing part in color c.
func (t *terminal) writeSpan(label string, c color, s span) {
	if s == (span{}) {
		fmt.Fprintf(t, "    %s %s\n", t.paint(dim, label), t.paint(dim, "(nothing)"))
		return
	}
	fmt.Fprintf(t, "    %s %s%s%s\n", t.paint(dim, label), s.Before, t.paint(c, s.Part), s.After)
}

// writeSkips writes the skipped runs, grouped by reason.
func (t *terminal) writeSkips(reasons []reason, verbose bool) {
	if len(reasons) == 0 {
		return
	}
	n := 0
	for _, r := range reasons {
		n += r.Count
	}
	t.writeLines(0, bold, "skipped: "+plural(n, "run"))
	for _, r := range reasons {
		fmt.Fprintf(t, "%5d  %s\n", r.Count, t.paint(yellow, r.Text))
		shown := r.IDs
		if !verbose && len(shown) > shownIDs+1 {
			shown = shown[:shownIDs]
		}
		for _, id := range shown {
			t.writeLines(9, dim, id)
		}
		if more := len(r.IDs) - len(shown); more > 0 {
			t.writeLines(9, dim, fmt.Sprintf("and %d more", more))
		}
	}
	fmt.Fprintln(t)
}

// writeClauses writes the table of clauses with the number of runs by status.
func (t *terminal) writeClauses(all []section, verbose bool) {
	var rows []row
	for _, s := range all {
		rows = append(rows, s.tableRows(verbose)...)
	}
	if len(rows) == 0 {
		return
	}
	t.writeLines(0, plain, "Clauses of the contract, with the runs that test each (\"contracttest list\" has their text):")
	rows = slices.Insert(rows, 0, row{"passed", "failed", "skipped", "clause", dim})
	var table bytes.Buffer
	columns := tabwriter.NewWriter(&table, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, r := range rows {
		fmt.Fprintf(columns, "%s\t%s\t%s\t\n", r.passed, r.failed, r.skipped)
	}
	// Writing to a bytes.Buffer cannot fail.
	_ = columns.Flush()
	counts := strings.Split(table.String(), "\n")
	// Names and colors are added after the columns, because they would change their width.
	for i, r := range rows {
		fmt.Fprintf(t, "%s  %s\n", counts[i], t.paint(r.color, r.text))
	}
	fmt.Fprintln(t)
}

// A row is one line of the table of clauses.
type row struct {
	passed, failed, skipped string
	text                    string
	color                   color
}

// tableRows returns a row for each clause that failed or was skipped, and one row that
// summarizes the others. If all is set, it returns a row for every clause instead.
func (s section) tableRows(all bool) []row {
	var rows []row
	for _, c := range s.Clauses {
		r := row{fmt.Sprint(c.Passed), fmt.Sprint(c.Failed), fmt.Sprint(c.Skipped), printableLine(c.Clause), plain}
		switch state := stateOf(c); {
		case state == failed:
			r.color = red
		case c.Skipped > 0:
			r.color = yellow
		case !all:
			continue
		case state == untestable:
			r.text += ": cannot be tested, " + printableLine(c.Untestable)
		}
		rows = append(rows, r)
	}
	if all {
		return rows
	}
	folded := section{}
	for _, c := range s.Clauses {
		if stateOf(c) != failed && c.Skipped == 0 {
			folded.Clauses = append(folded.Clauses, c)
		}
	}
	var parts []string
	for _, part := range []struct {
		of   clauseState
		text string
	}{{passed, "passed"}, {notRun, "not run"}, {untestable, "cannot be tested"}} {
		if n := folded.count(part.of); n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", plural(n, "clause"), part.text))
		}
	}
	// A section without any run is left out; the coverage counts it.
	if len(parts) > 0 && folded.count(notRun)+folded.count(untestable) < len(s.Clauses) {
		n := 0
		for _, c := range folded.Clauses {
			n += c.Passed
		}
		summary := row{text: printableLine(s.Name) + ": " + strings.Join(parts, ", ")}
		if n > 0 {
			summary.passed = fmt.Sprint(n)
		}
		rows = append(rows, summary)
	}
	return rows
}

// writeLeftovers writes the requests that delete the objects that the run could not
// delete.
func (t *terminal) writeLeftovers(calls []string) {
	if len(calls) == 0 {
		return
	}
	t.writeLines(0, red, "not deleted from the store (requests that delete it, or a description):")
	for _, c := range calls {
		t.writeLines(0, plain, Pasteable(truncate(c, maxCommand)))
	}
	fmt.Fprintln(t)
}
