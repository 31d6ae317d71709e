package adapter

// orderSchema returns the schema of orders, without their lines, addresses and comments,
// which are resources of their own. Amounts without base_ are in the order's currency,
// amounts with base_ in the base currency.
func orderSchema() *Schema {
	return NewSchema(Orders, "entity_id", []Attribute{
		{Name: "entity_id", Kind: KindInteger, ReadOnly: true, Doc: "id of the order"},
		{Name: "increment_id", Kind: KindText, ReadOnly: true, Doc: "order number, as shown to customers"},
		{Name: "customer_id", Kind: KindInteger, Refers: Customers, ReadOnly: true, Doc: "id of the customer; null for a guest's order and after the customer was deleted"},
		{Name: "store_id", Kind: KindInteger, Refers: Stores, Required: true, ReadOnly: true, Doc: "id of the store view it was placed in"},
		{Name: "state", Kind: KindText, ReadOnly: true, Doc: "state of the order, such as new or processing"},
		{Name: "status", Kind: KindText, ReadOnly: true, Doc: "status code; every new comment sets it"},
		{Name: "created_at", Kind: KindTime, Required: true, ReadOnly: true, Doc: "when the order was placed"},
		{Name: "updated_at", Kind: KindTime, Required: true, ReadOnly: true, Doc: "when the order was last changed"},
		{Name: "coupon_code", Kind: KindText, ReadOnly: true, Doc: "coupon used"},
		{Name: "shipping_description", Kind: KindText, ReadOnly: true, Doc: "description of the shipping method"},
		{Name: "discount_description", Kind: KindText, ReadOnly: true, Doc: "reason for the discount"},
		{Name: "remote_ip", Kind: KindText, ReadOnly: true, Doc: "network address it was placed from"},
		{Name: "base_currency_code", Kind: KindText, ReadOnly: true, Doc: "base currency"},
		{Name: "store_currency_code", Kind: KindText, ReadOnly: true, Doc: "the store view's currency"},
		{Name: "order_currency_code", Kind: KindText, ReadOnly: true, Doc: "the order's currency"},
		{Name: "store_name", Kind: KindText, ReadOnly: true, Doc: "website, group and store view names, one a line"},
		{Name: "store_to_order_rate", Kind: KindDecimal, ReadOnly: true, Doc: "rate from the store view's currency to the order's"},
		{Name: "payment_method", Kind: KindText, ReadOnly: true, Doc: "payment method code"},
		{Name: "gift_message_from", Kind: KindText, ReadOnly: true, Doc: "sender of the gift message"},
		{Name: "gift_message_to", Kind: KindText, ReadOnly: true, Doc: "recipient of the gift message"},
		{Name: "gift_message_body", Kind: KindText, ReadOnly: true, Doc: "text of the gift message"},
		{Name: "tax_name", Kind: KindText, ReadOnly: true, Doc: "title of the first tax"},
		{Name: "tax_rate", Kind: KindDecimal, ReadOnly: true, Doc: "rate of the first tax, in percent"},
		{Name: "subtotal", Kind: KindDecimal, ReadOnly: true, Doc: "lines without tax"},
		{Name: "base_subtotal", Kind: KindDecimal, ReadOnly: true, Doc: "lines without tax"},
		{Name: "subtotal_incl_tax", Kind: KindDecimal, ReadOnly: true, Doc: "lines with tax"},
		{Name: "base_subtotal_incl_tax", Kind: KindDecimal, ReadOnly: true, Doc: "lines with tax"},
		{Name: "discount_amount", Kind: KindDecimal, ReadOnly: true, Doc: "discount"},
		{Name: "base_discount_amount", Kind: KindDecimal, ReadOnly: true, Doc: "discount"},
		{Name: "shipping_amount", Kind: KindDecimal, ReadOnly: true, Doc: "shipping without tax"},
		{Name: "base_shipping_amount", Kind: KindDecimal, ReadOnly: true, Doc: "shipping without tax"},
		{Name: "shipping_tax_amount", Kind: KindDecimal, ReadOnly: true, Doc: "tax on shipping"},
		{Name: "base_shipping_tax_amount", Kind: KindDecimal, ReadOnly: true, Doc: "tax on shipping"},
		{Name: "shipping_incl_tax", Kind: KindDecimal, ReadOnly: true, Doc: "shipping with tax"},
		{Name: "shipping_discount_amount", Kind: KindDecimal, ReadOnly: true, Doc: "discount on shipping"},
		{Name: "base_shipping_discount_amount", Kind: KindDecimal, ReadOnly: true, Doc: "discount on shipping"},
		{Name: "tax_amount", Kind: KindDecimal, ReadOnly: true, Doc: "tax"},
		{Name: "base_tax_amount", Kind: KindDecimal, ReadOnly: true, Doc: "tax"},
		{Name: "grand_total", Kind: KindDecimal, ReadOnly: true, Doc: "grand total"},
		{Name: "base_grand_total", Kind: KindDecimal, ReadOnly: true, Doc: "grand total"},
		{Name: "total_paid", Kind: KindDecimal, ReadOnly: true, Doc: "amount paid so far; null before the first payment"},
		{Name: "base_total_paid", Kind: KindDecimal, ReadOnly: true, Doc: "amount paid so far; null before the first payment"},
		{Name: "total_refunded", Kind: KindDecimal, ReadOnly: true, Doc: "amount refunded so far; null before the first refund"},
		{Name: "base_total_refunded", Kind: KindDecimal, ReadOnly: true, Doc: "amount refunded so far; null before the first refund"},
		{Name: "total_due", Kind: KindDecimal, ReadOnly: true, Doc: "amount still to be paid"},
		{Name: "base_total_due", Kind: KindDecimal, ReadOnly: true, Doc: "amount still to be paid"},
	}).Described("orders with their lines, addresses and comments").OwnedBy("customer_id")
}

