package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/portico-commerce/portico/contracttests"
)

const (
	maxDifferences = 12  // shown of one failure
	maxAround      = 80  // bytes shown before and after where two texts part
	maxPart        = 600 // bytes shown of what differs
	maxLines       = 400 // of a text that is compared line by line
	maxContext     = 2   // lines shown before and after one that differs
)

// A difference is one place of a failure, ready to be shown: either one line of
// each text, or lines of both.
type difference struct {
	Where     string
	Want, Got span
	Lines     []line // nil: the texts are short
}

// A span is a text with the part that differs from the other one.
type span struct{ Before, Part, After string }

// A line is one of two texts that are compared line by line.
type line struct {
	Sign string // "-" only in want, "+" only in got, " " in both, "…" some of both left out
	Text string
}

// differences returns those of a failure that are shown, and how many are not.
func differences(f *contracttests.Failure) (shown []difference, more int) {
	for i := range f.Differences[:min(len(f.Differences), maxDifferences)] {
		d := &f.Differences[i]
		one := difference{Where: visibleLine(cut(d.Where, maxPart))}
		if strings.Contains(d.Want, "\n") || strings.Contains(d.Got, "\n") {
			one.Lines = compareLines(d.Want, d.Got)
		} else {
			one.Want, one.Got = compareSpans(d.Want, d.Got)
		}
		shown = append(shown, one)
	}
	return shown, len(f.Differences) - len(shown)
}

// compareSpans marks what is between the common beginning and the common end.
func compareSpans(want, got string) (w, g span) {
	short := min(len(want), len(got))
	from := 0
	for from < short && want[from] == got[from] {
		from++
	}
	for from > 0 && (!startsRune(want, from) || !startsRune(got, from)) {
		from--
	}
	end := 0
	for end < short-from && want[len(want)-1-end] == got[len(got)-1-end] {
		end++
	}
	for end > 0 && !utf8.RuneStart(want[len(want)-end]) {
		end--
	}
	// Of short texts that have little in common the whole differs to a reader.
	if longest := max(len(want), len(got)); longest < maxAround && 2*(from+end) < longest {
		from, end = 0, 0
	}
	return excerpt(want, from, len(want)-end), excerpt(got, from, len(got)-end)
}

func startsRune(s string, at int) bool { return at >= len(s) || utf8.RuneStart(s[at]) }

func excerpt(s string, from, to int) span {
	before, after := s[:from], s[to:]
	if len(before) > maxAround {
		at := len(before) - maxAround
		for !utf8.RuneStart(before[at]) && at < len(before)-1 {
			at++
		}
		before = "…" + before[at:]
	}
	if len(after) > maxAround {
		at := maxAround
		for !utf8.RuneStart(after[at]) && at > 0 {
			at--
		}
		after = after[:at] + "…"
	}
	return span{visibleLine(before), visibleLine(cut(s[from:to], maxPart)), visibleLine(after)}
}

// compareLines returns the lines of both texts, and of those that are in both
// only some around the others.
func compareLines(want, got string) []line {
	w, g := splitLines(want), splitLines(got)
	// common[i][j] is how many lines w[i:] and g[j:] have in common at most, in
	// order.
	common := make([][]int, len(w)+1)
	for i := range common {
		common[i] = make([]int, len(g)+1)
	}
	for i := len(w) - 1; i >= 0; i-- {
		for j := len(g) - 1; j >= 0; j-- {
			if w[i] == g[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var all []line
	for i, j := 0, 0; i < len(w) || j < len(g); {
		switch {
		case i < len(w) && j < len(g) && w[i] == g[j]:
			all = append(all, line{" ", w[i]})
			i, j = i+1, j+1
		case j == len(g) || i < len(w) && common[i+1][j] >= common[i][j+1]:
			all = append(all, line{"-", w[i]})
			i++
		default:
			all = append(all, line{"+", g[j]})
			j++
		}
	}
	return aroundChanges(all)
}

func splitLines(s string) []string {
	lines := strings.SplitN(s, "\n", maxLines+1)
	if len(lines) > maxLines {
		rest := lines[maxLines]
		lines[maxLines] = fmt.Sprintf("… (%d bytes more)", len(rest))
	}
	for i := range lines {
		lines[i] = visibleLine(cut(lines[i], maxPart))
	}
	return lines
}

// aroundChanges leaves out lines that are far from all that differ.
func aroundChanges(all []line) []line {
	var kept []line
	for i, l := range all {
		near := all[max(0, i-maxContext):min(len(all), i+maxContext+1)]
		switch {
		case slices.ContainsFunc(near, func(n line) bool { return n.Sign != " " }):
			kept = append(kept, l)
		case len(kept) == 0 || kept[len(kept)-1].Sign != "…":
			kept = append(kept, line{Sign: "…"})
		}
	}
	return kept
}
