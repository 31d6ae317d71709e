package contract

// customerAddressFields returns the fields of a customer's address (contract 3.2;
// customers 3), in the order in which the original writes them.
func customerAddressFields() *FieldTable {
	// The document's table does not distinguish roles (customers 8).
	ownRecord := cells[RoleSet]{documented: onlyCustomer}
	t := newFieldTable([]Field{
		{Name: "entity_id", Integer: true, Read: adminAndCustomer},
		{Name: "created_at", Read: adminAndCustomer, isoTime: cells[shown]{magento: inSingle}},
		{Name: "updated_at", Read: adminAndCustomer},
		{Name: "prefix", Read: adminAndCustomer, Write: onlyAdmin, alsoWrite: ownRecord, withheld: cells[RoleSet]{magento: onlyCustomer}},
		{Name: "firstname", Read: adminAndCustomer, Write: adminAndCustomer},
		{Name: "middlename", Read: adminAndCustomer, Write: adminAndCustomer},
		{Name: "lastname", Read: adminAndCustomer, Write: adminAndCustomer},
		{Name: "suffix", Read: adminAndCustomer, Write: onlyAdmin, alsoWrite: ownRecord, withheld: cells[RoleSet]{magento: onlyCustomer}},
		{Name: "company", Read: adminAndCustomer, Write: adminAndCustomer},
		{Name: "city", Read: adminAndCustomer, Write: adminAndCustomer},
		{Name: "country_id", Read: adminAndCustomer, Write: adminAndCustomer},
		{Name: "region", Read: adminAndCustomer, Write: adminAndCustomer},
		{Name: "postcode", Read: adminAndCustomer, Write: adminAndCustomer},
		{Name: "telephone", Read: adminAndCustomer, Write: adminAndCustomer},
		{Name: "fax", Read: adminAndCustomer, Write: adminAndCustomer},
		{Name: "vat_id", Read: adminAndCustomer, Write: adminAndCustomer},
		{Name: "street", Read: adminAndCustomer, Write: adminAndCustomer},
		{Name: "is_default_billing", Read: adminAndCustomer, Native: true, Write: adminAndCustomer, Filter: Unfilterable},
		{Name: "is_default_shipping", Read: adminAndCustomer, Native: true, Write: adminAndCustomer, Filter: Unfilterable},
	})
	for i := range t.Fields {
		f := &t.Fields[i]
		f.Attribute = f.Name
		f.shown.magento = inBoth
	}
	t.mark(personal, "prefix", "firstname", "middlename", "lastname", "suffix", "company", "city", "region", "postcode", "telephone",
		"fax", "vat_id", "street")
	t.EmptyIsNull, t.tail = true, []string{"street"}
	t.arrange(documented, inBoth, "entity_id", "firstname", "lastname", "middlename", "prefix", "suffix", "company", "fax",
		"vat_id", "street", "city", "region", "postcode", "country_id", "telephone", "is_default_billing", "is_default_shipping")
	t.Rules = customerAddressRules()
	return t
}
