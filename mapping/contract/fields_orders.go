package contract

import (
	"slices"
	"strings"
)

// fieldLists are the lists of fields by which the contract describes a resource of the
// orders family. Each list is a text of names separated by commas and white space.
type fieldLists struct {
	// admin and customer are the fields that the original shows to the two roles, in
	// lists and single records alike. Both other lists are subsets of admin.
	admin, customer string
	// document holds the fields that the document shows to both roles; empty where it
	// gives no list, and the original's lists apply.
	document string
}

// rows returns the rows of the table. A role may filter and sort by the fields of the
// original's list for it, in all dialects; fields that only the document shows a Customer
// can be read, but not filtered or sorted by.
func (l fieldLists) rows() []Field {
	customer, document := splitNames(l.customer), splitNames(l.document)
	var rows []Field
	for _, name := range splitNames(l.admin) {
		f := Field{Name: name, Attribute: name, Read: onlyAdmin, shown: cells[shown]{magento: inBoth}}
		if slices.Contains(customer, name) {
			f.Read = adminAndCustomer
		}
		switch {
		case l.document == "":
			f.shown.documented = inBoth
		case slices.Contains(document, name):
			f.shown.documented = inBoth
			f.alsoRead.documented = onlyCustomer
		}
		rows = append(rows, f)
	}
	return rows
}

