package openapi

import (
	"slices"

	"github.com/portico-commerce/portico/mapping/contract"
)

// computed returns the schema of a field that shows no stored attribute, or nil for one that
// does. It adds the schemas of its parts.
func (b *builder) computed(f *contract.Field) *Schema {
	s := b.computedValue(f)
	if s == nil {
		return nil
	}
	if s.Description == "" {
		s.Description = computedHelp()[f.Name]
	}
	return s
}

// computedValue returns the same without a description.
func (b *builder) computedValue(f *contract.Field) *Schema {
	if f.Attribute != "" {
		return nil
	}
	if f.FixedTax {
		taxes := list(object(properties("website_id", b.integer(), "country", text("^[A-Z]{2}$"), "state", text(""), "value", text(""), "website_value", &Schema{Type: Types{"number"}}),
			"website_id", "country", "state", "value", "website_value"))
		taxes.Description = "fixed product taxes, which come on top of the price"
		return taxes
	}
	switch f.Name {
	case "stock_data":
		return &Schema{OneOf: []*Schema{b.record(f.Part), {Type: Types{"null"}}}, MayBeMissing: !b.Dialect.AbsentIsNull}
	case "addresses", "order_items", "order_comments":
		parts := list(b.record(f.Part))
		parts.Type, parts.MayBeMissing = append(parts.Type, "null"), !b.Dialect.AbsentIsNull
		return parts
	case "group_price", "tier_price":
		prices := list(priceEntry(b, f))
		if b.Dialect.OrderedByNull && f.Sort == contract.SortIgnoredAsNull {
			prices.Type = append(prices.Type, "null")
		}
		return prices
	case "regular_price_with_tax", "regular_price_without_tax", "final_price_with_tax", "final_price_without_tax":
		return b.price()
	case "is_saleable":
		return &Schema{OneOf: []*Schema{{Type: Types{"boolean"}}, b.integer("0", "1"), {Type: Types{"null"}}}}
	case "is_in_stock":
		if b.Dialect.UnmanagedTrue {
			return &Schema{OneOf: []*Schema{b.integer("0", "1"), {Type: Types{"boolean"}, Const: true}}}
		}
		return b.integer("0", "1")
	case "total_reviews_count":
		return b.integer()
	case "has_custom_options":
		return &Schema{Type: Types{"boolean"}}
	case "image_url", "url", "buy_now_url":
		return text("^https?://")
	case mediaGallery:
		return b.gallery()
	}
	return nil
}

// integer returns the schema of an integer column outside the tables of fields. values are all values
// that it may have as a text; none stand for any integer.
func (b *builder) integer(values ...string) *Schema {
	switch {
	case b.Dialect.NumericIntegers:
		return &Schema{Type: Types{"integer"}}
	case len(values) > 0:
		return &Schema{Type: Types{"string"}, Enum: values}
	default:
		return text(integerPattern)
	}
}

// price returns the schema of a price that Customers and Guests see: a number, except in shops whose prices
// include tax, where those of products without a tax class may keep the form in which they are stored.
func (b *builder) price() *Schema {
	if b.Dialect.StoredPriceForm {
		return &Schema{Type: Types{"number", "string", "null"}}
	}
	return &Schema{Type: Types{"number"}}
}

const mediaGallery = "media_gallery"

// priceEntry returns the schema of an entry of a price list: one for each form that a reader of f sees.
func priceEntry(b *builder, f *contract.Field) *Schema {
	var forms []*Schema
	for _, role := range contract.Roles() {
		if f.Readable(b.Dialect, role, contract.SingleJSON) {
			forms = addForms(forms, priceForm(b, f.Name, role, f.AsStored(b.Dialect, role)))
		}
	}
	return oneOf(forms)
}

// oneOf returns the only one of the forms of an entry, or else the schema of all of them.
func oneOf(forms []*Schema) *Schema {
	if len(forms) == 1 {
		return &Schema{Ref: forms[0].Ref}
	}
	return &Schema{OneOf: forms}
}

