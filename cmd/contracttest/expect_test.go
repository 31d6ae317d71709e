package main

import (
	"strings"
	"testing"

	"github.com/portico-commerce/portico/contracttests"
)

// TestExpectedList checks which differences of the suite the entries of a file for --expect accept.
func TestExpectedList(t *testing.T) {
	type difference = contracttests.Difference
	for _, tt := range []struct {
		name, entry, call string
		d                 difference
		want              bool
	}{
		{"status of a create", "call: createCustomer, field: status-code, candidate: 201", "POST /customers", difference{Where: "status", Want: "200", Got: "201"}, true},
		{"another status", "call: createCustomer, field: status-code, candidate: 201", "POST /customers", difference{Where: "status", Want: "200", Got: "202"}, false},
		{"header of every call", "resource: all, field: content-type", "GET /nowhere", difference{Where: "Content-Type", Want: "a", Got: "b"}, true},
		{"header that is missing", "resource: all, field: location, candidate: ~", "POST /customers", difference{Where: "Location", Want: "a", Got: "no such header"}, true},
		{"blanks", "resource: products, field: rendering", "GET /products?limit=1", difference{Where: "rendering of the body", Want: "{}", Got: "{ }"}, true},
		{"root", "resource: products, field: root, candidate: shop", "GET /products", difference{Where: "root element", Want: "magento_api", Got: "shop"}, true},
		{"field of a record", "resource: products, field: sku, record: 5, candidate: b", "GET /products/5", difference{Where: "$.sku", Want: "text a", Got: "text b"}, true},
		{"field of another record", "resource: products, field: sku, record: 5", "GET /products/6", difference{Where: "$.sku", Want: "text a", Got: "text b"}, false},
		{"field of a record of a list", "resource: products, field: sku, record: 5", "GET /products", difference{Where: "$.5.sku", Want: "text a", Got: "text b"}, true},
		{"field of an array", "resource: products, field: tier_price.price", "GET /products/5", difference{Where: "$.tier_price[0].price", Want: "number 1", Got: "number 2"}, true},
		{"field that is missing", "resource: products, field: sku", "GET /products", difference{Where: "$[0]", Want: "field sku", Got: "fields name"}, true},
		{"message", "resource: products, field: messages, legacy: Resource not found.", "GET /products/9", difference{Where: "$.messages.error[0].message", Want: "text Resource not found.", Got: "text No"}, true},
		{"list", "resource: products, field: records", "GET /products", difference{Where: "$", Want: "a list", Got: "record []"}, true},
		{"path that no route has", "call: other, field: status-code", "GET /nowhere", difference{Where: "status", Want: "404", Got: "200"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, err := parseExpected("expected.yaml", []byte("- {reason: r, "+tt.entry+"}"))
			if err != nil {
				t.Fatal(err)
			}
			method, path, _ := strings.Cut(tt.call, " ")
			if got := l.accept(method, path, tt.d) == "r"; got != tt.want {
				t.Errorf("accepted: %t, want %t", got, tt.want)
			}
			var unused strings.Builder
			if l.writeUnused(&unused); (unused.Len() == 0) != tt.want {
				t.Errorf("unused: %q", unused.String())
			}
		})
	}
}
