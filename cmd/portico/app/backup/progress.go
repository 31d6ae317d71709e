package backup

import (
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/portico-commerce/portico/contracttests/report"
)

// A progress shows on a terminal what a command is doing. Elsewhere it shows nothing.
type progress struct {
	bar  *progressbar.ProgressBar
	part string
}

// newProgress shows the progress on w.
func newProgress(w io.Writer) *progress {
	p := &progress{}
	if report.IsTerminal(w) {
		p.bar = progressbar.NewOptions64(-1, progressbar.OptionSetWriter(w), progressbar.OptionShowCount(),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
	}
	return p
}

// set shows that so many rows or files of a part are done. Failing to draw must not stop the work.
func (p *progress) set(part string, done int64) {
	if p.bar == nil {
		return
	}
	if part != p.part {
		p.bar.Describe(part)
		p.part = part
	}
	_ = p.bar.Set64(done)
}

// finish removes the bar.
func (p *progress) finish() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
