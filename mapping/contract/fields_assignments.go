package contract

// productWebsiteFields returns the fields of a website assignment
// (product_parts 3.2).
func productWebsiteFields() *FieldTable {
	t := newFieldTable([]Field{
		{Name: "website_id", Attribute: "website_id", Integer: true, Read: onlyAdmin, Write: onlyAdmin, shown: both(inBoth)},
		{Name: "copy_to_stores", Write: onlyAdmin, shown: both(hidden)},
	})
	t.addAlwaysAbsent(onlyAdmin, "copy_to_stores")
	return t
}

// productCategoryFields returns the field of a category assignment
// (contract 3.9).
func productCategoryFields() *FieldTable {
	t := newFieldTable([]Field{
		{Name: "category_id", Attribute: "category_id", Integer: true, Read: everybody, Write: onlyAdmin, shown: both(inBoth)},
	})
	for _, role := range []RoleSet{onlyAdmin, shoppers} {
		t.addAlwaysAbsent(role, absentProductFields(role)...)
	}
	t.addAlwaysAbsent(everybody, "created_at", "updated_at")
	t.Rules = RuleTable{
		Rules:    []Rule{{Field: "category_id", Check: Given, Required: true, Fault: RequiredValue}, {Field: "category_id", Check: Integer, Fault: CategoryIDInvalid}},
		openmage: []Rule{{Field: "category_id", Check: NotBlank, Required: true, Fault: RequiredValue}, {Field: "category_id", Check: JSONInteger, Fault: CategoryIDInvalid}},
	}
	return t
}

// assignedProductFields returns the fields that the original shows an Admin in place of
// one category assignment: fields of the product (product_parts 4.5).
func assignedProductFields() *FieldTable {
	t := assignedProduct(adminProductFields().Fields, onlyAdmin, "group_price",
		"sku", "created_at", "updated_at", "name", "url_key", "meta_title", "meta_description", "options_container", "status", "visibility",
		"tax_class_id", priceView, "price", "weight", "description", "short_description", "meta_keyword", "special_from_date", "group_price",
		mediaGallery, "tier_price", "custom_design", "page_layout", "country_of_manufacture", "msrp_enabled", "msrp_display_actual_price_type",
		"gift_message_available", "special_price", "msrp", "custom_layout_update", "news_from_date", "news_to_date", "special_to_date",
		"custom_design_from", "custom_design_to")
	t.mark(func(f *Field) { f.Attribute, f.Integer = priceView, true }, priceView)
	return t
}

// priceView is the field of bundles that no other call shows (own_attributes 9).
const priceView = "price_view"

// publicAssignedProductFields returns the same for Customers and Guests.
func publicAssignedProductFields() *FieldTable {
	return assignedProduct(publicProductFields().Fields, shoppers, "tier_price",
		"sku", "created_at", "updated_at", "name", "meta_title", "meta_description", "description", "short_description", "meta_keyword", "tier_price")
}

// mediaGallery is the other field of such a product that the products resource lacks.
const mediaGallery = "media_gallery"

// assignedProduct returns a table of the named fields of a product, in this order. Fields
// added by the store come before the field called tail.
func assignedProduct(product []Field, readers RoleSet, tail string, names ...string) *FieldTable {
	fields := make([]Field, len(names))
	for i, name := range names {
		fields[i] = Field{Name: name, Read: readers}
		for _, f := range product {
			if f.Name == name {
				fields[i] = f
			}
		}
	}
	t := newFieldTable(fields)
	t.arrange(documented, inBoth)
	t.arrange(magento, inSingle, names...)
	t.tail = []string{tail}
	return t
}
