package adapter

// The nested records of a product. They are not resources of their own, so these are not
// exported.
const (
	productGroupPrices Resource = "product_group_prices"
	productTierPrices  Resource = "product_tier_prices"
	productRulePrices  Resource = "product_rule_prices"
	productCopies      Resource = "product_copies"
)

// productSchema returns the schema of products, whose stock item is a record of stock. A
// scoped attribute that is absent has no value at the scope read; null is stored as null
// there. Prices are in the base currency.
//
// A product is created with values of the default scope, and without pointers to images. A
// second product with the same SKU is a Conflict with Field sku: the new SKU, trimmed of
// blanks and tabs, is compared with the stored ones. Every update is a save: updated_at is set
// to the current time, whatever changes, and at the scope written to, the images keep the
// label, position and exclude that they show there (product_parts 2.7).
//
// A client's write that changes status or the stock item, or assigns the product to a website,
// removes its stock_status there, unless it is a composite of other products. It also computes the
// stock_status of the product, if it is a composite, and of every composite that contains it, if the
// components are known.
//
// Price lists are replaced as a whole. An entry with the same website, group and quantity as
// before keeps its value_id, and with it its position; two such entries in one list are
// Invalid. Attributes that the record in stock_item leaves absent stay unchanged; if Create
// gets no such record, the product has no stock item.
//
// Deleting a product deletes everything that belongs to it, except order lines and the names
// of its images, which are never reused.
func productSchema(stock *Schema) *Schema {
	return NewSchema(Products, "entity_id", []Attribute{
		{Name: "entity_id", Kind: KindInteger, ReadOnly: true, Static: true, Doc: "id of the product"},
		{Name: "attribute_set_id", Kind: KindInteger, Required: true, Fixed: true, Static: true, Doc: "id of its attribute set"},
		{Name: "type_id", Kind: KindText, Required: true, Fixed: true, Static: true, Doc: "type, such as simple"},
		{Name: "sku", Kind: KindText, Required: true, Static: true, Doc: "stock keeping unit, at most 64 characters, unique"},
		{Name: "created_at", Kind: KindTime, Required: true, ReadOnly: true, Static: true, Doc: "when the product was created"},
		{Name: "updated_at", Kind: KindTime, Required: true, ReadOnly: true, Static: true, Doc: "when the product, an image or an assignment of it was last changed"},

		{Name: "name", Kind: KindText, Scope: ScopeStore, Doc: "name"},
		{Name: "url_key", Kind: KindText, Scope: ScopeStore, Doc: "last part of the product's address"},
		{Name: "meta_title", Kind: KindText, Scope: ScopeStore, Doc: "page title"},
		{Name: "meta_description", Kind: KindText, Scope: ScopeStore, Doc: "page description"},
		{Name: "custom_design", Kind: KindText, Scope: ScopeStore, Doc: "theme, in the form package/theme"},
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
		{Name: "special_price", Kind: KindDecimal, Doc: "price without tax between special_from_date and special_to_date"},
		{Name: "msrp", Kind: KindDecimal, Doc: "the manufacturer's suggested price"},
		{Name: "cost", Kind: KindDecimal, Doc: "purchase price; simple products have none"},

		{Name: "news_from_date", Kind: KindTime, Scope: ScopeWebsite, Doc: "start of the period in which the product counts as new"},
		{Name: "news_to_date", Kind: KindTime, Scope: ScopeWebsite, Doc: "end of the period in which the product counts as new"},
		{Name: "special_from_date", Kind: KindTime, Scope: ScopeWebsite, Doc: "start of the special price; empty: no start"},
		{Name: "special_to_date", Kind: KindTime, Scope: ScopeWebsite, Doc: "last day of the special price; empty: no end"},
		{Name: "custom_design_from", Kind: KindTime, Scope: ScopeStore, Doc: "start of the custom design"},
		{Name: "custom_design_to", Kind: KindTime, Scope: ScopeStore, Doc: "end of the custom design"},

		{Name: "status", Kind: KindInteger, Scope: ScopeWebsite, Doc: "1 enabled, 2 disabled"},
		{Name: "visibility", Kind: KindInteger, Scope: ScopeStore, Doc: "1 not visible, 2 catalog, 3 search, 4 both"},
		{Name: "tax_class_id", Kind: KindInteger, Scope: ScopeWebsite, Doc: "product tax class, 0 none"},
		{Name: "manufacturer", Kind: KindInteger, Doc: "option id; simple products have none"},
		{Name: "color", Kind: KindInteger, Doc: "option id; simple products have none"},

		// Read-only attributes that other parts of a store determine.
		{Name: "price_type", Kind: KindInteger, ReadOnly: true, Static: true, Doc: "of bundles: 0, the price is that of the parts, or 1, it is price, of which special_price is a percentage"},
		{Name: "price_view", Kind: KindInteger, ReadOnly: true, Static: true, Doc: "of bundles: 0, their page shows a range of prices, or 1, the price of the cheapest choice"},
		{Name: "has_custom_options", Kind: KindInteger, ReadOnly: true, Static: true, Doc: "1: buyers choose options of the product's own; empty: 0"},
		{Name: "reviews_count", Kind: KindInteger, Scope: ScopeStore, ReadOnly: true, Doc: "number of approved reviews at the store view, in the default scope of all; empty: 0"},
		{Name: "stock_status", Kind: KindInteger, Scope: ScopeWebsite, ReadOnly: true, Doc: "1: can be bought at the website, 0: cannot, 2: can where stock is not managed by default; empty: as the stock item says; none in the default scope"},
		{Name: "parts_tax_class_id", Kind: KindInteger, Scope: ScopeWebsite, ReadOnly: true, Doc: "of products that group others: the lowest product tax class of these at the website, 0 if one of them has none; empty: 0"},
		{Name: "components", Kind: KindText, ReadOnly: true, Static: true, Doc: "of a product that is composed of others, their ids in groups of which one product must be in stock: commas between ids, blanks between groups; empty: unknown"},
		{Name: "component_of", Kind: KindText, ReadOnly: true, Static: true, Doc: "ids of the products that are composed of this one and of others, separated by commas"},
		{Name: "request_path", Kind: KindText, Scope: ScopeStore, ReadOnly: true, Doc: "path of the product's page at the store view, below the store's address, at most 255 characters; none in the default scope; empty: the page has only its address by id"},

		{Name: "group_price", Kind: KindRecords, Nested: groupPriceSchema(), OnDemand: true, Doc: "prices for customer groups, in the order in which they were first stored"},
		{Name: "tier_price", Kind: KindRecords, Nested: tierPriceSchema(), OnDemand: true, Doc: "prices from a quantity on, in the order in which they were first stored"},
		{Name: "rule_price", Kind: KindRecords, Nested: rulePriceSchema(), ReadOnly: true, OnDemand: true, Doc: "prices of the days on which rules of the catalog lower it, as another part of the shop has computed them"},
		{Name: "stock_item", Kind: KindRecords, Nested: stock, OnDemand: true, Doc: "the stock item, as a list of one; without item_id and product_id on creation"},

		// Read-only attributes, taken from other scopes and tables.
		{Name: "default_url_key", Kind: KindText, ReadOnly: true, Static: true, Doc: "url_key in the default scope, whatever scope is read; absent: none"},
		{Name: "image_id", Kind: KindInteger, Scope: ScopeStore, ReadOnly: true, OnDemand: true, Doc: "id of the image that the type image points to at the scope read; null: the type points to none"},
		{Name: "small_image_id", Kind: KindInteger, Scope: ScopeStore, ReadOnly: true, OnDemand: true, Doc: "the same of the type small_image"},
		{Name: "thumbnail_id", Kind: KindInteger, Scope: ScopeStore, ReadOnly: true, OnDemand: true, Doc: "the same of the type thumbnail"},
		{Name: "image_file", Kind: KindText, ReadOnly: true, OnDemand: true, Doc: "file of the image that the type image points to at the scope read; absent: none"},
		{Name: "stock_is_in_stock", Kind: KindInteger, ReadOnly: true, OnDemand: true, Doc: "is_in_stock of its stock item; absent without one"},
		{Name: "stock_manage_stock", Kind: KindInteger, ReadOnly: true, OnDemand: true, Doc: "manage_stock of its stock item; absent without one"},
		{Name: "stock_use_config_manage_stock", Kind: KindInteger, ReadOnly: true, OnDemand: true, Doc: "use_config_manage_stock of its stock item; absent without one"},
		{Name: "category_position", Kind: KindInteger, ReadOnly: true, OnDemand: true, Doc: "position in the category of the filter in_category; absent without one"},
	}).Described("products with what belongs to them").FilteredBy(InWebsite, InCategory, Listed, InStock).WithDistinctNulls()
}

