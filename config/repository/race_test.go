package repository

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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

// TestRaceList checks that .ci/race has every package that starts goroutines, or whose values they share.
func TestRaceList(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", ".ci", "race"))
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for line := range strings.Lines(string(text)) {
		if folder, ok := strings.CutPrefix(strings.TrimSpace(line), "./"); ok {
			listed = append(listed, folder)
		}
	}
	var concurrent []string
	goFiles(t, func(name string, source []byte) {
		folder := path.Dir(name)
		if strings.HasSuffix(name, "_test.go") || strings.Contains(name, "/testdata/") || isTestSupport(folder) || slices.Contains(concurrent, folder) {
			return
		}
		found, err := isConcurrent(name, source)
		if err != nil {
			t.Error(err)
		}
		if found {
			concurrent = append(concurrent, folder)
		}
	})
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
