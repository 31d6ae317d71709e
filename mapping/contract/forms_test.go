package contract_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/mapping/contract"
)

// TestForms makes tables whose settings require fields, in any order and twice.
func TestForms(t *testing.T) {
	loyalty := []contract.AddedField{{Resource: "customers", Name: "loyalty"}, {Resource: "products", Name: "depth"}}
	for _, c := range []struct {
		name  string
		forms contract.Forms
		want  string // required fields of customers and of addresses, or the beginning of the error
	}{
		{"the contract's", contract.Forms{}, "website_id group_id firstname lastname email password; firstname lastname street city country_id postcode telephone"},
		{"none", contract.Forms{RequiredOfCustomers: []string{}, RequiredOfAddresses: []string{}}, "website_id group_id email password; "},
		{"in any order, and twice", contract.Forms{RequiredOfCustomers: []string{"gender", "dob", "gender"}}, "website_id group_id email dob gender password; firstname lastname street city country_id postcode telephone"},
		{"what is required anyway", contract.Forms{RequiredOfCustomers: []string{"email", "website_id"}, RequiredOfAddresses: []string{"city", "region"}}, "website_id group_id email password; city"},
		{"a field that the store added", contract.Forms{RequiredOfCustomers: []string{"loyalty"}}, "website_id group_id email loyalty password; firstname lastname street city country_id postcode telephone"},
		{"an unknown field", contract.Forms{RequiredOfCustomers: []string{"colour"}}, `error: the field "colour" of customers cannot be required: use some of prefix, firstname`},
		{"a field of another resource", contract.Forms{RequiredOfCustomers: []string{"city"}}, `error: the field "city" of customers cannot be required`},
		{"a field that the store added elsewhere", contract.Forms{RequiredOfAddresses: []string{"loyalty"}}, `error: the field "loyalty" of customer_addresses cannot be required`},
		{"a field that no client writes", contract.Forms{RequiredOfCustomers: []string{"created_at"}}, `error: the field "created_at" of customers cannot be required`},
		{"a flag", contract.Forms{RequiredOfAddresses: []string{"is_default_billing"}}, `error: the field "is_default_billing" of customer_addresses cannot be required`},
		{"a key that a client cannot send", contract.Forms{RequiredOfCustomers: []string{"confirmation"}}, `error: the field "confirmation" of customers cannot be required`},
	} {
		f, err := contract.NewFields(contract.FieldOptions{Added: loyalty, Forms: c.forms})
		if err != nil {
			if !strings.HasPrefix("error: "+err.Error(), c.want) {
				t.Errorf("%s: %v, want %s", c.name, err, c.want)
			}
			continue
		}
		required := func(table *contract.RuleTable, added ...contract.Rule) string {
			var names []string
			for _, r := range table.With(added...) {
				if r.Required {
					names = append(names, r.Field)
				}
			}
			return strings.Join(names, " ")
		}
		if got := required(&f.Customers.Rules, f.Customers.Rules.Added("loyalty", "text")) + "; " + required(&f.CustomerAddresses.Rules); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestDefaultForms applies the contract's own settings, which change nothing.
func TestDefaultForms(t *testing.T) {
	forms := contract.DefaultForms()
	f, err := contract.NewFields(contract.FieldOptions{Forms: forms})
	if err != nil {
		t.Fatal(err)
	}
	standard := contract.StandardFields()
	for _, tables := range [][2]*contract.FieldTable{{f.Customers, standard.Customers}, {f.CustomerAddresses, standard.CustomerAddresses}} {
		for i, r := range tables[0].Rules.Rules {
			if r.Required != tables[1].Rules.Rules[i].Required {
				t.Errorf("%s is required: %t", r.Field, r.Required)
			}
		}
	}
	postcode := f.CustomerAddresses.Rules.Of("postcode")
	for _, country := range forms.CountriesWithoutPostcodes {
		if !postcode.OptionalIn(contract.Magento(), country) || postcode.OptionalIn(contract.Documented(), country) {
			t.Errorf("the postcode in %s", country)
		}
	}
	if !slices.Contains(forms.CountriesWithoutPostcodes, "IE") || postcode.OptionalIn(contract.Magento(), "GB") {
		t.Error("countries without postcodes:", forms.CountriesWithoutPostcodes)
	}
}
