package listquery_test

import (
	"strings"
	"testing"

	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// The fields of a stock item in their order, and those of the document's list
// (stock_orders 2.1).
const (
	allFields = "item_id product_id stock_id qty min_qty use_config_min_qty is_qty_decimal backorders use_config_backorders " +
		"min_sale_qty use_config_min_sale_qty max_sale_qty use_config_max_sale_qty is_in_stock low_stock_date notify_stock_qty " +
		"use_config_notify_stock_qty manage_stock use_config_manage_stock stock_status_changed_auto use_config_qty_increments " +
		"qty_increments use_config_enable_qty_inc enable_qty_increments is_decimal_divided"
	documentList = "item_id qty backorders min_sale_qty max_sale_qty low_stock_date manage_stock stock_status_changed_auto enable_qty_increments"
)

// alwaysAbsent holds names that select nothing without an error.
const alwaysAbsent = "(nothing)"

func TestSelect(t *testing.T) {
	tests := []struct {
		name, query                string
		view                       contract.View
		want, unlessDocumentedWant string // the second only where the dialects differ
	}{
		{"single unasked", "", contract.SingleJSON, allFields, ""},
		{"list unasked", "", contract.ListJSON, documentList, allFields},
		{"names", "attrs=qty,item_id", contract.ListJSON, "item_id qty", ""},
		{"the order of the record, not of the names", "attrs=qty,item_id", contract.SingleJSON, "item_id qty", ""},
		{"a field the list does not show", "attrs=min_qty", contract.ListJSON, "min_qty", ""},
		{"blanks around names", "attrs=+qty+,%09item_id", contract.ListJSON, "item_id qty", ""},
		{"unknown names beside a known one", "attrs=nope,qty,,QTY", contract.ListJSON, "qty", ""},
		{"a name twice", "attrs=qty,qty", contract.ListJSON, "qty", ""},
		{"list", "attrs[]=qty&attrs[]=item_id", contract.ListJSON, "item_id qty", ""},
		{"list with blanks", "attrs[]=+qty+&attrs[x]=nope", contract.ListJSON, "qty", ""},
		{"commas in a list are part of a name", "attrs[]=qty,item_id&attrs[]=min_qty", contract.ListJSON, "min_qty", ""},
		{"last of two", "attrs=qty&attrs=item_id", contract.ListJSON, "item_id", ""},
		{"empty", "attrs=", contract.ListJSON, "", ""},
		{"without equals sign", "attrs", contract.SingleJSON, "", ""},
		{"unknown", "attrs=nope", contract.SingleJSON, "", ""},
		{"empty list entry", "attrs[]=", contract.ListJSON, "", ""},
		{"nested list", "attrs[a][b]=qty", contract.ListJSON, "", ""},
		{"fields that are never filled", "attrs=created_at,updated_at", contract.ListJSON, alwaysAbsent, ""},
		{"both names in one", "attrs=created_at updated_at", contract.ListJSON, "", ""},
		{"hidden field beside a shown one", "attrs=created_at,qty", contract.SingleJSON, "qty", ""},
		{"attribute of the store, no field", "attrs=product_created_at", contract.SingleJSON, "", ""},
		{"names are case-sensitive", "ATTRS=qty", contract.ListJSON, documentList, allFields},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inBoth(t, func(t *testing.T, d *contract.Dialect) {
				want := test.want
				if d.Name == "magento" && test.unlessDocumentedWant != "" {
					want = test.unlessDocumentedWant
				}
				r := reader(d)
				query := codec.ParseForm(test.query)
				fields, nothing := r.Select(test.view, &query)
				var names []string
				for _, i := range fields {
					names = append(names, r.Fields.Fields[i].Name)
				}
				if want == alwaysAbsent {
					want = ""
					if nothing {
						t.Error("names that are never filled are taken for an error")
					}
					nothing = true
				}
				if got := strings.Join(names, " "); got != want {
					t.Errorf("got %q, want %q", got, want)
				}
				if nothing != (want == "") {
					t.Errorf("nothing is %t for %q", nothing, want)
				}
			})
		})
	}
}
