package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/portico-commerce/portico/adapter"
)

// TestConditionsEvaluatedByTheStore lists and counts by conditions that SQL cannot
// evaluate exactly, in an order that it can produce. The result must not be partial.
func TestConditionsEvaluatedByTheStore(t *testing.T) {
	EachEngine(t, testConditionsEvaluatedByTheStore)
}

func testConditionsEvaluatedByTheStore(t *testing.T, e Engine) {
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
			table, store := db.table(c.resource), db.stores[c.resource]
			names := []string{c.anyOf[0].Attribute}
			all := c.params
			all.With = names
			everything, err := store.List(t.Context(), &all)
			if err != nil {
				t.Fatal(err)
			}
			for _, q := range []adapter.Query{
				{}, {Limit: 1}, {Offset: 1, Limit: 2}, {Offset: 100}, {OrderBy: table.schema.Key, Desc: true, Limit: 2},
				{After: &adapter.Cursor{Key: 1}}, {After: &adapter.Cursor{Key: 2}, Offset: 1, Limit: 1},
			} {
				q.Where = []adapter.Condition{{Any: c.anyOf}}
				want, total, err := adapter.Apply(t.Context(), table.schema, everything.Records, &q)
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

func sameKey(a, b adapter.Record) bool { return a.Get(a.Schema.Key) == b.Get(b.Schema.Key) }

// TestPartialLists fixes which lists are partial.
func TestPartialLists(t *testing.T) {
	EachEngine(t, func(t *testing.T, e Engine) {
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
				got, err := db.stores[c.resource].List(t.Context(), &adapter.ListParams{Query: c.query, Count: count})
				if want := count && c.counts || !count && c.list; err != nil || got.Partial != want {
					t.Errorf("%s %+v, count %v: partial %v, want %v; %v", c.resource, c.query, count, got.Partial, want, err)
				}
			}
		}
	})
}

// TestInvalidConditions uses operands that cannot be compared with the attribute.
func TestInvalidConditions(t *testing.T) {
	db := openTest(t, Engines()[0])
	for _, test := range []adapter.Test{
		{Attribute: "qty", Op: adapter.Eq}, {Attribute: "qty", Op: adapter.Matches, Operands: []string{"("}}, {Attribute: "qty", Op: 200, Operands: []string{"1"}},
	} {
		for _, count := range []bool{false, true} {
			q := adapter.Query{Where: []adapter.Condition{{Any: []adapter.Test{test}}}}
			if _, err := db.stores[adapter.StockItems].List(t.Context(), &adapter.ListParams{Query: q, Count: count}); adapter.KindOf(err) != adapter.Unsupported {
				t.Errorf("%v: error %v, want unsupported", test, err)
			}
		}
	}
}

// TestReadStopsAtPageEnd checks that no row is read after the page is full or the
// context has ended.
func TestReadStopsAtPageEnd(t *testing.T) {
	EachEngine(t, func(t *testing.T, e Engine) {
		db := openWithStoreViewValues(t, e)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s := newStore(db, db.table(adapter.StockItems))
		for _, c := range []struct {
			name string
			take func() (more bool)
			want error
		}{
			{"page full", func() bool { return false }, nil},
			{"cancelled", func() bool { cancel(); return true }, context.Canceled},
		} {
			read := 0
			sb := db.engine.flavor.NewSelectBuilder().Select(s.table.keyColumn()).From(s.table.name)
			err := s.eachRecord(ctx, db.readStatements.query, sb, func(rows *sql.Rows) (adapter.Record, error) {
				read++
				var key int64
				return adapter.Record{}, rows.Scan(&key)
			}, func(context.Context, adapter.Record) (bool, error) { return c.take(), nil })
			if read != 1 || !errors.Is(err, c.want) {
				t.Errorf("%s: %d rows read, error %v, want %v", c.name, read, err, c.want)
			}
		}
	})
}

// TestPostFilter fills pages from records one by one.
func TestPostFilter(t *testing.T) {
	schema := adapter.NewSchemas().Of(adapter.StockItems)
	for _, c := range []struct {
		skip, limit int64
		want        string
		looked      int
	}{
		{0, 2, "[2 4]", 4}, {1, 2, "[4 6]", 6}, {3, 0, "[8 10]", 10}, {9, 1, "[]", 10},
	} {
		even := adapter.Query{Where: []adapter.Condition{{Any: []adapter.Test{{Attribute: "item_id", Op: adapter.Matches, Operands: []string{"[02468]$"}}}}}}
		matcher, err := adapter.NewMatcher(schema, &even)
		if err != nil {
			t.Fatal(err)
		}
		s := postFilter{matcher: matcher, toSkip: c.skip, limit: c.limit}
		looked, more := 0, true
		for ; more && looked < 10; looked++ {
			r := adapter.NewRecord(schema)
			r.Set("item_id", adapter.IntegerValue(int64(looked+1)))
			if more, err = s.add(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		keys := []int64{}
		for _, r := range s.records {
			keys = append(keys, r.Get("item_id").Int())
		}
		if got := fmt.Sprint(keys); got != c.want || looked != c.looked {
			t.Errorf("skip %d, limit %d: kept %s of %d, want %s of %d", c.skip, c.limit, got, looked, c.want, c.looked)
		}
	}
}
