package repository

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// skipFaults returns the positions in a Go file that skip a test in CI. Only benchmarks,
// and functions that read the environment variable CI, may skip tests. Files with a stage
// of their own in CI are exempt: see TestNothingIsSkippedInCI.
func skipFaults(name string, source []byte) ([]string, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return isText(i.Path, `"testing"`) }) {
		return nil, nil // a method called Skip is another one
	}
	var all []string
	for _, declaration := range file.Decls {
		var skips []token.Pos
		excused := false
		ast.Inspect(declaration, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Field:
				star, _ := n.Type.(*ast.StarExpr)
				excused = excused || star != nil && isSelector(star.X, "testing", "B")
			case *ast.CallExpr:
				excused = excused || isSelector(n.Fun, "os", "Getenv") && isText(n.Args[0], `"CI"`)
				if isSelector(n.Fun, "", "Skip", "Skipf", "SkipNow") {
					skips = append(skips, n.Pos())
				}
			}
			return true
		})
		for _, at := range skips {
			if !excused {
				all = append(all, fmt.Sprintf("%s skips a test in CI", files.Position(at)))
			}
		}
	}
	return all, nil
}

// isSelector reports whether e is owner.name for one of the names. An empty owner stands
// for any identifier.
func isSelector(e ast.Expr, owner string, names ...string) bool {
	selector, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	of, ok := selector.X.(*ast.Ident)
	return ok && (owner == "" || of.Name == owner) && slices.Contains(names, selector.Sel.Name)
}

// isText reports whether e is the given string literal.
func isText(e ast.Expr, literal string) bool {
	text, ok := e.(*ast.BasicLit)
	return ok && text.Value == literal
}

// TestNothingIsSkippedInCI checks all test files, including those for other platforms.
func TestNothingIsSkippedInCI(t *testing.T) {
	root := os.DirFS(filepath.Join("..", ".."))
	read := 0
	err := fs.WalkDir(root, ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		source, err := fs.ReadFile(root, path)
		if err != nil {
			return err
		}
		switch filepath.ToSlash(path) {
		case "contracttests/run.go": // other stores may lack fixtures; in this repository that is a failure
			return nil
		case "config/testenv/nightly.go": // long tests have a stage of .ci/nightly
			return nil
		case "adapter/sqlstore/sqltest/magento2test.go": // needs a shop that Portico's tests cannot install
			return nil
		case "adapter/sqlstore/sqltest/livebackend.go": // takes most of an hour, so that CI runs it only by name
			return nil
		}
		found, err := skipFaults(path, source)
		for _, breach := range found {
			t.Error(breach)
		}
		read++
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if read < 100 {
		t.Fatalf("%d files: this is not the top level", read)
	}
}

// TestSkipFaultsAreFound checks that skipFaults finds every way to skip a test.
func TestSkipFaultsAreFound(t *testing.T) {
	for _, tt := range []struct {
		name, source string
		want         []string
	}{
		{"no skip", `func TestA(t *testing.T) { t.Log() }`, nil},
		{"test", `func TestA(t *testing.T) { t.Skip() }`, []string{"a_test.go:2:28 skips a test in CI"}},
		{"subtest", `func TestA(t *testing.T) { t.Run("", func(t *testing.T) { t.SkipNow() }) }`, []string{"a_test.go:2:59 skips a test in CI"}},
		{"of either kind", `func f(tb testing.TB) { tb.Skipf("") }`, []string{"a_test.go:2:25 skips a test in CI"}},
		{"function value", `var f = func(t *testing.T) { t.Skip() }`, []string{"a_test.go:2:30 skips a test in CI"}},
		{"another variable", `func f(tb testing.TB) { if os.Getenv("HOME") != "" { tb.Skip() } }`, []string{"a_test.go:2:54 skips a test in CI"}},
		{"not in CI", `func f(tb testing.TB) { if os.Getenv("CI") != "true" { tb.Skip() } }`, nil},
		{"asked elsewhere", `func f(t *testing.T) { os.Getenv("CI") }; func g(t *testing.T) { t.Skip() }`, []string{"a_test.go:2:66 skips a test in CI"}},
		{"no test", `import "io"; func f(r records) { r.Skip() }`, nil},
		{"benchmark", `func BenchmarkA(b *testing.B) { b.Skip() }`, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			header := "package a; import \"testing\"\n"
			if strings.HasPrefix(tt.source, "import") {
				header = "package a\n"
			}
			got, err := skipFaults("a_test.go", []byte(header+tt.source))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("found %q, want %q", got, tt.want)
			}
		})
	}
}
