package repository

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config"
)

// TestREADME checks that the generated parts of config/README.md are up to date. After a
// change of the settings run:
//
//	go test ./config/repository -run README -update
func TestREADME(t *testing.T) {
	path := filepath.Join("..", "..", "config", "README.md")
	for name, want := range map[string]string{"settings": settingsTable(t), "tables": tableKeys()} {
		t.Run(name, func(t *testing.T) {
			before, got, after, err := cutGenerated(apptest.ReadFile(t, path), name)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			if *update {
				if err := os.WriteFile(path, []byte(before+want+after), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s is out of date, run this test with -update (-want +got):\n%s", path, diff)
			}
		})
	}
}

// cutGenerated returns the text between the two markers called name, and the text before
// and after it, including the markers.
func cutGenerated(text, name string) (before, generated, after string, err error) {
	begin, end := "<!-- "+name+" -->\n", "<!-- /"+name+" -->\n"
	for _, marker := range []string{begin, end} {
		if n := strings.Count(text, marker); n != 1 {
			return "", "", "", fmt.Errorf("the line %q has to stand there once, not %d times", strings.TrimSpace(marker), n)
		}
	}
	from, to := strings.Index(text, begin)+len(begin), strings.Index(text, end)
	if to < from {
		return "", "", "", fmt.Errorf("%q stands before %q", strings.TrimSpace(end), strings.TrimSpace(begin))
	}
	return text[:from], text[from:to], text[to:], nil
}

// settingsTable returns all settings as a table in Markdown.
func settingsTable(t *testing.T) string {
	t.Helper()
	example := apptest.MustRun(t, "config", "--example")
	var table strings.Builder
	table.WriteString("| Setting | Default | Environment | Flag | Reload | What it is |\n|---|---|---|---|---|---|\n")
	for _, s := range allSettings(t) {
		reload, help := "", s.Help
		if s.Reload {
			reload = "yes"
		}
		if choices := choicesOf(example, s.Environment); choices != "" {
			help += " One of: " + choices + "."
		}
		fmt.Fprintf(&table, "| %s | %s | %s | %s | %s | %s |\n", markdownCode(s.Name), markdownCode(s.Default), markdownCode(s.Environment), markdownCode(s.Flag), reload, strings.ReplaceAll(help, "|", `\|`))
	}
	return table.String()
}

// choicesOf returns the choices of a setting, which the example file names behind its variable.
func choicesOf(example, variable string) string {
	for line := range strings.Lines(example) {
		if _, rest, ok := strings.Cut(line, " "+variable+","); ok {
			_, choices, _ := strings.Cut(strings.TrimSpace(rest), "one of: ")
			choices, _, _ = strings.Cut(choices, ",")
			return strings.ReplaceAll(choices, " ", ", ")
		}
	}
	return ""
}

// tableKeys returns the keys of settings that are tables, as a table in Markdown.
func tableKeys() string {
	var keys strings.Builder
	keys.WriteString("| Setting | Key | Default | What it is |\n|---|---|---|---|\n")
	for _, t := range config.Tables() {
		fmt.Fprintf(&keys, "| %s |  |  | %s |\n", markdownCode(t.Name), t.Help+t.ReloadNote())
		for _, key := range t.Keys {
			help := key.Help
			if len(key.Choices) > 0 {
				help += " Of: " + strings.Join(key.Choices, ", ") + "."
			}
			fmt.Fprintf(&keys, "|  | %s | %s | %s |\n", markdownCode(key.Name), markdownCode(key.Default), help)
		}
	}
	return keys.String()
}

// markdownCode formats text as code in Markdown; empty text stays empty.
func markdownCode(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

// anchors returns the anchors that GitHub generates for the headings of a page.
func anchors(page string) map[string]bool {
	found := map[string]bool{}
	for line := range strings.Lines(page) {
		if title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
			found[strings.Map(func(r rune) rune {
				switch {
				case r == ' ':
					return '-'
				case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
					return unicode.ToLower(r)
				}
				return -1
			}, strings.TrimSpace(title))] = true
		}
	}
	return found
}

// TestCutGenerated checks how generated text is found.
func TestCutGenerated(t *testing.T) {
	const begin, end = "<!-- x -->\n", "<!-- /x -->\n"
	tests := []struct {
		name, text string
		want       [3]string
		problem    string
	}{
		{"something", "a\n" + begin + "b\n" + end + "c\n", [3]string{"a\n" + begin, "b\n", end + "c\n"}, ""},
		{"nothing", begin + end, [3]string{begin, "", end}, ""},
		{"no markers", "a\n", [3]string{}, `the line "<!-- x -->" has to stand there once, not 0 times`},
		{"no end", begin + "b\n", [3]string{}, `the line "<!-- /x -->" has to stand there once, not 0 times`},
		{"twice", begin + end + begin + end, [3]string{}, `the line "<!-- x -->" has to stand there once, not 2 times`},
		{"end first", end + begin, [3]string{}, `"<!-- /x -->" stands before "<!-- x -->"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before, generated, after, err := cutGenerated(tt.text, "x")
			if got := [3]string{before, generated, after}; got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if (err == nil) != (tt.problem == "") || err != nil && err.Error() != tt.problem {
				t.Errorf("got %v, want %q", err, tt.problem)
			}
		})
	}
}
