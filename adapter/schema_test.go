package adapter

import "testing"

func TestSchemas(t *testing.T) {
	schemas := NewSchemas()
	for _, r := range []Resource{
		Websites, Stores, CustomerGroups, Categories, TaxRates, Countries, Regions, AttributeOptions, Admins,
		Customers, CustomerAddresses, Products, ProductImages, ProductWebsites, ProductCategories,
		StockItems, Orders, OrderItems, OrderAddresses, OrderComments,
	} {
		t.Run(string(r), func(t *testing.T) {
			schema := schemas.Of(r)
			if schema == nil {
				t.Fatal("no schema")
			}
			if schema.Resource != r {
				t.Errorf("Resource = %q", schema.Resource)
			}
			checkSchema(t, schema)
		})
	}
	if schemas.Of("unknown") != nil {
		t.Error("a schema for an unknown resource")
	}
}

func checkSchema(t *testing.T, schema *Schema) {
	key, ok := schema.Index(schema.Key)
	if !ok || schema.Attributes[key].Kind != KindInteger || !schema.Attributes[key].ReadOnly {
		t.Errorf("key %q is not a read-only integer", schema.Key)
	}
	if root, ok := schema.Index(schema.RootAttribute); (schema.Root != "") != ok || ok && schema.Attributes[root].Kind != KindInteger {
		t.Errorf("part of %q by %q, which is not an integer", schema.Root, schema.RootAttribute)
	}
	for i, a := range schema.Attributes {
		if at, ok := schema.Index(a.Name); !ok || at != i {
			t.Errorf("Index(%q) = %d, %v; want %d", a.Name, at, ok, i)
		}
		if a.Doc == "" {
			t.Errorf("%s has no Doc", a.Name)
		}
		if (a.Nested != nil) != (a.Kind == KindRecords) {
			t.Errorf("%s: Nested must be set for KindRecords and only then", a.Name)
		}
		if a.Nested != nil {
			checkSchema(t, a.Nested)
		}
	}
}

func TestNewSchemaPanics(t *testing.T) {
	for _, c := range []struct {
		name       string
		key        string
		attributes []Attribute
	}{
		{"repeated name", "a", []Attribute{{Name: "a"}, {Name: "a"}}},
		{"missing key", "b", []Attribute{{Name: "a"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			NewSchema("r", c.key, c.attributes)
		})
	}
	t.Run("missing root attribute", func(t *testing.T) {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		NewSchema("r", "a", []Attribute{{Name: "a"}}).PartOf(Orders, "b")
	})
}
