package report

import (
	"io"
	"os"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// A Bar shows on a terminal how far something is, in a line that changes; elsewhere
// it shows nothing.
type Bar struct {
	w   io.Writer
	bar *progressbar.ProgressBar
}

// NewBar returns a bar that is drawn on w if that is a terminal.
func NewBar(w io.Writer) *Bar { return &Bar{w: w} }

// Show shows that done of total are done, and a text beside it.
func (b *Bar) Show(done, total int, text string) {
	if !IsTerminal(b.w) {
		return
	}
	if b.bar == nil || b.bar.GetMax() != total {
		b.Clear()
		b.bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(b.w), progressbar.OptionShowCount(),
			progressbar.OptionSetWidth(14), progressbar.OptionSetElapsedTime(false), progressbar.OptionSetPredictTime(false),
			progressbar.OptionClearOnFinish())
	}
	b.bar.Describe(visibleLine(text))
	_ = b.bar.Set(done) // a bar that cannot be drawn is no reason to stop
}

// Clear takes the line away.
func (b *Bar) Clear() {
	if b.bar != nil {
		_ = b.bar.Finish()
		b.bar = nil
	}
}

// IsTerminal reports whether w is one.
func IsTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
