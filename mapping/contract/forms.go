package contract

import "slices"

// A Form says what may be written to a record: its fields in the order in which
// what is wrong with them is reported (customers 4). Fields a role may not write in
// a dialect are left out for it.
type Form []FormField

// A FormField is one row of a form.
type FormField struct {
	Name string
	// Label names the field in messages.
	Label    string
	Content  Content
	Required bool
	// CreateOnly: in the body of an update the field is known, and means nothing.
	CreateOnly bool
	// Missing is the fault of a required value that is missing or empty; its
	// argument is Label.
	Missing FaultKey
	// Min and Max bound the number of characters without blanks around; 0 is no
	// bound.
	Min, Max int
	// Options are the numbers a Number may be.
	Options []int64
	// optionalIn names the countries in whose addresses a dialect does not require
	// the field.
	optionalIn [columns][]string
}

// OptionalIn reports whether dialect d does not require the field in addresses of
// a country.
func (f *FormField) OptionalIn(d *Dialect, country string) bool {
	return slices.Contains(f.optionalIn[d.column], country)
}

// Content is what the value of a [FormField] is.
type Content uint8

const (
	// Line: a text.
	Line Content = iota
	// Email: an e-mail address.
	Email
	// Date: a day, as month, day and year.
	Date
	// Number: one of Options.
	Number
	// WebsiteID: the id of a website, or 0.
	WebsiteID
	// GroupID: the id of a customer group other than that of guests.
	GroupID
	// Flag: any value, stored as 1 or 0.
	Flag
	// DefaultFlag: the same, but 0 changes nothing.
	DefaultFlag
	// Password: a text that is stored as its hash.
	Password
	// Street: the lines of a street address.
	Street
	// CountryID: a code of the directory.
	CountryID
	// Region: a name or code of the directory, looked at last.
	Region
	// Kept: known, and never changed by what is sent.
	Kept
	// AddedValue: what the kind of an attribute of the store's own demands.
	AddedValue
)

// LongestText is the number of characters that the longest text has which the
// original stores in a field of one line; the rest of a longer one is cut off.
const LongestText = 255

// CustomerForm returns the form of a customer (contract 5.2; customers 4 and 5), with
// the fields that the store has added. What is wrong with the password is reported
// last.
func CustomerForm(added ...string) Form {
	form := Form{
		{Name: "website_id", Label: "Associate to Website", Content: WebsiteID, Required: true, CreateOnly: true},
		{Name: "group_id", Label: "Group", Content: GroupID, Required: true},
		{Name: "disable_auto_group_change", Content: Flag},
		{Name: "prefix", Label: "Prefix"},
		{Name: "firstname", Label: "First Name", Required: true, Min: 1, Max: LongestText},
		{Name: "middlename", Label: "Middle Name/Initial"},
		{Name: "lastname", Label: "Last Name", Required: true, Min: 1, Max: LongestText},
		{Name: "suffix", Label: "Suffix"},
		{Name: "email", Label: "Email", Content: Email, Required: true},
		{Name: "dob", Label: "Date Of Birth", Content: Date},
		{Name: "taxvat", Label: "Tax/VAT Number", Max: LongestText},
		{Name: "gender", Label: "Gender", Content: Number, Options: []int64{1, 2}},
		{Name: "confirmation", Content: Kept},
	}
	form = append(form.with(added), FormField{Name: "password", Label: "Password", Content: Password, Required: true, Min: 7})
	return form.missing(CustomerValueRequired)
}

// CustomerAddressForm returns the form of a customer's address (contract 5.3;
// customers 4 and 6), with the fields that the store has added.
func CustomerAddressForm(added ...string) Form {
	form := Form{
		{Name: "prefix", Label: "Prefix"},
		{Name: "firstname", Label: "First Name", Required: true, Min: 1, Max: LongestText},
		{Name: "middlename", Label: "Middle Name/Initial"},
		{Name: "lastname", Label: "Last Name", Required: true, Min: 1, Max: LongestText},
		{Name: "suffix", Label: "Suffix"},
		{Name: "company", Label: "Company", Min: 1, Max: LongestText},
		{Name: "street", Label: "Street Address", Content: Street, Required: true, Min: 1, Max: LongestText},
		{Name: "city", Label: "City", Required: true, Min: 1, Max: LongestText},
		{Name: "country_id", Label: "Country", Content: CountryID, Required: true, Missing: CountryRequired},
		{Name: "region", Label: "State/Province", Content: Region},
		{Name: "postcode", Label: "Zip/Postal Code", Required: true,
			optionalIn: [columns][]string{magento: {"HK", "IE", "MO", "PA"}}},
		{Name: "telephone", Label: "Telephone", Required: true, Min: 1, Max: LongestText},
		{Name: "fax", Label: "Fax", Min: 1, Max: LongestText},
		{Name: "vat_id", Label: "VAT number"},
		{Name: "is_default_billing", Content: DefaultFlag},
		{Name: "is_default_shipping", Content: DefaultFlag},
	}
	return form.with(added).missing(AddressValueRequired)
}

// with appends fields that the store has added.
func (form Form) with(added []string) Form {
	for _, name := range added {
		form = append(form, FormField{Name: name, Content: AddedValue})
	}
	return form
}

// missing sets the fault of missing values where a field has none of its own.
func (form Form) missing(key FaultKey) Form {
	for i := range form {
		if form[i].Missing == 0 {
			form[i].Missing = key
		}
	}
	return form
}
