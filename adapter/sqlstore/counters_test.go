package sqlstore

import (
	"database/sql"
	"testing"

	"github.com/portico-commerce/portico/adapter"
)

// TestResetCounters checks that new keys follow those of the data set after a reset,
// regardless of earlier keys.
func TestResetCounters(t *testing.T) {
	EachEngine(t, func(t *testing.T, e Engine) {
		db := openTest(t, e)
		schema := db.table(adapter.Categories).schema
		category := func(id int64) adapter.Record {
			r := adapter.NewRecord(schema)
			if id != 0 {
				r.Set("category_id", adapter.IntegerValue(id))
			}
			r.Set("parent_id", adapter.IntegerValue(1))
			r.Set("name", adapter.TextValue("c"))
			r.Set("is_active", adapter.IntegerValue(1))
			return r
		}
		dataset := &adapter.Dataset{Records: map[adapter.Resource][]adapter.Record{adapter.Categories: {category(7), category(0)}}}
		add := func(want int64) {
			t.Helper()
			err := db.write(t.Context(), "add category", func(tx *sql.Tx) error {
				id, err := db.insert(t.Context(), tx, "category", "category_id", 0, []string{"parent_id", "name", "is_active"}, []any{1, "c", 1})
				if err == nil && id != want {
					t.Errorf("the next category is %d, want %d", id, want)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Load(t.Context(), dataset, nil); err != nil {
			t.Fatal(err)
		}
		add(9)
		add(10)
		if err := db.Reset(t.Context(), dataset); err != nil {
			t.Fatal(err)
		}
		add(9)
		dataset.Records = nil
		if err := db.Reset(t.Context(), dataset); err != nil {
			t.Fatal(err)
		}
		add(1)
	})
}
