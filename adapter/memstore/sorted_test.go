package memstore

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSorted makes version after version of a map, each by random changes of an earlier
// one, and compares all of them with maps in the end.
func TestSorted(t *testing.T) {
	const versions, changes, keys = 200, 700, 2000
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	type pair struct {
		got  sorted[int, int]
		want map[int]int
	}
	all := []pair{{want: map[int]int{}}}
	for n := range versions {
		next := all[random.IntN(len(all))]
		next.want = maps.Clone(next.want)
		made := new(version)
		first := random.IntN(keys)
		for i := range changes {
			key := random.IntN(keys)
			if n%2 == 1 {
				key = (first + i) % keys // neighbors, so that chunks fill up or become empty
			}
			if n%5 < 3 {
				next.got.set(made, key, n)
				next.want[key] = n
			} else {
				next.got.remove(made, key)
				delete(next.want, key)
			}
		}
		all = append(all, next)
	}
	for n, p := range all {
		var want []int
		for _, key := range slices.Sorted(maps.Keys(p.want)) {
			want = append(want, p.want[key])
		}
		if got := slices.Collect(p.got.all()); !slices.Equal(got, want) {
			t.Fatalf("version %d has %v, want %v", n, got, want)
		}
		for key := range keys {
			got, ok := p.got.get(key)
			if wanted, has := p.want[key]; got != wanted || ok != has {
				t.Fatalf("version %d: %d is %d, %t; want %d, %t", n, key, got, ok, wanted, has)
			}
		}
	}
}
