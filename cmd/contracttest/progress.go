package main

import (
	"fmt"
	"io"

	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/contracttests/report"
)

// A progress shows the progress of a run: a line for each result if verbose, otherwise a
// progress bar if w is a terminal.
type progress struct {
	w       io.Writer
	verbose bool
	bar     *report.Bar
	failed  int
}

// update shows the result of a case, after done of total cases have ended.
func (p *progress) update(r *contracttests.Result, done, total int) {
	if r.Status == contracttests.Failed {
		p.failed++
	}
	if p.verbose {
		p.printResult(r)
		return
	}
	p.bar.Show(done, total, fmt.Sprintf("%d failed · %-30.30s", p.failed, r.ID()))
}

// printResult prints a result as one line.
func (p *progress) printResult(r *contracttests.Result) {
	line := fmt.Sprintf("%-7s %s %d ms", r.Status, r.ID(), r.Took.Milliseconds())
	if r.Reason != "" {
		line += ": " + r.Reason
	}
	fmt.Fprintln(p.w, line)
}

// clear removes the progress bar.
func (p *progress) clear() { p.bar.Clear() }
