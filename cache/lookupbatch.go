package cache

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// maxBatches is the number of concurrent round trips with lookups.
	maxBatches = 2
	// maxBatched is the number of lookups in one round trip.
	maxBatched = 32
)

// A lookupBatch sends the lookups that wait at the same time in one round trip, so that under load they share its
// system calls, its deadline and its place in the pool. It sends a lookup immediately unless maxBatches are under way.
type lookupBatch struct {
	do      func(ctx context.Context, operation string, build func(redis.Pipeliner)) error
	timeout time.Duration // of a round trip

	mu       sync.Mutex
	waiting  []*batchedLookup
	underWay int
}

// A batchedLookup is a lookup in a lookupBatch.
type batchedLookup struct {
	ctx   context.Context
	build func(redis.Pipeliner) // adds its commands
	done  chan error            // receives the error of the round trip
}

// lookup makes a round trip with the commands that build adds, and with other lookups. It fails with errBusy
// if ctx ends first, or if the round trips before it take too long; the commands then have no results.
func (b *lookupBatch) lookup(ctx context.Context, build func(redis.Pipeliner)) error {
	l := &batchedLookup{ctx, build, make(chan error, 1)}
	b.mu.Lock()
	b.waiting = append(b.waiting, l)
	var batch []*batchedLookup
	if b.underWay < maxBatches {
		b.underWay++
		batch = b.take()
	}
	b.mu.Unlock()
	if batch != nil { // it has l, since none waits unless maxBatches are under way
		b.send(batch)
		return <-l.done
	}
	timer := time.NewTimer(2 * b.timeout) // for the round trip before it, and for its own
	defer timer.Stop()
	select {
	case err := <-l.done:
		return err
	case <-timer.C:
	case <-ctx.Done():
	}
	return errBusy
}

// take returns the lookups for the next round trip; the caller holds b.mu.
func (b *lookupBatch) take() []*batchedLookup {
	n := min(len(b.waiting), maxBatched)
	batch := b.waiting[:n:n]
	if b.waiting = b.waiting[n:]; len(b.waiting) == 0 {
		b.waiting = nil
	}
	return batch
}

// send makes a round trip, and starts the next one if lookups wait by then.
func (b *lookupBatch) send(batch []*batchedLookup) {
	// The first caller may leave, the others still wait.
	err := b.do(context.WithoutCancel(batch[0].ctx), opLookup, func(p redis.Pipeliner) {
		for _, l := range batch {
			l.build(p)
		}
	})
	for _, l := range batch {
		l.done <- err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting) == 0 {
		b.underWay--
		return
	}
	go b.send(b.take()) // the caller has its own reply
}
