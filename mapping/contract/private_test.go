package contract

import (
	"strings"
	"testing"
)

// TestPrivateFields makes sure that every field of customers, addresses and orders is
// classified as private or public. The test lists the public ones; a new field fails until
// it is listed here or marked in its table.
func TestPrivateFields(t *testing.T) {
	f := StandardFields()
	for _, c := range []struct {
		name   string
		table  *FieldTable
		public string
	}{
		{"customers", f.Customers, `entity_id website_id group_id created_at updated_at disable_auto_group_change created_in
			reward_update_notification reward_warning_notification last_logged_in`},
		{"customer addresses", f.CustomerAddresses, `entity_id created_at updated_at country_id is_default_billing is_default_shipping`},
		{"orders", f.Orders, `entity_id status shipping_description customer_id base_discount_amount base_grand_total base_shipping_amount
			base_shipping_tax_amount base_subtotal base_tax_amount base_total_paid base_total_refunded discount_amount grand_total
			shipping_amount shipping_tax_amount store_to_order_rate subtotal tax_amount total_paid total_refunded
			base_shipping_discount_amount base_subtotal_incl_tax base_total_due shipping_discount_amount subtotal_incl_tax total_due
			increment_id base_currency_code store_currency_code store_name created_at updated_at shipping_incl_tax payment_method
			tax_name tax_rate addresses order_items order_comments _payment_method _tax_name _tax_rate`},
		{"lines of orders", f.OrderItems, `item_id parent_item_id created_at updated_at sku name qty_canceled qty_invoiced qty_ordered
			qty_refunded qty_shipped price base_price original_price base_original_price tax_percent tax_amount base_tax_amount
			discount_amount base_discount_amount row_total base_row_total price_incl_tax base_price_incl_tax row_total_incl_tax
			base_row_total_incl_tax`},
		{"addresses of orders", f.OrderAddresses, `country_id address_type`},
		{"comments", f.OrderComments, `is_customer_notified is_visible_on_front status created_at`},
		{"lists of comments", f.OrderCommentList, `is_customer_notified is_visible_on_front status created_at`},
	} {
		t.Run(c.name, func(t *testing.T) {
			public := map[string]bool{}
			for _, name := range strings.Fields(c.public) {
				public[name] = true
				if _, ok := c.table.Index(name); !ok {
					t.Errorf("there is no field %s", name)
				}
			}
			for i := range c.table.Fields {
				field := &c.table.Fields[i]
				if field.Private() == public[field.Name] {
					t.Errorf("%s: private %t, and listed as telling of nobody: %t", field.Name, field.Private(), public[field.Name])
				}
			}
		})
	}
}

// TestPrivateOfStores checks that fields that a store adds to customers count as personal,
// and that fields that it adds to products do not.
func TestPrivateOfStores(t *testing.T) {
	f := tables(t, FieldOptions{Added: []AddedField{
		{Resource: "customers", Name: "shop_hobby", Read: []Role{Admin}},
		{Resource: "customer_addresses", Name: "shop_door", Read: []Role{Admin}},
		{Resource: "products", Name: "shop_material", Read: []Role{Admin}},
	}})
	for name, c := range map[string]struct {
		table *FieldTable
		want  bool
	}{
		"shop_hobby": {f.Customers, true}, "shop_door": {f.CustomerAddresses, true}, "shop_material": {f.PublicProducts, false},
	} {
		i, ok := c.table.Index(name)
		if !ok || c.table.Fields[i].Private() != c.want {
			t.Errorf("%s: there %t, private %t, want %t", name, ok, ok && c.table.Fields[i].Private(), c.want)
		}
	}
}

// TestRouteFields checks that a route finds the fields of every role, and the fields of nested
// records.
func TestRouteFields(t *testing.T) {
	table := NewTable(Routes(StandardFields()))
	for _, c := range []struct {
		path, field, part       string
		known, private, persons bool
	}{
		{"/products", "cost", "", true, false, false},
		{"/products", "final_price_with_tax", "", true, false, false},
		{"/products/1", "stock_data", "qty", true, false, false},
		{"/products", "nonsense", "", false, false, false},
		{"/customers/1", "email", "", true, true, true},
		{"/customers/1", "password", "", true, true, true},
		{"/orders", "addresses", "street", true, true, true},
		{"/orders", "order_items", "sku", true, false, true},
		{"/orders/1/comments", "comment", "", true, true, true},
		{"/stockitems", "qty", "", true, false, false},
	} {
		t.Run(c.path+" "+c.field+" "+c.part, func(t *testing.T) {
			route, _ := table.Match(c.path)
			field, known := route.Field(c.field)
			if known && c.part != "" {
				var i int
				if i, known = field.Part.Index(c.part); known {
					field = &field.Part.Fields[i]
				}
			}
			if known != c.known || known && field.Private() != c.private || route.Personal() != c.persons {
				t.Errorf("known %t, of persons %t, field %+v", known, route.Personal(), field)
			}
		})
	}
}
