package contract

// productImageFields returns the fields of an image (contract 3.6;
// product_parts 2.1 and 2.3), the same in lists and single records. The original shows
// exclude only to an Admin; the document does not distinguish roles.
func productImageFields() *FieldTable {
	visible := both(inBoth)
	unseen := both(hidden)
	t := newFieldTable([]Field{
		{Name: "id", Attribute: "id", Integer: true, Read: everybody, shown: visible},
		{Name: "label", Attribute: "label", EmptyText: true, Read: everybody, Write: onlyAdmin, shown: visible},
		{Name: "position", Attribute: "position", Integer: true, EmptyText: true, Read: everybody, Write: onlyAdmin, shown: visible},
		{Name: "exclude", Attribute: "exclude", Integer: true, EmptyText: true, Read: everybody, Write: onlyAdmin, shown: visible,
			withheld: cells[RoleSet]{magento: shoppers}},
		{Name: "url", Read: everybody, shown: visible},
		{Name: "types", Attribute: "types", Read: everybody, Write: onlyAdmin, shown: visible},
		{Name: "file_name", Write: onlyAdmin, shown: unseen},
		{Name: "file_content", Write: onlyAdmin, shown: unseen},
		{Name: "file_mime_type", Write: onlyAdmin, shown: unseen},
	})
	for _, role := range []RoleSet{onlyAdmin, shoppers} {
		t.addAlwaysAbsent(role, absentProductFields(role)...)
	}
	return t
}
