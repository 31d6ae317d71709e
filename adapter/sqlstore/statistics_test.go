package sqlstore

import (
	"github.com/portico-commerce/portico/adapter"
	"slices"
	"testing"
)

// TestGrowth counts imports until the statistics are due.
func TestGrowth(t *testing.T) {
	for _, c := range []struct {
		name    string
		batches []int // created records
		want    []bool
	}{
		{"small batches", []int{100, 399, 1, 100, 1399, 1}, []bool{false, false, true, false, false, true}},
		{"a batch beyond several limits", []int{9000, 22_999, 1}, []bool{true, false, true}},
		{"nothing created", []int{0, 500, 0}, []bool{false, true, false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var g growth
			for i, n := range c.batches {
				outcomes := slices.Repeat([]adapter.Imported{{Outcome: adapter.ImportCreated}}, n)
				outcomes = append(outcomes, adapter.Imported{Outcome: adapter.ImportEqual})
				if got := g.add(outcomes); got != c.want[i] {
					t.Errorf("batch %d: %t, want %t", i, got, c.want[i])
				}
			}
		})
	}
}
