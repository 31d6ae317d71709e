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
	// Pricing is the source of the prices.
	Pricing Pricing
	// Composite: other products are parts of it, so that lists never call it saleable.
	Composite bool
	// NeverSaleable: neither do single records, which judge the parts without their stock.
	NeverSaleable bool
}

// A Pricing is the source of the prices of a product, for Customers and Guests.
type Pricing uint8

const (
	// PricedItself: the product's own prices, without additions by its options or parts.
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

// longText is the size in bytes of the original's columns for long texts (products 4).
const longText = 65535

// productRules returns the rules of a product, in the order in which they are checked and
// reported (products 5.3, steps 8 and 9): fields without a check come last, then the fields
// that the store added, then the switches.
func productRules() RuleTable {
	rules := []Rule{
		{Field: "custom_design", Check: Option, From: Themes},
		{Field: "gift_message_available", Check: Option, Options: []string{"0", "1"}, RejectsEmptyText: true, OptionStorage: VerbatimOption},
		{Field: "name", Required: true, Characters: MaxTextLength},
		{Field: "price", Required: true, Check: NonNegative},
		{Field: "group_price", Check: PriceList, Members: groupPriceRules(), Twice: GroupPriceTwice},
		{Field: "custom_design_from", Check: Typed},
		{Field: "description", Required: true, Bytes: longText},
		{Field: "custom_design_to", Check: Typed},
		{Field: "special_price", Check: NonNegative},
		{Field: "short_description", Required: true, Bytes: longText},
		{Field: "special_from_date", Check: Typed},
		{Field: "sku", Required: true, ListCrash: true},
		{Field: "weight", Required: true, Check: NonNegative},
		{Field: "page_layout", Check: Option, Options: []string{"empty", "one_column", "two_columns_left", "two_columns_right", "three_columns"}},
		{Field: "special_to_date", Check: Typed},
		{Field: "options_container", Check: Option, Options: []string{"container1", "container2"}, RejectsEmptyText: true, Default: "container1"},
		{Field: "cost", Check: Typed},
		{Field: "tier_price", Check: PriceList, Members: tierPriceRules(), Twice: TierPriceTwice},
		{Field: "news_from_date", Check: Typed},
		{Field: "news_to_date", Check: Typed},
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
		{Field: "url_key", Characters: MaxTextLength, ListCrash: true, emptyListCrash: both(true)},
		{Field: "custom_layout_update", Bytes: longText, ListCrash: true, emptyListCrash: both(true).inOpenMage(false)},

		{Field: "use_config_gift_message_available", Check: Switch},
		{Field: "url_key_create_redirect", Check: Switch},
		{Field: "stock_data", Check: Set, Members: stockDataRules()},
	}
	for i := range rules {
		r := &rules[i]
		r.Missing, r.Empty, r.Fault = MissingValue, EmptyRequired, OptionInvalid
		switch r.Check {
		case NonNegative:
			r.Fault = NumberFromZero
		case Option:
			r.acceptsZero.magento = r.Required
			r.castsTrue.magento = r.OptionStorage == CastOption
		}
	}
	return RuleTable{Rules: rules, RequiredLast: true, added: map[string]Rule{
		"":            {Check: Typed, Fault: OptionInvalid},
		"text":        {Check: Typed, Characters: MaxTextLength},
		"textarea":    {Check: Typed, Bytes: longText},
		"select":      {Check: Option, From: AttributeOptions, Fault: OptionInvalid},
		"multiselect": {Check: Option, From: AttributeOptions, Fault: OptionInvalid, Multiple: true, readsStored: cells[bool]{documented: true}},
		"boolean": {Check: Option, Options: []string{"0", "1"}, Fault: OptionInvalid, RejectsEmptyText: true,
			castsTrue: cells[bool]{documented: true}, readsStored: cells[bool]{documented: true}},
		"price": {Check: Typed, Fault: OptionInvalid, castsNumbers: cells[bool]{magento: true}},
		"image": {Check: Typed, Characters: MaxTextLength, Default: noSelection},
	}}
}

// noSelection is the value of an image attribute without an image (own_attributes 13).
const noSelection = "no_selection"

// MaxSKU is the maximum length of a SKU in characters.
const MaxSKU = 64

// groupPriceRules returns the rules for an entry of group_price, in order (products 5.3,
// steps 4 and 5). Every member is required.
func groupPriceRules() []Rule {
	return append(priceEntryRules(), Rule{Field: "price", Check: NonNegative, Fault: NumberFromZeroInSet, Required: true, Missing: RequiredInSet})
}

// tierPriceRules returns the rules for an entry of tier_price, like groupPriceRules.
func tierPriceRules() []Rule {
	return append(priceEntryRules(),
		Rule{Field: "price_qty", Check: Positive, Fault: NumberAboveZeroInSet, Required: true, Missing: RequiredInSet},
		Rule{Field: "price", Check: Positive, Fault: NumberAboveZeroInSet, Required: true, Missing: RequiredInSet})
}

func priceEntryRules() []Rule {
	return []Rule{
		{Field: "website_id", Check: NumberOption, From: Websites, Fault: InvalidInSet, Required: true, Missing: RequiredInSet},
		{Field: "cust_group", Check: NumberOption, From: CustomerGroups, Fault: InvalidGroupInSet, Required: true, Missing: RequiredInSet},
	}
}

// stockDataRules returns the members of stock_data in the order of their checks
// (products 7.1), followed by the flags, which are not checked.
func stockDataRules() []Rule {
	zeroOrOne := func(field string, saving Saving) Rule {
		return Rule{Field: field, Check: NumberOption, Options: []string{"0", "1"}, Fault: InvalidInSet, Saving: saving}
	}
	rules := []Rule{
		zeroOrOne("manage_stock", Saving{Unmanaged: true, Config: "use_config_manage_stock", KeepsConfig: true}),
		{Field: "qty", Check: AnyNumber, Fault: NumberInSet},
		{Field: "min_qty", Check: NonNegative, Fault: NumberFromZeroInSet, Saving: Saving{Config: "use_config_min_qty"}},
		{Field: "notify_stock_qty", Check: AnyNumber, Fault: NumberInSet, Saving: Saving{Config: "use_config_notify_stock_qty"}},
		zeroOrOne("is_qty_decimal", Saving{}),
		zeroOrOne("is_decimal_divided", Saving{If: "is_qty_decimal"}),
		zeroOrOne("enable_qty_increments", Saving{Config: "use_config_enable_qty_increments"}),
		{Field: "qty_increments", Check: NonNegative, Fault: NumbersOnlyInSet, Saving: Saving{If: "enable_qty_increments", Config: "use_config_qty_increments"}},
		{Field: "backorders", Check: NumberOption, Options: []string{"0", "1", "2"}, Fault: InvalidInSet, Saving: Saving{Config: "use_config_backorders"}},
		zeroOrOne("is_in_stock", Saving{}),
		{Field: "min_sale_qty", Check: NonNegative, Fault: NumbersOnlyInSet, Saving: Saving{Unmanaged: true, Config: "use_config_min_sale_qty"}},
		{Field: "max_sale_qty", Check: NonNegative, Fault: NumbersOnlyInSet, Saving: Saving{Unmanaged: true, Config: "use_config_max_sale_qty"}},
	}
	for _, name := range []string{"use_config_manage_stock", "use_config_min_sale_qty", "use_config_max_sale_qty"} {
		rules = append(rules, Rule{Field: name, Check: Flag, Fault: ValueOfOtherKind, Saving: Saving{Unmanaged: true}})
	}
	for _, name := range []string{"use_config_min_qty", "use_config_notify_stock_qty", "use_config_qty_increments", "use_config_backorders", "use_config_enable_qty_inc"} {
		rules = append(rules, Rule{Field: name, Check: Flag, Fault: ValueOfOtherKind})
	}
	// An alias of the flag before it; the alias wins.
	return append(rules, Rule{Field: "use_config_enable_qty_increments", Check: Flag, Fault: ValueOfOtherKind, Saving: Saving{Attribute: "use_config_enable_qty_inc"}})
}
