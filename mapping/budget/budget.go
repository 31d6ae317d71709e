// Package budget bounds what all requests together hold of one thing: bytes of memory,
// bytes on disk, or places in a queue.
//
// # Principles
//
//  1. A budget is taken before the thing it stands for is used, and returned when it
//     is free again. What is not returned is lost until the process ends, so every
//     Take has its Return beside it, deferred where that is possible.
//  2. A request waits a moment for a budget that is used up, and is refused then: many
//     short requests share a budget better by waiting than by being refused.
//  3. A part bounds what some requests may take of a budget, so that strangers cannot
//     use up what authenticated callers need.
//
// # How it is tested
//
// By goroutines that take more than there is, on a fake clock, under the race detector.
package budget

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/portico-commerce/portico/adapter"
)

// ErrExhausted is the cause of an error for a budget that was used up all the time that
// a request waited for it.
var ErrExhausted = errors.New("other requests hold all there is")

// retryAfter is when a client that was refused may try again.
const retryAfter = time.Second

// A Budget bounds what requests hold at the same time. It is safe for concurrent use.
type Budget struct {
	name   string
	limit  int64
	wait   time.Duration
	parent *Budget // nil: a budget of its own
	left   *semaphore.Weighted

	used, refused atomic.Int64
}

// New returns a budget of limit units. A request waits for at most so long. The name
// stands in metrics and errors.
func New(name string, limit int64, wait time.Duration) *Budget {
	return &Budget{name: name, limit: limit, wait: wait, left: semaphore.NewWeighted(limit)}
}

// Part returns a budget of at most limit units, which are units of b as well.
func (b *Budget) Part(name string, limit int64) *Budget {
	part := New(name, limit, b.wait)
	part.parent = b
	return part
}

// Take takes n units, for which it waits. Errors: that of ctx; or one of kind Unavailable
// with the cause [ErrExhausted], at once where n is more than the budget ever has.
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
	// Last, so that those who wait for the part hold nothing of the whole.
	err := b.parent.take(ctx, n, wait)
	if err != nil {
		b.used.Add(-n)
		b.left.Release(n)
	}
	return err
}

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

// Return gives n units back that were taken.
func (b *Budget) Return(n int64) {
	b.used.Add(-n)
	b.left.Release(n)
	if b.parent != nil {
		b.parent.Return(n)
	}
}

// A State is what is known of a budget at one moment.
type State struct {
	Name    string
	Limit   int64 // units
	Used    int64 // units
	Refused int64 // requests, since the start
}

// State returns the present state.
func (b *Budget) State() State { return State{b.name, b.limit, b.used.Load(), b.refused.Load()} }
