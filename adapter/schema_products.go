package adapter

// The nested records of a product: no resources of their own, so no constants.
const (
	productGroupPrices Resource = "product_group_prices"
	productTierPrices  Resource = "product_tier_prices"
)

// productSchema: one product. A scoped attribute that is absent has no value at
// the scope read; null was stored as "nothing" there. Prices are in the base
// currency.
func productSchema() *Schema {
	return NewSchema(Products, "entity_id", []Attribute{
		{Name: "entity_id", Kind: KindInteger, ReadOnly: true, Doc: "id of the product"},
		{Name: "attribute_set_id", Kind: KindInteger, Doc: "id of its attribute set; fixed once created"},
		{Name: "type_id", Kind: KindText, Doc: "type, as simple; fixed once created"},
		{Name: "sku", Kind: KindText, Doc: "stock keeping unit, at most 64 characters, unique"},
		{Name: "created_at", Kind: KindTime, ReadOnly: true, Doc: "when the product was created"},
		{Name: "updated_at", Kind: KindTime, ReadOnly: true, Doc: "when the product, an image or an assignment of it was last changed"},

		{Name: "name", Kind: KindText, Scope: ScopeStore, Doc: "name"},
		{Name: "url_key", Kind: KindText, Scope: ScopeStore, Doc: "last part of the product's address"},
		{Name: "meta_title", Kind: KindText, Scope: ScopeStore, Doc: "page title"},
		{Name: "meta_description", Kind: KindText, Scope: ScopeStore, Doc: "page description"},
		{Name: "custom_design", Kind: KindText, Scope: ScopeStore, Doc: "theme, as package/theme"},
		{Name: "page_layout", Kind: KindText, Scope: ScopeStore, Doc: "page layout code"},
		{Name: "options_container", Kind: KindText, Scope: ScopeStore, Doc: "container1 or container2, where the page shows options"},
		{Name: "country_of_manufacture", Kind: KindText, Scope: ScopeWebsite, Doc: "two-letter code of a country"},
		{Name: "msrp_enabled", Kind: KindText, Scope: ScopeWebsite, Doc: "code of an option: 0 no, 1 yes, 2 as the store"},
		{Name: "msrp_display_actual_price_type", Kind: KindText, Scope: ScopeWebsite, Doc: "code of an option: 1 on gesture, 2 in cart, 3 before confirmation, 4 as the store"},
		{Name: "gift_message_available", Kind: KindText, Doc: "code of an option: 0 no, 1 yes"},

		{Name: "description", Kind: KindText, Scope: ScopeStore, Doc: "long description"},
		{Name: "short_description", Kind: KindText, Scope: ScopeStore, Doc: "short description"},
		{Name: "meta_keyword", Kind: KindText, Scope: ScopeStore, Doc: "page keywords"},
		{Name: "custom_layout_update", Kind: KindText, Scope: ScopeStore, Doc: "XML fragment that changes the page layout"},

		{Name: "price", Kind: KindDecimal, Doc: "regular price without tax"},
		{Name: "weight", Kind: KindDecimal, Doc: "weight of one unit of sale"},
		{Name: "special_price", Kind: KindDecimal, Doc: "price without tax while the special window is open"},
		{Name: "msrp", Kind: KindDecimal, Doc: "the manufacturer's suggested price"},
		{Name: "cost", Kind: KindDecimal, Doc: "purchase price; simple products have none"},

		{Name: "news_from_date", Kind: KindTime, Scope: ScopeWebsite, Doc: "new from"},
		{Name: "news_to_date", Kind: KindTime, Scope: ScopeWebsite, Doc: "new to"},
		{Name: "special_from_date", Kind: KindTime, Scope: ScopeWebsite, Doc: "special price from; empty: open"},
		{Name: "special_to_date", Kind: KindTime, Scope: ScopeWebsite, Doc: "special price to, that day included; empty: open"},
		{Name: "custom_design_from", Kind: KindTime, Scope: ScopeStore, Doc: "custom design from"},
		{Name: "custom_design_to", Kind: KindTime, Scope: ScopeStore, Doc: "custom design to"},

		{Name: "status", Kind: KindInteger, Scope: ScopeWebsite, Doc: "1 enabled, 2 disabled"},
		{Name: "visibility", Kind: KindInteger, Scope: ScopeStore, Doc: "1 not visible, 2 catalog, 3 search, 4 both"},
		{Name: "tax_class_id", Kind: KindInteger, Scope: ScopeWebsite, Doc: "product tax class, 0 none"},
		{Name: "manufacturer", Kind: KindInteger, Doc: "option id; simple products have none"},
		{Name: "color", Kind: KindInteger, Doc: "option id; simple products have none"},

		{Name: "group_price", Kind: KindRecords, Nested: groupPriceSchema(), OnDemand: true, Doc: "prices for customer groups, as first stored"},
		{Name: "tier_price", Kind: KindRecords, Nested: tierPriceSchema(), OnDemand: true, Doc: "prices from a quantity on, as first stored"},

		// What is read beside the values of one scope, and never written here.
		{Name: "default_status", Kind: KindInteger, ReadOnly: true, Doc: "status in the default scope, whatever scope is read"},
		{Name: "default_url_key", Kind: KindText, ReadOnly: true, Doc: "url_key in the default scope, whatever scope is read; absent: none"},
		{Name: "image_file", Kind: KindText, ReadOnly: true, OnDemand: true, Doc: "file of the image that the type image points to at the scope read; absent: none"},
		{Name: "category_position", Kind: KindInteger, ReadOnly: true, OnDemand: true, Doc: "place in the category a list is kept to; absent without one"},
	})
}

