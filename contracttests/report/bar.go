package report

import (
	"io"
	"os"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// A Bar is a progress bar on a terminal. On other writers it shows nothing.
type Bar struct {
	w     io.Writer
	bar   *progressbar.ProgressBar
	total int
}

// NewBar returns a bar that is drawn on w if w is a terminal.
func NewBar(w io.Writer) *Bar { return &Bar{w: w} }

// Show draws the bar with done of total steps completed, and text next to it. A total of -1 is
// unknown.
func (b *Bar) Show(done, total int, text string) {
	if !IsTerminal(b.w) {
		return
	}
	if b.bar == nil || b.total != total {
		b.Clear()
		b.total = total
		b.bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(b.w), progressbar.OptionShowCount(),
			progressbar.OptionSetWidth(14), progressbar.OptionSetElapsedTime(false), progressbar.OptionSetPredictTime(false),
			progressbar.OptionClearOnFinish())
	}
	b.bar.Describe(printableLine(text))
	_ = b.bar.Set(done) // errors of drawing are harmless
}

// Clear removes the bar from the terminal.
func (b *Bar) Clear() {
	if b.bar != nil {
		_ = b.bar.Finish()
		b.bar = nil
	}
}

// UseColor reports whether text written to w may be colored (no-color.org).
func UseColor(w io.Writer) bool {
	return IsTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
