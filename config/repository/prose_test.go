package repository

import (
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

// jargon maps the project's former private names to the field's names. Ordinary words
// that also served as jargon are left to the reader.
func jargon() map[string]string {
	return map[string]string{
		"meet": "reconcile", "welcome": "importUnmapped", "keeping": "resourcePlan", "told": "logOnce",
		"Strike": "DeleteMapping", "Doubt": "invalidate", "doubt": "invalidate",
		"aside": "detachedContext", "standing": "syncState", "mayGo": "checkDelete", "sieve": "postFilter",
		"asItIs": "identityConnector", "alike": "sameInBoth", "apart": "perDialect", "endings": "closers",
		"ledger": "idMap", "Ledger": "IDMap", "sidestore": "replica", "side": "replica",
	}
}

// privatePhrases are sentences of the same kind. English that is only clumsy is left to
// the reader.
func privatePhrases() []string {
	return []string{
		"and then ever again", "that the backend keeps", "anew that is saved", "end what is open",
		"is none of no records", "well or ill as a whole", "who knows what is in it",
		"entry that says most", "who may log in and consent", "behind Portico's back", "what reads the same",
		"None but the", "both sides of the ledger", "in the ledger",
	}
}

// goFiles calls use with the name, relative to the root, and the text of each Go file.
func goFiles(t *testing.T, use func(name string, source []byte)) {
	t.Helper()
	root := filepath.Join("..", "..")
	files := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		files++
		use(filepath.ToSlash(name), source)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 100 {
		t.Fatalf("only %d Go files below %s", files, root)
	}
}

// TestPlainNames checks that no name is private jargon, and that no comment or text has a
// phrase of it.
func TestPlainNames(t *testing.T) {
	t.Parallel()
	names, phrases := jargon(), privatePhrases()
	goFiles(t, func(name string, source []byte) {
		if strings.HasSuffix(name, "/prose_test.go") {
			return
		}
		for _, phrase := range phrases {
			if strings.Contains(string(source), phrase) {
				t.Errorf("%s: %q is not plain English", name, phrase)
			}
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if identifier, ok := n.(*ast.Ident); ok && names[identifier.Name] != "" {
				t.Errorf("%s: %s is called %s in the field", files.Position(identifier.Pos()), identifier.Name, names[identifier.Name])
			}
			return true
		})
	})
}

// TestExportedNamesHaveComments checks that every exported name of a package has a comment of its
// own or shares the comment of its group. A method of an unexported type needs none: such methods
// implement an interface, which has the comment.
func TestExportedNamesHaveComments(t *testing.T) {
	goFiles(t, func(name string, source []byte) {
		if strings.HasSuffix(name, "_test.go") {
			return
		}
		for _, missing := range uncommented(t, name, source) {
			t.Errorf("%s has no comment", missing)
		}
	})
}

// TestUncommentedNamesAreFound checks the check.
func TestUncommentedNamesAreFound(t *testing.T) {
	const source = `package p
func F() {}
// G has one.
func G() {}
func (T) M() {}
func (t) N() {}
// group
const ( A = 1
B = 2 )
const ( C = 1
D = 2 // own
)
type T int
type t int
var hidden int
`
	got := uncommented(t, "p.go", []byte(source))
	if want := []string{"p.go:2:1: F", "p.go:5:1: M", "p.go:10:9: C", "p.go:13:6: T"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// uncommented returns the position and name of each exported name without a comment.
func uncommented(t *testing.T, name string, source []byte) (missing []string) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	add := func(at token.Pos, identifier *ast.Ident, comments ...*ast.CommentGroup) {
		hasComment := slices.ContainsFunc(comments, func(c *ast.CommentGroup) bool { return c != nil })
		if identifier.IsExported() && !hasComment {
			missing = append(missing, files.Position(at).String()+": "+identifier.Name)
		}
	}
	for _, declaration := range file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			if receiver := receiverType(d); receiver == nil || receiver.IsExported() {
				add(d.Pos(), d.Name, d.Doc)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					add(s.Pos(), s.Name, s.Doc, d.Doc)
				case *ast.ValueSpec:
					for _, identifier := range s.Names {
						add(identifier.Pos(), identifier, s.Doc, s.Comment, d.Doc)
					}
				}
			}
		}
	}
	return missing
}

// receiverType returns the name of the type that a method belongs to, or nil for a
// function.
func receiverType(d *ast.FuncDecl) *ast.Ident {
	if d.Recv == nil {
		return nil
	}
	receiver := d.Recv.List[0].Type
	for {
		switch r := receiver.(type) {
		case *ast.StarExpr:
			receiver = r.X
		case *ast.IndexExpr:
			receiver = r.X
		case *ast.IndexListExpr:
			receiver = r.X
		case *ast.Ident:
			return r
		default:
			return nil
		}
	}
}
