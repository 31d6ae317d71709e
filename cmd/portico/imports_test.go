package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	module   = "github.com/portico-commerce/portico"
	maxLines = 500 // of one file that is no test
)

// arrows names, for each package of ours, the packages of ours it may import.
// What is not drawn is forbidden, and so is a package that is not listed.
func arrows() map[string][]string {
	return map[string][]string{
		"cmd/portico": {
			"adapter", "adapter/demo", "adapter/guard", "adapter/magento1", "adapter/reststore", "adapter/replica", "adapter/sqlstore",
			"cache", "config", "contracttests", "contracttests/report", "mapping", "mapping/auth", "mapping/compare", "mapping/consent", "mapping/contract",
			"mapping/exchange", "mapping/httpapi", "mapping/mask", "mapping/passthrough", "mapping/recording", "mapping/shadow",
		},
		"cmd/contracttest": {"contracttests", "contracttests/report"},

		"mapping/httpapi":     {"mapping", "mapping/consent", "mapping/exchange", "mapping/passthrough", "mapping/budget", "mapping/ratelimit", "mapping/contract", "adapter"},
		"mapping/consent":     {"mapping/auth", "mapping/ratelimit", "adapter"},
		"mapping/passthrough": {"mapping/contract", "adapter"},
		"mapping/exchange":    {"mapping/contract"},
		"mapping/compare":     {"mapping/codec", "mapping/contract"},
		"mapping/mask":        {"mapping/codec", "mapping/contract"},
		"mapping/recording":   {"mapping/exchange", "mapping/mask", "mapping/codec", "mapping/contract"},
		"mapping/shadow":      {"mapping/exchange", "mapping/compare", "mapping/passthrough", "mapping/contract"},
		"mapping":             {"mapping/codec", "mapping/listquery", "mapping/auth", "mapping/budget", "mapping/ratelimit", "mapping/contract", "mapping/numeric", "adapter"},
		"mapping/codec":       {"mapping/contract", "mapping/numeric"},
		"mapping/listquery":   {"mapping/codec", "mapping/contract", "mapping/numeric", "adapter"},
		"mapping/auth":        {"mapping/contract", "adapter"},
		"mapping/budget":      {"adapter"},
		"mapping/ratelimit":   {},
		"mapping/contract":    {},
		"mapping/numeric":     {},

		"adapter":             {},
		"adapter/adaptertest": {"adapter"},
		"adapter/demo":        {"adapter"},
		// databases with the demo store for tests
		"adapter/demo/demotest": {"adapter", "adapter/demo", "adapter/sqlstore", "adapter/sqlstore/sqltest"},
		"adapter/guard":         {"adapter"},
		"adapter/magento1":      {"adapter"},
		"adapter/reststore":     {"adapter", "adapter/replica"},
		// a private Medusa for tests
		"adapter/reststore/medusatest": {"adapter/sqlstore/sqltest", "contracttests/programs"},
		"adapter/replica":              {"adapter"},
		"adapter/sqlstore":             {"adapter", "adapter/replica"},
		// private database servers for tests
		"adapter/sqlstore/sqltest": {},
		// old shops for tests
		"adapter/magento1/magento1test": {"adapter/sqlstore/sqltest"},
		"cache":                         {"adapter"},

		"config":               {},
		"contracttests":        {},
		"contracttests/report": {"contracttests", "contracttests/spec"},
		"contracttests/spec":   {},
		// tells tests whether they run for a commit or at night
		"contracttests/nightly": {},
		// asks for programs that tests run
		"contracttests/programs":          {},
		"contracttests/programs/chromium": {"contracttests/programs"},
	}
}

// A confinement keeps a library in the packages that may know it.
type confinement struct {
	library string                 // beginning of its import path
	within  func(path string) bool // whether the package of ours may import it
}

