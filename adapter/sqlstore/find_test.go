package sqlstore

import (
	"slices"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// TestConditionsEvaluatedByTheStore lists and counts by conditions that SQL cannot
// evaluate exactly, in an order that it can produce. The result must not be partial.
func TestConditionsEvaluatedByTheStore(t *testing.T) {
	sqltest.EachSQL(t, testConditionsEvaluatedByTheStore)
}

func testConditionsEvaluatedByTheStore(t *testing.T, e sqltest.Engine) {
	db := openWithStoreViewValues(t, e)
	atView := adapter.ListParams{StoreID: 2, Filters: []adapter.Filter{{Name: adapter.InWebsite}}}
	for _, c := range []struct {
		name     string
		resource adapter.Resource
		params   adapter.ListParams
		anyOf    []adapter.Test
	}{
		{"expression", adapter.Products, adapter.ListParams{}, []adapter.Test{{Attribute: "name", Op: adapter.Matches, Operands: []string{"e"}}}},
		{"expression at a store view", adapter.Products, atView, []adapter.Test{{Attribute: "name", Op: adapter.Matches, Operands: []string{"^(bouil|a)"}}}},
		{"null of a store view, or an expression", adapter.Products, atView, []adapter.Test{
			{Attribute: "meta_title", Op: adapter.IsNull}, {Attribute: "sku", Op: adapter.Matches, Operands: []string{"z"}},
		}},
		{"written form of a store view's number", adapter.Products, atView, []adapter.Test{{Attribute: "visibility", Op: adapter.Like, Operands: []string{"3%"}}}},
		{"image of a store view", adapter.Products, atView, []adapter.Test{{Attribute: "image_file", Op: adapter.Like, Operands: []string{"%back%"}}}},
		{"lines", adapter.CustomerAddresses, adapter.ListParams{}, []adapter.Test{{Attribute: "street", Op: adapter.IsNotNull}}},
		{"written form of a number", adapter.StockItems, adapter.ListParams{}, []adapter.Test{{Attribute: "qty", Op: adapter.Like, Operands: []string{"%.0000"}}}},
		{"joined", adapter.StockItems, adapter.ListParams{}, []adapter.Test{{Attribute: "product_created_at", Op: adapter.Like, Operands: []string{"2%"}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			table, store := db.records.Table(c.resource), storeOf(t, db, c.resource)
			names := []string{c.anyOf[0].Attribute}
			all := c.params
			all.With = names
			everything := adaptertest.MustList(t, store, all)
			for _, q := range []adapter.Query{
				{}, {Limit: 1}, {Offset: 1, Limit: 2}, {Offset: 100}, {OrderBy: table.Schema.Key, Desc: true, Limit: 2},
				{After: &adapter.Cursor{Key: 1}}, {After: &adapter.Cursor{Key: 2}, Offset: 1, Limit: 1},
			} {
				q.Where = []adapter.Condition{{Any: c.anyOf}}
				want, total, err := adapter.Apply(t.Context(), table.Schema, everything.Records, &q)
				if err != nil || total == 0 {
					t.Fatalf("%d records: nothing is tested; %v", total, err)
				}
				p := c.params
				p.Query = q
				got, err := store.List(t.Context(), &p)
				if err != nil || got.Partial || !slices.EqualFunc(got.Records, want, sameKey) {
					t.Errorf("%+v: %+v, want %+v; %v", q, got, want, err)
				}
				p.Count = true
				if counted, err := store.List(t.Context(), &p); err != nil || counted.Partial || counted.Total != total || len(counted.Records) > 0 {
					t.Errorf("%+v: counted %+v, want %d; %v", q, counted, total, err)
				}
			}
		})
	}
}

func sameKey(a, b adapter.Record) bool { return a.Get(a.Schema.Key).Equal(b.Get(b.Schema.Key)) }

// TestPartialLists fixes the set of lists that are partial.
func TestPartialLists(t *testing.T) {
	sqltest.EachSQL(t, func(t *testing.T, e sqltest.Engine) {
		db := openWithStoreViewValues(t, e)
		prices := []adapter.Condition{{Any: []adapter.Test{{Attribute: "tier_price", Op: adapter.IsNotNull}}}}
		for _, c := range []struct {
			resource     adapter.Resource
			query        adapter.Query
			list, counts bool // whether each is partial
		}{
			{adapter.Products, adapter.Query{Where: prices}, true, true},
			{adapter.Products, adapter.Query{OrderBy: "image_file"}, true, false},
			{adapter.CustomerAddresses, adapter.Query{OrderBy: "street"}, true, false},
		} {
			for _, count := range []bool{false, true} {
				got, err := storeOf(t, db, c.resource).List(t.Context(), &adapter.ListParams{Query: c.query, Count: count})
				if want := count && c.counts || !count && c.list; err != nil || got.Partial != want {
					t.Errorf("%s %+v, count %v: partial %v, want %v; %v", c.resource, c.query, count, got.Partial, want, err)
				}
			}
		}
	})
}

// TestInvalidConditions uses operands that cannot be compared with the attribute.
func TestInvalidConditions(t *testing.T) {
	db := openTest(t, sqltest.Engines()[0])
	for _, test := range []adapter.Test{
		{Attribute: "qty", Op: adapter.Eq}, {Attribute: "qty", Op: adapter.Matches, Operands: []string{"("}}, {Attribute: "qty", Op: 200, Operands: []string{"1"}},
	} {
		for _, count := range []bool{false, true} {
			q := adapter.Query{Where: []adapter.Condition{{Any: []adapter.Test{test}}}}
			if _, err := storeOf(t, db, adapter.StockItems).List(t.Context(), &adapter.ListParams{Query: q, Count: count}); adapter.KindOf(err) != adapter.Unsupported {
				t.Errorf("%v: error %v, want unsupported", test, err)
			}
		}
	}
}
