package openapi_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/openapi"
)

// build returns the document of a dialect as a store without changes to the contract has it.
func build(d *contract.Dialect) *openapi.Document {
	return openapi.Build(openapi.Options{
		Dialect: d, Fields: contract.StandardFields(), Schemas: adapter.NewSchemas(), Version: "test", APIKeys: true,
	})
}

// load returns a document as another library reads it.
func load(t testing.TB, document *openapi.Document) *openapi3.T {
	t.Helper()
	encoded, err := document.JSON()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(encoded)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// TestValid checks that another library finds no fault in the documents.
func TestValid(t *testing.T) {
	for _, d := range contract.Dialects() {
		t.Run(d.Name, func(t *testing.T) {
			if err := load(t, build(d)).Validate(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestEncodings checks that the same options give the same bytes, and that YAML and JSON have
// the same content.
func TestEncodings(t *testing.T) {
	for _, d := range contract.Dialects() {
		t.Run(d.Name, func(t *testing.T) {
			inJSON, err := build(d).JSON()
			if err != nil {
				t.Fatal(err)
			}
			inYAML, err := build(d).YAML()
			if err != nil {
				t.Fatal(err)
			}
			var fromJSON, fromYAML any // read as YAML both, since JSON is YAML
			if err := yaml.Unmarshal(inJSON, &fromJSON); err != nil {
				t.Fatal(err)
			}
			if err := yaml.Unmarshal(inYAML, &fromYAML); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(fromJSON, fromYAML); diff != "" {
				t.Errorf("YAML differs from JSON (-JSON +YAML)\n%s", diff)
			}
			again, err := build(d).JSON()
			if err != nil || !bytes.Equal(inJSON, again) {
				t.Errorf("a second document differs (%v)", err)
			}
		})
	}
}

// TestExtensionsAreNamed checks that the description of the document names every extension in
// it.
func TestExtensionsAreNamed(t *testing.T) {
	for _, d := range contract.Dialects() {
		doc := build(d)
		encoded, err := doc.JSON()
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]bool{"x-example": true} // this document has no examples
		for _, member := range regexp.MustCompile(`"(x-[a-z-]+)":`).FindAllSubmatch(encoded, -1) {
			found[string(member[1])] = true
		}
		if len(found) < 8 {
			t.Errorf("%s: few extensions: %v", d.Name, found)
		}
		for name := range found {
			if !regexp.MustCompile(regexp.QuoteMeta(name) + `\b[^-]`).MatchString(doc.Info.Description) {
				t.Errorf("%s: the description does not name %s", d.Name, name)
			}
		}
	}
}

// TestComponentNames checks that no two components have the same name, whatever their kind and
// case, because generators make a type of each.
func TestComponentNames(t *testing.T) {
	for _, d := range contract.Dialects() {
		components := build(d).Components
		seen := map[string]bool{}
		for _, names := range [][]string{namesOf(components.Schemas), namesOf(components.Parameters), namesOf(components.Responses)} {
			for _, name := range names {
				if seen[strings.ToLower(name)] {
					t.Errorf("%s: there are two components called %s", d.Name, name)
				}
				seen[strings.ToLower(name)] = true
			}
		}
	}
}

// namesOf returns the names of components.
func namesOf[V any](components openapi.Map[V]) (names []string) {
	for name := range components.All() {
		names = append(names, name)
	}
	return names
}

// TestWithoutComputed checks that products in openmage have the computed fields, and each form of the
// entries of tier_price, only if one of the roles reads them.
func TestWithoutComputed(t *testing.T) {
	both := []contract.NarrowedFields{{Resource: "products", Role: contract.Guest, WithoutComputed: true}, {Resource: "products", Role: contract.Customer, WithoutComputed: true}}
	for _, c := range []struct {
		narrowed []contract.NarrowedFields
		url      string // the readers of url
		tiers    string // the forms of tier_price
	}{
		{nil, "customer guest", "TierPrice PublicTierPrice"}, {both[:1], "customer", "TierPrice PublicTierPrice StoredTierPrice"}, {both, "", "TierPrice StoredTierPrice"},
	} {
		fields, err := contract.NewFields(contract.FieldOptions{Narrowed: c.narrowed})
		if err != nil {
			t.Fatal(err)
		}
		doc := openapi.Build(openapi.Options{Dialect: contract.OpenMage(), Fields: fields, Schemas: adapter.NewSchemas(), Version: "test", Server: "https://shop.example/"})
		product, _ := doc.Components.Schemas.Get("Product")
		readers := ""
		if url, ok := product.Properties.Get("url"); ok {
			readers = strings.Join(namesOf(url.Readers), " ")
		}
		tiers, _ := product.Properties.Get("tier_price")
		var forms []string
		for _, form := range tiers.Items.OneOf {
			forms = append(forms, strings.TrimPrefix(form.Ref, "#/components/schemas/"))
		}
		if got := strings.Join(forms, " "); readers != c.url || got != c.tiers {
			t.Errorf("%d roles without computed fields: url for %q, forms of tier_price %s; want %q, %s", len(c.narrowed), readers, got, c.url, c.tiers)
		}
	}
}

// TestStore checks that the document has the store's additions to the contract, and lacks the
// fields that the store withholds.
func TestStore(t *testing.T) {
	fields, err := contract.NewFields(contract.FieldOptions{
		Added: []contract.AddedField{
			{Resource: "customers", Name: "tier", Read: []contract.Role{contract.Admin}, Write: []contract.Role{contract.Admin}, InSingle: true},
			{Resource: "products", Name: "energy", Read: contract.Roles(), InList: true},
			{Resource: "products", Name: "finish", Write: []contract.Role{contract.Admin}},
		},
		Narrowed: []contract.NarrowedFields{
			{Resource: "customers", Role: contract.Admin, Read: []string{"entity_id", "email"}, Write: []string{"email"}},
			{Resource: "customers", Role: contract.Customer, Read: []string{"email", "firstname"}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	schemas, err := adapter.NewSchemas().With(adapter.AddedAttribute{Resource: adapter.Customers, Name: "tier", Kind: adapter.KindInteger},
		adapter.AddedAttribute{Resource: adapter.Products, Name: "energy", Kind: adapter.KindText},
		adapter.AddedAttribute{Resource: adapter.Products, Name: "finish", Input: adapter.InputMultiselect})
	if err != nil {
		t.Fatal(err)
	}
	doc := openapi.Build(openapi.Options{
		Dialect: contract.Magento(), Fields: fields, Schemas: schemas, Version: "test", Server: "https://shop.example/",
		Offers: func(r *contract.Route) bool { return r.Resource != "orders" },
	})
	if err := load(t, doc).Validate(t.Context()); err != nil {
		t.Error(err)
	}
	names := func(schema string) string {
		s, _ := doc.Components.Schemas.Get(schema)
		return strings.Join(namesOf(s.Properties), " ")
	}
	if got := names("Customer"); got != "entity_id email firstname tier" {
		t.Errorf("a customer has %s", got)
	}
	if got := names("CustomerUpdate"); !strings.HasPrefix(got, "email") || strings.Contains(got, "group_id") || !strings.Contains(got, "tier") {
		t.Errorf("an update of a customer has %s", got)
	}
	product, _ := doc.Components.Schemas.Get("Product")
	energy, ok := product.Properties.Get("energy")
	if views, _ := energy.Readers.Get("guest"); !ok || strings.Join(views, " ") != "list" {
		t.Errorf("a Guest sees the added field in %q", views)
	}
	update, _ := doc.Components.Schemas.Get("ProductUpdate")
	finish, ok := update.Properties.Get("finish")
	if !ok || len(finish.OneOf) != 2 || finish.OneOf[0].Items == nil || !strings.Contains(finish.Description, "multiselect") {
		t.Errorf("a multiselect is sent as %+v", finish)
	}
	if _, ok := doc.Paths.Get("/orders"); ok {
		t.Error("the document has the calls of a resource that the backend does not offer")
	}
	if doc.Servers[0].URL != "https://shop.example/api/rest" {
		t.Errorf("the server is %s", doc.Servers[0].URL)
	}
	if _, ok := doc.Components.SecuritySchemes.Get("apiKey"); ok {
		t.Error("the document has API keys, which the store does not accept")
	}
}

// TestFormsOfStore checks that the document says which fields a store requires, and which countries it
// allows.
func TestFormsOfStore(t *testing.T) {
	fields, err := contract.NewFields(contract.FieldOptions{
		Added: []contract.AddedField{{Resource: "customers", Name: "tier", Write: []contract.Role{contract.Admin}}},
		Forms: contract.Forms{
			RequiredOfCustomers: []string{"gender", "tier"}, RequiredOfAddresses: []string{"country_id", "postcode"},
			Countries: []string{"US", "CA"}, CountriesWithoutPostcodes: []string{},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	schemas, err := adapter.NewSchemas().With(adapter.AddedAttribute{Resource: adapter.Customers, Name: "tier", Kind: adapter.KindInteger})
	if err != nil {
		t.Fatal(err)
	}
	doc := openapi.Build(openapi.Options{Dialect: contract.Magento(), Fields: fields, Schemas: schemas, Version: "test"})
	if err := load(t, doc).Validate(t.Context()); err != nil {
		t.Error(err)
	}
	for schema, want := range map[string]string{
		"CustomerCreate": "website_id email group_id gender tier", "CustomerUpdate": "", "CustomerAddressCreate": "country_id postcode",
	} {
		s, ok := doc.Components.Schemas.Get(schema)
		if !ok {
			t.Fatalf("no schema %s", schema)
		}
		if got := strings.Join(s.Required, " "); got != want {
			t.Errorf("%s requires %q, want %q", schema, got, want)
		}
	}
	address, _ := doc.Components.Schemas.Get("CustomerAddressUpdate")
	if country, _ := address.Properties.Get("country_id"); strings.Join(country.Enum, " ") != "US CA" {
		t.Errorf("an address may be in %v", country.Enum)
	}
}

// TestOperations checks that every call of the route table that a role may make is in the
// document, and its name is unique.
func TestOperations(t *testing.T) {
	for _, d := range contract.Dialects() {
		doc, seen := load(t, build(d)), map[string]bool{}
		for _, r := range contract.Routes(contract.StandardFields()) {
			path := regexp.MustCompile(`:(\w+)`).ReplaceAllString(r.Path, "{$1}")
			for _, m := range contract.Methods() {
				var roles []any
				for _, role := range contract.Roles() {
					if r.Access(d, role, m) == contract.Serve {
						roles = append(roles, role.String())
					}
				}
				var op *openapi3.Operation
				if item := doc.Paths.Value(path); item != nil {
					op = item.GetOperation(m.String())
				}
				switch {
				case len(roles) == 0 && op == nil:
				case op == nil || len(roles) == 0:
					t.Errorf("%s: %s %s is served to %v, but its operation is %v", d.Name, m, r.Path, roles, op)
				case seen[op.OperationID]:
					t.Errorf("%s: there are two operations %s", d.Name, op.OperationID)
				case !cmp.Equal(op.Extensions["x-roles"], any(roles)) || op.Extensions["x-call"] != r.Calls[m]:
					t.Errorf("%s: %s %s has %v and %v", d.Name, m, r.Path, op.Extensions["x-roles"], op.Extensions["x-call"])
				default:
					seen[op.OperationID] = true
				}
			}
		}
	}
}
