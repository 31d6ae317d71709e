package repository

import (
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// variableNames matches the variables that a text names, each in the group, and prefixes such as
// PORTICO_SQL_, which name a whole section.
var variableNames = regexp.MustCompile(`\b(PORTICO(?:_[A-Z0-9]+)+)\b|\bPORTICO_[A-Z0-9_]*_`)

// readVariables matches the variables that Go code reads from its environment.
var readVariables = regexp.MustCompile(`\bGetenv\("(PORTICO(?:_[A-Z0-9]+)+)"\)`)

// namedVariables returns the variables PORTICO_… that the guides, scripts, workflows and files of settings
// tell a person to set, and the variables that Go code reads, each with a file that names it. The names in
// other Go code are settings of a program in an example, or refused on purpose; the changelog names former
// ones.
func namedVariables(t *testing.T) map[string]string {
	t.Helper()
	root := os.DirFS(filepath.Join("..", ".."))
	named := map[string]string{}
	files := 0
	err := fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{".git", "testdata", "dist", "bin", "node_modules"}, entry.Name()):
			return fs.SkipDir
		case !entry.Type().IsRegular(), path == "cmd/portico/CHANGELOG.md":
			return nil
		}
		text, err := fs.ReadFile(root, path)
		pattern := variableNames
		if filepath.Ext(path) == ".go" {
			pattern = readVariables
		}
		for _, match := range pattern.FindAllSubmatch(text, -1) {
			if name := string(match[1]); name != "" {
				named[name] = path
			}
		}
		files++
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 500 || named["PORTICO_CONFIG"] == "" || named["PORTICO_TEST_NIGHTLY"] == "" {
		t.Fatalf("%d files name %q: this is not the top level", files, slices.Sorted(maps.Keys(named)))
	}
	return named
}

// TestNamedVariables checks that Portico refuses no variable that a file of the repository tells a person
// to set: people who follow a guide or run a test run Portico with the same environment.
func TestNamedVariables(t *testing.T) {
	named := namedVariables(t)
	var environ apptest.Environment
	for name := range named {
		environ = append(environ, name+"=")
	}
	// Most values are refused, because they are empty: each problem is a line that names the variable.
	_, _, err := environ.With("PORTICO_CONFIG="+filepath.Join("..", "portico.example.yaml")).Run(t, "config")
	if err == nil || !strings.Contains(err.Error(), "environment PORTICO_") {
		t.Fatalf("the variables are not read: %v", err)
	}
	for line := range strings.Lines(err.Error()) {
		if _, rest, unknown := strings.Cut(line, "environment "); unknown && strings.Contains(rest, "unknown variable") {
			name, _, _ := strings.Cut(rest, ":")
			t.Errorf("%s names %s, which Portico refuses as unknown: leave out the prefix PORTICO_, or begin with PORTICO_TEST_ for tests alone", named[name], name)
		}
	}
}
