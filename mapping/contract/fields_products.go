package contract

import "slices"

// adminProductFields returns the fields of a product as an Admin sees it (contract 3.3;
// products 3.1 and 4). Group prices, tier prices and the stock item come from other
// records.
func adminProductFields() *FieldTable {
	// The original adds fields from other records to single records only, so its lists
	// never have them. publicProductFields does the same.
	added := cells[shown]{magento: inList}
	fields := []Field{
		{Name: "entity_id"},
		{Name: "attribute_set_id", Write: onlyAdmin},
		{Name: "type_id", Write: onlyAdmin},
		{Name: "sku", Write: onlyAdmin},
		{Name: "created_at", isoTime: cells[shown]{magento: inSingle}},
		{Name: "updated_at"},
		{Name: "name", Write: onlyAdmin},
		{Name: "url_key", Write: onlyAdmin},
		{Name: "meta_title", Write: onlyAdmin},
		{Name: "meta_description", Write: onlyAdmin},
		{Name: "custom_design", Write: onlyAdmin, Sort: SortIgnored},
		{Name: "page_layout", Write: onlyAdmin, Sort: SortIgnored},
		{Name: "options_container", Write: onlyAdmin, Sort: SortIgnored},
		{Name: "country_of_manufacture", Write: onlyAdmin, Sort: SortIgnored},
		{Name: "msrp_enabled", Write: onlyAdmin, Sort: SortIgnored},
		{Name: "msrp_display_actual_price_type", Write: onlyAdmin, Sort: SortIgnored},
		{Name: "gift_message_available", Write: onlyAdmin, Sort: SortIgnored},
		{Name: "status", Write: onlyAdmin},
		{Name: "visibility", Write: onlyAdmin},
		{Name: "tax_class_id", Write: onlyAdmin, Sort: SortIgnored},
		{Name: "manufacturer"},
		{Name: "color"},
		{Name: "price", Write: onlyAdmin, Sort: SortRequiresDir},
		{Name: "weight", Write: onlyAdmin},
		{Name: "special_price", Write: onlyAdmin, Sort: SortIgnored},
		{Name: "msrp", Write: onlyAdmin},
		{Name: "cost", Write: onlyAdmin},
		{Name: "description", Write: onlyAdmin},
		{Name: "short_description", Write: onlyAdmin},
		{Name: "meta_keyword", Write: onlyAdmin},
		{Name: "custom_layout_update", Write: onlyAdmin},
		{Name: "news_from_date", Write: onlyAdmin},
		{Name: "news_to_date", Write: onlyAdmin},
		{Name: "special_from_date", Write: onlyAdmin},
		{Name: "special_to_date", Write: onlyAdmin},
		{Name: "custom_design_from", Write: onlyAdmin},
		{Name: "custom_design_to", Write: onlyAdmin},
	}
	for i := range fields {
		fields[i].Attribute = fields[i].Name
	}
	fields = append(fields,
		Field{Name: "group_price", Write: onlyAdmin, Sort: SortIgnoredAsNull, Filter: FilterMatchesNone, absent: added, stored: both(onlyAdmin)},
		Field{Name: "tier_price", Write: onlyAdmin, Sort: SortIgnored, Filter: FilterMatchesNone, absent: added, stored: both(onlyAdmin)},
		Field{Name: "stock_data", Write: onlyAdmin, Sort: SortIgnored, Filter: Unfilterable, absent: added},
	)
	for i := range fields {
		fields[i].Read = onlyAdmin
	}
	// Write-only switches, which no reply contains.
	fields = append(fields,
		Field{Name: "use_config_gift_message_available", Write: onlyAdmin},
		Field{Name: "url_key_create_redirect", Write: onlyAdmin},
	)
	t := newFieldTable(fields)
	t.mark(integer, append(productIntegers(), "entity_id", "attribute_set_id")...)
	t.Rules = productRules()
	t.arrange(documented, inList, "entity_id", "type_id", "sku", "status", "visibility", "tax_class_id", "weight", "price",
		"special_price", "name", "url_key", "country_of_manufacture", "msrp_display_actual_price_type", "gift_message_available",
		"news_from_date", "news_to_date", "special_from_date", "special_to_date", "description")
	t.arrange(documented, inSingle, "entity_id", "attribute_set_id", "type_id", "sku", "name", "url_key", "country_of_manufacture",
		"msrp_display_actual_price_type", "gift_message_available", "price", "weight", "status", "visibility", "tax_class_id",
		"description", "group_price", "tier_price", "stock_data")
	t.arrange(documented, inCategory, categoryList()...)
	t.arrange(magento, inList, slices.Concat(productColumns(), productTexts(), productLongTexts(), productDecimals(), productDates(), productIntegers())...)
	t.arrange(magento, inSingle, slices.Concat(productColumns(), productTexts(), productIntegers(), productDecimals(), productLongTexts(), productDates(),
		[]string{"group_price", "tier_price", "stock_data"})...)
	t.tail = []string{"group_price"}
	t.addAlwaysAbsent(onlyAdmin, "use_config_gift_message_available", "use_config_gift_wrapping_available")
	return t
}

