package adapter

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
)

// An AddedAttribute is an attribute that a store's configuration adds to a resource.
type AddedAttribute struct {
	Resource Resource // Customers, CustomerAddresses or Products
	Name     string
	Kind     Kind  // KindText, KindInteger, KindDecimal or KindTime; of an Input other than InputPlain the kind follows from that
	Scope    Scope // of products; attributes of other resources are global
	Input    Input
}

// An Input is the kind of form in which a shop's administrators enter the values of an added
// attribute, such as a choice of options. [Kind] is the type of the stored value (own_attributes).
type Input uint8

const (
	// InputPlain is a value of any kind without further meaning.
	InputPlain Input = iota
	// InputTextarea is a text of any length.
	InputTextarea
	// InputSelect is the id of one of the attribute's options, records of [AttributeOptions].
	InputSelect
	// InputMultiselect is a text with the ids of options, separated by commas.
	InputMultiselect
	// InputBoolean is 1 or 0.
	InputBoolean
	// InputPrice is a decimal with the scope that the prices of products have.
	InputPrice
	// InputImage is the file of one of the product's images, or no_selection.
	InputImage
	// InputFixedTax is a list of [FixedTax] in JSON, of the default scope.
	InputFixedTax
)

// AddedKinds returns the kinds of attributes that settings may name: a name, with the Kind and the
// Input of the attribute.
func AddedKinds() map[string]AddedAttribute {
	return map[string]AddedAttribute{
		"text": {Kind: KindText}, "integer": {Kind: KindInteger}, "decimal": {Kind: KindDecimal}, "time": {Kind: KindTime},
		"textarea": {Input: InputTextarea}, "select": {Input: InputSelect}, "multiselect": {Input: InputMultiselect}, "boolean": {Input: InputBoolean},
		"price": {Input: InputPrice}, "image": {Input: InputImage}, "fixed_tax": {Input: InputFixedTax},
	}
}

// KindName returns the name under which [AddedKinds] has the kind of the attribute.
func (a *AddedAttribute) KindName() string { return kindName(a.Kind, a.Input) }

// KindName returns the name under which [AddedKinds] has the kind of an added attribute.
func (a *Attribute) KindName() string { return kindName(a.Kind, a.Input) }

func kindName(kind Kind, input Input) string {
	for name, of := range AddedKinds() {
		if of.Input == input && (of.Kind == kind || input != InputPlain) {
			return name
		}
	}
	return ""
}

// kind returns the kind of the values of an input, and otherwise if the input leaves it open.
func (i Input) kind(otherwise Kind) Kind {
	switch i {
	case InputPlain:
		return otherwise
	case InputSelect, InputBoolean:
		return KindInteger
	case InputPrice:
		return KindDecimal
	default:
		return KindText
	}
}

// HaveOptions reports whether an attribute has values that are ids of options.
func (all *Schemas) HaveOptions() bool {
	for _, s := range all.of {
		if slices.ContainsFunc(s.Attributes, func(a Attribute) bool { return a.Input.HasOptions() }) {
			return true
		}
	}
	return false
}

// HasOptions reports whether the values are ids of options.
func (i Input) HasOptions() bool { return i == InputSelect || i == InputMultiselect }

// attributeNamePattern matches the names of added attributes. They are safe in an SQL
// statement.
var attributeNamePattern = regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`)

// With returns a copy of the schemas with added attributes, in the given order, after the
// other attributes of their resource. Those of [InputPrice] have the scope that the prices of
// products have in all. It joins the errors of all attributes that cannot be
// added; each error names the valid choices.
func (all *Schemas) With(added ...AddedAttribute) (*Schemas, error) {
	extended := &Schemas{of: maps.Clone(all.of)}
	var faults []error
	for _, a := range added {
		if err := extended.add(a); err != nil {
			faults = append(faults, err)
		}
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return extended, nil
}

// WithPricesByWebsite returns a copy of the schemas in which prices of products are attributes of
// [ScopeWebsite] (configurations 4).
func (all *Schemas) WithPricesByWebsite() *Schemas {
	by := &Schemas{of: maps.Clone(all.of)}
	products := *by.of[Products]
	products.Attributes = slices.Clone(products.Attributes)
	for _, name := range []string{"price", "special_price", "msrp", "cost"} {
		products.Attributes[products.index[name]].Scope = ScopeWebsite
	}
	by.of[Products] = &products
	return by
}

// PricesByWebsite reports whether the prices of products may differ between websites.
func (s *Schema) PricesByWebsite() bool {
	at, ok := s.index["price"]
	return ok && s.Attributes[at].Scope == ScopeWebsite
}

func (all *Schemas) add(a AddedAttribute) error {
	s := all.of[a.Resource]
	switch {
	case a.Input == InputFixedTax, a.Input == InputPrice && !all.of[Products].PricesByWebsite():
		a.Scope = ScopeGlobal
	case a.Input == InputPrice && a.Resource == Products:
		a.Scope = ScopeWebsite
	}
	switch {
	case a.Resource != Customers && a.Resource != CustomerAddresses && a.Resource != Products:
		return fmt.Errorf("no attributes can be added to %q: use one of %s, %s, %s", a.Resource, Customers, CustomerAddresses, Products)
	case !attributeNamePattern.MatchString(a.Name):
		return fmt.Errorf("the name %.64q must be a lower-case letter and then at most 62 lower-case letters, digits and underscores", a.Name)
	case a.Kind > KindTime:
		return fmt.Errorf("attribute %s must be a text, an integer, a decimal or a time", a.Name)
	case a.Input >= InputImage && a.Resource != Products:
		return fmt.Errorf("attribute %s must be an attribute of products: only these have images and fixed taxes", a.Name)
	case a.Scope != ScopeGlobal && a.Resource != Products:
		return fmt.Errorf("attribute %s must be global: only products have values of websites and store views", a.Name)
	}
	if _, taken := s.index[a.Name]; taken {
		return fmt.Errorf("%s have an attribute %q: choose another name, such as shop_%[2]s", a.Resource, a.Name)
	}
	attributes := append(slices.Clone(s.Attributes), Attribute{Name: a.Name, Kind: a.Input.kind(a.Kind), Scope: a.Scope, Added: true, Input: a.Input, Doc: "an attribute of kind " + a.KindName() + ", added by the store's configuration"})
	fresh := NewSchema(s.Resource, s.Key, attributes)
	extended := *s
	extended.Attributes, extended.index = fresh.Attributes, fresh.index
	all.of[a.Resource] = &extended
	return nil
}
