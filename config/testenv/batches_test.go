package testenv

import (
	"strconv"
	"strings"
	"testing"
)

func TestCheckBatches(t *testing.T) {
	for _, c := range []struct {
		name string
		// items of each batch, and whose value they hold
		batches, last, want string
	}{
		{"none", "", "", ""},
		{"one", "ab", "a1 b1", ""},
		{"the second came last", "ab ab", "a2 b2", ""},
		{"they do not overlap", "ab cd", "a1 b1 c2 d2", ""},
		{"a chain", "ab bc cd", "a1 b1 c2 d3", ""},
		{"a chain that has an order", "ab bc cd", "a1 b2 c3 d3", ""},
		{"a mix of two", "ab ba", "a1 b2", "each of [1 2]"},
		{"a circle of three", "ab bc ca", "a3 b1 c2", "each of [1 2 3]"},
		{"a circle beside others", "ab ab cd", "a1 b2 c3 d3", "each of [1 2]"},
		{"a value that no batch wrote", "ab", "a1", "b holds a value"},
		{"a value of one that did not write it", "ab c", "a1 b2 c2", "b holds a value"},
	} {
		t.Run(c.name, func(t *testing.T) {
			written, last := map[int][]string{}, map[string]int{}
			for i, items := range strings.Fields(c.batches) {
				written[i+1] = strings.Split(items, "")
			}
			for _, held := range strings.Fields(c.last) {
				batch, err := strconv.Atoi(held[1:])
				if err != nil {
					t.Fatal(err)
				}
				last[held[:1]] = batch
			}
			err := CheckBatches(written, last)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
