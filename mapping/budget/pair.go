package budget

import (
	"cmp"
	"math"
	"time"
)

// pairWait is how long a request waits until others return enough of a budget of a pair.
const pairWait = time.Second

// A Pair is a budget and the half of it that Guests may take.
type Pair struct{ All, Guests *Budget }

// NewPair returns a budget with its half for Guests. A limit of 0 means no limit.
func NewPair(name string, limit int64) Pair {
	limit = cmp.Or(limit, math.MaxInt64)
	all := New(name, limit, pairWait)
	return Pair{all, all.Part(name+"_of_guests", max(1, limit/2))}
}

// For returns the budget that a caller takes from.
func (p Pair) For(guest bool) *Budget {
	if guest {
		return p.Guests
	}
	return p.All
}
