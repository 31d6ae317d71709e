package records

import (
	"fmt"
	"io"
	"time"

	"github.com/portico-commerce/portico/adapter/importer"
	"github.com/portico-commerce/portico/contracttests/report"
)

// An importProgress shows the progress of the import of a part: a bar with the rate and the
// remaining time on a terminal, and otherwise one line at the end.
type importProgress struct {
	w     io.Writer
	part  string
	total int64
	began time.Time
	bar   *report.Bar
}

// newImportProgress shows the progress on w. total is the number of records, as far as known.
func newImportProgress(w io.Writer, part string, total int64) *importProgress {
	return &importProgress{w: w, part: part, total: total, began: time.Now(), bar: report.NewBar(w)}
}

// Set shows that so many records are done.
func (p *importProgress) Set(done int64) {
	total := max(p.total, done) // the legacy store may have got more
	rate := p.rate(done)
	left := time.Duration(float64(total-done) / max(rate, 1) * float64(time.Second))
	p.bar.Show(int(done), int(total), fmt.Sprintf("%s, %.0f records/s, %s left", p.part, rate, left.Round(time.Second)))
}

// rate returns the number of records a second since the beginning.
func (p *importProgress) rate(done int64) float64 {
	return float64(done) / max(time.Since(p.began).Seconds(), 0.001)
}

// Finish removes the bar, or writes the line.
func (p *importProgress) Finish(done *importer.Counts) {
	p.bar.Clear()
	if report.IsTerminal(p.w) {
		return
	}
	took := time.Since(p.began).Round(time.Millisecond)
	fmt.Fprintf(p.w, "%s: %d read, %d skipped, in %s (%.0f/s)\n", p.part, done.Read, done.SkippedCount(), took, p.rate(done.Read))
}
