package mapping_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/handlers"
)

// TestRandomForms draws settings of forms and accounts, and writes random customers and addresses under
// them. What is refused, and why, follows from the settings alone, and what is stored never breaks them.
func TestRandomForms(t *testing.T) {
	sample := testenv.NewSample(t)
	for range 20 {
		d := []*contract.Dialect{contract.Documented(), contract.Magento()}[sample.IntN(2)]
		f := &randomForms{Sample: sample, magento: d.ConfirmationKeys}
		f.forms = contract.Forms{
			RequiredOfCustomers:       f.some("prefix", "firstname", "middlename", "lastname", "suffix", "dob", "taxvat", "gender"),
			RequiredOfAddresses:       append(f.some("prefix", "firstname", "middlename", "lastname", "suffix", "company", "street", "city", "postcode", "telephone", "fax", "vat_id"), "country_id"),
			CountriesWithoutPostcodes: f.some("US", "DE", "GB", "IE", "HK"),
		}
		if f.IntN(2) == 0 {
			f.forms.Countries = append(f.some("US", "DE", "GB", "IE", "HK"), "JP")
		}
		f.accounts = handlers.CustomerSettings{NoConfirmation: f.IntN(2) == 0, SharedAccounts: f.IntN(2) == 0}
		f.shop = openForms(t, d, f.forms, f.accounts)
		for range 20 {
			f.createAddress(t)
			f.createCustomer(t)
		}
		f.emptyFields(t)
		f.checkStored(t)
	}
}

// randomForms writes to a shop whose settings are drawn at random.
type randomForms struct {
	*testenv.Sample
	*shop
	magento  bool
	forms    contract.Forms
	accounts handlers.CustomerSettings
	created  int // customers
}

// some returns some of some names, in any order.
func (f *randomForms) some(names ...string) []string {
	chosen := []string{}
	for _, at := range f.Perm(len(names)) {
		if f.IntN(2) == 0 {
			chosen = append(chosen, names[at])
		}
	}
	return chosen
}

// A formField is a field of a form: its name, its label and a valid value.
type formField struct {
	name, label string
	value       any
}

// fill returns a body with some of the fields, some of them empty, and the faults of those that are
// required and lack a value, in the order of the fields.
func (f *randomForms) fill(fields []formField, isRequired func(string) bool) (body map[string]any, want []string) {
	body = map[string]any{}
	for _, field := range fields {
		switch f.IntN(8) {
		case 0:
		case 1:
			body[field.name] = ""
		default:
			body[field.name] = field.value
			continue
		}
		if isRequired(field.name) {
			want = append(want, field.name)
		}
	}
	return body, want
}

// missing returns the fault of a field without a value.
func (f *randomForms) missing(label string, quoted bool) string {
	if quoted {
		label = `"` + label + `"`
	}
	return "400 " + label + " is a required value."
}

// post creates a record and compares the faults.
func (f *randomForms) post(t *testing.T, target string, body map[string]any, want []string) (created bool) {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	if len(want) > 0 && strings.HasPrefix(want[0], "400") && want[0] != emailTaken {
		want = append(want, "400 Resource data pre-validation error.")
	}
	r := f.write(contract.Admin, "POST", target, string(text))
	checkWritten(t, fmt.Sprintf("magento %t, %+v, %s", f.magento, f.forms, text), r, want)
	return r.Status == 200
}

// addressFields are the fields of an address in a country, without the region.
func addressFields(country string) []formField {
	return []formField{
		{"prefix", "Prefix", "Dr"}, {"firstname", "First Name", "A"}, {"middlename", "Middle Name/Initial", "M"}, {"lastname", "Last Name", "B"}, {"suffix", "Suffix", "Jr"},
		{"company", "Company", "C"}, {"street", "Street Address", []string{"S 1"}}, {"city", "City", "C"}, {"country_id", "Country", country},
		{"postcode", "Zip/Postal Code", "1"}, {"telephone", "Telephone", "1"}, {"fax", "Fax", "1"}, {"vat_id", "VAT number", "1"},
	}
}

// createAddress creates an address.
func (f *randomForms) createAddress(t *testing.T) {
	regions := map[string]string{"US": "Texas", "DE": "Berlin", "GB": "Kent", "IE": "", "HK": ""}
	country := slices.Sorted(maps.Keys(regions))[f.IntN(len(regions))]
	fields := addressFields(country)
	body, missing := f.fill(fields, func(name string) bool { return slices.Contains(f.forms.RequiredOfAddresses, name) })
	body["region"] = regions[country]
	var want []string
	for _, field := range fields {
		isCountry := field.name == "country_id"
		switch {
		case slices.Contains(missing, field.name):
			exempt := f.magento && body["country_id"] == country && slices.Contains(f.forms.CountriesWithoutPostcodes, country)
			if field.name != "postcode" || !exempt {
				want = append(want, f.missing(field.label, f.magento))
			}
			if isCountry && !f.magento {
				want[len(want)-1] = "400 Country is required"
			}
		case isCountry && f.forms.Countries != nil && !slices.Contains(f.forms.Countries, country):
			want = append(want, map[bool]string{true: fmt.Sprintf("400 Invalid value %q for country_id", country), false: "400 Country does not exist"}[f.magento])
		}
	}
	f.post(t, "/customers/4/addresses", body, want)
}

