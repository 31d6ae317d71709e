package testenv

import (
	"slices"
	"testing"
)

// TestTurns checks that consecutive seeds select every row, that each selects its share of them, in
// order and none twice, and that one seed always selects the same.
func TestTurns(t *testing.T) {
	t.Parallel()
	for _, size := range []struct{ rows, oneIn int }{{1, 1}, {1, 10}, {2, 2}, {7, 3}, {9, 10}, {10, 10}, {69, 6}, {100, 7}} {
		var seen []int
		for run := range size.oneIn {
			seed := uint64(1234 + run)
			chosen := turn("TestExample", seed, size.rows, size.oneIn)
			if !slices.Equal(chosen, turn("TestExample", seed, size.rows, size.oneIn)) {
				t.Errorf("%v: seed %d is not repeatable", size, seed)
			}
			if !slices.IsSorted(chosen) || len(slices.Compact(slices.Clone(chosen))) != len(chosen) || len(chosen)*size.oneIn < size.rows {
				t.Errorf("%v: seed %d selects %v", size, seed, chosen)
			}
			seen = append(seen, chosen...)
		}
		slices.Sort(seen)
		if seen = slices.Compact(seen); len(seen) != size.rows || seen[0] != 0 || seen[len(seen)-1] != size.rows-1 {
			t.Errorf("%v: the seeds select only the rows %v", size, seen)
		}
	}
}
