package contract

// A ProductType is a type of product (products 5.3).
type ProductType struct {
	Code, Label string
	// Creatable: clients can create products of the type.
	Creatable bool
	// Inapplicable names the fields that do not apply to the type.
	Inapplicable []string
	// Requires names fields that the type requires in addition. They are not part of the
	// contract, so they are always missing.
	Requires []string
	// Pricing says what the prices follow from.
	Pricing Pricing
	// Composite: other products are parts of it, so that lists never call it saleable.
	Composite bool
	// NeverSaleable: neither do single records, which judge the parts without their stock.
	NeverSaleable bool
}

// A Pricing says what the prices of a product follow from, for Customers and Guests.
type Pricing uint8

const (
	// PricedItself: the product's own prices, without what its options or parts add.
	PricedItself Pricing = iota
	// PricedByParts: its parts alone, so that its own prices are 0.
	PricedByParts
	// PricedAsBundle: its parts, or its own price if that is fixed, of which the special price
	// is a percentage. Lists show no regular price.
	PricedAsBundle
)

// ProductTypes returns the product types of the original.
func ProductTypes() []ProductType {
	return []ProductType{
		{Code: "simple", Label: "Simple Product", Creatable: true, Inapplicable: []string{"cost"}},
		{Code: "grouped", Label: "Grouped Product", Pricing: PricedByParts, Composite: true, Inapplicable: []string{"price", "group_price", "special_price", "special_from_date",
			"weight", "special_to_date", "cost", "tier_price", "msrp_enabled", "msrp_display_actual_price_type", "msrp", "tax_class_id"}},
		{Code: "configurable", Label: "Configurable Product", Composite: true, NeverSaleable: true, Inapplicable: []string{"weight", "cost"}},
		{Code: "virtual", Label: "Virtual Product", Inapplicable: []string{"weight", "country_of_manufacture"}},
		{Code: "bundle", Label: "Bundle Product", Pricing: PricedAsBundle, Composite: true, Inapplicable: []string{"cost"}, Requires: []string{"price_view"}},
		{Code: "downloadable", Label: "Downloadable Product", Inapplicable: []string{"weight", "country_of_manufacture"}},
	}
}

// A ProductCheck is what a product field requires of its value.
type ProductCheck uint8

const (
	// AnyText: any value that has a text form.
	AnyText ProductCheck = iota
	// Option: one of a list of codes.
	Option
	// DateTime: a text or number that can be parsed as a point in time (products 5.4).
	DateTime
	// NonNegative: a number that is not negative.
	NonNegative
	// AnyNumber: a number; an integer if the attribute is one.
	AnyNumber
)

// An OptionList is the source of the codes of an [Option].
type OptionList uint8

const (
	// Listed: from [ProductRule.Options].
	Listed OptionList = iota
	// TaxClasses: from the store's settings.
	TaxClasses
	// Themes: from the store's settings.
	Themes
	// Countries: from the store's directory.
	Countries
)

// A ProductRule describes the values that a product field accepts (products 4).
type ProductRule struct {
	Field string
	// Required: a product cannot be created without the field, and it cannot be emptied.
	Required bool
	Check    ProductCheck
	// From and Options define the codes of an Option.
	From    OptionList
	Options []string
	// RejectsEmptyText: an empty text is not a valid option; otherwise it stores nothing.
	RejectsEmptyText bool
	// Characters and Bytes are lengths to which a longer text is cut; 0 means no limit.
	Characters, Bytes int
	// ListCrash: the original crashes on a list or object in place of the text, unless it
	// is empty; EmptyListCrash: on an empty one as well.
	ListCrash, EmptyListCrash bool
	// OptionStorage says how the original stores an Option as a text.
	OptionStorage OptionStorage
}

// An OptionStorage says how the original stores an [Option] that it keeps as a text.
type OptionStorage uint8

const (
	// CanonicalOption: the code of the option is stored.
	CanonicalOption OptionStorage = iota
	// VerbatimOption: the text is stored as it was sent, for example "01" for 1.
	VerbatimOption
	// CastOption: the same, but true is cast to 1 and every list to the text Array.
	CastOption
)