// emailTaken is the fault of a taken e-mail address in the documented dialect.
const emailTaken = "400 This customer email already exists"

// createCustomer creates a customer, whose e-mail address may be taken.
func (f *randomForms) createCustomer(t *testing.T) {
	fields := []formField{
		{"prefix", "Prefix", "Dr"}, {"firstname", "First Name", "A"}, {"middlename", "Middle Name/Initial", "M"}, {"lastname", "Last Name", "B"}, {"suffix", "Suffix", "Jr"},
		{"dob", "Date Of Birth", "02/03/1980"}, {"taxvat", "Tax/VAT Number", "1"}, {"gender", "Gender", 1},
	}
	isRequired := func(name string) bool { return slices.Contains(f.forms.RequiredOfCustomers, name) }
	body, missing := f.fill(fields, isRequired)
	if body["gender"] == "" && !isRequired("gender") {
		delete(body, "gender") // it has a fault of its own
	}
	email := []string{"ada@example.com", "Carla@example.com", "x@example.com", "X@example.com", "y@example.com"}[f.IntN(5)]
	website := 1 + f.IntN(2)
	maps.Copy(body, map[string]any{"email": email, "website_id": website, "group_id": 1, "password": "secret77"})
	var want []string
	for _, field := range fields {
		if slices.Contains(missing, field.name) {
			want = append(want, f.missing(field.label, true))
		}
	}
	if len(want) == 0 && f.isTaken(t, email, website) {
		want = []string{emailTaken}
		if f.magento {
			want = []string{"500 This customer email already exists", "0 id is not specified"}
		}
	}
	if f.post(t, "/customers", body, want) {
		f.created++
	}
}

// isTaken reports whether a customer has an e-mail address that a new customer may not have.
func (f *randomForms) isTaken(t *testing.T, email string, website int) bool {
	t.Helper()
	return slices.ContainsFunc(f.stored(t, adapter.Customers), func(r adapter.Record) bool {
		return strings.EqualFold(r.Get("email").Text(), email) && (f.accounts.SharedAccounts || r.Get("website_id").Int() == int64(website))
	})
}

// stored returns all records of a resource.
func (f *randomForms) stored(t *testing.T, r adapter.Resource) []adapter.Record {
	t.Helper()
	store, err := f.direct.Store(r)
	if err != nil {
		t.Fatal(err)
	}
	all, err := store.List(t.Context(), &adapter.ListParams{})
	if err != nil {
		t.Fatal(err)
	}
	return all.Records
}

// emptyFields empties each field of an address by an update of its own, which succeeds exactly if the
// field is not required. The country does not exempt the postcode, because the bodies lack it.
func (f *randomForms) emptyFields(t *testing.T) {
	for _, field := range addressFields("") {
		var want []string
		if slices.Contains(f.forms.RequiredOfAddresses, field.name) {
			want = []string{f.missing(field.label, f.magento), "400 Resource data pre-validation error."}
			if field.name == "country_id" && !f.magento {
				want[0] = "400 Country is required"
			}
		}
		body := fmt.Sprintf(`{%q: ""}`, field.name)
		checkWritten(t, fmt.Sprintf("magento %t, %+v, PUT %s", f.magento, f.forms, body), f.write(contract.Admin, "PUT", "/customers/addresses/3", body), want)
	}
}

// checkStored checks that no stored record that was created here breaks the settings.
func (f *randomForms) checkStored(t *testing.T) {
	const own, ownAddress = 4, 5 // the last ones of the demo store
	emails := map[string]int{}
	for _, r := range f.stored(t, adapter.Customers) {
		key := strings.ToLower(r.Get("email").Text())
		if !f.accounts.SharedAccounts {
			key += r.Get("website_id").Text()
		}
		if emails[key]++; emails[key] > 1 {
			t.Errorf("%+v: customers share %s", f.accounts, key)
		}
		if r.Key() <= own {
			continue
		}
		if want := f.magento && !f.accounts.NoConfirmation; (len(r.Get("confirmation").Text()) == 32) != want {
			t.Errorf("%+v: customer %d has the confirmation %q", f.accounts, r.Key(), r.Get("confirmation").Text())
		}
		f.checkFilled(t, r, f.forms.RequiredOfCustomers)
	}
	if f.created > 0 && len(emails) <= own {
		t.Errorf("%d customers were created, and none is stored", f.created)
	}
	for _, r := range f.stored(t, adapter.CustomerAddresses) {
		if r.Key() <= ownAddress {
			continue
		}
		country, required := r.Get("country_id").Text(), f.forms.RequiredOfAddresses
		if f.forms.Countries != nil && !slices.Contains(f.forms.Countries, country) {
			t.Errorf("%v: an address in %s", f.forms.Countries, country)
		}
		if f.magento && slices.Contains(f.forms.CountriesWithoutPostcodes, country) {
			required = slices.DeleteFunc(slices.Clone(required), func(name string) bool { return name == "postcode" })
		}
		f.checkFilled(t, r, required)
	}
}

// checkFilled checks that a record has values for some attributes.
func (f *randomForms) checkFilled(t *testing.T, r adapter.Record, names []string) {
	t.Helper()
	for _, name := range names {
		if v := r.Get(name); v.Empty() || v.Kind() == adapter.Absent {
			t.Errorf("%+v: %s %d lacks %s", f.forms, r.Schema.Resource, r.Key(), name)
		}
	}
}
