package adapter

// customerSchema returns the schema of customer accounts. An optional text that is absent
// was never set; null was set to an empty value, and becomes absent with the next update
// that does not set it (customers 5.2).
func customerSchema() *Schema {
	return NewSchema(Customers, "entity_id", []Attribute{
		{Name: "entity_id", Kind: KindInteger, ReadOnly: true, Doc: "id of the customer"},
		{Name: "website_id", Kind: KindInteger, Refers: Websites, Required: true, Fixed: true, Doc: "id of the website of registration, or 0"},
		{Name: "store_id", Kind: KindInteger, Refers: Stores, Doc: "id of the store view of registration, 0 when created by an administrator"},
		{Name: "email", Kind: KindText, Required: true, Doc: "e-mail address, unique within the website without regard to letter case"},
		{Name: "group_id", Kind: KindInteger, Refers: CustomerGroups, Required: true, Doc: "id of the customer group, not 0"},
		{Name: "created_at", Kind: KindTime, Required: true, ReadOnly: true, Doc: "when the customer was created"},
		{Name: "updated_at", Kind: KindTime, Required: true, ReadOnly: true, Doc: "when the customer, or one of the default addresses, was last changed"},
		{Name: "disable_auto_group_change", Kind: KindInteger, Required: true, Doc: "1: the VAT number does not determine the group"},
		{Name: "prefix", Kind: KindText, Doc: "title before the name"},
		{Name: "firstname", Kind: KindText, Doc: "first name"},
		{Name: "middlename", Kind: KindText, Doc: "middle name or initial"},
		{Name: "lastname", Kind: KindText, Doc: "last name"},
		{Name: "suffix", Kind: KindText, Doc: "title after the name"},
		{Name: "taxvat", Kind: KindText, Doc: "tax or VAT number"},
		{Name: "created_in", Kind: KindText, Doc: "name of the store view of registration, Admin when created by an administrator"},
		{Name: "confirmation", Kind: KindText, Doc: "key that confirms the e-mail address; absent after confirmation"},
		{Name: "dob", Kind: KindTime, Doc: "date of birth, at 00:00:00"},
		{Name: "gender", Kind: KindInteger, Doc: "1 male, 2 female"},
		{Name: "reward_update_notification", Kind: KindInteger, Doc: "1: wants e-mail when reward points change"},
		{Name: "reward_warning_notification", Kind: KindInteger, Doc: "1: wants e-mail before reward points expire"},
		{Name: "last_logged_in", Kind: KindTime, ReadOnly: true, Doc: "when the customer last logged in"},
		{Name: "password_hash", Kind: KindText, Doc: "hash of the password, in a form that VerifyPassword supports; absent: no login"},
		{Name: "password", Kind: KindText, WriteOnly: true, Doc: "a new password in plain text, without blanks around it, for systems that the write is forwarded to; stored only as password_hash"},
	}).Described("customers").OwnedBy("entity_id").UniqueBy("website_id", "email").WithDistinctNulls()
}

// customerAddressSchema returns the schema of customers' addresses. Absent and null are as
// in customerSchema.
func customerAddressSchema() *Schema {
	return NewSchema(CustomerAddresses, "entity_id", []Attribute{
		{Name: "entity_id", Kind: KindInteger, ReadOnly: true, Doc: "id of the address"},
		{Name: "customer_id", Kind: KindInteger, Refers: Customers, Required: true, Fixed: true, Doc: "id of its customer"},
		{Name: "created_at", Kind: KindTime, Required: true, ReadOnly: true, Doc: "when the address was created"},
		{Name: "updated_at", Kind: KindTime, Required: true, ReadOnly: true, Doc: "when the address was last changed"},
		{Name: "prefix", Kind: KindText, Doc: "title before the name"},
		{Name: "firstname", Kind: KindText, Doc: "first name"},
		{Name: "middlename", Kind: KindText, Doc: "middle name or initial"},
		{Name: "lastname", Kind: KindText, Doc: "last name"},
		{Name: "suffix", Kind: KindText, Doc: "title after the name"},
		{Name: "company", Kind: KindText, Doc: "company"},
		{Name: "street", Kind: KindTexts, Doc: "lines of the street address, none of them with a line break"},
		{Name: "city", Kind: KindText, Doc: "city"},
		{Name: "country_id", Kind: KindText, Doc: "two-letter code of the country"},
		{Name: "region", Kind: KindText, Doc: "name of the region"},
		{Name: "region_id", Kind: KindInteger, Doc: "id of the region in the directory of regions; 0 if it is not in the directory; empty if only its name is known"},
		{Name: "postcode", Kind: KindText, Doc: "postal code"},
		{Name: "telephone", Kind: KindText, Doc: "telephone number"},
		{Name: "fax", Kind: KindText, Doc: "fax number"},
		{Name: "vat_id", Kind: KindText, Doc: "VAT number"},
		{Name: "is_default_billing", Kind: KindInteger, Required: true, Exclusive: true, Doc: "1: default billing address; setting it clears it on the customer's other addresses"},
		{Name: "is_default_shipping", Kind: KindInteger, Required: true, Exclusive: true, Doc: "1: default shipping address; setting it clears it on the customer's other addresses"},
		{Name: "leaves_customer", Kind: KindInteger, WriteOnly: true, Doc: "1, in a change of a default address: the customer's updated_at stays as it is"},
		{Name: "customer_group_id", Kind: KindInteger, Refers: CustomerGroups, ReadOnly: true, OnDemand: true, Doc: "id of the customer's group"},
	}).Described("addresses of customers").PartOf(Customers, "customer_id").OwnedBy("customer_id").WithDistinctNulls()
}
