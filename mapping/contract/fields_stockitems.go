package contract

import "slices"

// Limits of stock quantities (stock_orders 2.3).
const (
	maxQty   = "99999999.9999"
	maxWhole = "99999999"
)

// stockItemFields returns the fields of a stock item (contract 3.7;
// stock_orders 2.1 to 2.3). Single records and the original's lists show all of them; the
// document's list shows nine.
func stockItemFields() *FieldTable {
	fields := []Field{
		{Name: "item_id", Write: onlyAdmin},
		{Name: "product_id", RejectsEmpty: true},
		{Name: "stock_id"},
		{Name: "qty", Write: onlyAdmin, Rules: []Rule{betweenRule("-"+maxQty, maxQty)}},
		{Name: "min_qty", Write: onlyAdmin, Rules: []Rule{numberRule(Float, "min_qty"), betweenRule("0", maxQty)}},
		{Name: "use_config_min_qty", Write: onlyAdmin, Rules: flagRules("use_config_min_qty")},
		{Name: "is_qty_decimal", Write: onlyAdmin, Rules: flagRules("is_qty_decimal")},
		// The message names a different field, as in the original.
		{Name: "backorders", Write: onlyAdmin, Rules: []Rule{{Check: OneCharacter, Set: "012,", Message: `The "is_qty_decimal" field must be set to 0, 1, or 2.`}}},
		{Name: "use_config_backorders", Write: onlyAdmin, Rules: flagRules("use_config_backorders")},
		{Name: "min_sale_qty", Write: onlyAdmin, Rules: []Rule{numberRule(Whole, "min_sale_qty"), betweenRule("0", maxWhole)}},
		{Name: "use_config_min_sale_qty", Write: onlyAdmin, Rules: flagRules("use_config_min_sale_qty")},
		{Name: "max_sale_qty", Write: onlyAdmin, Rules: []Rule{numberRule(Whole, "max_sale_qty"), betweenRule("0", maxWhole)}},
		{Name: "use_config_max_sale_qty", Write: onlyAdmin, Rules: flagRules("use_config_max_sale_qty")},
		{Name: "is_in_stock", Write: onlyAdmin, Rules: flagRules("is_in_stock")},
		{Name: "low_stock_date"},
		{Name: "notify_stock_qty", Write: onlyAdmin, Rules: []Rule{numberRule(Float, "notify_stock_qty")}},
		{Name: "use_config_notify_stock_qty", Write: onlyAdmin, Rules: flagRules("use_config_notify_stock_qty")},
		{Name: "manage_stock", Write: onlyAdmin, Rules: flagRules("manage_stock")},
		{Name: "use_config_manage_stock", Write: onlyAdmin, Rules: flagRules("use_config_manage_stock")},
		{Name: "stock_status_changed_auto", Write: onlyAdmin, Rules: flagRules("stock_status_changed_auto")},
		{Name: "use_config_qty_increments", Write: onlyAdmin, Rules: flagRules("use_config_qty_increments")},
		{Name: "qty_increments", Write: onlyAdmin, Rules: qtyIncrementsRules()},
		{Name: "use_config_enable_qty_inc", Write: onlyAdmin, Rules: flagRules("use_config_enable_qty_inc")},
		{Name: "enable_qty_increments", Write: onlyAdmin, Rules: flagRules("enable_qty_increments")},
		{Name: "is_decimal_divided", Write: onlyAdmin, Rules: flagRules("is_decimal_divided")},
		{Name: "created_at", Attribute: "product_created_at", shown: [columns]shown{hidden, hidden}},
		{Name: "updated_at", Attribute: "product_updated_at", shown: [columns]shown{hidden, hidden}},
	}
	documentList := []string{"item_id", "qty", "backorders", "min_sale_qty", "max_sale_qty", "low_stock_date",
		"manage_stock", "stock_status_changed_auto", "enable_qty_increments"}
	for i := range fields {
		f := &fields[i]
		f.Read = onlyAdmin
		if f.Attribute != "" {
			continue
		}
		f.Attribute = f.Name
		f.shown = [columns]shown{documented: inSingle, magento: inBoth}
		if slices.Contains(documentList, f.Name) {
			f.shown[documented] = inBoth
		}
	}
	t := newFieldTable(fields)
	t.addAlwaysAbsent(onlyAdmin, "created_at", "updated_at")
	return t
}

func betweenRule(from, to string) Rule {
	return Rule{Check: Between, Min: from, Max: to, Message: "'{value}' is not between '" + from + "' and '" + to + "', inclusively"}
}

func numberRule(check Check, field string) Rule {
	return Rule{Check: check, Message: `Please enter a valid number in "` + field + `" field`}
}

func flagRules(field string) []Rule {
	return []Rule{{Check: OneCharacter, Set: "01,", Message: `The "` + field + `" field must be set to 0 or 1.`}}
}

// qtyIncrementsRules returns two rules with the same message, which the reply repeats when
// both fail.
func qtyIncrementsRules() []Rule {
	const message = `Please use numbers only in "qty_increments" field. Please avoid spaces or other characters such as dots or commas.`
	return []Rule{
		{Check: Whole, Message: message},
		{Check: Between, Min: "0", Max: maxWhole, Message: message},
	}
}
