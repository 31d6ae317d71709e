package repository

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.yaml.in/yaml/v3"
)

// An issueForm is a form for issues on GitHub, with the keys that Portico's forms use.
type issueForm struct {
	Name, Description string
	Labels            []string
	Body              []struct {
		Type, ID   string
		Attributes struct {
			Label, Description, Value, Render string
			Options                           []yaml.Node
		}
		Validations struct{ Required bool }
	}
}

// TestIssueForms checks that GitHub can show the forms for issues: it ignores a form with an
// unknown key or type, or without a required one.
func TestIssueForms(t *testing.T) {
	names, err := filepath.Glob("../../.github/ISSUE_TEMPLATE/*.yml")
	if err != nil {
		t.Fatal(err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return filepath.Base(name) == "config.yml" })
	if len(names) < 3 {
		t.Fatalf("%d forms, want at least 3", len(names))
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			dec := yaml.NewDecoder(bytes.NewReader(data))
			dec.KnownFields(true)
			var f issueForm
			if err := dec.Decode(&f); err != nil {
				t.Fatal(err)
			}
			if f.Name == "" || f.Description == "" || len(f.Body) == 0 {
				t.Error("the form needs a name, a description and a body")
			}
			ids, labels := map[string]bool{}, map[string]bool{}
			inputs := 0
			for i, part := range f.Body {
				a := part.Attributes
				switch part.Type {
				case "markdown":
					if a.Value == "" || part.ID != "" {
						t.Errorf("part %d: a text needs a value, and no id", i+1)
					}
					continue
				case "dropdown", "checkboxes":
					if len(a.Options) == 0 {
						t.Errorf("part %d: there are no options", i+1)
					}
				case "input", "textarea":
				default:
					t.Errorf("part %d: unknown type %q", i+1, part.Type)
				}
				inputs++
				if part.ID == "" || a.Label == "" || ids[part.ID] || labels[a.Label] {
					t.Errorf("part %d: the id and the label must be set and unique", i+1)
				}
				ids[part.ID], labels[a.Label] = true, true
			}
			if inputs == 0 {
				t.Error("the form has nothing to fill in")
			}
		})
	}
}
