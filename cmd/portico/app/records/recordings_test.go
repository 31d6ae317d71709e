package records

import (
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestRemoveRecordings checks that the files with the names of a person are removed, and no others,
// even if the names are short.
func TestRemoveRecordings(t *testing.T) {
	person := sqlstore.ErasedPerson{Email: "al.li@example.com", FirstName: "Al", LastName: "Li"}
	for _, c := range []struct {
		name, content string
		removed       bool
	}{
		{"the e-mail address", `{"email":"Al.Li@example.com"}`, true},
		{"the e-mail address in a form", `email=al.li%40example.com&x=1`, true},
		{"an escaped e-mail address", `{"email":"al.li\u0040example.com"}`, true},
		{"both names in JSON", `{"firstname":"Al","lastname":"Li"}`, true},
		{"both names in JSON in a string", `{"body":"{\"firstname\":\"Al\",\"lastname\":\"Li\"}"}`, true},
		{"both names in XML", `<firstname>Al</firstname><lastname>Li</lastname>`, true},
		{"both names in escaped XML", `"\u003cfirstname\u003eAl\u003c/firstname\u003e\u003clastname\u003eLi\u003c/lastname\u003e"`, true},
		{"one name", `{"firstname":"Al","lastname":"Other"}`, false},
		{"names within other words", `{"name":"small list","description":"all lights"}`, false},
		{"another address", `{"email":"other@example.com"}`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder := t.TempDir()
			path := filepath.Join(folder, "exchanges.json")
			if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, dryRun := range []bool{true, false} {
				removed, err := removeRecordings(folder, person, dryRun)
				if err != nil || slices.Contains(removed, "exchanges.json") != c.removed {
					t.Errorf("dry run %t: removed %v, %v", dryRun, removed, err)
				}
				if _, err := os.Stat(path); (err == nil) != (dryRun || !c.removed) {
					t.Errorf("dry run %t: %v", dryRun, err)
				}
			}
		})
	}
}
