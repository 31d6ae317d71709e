package repository

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"
)

// The limits of the code that a reader has to hold in mind at a time. Lines count comments and
// blanks.
const (
	maxPackageLines  = 5500 // of the files of a package that are not tests
	maxFunctionLines = 80   // tables inside the function not counted
	maxMethods       = 40   // of a type
	// Logic belongs below cmd, and its tests beside it.
	maxCommandLines     = 1000 // of cmd/portico outside cmd/portico/app, tests not counted
	maxCommandTestLines = 8000 // of the tests in cmd/portico
)

// largePackages are the suites, which may be longer: each of their parts is a list of cases.
func largePackages() []string { return []string{"adapter/adaptertest", "contracttests"} }

// A room is a package, to which the limits apply.
type room struct {
	lines, testLines int
	methods          map[string]int // by the name of the type, tests not counted
}

// add counts a file, and returns a fault for each function that is too long.
func (r *room) add(name string, source []byte) (faults []string, err error) {
	lines := strings.Count(string(source), "\n")
	if strings.HasSuffix(name, "_test.go") {
		r.testLines += lines
		return nil, nil
	}
	r.lines += lines
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, declaration := range file.Decls {
		f, ok := declaration.(*ast.FuncDecl)
		if !ok {
			continue
		}
		if n := linesOf(files, f) - tableLines(files, f); n > maxFunctionLines {
			faults = append(faults, fmt.Sprintf("%s: %s has %d lines, over %d", name, f.Name.Name, n, maxFunctionLines))
		}
		if f.Recv != nil {
			r.methods[receiver(f)]++
		}
	}
	return faults, nil
}

// linesOf returns the number of lines of a node.
func linesOf(files *token.FileSet, n ast.Node) int {
	return files.Position(n.End()).Line - files.Position(n.Pos()).Line + 1
}

// tableLines returns how many lines of a function are entries of tables: of literals of arrays,
// slices and maps.
func tableLines(files *token.FileSet, f *ast.FuncDecl) (lines int) {
	ast.Inspect(f, func(n ast.Node) bool {
		literal, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		switch literal.Type.(type) {
		case *ast.ArrayType, *ast.MapType:
			lines += linesOf(files, literal) - 1
			return false
		}
		return true
	})
	return lines
}

// receiver returns the name of the type of a method.
func receiver(f *ast.FuncDecl) string {
	expression := f.Recv.List[0].Type
	for {
		switch e := expression.(type) {
		case *ast.StarExpr:
			expression = e.X
		case *ast.IndexExpr:
			expression = e.X
		case *ast.IndexListExpr:
			expression = e.X
		case *ast.Ident:
			return e.Name
		default:
			return ""
		}
	}
}

// TestRooms checks that packages, types and functions stay of a size that a reader can hold in
// mind, and that the program's folder holds commands rather than logic.
func TestRooms(t *testing.T) {
	t.Parallel()
	rooms := map[string]*room{}
	goFiles(t, func(name string, source []byte) {
		folder := path.Dir(name)
		r := rooms[folder]
		if r == nil {
			r = &room{methods: map[string]int{}}
			rooms[folder] = r
		}
		faults, err := r.add(name, source)
		if err != nil {
			t.Error(err)
		}
		for _, fault := range faults {
			t.Error(fault)
		}
	})
	commandLines, commandTestLines := 0, 0
	for folder, r := range rooms {
		if r.lines > maxPackageLines && !slices.Contains(largePackages(), folder) {
			t.Errorf("%s has %d lines, over %d", folder, r.lines, maxPackageLines)
		}
		for name, n := range r.methods {
			if n > maxMethods {
				t.Errorf("%s: type %s has %d methods, over %d", folder, name, n, maxMethods)
			}
		}
		if !under("cmd/portico", folder) {
			continue
		}
		commandTestLines += r.testLines
		if !under("cmd/portico/app", folder) {
			commandLines += r.lines
		}
	}
	if commandTestLines == 0 || commandLines == 0 {
		t.Fatal("cmd/portico was not found")
	}
	if commandLines > maxCommandLines {
		t.Errorf("cmd/portico has %d lines outside app, over %d: move logic to the package that owns it", commandLines, maxCommandLines)
	}
	if commandTestLines > maxCommandTestLines {
		t.Errorf("cmd/portico has %d lines of tests, over %d: move them to the packages whose behavior they test", commandTestLines, maxCommandTestLines)
	}
}

// TestRoomFaultsAreFound checks that add counts everything that has a limit.
func TestRoomFaultsAreFound(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("\t_ = 1\n", maxFunctionLines)
	tests := []struct {
		name, source string
		want         int // faults
	}{
		{"short function", "package a\n\nfunc f() {\n\t_ = 1\n}\n", 0},
		{"long function", "package a\n\nfunc f() {\n" + long + "}\n", 1},
		{"long method", "package a\n\nfunc (*room[K]) f() {\n" + long + "}\n", 1},
		{"table", "package a\n\nfunc f() []int {\n\treturn []int{\n" + strings.Repeat("\t\t1,\n", maxFunctionLines) + "\t}\n}\n", 0},
		{"table and long function", "package a\n\nfunc f() []int {\n" + long + "\treturn []int{\n\t\t1,\n\t}\n}\n", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &room{methods: map[string]int{}}
			faults, err := r.add("a.go", []byte(tt.source))
			if err != nil {
				t.Fatal(err)
			}
			if len(faults) != tt.want || r.lines != strings.Count(tt.source, "\n") || (tt.name == "long method") != (r.methods["room"] == 1) {
				t.Errorf("got the faults %q, %d lines and the methods %v", faults, r.lines, r.methods)
			}
		})
	}
}
