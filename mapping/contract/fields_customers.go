package contract

// CustomerFields returns the fields of a customer (Resources / Customer;
// customers 3). The table has the order in which the original writes them.
func CustomerFields() *FieldTable {
	t := newFieldTable([]Field{
		{Name: "entity_id", Read: onlyAdmin},
		{Name: "website_id", Read: onlyAdmin},
		{Name: "email", Read: adminAndCustomer},
		{Name: "group_id", Read: onlyAdmin},
		{Name: "created_at", Read: adminAndCustomer, isoTime: [columns]shown{magento: inSingle}},
		{Name: "updated_at", Read: adminAndCustomer},
		{Name: "disable_auto_group_change", Read: onlyAdmin},
		{Name: "prefix", Read: onlyAdmin},
		{Name: "firstname", Read: adminAndCustomer},
		{Name: "middlename", Read: adminAndCustomer},
		{Name: "lastname", Read: adminAndCustomer},
		{Name: "suffix", Read: onlyAdmin},
		{Name: "taxvat", Read: onlyAdmin},
		{Name: "created_in", Read: onlyAdmin},
		{Name: "confirmation", Read: onlyAdmin},
		{Name: "dob", Read: onlyAdmin},
		{Name: "gender", Read: onlyAdmin},
		// The original has no such attributes.
		{Name: "reward_update_notification", Read: onlyAdmin, withheld: [columns]RoleSet{magento: onlyAdmin}},
		{Name: "reward_warning_notification", Read: onlyAdmin, withheld: [columns]RoleSet{magento: onlyAdmin}},
		// The original adds it to a record of its own, so its lists never have it.
		{Name: "last_logged_in", Read: onlyAdmin, Sort: SortsNothing, Filter: Unfilterable, lacking: [columns]shown{magento: inList}},
	})
	for i := range t.Fields {
		f := &t.Fields[i]
		f.Attribute = f.Name
		f.shown[magento] = inBoth
	}
	t.EmptyIsNull = true

	list := []string{"entity_id", "website_id", "email", "group_id", "created_at", "disable_auto_group_change",
		"firstname", "lastname", "created_in"}
	t.arrange(documented, 1<<ListXML, list...)
	t.arrange(documented, 1<<ListJSON, append(list, "prefix", "suffix", "taxvat", "dob",
		"reward_update_notification", "reward_warning_notification", "gender")...)

	single := []string{"entity_id", "website_id", "email", "group_id", "created_at", "disable_auto_group_change",
		"created_in", "firstname", "lastname", "prefix", "middlename", "suffix", "taxvat"}
	t.arrange(documented, 1<<SingleJSON, single...)
	t.arrange(documented, 1<<SingleXML, append(single, "last_logged_in")...)
	return t
}
