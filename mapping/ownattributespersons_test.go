package mapping_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// ownCells returns what customers and addresses have of every attribute, by resource and key.
func ownCells() map[adapter.Resource]map[adapter.Key]cell {
	return map[adapter.Resource]map[adapter.Key]cell{
		adapter.Customers:         {1: second, 2: null, 3: none, 4: first},
		adapter.CustomerAddresses: {1: second, 2: null, 3: third, 4: none, 5: first},
	}
}

// openOwnPersons returns the demo store with attributes of customers and addresses of every kind, visible
// in forms or not, and the attributes.
func openOwnPersons(t *testing.T, inSQLite bool) (*customerShop, []ownAttribute) {
	t.Helper()
	data := loadDemo(t)
	var all []ownAttribute
	var added []adapter.AddedAttribute
	var options contract.FieldOptions
	for _, kind := range ownKinds() {
		if kind.added.Input == adapter.InputImage {
			continue // only products have images
		}
		for _, visible := range []string{"visible", "hidden"} {
			a := ownAttribute{ownKind: kind, name: "own_" + kind.name + "_" + visible, base: 100}
			all = append(all, a)
			roles := []contract.Role{contract.Admin}
			if visible == "visible" {
				roles = append(roles, contract.Customer)
			}
			for r := range ownCells() {
				one := kind.added
				one.Resource, one.Name = r, a.name
				added = append(added, one)
				options.Added = append(options.Added, contract.AddedField{Resource: string(r), Name: a.name, Read: roles, Write: roles, InList: true, InSingle: true})
			}
		}
	}
	schemas, err := adapter.NewSchemas().With(added...)
	if err != nil {
		t.Fatal(err)
	}
	for resource, cells := range ownCells() {
		for i, stored := range data.Records[resource] {
			r := adapter.NewRecord(schemas.Of(resource))
			copy(r.Values, stored.Values)
			for j := range all {
				r.Set(all[j].name, all[j].value(cells[r.Key()]))
			}
			data.Records[resource][i] = r
		}
	}
	return serveOwn(t, data, schemas, options, inSQLite), all
}

// TestOwnAttributesOfPersons compares what replies show of own attributes of customers and addresses with
// the rules: the Admin sees all, a Customer those that forms show, and an order compares the ids of
// options (own_attributes 8 and 9).
func TestOwnAttributesOfPersons(t *testing.T) {
	t.Parallel()
	for name, inSQLite := range map[string]bool{"memory": false, "SQLite": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shop, attributes := openOwnPersons(t, inSQLite)
			for _, d := range contract.Dialects() {
				t.Run(d.Name, func(t *testing.T) {
					check := ownCheck{shop: shop, dialect: d, attributes: attributes}
					check.persons(t)
					t.Logf("%d combinations of kind, visibility, role, list or single, and values", check.combinations)
				})
			}
		})
	}
}

// persons compares the records of customers and addresses, alone and in lists.
func (c *ownCheck) persons(t *testing.T) {
	t.Helper()
	addresses := map[adapter.Key][]adapter.Key{1: {2, 1}, 2: {4, 3}, 3: {5}} // as lists have them
	for as, readers := range map[string][]adapter.Key{"admin": {1, 2, 3, 4}, "customer 1": {1}, "customer 2": {2}} {
		for _, customer := range readers {
			c.person(t, as, fmt.Sprintf("/customers/%d", customer), "", adapter.Customers, customer)
			c.person(t, as, fmt.Sprintf("/customers/%d", customer), "attrs=entity_id,", adapter.Customers, customer)
			path := fmt.Sprintf("/customers/%d/addresses", customer)
			c.person(t, as, path, "", adapter.CustomerAddresses, addresses[customer]...)
			for _, address := range addresses[customer] {
				c.person(t, as, fmt.Sprintf("/customers/addresses/%d", address), "", adapter.CustomerAddresses, address)
			}
		}
	}
	c.person(t, "admin", "/customers", "limit=100", adapter.Customers, 1, 2, 3, 4)
	for i := range c.attributes {
		a := &c.attributes[i]
		for direction, order := range map[string][]adapter.Key{"asc": {2, 3, 4, 1}, "dsc": {1, 4, 2, 3}} {
			c.person(t, "admin", "/customers", "order="+a.name+"&dir="+direction, adapter.Customers, order...)
		}
	}
}

// person compares a record that is read alone, or those of a list, in their order. A query that ends in a
// comma gets the names of all attributes.
func (c *ownCheck) person(t *testing.T, as, path, query string, r adapter.Resource, keys ...adapter.Key) {
	t.Helper()
	if query != "" {
		path += "?" + query
	}
	if strings.HasSuffix(query, ",") {
		for i := range c.attributes {
			path += c.attributes[i].name + ","
		}
	}
	node := c.node(t, as, path)
	records := node.Members
	if len(records) > 0 && !slices.ContainsFunc(records, func(m codec.Member) bool { return m.Value.Kind == codec.Struct && m.Key != "street" }) {
		records = []codec.Member{{Value: node}}
	}
	if len(records) != len(keys) {
		t.Errorf("%s as %s: %d records, want %d", path, as, len(records), len(keys))
		return
	}
	for i, key := range keys {
		for j := range c.attributes {
			a := &c.attributes[j]
			want := a.shows(ownCells()[r][key])
			switch {
			case as != "admin" && strings.HasSuffix(a.name, "_hidden"):
				want = shownCell{}
			case !want.there && c.dialect.OrderedByNull && strings.Contains(query, "order="+a.name+"&"): // wire 10
				want = shownCell{there: true, isNull: true}
			}
			c.checkShown(t, fmt.Sprintf("%s as %s, record %d", path, as, key), a, &records[i].Value, want)
		}
	}
}
