package mapping_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/handlers"
	"github.com/portico-commerce/portico/mapping/resource"
)

// openForms opens a demo shop whose forms and accounts are configured.
func openForms(t testing.TB, d *contract.Dialect, forms contract.Forms, accounts handlers.CustomerSettings) *shop {
	t.Helper()
	fields, err := contract.NewFields(contract.FieldOptions{Forms: forms})
	if err != nil {
		t.Fatal(err)
	}
	s := settings()
	accounts.PasswordCost = s.Customers.PasswordCost
	s.Customers = accounts
	store := openDemo(t)
	return serveFields(t, d, fields, s, demotest.Data(t), store, store)
}

// TestForms writes customers and addresses under settings that require other fields, allow other
// countries, and need no postcode in other countries (configurations 6).
func TestForms(t *testing.T) {
	const ended = "400 Resource data pre-validation error."
	german := []any{"country_id", "DE", "region", "Berlin"}
	for _, c := range []struct {
		name                string
		forms               contract.Forms
		method, target      string
		body                func(testing.TB) string
		documented, magento []string // faults; nil: accepted
	}{
		{"required of a customer", contract.Forms{RequiredOfCustomers: []string{"gender", "dob", "prefix", "taxvat"}}, "POST", "/customers",
			fill(newCustomer(), "firstname", no), both("Prefix", "Date Of Birth", "Tax/VAT Number", "Gender"), both("Prefix", "Date Of Birth", "Tax/VAT Number", "Gender")},
		{"not required of a customer", contract.Forms{RequiredOfCustomers: []string{}}, "POST", "/customers", fill(newCustomer(), "firstname", no, "lastname", ""), nil, nil},
		{"always required of a customer", contract.Forms{RequiredOfCustomers: []string{}}, "POST", "/customers", fill(newCustomer(), "email", no, "group_id", no, "website_id", no),
			both("Associate to Website", "Group", "Email"), both("Associate to Website", "Group", "Email")},
		{"left out of an update", contract.Forms{RequiredOfCustomers: []string{"prefix"}}, "PUT", "/customers/2", fill(nil, "lastname", "O"), nil, nil},
		{"emptied by an update", contract.Forms{RequiredOfCustomers: []string{"prefix"}}, "PUT", "/customers/1", fill(nil, "prefix", ""), both("Prefix"), both("Prefix")},
		{"with a value that is wrong", contract.Forms{RequiredOfCustomers: []string{"gender"}}, "PUT", "/customers/1", fill(nil, "gender", "9"),
			[]string{`400 Invalid value "9" for gender`, ended}, []string{`400 Invalid value "9" for gender`, ended}},
		{"required of an address, before its region", contract.Forms{RequiredOfAddresses: []string{"vat_id", "company", "city"}}, "POST", "/customers/1/addresses",
			fill(newAddress(), "region", no, "telephone", no), quoted("", "Company", "VAT number"), quoted(`"`, "Company", "VAT number")},
		{"a country outside the list", contract.Forms{Countries: []string{"US", "CA"}}, "POST", "/customers/1/addresses", fill(newAddress(), german...),
			[]string{"400 Country does not exist", ended}, []string{`400 Invalid value "DE" for country_id`, ended}},
		{"a country of the list", contract.Forms{Countries: []string{"CA", "DE"}}, "POST", "/customers/1/addresses", fill(newAddress(), german...), nil, nil},
		{"a listed country that the directory lacks", contract.Forms{Countries: []string{"XX"}}, "POST", "/customers/1/addresses", fill(newAddress(), "country_id", "XX"),
			[]string{"400 Country does not exist", ended}, []string{`400 Invalid value "XX" for country_id`, ended}},
		{"a stored country outside the list", contract.Forms{Countries: []string{"CA"}}, "PUT", "/customers/addresses/2", fill(nil, "city", "York"), nil, nil},
		{"the same country, sent", contract.Forms{Countries: []string{"CA"}}, "PUT", "/customers/addresses/2", fill(nil, "country_id", "GB"),
			[]string{"400 Country does not exist", ended}, []string{`400 Invalid value "GB" for country_id`, ended}},
		{"no postcode in a country that needs none", contract.Forms{CountriesWithoutPostcodes: []string{"DE"}}, "POST", "/customers/1/addresses",
			fill(newAddress(), append(german, "postcode", no)...), quoted("", "Zip/Postal Code"), nil},
		{"an empty postcode there", contract.Forms{CountriesWithoutPostcodes: []string{"DE"}}, "POST", "/customers/1/addresses",
			fill(newAddress(), append(german, "postcode", "")...), quoted("", "Zip/Postal Code"), nil},
		{"no postcode in a country that is no longer listed", contract.Forms{CountriesWithoutPostcodes: []string{"DE"}}, "POST", "/customers/1/addresses",
			fill(newAddress(), "country_id", "IE", "postcode", no), quoted("", "Zip/Postal Code"), quoted(`"`, "Zip/Postal Code")},
		{"no list of such countries", contract.Forms{CountriesWithoutPostcodes: []string{}}, "POST", "/customers/1/addresses",
			fill(newAddress(), "country_id", "HK", "postcode", ""), quoted("", "Zip/Postal Code"), quoted(`"`, "Zip/Postal Code")},
		{"an empty postcode in an update without a country", contract.Forms{CountriesWithoutPostcodes: []string{"GB"}}, "PUT", "/customers/addresses/2", fill(nil, "postcode", ""),
			quoted("", "Zip/Postal Code"), quoted(`"`, "Zip/Postal Code")},
		{"an empty postcode in an update with its country", contract.Forms{CountriesWithoutPostcodes: []string{"GB"}}, "PUT", "/customers/addresses/2",
			fill(nil, "postcode", "", "country_id", "GB"), quoted("", "Zip/Postal Code"), nil},
		{"no postcode required at all", contract.Forms{RequiredOfAddresses: []string{"city"}}, "POST", "/customers/1/addresses", fill(newAddress(), append(german, "postcode", no)...), nil, nil},
	} {
		for d, want := range map[*contract.Dialect][]string{contract.Documented(): c.documented, contract.Magento(): c.magento} {
			t.Run(c.name+" "+d.Name, func(t *testing.T) {
				s := openForms(t, d, c.forms, handlers.CustomerSettings{})
				checkWritten(t, c.name, s.write(contract.Admin, c.method, c.target, c.body(t)), want)
			})
		}
	}
}

