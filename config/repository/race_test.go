package repository

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// isConcurrent reports whether a Go file starts goroutines, or shares values between them: it has a go statement, or
// imports package sync or a package below it.
func isConcurrent(name string, source []byte) (bool, error) {
	file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
	if err != nil {
		return false, err
	}
	found := slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return isText(i.Path, `"sync"`) || isText(i.Path, `"sync/atomic"`) })
	ast.Inspect(file, func(n ast.Node) bool {
		_, starts := n.(*ast.GoStmt)
		found = found || starts
		return true
	})
	return found, nil
}

// isTestSupport reports whether a folder holds packages that only tests use.
func isTestSupport(folder string) bool {
	return strings.HasSuffix(folder, "test") || under("config/testenv", folder) || under("adapter/examples", folder) ||
		slices.Contains([]string{"contracttests/program", "contracttests/migration", "contracttests/speed"}, folder)
}

// TestRaceList checks that .ci/race has every package that starts goroutines, or whose values they share, and
// that the tests that it leaves out exist: .ci/run leaves out all tests of a name.
func TestRaceList(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", ".ci", "race"))
	if err != nil {
		t.Fatal(err)
	}
	var listed, leftOut, concurrent []string
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "./"); ok {
			words := strings.Fields(rest)
			listed = append(listed, words[0])
			for _, test := range words[1:] {
				leftOut = append(leftOut, words[0]+" "+test)
			}
		}
	}
	var found []string
	goFiles(t, func(name string, source []byte) {
		folder := path.Dir(name)
		for _, test := range regexp.MustCompile(`(?m)^func (Test\w+)`).FindAllSubmatch(source, -1) {
			if slices.Contains(listed, folder) && slices.ContainsFunc(leftOut, func(s string) bool { return strings.HasSuffix(s, " "+string(test[1])) }) {
				found = append(found, folder+" "+string(test[1]))
			}
		}
		if strings.HasSuffix(name, "_test.go") || strings.Contains(name, "/testdata/") || isTestSupport(folder) || slices.Contains(concurrent, folder) {
			return
		}
		is, err := isConcurrent(name, source)
		if err != nil {
			t.Error(err)
		}
		if is {
			concurrent = append(concurrent, folder)
		}
	})
	slices.Sort(leftOut)
	slices.Sort(found)
	if difference := cmp.Diff(leftOut, found); difference != "" {
		t.Errorf("tests to leave out -, tests of these names +:\n%s", difference)
	}
	for _, folder := range concurrent {
		if !slices.Contains(listed, folder) {
			t.Errorf("%s starts goroutines or shares values between them: add it to .ci/race", folder)
		}
	}
	for _, folder := range listed {
		if !slices.Contains(concurrent, folder) {
			t.Errorf("%s does not: remove it from .ci/race", folder)
		}
	}
}

// TestConcurrencyIsFound checks isConcurrent.
func TestConcurrencyIsFound(t *testing.T) {
	for source, want := range map[string]bool{
		"package a\n\nimport \"strings\"\n":              false,
		"package a\n\nimport \"sync\"\n":                 true,
		"package a\n\nimport \"sync/atomic\"\n":          true,
		"package a\n\nfunc f() {\n\tgo f()\n}\n":         true,
		"package a\n\n// go f()\nfunc f() {\n\tf()\n}\n": false,
	} {
		if got, err := isConcurrent("a.go", []byte(source)); got != want || err != nil {
			t.Errorf("%q: %v, %v", source, got, err)
		}
	}
}