func splitNames(names string) []string {
	return strings.FieldsFunc(names, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\t' })
}

// orderFields returns the fields of an order (contract 3.10; stock_orders 3.1). The nested
// records have no attribute: they are separate records. A Guest who may list orders sees
// the Customer's fields (stock_orders 1.7).
func orderFields() *FieldTable {
	rows := fieldLists{
		admin: `entity_id, status, coupon_code, shipping_description, customer_id, base_discount_amount,
			base_grand_total, base_shipping_amount, base_shipping_tax_amount, base_subtotal, base_tax_amount,
			base_total_paid, base_total_refunded, discount_amount, grand_total, shipping_amount,
			shipping_tax_amount, store_to_order_rate, subtotal, tax_amount, total_paid, total_refunded,
			base_shipping_discount_amount, base_subtotal_incl_tax, base_total_due, shipping_discount_amount,
			subtotal_incl_tax, total_due, increment_id, base_currency_code, discount_description, remote_ip,
			store_currency_code, store_name, created_at, updated_at, shipping_incl_tax, payment_method,
			gift_message_from, gift_message_to, gift_message_body, tax_name, tax_rate, addresses, order_items,
			order_comments`,
		customer: `entity_id, status, shipping_description, base_grand_total, discount_amount, grand_total,
			shipping_amount, shipping_tax_amount, subtotal, tax_amount, subtotal_incl_tax, increment_id,
			base_currency_code, store_currency_code, created_at, updated_at, shipping_incl_tax, payment_method,
			gift_message_from, gift_message_to, gift_message_body, tax_name, tax_rate, addresses, order_items,
			order_comments`,
		// The last two lines are fields that the document returns without listing them.
		document: `customer_id, base_discount_amount, base_shipping_amount, base_shipping_tax_amount, base_subtotal,
			base_tax_amount, base_total_paid, base_total_refunded, tax_amount, total_paid, total_refunded,
			base_shipping_discount_amount, base_subtotal_incl_tax, base_total_due, total_due, base_currency_code,
			tax_name, tax_rate, addresses, order_items,
			entity_id, status, store_to_order_rate, increment_id, store_currency_code, store_name, created_at,
			updated_at, order_comments`,
	}.rows()
	// The original computes these fields after it has read the orders (wire 10).
	made := splitNames(`payment_method, gift_message_from, gift_message_to, gift_message_body, tax_name, tax_rate,
		addresses, order_items, order_comments`)
	for i := range rows {
		f := &rows[i]
		if slices.Contains(made, f.Name) {
			f.Sort, f.Filter = Unsortable, FilterCrash
		}
		if slices.Contains([]string{"addresses", "order_items", "order_comments"}, f.Name) {
			f.Attribute = ""
		}
	}
	// Internal names of such values in the original; they are never returned.
	for _, name := range []string{"_payment_method", "_gift_message", "_tax_name", "_tax_rate"} {
		rows = append(rows, Field{Name: name, Read: adminAndCustomer, Sort: SortCrash, Filter: FilterCrash,
			shown: both(hidden)})
	}
	for i := range rows {
		if rows[i].Read == adminAndCustomer {
			rows[i].Read = everybody
		}
	}
	t := newFieldTable(rows)
	t.mark(integer, "entity_id", "customer_id")
	t.mark(personal, "remote_ip", "gift_message_from", "gift_message_to", "gift_message_body", "_gift_message")
	t.mark(secret, "coupon_code", "discount_description") // the second often repeats the first
	return t
}

// orderItemFields returns the fields of an order line, alone and inside the order
// (contract 3.11; stock_orders 4).
func orderItemFields() *FieldTable {
	t := newFieldTable(fieldLists{
		admin: `item_id, parent_item_id, created_at, updated_at, sku, name, qty_canceled, qty_invoiced, qty_ordered,
			qty_refunded, qty_shipped, price, base_price, original_price, base_original_price, tax_percent,
			tax_amount, base_tax_amount, discount_amount, base_discount_amount, row_total, base_row_total,
			price_incl_tax, base_price_incl_tax, row_total_incl_tax, base_row_total_incl_tax`,
		customer: `item_id, parent_item_id, sku, name, qty_canceled, qty_invoiced, qty_ordered, qty_refunded,
			qty_shipped, price, row_total, price_incl_tax, row_total_incl_tax`,
		document: `sku, price, base_price, base_original_price, tax_percent, tax_amount, base_tax_amount,
			base_discount_amount, base_row_total, base_price_incl_tax, base_row_total_incl_tax`,
	}.rows())
	t.mark(integer, "item_id", "parent_item_id")
	return t
}

// orderAddressFields returns the fields of an order's address, alone and inside the order
// (contract 3.12; stock_orders 5).
func orderAddressFields() *FieldTable {
	const original = `region, postcode, lastname, street, city, email, telephone, country_id, firstname, address_type,
		prefix, middlename, suffix, company`
	t := newFieldTable(fieldLists{
		admin:    original,
		customer: original,
		document: `region, postcode, lastname, street, city, telephone, country_id, firstname, address_type, prefix,
			middlename, suffix, company`,
	}.rows())
	t.mark(personal, "region", "postcode", "lastname", "street", "city", "email", "telephone", "firstname", "prefix", "middlename",
		"suffix", "company")
	t.addAlwaysAbsent(adminAndCustomer, "created_at", "updated_at")
	return t
}

// orderCommentFields returns the fields of a comment, alone and inside its order
// (stock_orders 3.3 and 6).
func orderCommentFields() *FieldTable {
	t := newFieldTable(fieldLists{
		admin:    "is_customer_notified, is_visible_on_front, comment, status, created_at",
		customer: "comment, created_at",
	}.rows())
	t.mark(integer, "is_customer_notified", "is_visible_on_front")
	t.mark(personal, "comment")
	return t
}

// orderCommentListFields returns the fields of a comment in the comment list of its order,
// which cannot be sorted (stock_orders 6). A request for a new comment may contain all of
// them; its created_at is ignored.
func orderCommentListFields() *FieldTable {
	rows := fieldLists{
		admin:    "created_at, comment, is_customer_notified, is_visible_on_front, status",
		customer: "created_at, comment",
	}.rows()
	for i := range rows {
		rows[i].Sort, rows[i].Write = Unsortable, onlyAdmin
	}
	t := newFieldTable(rows)
	t.mark(integer, "is_customer_notified", "is_visible_on_front")
	t.mark(personal, "comment")
	return t
}
