package report

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"
)

// A Bar is a progress bar on a terminal. On other writers it shows nothing.
type Bar struct {
	w        io.Writer
	terminal bool
	drawn    time.Time // when the bar was last drawn
	width    int       // of the line on the terminal, in characters; 0 without one
}

// NewBar returns a bar that is drawn on w if w is a terminal.
func NewBar(w io.Writer) *Bar { return &Bar{w: w, terminal: IsTerminal(w)} }

// Show draws the bar with done of total steps completed, and text next to it, ten times a second at
// most. A total of -1 is unknown.
func (b *Bar) Show(done, total int, text string) {
	const width, pause = 14, 100 * time.Millisecond
	if !b.terminal || done != total && time.Since(b.drawn) < pause {
		return
	}
	line := fmt.Sprintf("%s (%d)", printableLine(text), done)
	if total > 0 {
		part := min(done, total) * width / total
		line = fmt.Sprintf("%s %3d%% |%-*s| (%d/%d)", printableLine(text), min(done, total)*100/total, width, strings.Repeat("█", part), done, total)
	}
	b.draw(line)
	b.drawn = time.Now()
}

// Clear removes the bar from the terminal.
func (b *Bar) Clear() {
	if b.width > 0 {
		b.draw("")
		fmt.Fprint(b.w, "\r")
		b.drawn = time.Time{}
	}
}

// draw replaces the line on the terminal.
func (b *Bar) draw(line string) {
	fmt.Fprintf(b.w, "\r%-*s", b.width, line)
	b.width = utf8.RuneCountInString(line)
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