// orderItemSchema returns the schema of order lines.
func orderItemSchema() *Schema {
	return NewSchema(OrderItems, "item_id", []Attribute{
		{Name: "item_id", Kind: KindInteger, ReadOnly: true, Doc: "id of the line"},
		{Name: "order_id", Kind: KindInteger, Refers: Orders, Required: true, ReadOnly: true, Doc: "id of its order"},
		{Name: "parent_item_id", Kind: KindInteger, ReadOnly: true, Doc: "id of the line it is part of"},
		{Name: "product_id", Kind: KindInteger, Refers: Products, ReadOnly: true, Doc: "id of the product; it stays when the product is deleted"},
		{Name: "created_at", Kind: KindTime, Required: true, ReadOnly: true, Doc: "when the line was created"},
		{Name: "updated_at", Kind: KindTime, Required: true, ReadOnly: true, Doc: "when the line was last changed; every new comment of the order sets it"},
		{Name: "sku", Kind: KindText, ReadOnly: true, Doc: "the product's SKU when it was ordered"},
		{Name: "name", Kind: KindText, ReadOnly: true, Doc: "the product's name when it was ordered"},
		{Name: "qty_canceled", Kind: KindDecimal, ReadOnly: true, Doc: "quantity cancelled"},
		{Name: "qty_invoiced", Kind: KindDecimal, ReadOnly: true, Doc: "quantity invoiced"},
		{Name: "qty_ordered", Kind: KindDecimal, ReadOnly: true, Doc: "quantity ordered"},
		{Name: "qty_refunded", Kind: KindDecimal, ReadOnly: true, Doc: "quantity refunded"},
		{Name: "qty_shipped", Kind: KindDecimal, ReadOnly: true, Doc: "quantity shipped"},
		{Name: "price", Kind: KindDecimal, ReadOnly: true, Doc: "unit price without tax"},
		{Name: "base_price", Kind: KindDecimal, ReadOnly: true, Doc: "unit price without tax"},
		{Name: "original_price", Kind: KindDecimal, ReadOnly: true, Doc: "unit price before discounts"},
		{Name: "base_original_price", Kind: KindDecimal, ReadOnly: true, Doc: "unit price before discounts"},
		{Name: "tax_percent", Kind: KindDecimal, ReadOnly: true, Doc: "tax rate, in percent"},
		{Name: "tax_amount", Kind: KindDecimal, ReadOnly: true, Doc: "tax on the line"},
		{Name: "base_tax_amount", Kind: KindDecimal, ReadOnly: true, Doc: "tax on the line"},
		{Name: "discount_amount", Kind: KindDecimal, ReadOnly: true, Doc: "discount on the line"},
		{Name: "base_discount_amount", Kind: KindDecimal, ReadOnly: true, Doc: "discount on the line"},
		{Name: "row_total", Kind: KindDecimal, ReadOnly: true, Doc: "the line without tax"},
		{Name: "base_row_total", Kind: KindDecimal, ReadOnly: true, Doc: "the line without tax"},
		{Name: "price_incl_tax", Kind: KindDecimal, ReadOnly: true, Doc: "unit price with tax"},
		{Name: "base_price_incl_tax", Kind: KindDecimal, ReadOnly: true, Doc: "unit price with tax"},
		{Name: "row_total_incl_tax", Kind: KindDecimal, ReadOnly: true, Doc: "the line with tax"},
		{Name: "base_row_total_incl_tax", Kind: KindDecimal, ReadOnly: true, Doc: "the line with tax"},
	}).PartOf(Orders, "order_id")
}