// absentProductFields names the product fields that roles may ask for on paths where the
// original shows something else in place of a product: images and categories (wire 10).
func absentProductFields(role RoleSet) []string {
	if role != onlyAdmin {
		return []string{"name", "description", "short_description", "sku", "meta_title", "meta_keyword", "meta_description", "tier_price"}
	}
	return []string{"name", "description", "short_description", "sku", "price", "special_price", "special_from_date", "special_to_date", "cost",
		"weight", "manufacturer", "meta_title", "meta_keyword", "meta_description", "image", "small_image", "thumbnail", "media_gallery",
		"group_price", "tier_price", "color", "news_from_date", "news_to_date", "gallery", "status", "url_key", "is_recurring",
		"recurring_profile", "visibility", "custom_design", "custom_design_from", "custom_design_to", "custom_layout_update", "page_layout",
		"options_container", "country_of_manufacture", "msrp_enabled", "msrp_display_actual_price_type", "msrp", "tax_class_id",
		"gift_message_available", "price_view"}
}

// categoryList names the fields of a product in the list of a category.
func categoryList() []string {
	return []string{"entity_id", "attribute_set_id", "type_id", "tax_class_id", "weight", "price"}
}

// The following functions name the groups of stored values in the order in which the
// original writes them (products 3.1).
func productColumns() []string {
	return []string{"entity_id", "attribute_set_id", "type_id", "sku", "created_at", "updated_at"}
}

func productTexts() []string {
	return []string{"name", "url_key", "meta_title", "meta_description", "custom_design", "page_layout", "options_container",
		"country_of_manufacture", "msrp_enabled", "msrp_display_actual_price_type", "gift_message_available"}
}

func productLongTexts() []string {
	return []string{"description", "short_description", "meta_keyword", "custom_layout_update"}
}

func productDecimals() []string {
	return []string{"price", "weight", "special_price", "msrp", "cost"}
}

func productDates() []string {
	return []string{"news_from_date", "news_to_date", "special_from_date", "special_to_date", "custom_design_from", "custom_design_to"}
}

func productIntegers() []string {
	return []string{"status", "visibility", "tax_class_id", "manufacturer", "color"}
}

