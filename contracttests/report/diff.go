package report

import (
	"fmt"
	"github.com/portico-commerce/portico/contracttests"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxDifferences = 12  // shown of one failure
	maxUnchanged   = 80  // bytes shown before and after the part that differs
	maxPart        = 600 // bytes shown of the part that differs
	maxLines       = 400 // compared of each text
	maxContext     = 2   // equal lines shown before and after a differing line
)

// A shownDifference is a difference prepared for display, with invisible characters
// escaped. Lines is set if one of the texts has several lines, otherwise Want and Got.
type shownDifference struct {
	Where     string
	Want, Got span
	Lines     []line // nil if both texts are one line
}

// maxNote is the number of bytes of a part that a note repeats.
const maxNote = 8

// Note says how two texts differ that are alike but for a few characters, such as a dot, which is
// easily overlooked. It is "" for other differences.
func (d shownDifference) Note() string {
	want, got := d.Want, d.Got
	switch {
	case want.Before+want.After == "" || len(want.Part) > maxNote || len(got.Part) > maxNote || want.Part == got.Part:
		return ""
	case got.Part == "":
		return `"` + want.Part + `" is missing`
	case want.Part == "":
		return `"` + got.Part + `" is too much`
	}
	return `"` + got.Part + `" in place of "` + want.Part + `"`
}

// A span is a text divided at the part that differs from another text.
type span struct{ Before, Part, After string }

// A line is one line of the comparison of two texts.
type line struct {
	Sign string // "-" only in want, "+" only in got, " " in both, "…" equal lines left out
	Text string
}

// limitDifferences returns the first differences of a failure for display, and the number
// of the others.
func limitDifferences(f *contracttests.Failure) (shown []shownDifference, more int) {
	for i := range f.Differences[:min(len(f.Differences), maxDifferences)] {
		d := &f.Differences[i]
		one := shownDifference{Where: printableLine(truncate(d.Where, maxPart))}
		if strings.Contains(d.Want, "\n") || strings.Contains(d.Got, "\n") {
			one.Lines = compareLines(d.Want, d.Got)
		} else {
			one.Want, one.Got = markDifference(d.Want, d.Got)
		}
		shown = append(shown, one)
	}
	return shown, len(f.Differences) - len(shown)
}

// markDifference divides both texts into their common beginning, the part that differs,
// and their common end.
func markDifference(want, got string) (w, g span) {
	short := min(len(want), len(got))
	from := 0
	for from < short && want[from] == got[from] {
		from++
	}
	for from > 0 && (!isRuneBoundary(want, from) || !isRuneBoundary(got, from)) {
		from--
	}
	end := 0
	for end < short-from && want[len(want)-1-end] == got[len(got)-1-end] {
		end++
	}
	for end > 0 && !utf8.RuneStart(want[len(want)-end]) {
		end--
	}
	// Short texts with little in common are easier to read if they are marked as a whole.
	if longest := max(len(want), len(got)); longest < maxUnchanged && 2*(from+end) < longest {
		from, end = 0, 0
	}
	return excerpt(want, from, len(want)-end), excerpt(got, from, len(got)-end)
}

func isRuneBoundary(s string, at int) bool { return at >= len(s) || utf8.RuneStart(s[at]) }

// excerpt returns s divided at the bytes from and to. Long parts are truncated.
func excerpt(s string, from, to int) span {
	before, after := s[:from], s[to:]
	if len(before) > maxUnchanged {
		at := len(before) - maxUnchanged
		for !utf8.RuneStart(before[at]) && at < len(before)-1 {
			at++
		}
		before = "…" + before[at:]
	}
	if len(after) > maxUnchanged {
		at := maxUnchanged
		for !utf8.RuneStart(after[at]) && at > 0 {
			at--
		}
		after = after[:at] + "…"
	}
	return span{printableLine(before), printableLine(truncate(s[from:to], maxPart)), printableLine(after)}
}

// compareLines compares two texts line by line. Of the lines that are in both, it returns
// only the lines near a line that is not.
func compareLines(want, got string) []line {
	w, g := splitLines(want), splitLines(got)
	// common[i][j] is the length of the longest common subsequence of w[i:] and g[j:].
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
	return dropDistantLines(all)
}

// splitLines returns the lines of s for display, at most maxLines and a note about the
// rest.
func splitLines(s string) []string {
	lines := strings.SplitN(s, "\n", maxLines+1)
	if len(lines) > maxLines {
		rest := lines[maxLines]
		lines[maxLines] = fmt.Sprintf("… (%d bytes more)", len(rest))
	}
	for i := range lines {
		lines[i] = printableLine(truncate(lines[i], maxPart))
	}
	return lines
}

// dropDistantLines replaces equal lines by "…" unless a differing line is at most
// maxContext lines away.
func dropDistantLines(all []line) []line {
	var shown []line
	for i, l := range all {
		nearby := all[max(0, i-maxContext):min(len(all), i+maxContext+1)]
		switch {
		case slices.ContainsFunc(nearby, func(n line) bool { return n.Sign != " " }):
			shown = append(shown, l)
		case len(shown) == 0 || shown[len(shown)-1].Sign != "…":
			shown = append(shown, line{Sign: "…"})
		}
	}
	return shown
}