func groupPriceSchema() *Schema {
	return NewSchema(productGroupPrices, "value_id", []Attribute{
		{Name: "value_id", Kind: KindInteger, ReadOnly: true, Doc: "id of the entry; orders the entries"},
		{Name: "website_id", Kind: KindInteger, Doc: "always 0, all websites"},
		{Name: "cust_group", Kind: KindInteger, Doc: "id of the customer group"},
		{Name: "price", Kind: KindDecimal, Doc: "price without tax"},
	})
}

func tierPriceSchema() *Schema {
	return NewSchema(productTierPrices, "value_id", []Attribute{
		{Name: "value_id", Kind: KindInteger, ReadOnly: true, Doc: "id of the entry; orders the entries"},
		{Name: "website_id", Kind: KindInteger, Doc: "always 0, all websites"},
		{Name: "cust_group", Kind: KindInteger, Doc: "id of the customer group, 32000 for all"},
		{Name: "price", Kind: KindDecimal, Doc: "price without tax of one unit"},
		{Name: "price_qty", Kind: KindDecimal, Doc: "least quantity the price holds for"},
	})
}

// productImageSchema: one image of a product's gallery. A level is the default
// scope or a store view. A value of a store view that is missing is that of the
// default scope; one that is missing there, too, is null.
func productImageSchema() *Schema {
	return NewSchema(ProductImages, "id", []Attribute{
		{Name: "id", Kind: KindInteger, ReadOnly: true, Doc: "id of the image, unique over all products"},
		{Name: "product_id", Kind: KindInteger, Doc: "id of its product; fixed once created"},
		{Name: "file", Kind: KindText, Doc: "path below the media folder, as f/r/front.png; fixed once created"},
		{Name: "media_type", Kind: KindText, Doc: "media type of the bytes; fixed once created"},
		{Name: "label", Kind: KindText, Scope: ScopeStore, Doc: "text shown for the image at the level; never empty"},
		{Name: "position", Kind: KindInteger, Scope: ScopeStore, Doc: "place among the images at the level"},
		{Name: "exclude", Kind: KindInteger, Scope: ScopeStore, Doc: "not 0: hidden from customers and guests at the level"},
		{Name: "types", Kind: KindTexts, Scope: ScopeStore, Doc: "which of image, small_image and thumbnail point to it at the level"},
	})
}

func productWebsiteSchema() *Schema {
	return NewSchema(ProductWebsites, "assignment_id", []Attribute{
		{Name: "assignment_id", Kind: KindInteger, ReadOnly: true, Doc: "id of the assignment"},
		{Name: "product_id", Kind: KindInteger, Doc: "id of the product"},
		{Name: "website_id", Kind: KindInteger, Doc: "id of the website it is sold in; once per product"},
	})
}

func productCategorySchema() *Schema {
	return NewSchema(ProductCategories, "assignment_id", []Attribute{
		{Name: "assignment_id", Kind: KindInteger, ReadOnly: true, Doc: "id of the assignment"},
		{Name: "product_id", Kind: KindInteger, Doc: "id of the product"},
		{Name: "category_id", Kind: KindInteger, Doc: "id of the category it stands in; once per product"},
		{Name: "position", Kind: KindInteger, Doc: "place in the category, ascending"},
	})
}
