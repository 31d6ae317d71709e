package contract

// CustomerAddressFields returns the fields of a customer's address (Resources /
// Customer address; customers 3). The table has the order in which the original
// writes them.
func CustomerAddressFields() *FieldTable {
	t := newFieldTable([]Field{
		{Name: "entity_id", Read: adminAndCustomer},
		{Name: "created_at", Read: adminAndCustomer, isoTime: [columns]shown{magento: inSingle}},
		{Name: "updated_at", Read: adminAndCustomer},
		{Name: "prefix", Read: adminAndCustomer, withheld: [columns]RoleSet{magento: onlyCustomer}},
		{Name: "firstname", Read: adminAndCustomer},
		{Name: "middlename", Read: adminAndCustomer},
		{Name: "lastname", Read: adminAndCustomer},
		{Name: "suffix", Read: adminAndCustomer, withheld: [columns]RoleSet{magento: onlyCustomer}},
		{Name: "company", Read: adminAndCustomer},
		{Name: "city", Read: adminAndCustomer},
		{Name: "country_id", Read: adminAndCustomer},
		{Name: "region", Read: adminAndCustomer},
		{Name: "postcode", Read: adminAndCustomer},
		{Name: "telephone", Read: adminAndCustomer},
		{Name: "fax", Read: adminAndCustomer},
		{Name: "vat_id", Read: adminAndCustomer},
		{Name: "street", Read: adminAndCustomer},
		{Name: "is_default_billing", Read: adminAndCustomer, Native: true, Filter: Unfilterable},
		{Name: "is_default_shipping", Read: adminAndCustomer, Native: true, Filter: Unfilterable},
	})
	for i := range t.Fields {
		f := &t.Fields[i]
		f.Attribute = f.Name
		f.shown[magento] = inBoth
	}
	t.EmptyIsNull = true
	t.arrange(documented, inBoth, "entity_id", "firstname", "lastname", "middlename", "prefix", "suffix", "company", "fax",
		"vat_id", "street", "city", "region", "postcode", "country_id", "telephone", "is_default_billing", "is_default_shipping")
	return t
}