func groupPriceSchema() *Schema {
	return NewSchema(productGroupPrices, "value_id", []Attribute{
		{Name: "value_id", Kind: KindInteger, ReadOnly: true, Doc: "id of the entry; orders the entries"},
		{Name: "website_id", Kind: KindInteger, Refers: Websites, Required: true, Doc: "id of the website, 0 for all"},
		{Name: "cust_group", Kind: KindInteger, Refers: CustomerGroups, Required: true, Doc: "id of the customer group, 32000 for all"},
		{Name: "price", Kind: KindDecimal, Required: true, Doc: "price without tax"},
	})
}

func tierPriceSchema() *Schema {
	return NewSchema(productTierPrices, "value_id", []Attribute{
		{Name: "value_id", Kind: KindInteger, ReadOnly: true, Doc: "id of the entry; orders the entries"},
		{Name: "website_id", Kind: KindInteger, Refers: Websites, Required: true, Doc: "id of the website, 0 for all"},
		{Name: "cust_group", Kind: KindInteger, Refers: CustomerGroups, Required: true, Doc: "id of the customer group, 32000 for all"},
		{Name: "price", Kind: KindDecimal, Required: true, Doc: "price without tax of one unit"},
		{Name: "price_qty", Kind: KindDecimal, Required: true, Doc: "quantity from which the price applies"},
	})
}

