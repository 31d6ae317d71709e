package config_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/config"
)

func TestTablesAreSound(t *testing.T) {
	for _, table := range config.Tables() {
		t.Run(table.Name, func(t *testing.T) {
			names := map[string]bool{}
			for _, key := range table.Keys {
				if names[key.Name] || !strings.HasSuffix(key.Help, ".") {
					t.Errorf("key %s: duplicate, or its help %q is not a sentence", key.Name, key.Help)
				}
				names[key.Name] = true
			}
			for _, key := range table.Identity {
				if !names[key] {
					t.Errorf("no key %s", key)
				}
			}
			file := writeFile(t, table.Name+":\n  - "+table.Example+"\n")
			c, err := config.Load(config.Sources{Sections: adapterSections(), File: file})
			if err != nil {
				t.Fatalf("the example: %v", err)
			}
			for _, r := range c.Rows() {
				if r.Name == table.Name+"[0]" && r.Value != table.Example {
					t.Errorf("the example is listed as %s", r.Value)
				}
			}
		})
	}
}

func TestLoadTables(t *testing.T) {
	file := writeFile(t, `
attributes:
  - {resource: customers, name: loyalty_number, kind: text, roles: [admin, customer], writers: [customer, admin]}
  - resource: products
    name: lead_days
    kind: integer
    scope: website
    roles: guest
    views: [single]
fields:
  - {resource: orders, role: customer, read: [status, "grand_total"]}
  - {resource: stock_items, role: admin, write: []}
  - {resource: products, role: guest, without_computed: true}
`)
	got, err := config.Load(config.Sources{Sections: adapterSections(), File: file})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]config.Attribute{
		{Resource: "customers", Name: "loyalty_number", Kind: "text", Scope: "global", Roles: []string{"admin", "customer"}, Writers: []string{"customer", "admin"}, Views: []string{"list", "single"}},
		{Resource: "products", Name: "lead_days", Kind: "integer", Scope: "website", Roles: []string{"guest"}, Writers: []string{"admin"}, Views: []string{"single"}},
	}, got.Attributes); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]config.FieldList{
		{Resource: "orders", Role: "customer", Read: []string{"status", "grand_total"}},
		{Resource: "stock_items", Role: "admin", Write: []string{}},
		{Resource: "products", Role: "guest", WithoutComputed: true},
	}, got.Fields); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
	listed := map[string]string{}
	for _, r := range got.Rows() {
		listed[r.Name] = r.Source + " " + r.Value
	}
	for name, want := range map[string]string{
		"attributes[0]": "portico.yaml:3 {resource: customers, name: loyalty_number, kind: text, roles: [admin, customer], writers: [customer, admin]}",
		"attributes[1]": "portico.yaml:4 {resource: products, name: lead_days, kind: integer, scope: website, roles: [guest], views: [single]}",
		"fields[0]":     "portico.yaml:11 {resource: orders, role: customer, read: [status, grand_total]}",
		"fields[1]":     "portico.yaml:12 {resource: stock_items, role: admin, write: []}",
		"fields[2]":     "portico.yaml:13 {resource: products, role: guest, without_computed: true}",
	} {
		if listed[name] != want {
			t.Errorf("%s is listed as %q, want %q", name, listed[name], want)
		}
	}
}

