package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/legacy/proxy"
)

// TestCheckRules checks which rules lose or hide writes.
func TestCheckRules(t *testing.T) {
	const legacy, portico = proxy.Legacy, proxy.Portico
	rule := func(resource string, calls proxy.Calls, to proxy.Target) proxy.Rule {
		return proxy.Rule{Resource: resource, Calls: calls, To: to}
	}
	mirrored := func(resource string) proxy.Rule {
		return proxy.Rule{Resource: resource, Calls: proxy.Writes, To: portico, Mirror: true}
	}
	all, reads := proxy.All, proxy.Reads
	front := rule("all", all, legacy)
	product := []proxy.Rule{front, rule("products", reads, portico), rule("product_images", reads, portico), rule("product_websites", reads, portico), rule("product_categories", reads, portico), rule("stock_items", reads, portico)}
	with := func(rules []proxy.Rule, more ...proxy.Rule) proxy.Rules {
		return append(append(proxy.Rules{}, rules...), more...)
	}
	for _, tt := range []struct {
		name     string
		rules    proxy.Rules
		followed bool
		want     []string // each in one problem
	}{
		{"in front", proxy.Rules{front}, true, nil},
		{"reads have moved", with(product), true, nil},
		{"mirrored", with(product, mirrored("stock_items")), true, nil},
		{"all mirrored", proxy.Rules{rule("all", reads, portico), mirrored("all"), rule("outside", all, legacy)}, true, nil},
		{"nothing is followed", with(product, rule("stock_items", all, portico)), false, nil},
		{"everything has moved", nil, false, nil},
		{"reads that show it have not moved", proxy.Rules{front, rule("stock_items", reads, portico), mirrored("stock_items")}, true,
			[]string{"the writes of stock_items, and the legacy store the reads of products,", "the reads of product_categories,"}},
		{"writes without mirror", with(product, rule("stock_items", all, portico)), true, []string{"the writes of stock_items without mirror: true"}},
		{"tokens", proxy.Rules{rule("all", reads, portico), mirrored("all")}, true, []string{"outside must go to legacy"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := CheckRules(tt.rules, contractParts(), tt.followed)
			if len(got) != len(tt.want) {
				t.Fatalf("%d problems, want %d:\n%s", len(got), len(tt.want), strings.Join(got, "\n"))
			}
			for i, want := range tt.want {
				if !strings.Contains(got[i], want) {
					t.Errorf("%q, want %q", got[i], want)
				}
			}
		})
	}
}

// contractParts returns the resources of the contract.
func contractParts() (parts []Part) {
	for _, route := range contract.Routes(contract.StandardFields()) {
		at := slices.IndexFunc(parts, func(p Part) bool { return p.Name == route.Resource })
		if at < 0 {
			at, parts = len(parts), append(parts, Part{Name: route.Resource, Root: route.Resource})
		}
		for _, method := range []contract.Method{contract.POST, contract.PUT, contract.DELETE} {
			parts[at].Writes = parts[at].Writes || route.Access(contract.Magento(), contract.Admin, method) == contract.Serve
		}
	}
	return parts
}
