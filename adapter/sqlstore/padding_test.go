package sqlstore

import (
	"slices"
	"testing"

	"github.com/portico-commerce/portico/adapter"
)

func TestPadToPowerOfTwo(t *testing.T) {
	for _, test := range []struct {
		name     string
		in, want []any
	}{
		{"none", []any{}, []any{}},
		{"one", []any{1}, []any{1}},
		{"two", []any{1, 2}, []any{1, 2}},
		{"three", []any{1, 2, 3}, []any{1, 2, 3, 3}},
		{"five", []any{1, 2, 3, 4, 5}, []any{1, 2, 3, 4, 5, 5, 5, 5}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := padToPowerOfTwo(test.in); !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// TestPaddedListsShareStatements queries lists of every length that a page may have.
func TestPaddedListsShareStatements(t *testing.T) {
	EachEngine(t, testPaddedListsShareStatements)
}

func testPaddedListsShareStatements(t *testing.T, e Engine) {
	db := openTest(t, e)
	lines, err := db.Adapter().Store(adapter.OrderItems)
	if err != nil {
		t.Fatal(err)
	}
	before := len(db.readStatements.prepared)
	var ids []string
	for range 100 {
		ids = append(ids, "1")
		where := []adapter.Condition{{Any: []adapter.Test{{Attribute: "order_id", Op: adapter.In, Operands: ids}}}}
		if _, err := lines.List(t.Context(), &adapter.ListParams{Query: adapter.Query{Where: where}}); err != nil {
			t.Fatal(err)
		}
	}
	if got := len(db.readStatements.prepared) - before; got != 8 { // 1, 2, 4, … 128
		t.Errorf("%d statements, want 8", got)
	}
}
