package contract

import (
	"cmp"
	"slices"
)

// A Rule limits the values that a body may hold for one field. A table of rules is in the
// order of its checks; a field with several rules has to satisfy all of them.
type Rule struct {
	Field string
	// Label is the name of the field in messages; "" means Field.
	Label string
	Check Check
	// Fault is reported for a value that breaks the rule, unless the check has faults of its
	// own. Message is the text of a [BrokenRule], in which {value} stands for the value that
	// was sent.
	Fault   FaultKey
	Message string
	// Required: a new record must have the field, and it cannot be emptied. Missing is the
	// fault of a new record without the field, Empty the fault of an empty value.
	Required       bool
	Missing, Empty FaultKey
	// CreateOnly: an update accepts and ignores the field.
	CreateOnly bool
	// Min and Max limit a number, or the number of characters of a text, not counting
	// surrounding blanks. 0 means no limit of a text.
	Min, Max float64
	// From and Options are the codes that an [Option] or a [NumberOption] accepts. A [Country] has to
	// be in both, unless Options is empty.
	From    OptionList
	Options []string
	// RejectsEmptyText: an empty text is not a valid option; otherwise it stores nothing.
	RejectsEmptyText bool
	// Multiple: a list of options is stored as a text with their codes, separated by commas. The
	// ListFault of such a rule is the fault of a list inside the list.
	Multiple bool
	// Default is the text that a new record stores if the field is not sent; "" for none.
	Default string
	// TimeFault replaces the fault of a time that cannot be read; 0 for none.
	TimeFault FaultKey
	// OptionStorage is the form in which the original stores an option that it keeps as a
	// text.
	OptionStorage OptionStorage
	// Null is the number that a null stores; "" if it stores null.
	Null string
	// Twice is the fault of two entries of a [PriceList] for the same customers and quantity.
	Twice FaultKey
	// Characters and Bytes are lengths to which a longer text is cut; 0 means no limit.
	Characters, Bytes int
	// ListFault is reported for a list or an object in place of a single value. Without it
	// the original either checks the entries of the list or ignores it.
	ListFault FaultKey
	// ListCrash: the original crashes on a list or object in place of the text, whatever
	// else the body holds, unless it is empty; emptyListCrash: on an empty one as well.
	ListCrash      bool
	emptyListCrash cells[bool]
	// Members are the rules of the values in a [Set] or in each entry of a [PriceList].
	Members []Rule
	// Saving is the treatment of a member of stock_data by a save.
	Saving
	// optionalIn lists the countries in whose addresses a dialect does not require the
	// field.
	optionalIn cells[[]string]
	// acceptsZero: the option may be 0 even if 0 is not among its codes (products 5.3, step 8).
	acceptsZero cells[bool]
	// castsTrue: true is taken for the option 1.
	castsTrue cells[bool]
	// readsStored: a value that replies show for the field is accepted, although the original refuses
	// it: the text of several options, and an empty value, which counts as not sent.
	readsStored cells[bool]
	// castsNumbers: any value is taken as the number that it begins with.
	castsNumbers cells[bool]
}

// A Saving is the treatment of a member of stock_data when a product is saved (products 7).
type Saving struct {
	// Attribute is the attribute that stores the value; "" means the attribute of the same
	// name.
	Attribute string
	// Unmanaged: checked and stored even if the save does not manage the stock.
	Unmanaged bool
	// If names another member: without it the value is not checked.
	If string
	// Config names the flag that makes the store's setting apply instead of the value. If
	// the flag is set, the value is ignored; if the flag is not sent, the value clears it.
	Config string
	// KeepsConfig: the value does not clear the flag.
	KeepsConfig bool
}

// A Check is the requirement of a [Rule] on a value.
type Check uint8

