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
	Kind     Kind  // KindText, KindInteger, KindDecimal or KindTime
	Scope    Scope // of products; attributes of other resources are global
}

// attributeNamePattern matches the names of added attributes. They are safe in an SQL
// statement.
var attributeNamePattern = regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`)

// With returns a copy of the schemas with added attributes, in the given order, after the
// other attributes of their resource. It joins the errors of all attributes that cannot be
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
	case a.Resource != Customers && a.Resource != CustomerAddresses && a.Resource != Products:
		return fmt.Errorf("no attributes can be added to %q: use one of %s, %s, %s", a.Resource, Customers, CustomerAddresses, Products)
	case !attributeNamePattern.MatchString(a.Name):
		return fmt.Errorf("the name %.64q must be a lower-case letter and then at most 62 lower-case letters, digits and underscores", a.Name)
	case a.Kind > KindTime:
		return fmt.Errorf("attribute %s must be a text, an integer, a decimal or a time", a.Name)
	case a.Scope != ScopeGlobal && a.Resource != Products:
		return fmt.Errorf("attribute %s must be global: only products have values of websites and store views", a.Name)
	}
	if _, taken := s.index[a.Name]; taken {
		return fmt.Errorf("%s have an attribute %q: choose another name, such as shop_%[2]s", a.Resource, a.Name)
	}
	attributes := append(slices.Clone(s.Attributes), Attribute{Name: a.Name, Kind: a.Kind, Scope: a.Scope, Added: true, Doc: "an attribute added by the store's configuration"})
	fresh := NewSchema(s.Resource, s.Key, attributes)
	extended := *s
	extended.Attributes, extended.index = fresh.Attributes, fresh.index
	all.of[a.Resource] = &extended
	return nil
}
