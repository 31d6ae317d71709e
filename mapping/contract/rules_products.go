package contract

// A ProductType is a type of product (products 5.3).
type ProductType struct {
	Code, Label string
	// Creatable types can be created through the interface.
	Creatable bool
	// Lacking names the fields that do not apply to the type.
	Lacking []string
	// Demanded names what the type requires besides the required fields. The
	// interface does not know these, so that they are always missing.
	Demanded []string
}

// ProductTypes returns the types the original knows.
func ProductTypes() []ProductType {
	return []ProductType{
		{Code: "simple", Label: "Simple Product", Creatable: true, Lacking: []string{"cost"}},
		{Code: "grouped", Label: "Grouped Product", Lacking: []string{"price", "group_price", "special_price", "special_from_date",
			"weight", "special_to_date", "cost", "tier_price", "msrp_enabled", "msrp_display_actual_price_type", "msrp", "tax_class_id"}},
		{Code: "configurable", Label: "Configurable Product", Lacking: []string{"weight", "cost"}},
		{Code: "virtual", Label: "Virtual Product", Lacking: []string{"weight", "country_of_manufacture"}},
		{Code: "bundle", Label: "Bundle Product", Lacking: []string{"cost"}, Demanded: []string{"price_view"}},
		{Code: "downloadable", Label: "Downloadable Product", Lacking: []string{"weight", "country_of_manufacture"}},
	}
}

// A ProductCheck is what a value sent for a field of a product has to be.
type ProductCheck uint8

const (
	// AnyText: every value has a text form.
	AnyText ProductCheck = iota
	// Option: one of a list of codes.
	Option
	// Moment: a text or number that can be read as a moment (products 5.4).
	Moment
	// Amount: a number that is not below 0.
	Amount
	// AnyNumber: a number, without a fraction where the attribute is an integer.
	AnyNumber
)

// An OptionList says where the codes of an [Option] come from.
type OptionList uint8

const (
	// Listed: from [ProductRule.Options].
	Listed OptionList = iota
	// TaxClasses and Themes: from the settings of the store.
	TaxClasses
	Themes
	// Countries: from the store's directory.
	Countries
)

// A ProductRule says what a field of a product takes (products 4).
type ProductRule struct {
	Field string
	// Required: a product cannot be created without it, nor it be emptied.
	Required bool
	Check    ProductCheck
	// From and Options are the codes of an Option.
	From    OptionList
	Options []string
	// EmptyRefused: an empty text is no choice; otherwise it stores nothing.
	EmptyRefused bool
	// Characters and Bytes cut a longer text; 0 does not.
	Characters, Bytes int
	// ListCrash: the original dies of a list or record in place of the text, unless it
	// is empty; EmptyListCrash: of an empty one, too.
	ListCrash, EmptyListCrash bool
	// TextChoice is what the original does with the text of an Option.
	TextChoice TextChoice
}

// A TextChoice says what the original does with an [Option] that it stores as a text.
type TextChoice uint8

const (
	// PlainChoice: the code of the choice is stored.
	PlainChoice TextChoice = iota
	// SpeltChoice: the text that was sent is stored, as "01" for 1.
	SpeltChoice
	// LooseChoice: the same, true is 1, and every list one value called Array.
	LooseChoice
)

// longText is where the original's columns of long texts end, in bytes (products 4).
const longText = 65535

