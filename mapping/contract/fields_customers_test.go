package contract

import (
	"slices"
	"strings"
	"testing"
)

// shownFields returns the names of the fields that role reads by default in a view, in
// order.
func shownFields(t *FieldTable, d *Dialect, v View, role Role) string {
	var names []string
	for _, i := range t.Order(d, v) {
		if f := &t.Fields[i]; f.Readable(d, role, v) && f.Shown(d, v) && !f.Absent(d, role, v) {
			names = append(names, f.Name)
		}
	}
	return strings.Join(names, " ")
}

// TestCustomerViews compares the tables with the document's lists of fields (contract 3.1
// and 3.2) and the original's (customers 3).
func TestCustomerViews(t *testing.T) {
	const (
		originalList = "entity_id website_id email group_id created_at updated_at disable_auto_group_change prefix firstname " +
			"middlename lastname suffix taxvat created_in confirmation dob gender"
		originalOwn   = "email created_at updated_at firstname middlename lastname"
		documentList  = "entity_id website_id email group_id created_at disable_auto_group_change firstname lastname created_in"
		documentOne   = "entity_id website_id email group_id created_at disable_auto_group_change created_in firstname lastname prefix middlename suffix taxvat"
		documentOwn   = "email created_at firstname lastname middlename"
		originalHouse = "entity_id created_at updated_at prefix firstname middlename lastname suffix company city country_id region " +
			"postcode telephone fax vat_id street is_default_billing is_default_shipping"
		documentHouse = "entity_id firstname lastname middlename prefix suffix company fax vat_id street city region postcode " +
			"country_id telephone is_default_billing is_default_shipping"
	)
	houseOfCustomer := strings.NewReplacer(" prefix", "", " suffix", "").Replace(originalHouse)
	customer, address := customerFields(), customerAddressFields()
	tests := []struct {
		name   string
		fields *FieldTable
		d      *Dialect
		views  []View
		role   Role
		want   string
	}{
		{"customers in the original's lists", customer, Magento(), []View{ListJSON, ListXML}, Admin, originalList},
		{"a customer of the original's", customer, Magento(), []View{SingleJSON, SingleXML}, Admin, originalList + " last_logged_in"},
		{"own record of the original's", customer, Magento(), []View{ListJSON, ListXML, SingleJSON, SingleXML}, Customer, originalOwn},
		{"the document's list in XML", customer, Documented(), []View{ListXML}, Admin, documentList},
		{"the document's list in JSON", customer, Documented(), []View{ListJSON}, Admin,
			documentList + " prefix suffix taxvat dob reward_update_notification reward_warning_notification gender"},
		{"the document's customer in XML", customer, Documented(), []View{SingleXML}, Admin, documentOne + " last_logged_in"},
		{"the document's customer in JSON", customer, Documented(), []View{SingleJSON}, Admin, documentOne},
		{"the document's own record", customer, Documented(), []View{SingleJSON, SingleXML}, Customer, documentOwn},
		{"customers for a Guest", customer, Documented(), []View{ListJSON, SingleJSON}, Guest, ""},
		{"addresses of the original's", address, Magento(), []View{ListJSON, ListXML, SingleJSON, SingleXML}, Admin, originalHouse},
		{"own addresses of the original's", address, Magento(), []View{ListJSON, ListXML, SingleJSON, SingleXML}, Customer, houseOfCustomer},
		{"the document's addresses", address, Documented(), []View{ListJSON, ListXML, SingleJSON, SingleXML}, Admin, documentHouse},
		{"the document's own addresses", address, Documented(), []View{ListJSON, ListXML, SingleJSON, SingleXML}, Customer, documentHouse},
		{"addresses for a Guest", address, Magento(), []View{ListJSON, SingleXML}, Guest, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, v := range tt.views {
				if got := shownFields(tt.fields, tt.d, v, tt.role); got != tt.want {
					t.Errorf("view %d shows\n%s\nwant\n%s", v, got, tt.want)
				}
			}
		})
	}
}

// TestOrderHoldsEveryField checks that a caller may name any field in any view.
func TestOrderHoldsEveryField(t *testing.T) {
	for name, table := range map[string]*FieldTable{
		"customers": customerFields(), "addresses": customerAddressFields(), "stock items": stockItemFields(),
		"an Admin's products": adminProductFields(), "products of the others": publicProductFields(), "stock of products": productStockFields(),
	} {
		for _, d := range Dialects() {
			for v := range views {
				places := slices.Sorted(slices.Values(table.Order(d, v)))
				for i := range table.Fields {
					if i >= len(places) || places[i] != i {
						t.Fatalf("%s, %s, view %d: %v is not every field once", name, d.Name, v, places)
					}
				}
				if len(places) != len(table.Fields) {
					t.Errorf("%s, %s, view %d: %d places for %d fields", name, d.Name, v, len(places), len(table.Fields))
				}
			}
		}
	}
}
