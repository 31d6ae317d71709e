package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// TestReadStopsAtPageEnd checks that no row is read after the page is full or the
// context has ended.
func TestReadStopsAtPageEnd(t *testing.T) {
	sqltest.EachSQL(t, func(t *testing.T, e sqltest.Engine) {
		db := sqltest.Open(t, e.NewDSN(t))
		if _, err := db.Writer.ExecContext(t.Context(), "INSERT INTO website (website_id, code, name) VALUES (1, 'one', 'One'), (2, 'two', 'Two')"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s := NewRecordSet(db, adapter.NewSchemas()).Records[adapter.Websites]
		for _, c := range []struct {
			name string
			take func() (more bool)
			want error
		}{
			{"page full", func() bool { return false }, nil},
			{"cancelled", func() bool { cancel(); return true }, context.Canceled},
		} {
			read := 0
			sb := db.Engine.Flavor.NewSelectBuilder().Select(s.Table.KeyColumn()).From(s.Table.Name)
			err := s.eachRecord(ctx, db.ReadStatements.Query, sb, func(rows engine.Rows) (adapter.Record, error) {
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

// TestPostFilter fills pages from records one by one, and checks that a page does not hold the memory of rejected records.
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
			if kept := len(s.records); kept > 0 && &s.records[kept-1].Values[0] == &r.Values[0] {
				t.Errorf("record %d was added to the page without a copy", looked+1)
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
