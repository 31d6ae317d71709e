package reststore

import (
	"slices"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	const (
		noGroups = "small.yaml:9: warning: resources.customers.references.group_id refers to customer_groups, which are not among resources: "
		lacking  = "small.yaml:7: warning: resources.customers gives no value of website_id, disable_auto_group_change, without which customers cannot be imported: map them in read, or give them a default in rest"
		noAdopts = "warning: resources.customer_addresses has no adopts: true, so customer_addresses that only the backend has are not imported"
		groups   = "small.yaml: note: customer_groups must be in the local replica before records refer to them (customers.group_id): "
		websites = "small.yaml: note: websites must be in the local replica before records refer to them (customers.website_id): "
		rest     = "    rest: '{website_id: 1, disable_auto_group_change: 0}'\n    create: [{method: POST, path: /customers,"
		create   = "    create: [{method: POST, path: /customers,"
	)
	for _, c := range []struct {
		name    string
		replace []string // of the small mapping
		want    []string // parts of the lines
	}{
		{"as it is", nil, []string{lacking, noGroups, noAdopts, groups, websites}},
		{"with defaults", []string{create, rest}, []string{noGroups, noAdopts, groups, websites}},
		{"a default by a function", []string{create, strings.Replace(rest, "{website_id: 1, disable_auto_group_change: 0}", "rest", 1), "connection:", "functions: 'def switch: {disable_auto_group_change: 0}; def rest: {website_id: 1} + switch;'\nconnection:"}, []string{
			"small.yaml:10: ", noAdopts, groups, websites}},
		{"a function that calls itself", []string{create, strings.Replace(rest, "{website_id: 1, disable_auto_group_change: 0}", "loop", 1), "connection:", "functions: 'def loop: loop;'\nconnection:"}, []string{
			"small.yaml:10: ", noAdopts, groups, websites}},
		{"values that are computed", []string{create, strings.Replace(rest, "{website_id: 1, disable_auto_group_change: 0}", `[{key: "website_id", value: 1}] | from_entries`, 1)}, []string{noGroups, noAdopts, groups, websites}},
		{"a part without a value", []string{"identified: true", "identified: true\n    adopts: true", create, rest}, []string{noGroups,
			"warning: resources.customer_addresses gives no value of is_default_billing, is_default_shipping, without which customer_addresses cannot be imported: give them a value in items", groups, websites}},
		{"faults alone", []string{"    id: id\n", "    idd: id\n", "key: .legacy", "key: .legacy["}, []string{
			"small.yaml:7: resources.customers.id must have a value", "small.yaml:13: resources.customers.idd is unknown; ", "small.yaml:14: resources.customers.key is not a valid jq expression: "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, r := range Check(Options{Mapping: []byte(strings.NewReplacer(c.replace...).Replace(smallMapping)), File: "small.yaml"}) {
				got = append(got, r.String())
			}
			if !slices.EqualFunc(got, c.want, strings.Contains) {
				t.Errorf("remarks\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// TestCheckNested checks that an attribute that holds mapped parts must be mapped.
func TestCheckNested(t *testing.T) {
	const mapping = `name: parts
resources:
  products:
    attributes: [sku]
    fetch: {path: '/p/{$id}', item: .}
    scan: {path: /p, items: p, pages: {offset: offset}}
    id: id
    read: '{sku}'
    rest: '{attribute_set_id: 4, type_id: "simple"}'
    without: {create: no, update: no, delete: no, find: no}
  stock_items: {part_of: products, attributes: [qty], items: '[]', without: {update: no}}
`
	want := []string{
		"parts.yaml:4: resources.products.attributes must have stock_item, through which clients also write the stock_items that resources have",
	}
	var got []string
	for _, r := range Check(Options{Mapping: []byte(mapping), File: "parts.yaml"}) {
		got = append(got, r.String())
	}
	if !slices.Equal(got, want) {
		t.Errorf("remarks\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestCheckBuiltIn checks that the mappings that operators start from give every record its
// required values.
func TestCheckBuiltIn(t *testing.T) {
	for _, name := range []string{"medusa", "example", "examplegraphql"} {
		content, ok := Mapping(name)
		for _, r := range Check(Options{Mapping: content, File: name}) {
			if r.Level != Note || !ok {
				t.Error(r)
			}
		}
	}
}
