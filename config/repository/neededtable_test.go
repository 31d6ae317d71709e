package repository

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
)

// TestNeededTable checks the guide's table of the attributes that an import requires against
// the schemas. After a change of a schema run:
//
//	go test ./config/repository -run NeededTable -update
func TestNeededTable(t *testing.T) {
	path := filepath.Join("..", "..", "adapter", "README.md")
	before, got, after, err := cutGenerated(apptest.ReadFile(t, path), "needed")
	if err != nil {
		t.Fatal(err)
	}
	want := neededTable()
	if *update {
		if err := os.WriteFile(path, []byte(before+want+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s is out of date, run this test with -update (-want +got):\n%s", path, diff)
	}
}

// neededTable returns a row for each resource that a mapping may have: the attributes that
// every record needs, and the resources that they refer to.
func neededTable() string {
	var b strings.Builder
	b.WriteString("| Resource | Part of | Every record needs | Of these refer to other records |\n|---|---|---|---|\n")
	schemas := adapter.NewSchemas()
	for _, r := range adapter.Resources() {
		schema := schemas.Of(r)
		var needed, references []string
		for _, a := range schema.Attributes {
			if !schema.Needs(&a) || a.Name == schema.RootAttribute {
				continue
			}
			needed = append(needed, "`"+a.Name+"`")
			if a.Refers != "" {
				references = append(references, fmt.Sprintf("`%s` to `%s`", a.Name, a.Refers))
			}
		}
		root := ""
		if schema.Root != "" {
			root = "`" + string(schema.Root) + "`"
		}
		if r != adapter.Admins { // which no backend owns
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r, root, strings.Join(needed, ", "), strings.Join(references, ", "))
		}
	}
	return b.String()
}