// publicProductFields returns the fields of a product as Customers and Guests see it
// (contract 3.4; products 3.1). They see the last four only in a category list.
func publicProductFields() *FieldTable {
	added := cells[shown]{magento: inList}
	fields := []Field{
		{Name: "entity_id"},
		{Name: "type_id"},
		{Name: "sku"},
		{Name: "created_at", isoTime: cells[shown]{magento: inSingle}},
		{Name: "updated_at"},
		{Name: "name"},
		{Name: "meta_title"},
		{Name: "meta_description"},
		{Name: "description"},
		{Name: "short_description"},
		{Name: "meta_keyword"},
	}
	for i := range fields {
		fields[i].Attribute = fields[i].Name
	}
	fields = append(fields,
		Field{Name: "tier_price", Sort: SortIgnored, Filter: FilterMatchesNone, absent: added},
		Field{Name: "is_in_stock", Sort: SortIgnored, Filter: Unfilterable, absent: added},
		Field{Name: "regular_price_with_tax", Sort: SortIgnored, Filter: Unfilterable},
		Field{Name: "regular_price_without_tax", Sort: SortIgnored, Filter: Unfilterable},
		Field{Name: "final_price_with_tax", Sort: SortIgnored, Filter: Unfilterable},
		Field{Name: "final_price_without_tax", Sort: SortIgnored, Filter: Unfilterable},
		Field{Name: "is_saleable", Sort: SortCrash, Filter: FilterMatchesAll},
		Field{Name: "image_url", Sort: SortIgnored, Filter: Unfilterable},
		Field{Name: "url", Sort: SortIgnored, Filter: Unfilterable, absent: added},
		Field{Name: "buy_now_url", Sort: SortIgnored, Filter: Unfilterable, absent: added},
		Field{Name: "total_reviews_count", Sort: SortIgnored, Filter: Unfilterable, absent: added},
		Field{Name: "has_custom_options", Sort: SortIgnored, Filter: Unfilterable, absent: added},
	)
	for i := range fields {
		fields[i].Read = shoppers
	}
	for _, name := range []string{"attribute_set_id", "tax_class_id", "weight", "price"} {
		fields = append(fields, Field{Name: name, Attribute: name, alsoRead: cells[RoleSet]{documented: shoppers}})
	}
	t := newFieldTable(fields)
	t.mark(integer, "entity_id", "is_in_stock", "is_saleable", "total_reviews_count", "attribute_set_id", "tax_class_id")
	list := []string{"entity_id", "type_id", "sku", "description", "short_description", "meta_keyword", "name", "meta_title", "meta_description",
		"regular_price_with_tax", "regular_price_without_tax", "final_price_with_tax", "final_price_without_tax", "is_saleable", "image_url"}
	t.arrange(documented, inList, list...)
	t.arrange(documented, inSingle, append(list, "tier_price", "is_in_stock", "url", "buy_now_url", "total_reviews_count", "has_custom_options")...)
	t.arrange(documented, inCategory, categoryList()...)
	stored := []string{"entity_id", "type_id", "sku", "created_at", "updated_at", "name", "meta_title", "meta_description",
		"description", "short_description", "meta_keyword"}
	prices := []string{"regular_price_with_tax", "regular_price_without_tax", "final_price_with_tax", "final_price_without_tax"}
	t.arrange(magento, inList, slices.Concat(stored, prices, []string{"is_saleable", "image_url"})...)
	t.arrange(magento, inSingle, slices.Concat(stored, []string{"tier_price", "is_in_stock"}, prices,
		[]string{"is_saleable", "image_url", "url", "buy_now_url", "total_reviews_count", "has_custom_options"})...)
	t.arrange(openmage, inList, slices.Concat(stored, []string{"image_url", "is_saleable"}, prices)...)
	t.arrange(openmage, inSingle, slices.Concat(stored, []string{"tier_price", "is_in_stock", "url", "image_url", "is_saleable"}, prices,
		[]string{"buy_now_url", "has_custom_options", "total_reviews_count"})...)
	t.tail = []string{"tier_price", "regular_price_with_tax", "image_url"}
	return t
}

// hideComputed takes the fields that no attribute holds out of the records that role reads in openmage,
// but for two: it shows whether the product is in stock, and tier_price as it is stored (openmage 2).
func (t *FieldTable) hideComputed(role Role) {
	for i := range t.Fields {
		f := &t.Fields[i]
		switch {
		case f.Name == "tier_price":
			f.stored = f.stored.inOpenMage(f.stored.of(OpenMage()) | 1<<role)
		case f.Attribute == "" && f.Name != "is_in_stock":
			f.absentFor = f.absentFor.inOpenMage(f.absentFor.of(OpenMage()) | 1<<role)
		}
	}
}

// productStockFields returns the fields of stock_data in a product (products 3.4): the
// fields of a stock item, and an alias of one of them. The original omits the ids of the
// item and the values it computes.
func productStockFields() *FieldTable {
	var fields []Field
	var short []string
	for _, f := range stockItemFields().Fields {
		if f.Hidden(Documented()) {
			continue
		}
		fields = append(fields, Field{Name: f.Name, Attribute: f.Attribute, Integer: f.Integer, Read: onlyAdmin, shown: cells[shown]{documented: inSingle}})
		if !slices.Contains([]string{"item_id", "product_id", "stock_id", "low_stock_date", "stock_status_changed_auto"}, f.Name) {
			short = append(short, f.Name)
		}
	}
	fields = append(fields, Field{Name: "use_config_enable_qty_increments", Attribute: "use_config_enable_qty_inc", Integer: true,
		Read: onlyAdmin, shown: cells[shown]{documented: inSingle}})
	t := newFieldTable(fields)
	t.arrange(magento, inSingle, short...)
	return t
}