const (
	// Line: a text of Min to Max characters.
	Line Check = iota
	// Typed: a value for the type of the field's attribute.
	Typed
	// Flag: any value, stored as 1 or 0.
	Flag
	// DefaultFlag: the same, but 0 leaves the stored value unchanged.
	DefaultFlag
	// Switch: any value, which controls how the record is saved and is not stored.
	Switch
	// Ignored: accepted, and never stored.
	Ignored

	// AnyNumber: a number.
	AnyNumber
	// NonNegative: a number that is not negative.
	NonNegative
	// Positive: a number above 0.
	Positive
	// NumberOption: a number equal to one of the codes.
	NumberOption
	// Option: one of the codes.
	Option

	// Between: a number from Min to Max; a text that is not a number is compared with both
	// byte by byte.
	Between
	// Float: a number; a text may group its digits with commas.
	Float
	// Whole: an integer.
	Whole
	// Integer: an integer of at most 64 bits, which a text may surround with blanks.
	Integer
	// OneCharacter: one of Options, each a single character, or a number whose text is one.
	OneCharacter

	// NotBlank: neither null nor false, and not an empty text or list. A rule with this check, or one
	// of the next two, demands the field.
	NotBlank
	// Given: as NotBlank, and no text of blanks.
	Given
	// Filled: as Given, and not the fraction 0.0.
	Filled

	// The checks of OpenMage (openmage 1), which go by the type in JSON and accept null.
	// JSONFloat: a number with a fraction or an exponent, or beyond 64 bits.
	JSONFloat
	// Numeric: a number or a numeric text.
	Numeric
	// InRange: not a number or numeric text outside Min to Max.
	InRange
	// NotList: neither a list nor an object.
	NotList
	// CharacterOrEmpty: [OneCharacter], true for 1, an empty text, a list or an object.
	CharacterOrEmpty
	// JSONInteger: an integer of at most 64 bits.
	JSONInteger

	// Email: an e-mail address.
	Email
	// BirthDate: a calendar day, as month, day and year.
	BirthDate
	// Password: a text that is stored as a hash.
	Password
	// Street: the lines of a street address.
	Street
	// Country: a country code of the directory.
	Country
	// Region: a name or code of the directory; checked after all other fields.
	Region

	// Set: a record whose members have rules of their own.
	Set
	// PriceList: a list of such records.
	PriceList
)

// Stored reports whether the value of a field with the check is stored as it is, regardless
// of the rest of the body.
func (c Check) Stored() bool {
	return c != Switch && c != Ignored && c != Password && c != Region && c < Set
}

// AcceptsNull reports whether a null satisfies the check and stores [Rule.Null].
func (c Check) AcceptsNull() bool { return JSONFloat <= c && c <= JSONInteger }

// An OptionList is the source of the codes of an [Option] or a [NumberOption].
type OptionList uint8

const (
	// Listed: from [Rule.Options].
	Listed OptionList = iota
	// TaxClasses: from the store's settings.
	TaxClasses
	// Themes: from the store's settings.
	Themes
	// Countries: from the store's directory.
	Countries
	// Websites: the ids of the websites, and 0; of prices that are the same in all websites 0 alone.
	Websites
	// CustomerGroups: the ids of customer groups.
	CustomerGroups
	// AttributeOptions: the ids of the options of the field's attribute, which the store added.
	AttributeOptions
)

// An OptionStorage is the form in which the original stores an [Option] that it keeps as a
// text.
type OptionStorage uint8

const (
	// CanonicalOption: the code of the option is stored.
	CanonicalOption OptionStorage = iota
	// VerbatimOption: the magento dialect stores the text as it was sent, for example "01"
	// for 1 (products 5.2).
	VerbatimOption
	// CastOption: the same, and every list is cast to the text Array.
	CastOption
)

// Name returns the name of the field in messages.
func (r *Rule) Name() string { return cmp.Or(r.Label, r.Field) }

// OptionalIn reports whether dialect d does not require the field in addresses of country.
func (r *Rule) OptionalIn(d *Dialect, country string) bool {
	return slices.Contains(r.optionalIn.of(d), country)
}

