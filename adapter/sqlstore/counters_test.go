package sqlstore

import (
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// TestResetCounters checks that new keys follow the keys of the data set after a reset,
// regardless of earlier keys.
func TestResetCounters(t *testing.T) {
	sqltest.EachSQL(t, func(t *testing.T, e sqltest.Engine) {
		db := openTest(t, e)
		schema := db.records.Table(adapter.Categories).Schema
		category := attrs{"parent_id": 1, "name": "c", "is_active": 1}
		dataset := &adapter.Dataset{Records: map[adapter.Resource][]adapter.Record{adapter.Categories: {category.With(attrs{"category_id": 7}).Record(schema), category.Record(schema)}}}
		add := func(want int64) {
			t.Helper()
			err := db.records.Write(t.Context(), "add category", func(tx *engine.Tx) error {
				id, err := tx.Insert(t.Context(), "category", "category_id", 0, []string{"parent_id", "name", "is_active"}, []any{1, "c", 1})
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