func TestLoadRefusesEntries(t *testing.T) {
	refuse := config.Sources{
		Sections:  adapterSections(),
		Attribute: func(a config.Attribute) error { return errors.Join(errors.New("no "+a.Name), errors.New("not so")) },
		Fields:    func(f config.FieldList) error { return errors.New("no " + f.Role) },
	}
	const good = "{resource: customers, name: a, kind: text, roles: admin}"
	tests := []struct {
		name, file string
		from       config.Sources
		want       []string
	}{
		{"no list", "attributes: {name: a}", config.Sources{}, []string{`portico.yaml:1: attributes must be a list of mappings`}},
		{"a text", "attributes: a, b", config.Sources{}, []string{`portico.yaml:1: attributes must be a list of mappings`}},
		{"texts", "fields:\n- a", config.Sources{}, []string{`portico.yaml:2: fields[0] must be a mapping of keys`}},
		{"given twice", "fields: []\nfields: []", config.Sources{}, []string{`portico.yaml:2: fields is already set in line 1`}},
		{"an anchor", "fields: &a []", config.Sources{}, []string{`portico.yaml:1: fields must be a list of mappings`}},
		{"in the environment", "", config.Sources{Environ: []string{"PORTICO_ATTRIBUTES=x"}}, []string{`environment PORTICO_ATTRIBUTES: unknown variable`}},
		{"a name next to it", "atributes: []", config.Sources{}, []string{`portico.yaml:1: atributes: unknown setting; did you mean attributes?`}},
		{"keys left out", "attributes:\n- {}", config.Sources{}, []string{
			`portico.yaml:2: attributes[0].kind: "" must be one of text, textarea, integer, decimal, time, select, multiselect, boolean, price, image, fixed_tax`,
			`portico.yaml:2: attributes[0].roles: "" must be a list of admin, customer, guest, at least one`,
		}},
		{"values", "attributes:\n- resource: customers\n  kind: money\n  roles: [admin, root]\n  writers: [admin, guest]\n  views: []\n  scope: [store, website]\n", config.Sources{}, []string{
			`portico.yaml:3: attributes[0].kind: "money" must be one of text, textarea, integer, decimal, time, select, multiselect, boolean, price, image, fixed_tax`,
			`portico.yaml:7: attributes[0].scope: "store,website" must be one of global, website, store`,
			`portico.yaml:4: attributes[0].roles: "admin,root" must be a list of admin, customer, guest, or []`,
			`portico.yaml:5: attributes[0].writers: "admin,guest" must be a list of admin, customer, or []`,
			`portico.yaml:6: attributes[0].views: "" must be a list of list, single, at least one`,
		}},
		{"unknown keys", "fields:\n- {role: admin, rea: [x], more: {deep: 1}}", config.Sources{}, []string{
			`portico.yaml:2: fields[0].rea: unknown key; did you mean read?`,
			`portico.yaml:2: fields[0].more: unknown key; did you mean role?`,
		}},
		{"a key given twice", "fields:\n- {role: admin, role: guest}", config.Sources{}, []string{`portico.yaml:2: role is already set in line 2`}},
		{"the same twice", "attributes:\n- " + good + "\n- {resource: products, name: a, kind: text, roles: admin}\n- " + good, config.Sources{},
			[]string{`portico.yaml:4: attributes[2]: resource customers, name a is already in attributes[0]: merge the two entries`}},
		{"what the program refuses", "attributes:\n- " + good + "\n- {kind: x}\nfields:\n- {role: guest}", refuse, []string{
			`portico.yaml:2: attributes[0]: no a`, `portico.yaml:2: attributes[0]: not so`,
			`portico.yaml:3: attributes[1].kind: "x" must be one of text, textarea, integer, decimal, time, select, multiselect, boolean, price, image, fixed_tax`,
			`portico.yaml:3: attributes[1].roles: "" must be a list of admin, customer, guest, at least one`,
			`portico.yaml:3: attributes[1]: no `, `portico.yaml:3: attributes[1]: not so`,
			`portico.yaml:5: fields[0]: no guest`,
		}},
		{"two things about one route", "routes:\n- {resource: outside, calls: writes, to: legacy, shadow: true}", config.Sources{}, []string{
			`portico.yaml:2: routes[0]: shadow must not be true for writes: they would be carried out twice`,
			`portico.yaml:2: routes[0]: shadow must not be true for outside: only the contract's resources can be compared`,
			`default: legacy.url: must be set, because routes sends requests of outside there`,
		}},
		{"nested too deep", "fields:\n- " + strings.Repeat("{a: ", 8) + "1" + strings.Repeat("}", 8), config.Sources{}, []string{
			`portico.yaml:2: is nested too deeply`,
			`portico.yaml:2: fields[0].role: "" must be one of admin, customer, guest`,
			`portico.yaml:2: fields[0].a: unknown key`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.from.Sections, tt.from.File = adapterSections(), writeFile(t, tt.file)
			_, err := config.Load(tt.from)
			faults, ok := errors.AsType[config.Faults](err)
			if !ok {
				t.Fatalf("error %v", err)
			}
			var lines []string
			for _, f := range faults {
				lines = append(lines, f.String())
			}
			if diff := cmp.Diff(tt.want, lines); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}
