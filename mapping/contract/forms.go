package contract

import "slices"

// A Form describes the input of a record: its fields, in the order in which their errors
// are reported (customers 4). It omits fields that a role may not write in a dialect.
type Form []FormField

// A FormField is one row of a form.
type FormField struct {
	Name string
	// Label is the name of the field in messages.
	Label    string
	Content  Content
	Required bool
	// CreateOnly: an update accepts and ignores the field.
	CreateOnly bool
	// Missing is the fault for a required value that is missing or empty. Its argument is
	// Label.
	Missing FaultKey
	// Min and Max limit the number of characters, not counting surrounding blanks; 0 means
	// no limit.
	Min, Max int
	// Options are the numbers that a Number field accepts.
	Options []int64
	// optionalIn lists the countries in whose addresses a dialect does not require the
	// field.
	optionalIn [columns][]string
}

// OptionalIn reports whether dialect d does not require the field in addresses of country.
func (f *FormField) OptionalIn(d *Dialect, country string) bool {
	return slices.Contains(f.optionalIn[d.column], country)
}

// OptionalSomewhere reports whether there are countries in whose addresses dialect d does not
// require the field.
func (f *FormField) OptionalSomewhere(d *Dialect) bool { return len(f.optionalIn[d.column]) > 0 }

// Content is the kind of value that a [FormField] accepts.
type Content uint8

const (
	// Line: a single-line text.
	Line Content = iota
	// Email: an e-mail address.
	Email
	// Date: a calendar day, as month, day and year.
	Date
	// Number: one of Options.
	Number
	// WebsiteID: the id of a website, or 0.
	WebsiteID
	// GroupID: the id of a customer group other than the guests' group.
	GroupID
	// Flag: any value, stored as 1 or 0.
	Flag
	// DefaultFlag: the same, but 0 leaves the stored value unchanged.
	DefaultFlag
	// Password: a text that is stored as a hash.
	Password
	// Street: the lines of a street address.
	Street
	// CountryID: a country code of the directory.
	CountryID
	// Region: a name or code of the directory; checked after all other fields.
	Region
	// Ignored: accepted, and never stored.
	Ignored
	// AddedValue: a value for the type of an attribute that the store added.
	AddedValue
)

// MaxTextLength is the number of characters that the original stores in a single-line
// field; it cuts off the rest.
const MaxTextLength = 255

// CustomerForm returns the form of a customer (contract 5.2; customers 4 and 5), including
// fields that the store added. Errors of the password are reported last.
func CustomerForm(added ...string) Form {
	form := Form{
		{Name: "website_id", Label: "Associate to Website", Content: WebsiteID, Required: true, CreateOnly: true},
		{Name: "group_id", Label: "Group", Content: GroupID, Required: true},
		{Name: "disable_auto_group_change", Content: Flag},
		{Name: "prefix", Label: "Prefix"},
		{Name: "firstname", Label: "First Name", Required: true, Min: 1, Max: MaxTextLength},
		{Name: "middlename", Label: "Middle Name/Initial"},
		{Name: "lastname", Label: "Last Name", Required: true, Min: 1, Max: MaxTextLength},
		{Name: "suffix", Label: "Suffix"},
		{Name: "email", Label: "Email", Content: Email, Required: true},
		{Name: "dob", Label: "Date Of Birth", Content: Date},
		{Name: "taxvat", Label: "Tax/VAT Number", Max: MaxTextLength},
		{Name: "gender", Label: "Gender", Content: Number, Options: []int64{1, 2}},
		{Name: "confirmation", Content: Ignored},
	}
	form = append(form.withAdded(added), FormField{Name: "password", Label: "Password", Content: Password, Required: true, Min: 7})
	return form.withMissing(CustomerValueRequired)
}

// CustomerAddressForm returns the form of a customer's address (contract 5.3; customers 4
// and 6), including fields that the store added.
func CustomerAddressForm(added ...string) Form {
	form := Form{
		{Name: "prefix", Label: "Prefix"},
		{Name: "firstname", Label: "First Name", Required: true, Min: 1, Max: MaxTextLength},
		{Name: "middlename", Label: "Middle Name/Initial"},
		{Name: "lastname", Label: "Last Name", Required: true, Min: 1, Max: MaxTextLength},
		{Name: "suffix", Label: "Suffix"},
		{Name: "company", Label: "Company", Min: 1, Max: MaxTextLength},
		{Name: "street", Label: "Street Address", Content: Street, Required: true, Min: 1, Max: MaxTextLength},
		{Name: "city", Label: "City", Required: true, Min: 1, Max: MaxTextLength},
		{Name: "country_id", Label: "Country", Content: CountryID, Required: true, Missing: CountryRequired},
		{Name: "region", Label: "State/Province", Content: Region},
		{Name: "postcode", Label: "Zip/Postal Code", Required: true,
			optionalIn: [columns][]string{magento: {"HK", "IE", "MO", "PA"}}},
		{Name: "telephone", Label: "Telephone", Required: true, Min: 1, Max: MaxTextLength},
		{Name: "fax", Label: "Fax", Min: 1, Max: MaxTextLength},
		{Name: "vat_id", Label: "VAT number"},
		{Name: "is_default_billing", Content: DefaultFlag},
		{Name: "is_default_shipping", Content: DefaultFlag},
	}
	return form.withAdded(added).withMissing(AddressValueRequired)
}

// withAdded appends fields that the store added.
func (form Form) withAdded(added []string) Form {
	for _, name := range added {
		form = append(form, FormField{Name: name, Content: AddedValue})
	}
	return form
}

// withMissing sets the fault for missing values of fields that do not have one yet.
func (form Form) withMissing(key FaultKey) Form {
	for i := range form {
		if form[i].Missing == 0 {
			form[i].Missing = key
		}
	}
	return form
}