// OptionalSomewhere reports whether there are countries in whose addresses dialect d does not
// require the field.
func (r *Rule) OptionalSomewhere(d *Dialect) bool { return len(r.optionalIn.of(d)) > 0 }

// AcceptsZero reports whether dialect d accepts 0 even if it is not among the options.
func (r *Rule) AcceptsZero(d *Dialect) bool { return r.acceptsZero.of(d) }

// EmptyListCrash reports whether the original crashes on an empty list or object in place of the text in
// dialect d, as it does on one with entries.
func (r *Rule) EmptyListCrash(d *Dialect) bool { return r.emptyListCrash.of(d) }

// CastsTrue reports whether dialect d takes true for the option 1.
func (r *Rule) CastsTrue(d *Dialect) bool { return r.castsTrue.of(d) }

// ReadsStored reports whether dialect d accepts what its replies show for the field: the text of
// several options, and an empty value, which counts as not sent.
func (r *Rule) ReadsStored(d *Dialect) bool { return r.readsStored.of(d) }

// CastsNumbers reports whether dialect d takes any value as the number that it begins with.
func (r *Rule) CastsNumbers(d *Dialect) bool { return r.castsNumbers.of(d) }

// PreservesSpelling reports whether dialect d stores an option in the spelling of the request.
func (r *Rule) PreservesSpelling(d *Dialect) bool {
	return r.OptionStorage != CanonicalOption && d.column != documented
}

// MaxTextLength is the number of characters that the original stores in a single-line
// field; it cuts off the rest.
const MaxTextLength = 255

// A RuleTable holds the rules of a resource, and how they are applied.
type RuleTable struct {
	// Rules are the rules of the contract's fields, in the order of their checks.
	Rules []Rule
	// openmage are the rules in the dialect openmage; nil: the same.
	openmage []Rule
	// added are the rules of fields that the store added, without names, by the kind of the attribute as
	// settings name it; the rule of "" holds for all other kinds. requiredAdded names the fields that a
	// new record must have.
	added         map[string]Rule
	requiredAdded []string
	// RequiredLast: required fields are only checked after all others, and until then a null
	// counts as absent. Otherwise each field is checked once.
	RequiredLast bool
	// NullRemoves: a null, and any empty value of an attribute that is not a text, removes
	// the stored value; otherwise it stores null.
	NullRemoves bool
}

// In returns the table with the rules of dialect d.
func (t *RuleTable) In(d *Dialect) *RuleTable {
	in := *t
	if d.column == openmage && t.openmage != nil {
		in.Rules = t.openmage
	}
	return &in
}

// Added returns the rule of a field that the store added, whose attribute is of a kind that settings
// name, such as select (own_attributes 10 to 14).
func (t *RuleTable) Added(field, kind string) Rule {
	rule, ok := t.added[kind]
	if !ok {
		rule = t.added[""]
	}
	rule.Field, rule.Required = field, slices.Contains(t.requiredAdded, field)
	return rule
}

// With returns the rules including the rules of fields that the store added. The rules of
// passwords and switches stay the last.
func (t *RuleTable) With(added ...Rule) []Rule {
	last := slices.IndexFunc(t.Rules, func(r Rule) bool { return r.Check == Password || r.Check == Switch })
	if last < 0 {
		last = len(t.Rules)
	}
	return slices.Concat(t.Rules[:last], added, t.Rules[last:])
}

// Requires reports whether a new record must have a field that the store added.
func (t *RuleTable) Requires(added string) bool { return slices.Contains(t.requiredAdded, added) }

// Of returns the first rule of a field, or nil if it has none.
func (t *RuleTable) Of(field string) *Rule {
	if i := slices.IndexFunc(t.Rules, func(r Rule) bool { return r.Field == field }); i >= 0 {
		return &t.Rules[i]
	}
	return nil
}
