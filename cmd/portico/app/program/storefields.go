package program

import (
	"errors"
	"fmt"
	"slices"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/mapping/contract"
)

// Schemas returns the schemas of the records, including the attributes that cfg adds, and with
// prices that may differ between websites if cfg says so.
func Schemas(cfg *config.Config) (*adapter.Schemas, error) {
	added := make([]adapter.AddedAttribute, len(cfg.Attributes))
	for i, a := range cfg.Attributes {
		added[i] = addedAttribute(a)
	}
	schemas := adapter.NewSchemas()
	if cfg.Store.PriceScope == "website" {
		schemas = schemas.WithPricesByWebsite()
	}
	return schemas.With(added...)
}

// Fields returns the fields of the contract, including the fields that cfg adds and without the
// fields that it hides from a role.
func Fields(cfg *config.Config) (*contract.Fields, error) {
	options := fieldOptions(cfg)
	options.Forms = forms(&cfg.Customers)
	return contract.NewFields(options)
}

// fieldOptions returns the changes of the tables attributes and fields to the contract's fields.
func fieldOptions(cfg *config.Config) (options contract.FieldOptions) {
	for _, a := range cfg.Attributes {
		options.Added = append(options.Added, addedField(a))
	}
	for _, f := range cfg.Fields {
		options.Narrowed = append(options.Narrowed, narrowedFields(f))
	}
	return options
}

// checkForms validates the settings that name fields to be required. They may name fields of the table
// attributes.
func checkForms(cfg *config.Config) error {
	all := forms(&cfg.Customers)
	var faults config.Faults
	for _, one := range []struct {
		setting string
		forms   contract.Forms
	}{
		{"customers.required_fields", contract.Forms{RequiredOfCustomers: all.RequiredOfCustomers}},
		{"customers.required_address_fields", contract.Forms{RequiredOfAddresses: all.RequiredOfAddresses}},
	} {
		options := fieldOptions(cfg)
		options.Narrowed, options.Forms = nil, one.forms
		if _, err := contract.NewFields(options); err != nil {
			faults = append(faults, config.Fault{Setting: one.setting, Problem: err.Error()})
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return faults
}

// forms converts the settings of the forms of customers and addresses to the form of package contract.
func forms(c *config.Customers) contract.Forms {
	return contract.Forms{
		RequiredOfCustomers: c.RequiredFields, RequiredOfAddresses: c.RequiredInAddress,
		Countries: c.Countries, CountriesWithoutPostcodes: c.WithoutPostcode,
	}
}

// CheckAttribute validates one entry of the setting attributes.
func CheckAttribute(a config.Attribute) error {
	if _, err := adapter.NewSchemas().With(addedAttribute(a)); err != nil {
		return err
	}
	if addedAttribute(a).Input == adapter.InputFixedTax && (a.Resource != string(adapter.Products) || a.Scope == "store" || len(a.Writers) > 0) {
		return fmt.Errorf("a fixed_tax is an attribute of products that no role writes, with one value for all store views of a website: use resource: products, scope: global or website, and writers: []")
	}
	_, err := contract.NewFields(contract.FieldOptions{Added: []contract.AddedField{addedField(a)}})
	return err
}

// CheckFieldList validates one entry of the setting fields.
func CheckFieldList(f config.FieldList) error {
	_, err := contract.NewFields(contract.FieldOptions{Narrowed: []contract.NarrowedFields{narrowedFields(f)}})
	if err == nil && f.Read == nil && f.Write == nil && !f.WithoutComputed {
		err = errors.New("has neither read nor write: name the fields that the role keeps")
	}
	return err
}

// addedAttribute converts a to an attribute of the store. The caller has validated the
// words in a.
func addedAttribute(a config.Attribute) adapter.AddedAttribute {
	added := adapter.AddedKinds()[a.Kind]
	added.Resource, added.Name = adapter.Resource(a.Resource), a.Name
	added.Scope = map[string]adapter.Scope{"global": adapter.ScopeGlobal, "website": adapter.ScopeWebsite, "store": adapter.ScopeStore}[a.Scope]
	return added
}

// addedField converts a to a field of the contract.
func addedField(a config.Attribute) contract.AddedField {
	added := addedAttribute(a)
	taxes := added.Input == adapter.InputFixedTax
	if taxes {
		a.Views = slices.DeleteFunc(slices.Clone(a.Views), func(view string) bool { return view == "list" })
	}
	sort := contract.SortByValue
	switch {
	case added.Resource != adapter.Products:
	case added.Input.HasOptions():
		sort = contract.SortByLabel
	case added.Input == adapter.InputBoolean:
		sort = contract.SortIgnored
	}
	return contract.AddedField{
		Sort:    sort,
		Integer: added.Kind == adapter.KindInteger, FixedTax: taxes, ByWebsite: a.Scope == "website",
		Resource: a.Resource, Name: a.Name,
		Read: rolesNamed(a.Roles), Write: rolesNamed(a.Writers),
		InList: slices.Contains(a.Views, "list"), InSingle: slices.Contains(a.Views, "single"),
	}
}

// rolesNamed returns the roles with the given names.
func rolesNamed(names []string) (named []contract.Role) {
	for _, role := range contract.Roles() {
		if slices.Contains(names, role.String()) {
			named = append(named, role)
		}
	}
	return named
}

// narrowedFields converts f to the form of package contract.
func narrowedFields(f config.FieldList) contract.NarrowedFields {
	n := contract.NarrowedFields{Resource: f.Resource, Read: f.Read, Write: f.Write, WithoutComputed: f.WithoutComputed}
	for _, role := range contract.Roles() {
		if role.String() == f.Role {
			n.Role = role
		}
	}
	return n
}

// StockDefaults converts the stock settings to the defaults with which a data set is
// loaded.
func StockDefaults(c config.Stock) adapter.StockDefaults {
	defaults := adapter.StockDefaults{MinQty: c.MinQty, NotifyStockQty: c.NotifyQty, Backorders: c.Backorders}
	if c.ManageStock {
		defaults.ManageStock = 1
	}
	return defaults
}