// rulePriceSchema returns the schema of the prices that follow from rules of the catalog:
// one for each day, website and customer group. Only imports set them.
func rulePriceSchema() *Schema {
	return NewSchema(productRulePrices, "rule_price_id", []Attribute{
		{Name: "rule_price_id", Kind: KindInteger, ReadOnly: true, Doc: "id of the entry; orders the entries"},
		{Name: "website_id", Kind: KindInteger, Refers: Websites, Required: true, Doc: "id of the website"},
		{Name: "cust_group", Kind: KindInteger, Refers: CustomerGroups, Required: true, Doc: "id of the customer group"},
		{Name: "rule_date", Kind: KindTime, Required: true, Doc: "the day in the website's time zone, at 00:00:00"},
		{Name: "price", Kind: KindDecimal, Required: true, Doc: "price without tax"},
	})
}

// productImageSchema returns the schema of the images in a product's gallery. An image has
// values at the default scope and at store views. A store view inherits from the default scope
// the values that it does not have; a value missing there as well is null.
//
// Every write at a scope is a save of the product at that scope, as in productSchema. At a
// store view it also stores all values of store and website scope that the product shows
// there, and the values of website scope at all store views of the website (product_parts
// 2.7).
//
// If file is taken, Create uses the first free name: a number, starting from number_from, is
// put before the extension. An absent position is one above the highest at the scope. Types
// are pointed to the image; an update resets the types that the image had and does not keep.
//
// Delete resets the types that point to the image at the scope. The image itself is deleted if
// no other scope points to it. An update with removed resets the types and changes nothing
// else of the image.
func productImageSchema() *Schema {
	s := NewSchema(ProductImages, "id", []Attribute{
		{Name: "id", Kind: KindInteger, ReadOnly: true, Static: true, Doc: "id of the image, unique over all products"},
		{Name: "product_id", Kind: KindInteger, Refers: Products, Required: true, Fixed: true, Static: true, Doc: "id of its product"},
		{Name: "file", Kind: KindText, Required: true, Fixed: true, Static: true, Doc: "path below the media folder, such as f/r/front.png; only letters, digits and _.- are used"},
		{Name: "media_type", Kind: KindText, Required: true, Fixed: true, Static: true, Doc: "media type of the bytes"},
		{Name: "label", Kind: KindText, Scope: ScopeStore, Doc: "text shown for the image at the level; never empty"},
		{Name: "position", Kind: KindInteger, Scope: ScopeStore, Doc: "position among the images at the level"},
		{Name: "exclude", Kind: KindInteger, Scope: ScopeStore, Doc: "not 0: hidden from customers and guests at the level"},
		{Name: "types", Kind: KindTexts, Scope: ScopeStore, Exclusive: true, Doc: "which of image, small_image and thumbnail point to the image at the level"},
		{Name: "content", Kind: KindText, Fixed: true, WriteOnly: true, Doc: "bytes of the image"},
		{Name: "number_from", Kind: KindInteger, Fixed: true, WriteOnly: true, Doc: "first number tried if file is taken; absent: 1"},
		{Name: "removed", Kind: KindInteger, WriteOnly: true, Doc: "1, in a change: the image loses its types at the level and keeps its other values"},
	}).PartOf(Products, "product_id")
	s.PerLevel, s.HasFile = true, true
	return s
}

