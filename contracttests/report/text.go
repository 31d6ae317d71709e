package report

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// visible returns s for people to read: what a terminal or a reader would take as
// a command, or would not see at all, is written as an escape. Lines stay lines.
func visible(s string) string {
	return escapeInvisible(s, true, func(escape string) string { return escape })
}

// visibleLine is visible for a text that has to stay on one line.
func visibleLine(s string) string {
	return escapeInvisible(s, false, func(escape string) string { return escape })
}

// Pasteable returns a command line such as [contracttests.Failure] has, on one
// line and without characters that a terminal would act upon when it is pasted.
// All of them stand inside single quotes, because they come from values.
func Pasteable(command string) string {
	return escapeInvisible(command, false, func(escape string) string { return "'$'" + escape + "''" })
}

// escapeInvisible replaces what is not printable. keepLines keeps newlines and
// tabs.
func escapeInvisible(s string, keepLines bool, wrap func(escape string) string) string {
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

// cut returns the beginning of s, of at most about limit bytes, and says so where
// something is missing.
func cut(s string, limit int) string {
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
