package contract

// customerFields returns the fields of a customer (contract 3.1; customers 3), in the
// order in which the original writes them.
func customerFields() *FieldTable {
	// The document lets a Customer change fields that the original hides on the
	// storefront (customers 5).
	ownRecord := cells[RoleSet]{documented: onlyCustomer}
	t := newFieldTable([]Field{
		{Name: "entity_id", Read: onlyAdmin},
		{Name: "website_id", Read: onlyAdmin, Write: onlyAdmin},
		{Name: "email", Read: adminAndCustomer, Write: adminAndCustomer},
		{Name: "group_id", Read: onlyAdmin, Write: onlyAdmin},
		{Name: "created_at", Read: adminAndCustomer, isoTime: cells[shown]{magento: inSingle}},
		{Name: "updated_at", Read: adminAndCustomer},
		{Name: "disable_auto_group_change", Read: onlyAdmin, Write: onlyAdmin},
		{Name: "prefix", Read: onlyAdmin, Write: onlyAdmin, alsoWrite: ownRecord},
		{Name: "firstname", Read: adminAndCustomer, Write: adminAndCustomer},
		{Name: "middlename", Read: adminAndCustomer, Write: adminAndCustomer},
		{Name: "lastname", Read: adminAndCustomer, Write: adminAndCustomer},
		{Name: "suffix", Read: onlyAdmin, Write: onlyAdmin, alsoWrite: ownRecord},
		{Name: "taxvat", Read: onlyAdmin, Write: onlyAdmin, alsoWrite: ownRecord},
		{Name: "created_in", Read: onlyAdmin},
		{Name: "confirmation", Read: onlyAdmin, Write: onlyAdmin},
		{Name: "dob", Read: onlyAdmin, Write: onlyAdmin, alsoWrite: ownRecord},
		{Name: "gender", Read: onlyAdmin, Write: onlyAdmin, alsoWrite: ownRecord},
		// The original has no such attributes.
		{Name: "reward_update_notification", Read: onlyAdmin, withheld: cells[RoleSet]{magento: onlyAdmin}},
		{Name: "reward_warning_notification", Read: onlyAdmin, withheld: cells[RoleSet]{magento: onlyAdmin}},
		// The original adds it to single records only, so its lists never have it.
		{Name: "last_logged_in", Read: onlyAdmin, Sort: SortIgnored, Filter: Unfilterable, absent: cells[shown]{magento: inList}},
		// The original ignores it.
		{Name: "password", alsoWrite: cells[RoleSet]{documented: adminAndCustomer}},
	})
	for i := range t.Fields {
		f := &t.Fields[i]
		if f.Name != "password" { // stored as a hash, and never shown
			f.Attribute = f.Name
		}
		f.shown.magento = inBoth
	}
	t.mark(personal, "email", "prefix", "firstname", "middlename", "lastname", "suffix", "taxvat", "dob", "gender")
	t.mark(secret, "password", "confirmation") // the second is the key that confirms an account
	t.mark(integer, "entity_id", "website_id", "group_id", "disable_auto_group_change", "gender", "reward_update_notification",
		"reward_warning_notification")
	t.Rules = customerRules()
	t.EmptyIsNull, t.tail = true, []string{"last_logged_in"}

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
