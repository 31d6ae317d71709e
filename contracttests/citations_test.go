package contracttests

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A textReader returns the texts of a file that may cite the specification.
type textReader func(name string, data []byte) ([]string, error)

// TestCitationsResolve checks that the comments, pages and data of the repository cite
// only existing sections.
func TestCitationsResolve(t *testing.T) {
	s := mustLoad(t)
	// Notations of citations that are not allowed in Go files.
	other := regexp.MustCompile(`\b(?:stock|[a-z_]+\.md|[Cc]onventions|Limits|Versioning) [0-9]|\(README, |README's ruling|\b(?:Endpoints|Errors|Resources) /|\bEndpoints, rule`)
	found := map[string]int{} // citations by kind of file
	check := func(name string, read textReader) {
		data, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		texts, err := read(name, data)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, text := range texts {
			for _, citation := range s.Citations(text) {
				found[path.Ext(name)]++
				if _, ok := s.Find(citation); !ok {
					t.Errorf("%s cites %s, which does not exist: %s", name, citation, specExcerpt(text, citation))
				}
			}
			if strings.HasSuffix(name, ".go") {
				for _, form := range other.FindAllString(text, -1) {
					t.Errorf("%s cites in another form than \"wire 6.5\": %s", name, specExcerpt(text, form))
				}
			}
		}
	}
	err := fs.WalkDir(os.DirFS(".."), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir():
		case path.Ext(name) == ".go":
			check(name, goComments)
		case path.Ext(name) == ".md":
			check(name, wholeText)
		case path.Ext(name) == ".yaml" || path.Ext(name) == ".yml":
			check(name, wholeText)
		case path.Ext(name) == ".json" && strings.HasPrefix(name, "contracttests/"):
			check(name, jsonCitations)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for extension, least := range map[string]int{".go": 300, ".md": 200, ".yaml": 50, ".json": 1000} {
		if found[extension] < least {
			t.Errorf("%d citations in %s files: some are missing", found[extension], extension)
		}
	}
}

// wholeText returns the content of a file on one line.
func wholeText(_ string, data []byte) ([]string, error) {
	return []string{strings.Join(strings.Fields(string(data)), " ")}, nil
}

// goComments returns each comment of a Go file on one line. It ignores string literals,
// which may contain "customers 2" as data.
func goComments(name string, data []byte) ([]string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), name, data, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var texts []string
	for _, group := range file.Comments {
		texts = append(texts, strings.Join(strings.Fields(group.Text()), " "))
	}
	return texts, nil
}

// jsonCitations returns the texts of the clauses and exchanges of a JSON file that may
// cite sections.
func jsonCitations(_ string, data []byte) ([]string, error) {
	var entries []struct{ Section, Says, Unshown, Clause, Differs, Note string }
	err := json.Unmarshal(data, &entries)
	var texts []string
	for _, e := range entries {
		texts = append(texts, e.Section, e.Says, e.Unshown, e.Clause, e.Differs, e.Note)
	}
	return texts, err
}

// specExcerpt returns the surroundings of part in a text.
func specExcerpt(text, part string) string {
	at := max(0, strings.Index(text, part))
	return "…" + text[max(0, at-40):min(len(text), at+len(part)+40)] + "…"
}
