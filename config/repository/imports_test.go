package repository

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	module   = "github.com/portico-commerce/portico"
	maxLines = 500 // for a file that is not a test
)

// A confinedLibrary is a library that only some packages may import.
type confinedLibrary struct {
	library string                 // beginning of its import path
	within  func(path string) bool // whether a package of the module may import it
}

// confinedLibraries returns the confined libraries.
func confinedLibraries() []confinedLibrary {
	return []confinedLibrary{
		{"github.com/gin-gonic/", func(path string) bool { return path == "mapping/httpapi" || under("cmd/portico/app", path) }},
		{"github.com/gin-contrib/", func(path string) bool { return path == "mapping/httpapi" }},
		{"github.com/redis/", func(path string) bool { return !under("mapping", path) && !under("adapter", path) }},
		{"go.opentelemetry.io/otel/sdk", func(path string) bool { return under("adapter/tracing/otlp", path) }},
		{"go.opentelemetry.io/otel/exporters", func(path string) bool { return under("adapter/tracing/otlp", path) }},
		{"google.golang.org/grpc", func(string) bool { return false }},
		{"github.com/prometheus/", func(path string) bool {
			return path == "mapping/httpapi" || path == "mapping/legacy/follow" || !under("mapping", path)
		}},
	}
}

// under reports whether path is folder or below it.
func under(folder, path string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }

// A listedPackage is a package of the module in the output of "go list -json".
type listedPackage struct {
	ImportPath string
	Name       string
	Dir        string
	GoFiles    []string // without tests
	Imports    []string // of GoFiles
}

// importFaults returns the faults of the name and the imports of a package.
func importFaults(house floors, p listedPackage) []string {
	var all []string
	path := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
	if slices.Contains([]string{"utils", "util", "common", "helpers", "helper"}, p.Name) {
		all = append(all, fmt.Sprintf("%s: the name %q does not say what the package is for", path, p.Name))
	}
	for _, imported := range p.Imports {
		if ours, ok := strings.CutPrefix(imported, module+"/"); ok {
			all = append(all, house.importFaults(path, ours)...)
		}
		for _, c := range confinedLibraries() {
			if strings.HasPrefix(imported, c.library) && !c.within(path) {
				all = append(all, fmt.Sprintf("%s must not import %s", path, imported))
			}
		}
	}
	return all
}

