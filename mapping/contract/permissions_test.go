package contract

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPermissions compares the permissions of each role with the endpoints of the contract.
func TestPermissions(t *testing.T) {
	routes := Routes(StandardFields())
	for _, tt := range []struct {
		dialect *Dialect
		role    Role
		want    string
	}{
		{Documented(), Admin, `
			customers GET POST PUT DELETE
			customer_addresses GET POST PUT DELETE
			products GET POST PUT DELETE
			product_categories GET POST DELETE
			product_images GET POST PUT DELETE
			product_websites GET POST DELETE
			stock_items GET PUT
			orders GET
			order_items GET
			order_addresses GET
			order_comments GET`},
		{Documented(), Customer, `
			customers GET PUT
			customer_addresses GET POST PUT DELETE
			products GET
			product_categories GET
			product_images GET
			orders GET
			order_items GET
			order_addresses GET
			order_comments GET`},
		{Documented(), Guest, `
			products GET
			product_images GET
			orders GET`},
		{Magento(), Admin, `
			customers GET POST PUT DELETE
			customer_addresses GET POST PUT DELETE
			products GET POST PUT DELETE
			product_categories GET POST DELETE
			product_images GET POST PUT DELETE
			product_websites GET POST DELETE
			stock_items GET PUT
			orders GET
			order_items GET
			order_addresses GET
			order_comments GET POST`},
		{Magento(), Guest, `
			products GET
			product_categories GET
			product_images GET`},
	} {
		t.Run(fmt.Sprintf("%s in dialect %s", tt.role, tt.dialect.Name), func(t *testing.T) {
			t.Parallel()
			var got strings.Builder
			for _, p := range Permissions(tt.dialect, tt.role, routes) {
				fmt.Fprintf(&got, "\n\t\t\t%s", p.Resource)
				for _, m := range p.Methods {
					fmt.Fprintf(&got, " %s", m)
				}
			}
			if diff := cmp.Diff(tt.want, got.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if got := Permissions(Documented(), Guest, routes[:1]); len(got) != 0 {
		t.Errorf("a Guest may do %v with one customer", got)
	}
}
