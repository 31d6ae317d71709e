package adapter

// The nested records of a product: no resources of their own, so no constants.
const (
	productGroupPrices Resource = "product_group_prices"
	productTierPrices  Resource = "product_tier_prices"
	productCopies      Resource = "product_copies"
)

// productSchema: one product, whose stock item is a record of stock. A scoped
// attribute that is absent has no value at the scope read; null was stored as
// "nothing" there. Prices are in the base currency.
//
// A product is created with values of the default scope, and with none for the
// types of images. Two products with one SKU are a Conflict of the Field sku: the
// new one, without blanks and tabs around it, must not equal another's as it is
// stored. Every update is a save: updated_at becomes the moment, whatever is
// changed, and at the level written to the images keep the label, position and
// exclude that they show there (product_parts 2.7).
//
// Lists of prices are replaced as a whole. An entry of the same website, group
// and quantity as before keeps its value_id, and with it its place; two such in
// one list are Invalid. What the one record of stock_item leaves absent stays as
// it is; without a record in Create the product has no stock item.
//
// Deleting a product takes along all that is its own, but for the lines of
// orders and the names of its images, which are never used again.
func productSchema(stock *Schema) *Schema {
	return NewSchema(Products, "entity_id", []Attribute{
		{Name: "entity_id", Kind: KindInteger, ReadOnly: true, Doc: "id of the product"},
		{Name: "attribute_set_id", Kind: KindInteger, Fixed: true, Doc: "id of its attribute set"},
		{Name: "type_id", Kind: KindText, Fixed: true, Doc: "type, as simple"},
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
		{Name: "stock_item", Kind: KindRecords, Nested: stock, OnDemand: true, Doc: "its stock item, a list of one; without item_id and product_id when created"},

		// What is read beside the values of one scope, and not written.
		{Name: "default_url_key", Kind: KindText, ReadOnly: true, Doc: "url_key in the default scope, whatever scope is read; absent: none"},
		{Name: "image_file", Kind: KindText, ReadOnly: true, OnDemand: true, Doc: "file of the image that the type image points to at the scope read; absent: none"},
		{Name: "stock_is_in_stock", Kind: KindInteger, ReadOnly: true, OnDemand: true, Doc: "is_in_stock of its stock item; absent without one"},
		{Name: "stock_manage_stock", Kind: KindInteger, ReadOnly: true, OnDemand: true, Doc: "manage_stock of its stock item; absent without one"},
		{Name: "stock_use_config_manage_stock", Kind: KindInteger, ReadOnly: true, OnDemand: true, Doc: "use_config_manage_stock of its stock item; absent without one"},
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
//
// Every write at a level is a save of the product at that level, as in
// productSchema, and at a store view gives all attributes of the product that
// views or websites have of their own the values they show there: those of a
// website at all of its store views (product_parts 2.7).
//
// Create takes the first free name when file is taken: a number, counted from
// number_from, goes before the extension. A position that is absent is one
// above the highest at the level. Types are pointed to the image, and in an
// update those it had and does not keep point to none.
//
// Delete makes the types that point to the image at the level point to none. The
// image itself goes when no other level points to it, unless
// [DeleteParams.OnlyLevel].
func productImageSchema() *Schema {
	return NewSchema(ProductImages, "id", []Attribute{
		{Name: "id", Kind: KindInteger, ReadOnly: true, Doc: "id of the image, unique over all products"},
		{Name: "product_id", Kind: KindInteger, Fixed: true, Doc: "id of its product"},
		{Name: "file", Kind: KindText, Fixed: true, Doc: "path below the media folder, as f/r/front.png, of letters, digits and _.- alone"},
		{Name: "media_type", Kind: KindText, Fixed: true, Doc: "media type of the bytes"},
		{Name: "label", Kind: KindText, Scope: ScopeStore, Doc: "text shown for the image at the level; never empty"},
		{Name: "position", Kind: KindInteger, Scope: ScopeStore, Doc: "place among the images at the level"},
		{Name: "exclude", Kind: KindInteger, Scope: ScopeStore, Doc: "not 0: hidden from customers and guests at the level"},
		{Name: "types", Kind: KindTexts, Scope: ScopeStore, Doc: "which of image, small_image and thumbnail point to it at the level"},
		{Name: "content", Kind: KindText, Fixed: true, WriteOnly: true, Doc: "the bytes"},
		{Name: "number_from", Kind: KindInteger, Fixed: true, WriteOnly: true, Doc: "the first number tried where file is taken; absent: 1"},
	})
}

// productWebsiteSchema: one website a product is sold in. Assigning it again is a
// Conflict of the Field website_id. Both ways of writing save the product in the
// default scope.
//
// Copies are made one after the other: the product as store_from shows it is saved
// at store_to. One is Invalid, of the Field copies, unless store_from is a view of
// a website that the product is sold in already, and store_to one of the new
// website. Unassigning keeps what is stored for the website's views.
func productWebsiteSchema() *Schema {
	return NewSchema(ProductWebsites, "assignment_id", []Attribute{
		{Name: "assignment_id", Kind: KindInteger, ReadOnly: true, Doc: "id of the assignment"},
		{Name: "product_id", Kind: KindInteger, Fixed: true, Doc: "id of the product"},
		{Name: "website_id", Kind: KindInteger, Fixed: true, Doc: "id of the website it is sold in; once per product"},
		{Name: "copies", Kind: KindRecords, Nested: productCopySchema(), Fixed: true, WriteOnly: true, Doc: "the store views whose values others get"},
		{Name: "copy_website_values", Kind: KindInteger, Fixed: true, WriteOnly: true, Doc: "1: values of websites are copied as well, to all store views of the website"},
	})
}

func productCopySchema() *Schema {
	return NewSchema(productCopies, "copy_id", []Attribute{
		{Name: "copy_id", Kind: KindInteger, ReadOnly: true, Doc: "absent: copies are not kept"},
		{Name: "store_from", Kind: KindInteger, Doc: "id of the store view that shows what is copied"},
		{Name: "store_to", Kind: KindInteger, Doc: "id of the store view that gets it"},
	})
}

// productCategorySchema: one category a product stands in. Assigning it again is
// a Conflict of the Field category_id. Both ways of writing save the product in
// the default scope.
func productCategorySchema() *Schema {
	return NewSchema(ProductCategories, "assignment_id", []Attribute{
		{Name: "assignment_id", Kind: KindInteger, ReadOnly: true, Doc: "id of the assignment"},
		{Name: "product_id", Kind: KindInteger, Fixed: true, Doc: "id of the product"},
		{Name: "category_id", Kind: KindInteger, Fixed: true, Doc: "id of the category it stands in; once per product"},
		{Name: "position", Kind: KindInteger, Fixed: true, Doc: "place in the category, ascending; absent when created: 1"},
	})
}
