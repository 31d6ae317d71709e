package records

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/portico-commerce/portico/adapter/transfer"
	"github.com/portico-commerce/portico/contracttests/report"
)

// An importProgress shows how far the import of a part has got: on a terminal by a bar with
// the rate and the time that is left, elsewhere by one line at the end.
type importProgress struct {
	w     io.Writer
	part  string
	began time.Time
	bar   *progressbar.ProgressBar
}

// newImportProgress shows the progress on w. total is the number of records, as far as known.
func newImportProgress(w io.Writer, part string, total int64) *importProgress {
	p := &importProgress{w: w, part: part, began: time.Now()}
	if report.IsTerminal(w) {
		p.bar = progressbar.NewOptions64(max(total, 1), progressbar.OptionSetWriter(w), progressbar.OptionSetDescription(part),
			progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionSetItsString("records"),
			progressbar.OptionSetPredictTime(true), progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
	}
	return p
}

// Set shows that so many records are done.
func (p *importProgress) Set(done int64) {
	if p.bar == nil {
		return
	}
	if done > p.bar.GetMax64() {
		p.bar.ChangeMax64(done) // the old shop has got more
	}
	_ = p.bar.Set64(done) // failing to draw the bar must not stop the work
}

// Finish removes the bar, or writes the line.
func (p *importProgress) Finish(done *transfer.Counts) {
	if p.bar != nil {
		_ = p.bar.Finish()
		return
	}
	took := time.Since(p.began)
	rate := float64(done.Read) / max(took.Seconds(), 0.001)
	fmt.Fprintf(p.w, "%s: %d read, %d skipped, in %s (%.0f/s)\n", p.part, done.Read, done.SkippedCount(), took.Round(time.Millisecond), rate)
}