func confinements() []confinement {
	return []confinement{
		{"github.com/gin-gonic/", func(path string) bool { return path == "mapping/httpapi" }},
		{"github.com/gin-contrib/", func(path string) bool { return path == "mapping/httpapi" }},
		{"github.com/redis/", func(path string) bool { return !under("mapping", path) && !under("adapter", path) }},
		{"github.com/prometheus/", func(path string) bool { return path == "mapping/httpapi" || !under("mapping", path) }},
	}
}

func under(folder, path string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }

// A listed package is what "go list -json" says of one package of ours.
type listed struct {
	ImportPath string
	Name       string
	Dir        string
	GoFiles    []string // without tests
	Imports    []string // of GoFiles
}

// breaches returns what is wrong with a package's name and imports.
func breaches(p listed) []string {
	var all []string
	path := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
	if slices.Contains([]string{"utils", "util", "common", "helpers", "helper"}, p.Name) {
		all = append(all, fmt.Sprintf("%s: the name %q says nothing", path, p.Name))
	}
	allowed, drawn := arrows()[path]
	if !drawn && len(p.GoFiles) > 0 {
		all = append(all, path+": the package has no arrows")
	}
	for _, imported := range p.Imports {
		if ours, ok := strings.CutPrefix(imported, module+"/"); ok && !slices.Contains(allowed, ours) {
			all = append(all, fmt.Sprintf("%s imports %s, which is not drawn", path, ours))
		}
		for _, c := range confinements() {
			if strings.HasPrefix(imported, c.library) && !c.within(path) {
				all = append(all, fmt.Sprintf("%s must not import %s", path, imported))
			}
		}
	}
	return all
}

// fileBreaches returns what is wrong with one Go file that is no test.
func fileBreaches(name string, source []byte) ([]string, error) {
	var all []string
	if lines := strings.Count(string(source), "\n"); lines > maxLines {
		all = append(all, fmt.Sprintf("%s has %d lines, over %d", name, lines, maxLines))
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, declaration := range file.Decls {
		if f, ok := declaration.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
			all = append(all, name+" has a func init")
		}
	}
	return all, nil
}

// folderBreaches returns the top-level folders that have no place in the tree.
func folderBreaches(folders []string) []string {
	allowed := []string{"cmd", "adapter", "mapping", "cache", "config", "contracttests"}
	var all []string
	for _, folder := range folders {
		if !strings.HasPrefix(folder, ".") && !slices.Contains(allowed, folder) {
			all = append(all, folder+": no such folder at the top level")
		}
	}
	return all
}

