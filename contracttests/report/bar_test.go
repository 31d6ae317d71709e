package report

import (
	"strings"
	"testing"
)

// TestBar checks the bar on a terminal, and that no other output gets a bar.
func TestBar(t *testing.T) {
	var b strings.Builder
	NewBar(&b).Show(1, 2, "a file")
	bar := &Bar{w: &b, terminal: true}
	bar.Show(1, 2, "a\x1bb")
	bar.Show(4, 4, "c")
	bar.Clear()
	bar.Show(3, -1, "d")
	want := "\ra\\x1bb  50% |███████       | (1/2)" + "\rc 100% |██████████████| (4/4)     " +
		"\r" + strings.Repeat(" ", 29) + "\r" + "\rd (3)"
	if got := b.String(); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
