package cache

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// maxBatches is the number of concurrent round trips with lookups.
	maxBatches = 2
	// maxBatchedKeys is the number of keys that one round trip reads. It bounds the replies that one of them may hold.
	maxBatchedKeys = 128
	// secondBatchAfter is how long lookups wait for the end of a round trip before they make another one beside it.
	// While Redis answers sooner, one at a time takes less processor time, since it serves more lookups.
	secondBatchAfter = 5 * time.Millisecond
)

// A lookupBatch sends the lookups that wait at the same time in one round trip, so that under load they share its
// system calls, its deadline and its place in the pool. It reads a key that several of them ask for once, as all
// lookups do for the generation of all replies. It sends a lookup immediately if no other is under way.
type lookupBatch struct {
	do      func(ctx context.Context, operation string, build func(redis.Pipeliner)) error
	timeout time.Duration // of a round trip

	mu       sync.Mutex
	waiting  []*roundTrip // until one that is under way has ended
	underWay int
}

// A roundTrip reads keys for the lookups that share it.
type roundTrip struct {
	ctx    context.Context // of the first lookup
	keys   []string        // each of them once
	second *time.Timer     // sends it beside the one that is under way; nil if it need not wait
	values []*redis.StringCmd
	err    error
	done   chan struct{} // closed when values or err is set
}

// add adds the keys of a lookup. It reports false if the round trip has too many keys then.
func (t *roundTrip) add(keys []string) bool {
	before := len(t.keys)
	for _, key := range keys {
		if !slices.Contains(t.keys, key) {
			t.keys = append(t.keys, key)
		}
	}
	if before > 0 && len(t.keys) > maxBatchedKeys {
		t.keys = slices.Delete(t.keys, before, len(t.keys))
		return false
	}
	return true
}

// of returns the values of keys that were asked for.
func (t *roundTrip) of(keys []string) []*redis.StringCmd {
	values := make([]*redis.StringCmd, len(keys))
	for i, key := range keys {
		values[i] = t.values[slices.Index(t.keys, key)]
	}
	return values
}

// lookup returns the values of keys, which it reads in a round trip that other lookups may share. It fails with errBusy
// if ctx ends first, or if the round trips before it take too long.
func (b *lookupBatch) lookup(ctx context.Context, keys []string) ([]*redis.StringCmd, error) {
	b.mu.Lock()
	idle := b.underWay == 0 // so that no other lookup waits
	t := b.join(ctx, keys)
	if idle {
		b.take()
	} else if t.second == nil {
		t.second = time.AfterFunc(secondBatchAfter, b.sendSecond)
	}
	b.mu.Unlock()
	if idle {
		b.send(t)
	} else if !t.await(ctx, 2*b.timeout) { // for the round trip before it, and for its own
		return nil, errBusy
	}
	if t.err != nil {
		return nil, t.err
	}
	return t.of(keys), nil
}

// await waits for the end of the round trip. It reports false if ctx ends first, or if it takes too long.
func (t *roundTrip) await(ctx context.Context, most time.Duration) bool {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-t.done:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// join returns the round trip that will read keys; the caller holds b.mu.
func (b *lookupBatch) join(ctx context.Context, keys []string) *roundTrip {
	if n := len(b.waiting); n > 0 && b.waiting[n-1].add(keys) {
		return b.waiting[n-1]
	}
	t := &roundTrip{ctx: ctx, done: make(chan struct{})}
	t.add(keys)
	b.waiting = append(b.waiting, t)
	return t
}

// take returns the next round trip, which is under way from now on; the caller holds b.mu.
func (b *lookupBatch) take() *roundTrip {
	t := b.waiting[0]
	b.waiting = slices.Delete(b.waiting, 0, 1)
	b.underWay++
	if t.second != nil {
		t.second.Stop()
	}
	return t
}

// sendSecond makes the next round trip beside the one that is under way.
func (b *lookupBatch) sendSecond() {
	b.mu.Lock()
	if len(b.waiting) == 0 || b.underWay >= maxBatches {
		b.mu.Unlock()
		return
	}
	t := b.take()
	b.mu.Unlock()
	b.send(t)
}

// send makes a round trip, and starts the next one if lookups wait by then.
func (b *lookupBatch) send(t *roundTrip) {
	ctx := context.WithoutCancel(t.ctx) // the first caller may leave, the others still wait
	t.err = b.do(ctx, opLookup, func(p redis.Pipeliner) {
		t.values = make([]*redis.StringCmd, len(t.keys))
		for i, key := range t.keys {
			t.values[i] = p.Get(ctx, key)
		}
	})
	close(t.done)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.underWay--
	switch {
	case len(b.waiting) == 0:
	case b.underWay == 0:
		go b.send(b.take()) // the caller has its own reply
	default:
		b.waiting[0].second.Reset(secondBatchAfter)
	}
}
