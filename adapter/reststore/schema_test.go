package reststore

import (
	"os"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter/adaptertest"
	"go.yaml.in/yaml/v3"
)

// TestSchema checks that the JSON Schema accepts the existing mappings, and refuses
// changes of the small one.
func TestSchema(t *testing.T) {
	text, err := Schema(schemas)
	if err != nil {
		t.Fatal(err)
	}
	schema := adaptertest.CompileSchema(t, string(text))
	validate := func(content []byte) error {
		var v any
		if err := yaml.Unmarshal(content, &v); err != nil {
			t.Fatal(err)
		}
		return schema.Validate(v)
	}
	files, err := embedded.ReadDir(".")
	if err != nil || len(files) < 3 {
		t.Fatalf("%d mappings, %v", len(files), err)
	}
	for _, f := range files {
		content, _ := embedded.ReadFile(f.Name())
		if err := validate(content); err != nil {
			t.Errorf("%s: %v", f.Name(), err)
		}
	}
	fake, err := os.ReadFile("testdata/fakeshop.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"fakeshop": string(fake), "small": smallMapping} {
		if err := validate([]byte(content)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, c := range []struct{ name, old, new string }{
		{"an unknown member", "ping:", "pong:"},
		{"an unknown member of a resource", "    id: id", "    idd: id"},
		{"an unknown member of a request", "item: customer}", "item: customer, itemm: x}"},
		{"a member in the wrong place", "items: customers}", "items: customers, batch: 5}"},
		{"a missing member", "name: small\n", ""},
		{"an unknown resource", "  customers:\n", "  clients:\n"},
		{"an unknown attribute", "[email, group_id]", "[email, group, id]"},
		{"another type", "[email, group_id]", "email"},
	} {
		t.Run(c.name, func(t *testing.T) {
			changed := strings.Replace(smallMapping, c.old, c.new, 1)
			if changed == smallMapping || validate([]byte(changed)) == nil {
				t.Errorf("accepted:\n%s", changed)
			}
		})
	}
}