// TestRequiredOfCustomers lets a Customer write the fields that are required, also those that only Admins
// see otherwise (configurations 6.3).
func TestRequiredOfCustomers(t *testing.T) {
	required := contract.Forms{RequiredOfCustomers: []string{"firstname", "lastname", "taxvat"}, RequiredOfAddresses: []string{"suffix", "country_id"}}
	for _, c := range []struct {
		name    string
		dialect *contract.Dialect
		forms   contract.Forms
		without []string // the faults of an address without a suffix
		shown   bool     // whether the Customer sees the fields
	}{
		{"magento", contract.Magento(), required, quoted(`"`, "Suffix"), true},
		{"magento by default", contract.Magento(), contract.Forms{}, nil, false},
		{"documented", contract.Documented(), required, quoted("", "Suffix"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := openForms(t, c.dialect, c.forms, handlers.CustomerSettings{})
			checkWritten(t, "without", s.write(contract.Customer, "POST", "/customers/1/addresses", body(t, newAddress())), c.without)
			checkWritten(t, "with", s.write(contract.Customer, "POST", "/customers/1/addresses", body(t, newAddress(), "suffix", "Jr.")), nil)
			if got := string(s.serve(contract.Customer, "GET", "/customers/1/addresses", "", "Accept", "application/json").Body); c.dialect == contract.Magento() && strings.Contains(got, `"suffix":"Jr."`) != c.shown {
				t.Errorf("the addresses are %s", got)
			}
			if got := string(s.serve(contract.Customer, "GET", "/customers/1", "", "Accept", "application/json").Body); strings.Contains(got, `"taxvat":"GB123"`) != c.shown {
				t.Errorf("the customer is %s", got)
			}
			narrowed := contract.FieldOptions{Forms: c.forms, Narrowed: []contract.NarrowedFields{{Resource: "customers", Role: contract.Customer, Read: []string{"email"}, Write: []string{"email"}}}}
			fields, err := contract.NewFields(narrowed)
			if err != nil {
				t.Fatal(err)
			}
			at, _ := fields.Customers.Index("taxvat")
			if f := &fields.Customers.Fields[at]; f.Readable(c.dialect, contract.Customer, contract.SingleJSON) || f.Writable(c.dialect, contract.Customer) {
				t.Error("the setting gives a role a field that the table fields takes from it")
			}
		})
	}
}

// fill returns the body of a request: see body.
func fill(base map[string]any, other ...any) func(testing.TB) string {
	return func(t testing.TB) string { return body(t, base, other...) }
}

