package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/portico-commerce/portico/contracttests"
)

const (
	maxExpect  = 4000 // bytes shown of what was expected
	maxCommand = 64 << 10
	shownIDs   = 3 // of the runs that were skipped for one reason
)

// An ink is how text is coloured.
type ink string

const (
	plain  ink = ""
	bold   ink = "1"
	dim    ink = "2"
	red    ink = "31"
	green  ink = "32"
	yellow ink = "33"
)

// A terminal collects lines, coloured or not.
type terminal struct {
	bytes.Buffer
	color bool
}

func (t *terminal) ink(i ink, text string) string {
	if !t.color || i == plain || text == "" {
		return text
	}
	return "\x1b[" + string(i) + "m" + text + "\x1b[0m"
}

// line writes a line of its own. Lines of text behind the first are indented alike.
func (t *terminal) line(indent int, i ink, text string) {
	space := strings.Repeat(" ", indent)
	for l := range strings.SplitSeq(text, "\n") {
		fmt.Fprintln(t, space+t.ink(i, l))
	}
}

// Table writes what a terminal shows at the end of a run: failures, skips,
// clauses, coverage, and the counts last. Clauses that passed are folded into one
// line for each section unless verbose, and so are long lists of runs.
func Table(w io.Writer, r *contracttests.Report, color, verbose bool) error {
	t := &terminal{color: color}
	for i := range r.Results {
		if one := &r.Results[i]; one.Status == contracttests.Failed {
			t.failure(one)
		}
	}
	t.skips(skips(r), verbose)
	t.clauses(sections(r), verbose)
	t.leftovers(r.Leftovers)

	c := coverageOf(r)
	i := plain
	if c.Skipped+c.NotRun > 0 {
		i = yellow
	}
	t.line(0, i, c.String())
	counts := tallyOf(r)
	i = red
	if counts.verdict() == "passed" {
		i = green
	}
	fmt.Fprintf(t, "%s  %s in %.1f s, dialect %s, %s\n", t.ink(i, strings.ToUpper(counts.verdict())),
		counts, r.Took, visibleLine(string(r.Dialect)), visibleLine(r.URL))
	_, err := w.Write(t.Bytes())
	return err
}

func (t *terminal) failure(r *contracttests.Result) {
	fmt.Fprintf(t, "%s  %s\n", t.ink(red, "FAILED"), t.ink(bold, visibleLine(r.ID())))
	f := r.Failure
	if f == nil {
		t.line(2, plain, "what went wrong was not kept")
		fmt.Fprintln(t)
		return
	}
	t.line(2, plain, visibleLine(where(f)))
	t.line(2, plain, visibleLine("clause: "+f.Clause))
	// The command stands alone on its line, so that it is easy to copy.
	if f.Curl != "" {
		t.line(2, dim, "call it again:")
		t.line(0, plain, Pasteable(cut(f.Curl, maxCommand)))
	}
	if f.Expect != "" {
		t.line(2, dim, "expected:")
		t.line(4, plain, visible(cut(strings.TrimRight(f.Expect, "\n"), maxExpect)))
	}
	if f.Broken != "" {
		t.line(2, red, visible(cut(f.Broken, maxExpect)))
	}
	shown, more := differences(f)
	for _, d := range shown {
		t.difference(d)
	}
	if more > 0 {
		t.line(2, dim, fmt.Sprintf("and %d more", more))
	}
	fmt.Fprintln(t)
}

// where tells which call of a case failed.
func where(f *contracttests.Failure) string {
	if f.Step == 0 {
		return "while making what the case needs: " + f.Call
	}
	return fmt.Sprintf("step %d: %s", f.Step, f.Call)
}

func (t *terminal) difference(d difference) {
	t.line(2, bold, d.Where)
	if d.Lines == nil {
		t.span("want", green, d.Want)
		t.span("got ", red, d.Got)
		return
	}
	t.line(4, dim, "- want, + got")
	for _, l := range d.Lines {
		i := plain
		switch l.Sign {
		case "-":
			i = green
		case "+":
			i = red
		}
		text := l.Sign
		if l.Text != "" {
			text += " " + l.Text
		}
		t.line(4, i, text)
	}
}

