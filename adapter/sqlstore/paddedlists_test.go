package sqlstore

import (
	"slices"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// TestPaddedListsShareStatements queries lists of every length that a page may have.
func TestPaddedListsShareStatements(t *testing.T) {
	sqltest.EachEngine(t, testPaddedListsShareStatements)
}

func testPaddedListsShareStatements(t *testing.T, e sqltest.Engine) {
	var watched sqltest.Statements
	db := OpenWith(t, Options{DSN: e.NewDSN(t), Wrap: watched.Wrap})
	lines := storeOf(t, db, adapter.OrderItems)
	_, _ = watched.Take()
	var ids []string
	for range 100 {
		ids = append(ids, "1")
		where := []adapter.Condition{{Any: []adapter.Test{{Attribute: "order_id", Op: adapter.In, Operands: ids}}}}
		if _, err := lines.List(t.Context(), &adapter.ListParams{Query: adapter.Query{Where: where}}); err != nil {
			t.Fatal(err)
		}
	}
	executed, _ := watched.Take()
	slices.Sort(executed)
	if got := len(slices.Compact(executed)); got != 8 { // 1, 2, 4, … 128
		t.Errorf("%d statements, want 8", got)
	}
}