// longText is the size in bytes of the original's columns for long texts (products 4).
const longText = 65535

// ProductRules returns the rules of the stored fields of a product, in the order in which
// they are checked and reported (products 5.3, steps 8 and 9). Fields without a check come
// last.
func ProductRules() []ProductRule {
	rules := []ProductRule{
		{Field: "custom_design", Check: Option, From: Themes},
		{Field: "gift_message_available", Check: Option, Options: []string{"0", "1"}, RejectsEmptyText: true, OptionStorage: VerbatimOption},
		{Field: "name", Required: true, Characters: MaxTextLength},
		{Field: "price", Required: true, Check: NonNegative},
		{Field: "custom_design_from", Check: DateTime},
		{Field: "description", Required: true, Bytes: longText},
		{Field: "custom_design_to", Check: DateTime},
		{Field: "special_price", Check: NonNegative},
		{Field: "short_description", Required: true, Bytes: longText},
		{Field: "special_from_date", Check: DateTime},
		{Field: "sku", Required: true, ListCrash: true},
		{Field: "weight", Required: true, Check: NonNegative},
		{Field: "page_layout", Check: Option, Options: []string{"empty", "one_column", "two_columns_left", "two_columns_right", "three_columns"}},
		{Field: "special_to_date", Check: DateTime},
		{Field: "options_container", Check: Option, Options: []string{"container1", "container2"}, RejectsEmptyText: true},
		{Field: "cost", Check: AnyNumber},
		{Field: "news_from_date", Check: DateTime},
		{Field: "news_to_date", Check: DateTime},
		{Field: "status", Required: true, Check: Option, Options: []string{"1", "2"}},
		{Field: "msrp_enabled", Check: Option, Options: []string{"0", "1", "2"}, RejectsEmptyText: true, OptionStorage: VerbatimOption},
		{Field: "msrp_display_actual_price_type", Check: Option, Options: []string{"1", "2", "3", "4"}, RejectsEmptyText: true, OptionStorage: CastOption},
		{Field: "msrp", Check: NonNegative},
		{Field: "tax_class_id", Required: true, Check: Option, From: TaxClasses},
		{Field: "visibility", Required: true, Check: Option, Options: []string{"1", "2", "3", "4"}},
		{Field: "country_of_manufacture", Check: Option, From: Countries},

		{Field: "meta_title", Characters: MaxTextLength},
		{Field: "meta_description", Characters: MaxTextLength},
		{Field: "meta_keyword", Bytes: longText},
		{Field: "url_key", Characters: MaxTextLength, ListCrash: true, EmptyListCrash: true},
		{Field: "custom_layout_update", Bytes: longText, ListCrash: true, EmptyListCrash: true},
	}
	for i := range rules {
		if rules[i].Check == DateTime {
			rules[i].ListCrash = true
		}
	}
	return rules
}

// ProductSwitches names the fields that control how a product is saved and are not stored.
func ProductSwitches() []string {
	return []string{"use_config_gift_message_available", "url_key_create_redirect"}
}

// AddedProductRule returns the rule of a field that the store added. check is the check
// for the type of its attribute.
func AddedProductRule(field string, check ProductCheck) ProductRule {
	return ProductRule{Field: field, Check: check, Bytes: longText, ListCrash: check == DateTime}
}

// MaxSKU is the maximum length of a SKU in characters.
const MaxSKU = 64

// A SetCheck is what a member of a set requires of its value. A set is a nested value of a
// product, such as stock_data or an entry of tier_price.
type SetCheck uint8

const (
	// Unchecked: any value.
	Unchecked SetCheck = iota
	// SetNumber: a number.
	SetNumber
	// SetFromZero: a number that is not negative.
	SetFromZero
	// SetAboveZero: a positive number.
	SetAboveZero
	// SetOption: a number equal to one of the rule's options.
	SetOption
	// SetGroup: the id of a customer group.
	SetGroup
)

