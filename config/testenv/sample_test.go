package testenv

import (
	"slices"
	"strconv"
	"testing"
)

// TestTakes checks that a sample selects one test of each row of oneIn, and that consecutive seeds select
// every test once.
func TestTakes(t *testing.T) {
	t.Setenv("PORTICO_TEST_NIGHTLY", "")
	const oneIn = 7
	turns := oneIn
	if testing.Short() {
		turns *= 4
	}
	selected := make([]int, 11*turns)
	for run := range turns {
		t.Setenv("PORTICO_TEST_SEED", strconv.Itoa(500+run))
		sample, taken := NewSample(t), 0
		for i := range selected {
			sample.Takes(3) // counts for itself
			if sample.Takes(oneIn) {
				selected[i]++
				taken++
			}
			if i%turns == turns-1 && taken != i/turns+1 {
				t.Errorf("seed %d selects %d of %d tests", 500+run, taken, i+1)
			}
		}
	}
	if slices.ContainsFunc(selected, func(n int) bool { return n != 1 }) {
		t.Errorf("how often each test is selected: %v", selected)
	}
}

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
