package replica

import "testing"

// TestListedIDsAreBounded checks that a list of any length takes memory for a bounded number of ids.
func TestListedIDsAreBounded(t *testing.T) {
	l := NewListing()
	l.most = 3
	l.Add([]string{"a", "b", "c", "d", "d", "a"})
	if len(l.seen) != 3 || l.listed != 6 || l.repeated != 1 {
		t.Errorf("%d ids are remembered of %d, %d are repeated", len(l.seen), l.listed, l.repeated)
	}
}
