package contract

import (
	"fmt"
	"slices"
	"strings"
)

// Forms are a store's settings of the forms by which clients write customers and their addresses
// (configurations 6). The lists are complete: they replace those of the contract, and nil leaves them.
type Forms struct {
	// RequiredOfCustomers and RequiredOfAddresses name the fields that a new record must have and that
	// no update may empty, besides [FixedRequirements]. Fields that the store added may be among them.
	RequiredOfCustomers, RequiredOfAddresses []string
	// Countries are the codes of the countries that a written address may be in; empty means all
	// of the directory.
	Countries []string
	// CountriesWithoutPostcodes are the codes of the countries whose addresses need no postcode, where
	// the dialect knows such countries.
	CountriesWithoutPostcodes []string
}

// DefaultForms returns the requirements of the contract itself (customers 4).
func DefaultForms() Forms {
	return Forms{
		RequiredOfCustomers:       requiredFields(customerRules()),
		RequiredOfAddresses:       requiredFields(customerAddressRules()),
		CountriesWithoutPostcodes: countriesWithoutPostcodes(),
	}
}

// countriesWithoutPostcodes are the countries whose addresses need no postcode unless a store says
// otherwise.
func countriesWithoutPostcodes() []string { return []string{"HK", "IE", "MO", "PA"} }

// HasCountry reports whether dialect d accepts a country of a shop's directory (openmage 9).
func (d *Dialect) HasCountry(code string) bool {
	unnamed := cells[[]string]{}.inOpenMage([]string{"AN", "BQ", "CW", "SS", "SX"})
	return !slices.Contains(unnamed.of(d), code)
}

// FixedRequirements names the fields whose requirement no store changes: a customer is nothing without
// a website, a group and an e-mail address, the contract alone asks for passwords, and whether an
// address needs a region follows from its country.
func FixedRequirements() []string {
	return []string{"website_id", "group_id", "email", "password", "region"}
}

// requiredFields returns the required fields of a table that a store can make optional.
func requiredFields(t RuleTable) (names []string) {
	for _, r := range t.Rules {
		if r.Required && !slices.Contains(FixedRequirements(), r.Field) {
			names = append(names, r.Field)
		}
	}
	return names
}

// demandable returns the fields of a table that a store can require.
func demandable(t *RuleTable) (names []string) {
	for _, r := range t.Rules {
		if r.Check != Flag && r.Check != DefaultFlag && r.Check != Ignored && !slices.Contains(FixedRequirements(), r.Field) {
			names = append(names, r.Field)
		}
	}
	return names
}

// show lets Customers read and write the required fields, in the dialect of the original: it shows
// them what its forms require, which by default are fields for Admins alone.
func (s *Forms) show(f *Fields) {
	for _, form := range []struct {
		table *FieldTable
		names []string
	}{{f.Customers, s.RequiredOfCustomers}, {f.CustomerAddresses, s.RequiredOfAddresses}} {
		own := demandable(&form.table.Rules)
		for _, name := range form.names {
			if !slices.Contains(own, name) {
				continue
			}
			field := &form.table.Fields[form.table.index[name]]
			for _, withheld := range field.withheld.ofOriginal() {
				*withheld &^= onlyCustomer
			}
			for _, also := range slices.Concat(field.alsoRead.ofOriginal(), field.alsoWrite.ofOriginal()) {
				*also |= onlyCustomer
			}
		}
	}
}

// apply applies the settings to the tables of customers and addresses. The error names a field
// that cannot be required.
func (s *Forms) apply(f *Fields) error {
	if err := f.Customers.require("customers", s.RequiredOfCustomers); err != nil {
		return err
	}
	if err := f.CustomerAddresses.require("customer_addresses", s.RequiredOfAddresses); err != nil {
		return err
	}
	if s.CountriesWithoutPostcodes != nil {
		f.CustomerAddresses.Rules.Of("postcode").optionalIn.magento = s.CountriesWithoutPostcodes
	}
	f.CustomerAddresses.Rules.Of("country_id").Options = s.Countries
	return nil
}

// require makes the fields with the given names, and no others but the fixed ones, required.
func (t *FieldTable) require(resource string, names []string) error {
	if names == nil {
		return nil
	}
	own := demandable(&t.Rules)
	for i := range t.Rules.Rules {
		if r := &t.Rules.Rules[i]; slices.Contains(own, r.Field) {
			r.Required = slices.Contains(names, r.Field)
		}
	}
	t.Rules.requiredAdded = nil
	for _, name := range names {
		at, known := t.index[name]
		switch {
		case slices.Contains(own, name), known && slices.Contains(FixedRequirements(), name):
		case known && t.Fields[at].OmittedUntilStored: // the store added it
			t.Rules.requiredAdded = append(t.Rules.requiredAdded, name)
		default:
			return fmt.Errorf("the field %q of %s cannot be required: use some of %s, and fields of the table attributes", name, resource, strings.Join(own, ", "))
		}
	}
	return nil
}
