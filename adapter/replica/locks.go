package replica

import (
	"context"
	"slices"
	"sync"

	"github.com/portico-commerce/portico/adapter"
)

// A recordRef identifies a record.
type recordRef struct {
	resource adapter.Resource
	key      adapter.Key
}

// rootLocks serialize the writers of one root and its parts within this process. A caller
// that needs several locks takes them all with lockAll while it holds none, so that no
// deadlock is possible.
type rootLocks struct {
	mu   sync.Mutex
	held map[recordRef]*lock
}

// A lock is one that is held or waited for.
type lock struct {
	token chan struct{} // a semaphore: holds one element while the lock is held
	refs  int
}

// entry returns the token of a record's lock. The lock exists until release is called.
func (l *rootLocks) entry(r recordRef) (token chan struct{}, release func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		l.held = map[recordRef]*lock{}
	}
	one := l.held[r]
	if one == nil {
		one = &lock{token: make(chan struct{}, 1)}
		l.held[r] = one
	}
	one.refs++
	return one.token, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if one.refs--; one.refs == 0 {
			delete(l.held, r)
		}
	}
}

// lock waits until it holds the lock of a record, or ctx ends.
func (l *rootLocks) lock(ctx context.Context, r recordRef) (unlock func(), err error) {
	token, release := l.entry(r)
	select {
	case token <- struct{}{}:
		return func() { <-token; release() }, nil
	case <-ctx.Done():
		release()
		return nil, ctx.Err()
	}
}

// tryLock locks a record if nobody holds its lock.
func (l *rootLocks) tryLock(r recordRef) (unlock func(), ok bool) {
	token, release := l.entry(r)
	select {
	case token <- struct{}{}:
		return func() { <-token; release() }, true
	default:
		release()
		return nil, false
	}
}

// lockAll locks several roots of one resource in the order of their keys.
func (l *rootLocks) lockAll(ctx context.Context, r adapter.Resource, keys []adapter.Key) (unlock func(), err error) {
	unlock = func() {}
	for _, key := range slices.Compact(slices.Sorted(slices.Values(keys))) {
		one, err := l.lock(ctx, recordRef{r, key})
		if err != nil {
			unlock()
			return nil, err
		}
		others := unlock
		unlock = func() { one(); others() }
	}
	return unlock, nil
}
