package contract

import (
	"slices"
	"strconv"
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
	return RuleTable{Rules: rules}
}

const incrementsMessage = `Please use numbers only in "qty_increments" field. Please avoid spaces or other characters such as dots or commas.`

func betweenRule(field string, from, to float64) Rule {
	text := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	return Rule{Field: field, Check: Between, Min: from, Max: to, Message: "'{value}' is not between '" + text(from) + "' and '" + text(to) + "', inclusively"}
}

func numberRule(field string, check Check) Rule {
	return Rule{Field: field, Check: check, Message: `Please enter a valid number in "` + field + `" field`}
}
