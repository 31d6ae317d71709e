package contract

// ProductWebsiteFields returns the fields of a website assignment
// (product_parts 3.2).
func ProductWebsiteFields() *FieldTable {
	return newFieldTable([]Field{
		{Name: "website_id", Attribute: "website_id", Read: onlyAdmin, Write: onlyAdmin, shown: [columns]shown{inBoth, inBoth}},
		{Name: "copy_to_stores", Write: onlyAdmin, shown: [columns]shown{hidden, hidden}},
	})
}

// ProductCategoryFields returns the field of a category assignment
// (Resources / Product category assignment).
func ProductCategoryFields() *FieldTable {
	return newFieldTable([]Field{
		{Name: "category_id", Attribute: "category_id", Read: everybody, Write: onlyAdmin, shown: [columns]shown{inBoth, inBoth}},
	})
}