// ProductRules returns the rules of the stored fields of a product, in the order
// in which they are checked and reported (products 5.3, steps 8 and 9). Those
// that no check reports follow.
func ProductRules() []ProductRule {
	rules := []ProductRule{
		{Field: "custom_design", Check: Option, From: Themes},
		{Field: "gift_message_available", Check: Option, Options: []string{"0", "1"}, EmptyRefused: true, TextChoice: SpeltChoice},
		{Field: "name", Required: true, Characters: LongestText},
		{Field: "price", Required: true, Check: Amount},
		{Field: "custom_design_from", Check: Moment},
		{Field: "description", Required: true, Bytes: longText},
		{Field: "custom_design_to", Check: Moment},
		{Field: "special_price", Check: Amount},
		{Field: "short_description", Required: true, Bytes: longText},
		{Field: "special_from_date", Check: Moment},
		{Field: "sku", Required: true, ListCrash: true},
		{Field: "weight", Required: true, Check: Amount},
		{Field: "page_layout", Check: Option, Options: []string{"empty", "one_column", "two_columns_left", "two_columns_right", "three_columns"}},
		{Field: "special_to_date", Check: Moment},
		{Field: "options_container", Check: Option, Options: []string{"container1", "container2"}, EmptyRefused: true},
		{Field: "cost", Check: AnyNumber},
		{Field: "news_from_date", Check: Moment},
		{Field: "news_to_date", Check: Moment},
		{Field: "status", Required: true, Check: Option, Options: []string{"1", "2"}},
		{Field: "msrp_enabled", Check: Option, Options: []string{"0", "1", "2"}, EmptyRefused: true, TextChoice: SpeltChoice},
		{Field: "msrp_display_actual_price_type", Check: Option, Options: []string{"1", "2", "3", "4"}, EmptyRefused: true, TextChoice: LooseChoice},
		{Field: "msrp", Check: Amount},
		{Field: "tax_class_id", Required: true, Check: Option, From: TaxClasses},
		{Field: "visibility", Required: true, Check: Option, Options: []string{"1", "2", "3", "4"}},
		{Field: "country_of_manufacture", Check: Option, From: Countries},

		{Field: "meta_title", Characters: LongestText},
		{Field: "meta_description", Characters: LongestText},
		{Field: "meta_keyword", Bytes: longText},
		{Field: "url_key", Characters: LongestText, ListCrash: true, EmptyListCrash: true},
		{Field: "custom_layout_update", Bytes: longText, ListCrash: true, EmptyListCrash: true},
	}
	for i := range rules {
		if rules[i].Check == Moment {
			rules[i].ListCrash = true
		}
	}
	return rules
}

// ProductSwitches names the fields that say how a product is saved, and are not stored.
func ProductSwitches() []string {
	return []string{"use_config_gift_message_available", "url_key_create_redirect"}
}

// AddedProductRule returns what a field of the store's own takes, by the check
// that fits the kind of its values.
func AddedProductRule(field string, check ProductCheck) ProductRule {
	return ProductRule{Field: field, Check: check, Bytes: longText, ListCrash: check == Moment}
}

// MaxSKU is the greatest number of characters of a SKU.
const MaxSKU = 64

// A SetCheck is what a value inside a set, as stock_data or an entry of
// tier_price, has to be.
type SetCheck uint8

const (
	// Unchecked: anything.
	Unchecked SetCheck = iota
	// SetNumber, SetFromZero and SetAboveZero: a number.
	SetNumber
	SetFromZero
	SetAboveZero
	// SetOption: by value one of the rule's options.
	SetOption
	// SetGroup: the id of a customer group.
	SetGroup
)

// A SetRule says what one value of a set is checked for. The fault takes the
// field and the set.
type SetRule struct {
	Field   string
	Check   SetCheck
	Options []string
	Fault   FaultKey
}

// GroupPriceRules and TierPriceRules return the rules of an entry, in order
// (products 5.3, steps 4 and 5). Every value is required.
func GroupPriceRules() []SetRule {
	return append(priceHead(), SetRule{Field: "price", Check: SetFromZero, Fault: NumberFromZeroInSet})
}

// TierPriceRules is described at [GroupPriceRules].
func TierPriceRules() []SetRule {
	return append(priceHead(),
		SetRule{Field: "price_qty", Check: SetAboveZero, Fault: NumberAboveZeroInSet},
		SetRule{Field: "price", Check: SetAboveZero, Fault: NumberAboveZeroInSet})
}

func priceHead() []SetRule {
	return []SetRule{
		{Field: "website_id", Check: SetOption, Options: []string{"0"}, Fault: InvalidInSet},
		{Field: "cust_group", Check: SetGroup, Fault: InvalidGroupInSet},
	}
}

// A StockDatum is a member of stock_data, and how a product's save treats it
// (products 7).
type StockDatum struct {
	SetRule
	// Attribute is where the value is stored; "" for that of the field's name.
	Attribute string
	// Unmanaged: checked and stored also where the save does not manage the stock.
	Unmanaged bool
	// If names another member: without it the value is not checked.
	If string
	// Config names the flag by which the store's setting takes the value's place:
	// set along with the value, the value counts for nothing; not sent, the value
	// lowers it.
	Config string
	// KeepsConfig: the value does not lower the flag.
	KeepsConfig bool
}

// StockData returns the members of stock_data in the order of their checks
// (products 7.1), and then the flags, which have none.
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
	// The other name of the flag before it, which wins.
	return append(data, StockDatum{SetRule: SetRule{Field: "use_config_enable_qty_increments"}, Attribute: "use_config_enable_qty_inc"})
}
