package adapter

import "slices"

// The schemas of the records that customers, products and orders refer to. The contract
// only reads them, so all their attributes are read-only.

func websiteSchema() *Schema {
	return NewSchema(Websites, "website_id", slices.Concat([]Attribute{
		{Name: "website_id", Kind: KindInteger, ReadOnly: true, Doc: "id of the website"},
		{Name: "code", Kind: KindText, Required: true, ReadOnly: true, Doc: "code by which paths may name the website"},
		{Name: "name", Kind: KindText, Required: true, ReadOnly: true, Doc: "name of the website"},
		{Name: "default_store_id", Kind: KindInteger, Refers: Stores, ReadOnly: true, Doc: "id of its default store view"},
		{Name: "is_default", Kind: KindInteger, ReadOnly: true, Doc: "1: the store's default website, whose default store view callers without one see; without such a website the first one with a default store view is"},
		{Name: "timezone", Kind: KindText, ReadOnly: true, Doc: "IANA name of its time zone; empty: that of the settings"},
		{Name: "base_currency", Kind: KindText, ReadOnly: true, Doc: "ISO 4217 code of its base currency, in shops whose prices differ between websites; empty: that of the settings"},
		{Name: "currency_rate", Kind: KindText, ReadOnly: true, Doc: "a decimal number: how many units of its base currency are one of the shop's; empty: 1"},
	}, taxAttributes("that of the settings"))).Described("websites; at least one unless the data set holds nothing")
}

// taxAttributes returns the attributes of a website or a store view that replace settings of taxes.
// otherwise names the value in force where an attribute is empty.
func taxAttributes(otherwise string) []Attribute {
	return []Attribute{
		{Name: "tax_country", Kind: KindText, ReadOnly: true, Doc: "two-letter code of the country whose tax callers without an address pay; empty: " + otherwise + ", with its region and postcode"},
		{Name: "tax_region_id", Kind: KindInteger, ReadOnly: true, Doc: "id of the region of that country; 0 or empty: none"},
		{Name: "tax_postcode", Kind: KindText, ReadOnly: true, Doc: "postcode there; empty: none; *: rates apply whatever their postcode"},
		{Name: "tax_based_on", Kind: KindText, ReadOnly: true, Doc: "address whose tax a buyer pays: shipping, billing or origin; empty: " + otherwise},
		{Name: "prices_include_tax", Kind: KindInteger, ReadOnly: true, Doc: "1: stored prices include tax, 0: they do not; empty: " + otherwise},
		{Name: "tax_cross_border", Kind: KindInteger, ReadOnly: true, Doc: "1: prices that include tax are the same with every rate, 0: they are not; empty: " + otherwise},
		{Name: "origin_country", Kind: KindText, ReadOnly: true, Doc: "two-letter code of the country that orders are sent from, whose rate prices include; empty: " + otherwise + ", with its region and postcode"},
		{Name: "origin_region_id", Kind: KindInteger, ReadOnly: true, Doc: "id of the region of that country; 0 or empty: none"},
		{Name: "origin_postcode", Kind: KindText, ReadOnly: true, Doc: "postcode there; empty: none"},
		{Name: "tax_default_group", Kind: KindInteger, ReadOnly: true, Doc: "id of the customer group whose tax class decides the rate in prices that include tax; empty: " + otherwise},
	}
}

func storeSchema() *Schema {
	return NewSchema(Stores, "store_id", slices.Concat([]Attribute{
		{Name: "store_id", Kind: KindInteger, ReadOnly: true, Doc: "id of the store view, from 1; 0 names the default scope and is not a record"},
		{Name: "website_id", Kind: KindInteger, Refers: Websites, Required: true, ReadOnly: true, Doc: "id of its website"},
		{Name: "code", Kind: KindText, Required: true, ReadOnly: true, Doc: "code by which paths may name the store view"},
		{Name: "name", Kind: KindText, Required: true, ReadOnly: true, Doc: "name of the store view"},
	}, taxAttributes("that of the website"))).Described("store views; at least one unless the data set holds nothing")
}

func customerGroupSchema() *Schema {
	return NewSchema(CustomerGroups, "group_id", []Attribute{
		{Name: "group_id", Kind: KindInteger, ReadOnly: true, Doc: "id of the group; 0 is the group of guests, the one key that is not positive"},
		{Name: "name", Kind: KindText, Required: true, ReadOnly: true, Doc: "name of the group"},
		{Name: "tax_class_id", Kind: KindInteger, Required: true, ReadOnly: true, Doc: "customer tax class of its members"},
	}).Described("groups of customers")
}

// categorySchema returns the schema of categories. Their names may differ by store view.
func categorySchema() *Schema {
	return NewSchema(Categories, "category_id", []Attribute{
		{Name: "category_id", Kind: KindInteger, ReadOnly: true, Static: true, Doc: "id of the category"},
		{Name: "parent_id", Kind: KindInteger, Refers: Categories, Required: true, ReadOnly: true, Static: true, Doc: "id of the category above; 1 is the root of the tree, which is not a record"},
		{Name: "name", Kind: KindText, Scope: ScopeStore, Required: true, ReadOnly: true, Doc: "name of the category"},
		{Name: "is_active", Kind: KindInteger, Required: true, ReadOnly: true, Static: true, Doc: "1: shown to customers and guests"},
	}).Described("categories, whose tree begins below the id 1").Below("parent_id")
}