// productWebsiteSchema returns the schema of the assignments of products to websites. A
// second assignment of the same website is a Conflict with Field website_id. Both assigning
// and unassigning save the product in the default scope.
//
// Copies are made one after the other: the product as shown at store_from is saved at
// store_to. A copy is Invalid, with Field copies, unless store_from is a store view of a
// website to which the product was assigned before, and store_to one of the new website.
// Unassigning keeps the values stored for the website's store views.
func productWebsiteSchema() *Schema {
	return NewSchema(ProductWebsites, "assignment_id", []Attribute{
		{Name: "assignment_id", Kind: KindInteger, ReadOnly: true, Doc: "id of the assignment"},
		{Name: "product_id", Kind: KindInteger, Refers: Products, Required: true, Fixed: true, Doc: "id of the product"},
		{Name: "website_id", Kind: KindInteger, Refers: Websites, Required: true, Fixed: true, Doc: "id of the website; once per product"},
		{Name: "copies", Kind: KindRecords, Nested: productCopySchema(), Fixed: true, WriteOnly: true, Doc: "which store views get the values of which others"},
		{Name: "copy_website_values", Kind: KindInteger, Fixed: true, WriteOnly: true, Doc: "1: values of website scope are copied, too, to all store views of the website"},
	}).PartOf(Products, "product_id").UniqueBy("product_id", "website_id")
}

func productCopySchema() *Schema {
	return NewSchema(productCopies, "copy_id", []Attribute{
		{Name: "copy_id", Kind: KindInteger, ReadOnly: true, Doc: "always absent: copies are not stored"},
		{Name: "store_from", Kind: KindInteger, Refers: Stores, Doc: "id of the store view whose values are copied"},
		{Name: "store_to", Kind: KindInteger, Refers: Stores, Doc: "id of the store view that gets them"},
	})
}

// productCategorySchema returns the schema of the assignments of products to categories. A
// second assignment of the same category is a Conflict with Field category_id. Both
// assigning and unassigning save the product in the default scope.
func productCategorySchema() *Schema {
	return NewSchema(ProductCategories, "assignment_id", []Attribute{
		{Name: "assignment_id", Kind: KindInteger, ReadOnly: true, Doc: "id of the assignment"},
		{Name: "product_id", Kind: KindInteger, Refers: Products, Required: true, Fixed: true, Doc: "id of the product"},
		{Name: "category_id", Kind: KindInteger, Refers: Categories, Required: true, Fixed: true, Doc: "id of the category; once per product"},
		{Name: "position", Kind: KindInteger, Required: true, Fixed: true, Doc: "position in the category, ascending; 1 if absent on creation"},
	}).PartOf(Products, "product_id").UniqueBy("product_id", "category_id")
}
