package compare

import (
	"strings"
	"testing"

	"github.com/portico-commerce/portico/mapping/contract"
)

func expectationTable() *contract.Table {
	return contract.NewTable(contract.Routes(contract.StandardFields()))
}

// TestExpectations checks which differences an expectation accepts.
func TestExpectations(t *testing.T) {
	tests := []struct {
		name, yaml string
		record     string // of the request
		difference Difference
		want       bool
	}{
		{"call", "{call: getProduct, field: sku, reason: r}", "5", Difference{Field: "sku"}, true},
		{"another call", "{call: listProducts, field: sku, reason: r}", "5", Difference{Field: "sku"}, false},
		{"resource", "{resource: products, field: sku, reason: r}", "5", Difference{Field: "sku"}, true},
		{"all resources", "{resource: all, field: sku, reason: r}", "5", Difference{Field: "sku"}, true},
		{"another resource", "{resource: orders, field: sku, reason: r}", "5", Difference{Field: "sku"}, false},
		{"another field", "{resource: products, field: sk, reason: r}", "5", Difference{Field: "sku"}, false},
		{"field inside", "{resource: products, field: stock_data, reason: r}", "5", Difference{Field: "stock_data.qty"}, true},
		{"record alone", `{resource: products, field: sku, reason: r, record: 5}`, "5", Difference{Field: "sku"}, true},
		{"record in a list", `{resource: products, field: sku, reason: r, record: 5}`, "", Difference{Field: "sku", Record: "5"}, true},
		{"part of the record", `{resource: products, field: sku, reason: r, record: 5}`, "5", Difference{Field: "sku", Record: "12"}, true},
		{"another record", `{resource: products, field: sku, reason: r, record: 5}`, "", Difference{Field: "sku", Record: "55"}, false},
		{"part", `{resource: products, field: sku, reason: r, record: 5/12}`, "5", Difference{Field: "sku", Record: "12"}, true},
		{"another part", `{resource: products, field: sku, reason: r, record: 5/12}`, "5/13", Difference{Field: "sku"}, false},
		{"values", `{resource: products, field: sku, reason: r, legacy: old, candidate: 1.5}`, "5", Difference{Field: "sku", Legacy: new(`"old"`), Candidate: new("1.5")}, true},
		{"another value", `{resource: products, field: sku, reason: r, legacy: old}`, "5", Difference{Field: "sku", Legacy: new(`"older"`)}, false},
		{"nothing", `{resource: products, field: sku, reason: r, candidate: ~}`, "5", Difference{Field: "sku", Legacy: new(`"a"`)}, true},
		{"null instead of nothing", `{resource: products, field: sku, reason: r, candidate: ~}`, "5", Difference{Field: "sku", Candidate: new(`null`)}, false},
		{"masked value", `{resource: products, field: sku, reason: r, legacy: "text of 3, masked"}`, "5", Difference{Field: "sku", Private: true, Legacy: new(`"old"`)}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			all, err := ParseExpectations("expected.yaml", []byte("- "+tt.yaml), expectationTable(), contract.GET)
			if err != nil {
				t.Fatal(err)
			}
			if _, got := all.Find("getProduct", "products", tt.record, &tt.difference); got != tt.want {
				t.Errorf("accepted: %t, want %t", got, tt.want)
			}
		})
	}
}

// TestExpectationFaults checks that all faults are reported at once, with their lines.
func TestExpectationFaults(t *testing.T) {
	const file = `
- {call: getProduct, field: sku}
- call: getProduct
  resource: products
  field: sku
  reason: r
- {call: updateProduct, field: sku, reason: r}
- {resource: shoes, field: sku, reason: r}
- {call: getProduct, field: sku, reason: r, color: red}
- {call: getProduct, field: [sku], reason: r}
- {call: getProduct, field: sku, reason: " "}
- {call: getProduct, field: sku, reason: r, field: sku}
- &a {call: getProduct, field: sku, reason: r}
- *a
- sku
`
	_, err := ParseExpectations("expected.yaml", []byte(file), expectationTable(), contract.GET)
	if err == nil {
		t.Fatal("no faults")
	}
	got := strings.Split(err.Error(), "\n")
	want := []string{
		"expected.yaml:2: [0].reason must have a value",
		"expected.yaml:3: [1] must have either a call or a resource",
		"expected.yaml:7: [2].call names no call that is compared",
		"expected.yaml:8: [3].resource names no resource",
		"expected.yaml:9: [4].color is unknown; known members are call, resource, field, reason, record, legacy, candidate",
		"expected.yaml:10: [5].field must be a string",
		"expected.yaml:11: [6].reason must not be empty",
		"expected.yaml:12: [7].field is already defined in line 12",
		"expected.yaml:13: [8] must not use anchors, aliases and tags",
		"expected.yaml:14: [9] must not use anchors, aliases and tags",
		"expected.yaml:15: [10] must be a mapping",
	}
	if len(got) != len(want) {
		t.Fatalf("faults %q", got)
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("fault %q, want %q", got[i], want[i])
		}
	}
	for _, bad := range []string{"a: b", "- a\n---\n- b", "{", strings.Repeat(" ", maxExpectationsFile+1)} {
		if _, err := ParseExpectations("expected.yaml", []byte(bad), expectationTable(), contract.GET); err == nil {
			t.Errorf("%.20q is accepted", bad)
		}
	}
	if all, err := ParseExpectations("expected.yaml", nil, expectationTable(), contract.GET); err != nil || len(all.All()) != 0 {
		t.Errorf("an empty file has %v (%v)", all, err)
	}
}