// both returns the faults of missing fields of a customer, which are the same in both dialects.
func both(labels ...string) []string { return quoted(`"`, labels...) }

// quoted returns the faults of missing fields, whose labels are in quotation marks or none.
func quoted(mark string, labels ...string) (all []string) {
	for _, label := range labels {
		all = append(all, "400 "+mark+label+mark+" is a required value.")
	}
	return append(all, "400 Resource data pre-validation error.")
}

// TestConfirmation creates customers with and without confirmation.
func TestConfirmation(t *testing.T) {
	for _, c := range []struct {
		name    string
		dialect *contract.Dialect
		without bool
		want    bool
	}{
		{"magento", contract.Magento(), false, true},
		{"magento without", contract.Magento(), true, false},
		{"documented", contract.Documented(), false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := openForms(t, c.dialect, contract.Forms{}, handlers.CustomerSettings{NoConfirmation: c.without})
			if r := s.write(contract.Admin, "POST", "/customers", body(t, newCustomer())); r.Status != 200 {
				t.Fatalf("%d %s", r.Status, r.Body)
			}
			if got := s.storedRecord(t, adapter.Customers, 5).Get("confirmation"); (got.Text() != "") != c.want || got.Kind() == adapter.Null {
				t.Errorf("confirmation %q of kind %d", got.Text(), got.Kind())
			}
		})
	}
}

// TestSharedAccounts writes customers of a shop in which an account is valid in all websites.
func TestSharedAccounts(t *testing.T) {
	inBothDialects(t, func(t *testing.T, plain *shop) {
		taken := []string{"400 This customer email already exists"}
		created, updated := taken, taken
		if plain.dialect.ContinuesAfterSaveError {
			created = []string{"500 This customer email already exists", "0 id is not specified"}
			updated = []string{"500 This customer email already exists", "500 Unhandled simple errors."}
		}
		s := openForms(t, plain.dialect, contract.Forms{}, handlers.CustomerSettings{SharedAccounts: true})
		for _, step := range []struct {
			name, method, target string
			body                 string
			want                 []string
		}{
			{"new in another website", "POST", "/customers", body(t, newCustomer(), "email", "CARLA@example.com"), created},
			{"new without a website", "POST", "/customers", body(t, newCustomer(), "website_id", no, "email", "n@example.com"), both("Associate to Website")},
			{"changed", "PUT", "/customers/2", `{"email":"Carla@Example.com"}`, updated},
			{"its own", "PUT", "/customers/2", `{"email":"BEN@example.com"}`, nil},
			{"free", "PUT", "/customers/2", `{"email":"free@example.com"}`, nil},
			{"given up by another", "POST", "/customers", body(t, newCustomer(), "email", "ben@example.com", "website_id", 2), nil},
		} {
			checkWritten(t, step.name, s.write(contract.Admin, step.method, step.target, step.body), step.want)
		}
		shareEmail(t, s, 1, 3)
		for _, change := range []string{`{"firstname":"A"}`, `{"email":"ada@example.com"}`} {
			checkWritten(t, "a customer who shares the address, "+change, s.write(contract.Admin, "PUT", "/customers/3", change), updated)
		}
		checkWritten(t, "who gives the address up", s.write(contract.Admin, "PUT", "/customers/3", `{"email":"carla@example.com"}`), nil)
		checkWritten(t, "who no longer shares it", s.write(contract.Admin, "PUT", "/customers/1", `{"firstname":"A"}`), nil)
	})
}

// checkWritten compares the faults of a reply, each as "400 text"; nil stands for success.
func checkWritten(t testing.TB, name string, r resource.Response, want []string) {
	t.Helper()
	var got []string
	if r.Status != 200 {
		got = faults(t, r)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", name, got, want)
	}
}

// shareEmail gives a customer another one's e-mail address, as an import may.
func shareEmail(t testing.TB, s *shop, from, to adapter.Key) {
	t.Helper()
	store, err := s.direct.Store(adapter.Customers)
	if err == nil {
		email := s.storedRecord(t, adapter.Customers, from).Get("email")
		err = store.Update(t.Context(), &adapter.UpdateParams{Key: to, Change: func(current adapter.Record) (adapter.Record, error) {
			change := adapter.NewRecord(current.Schema)
			change.Set("email", email)
			return change, nil
		}})
	}
	if err != nil {
		t.Fatal(err)
	}
}