// fileFaults returns the rules for files that a Go file, which is not a test, breaks.
func fileFaults(name string, source []byte) ([]string, error) {
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

// folderFaults returns the top-level folders that do not belong in the repository.
func folderFaults(folders []string) []string {
	allowed := []string{"cmd", "adapter", "mapping", "cache", "config", "contracttests", "findings"}
	var all []string
	for _, folder := range folders {
		if !strings.HasPrefix(folder, ".") && !slices.Contains(allowed, folder) {
			all = append(all, folder+": the folder does not belong at the top level")
		}
	}
	return all
}

// listPackages returns every package of the module.
func listPackages(t *testing.T) []listedPackage {
	t.Helper()
	// -e: continue with packages that do not compile; their own tests report that.
	command := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Name,Dir,GoFiles,Imports", module+"/...")
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	var packages []listedPackage
	for decoder := json.NewDecoder(strings.NewReader(string(output))); ; {
		var p listedPackage
		switch err := decoder.Decode(&p); {
		case errors.Is(err, io.EOF):
			return packages
		case err != nil:
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

// TestImportsPointDownward checks the imports of every package.
func TestImportsPointDownward(t *testing.T) {
	packages, house := listPackages(t), readFloors(t)
	for _, want := range []string{"adapter", "config", "mapping/contract"} {
		if !slices.ContainsFunc(packages, func(p listedPackage) bool { return p.ImportPath == module+"/"+want }) {
			t.Errorf("%s was not listed", want)
		}
	}
	for _, p := range packages {
		for _, breach := range importFaults(house, p) {
			t.Error(breach)
		}
	}
}

// TestFilesFollowRules checks every file of the module with fileFaults.
func TestFilesFollowRules(t *testing.T) {
	t.Parallel()
	for _, p := range listPackages(t) {
		for _, name := range p.GoFiles {
			path := filepath.Join(p.Dir, name)
			source, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			found, err := fileFaults(path, source)
			if err != nil {
				t.Error(err)
			}
			for _, breach := range found {
				t.Error(breach)
			}
		}
	}
}

// TestTopLevelFolders checks the top-level folders of the repository.
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
	for _, breach := range folderFaults(folders) {
		t.Error(breach)
	}
}

// TestImportFaultsAreFound checks that importFaults finds every kind of fault.
func TestImportFaultsAreFound(t *testing.T) {
	house := readFloors(t)
	tests := []struct {
		name string
		p    listedPackage
		want []string
	}{
		{"allowed import", listedPackage{ImportPath: module + "/mapping/codec", Name: "codec", GoFiles: []string{"a.go"},
			Imports: []string{"io", module + "/mapping/contract"}}, nil},
		{"forbidden import", listedPackage{ImportPath: module + "/adapter/sqlstore", Name: "sqlstore", GoFiles: []string{"a.go"},
			Imports: []string{module + "/mapping/pipeline"}},
			[]string{"adapter/sqlstore (stores, floor 4) must not import mapping/pipeline (contract, floor 5)"}},
		{"unknown package", listedPackage{ImportPath: module + "/mapping/soap", Name: "soap", GoFiles: []string{"a.go"},
			Imports: []string{module + "/adapter"}},
			[]string{"mapping/soap is on no floor: add it to the table of CONTRIBUTING"}},
		{"folder of tests alone", listedPackage{ImportPath: module + "/adapter/sqlstore/sqltest", Name: "sqltest"}, nil},
		{"meaningless name", listedPackage{ImportPath: module + "/cache", Name: "utils", GoFiles: []string{"a.go"}},
			[]string{`cache: the name "utils" does not say what the package is for`}},
		{"gin where it belongs", listedPackage{ImportPath: module + "/mapping/httpapi", Name: "httpapi", GoFiles: []string{"a.go"},
			Imports: []string{"github.com/gin-gonic/gin", "github.com/prometheus/client_golang/prometheus"}}, nil},
		{"gin elsewhere", listedPackage{ImportPath: module + "/mapping", Name: "mapping", GoFiles: []string{"a.go"},
			Imports: []string{"github.com/gin-gonic/gin/render"}},
			[]string{"mapping must not import github.com/gin-gonic/gin/render"}},
		{"redis in mapping", listedPackage{ImportPath: module + "/mapping/auth", Name: "auth", GoFiles: []string{"a.go"},
			Imports: []string{"github.com/redis/go-redis/v9"}},
			[]string{"mapping/auth must not import github.com/redis/go-redis/v9"}},
		{"prometheus in mapping", listedPackage{ImportPath: module + "/mapping", Name: "mapping", GoFiles: []string{"a.go"},
			Imports: []string{"github.com/prometheus/client_golang/prometheus"}},
			[]string{"mapping must not import github.com/prometheus/client_golang/prometheus"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := importFaults(house, tt.p); !slices.Equal(got, tt.want) {
				t.Errorf("found %q, want %q", got, tt.want)
			}
		})
	}
}

// TestFileFaultsAreFound checks that fileFaults finds every kind of fault.
func TestFileFaultsAreFound(t *testing.T) {
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
			got, err := fileFaults("a.go", []byte(tt.source))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("found %q, want %q", got, tt.want)
			}
		})
	}
}

// TestFolderFaultsAreFound checks that folderFaults finds unknown folders.
func TestFolderFaultsAreFound(t *testing.T) {
	got := folderFaults([]string{".git", "adapter", "pkg"})
	if want := []string{"pkg: the folder does not belong at the top level"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}