// taxRateSchema returns the schema of tax rates: one record for each combination of a rate,
// a rule, a customer tax class and a product tax class to which the rate applies.
func taxRateSchema() *Schema {
	return NewSchema(TaxRates, "tax_rate_id", []Attribute{
		{Name: "tax_rate_id", Kind: KindInteger, ReadOnly: true, Doc: "id of the rate"},
		{Name: "country_id", Kind: KindText, Required: true, ReadOnly: true, Doc: "two-letter code of the country it applies in"},
		{Name: "region", Kind: KindText, Required: true, ReadOnly: true, Doc: "code of the region it applies in; * for every region of the country"},
		{Name: "region_id", Kind: KindInteger, ReadOnly: true, Doc: "id of that region; empty: the one with the code"},
		{Name: "postcode", Kind: KindText, ReadOnly: true, Doc: "postcode it applies to, or how postcodes begin, with * behind it; empty or *: every postcode"},
		{Name: "zip_from", Kind: KindInteger, ReadOnly: true, Doc: "first postcode of a range, which counts in place of postcode; empty: no range"},
		{Name: "zip_to", Kind: KindInteger, ReadOnly: true, Doc: "last postcode of the range"},
		{Name: "customer_tax_class_id", Kind: KindInteger, ReadOnly: true, Doc: "customer tax class it applies to; empty: all"},
		{Name: "tax_class_id", Kind: KindInteger, Required: true, ReadOnly: true, Doc: "product tax class it applies to"},
		{Name: "rule_id", Kind: KindInteger, ReadOnly: true, Doc: "id of its rule; of the rates of one rule only the first applies: that of a region, then that of the postcode that is last in the alphabet, then the highest"},
		{Name: "priority", Kind: KindInteger, ReadOnly: true, Doc: "priority of its rule: rates of equal priority are added up, those of a higher number are calculated on top of the lower; empty: 0"},
		{Name: "calculate_subtotal", Kind: KindInteger, ReadOnly: true, Doc: "1: the rates of the priority are calculated on the price alone, if the rule is the last of its priority; 0 or empty: on top of lower priorities"},
		{Name: "rate", Kind: KindDecimal, Required: true, ReadOnly: true, Doc: "the rate, in percent"},
		{Name: "name", Kind: KindText, Required: true, ReadOnly: true, Doc: "title of the rate"},
	}).Described("tax rates, one record for each customer tax class and product tax class that a rate applies to")
}

func countrySchema() *Schema {
	return NewSchema(Countries, "country_number", []Attribute{
		{Name: "country_number", Kind: KindInteger, ReadOnly: true, Doc: "position in the directory, from 1; serves as the key, as countries have no numeric id"},
		{Name: "country_id", Kind: KindText, Required: true, ReadOnly: true, Doc: "two-letter code, upper case"},
		{Name: "iso3_code", Kind: KindText, Required: true, ReadOnly: true, Doc: "three-letter code, upper case"},
	}).Described("countries; without this list those of Portico's directory")
}

func regionSchema() *Schema {
	return NewSchema(Regions, "region_id", []Attribute{
		{Name: "region_id", Kind: KindInteger, ReadOnly: true, Doc: "id of the region"},
		{Name: "country_id", Kind: KindText, Required: true, ReadOnly: true, Doc: "two-letter code of its country"},
		{Name: "code", Kind: KindText, Required: true, ReadOnly: true, Doc: "code of the region, unique within its country"},
		{Name: "name", Kind: KindText, Required: true, ReadOnly: true, Doc: "name of the region, as addresses show it"},
	}).Described("regions of countries; without this list those of Portico's directory")
}

// attributeOptionSchema returns the schema of the options of added attributes.
func attributeOptionSchema() *Schema {
	return NewSchema(AttributeOptions, "option_id", []Attribute{
		{Name: "option_id", Kind: KindInteger, ReadOnly: true, Doc: "id of the option, which the values of its attribute hold"},
		{Name: "resource", Kind: KindText, Required: true, ReadOnly: true, Doc: "resource of the attribute: products, customers or customer_addresses"},
		{Name: "attribute", Kind: KindText, Required: true, ReadOnly: true, Doc: "name of the attribute, a select or a multiselect"},
		{Name: "label", Kind: KindText, Required: true, ReadOnly: true, Doc: "label in the default scope"},
		{Name: "labels", Kind: KindTexts, ReadOnly: true, Doc: "labels at the store views that have one of their own, each as the id of the store view, a colon and the label"},
		{Name: "position", Kind: KindInteger, ReadOnly: true, Doc: "place among the options of the attribute, ascending; empty: 0"},
	}).Described("options of attributes that the store's configuration adds, of kind select or multiselect")
}

func adminSchema() *Schema {
	return NewSchema(Admins, "admin_id", []Attribute{
		{Name: "admin_id", Kind: KindInteger, ReadOnly: true, Doc: "id of the administrator"},
		{Name: "username", Kind: KindText, Required: true, ReadOnly: true, Doc: "name to log in with"},
		{Name: "password_hash", Kind: KindText, ReadOnly: true, Doc: "hash of the password, in a form that VerifyPassword supports; null: no login"},
		{Name: "disabled", Kind: KindInteger, ReadOnly: true, Doc: "1: may not log in, and their tokens and keys do not work; null otherwise"},
	}).Described("administrators").UniqueBy("username")
}
