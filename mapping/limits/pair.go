package limits

import (
	"cmp"
	"math"
	"time"
)

// pairWait is how long a request waits until others return enough of a budget of a pair.
const pairWait = time.Second

// A BudgetPair is a budget and the half of it that Guests may take.
type BudgetPair struct{ All, Guests *Budget }

// NewBudgetPair returns a budget with its half for Guests. A limit of 0 means no limit.
func NewBudgetPair(name string, limit int64) BudgetPair {
	limit = cmp.Or(limit, math.MaxInt64)
	all := NewBudget(name, limit, pairWait)
	return BudgetPair{all, all.Part(name+"_of_guests", max(1, limit/2))}
}

// For returns the budget that a caller takes from.
func (p BudgetPair) For(guest bool) *Budget {
	if guest {
		return p.Guests
	}
	return p.All
}
