package contract

import "cmp"

// customerRules returns the rules of a customer (contract 5.2; customers 4 and 5). Errors of
// the password are reported last.
func customerRules() RuleTable {
	return formRules(CustomerValueRequired, []Rule{
		{Field: "website_id", Label: "Associate to Website", Check: Option, From: Websites, Required: true, CreateOnly: true},
		{Field: "group_id", Label: "Group", Check: Option, From: CustomerGroups, Required: true},
		{Field: "disable_auto_group_change", Check: Flag},
		{Field: "prefix", Label: "Prefix"},
		{Field: "firstname", Label: "First Name", Required: true, Min: 1, Max: MaxTextLength},
		{Field: "middlename", Label: "Middle Name/Initial"},
		{Field: "lastname", Label: "Last Name", Required: true, Min: 1, Max: MaxTextLength},
		{Field: "suffix", Label: "Suffix"},
		{Field: "email", Label: "Email", Check: Email, Required: true},
		{Field: "dob", Label: "Date Of Birth", Check: BirthDate},
		{Field: "taxvat", Label: "Tax/VAT Number", Max: MaxTextLength},
		{Field: "gender", Label: "Gender", Check: Option, Options: []string{"1", "2"}, RejectsEmptyText: true},
		{Field: "confirmation", Check: Ignored},
		{Field: "password", Label: "Password", Check: Password, Required: true, Min: 7},
	})
}

// customerAddressRules returns the rules of a customer's address (contract 5.3; customers 4
// and 6).
func customerAddressRules() RuleTable {
	return formRules(AddressValueRequired, []Rule{
		{Field: "prefix", Label: "Prefix"},
		{Field: "firstname", Label: "First Name", Required: true, Min: 1, Max: MaxTextLength},
		{Field: "middlename", Label: "Middle Name/Initial"},
		{Field: "lastname", Label: "Last Name", Required: true, Min: 1, Max: MaxTextLength},
		{Field: "suffix", Label: "Suffix"},
		{Field: "company", Label: "Company", Min: 1, Max: MaxTextLength},
		{Field: "street", Label: "Street Address", Check: Street, Required: true, Min: 1, Max: MaxTextLength},
		{Field: "city", Label: "City", Required: true, Min: 1, Max: MaxTextLength},
		{Field: "country_id", Label: "Country", Check: Country, From: Countries, Required: true, Missing: CountryRequired},
		{Field: "region", Label: "State/Province", Check: Region},
		{Field: "postcode", Label: "Zip/Postal Code", Required: true,
			optionalIn: cells[[]string]{magento: countriesWithoutPostcodes()}},
		{Field: "telephone", Label: "Telephone", Required: true, Min: 1, Max: MaxTextLength},
		{Field: "fax", Label: "Fax", Min: 1, Max: MaxTextLength},
		{Field: "vat_id", Label: "VAT number"},
		{Field: "is_default_billing", Check: DefaultFlag},
		{Field: "is_default_shipping", Check: DefaultFlag},
	})
}

// formRules completes the rules of a resource that customers fill in a form for: missing is
// the fault for values that are missing or empty, except where a rule names another.
func formRules(missing FaultKey, rules []Rule) RuleTable {
	for i := range rules {
		r := &rules[i]
		r.Missing = cmp.Or(r.Missing, missing)
		r.Empty = r.Missing
		switch r.Check {
		case Line:
			r.Characters = MaxTextLength
			r.ListFault = ValueCrash
		case Email, BirthDate, Password:
			r.ListFault = ValueCrash
		case Option:
			r.Fault, r.ListFault, r.castsTrue = OptionUnknown, OptionType, both(true)
		case Country:
			r.ListFault = CountryType
		}
	}
	option := Rule{Check: Option, From: AttributeOptions, RejectsEmptyText: true, Fault: OptionUnknown, ListFault: OptionType,
		castsTrue: both(true), readsStored: cells[bool]{documented: true}}
	several, yesNo := option, option
	several.Multiple = true
	yesNo.From, yesNo.Options = Listed, []string{"0", "1"}
	added := map[string]Rule{
		"":         {Check: Typed, Fault: OptionInvalid, Characters: MaxTextLength, ListFault: ValueCrash, TimeFault: DateUnsaved},
		"textarea": {Check: Typed, Bytes: longText, ListFault: ValueCrash},
		"select":   option, "multiselect": several, "boolean": yesNo,
	}
	for kind, rule := range added {
		rule.Missing, rule.Empty = missing, missing
		added[kind] = rule
	}
	return RuleTable{Rules: rules, NullRemoves: true, added: added}
}
