package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/portico-commerce/portico/contracttests"
)

// TestLimitDifferences checks how differing texts are divided into spans and lines.
func TestLimitDifferences(t *testing.T) {
	long := strings.Repeat("ä", 100)
	for _, tt := range []struct {
		name, want, got string
		shown           shownDifference
	}{
		{"in the middle", "ada-17@example.com", "ada-18@example.com",
			shownDifference{Want: span{"ada-1", "7", "@example.com"}, Got: span{"ada-1", "8", "@example.com"}}},
		{"at the end", "12.5000", "12.50", shownDifference{Want: span{"12.50", "00", ""}, Got: span{"12.50", "", ""}}},
		{"a beginning that is also the end", "12.500", "12.5000", shownDifference{Want: span{"12.500", "", ""}, Got: span{"12.500", "0", ""}}},
		{"little in common", "200", "400", shownDifference{Want: span{"", "2", "00"}, Got: span{"", "4", "00"}}},
		{"little in common, shown as a whole", "403", "200", shownDifference{Want: span{"", "403", ""}, Got: span{"", "200", ""}}},
		{"nothing got", "null", "", shownDifference{Want: span{"", "null", ""}, Got: span{}}},
		{"multi-byte characters", long + "ä", long + "ö",
			shownDifference{Want: span{"…" + long[:maxUnchanged], "ä", ""}, Got: span{"…" + long[:maxUnchanged], "ö", ""}}},
		{"invisible character", "a b c d", "a\u00a0b c d",
			shownDifference{Want: span{"a", " ", "b c d"}, Got: span{"a", `\u00a0`, "b c d"}}},
		{"lines", "1\n2\n3\n4\n5\n6\n7", "1\n2\n3\nfour\n5\n6\n7",
			shownDifference{Lines: []line{{"…", ""}, {" ", "2"}, {" ", "3"}, {"-", "4"}, {"+", "four"}, {" ", "5"}, {" ", "6"}, {"…", ""}}}},
		{"a line more", "a\nc", "a\nb\nc", shownDifference{Lines: []line{{" ", "a"}, {"+", "b"}, {" ", "c"}}}},
		{"a line less", "a\nb", "a", shownDifference{Lines: []line{{" ", "a"}, {"-", "b"}}}},
		{"another end of line", "a\nb", "a\r\nb", shownDifference{Lines: []line{{"-", "a"}, {"+", `a\r`}, {" ", "b"}}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.shown.Where = "$.x"
			shown, more := limitDifferences(&contracttests.Failure{Differences: []contracttests.Difference{{Where: "$.x", Want: tt.want, Got: tt.got}}})
			if diff := cmp.Diff([]shownDifference{tt.shown}, shown); diff != "" || more != 0 {
				t.Errorf("%d more, and (-want +got):\n%s", more, diff)
			}
		})
	}
}

// TestLimitDifferencesIsBounded checks that the size of displayed differences is limited,
// whatever a server sends.
func TestLimitDifferencesIsBounded(t *testing.T) {
	f := &contracttests.Failure{Differences: []contracttests.Difference{
		{Where: strings.Repeat("w", 1<<20), Want: strings.Repeat("a", 1<<20), Got: strings.Repeat("b", 1<<20)},
		{Where: "$", Want: strings.Repeat("a\n", 1<<16), Got: strings.Repeat("b\n", 1<<16)},
	}}
	for range 100 {
		f.Differences = append(f.Differences, contracttests.Difference{Where: "$", Want: "a", Got: "b"})
	}
	shown, more := limitDifferences(f)
	if len(shown) != maxDifferences || len(shown)+more != len(f.Differences) {
		t.Errorf("%d shown and %d more, want %d shown of %d", len(shown), more, maxDifferences, len(f.Differences))
	}
	size := 0
	for _, d := range shown {
		size += len(d.Where) + len(d.Want.Part) + len(d.Got.Part)
		for _, l := range d.Lines {
			size += len(l.Text)
		}
	}
	if size > 8<<10 {
		t.Errorf("%d bytes are shown", size)
	}
}

// TestPrintable checks which characters are escaped.
func TestPrintable(t *testing.T) {
	for _, tt := range []struct{ name, text, visible, line string }{
		{"plain", `Groß, "1" \ 日本`, `Groß, "1" \ 日本`, `Groß, "1" \ 日本`},
		{"lines", "a\n\tb", "a\n\tb", `a\n\tb`},
		{"carriage return", "a\rb", `a\rb`, `a\rb`},
		{"colors", "\x1b[31m", `\x1b[31m`, `\x1b[31m`},
		{"C1 control", "\u009b31m", `\u009b31m`, `\u009b31m`},
		{"text direction", "a\u202eb", `a\u202eb`, `a\u202eb`},
		{"beyond the basic plane", "\U000e0041", `\U000e0041`, `\U000e0041`},
		{"no UTF-8", "a\xffb", `a\xffb`, `a\xffb`},
		{"replacement character", "a\ufffdb", "a\ufffdb", "a\ufffdb"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := printable(tt.text); got != tt.visible {
				t.Errorf("printable: %q, want %q", got, tt.visible)
			}
			if got := printableLine(tt.text); got != tt.line {
				t.Errorf("on a line: %q, want %q", got, tt.line)
			}
		})
	}
}

// TestTruncate checks where texts are truncated.
func TestTruncate(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		limit      int
		want       string
	}{
		{"fits", "abc", 3, "abc"},
		{"too long", "abcd", 3, "abc… (1 bytes more)"},
		{"inside a character", "abä", 3, "ab… (2 bytes more)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := truncate(tt.text, tt.limit); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
