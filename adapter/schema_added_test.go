package adapter

import (
	"strings"
	"testing"
)

func TestWith(t *testing.T) {
	standard := NewSchemas()
	extended, err := standard.With(
		AddedAttribute{Customers, "loyalty_tier", KindText, ScopeGlobal, InputPlain},
		AddedAttribute{Products, "lead_days", KindInteger, ScopeWebsite, InputPlain},
		AddedAttribute{Products, "loyalty_tier", KindDecimal, ScopeStore, InputPlain},
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		resource Resource
		added    []Attribute
	}{
		{Customers, []Attribute{{Name: "loyalty_tier", Kind: KindText}}},
		{CustomerAddresses, nil},
		{Products, []Attribute{{Name: "lead_days", Kind: KindInteger, Scope: ScopeWebsite}, {Name: "loyalty_tier", Kind: KindDecimal, Scope: ScopeStore}}},
	} {
		t.Run(string(c.resource), func(t *testing.T) {
			before, after := standard.Of(c.resource), extended.Of(c.resource)
			checkSchema(t, after)
			if after.Key != before.Key || after.Owner != before.Owner || after.Root != before.Root || after.RootAttribute != before.RootAttribute {
				t.Errorf("key %q, owner %q, part of %q by %q; want %q, %q, %q, %q", after.Key, after.Owner, after.Root, after.RootAttribute, before.Key, before.Owner, before.Root, before.RootAttribute)
			}
			if len(before.Attributes)+len(c.added) != len(after.Attributes) {
				t.Fatalf("%d attributes, before %d", len(after.Attributes), len(before.Attributes))
			}
			for i, a := range before.Attributes {
				if after.Attributes[i].Name != a.Name || a.Added {
					t.Errorf("attribute %d is %s, before %s", i, after.Attributes[i].Name, a.Name)
				}
			}
			for i, want := range c.added {
				got := after.Attributes[len(before.Attributes)+i]
				if got.Name != want.Name || got.Kind != want.Kind || got.Scope != want.Scope || !got.Added {
					t.Errorf("added %+v, want %+v", got, want)
				}
			}
		})
	}
}

// TestInputs checks the kind and the scope of attributes that follow from how values are entered.
func TestInputs(t *testing.T) {
	for _, c := range []struct {
		input     Input
		byWebsite bool // prices are
		kind      Kind
		scope     Scope
	}{
		{InputPlain, false, KindTime, ScopeStore},
		{InputTextarea, false, KindText, ScopeStore},
		{InputSelect, false, KindInteger, ScopeStore},
		{InputMultiselect, false, KindText, ScopeStore},
		{InputBoolean, false, KindInteger, ScopeStore},
		{InputPrice, false, KindDecimal, ScopeGlobal},
		{InputPrice, true, KindDecimal, ScopeWebsite},
		{InputImage, true, KindText, ScopeStore},
		{InputFixedTax, true, KindText, ScopeGlobal},
	} {
		schemas := NewSchemas()
		if c.byWebsite {
			schemas = schemas.WithPricesByWebsite()
		}
		extended, err := schemas.With(AddedAttribute{Products, "own", KindTime, ScopeStore, c.input})
		if err != nil {
			t.Fatal(err)
		}
		at, _ := extended.Of(Products).Index("own")
		if a := extended.Of(Products).Attributes[at]; a.Kind != c.kind || a.Scope != c.scope || a.Input != c.input {
			t.Errorf("input %d, prices by website %t: %+v, want kind %d and scope %d", c.input, c.byWebsite, a, c.kind, c.scope)
		}
	}
}

func TestWithErrors(t *testing.T) {
	for _, c := range []struct {
		name  string
		added AddedAttribute
		want  string
	}{
		{"another resource", AddedAttribute{Orders, "note", KindText, ScopeGlobal, InputPlain}, "use one of customers, customer_addresses, products"},
		{"no name", AddedAttribute{Customers, "", KindText, ScopeGlobal, InputPlain}, `the name "" must be`},
		{"upper case", AddedAttribute{Customers, "Tier", KindText, ScopeGlobal, InputPlain}, "must be a lower-case letter"},
		{"a digit first", AddedAttribute{Customers, "1st", KindText, ScopeGlobal, InputPlain}, "must be a lower-case letter"},
		{"not an identifier", AddedAttribute{Customers, "a;b", KindText, ScopeGlobal, InputPlain}, "must be a lower-case letter"},
		{"a trailing line break", AddedAttribute{Customers, "tier\n", KindText, ScopeGlobal, InputPlain}, "must be a lower-case letter"},
		{"too long", AddedAttribute{Customers, strings.Repeat("a", 64), KindText, ScopeGlobal, InputPlain}, "at most 62"},
		{"an existing attribute", AddedAttribute{Customers, "password_hash", KindText, ScopeGlobal, InputPlain}, "choose another name, such as shop_password_hash"},
		{"an existing on-demand attribute", AddedAttribute{Products, "image_file", KindText, ScopeGlobal, InputPlain}, "choose another name"},
		{"a kind that cannot be added", AddedAttribute{Products, "tiers", KindRecords, ScopeGlobal, InputPlain}, "must be a text, an integer, a decimal or a time"},
		{"a scope that customers do not have", AddedAttribute{Customers, "tier", KindText, ScopeStore, InputPlain}, "must be global"},
		{"an image of a customer", AddedAttribute{Customers, "photo", KindText, ScopeGlobal, InputImage}, "must be an attribute of products"},
		{"added twice", AddedAttribute{Products, "twice", KindText, ScopeStore, InputPlain}, `have an attribute "twice"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := NewSchemas().With(AddedAttribute{Products, "twice", KindText, ScopeGlobal, InputPlain}, c.added)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}