// list returns every package of the module, those of cmd included.
func list(t *testing.T) []listed {
	t.Helper()
	// -e: a package that does not compile is its own test's business.
	command := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Name,Dir,GoFiles,Imports", module+"/...")
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	var packages []listed
	for decoder := json.NewDecoder(strings.NewReader(string(output))); ; {
		var p listed
		switch err := decoder.Decode(&p); {
		case errors.Is(err, io.EOF):
			return packages
		case err != nil:
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

func TestImportsPointDownward(t *testing.T) {
	packages := list(t)
	for _, want := range []string{"adapter", "config", "mapping/contract"} {
		if !slices.ContainsFunc(packages, func(p listed) bool { return p.ImportPath == module+"/"+want }) {
			t.Errorf("%s was not listed", want)
		}
	}
	for _, p := range packages {
		for _, breach := range breaches(p) {
			t.Error(breach)
		}
	}
}

func TestFilesKeepTheHouseRules(t *testing.T) {
	for _, p := range list(t) {
		for _, name := range p.GoFiles {
			path := filepath.Join(p.Dir, name)
			source, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			found, err := fileBreaches(path, source)
			if err != nil {
				t.Error(err)
			}
			for _, breach := range found {
				t.Error(breach)
			}
		}
	}
}

func TestTopLevelFolders(t *testing.T) {
	entries, err := os.ReadDir(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	var folders []string
	for _, entry := range entries {
		if entry.IsDir() {
			folders = append(folders, entry.Name())
		}
	}
	if !slices.Contains(folders, "adapter") {
		t.Fatal("this is not the top level")
	}
	for _, breach := range folderBreaches(folders) {
		t.Error(breach)
	}
}

// TestArrowsHaveNoCircle follows the arrows from each package to the bottom.
func TestArrowsHaveNoCircle(t *testing.T) {
	drawn := arrows()
	var follow func(from string, path []string)
	follow = func(from string, path []string) {
		if slices.Contains(path, from) {
			t.Fatalf("circle: %s", strings.Join(append(path, from), " → "))
		}
		for _, to := range drawn[from] {
			if _, ok := drawn[to]; !ok {
				t.Errorf("%s → %s: no such package", from, to)
			}
			follow(to, append(slices.Clone(path), from))
		}
	}
	for _, from := range slices.Sorted(maps.Keys(drawn)) {
		follow(from, nil)
	}
}

func TestBreachesAreFound(t *testing.T) {
	tests := []struct {
		name string
		p    listed
		want []string
	}{
		{"arrow that is drawn", listed{ImportPath: module + "/mapping/codec", Name: "codec", GoFiles: []string{"a.go"},
			Imports: []string{"io", module + "/mapping/contract"}}, nil},
		{"arrow that is not drawn", listed{ImportPath: module + "/adapter/sqlstore", Name: "sqlstore", GoFiles: []string{"a.go"},
			Imports: []string{module + "/mapping/contract"}},
			[]string{"adapter/sqlstore imports mapping/contract, which is not drawn"}},
		{"package without arrows", listed{ImportPath: module + "/mapping/soap", Name: "soap", GoFiles: []string{"a.go"}},
			[]string{"mapping/soap: the package has no arrows"}},
		{"folder of tests alone", listed{ImportPath: module + "/adapter/sqlstore/sqltest", Name: "sqltest"}, nil},
		{"name that says nothing", listed{ImportPath: module + "/cache", Name: "utils", GoFiles: []string{"a.go"}},
			[]string{`cache: the name "utils" says nothing`}},
		{"gin where it belongs", listed{ImportPath: module + "/mapping/httpapi", Name: "httpapi", GoFiles: []string{"a.go"},
			Imports: []string{"github.com/gin-gonic/gin", "github.com/prometheus/client_golang/prometheus"}}, nil},
		{"gin elsewhere", listed{ImportPath: module + "/mapping", Name: "mapping", GoFiles: []string{"a.go"},
			Imports: []string{"github.com/gin-gonic/gin/render"}},
			[]string{"mapping must not import github.com/gin-gonic/gin/render"}},
		{"redis in mapping", listed{ImportPath: module + "/mapping/auth", Name: "auth", GoFiles: []string{"a.go"},
			Imports: []string{"github.com/redis/go-redis/v9"}},
			[]string{"mapping/auth must not import github.com/redis/go-redis/v9"}},
		{"prometheus in mapping", listed{ImportPath: module + "/mapping", Name: "mapping", GoFiles: []string{"a.go"},
			Imports: []string{"github.com/prometheus/client_golang/prometheus"}},
			[]string{"mapping must not import github.com/prometheus/client_golang/prometheus"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := breaches(tt.p); !slices.Equal(got, tt.want) {
				t.Errorf("found %q, want %q", got, tt.want)
			}
		})
	}
}

func TestFileBreachesAreFound(t *testing.T) {
	tests := []struct {
		name   string
		source string
		want   []string
	}{
		{"plain file", "package a\n\nfunc initial() {}\n", nil},
		{"method called init", "package a\n\ntype t int\n\nfunc (t) init() {}\n", nil},
		{"func init", "package a\n\nfunc init() {}\n", []string{"a.go has a func init"}},
		{"longest file", "package a\n" + strings.Repeat("\n", maxLines-1), nil},
		{"file too long", "package a\n" + strings.Repeat("\n", maxLines), []string{"a.go has 501 lines, over 500"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := fileBreaches("a.go", []byte(tt.source))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("found %q, want %q", got, tt.want)
			}
		})
	}
}

func TestFolderBreachesAreFound(t *testing.T) {
	got := folderBreaches([]string{".git", "adapter", "pkg"})
	if want := []string{"pkg: no such folder at the top level"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}