// addForms adds the references in s, a result of oneOf, that forms lacks.
func addForms(forms []*Schema, s *Schema) []*Schema {
	for _, form := range append(slices.Clone(s.OneOf), s) {
		if form.Ref != "" && !slices.ContainsFunc(forms, func(known *Schema) bool { return known.Ref == form.Ref }) {
			forms = append(forms, &Schema{Ref: form.Ref})
		}
	}
	return forms
}

// priceForm returns the schema of an entry of a price list as role sees it: the rules of its members, for
// an Admin, these with more columns if stored, or the part of tier_price that concerns the caller.
func priceForm(b *builder, name string, role contract.Role, stored bool) *Schema {
	if !stored {
		b.doc.Components.Schemas.Set("PublicTierPrice", object(properties(
			"qty", text(`^[0-9]+(\.[0-9]+)?$`), "price_with_tax", &Schema{Type: Types{"number"}}, "price_without_tax", &Schema{Type: Types{"number"}},
		), "qty", "price_with_tax", "price_without_tax"))
		return ref("PublicTierPrice")
	}
	flag := &Schema{Type: Types{"boolean"}}
	if name == "tier_price" {
		flag = &Schema{Type: Types{"integer"}}
	}
	var members Map[*Schema]
	var names []string
	for _, rule := range b.Fields.AdminProducts.Rules.Of(name).Members {
		s := text(decimalPattern)
		switch {
		case rule.From == contract.CustomerGroups && name == "tier_price" && !b.Dialect.NumericIntegers: // a number where it stands for all groups
			s = &Schema{OneOf: []*Schema{text(integerPattern), {Type: Types{"integer"}}}}
		case rule.Check == contract.NumberOption:
			s = b.integer()
		}
		members.Set(rule.Field, s)
		names = append(names, rule.Field)
	}
	if b.Dialect.PercentFlags {
		members.Set("is_percent", flag)
		names = append(names, "is_percent")
	}
	component := camel(name)
	if role != contract.Admin {
		component = "Stored" + component
		members.Set("price_id", b.integer())
		members.Set("all_groups", b.integer("0", "1"))
		members.Set("website_price", text(decimalPattern))
		names = append(names, "price_id", "all_groups", "website_price")
	}
	b.doc.Components.Schemas.Set(component, object(members, names...))
	return ref(component)
}

// gallery returns a reference to the schema of media_gallery.
func (b *builder) gallery() *Schema {
	b.doc.Components.Schemas.Set("MediaGallery", object(properties(
		"images", list(b.record(b.Fields.ProductImages)), "values", ref(emptyList)), "images", "values"))
	return ref("MediaGallery")
}

// computedHelp describes the computed fields.
func computedHelp() map[string]string {
	return map[string]string{
		"stock_data":                "the product's stock item",
		"addresses":                 "billing and shipping address",
		"order_items":               "lines of the order",
		"order_comments":            "comments on the order; a Customer sees those that are visible",
		"group_price":               "prices for customer groups",
		"tier_price":                "prices from a quantity on; an Admin sees those of all groups",
		"regular_price_with_tax":    "price with tax, without any discount",
		"regular_price_without_tax": "price without tax and any discount",
		"final_price_with_tax":      "price with tax that the caller pays",
		"final_price_without_tax":   "price without tax that the caller pays",
		"is_saleable":               "whether the product can be bought: true or false in lists, 1 or 0 in single records, null in the default scope",
		"is_in_stock":               "whether the product is in stock",
		"total_reviews_count":       "number of approved reviews",
		"has_custom_options":        "whether buyers choose options",
		"image_url":                 "address of the image",
		"url":                       "address of the page or file",
		"buy_now_url":               "address that puts the product into the cart",
		mediaGallery:                "all images of the product",
	}
}
