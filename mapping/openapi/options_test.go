package openapi_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/openapi"
)

// optionsDocument returns the document of a store whose products and customers have a select and a
// multiselect, each with the options 47 and 48.
func optionsDocument(t testing.TB, d *contract.Dialect) *openapi.Document {
	t.Helper()
	var added []adapter.AddedAttribute
	var shown []contract.AddedField
	var options []adapter.Record
	for _, r := range []adapter.Resource{adapter.Products, adapter.Customers} {
		for name, input := range map[string]adapter.Input{"finish": adapter.InputSelect, "uses": adapter.InputMultiselect} {
			added = append(added, adapter.AddedAttribute{Resource: r, Name: name, Input: input})
			field := contract.AddedField{Resource: string(r), Name: name, Read: contract.Roles()[:1], Write: []contract.Role{contract.Admin}, InSingle: true}
			if r == adapter.Products {
				field.Sort = contract.SortByLabel
			}
			shown = append(shown, field)
			for position, label := range []string{"Polished", "Brushed"} {
				o := adapter.NewRecord(adapter.NewSchemas().Of(adapter.AttributeOptions))
				o.Set("option_id", adapter.IntegerValue(int64(48-position)))
				o.Set("resource", adapter.TextValue(string(r)))
				o.Set("attribute", adapter.TextValue(name))
				o.Set("label", adapter.TextValue(label))
				o.Set("position", adapter.IntegerValue(int64(position)))
				options = append(options, o)
			}
		}
	}
	schemas, err := adapter.NewSchemas().With(added...)
	if err != nil {
		t.Fatal(err)
	}
	fields, err := contract.NewFields(contract.FieldOptions{Added: shown})
	if err != nil {
		t.Fatal(err)
	}
	return openapi.Build(openapi.Options{Dialect: d, Fields: fields, Schemas: schemas, Version: "test", AttributeOptions: options})
}

// TestOptions checks which values the document allows for attributes with options, in requests and in
// replies, against the rules (own_attributes 10 and 14).
func TestOptions(t *testing.T) {
	const everywhere, nowhere, ofProducts, inDocumented = "all", "none", "products, and all in documented", "documented"
	cases := []struct {
		field, value string
		allowed      string // by the schemas of requests
	}{
		{"finish", `"47"`, everywhere}, {"finish", `48`, everywhere}, {"finish", `"49"`, nowhere}, {"finish", `49`, nowhere},
		{"finish", `"Brushed"`, nowhere}, {"finish", `0`, nowhere}, {"finish", `["47"]`, nowhere}, {"finish", `""`, ofProducts}, {"finish", `null`, ofProducts},
		{"uses", `["47",48]`, everywhere}, {"uses", `"47"`, everywhere}, {"uses", `[]`, everywhere}, {"uses", `["47","49"]`, nowhere},
		{"uses", `"48,47"`, inDocumented}, {"uses", `"49"`, nowhere}, {"uses", `null`, ofProducts}, {"uses", `""`, ofProducts},
	}
	for _, d := range contract.Dialects() {
		t.Run(d.Name, func(t *testing.T) {
			document := optionsDocument(t, d)
			if err := load(t, document).Validate(t.Context()); err != nil {
				t.Error(err)
			}
			allows := allowing(t, document)
			for _, c := range cases {
				for _, name := range []string{"ProductUpdate", "ProductCreate", "CustomerUpdate"} {
					want := c.allowed == everywhere || d.Name == "documented" && (c.allowed == inDocumented || c.allowed == ofProducts) ||
						c.allowed == ofProducts && name != "CustomerUpdate"
					if got := allows(name, c.field, c.value); got != want {
						t.Errorf("%s of %s: %s is allowed: %t, want %t", c.field, name, c.value, got, want)
					}
				}
			}
			// A stored value may be none of the options, and a list of the Admin shows labels.
			for _, value := range []string{`"47"`, `"12"`, `"Brushed"`} {
				if !allows("Product", "finish", value) {
					t.Errorf("a reply cannot show %s", value)
				}
			}
			product, _ := document.Components.Schemas.Get("Product")
			finish, _ := product.Properties.Get("finish")
			if !strings.HasSuffix(finish.Description, "; 48 is Polished; 47 is Brushed") {
				t.Errorf("the description is %q", finish.Description)
			}
		})
	}
}

// TestTypes checks that no schema has several types, null apart, which generators of clients refuse.
func TestTypes(t *testing.T) {
	t.Parallel()
	for _, d := range contract.Dialects() {
		encoded, err := optionsDocument(t, d).JSON()
		if err != nil {
			t.Fatal(err)
		}
		lists := regexp.MustCompile(`"type":\s*\[[^\]]*\]`).FindAllString(string(encoded), -1)
		for _, list := range lists {
			if others := strings.ReplaceAll(list, `"null"`, ""); strings.Count(others, `"`) != 4 { // with the name
				t.Errorf("%s: %s", d.Name, list)
			}
		}
		if len(lists) == 0 {
			t.Errorf("%s: no value may be null", d.Name)
		}
	}
}

// allowing returns a function that reports whether a schema allows a value of a field, in JSON.
func allowing(t testing.TB, document *openapi.Document) func(schema, field, value string) bool {
	t.Helper()
	encoded, err := document.JSON()
	if err != nil {
		t.Fatal(err)
	}
	source, err := jsonschema.UnmarshalJSON(bytes.NewReader(encoded))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	if err := compiler.AddResource("openapi.json", source); err != nil {
		t.Fatal(err)
	}
	return func(schema, field, value string) bool {
		compiled, err := compiler.Compile(fmt.Sprintf("openapi.json#/components/schemas/%s/properties/%s", schema, field))
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := jsonschema.UnmarshalJSON(strings.NewReader(value))
		if err != nil {
			t.Fatal(err)
		}
		return compiled.Validate(decoded) == nil
	}
}
