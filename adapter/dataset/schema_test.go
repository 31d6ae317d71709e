package dataset_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/dataset"
)

// compiledSchema returns the JSON Schema of data sets with added attributes.
func compiledSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := dataset.Schema(extendedSchemas(t))
	if err != nil {
		t.Fatal(err)
	}
	return adaptertest.CompileSchema(t, string(text))
}

// example returns the example of a data set with added attributes.
func example(t *testing.T) string {
	t.Helper()
	text, err := dataset.Example(extendedSchemas(t))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestSchemaAgrees checks that the JSON Schema accepts and refuses the same data as Decode.
func TestSchemaAgrees(t *testing.T) {
	store, err := os.ReadFile("dataset.json")
	if err != nil {
		t.Fatal(err)
	}
	// shop returns a data set with one record more.
	shop := func(list, record string) string {
		return `{"$schema":"x","websites":[{"website_id":1,"code":"base","name":"Main"}],"stores":[{"store_id":1,"website_id":1,"code":"en","name":"English"}],"` + list + `":[` + record + `]}`
	}
	product := func(more string) string {
		return shop("products", `{"entity_id":1,"sku":"a","type_id":"simple","attribute_set_id":4,"stock_data":{},`+more+`}`)
	}
	schema := compiledSchema(t)
	for _, c := range []struct {
		name, text string
		valid      bool
	}{
		{"nothing", `{}`, true},
		{"the demo store", string(store), true},
		{"the example", example(t), true},
		{"added attributes", product(`"deposit":"0.2500","in_season_from":null`), true},
		{"values at a store view", product(`"stores":{"$comment":1,"1":{"name":null,"deposit":"1.0000"}}`), true},
		{"credentials", shop("admins", `{"admin_id":1,"username":"x"}],"credentials":{"consumer":{"key":"k","secret":"s"},"a":{"token":"t","secret":"s","admin_id":1}},"orders":[`), true},
		{"list of the wrong kind", `{"websites":{}}`, false},
		{"unknown list", shop("warehouses", ``), false},
		{"unknown attribute", shop("customer_groups", `{"name":"x","tax_class_id":3,"color":1}`), false},
		{"required attribute missing", shop("customer_groups", `{"name":"x"}`), false},
		{"null for a required attribute", shop("customer_groups", `{"name":"x","tax_class_id":null}`), false},
		{"text for an integer", shop("customer_groups", `{"name":"x","tax_class_id":"3"}`), false},
		{"number for a decimal", product(`"price":1.5`), false},
		{"decimal with two places", product(`"price":"1.50"`), false},
		{"date without a time", product(`"in_season_from":"2012-01-01"`), false},
		{"list for a text", product(`"name":["x"]`), false},
		{"line break in a street", shop("customers", `{"entity_id":1,"website_id":1,"group_id":1,"email":"a@b.c"}],"customer_addresses":[{"customer_id":1,"street":["a\nb"]}`), false},
		{"values at no store view", product(`"stores":{"one":{}}`), false},
		{"unknown type of image", product(`"images":[{"file":"a/b.png","media_type":"image/png","content":"AA==","types":["thumb"]}]`), false},
		{"token of two", shop("admins", `],"credentials":{"a":{"token":"t","secret":"s","admin_id":1,"customer_id":1}},"orders":[`), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(c.text))
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(parsed); (err == nil) != c.valid {
				t.Errorf("the schema says %v, want valid: %v", err, c.valid)
			}
			if _, err := dataset.Decode(strings.NewReader(c.text), extendedSchemas(t), nil); (err == nil) != c.valid {
				t.Errorf("Decode says %v, want valid: %v", err, c.valid)
			}
		})
	}
}

// TestExample checks that the example describes every attribute, and that its secrets are
// different each time.
func TestExample(t *testing.T) {
	text := example(t)
	schemas := extendedSchemas(t)
	data, err := dataset.Decode(strings.NewReader(text), schemas, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range adapter.Resources() {
		if len(data.Records[r]) == 0 {
			t.Errorf("no %s", r)
		}
		for _, a := range schemas.Of(r).Attributes {
			doc, _ := json.Marshal(a.Doc)
			known := r == adapter.ProductWebsites || a.WriteOnly || a.OnDemand && a.Nested == nil || a.Name == "stock_item" || a.Name == "default_url_key" || a.Name == schemas.Of(r).RootAttribute
			if !known && !strings.Contains(text, strings.Trim(string(doc), `"`)) {
				t.Errorf("it does not say what %s of %s is", a.Name, r)
			}
		}
	}
	if again := example(t); again == text || strings.Contains(text, "$random") {
		t.Error("its secrets are not random")
	}
	if len(data.Levels) == 0 || len(data.Passwords) == 0 || len(data.Tokens) != 2 {
		t.Error("levels, passwords or tokens are missing")
	}
	if image, err := data.Content(t.Context(), "k/e/kettle.png"); err != nil || !bytes.HasPrefix(image, []byte("\x89PNG")) {
		t.Errorf("the image is %q, %v", image, err)
	}
}
