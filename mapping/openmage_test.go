package mapping_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/mapping/contract"
)

// TestOpenMage checks the behavior of OpenMage 20 beyond its recordings, and beside it the behavior of the
// dialect magento.
func TestOpenMage(t *testing.T) {
	const (
		customer, address, product = "/customers/1", "/customers/addresses/1", "/products/2"
		newCustomer                = `{"lastname":"Poe","website_id":1,"group_id":1,"password":"secret77","firstname":`
		newImage                   = `{"file_name":"new","file_mime_type":`
		emailForm                  = `400 \"Email\" is not a valid email address.`
		accepted, crashes          = "200 ", "500 "
	)
	tests := []struct {
		name, method, target, body string
		openmage, magento          string // the status, and a part of the body
	}{
		{"a list in a new text", "POST", "/customers", newCustomer + `["Eve"],"email":"eve@example.com"}`, accepted, crashes},
		{"a record in a stored text", "PUT", customer, `{"lastname":{"a":{"b":"c"}}}`, accepted, crashes},
		{"a list in a text of an address", "PUT", address, `{"city":["a","b"]}`, accepted, crashes},
		{"an empty e-mail address", "PUT", customer, `{"email":[]}`, "500 Customer email is required", crashes},
		{"a list of e-mail addresses", "PUT", customer, `{"email":["a@example.com"]}`, emailForm, crashes},
		{"a number for an e-mail address", "PUT", customer, `{"email":5}`, emailForm, `400 \"Email\" invalid type entered.`},
		{"a region in a list", "PUT", address, `{"country_id":"US","region":["Texas"]}`, `400 Invalid \"State\/Province\" type.`, crashes},
		{"a date of birth that is a number", "PUT", customer, `{"dob":19900203}`, `400 \"Date Of Birth\" is not a valid date.`, "400 does not fit the entered date format"},
		{"a country that is gone", "PUT", address, `{"country_id":"AN","region":"x"}`, `400 Invalid value \"AN\" for country_id`, accepted},
		{"a country of a product that is gone", "PUT", product, `{"country_of_manufacture":"AN"}`, `400 Invalid value \"AN\"`, accepted},
		{"a weight that sorts after 0", "PUT", product, `{"weight":"1abc"}`, "400 specified range", "400 0 or greater"},
		{"a weight of true", "PUT", product, `{"weight":true}`, "400 specified range", "400 0 or greater"},
		{"a layout that is no XML", "PUT", product, `{"custom_layout_update":"<a"}`, crashes, "400 XML data is invalid"},
		{"a layout with a helper", "PUT", product, `{"custom_layout_update":"<a><action><b helper=\"c\"/></action></a>"}`, "400 Helper attributes", "400 Helper attributes"},
		{"an empty list for a layout", "PUT", product, `{"custom_layout_update":[]}`, accepted, crashes},
		{"a list for a layout", "PUT", product, `{"custom_layout_update":["<a/>"]}`, crashes, crashes},
		{"an image of a new type", "POST", "/products/1/images", newImage + `"image/webp","file_content":"UklGRg=="}`, accepted, "400 Unsuppoted image MIME type"},
		{"bytes that are no image", "POST", "/products/1/images", newImage + `"image/png","file_content":"PGI+"}`, accepted, "400 Resource unknown error."},
	}
	openmage, magento := openShop(t, contract.OpenMage()), openShop(t, contract.Magento())
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for shop, want := range map[*shop]string{openmage: tt.openmage, magento: tt.magento} {
				status, part, _ := strings.Cut(want, " ")
				r := shop.serve(contract.Admin, tt.method, tt.target, tt.body, "Accept", "application/json", "Content-Type", "application/json")
				got := fmt.Sprintf("%d %s", r.Status, r.Body)
				if !strings.HasPrefix(got, status) || !strings.Contains(got, part) || part == "" && got != want {
					t.Errorf("%s: %s, want %s", shop.dialect.Name, got, want)
				}
			}
		})
	}
	const stored = "?attrs=firstname,lastname,email"
	checkReply(t, openmage.serve(contract.Admin, "GET", customer+stored, "", "Accept", "application/json"), 200, typeJSON,
		`{"email":"ada@example.com","firstname":"Ada","lastname":"Byron"}`)
	checkReply(t, openmage.serve(contract.Admin, "GET", "/customers/5"+stored, "", "Accept", "application/json"), 200, typeJSON,
		`{"email":"eve@example.com","lastname":"Poe"}`)
}