// A SetRule is the check of one member of a set. The arguments of its fault are the names
// of the member and the set.
type SetRule struct {
	Field   string
	Check   SetCheck
	Options []string
	Fault   FaultKey
}

// GroupPriceRules returns the rules for an entry of group_price, in order (products 5.3,
// steps 4 and 5). Every member is required.
func GroupPriceRules() []SetRule {
	return append(priceEntryRules(), SetRule{Field: "price", Check: SetFromZero, Fault: NumberFromZeroInSet})
}

// TierPriceRules returns the rules for an entry of tier_price, like [GroupPriceRules].
func TierPriceRules() []SetRule {
	return append(priceEntryRules(),
		SetRule{Field: "price_qty", Check: SetAboveZero, Fault: NumberAboveZeroInSet},
		SetRule{Field: "price", Check: SetAboveZero, Fault: NumberAboveZeroInSet})
}

func priceEntryRules() []SetRule {
	return []SetRule{
		{Field: "website_id", Check: SetOption, Options: []string{"0"}, Fault: InvalidInSet},
		{Field: "cust_group", Check: SetGroup, Fault: InvalidGroupInSet},
	}
}

// A StockDatum is the rule of a member of stock_data: its check, and how saving a product
// treats it (products 7).
type StockDatum struct {
	SetRule
	// Attribute is the attribute that stores the value; "" means that of the same name.
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

// StockData returns the members of stock_data in the order of their checks
// (products 7.1), followed by the flags, which are not checked.
func StockData() []StockDatum {
	zeroOrOne := func(field string) SetRule {
		return SetRule{Field: field, Check: SetOption, Options: []string{"0", "1"}, Fault: InvalidInSet}
	}
	data := []StockDatum{
		{SetRule: zeroOrOne("manage_stock"), Unmanaged: true, Config: "use_config_manage_stock", KeepsConfig: true},
		{SetRule: SetRule{Field: "qty", Check: SetNumber, Fault: NumberInSet}},
		{SetRule: SetRule{Field: "min_qty", Check: SetFromZero, Fault: NumberFromZeroInSet}, Config: "use_config_min_qty"},
		{SetRule: SetRule{Field: "notify_stock_qty", Check: SetNumber, Fault: NumberInSet}, Config: "use_config_notify_stock_qty"},
		{SetRule: zeroOrOne("is_qty_decimal")},
		{SetRule: zeroOrOne("is_decimal_divided"), If: "is_qty_decimal"},
		{SetRule: zeroOrOne("enable_qty_increments"), Config: "use_config_enable_qty_increments"},
		{SetRule: SetRule{Field: "qty_increments", Check: SetFromZero, Fault: NumbersOnlyInSet}, If: "enable_qty_increments", Config: "use_config_qty_increments"},
		{SetRule: SetRule{Field: "backorders", Check: SetOption, Options: []string{"0", "1", "2"}, Fault: InvalidInSet}, Config: "use_config_backorders"},
		{SetRule: zeroOrOne("is_in_stock")},
		{SetRule: SetRule{Field: "min_sale_qty", Check: SetFromZero, Fault: NumbersOnlyInSet}, Unmanaged: true, Config: "use_config_min_sale_qty"},
		{SetRule: SetRule{Field: "max_sale_qty", Check: SetFromZero, Fault: NumbersOnlyInSet}, Unmanaged: true, Config: "use_config_max_sale_qty"},
	}
	for _, name := range []string{"use_config_manage_stock", "use_config_min_sale_qty", "use_config_max_sale_qty"} {
		data = append(data, StockDatum{SetRule: SetRule{Field: name}, Unmanaged: true})
	}
	for _, name := range []string{"use_config_min_qty", "use_config_notify_stock_qty", "use_config_qty_increments", "use_config_backorders", "use_config_enable_qty_inc"} {
		data = append(data, StockDatum{SetRule: SetRule{Field: name}})
	}
	// An alias of the flag before it; the alias wins.
	return append(data, StockDatum{SetRule: SetRule{Field: "use_config_enable_qty_increments"}, Attribute: "use_config_enable_qty_inc"})
}