// orderAddressSchema returns the schema of the billing and shipping addresses of orders, as
// they were when the orders were placed.
func orderAddressSchema() *Schema {
	return NewSchema(OrderAddresses, "entity_id", []Attribute{
		{Name: "entity_id", Kind: KindInteger, ReadOnly: true, Doc: "id of the order address"},
		{Name: "parent_id", Kind: KindInteger, Refers: Orders, Required: true, ReadOnly: true, Doc: "id of its order"},
		{Name: "address_type", Kind: KindText, Required: true, ReadOnly: true, Doc: "billing or shipping"},
		{Name: "region", Kind: KindText, ReadOnly: true, Doc: "name of the region"},
		{Name: "postcode", Kind: KindText, ReadOnly: true, Doc: "postal code"},
		{Name: "lastname", Kind: KindText, ReadOnly: true, Doc: "last name"},
		{Name: "street", Kind: KindText, ReadOnly: true, Doc: "street address, lines joined by a line feed"},
		{Name: "city", Kind: KindText, ReadOnly: true, Doc: "city"},
		{Name: "email", Kind: KindText, ReadOnly: true, Doc: "e-mail address"},
		{Name: "telephone", Kind: KindText, ReadOnly: true, Doc: "telephone number"},
		{Name: "country_id", Kind: KindText, ReadOnly: true, Doc: "two-letter code of the country"},
		{Name: "firstname", Kind: KindText, ReadOnly: true, Doc: "first name"},
		{Name: "prefix", Kind: KindText, ReadOnly: true, Doc: "title before the name"},
		{Name: "middlename", Kind: KindText, ReadOnly: true, Doc: "middle name or initial"},
		{Name: "suffix", Kind: KindText, ReadOnly: true, Doc: "title after the name"},
		{Name: "company", Kind: KindText, ReadOnly: true, Doc: "company"},
	}).PartOf(Orders, "parent_id")
}

// orderCommentSchema returns the schema of the entries in an order's history. Creating one
// sets the order's status to the comment's, even to null; an absent status becomes the
// order's. Either way updated_at of the order and of its lines is set to the current time.
// Changing or deleting a comment does not change the order.
func orderCommentSchema() *Schema {
	return NewSchema(OrderComments, "entity_id", []Attribute{
		{Name: "entity_id", Kind: KindInteger, ReadOnly: true, Doc: "id of the comment"},
		{Name: "parent_id", Kind: KindInteger, Refers: Orders, Required: true, Fixed: true, Doc: "id of its order"},
		{Name: "created_at", Kind: KindTime, Required: true, ReadOnly: true, Doc: "when the comment was made"},
		{Name: "comment", Kind: KindText, Doc: "the text"},
		{Name: "is_customer_notified", Kind: KindInteger, Required: true, Doc: "1: the customer was notified by e-mail, 0: not notified, 2: not applicable"},
		{Name: "is_visible_on_front", Kind: KindInteger, Required: true, Doc: "1: visible to the customer"},
		{Name: "status", Kind: KindText, Doc: "status that the comment gave the order"},
	}).PartOf(Orders, "parent_id")
}
