package input_test

import (
	_ "embed"
	"encoding/json"
	"github.com/portico-commerce/portico/mapping/input"
	"strings"
	"testing"
	"time"
)

// reference holds the results of PHP 8.2's strtotime on 2020-05-06 07:08:09 UTC: on each line a
// text as JSON, and after a tab the time, or nothing where strtotime fails.
//
//go:embed testdata/php.tsv
var reference string

var now = time.Date(2020, 5, 6, 7, 8, 9, 0, time.UTC)

func TestParseIsPHP(t *testing.T) {
	lines := strings.Split(strings.TrimSuffix(reference, "\n"), "\n")
	if len(lines) < 100 {
		t.Fatalf("%d lines of reference", len(lines))
	}
	for _, line := range lines {
		quoted, want, _ := strings.Cut(line, "\t")
		var text string
		if err := json.Unmarshal([]byte(quoted), &text); err != nil {
			t.Fatal(err)
		}
		t.Run(text, func(t *testing.T) {
			got := ""
			if parsed, ok := input.ParsePHPTime(text, now); ok {
				got = parsed.Format(time.DateTime)
			}
			if got != want {
				t.Errorf("Parse(%q) is %q, PHP has %q", text, got, want)
			}
		})
	}
}

// TestParseIsBounded: a text that takes too long to parse is not a date.
func TestParseIsBounded(t *testing.T) {
	for name, text := range map[string]string{
		"long":        "2012-03-03" + strings.Repeat(" ", 200) + "10:11",
		"many tokens": strings.Repeat("1day", 25),
	} {
		if got, ok := input.ParsePHPTime(text, now); ok {
			t.Errorf("%s text is %v", name, got)
		}
	}
}

func FuzzPHPTime(f *testing.F) {
	for line := range strings.Lines(reference) {
		quoted, _, _ := strings.Cut(line, "\t")
		var text string
		if json.Unmarshal([]byte(quoted), &text) == nil {
			f.Add(text)
		}
	}
	f.Fuzz(func(_ *testing.T, text string) {
		if t, ok := input.ParsePHPTime(text, now); ok {
			_ = t.Format(time.DateTime)
		}
	})
}
