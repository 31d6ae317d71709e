package limits

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"golang.org/x/sync/semaphore"
)

// ErrExhausted is the cause of the error for a budget that stayed exhausted while a request
// waited for it.
var ErrExhausted = errors.New("other requests hold the whole budget")

// retryAfter is the time after which a rejected client may try again.
const retryAfter = time.Second

// A Budget limits the amount that all requests hold at the same time. It is safe for
// concurrent use.
type Budget struct {
	name   string
	limit  int64
	wait   time.Duration
	parent *Budget // nil unless this is a part of another budget
	left   *semaphore.Weighted

	used, refused atomic.Int64
}

// NewBudget returns a budget of limit units. Take waits for at most the given time. The name
// appears in metrics and errors.
func NewBudget(name string, limit int64, wait time.Duration) *Budget {
	return &Budget{name: name, limit: limit, wait: wait, left: semaphore.NewWeighted(limit)}
}

// Part returns a budget of at most limit units, which are taken from b as well.
func (b *Budget) Part(name string, limit int64) *Budget {
	part := NewBudget(name, limit, b.wait)
	part.parent = b
	return part
}

// Take takes n units and waits for them if necessary. It returns the error of ctx, or one of
// kind Unavailable with the cause [ErrExhausted]; the latter immediately if n exceeds the
// limit.
func (b *Budget) Take(ctx context.Context, n int64) error { return b.take(ctx, n, b.wait) }

// TryTake is Take without waiting.
func (b *Budget) TryTake(n int64) error { return b.take(context.Background(), n, 0) }

func (b *Budget) take(ctx context.Context, n int64, wait time.Duration) error {
	if err := b.acquire(ctx, n, wait); err != nil {
		return err
	}
	b.used.Add(n)
	if b.parent == nil {
		return nil
	}
	// The whole comes last, so that requests waiting for the part hold none of it.
	err := b.parent.take(ctx, n, wait)
	if err != nil {
		b.used.Add(-n)
		b.left.Release(n)
	}
	return err
}

// acquire takes n units of this budget only, not of its parent.
func (b *Budget) acquire(ctx context.Context, n int64, wait time.Duration) error {
	if b.left.TryAcquire(n) {
		return nil
	}
	if wait > 0 && n <= b.limit {
		waiting, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		if b.left.Acquire(waiting, n) == nil {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	b.refused.Add(1)
	return &adapter.Error{Kind: adapter.Unavailable, Op: "take from the budget " + b.name, Err: ErrExhausted, RetryAfter: retryAfter}
}

// Return returns n units.
func (b *Budget) Return(n int64) {
	b.used.Add(-n)
	b.left.Release(n)
	if b.parent != nil {
		b.parent.Return(n)
	}
}

// A BudgetState is a snapshot of a budget.
type BudgetState struct {
	Name    string
	Limit   int64 // units
	Used    int64 // units
	Refused int64 // requests, since the start
}

// State returns a snapshot of the budget.
func (b *Budget) State() BudgetState {
	return BudgetState{b.name, b.limit, b.used.Load(), b.refused.Load()}
}
