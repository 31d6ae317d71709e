package contract

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Limits of stock quantities (stock_orders 2.3).
const (
	maxQty   = 99999999.9999
	maxWhole = 99999999
)

// stockItemFields returns the fields of a stock item (contract 3.7;
// stock_orders 2.1 to 2.3). Single records and the original's lists show all of them; the
// document's list shows nine.
func stockItemFields() *FieldTable {
	fields := []Field{
		{Name: "item_id", Write: onlyAdmin},
		{Name: "product_id", RejectsEmpty: true},
		{Name: "stock_id"},
		{Name: "qty", Write: onlyAdmin},
		{Name: "min_qty", Write: onlyAdmin},
		{Name: "use_config_min_qty", Write: onlyAdmin},
		{Name: "is_qty_decimal", Write: onlyAdmin},
		{Name: "backorders", Write: onlyAdmin},
		{Name: "use_config_backorders", Write: onlyAdmin},
		{Name: "min_sale_qty", Write: onlyAdmin},
		{Name: "use_config_min_sale_qty", Write: onlyAdmin},
		{Name: "max_sale_qty", Write: onlyAdmin},
		{Name: "use_config_max_sale_qty", Write: onlyAdmin},
		{Name: "is_in_stock", Write: onlyAdmin},
		{Name: "low_stock_date"},
		{Name: "notify_stock_qty", Write: onlyAdmin},
		{Name: "use_config_notify_stock_qty", Write: onlyAdmin},
		{Name: "manage_stock", Write: onlyAdmin},
		{Name: "use_config_manage_stock", Write: onlyAdmin},
		{Name: "stock_status_changed_auto", Write: onlyAdmin},
		{Name: "use_config_qty_increments", Write: onlyAdmin},
		{Name: "qty_increments", Write: onlyAdmin},
		{Name: "use_config_enable_qty_inc", Write: onlyAdmin},
		{Name: "enable_qty_increments", Write: onlyAdmin},
		{Name: "is_decimal_divided", Write: onlyAdmin},
		{Name: "created_at", Attribute: "product_created_at", shown: both(hidden)},
		{Name: "updated_at", Attribute: "product_updated_at", shown: both(hidden)},
	}
	documentList := []string{"item_id", "qty", "backorders", "min_sale_qty", "max_sale_qty", "low_stock_date",
		"manage_stock", "stock_status_changed_auto", "enable_qty_increments"}
	others := []string{"qty", "min_qty", "min_sale_qty", "max_sale_qty", "low_stock_date", "notify_stock_qty", "qty_increments"}
	for i := range fields {
		f := &fields[i]
		f.Read = onlyAdmin
		if f.Attribute != "" {
			continue
		}
		f.Attribute, f.Integer = f.Name, !slices.Contains(others, f.Name)
		f.shown = cells[shown]{documented: inSingle, magento: inBoth}
		if slices.Contains(documentList, f.Name) {
			f.shown.documented = inBoth
		}
	}
	t := newFieldTable(fields)
	t.Rules = stockItemRules(fields)
	t.addAlwaysAbsent(onlyAdmin, "created_at", "updated_at")
	return t
}

// stockItemRules returns the rules of a stock item (stock_orders 2.3). All failures are
// reported.
func stockItemRules(fields []Field) RuleTable {
	rules := []Rule{
		betweenRule("qty", -maxQty, maxQty),
		numberRule("min_qty", Float), betweenRule("min_qty", 0, maxQty),
		// The message names a different field, as in the original.
		{Field: "backorders", Check: OneCharacter, Options: []string{"0", "1", "2", ","}, Message: `The "is_qty_decimal" field must be set to 0, 1, or 2.`},
		numberRule("min_sale_qty", Whole), betweenRule("min_sale_qty", 0, maxWhole),
		numberRule("max_sale_qty", Whole), betweenRule("max_sale_qty", 0, maxWhole),
		numberRule("notify_stock_qty", Float),
		// Two rules with the same message, which the reply repeats when both fail.
		{Field: "qty_increments", Check: Whole, Message: incrementsMessage},
		{Field: "qty_increments", Check: Between, Max: maxWhole, Message: incrementsMessage},
	}
	for _, f := range fields { // all others are flags
		hasRule := slices.ContainsFunc(rules, func(r Rule) bool { return r.Field == f.Name })
		if f.Write != noRole && f.Name != "item_id" && !hasRule {
			rules = append(rules, Rule{Field: f.Name, Check: OneCharacter, Options: []string{"0", "1", ","}, Message: `The "` + f.Name + `" field must be set to 0 or 1.`})
		}
	}
	for i := range rules {
		rules[i].Fault = BrokenRule
	}
	demanded := Rule{Field: "qty", Check: Filled, Required: true, Fault: RequiredValue}
	return RuleTable{Rules: append(rules, demanded), openmage: openMageStockRules(rules)}
}

// openMageStockRules returns the rules of OpenMage for the fields that have rules (openmage 1). Null
// stores the value of a new item.
func openMageStockRules(of []Rule) []Rule {
	wholeRange := Rule{Check: InRange, Max: maxWhole, Message: `This value should be between "0" and "99999999".`}
	numeric := Rule{Check: Numeric, Message: "This value should be a valid number."}
	whole := func(message, null string) []Rule {
		return []Rule{{Check: JSONInteger, Message: message, Null: null}, numeric, wholeRange}
	}
	const number = `Please enter a valid number in "%s" field`
	byField := map[string][]Rule{
		"qty": {numeric, {Check: InRange, Min: -maxQty, Max: maxQty, Message: `This value should be between "-99999999.9999" and "99999999.9999".`}},
		"min_qty": {{Check: JSONFloat, Message: fmt.Sprintf(number, "min_qty"), Null: "0"}, numeric,
			{Check: InRange, Max: maxQty, Message: `This value should be between "0" and "99999999.9999".`}},
		"min_sale_qty":     whole(fmt.Sprintf(number, "min_sale_qty"), "1"),
		"max_sale_qty":     whole(fmt.Sprintf(number, "max_sale_qty"), "0"),
		"qty_increments":   whole(incrementsMessage, "0"),
		"notify_stock_qty": {{Check: JSONFloat, Message: fmt.Sprintf(number, "notify_stock_qty")}},
	}
	rules := []Rule{{Field: "qty", Check: NotBlank, Required: true, Fault: RequiredValue}}
	for _, old := range of {
		if slices.ContainsFunc(rules, func(r Rule) bool { return r.Field == old.Field && !r.Required }) {
			continue
		}
		news := byField[old.Field]
		if news == nil { // a flag, or backorders
			null := "0"
			if strings.HasPrefix(old.Field, "use_config_") {
				null = "1"
			}
			news = []Rule{{Check: CharacterOrEmpty, Options: old.Options, Message: "This value is not valid.", Null: null},
				{Check: NotList, Message: "This value should be of type string."}}
		}
		for _, r := range news {
			r.Field, r.Fault = old.Field, BrokenRule
			rules = append(rules, r)
		}
	}
	return rules
}

const incrementsMessage = `Please use numbers only in "qty_increments" field. Please avoid spaces or other characters such as dots or commas.`

func betweenRule(field string, from, to float64) Rule {
	text := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	return Rule{Field: field, Check: Between, Min: from, Max: to, Message: "'{value}' is not between '" + text(from) + "' and '" + text(to) + "', inclusively"}
}

func numberRule(field string, check Check) Rule {
	return Rule{Field: field, Check: check, Message: `Please enter a valid number in "` + field + `" field`}
}
