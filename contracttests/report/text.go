package report

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// printable returns s with all characters escaped that a terminal would interpret or a
// reader would not see. Newlines and tabs are unchanged.
func printable(s string) string {
	return escapeNonPrintable(s, true, func(escape string) string { return escape })
}

// printableLine is like printable, but also escapes newlines and tabs, so that the text
// stays on one line.
func printableLine(s string) string {
	return escapeNonPrintable(s, false, func(escape string) string { return escape })
}

// Pasteable returns a command line, such as [contracttests.Failure.Curl], on one line and
// without characters that a terminal would interpret when it is pasted. The shell decodes
// the escapes. Such characters must be inside single quotes in command, which is true for
// the values that the suite quotes.
func Pasteable(command string) string {
	return escapeNonPrintable(command, false, func(escape string) string { return "'$'" + escape + "''" })
}

// escapeNonPrintable replaces each character that is not printable by wrap of its escape.
// Newlines and tabs are unchanged if keepLines is set.
func escapeNonPrintable(s string, keepLines bool, wrap func(escape string) string) string {
	plain := func(r rune) bool {
		return keepLines && (r == '\n' || r == '\t') || r != utf8.RuneError && unicode.IsPrint(r)
	}
	if !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case plain(r), r == utf8.RuneError && size > 1:
			b.WriteString(s[:size])
		case r == '\n':
			b.WriteString(wrap(`\n`))
		case r == '\r':
			b.WriteString(wrap(`\r`))
		case r == '\t':
			b.WriteString(wrap(`\t`))
		case size == 1:
			b.WriteString(wrap(fmt.Sprintf(`\x%02x`, s[0])))
		case r <= 0xffff:
			b.WriteString(wrap(fmt.Sprintf(`\u%04x`, r)))
		default:
			b.WriteString(wrap(fmt.Sprintf(`\U%08x`, r)))
		}
		s = s[size:]
	}
	return b.String()
}

// truncate returns the first bytes of s, about limit at most, and a note about the rest.
func truncate(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	at := limit
	for at > 0 && !utf8.RuneStart(s[at]) {
		at--
	}
	return fmt.Sprintf("%s… (%d bytes more)", s[:at], len(s)-at)
}

// plural returns "1 run" or "2 runs".
func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

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