func (t *terminal) span(label string, i ink, s span) {
	if s == (span{}) {
		fmt.Fprintf(t, "    %s %s\n", t.ink(dim, label), t.ink(dim, "(nothing)"))
		return
	}
	fmt.Fprintf(t, "    %s %s%s%s\n", t.ink(dim, label), s.Before, t.ink(i, s.Part), s.After)
}

func (t *terminal) skips(reasons []reason, verbose bool) {
	if len(reasons) == 0 {
		return
	}
	n := 0
	for _, r := range reasons {
		n += r.Count
	}
	t.line(0, bold, "skipped: "+plural(n, "run"))
	for _, r := range reasons {
		fmt.Fprintf(t, "%5d  %s\n", r.Count, t.ink(yellow, r.Text))
		shown := r.IDs
		if !verbose && len(shown) > shownIDs+1 {
			shown = shown[:shownIDs]
		}
		for _, id := range shown {
			t.line(9, dim, id)
		}
		if more := len(r.IDs) - len(shown); more > 0 {
			t.line(9, dim, fmt.Sprintf("and %d more", more))
		}
	}
	fmt.Fprintln(t)
}

func (t *terminal) clauses(all []section, verbose bool) {
	var rows []row
	for _, s := range all {
		rows = append(rows, s.rows(verbose)...)
	}
	if len(rows) == 0 {
		return
	}
	rows = slices.Insert(rows, 0, row{"passed", "failed", "skipped", "clause", dim})
	var table bytes.Buffer
	columns := tabwriter.NewWriter(&table, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, r := range rows {
		fmt.Fprintf(columns, "%s\t%s\t%s\t\n", r.passed, r.failed, r.skipped)
	}
	// Neither can fail: a Buffer takes everything.
	_ = columns.Flush()
	counts := strings.Split(table.String(), "\n")
	// Colours and names come last, where they cannot disturb the columns.
	for i, r := range rows {
		fmt.Fprintf(t, "%s  %s\n", counts[i], t.ink(r.ink, r.text))
	}
	fmt.Fprintln(t)
}

// A row is one line of the table of clauses.
type row struct {
	passed, failed, skipped string
	text                    string
	ink                     ink
}

// rows returns one for each clause that has something to tell, and one for the
// others; all is one for each.
func (s section) rows(all bool) []row {
	var rows []row
	for _, c := range s.Clauses {
		r := row{fmt.Sprint(c.Passed), fmt.Sprint(c.Failed), fmt.Sprint(c.Skipped), visibleLine(c.Clause), plain}
		switch of := stateOf(c); {
		case of == failed:
			r.ink = red
		case c.Skipped > 0:
			r.ink = yellow
		case !all:
			continue
		case of == unshown:
			r.text += ": cannot be shown, " + visibleLine(c.Unshown)
		}
		rows = append(rows, r)
	}
	if all {
		return rows
	}
	quiet := section{}
	for _, c := range s.Clauses {
		if stateOf(c) != failed && c.Skipped == 0 {
			quiet.Clauses = append(quiet.Clauses, c)
		}
	}
	var told []string
	for _, part := range []struct {
		of   state
		text string
	}{{passed, "passed"}, {notRun, "not run"}, {unshown, "cannot be shown"}} {
		if n := quiet.count(part.of); n > 0 {
			told = append(told, fmt.Sprintf("%s %s", plural(n, "clause"), part.text))
		}
	}
	// Where a part of the suite is run the coverage tells how much was left out.
	if len(told) > 0 && quiet.count(notRun)+quiet.count(unshown) < len(s.Clauses) {
		n := 0
		for _, c := range quiet.Clauses {
			n += c.Passed
		}
		folded := row{text: visibleLine(s.Name) + ": " + strings.Join(told, ", ")}
		if n > 0 {
			folded.passed = fmt.Sprint(n)
		}
		rows = append(rows, folded)
	}
	return rows
}

func (t *terminal) leftovers(calls []string) {
	if len(calls) == 0 {
		return
	}
	t.line(0, red, "left behind on the store: the calls that delete it, or what is known of it")
	for _, c := range calls {
		t.line(0, plain, Pasteable(cut(c, maxCommand)))
	}
	fmt.Fprintln(t)
}
