package main

import (
	"fmt"
	"io"
	"os"

	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/contracttests/report"
)

// isColorful reports whether what is written to w may be coloured (no-color.org).
func isColorful(w io.Writer) bool {
	return report.IsTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// A progress shows how far a run is: each result when verbose, else a line that
// changes, on a terminal alone.
type progress struct {
	w       io.Writer
	verbose bool
	bar     *report.Bar
	failed  int
}

func newProgress(w io.Writer, verbose bool) *progress {
	return &progress{w: w, verbose: verbose, bar: report.NewBar(w)}
}

func (p *progress) done(r *contracttests.Result, done, total int) {
	if r.Status == contracttests.Failed {
		p.failed++
	}
	if p.verbose {
		p.tell(r)
		return
	}
	p.bar.Show(done, total, fmt.Sprintf("%d failed · %-30.30s", p.failed, r.ID()))
}

func (p *progress) tell(r *contracttests.Result) {
	line := fmt.Sprintf("%-7s %s %d ms", r.Status, r.ID(), r.Took.Milliseconds())
	if r.Reason != "" {
		line += ": " + r.Reason
	}
	fmt.Fprintln(p.w, line)
}

// finish takes the line away.
func (p *progress) finish() { p.bar.Clear() }
