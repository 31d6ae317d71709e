package replica

import (
	"context"
	"slices"
	"sync"

	"github.com/portico-commerce/portico/adapter"
)

// A record names a root record.
type recordRef struct {
	resource adapter.Resource
	key      adapter.Key
}

// locks let those who change one root, or a part of it, take turns. Who locks several
// does so by lockAll and holds none before, so nobody waits in a circle.
type rootLocks struct {
	mu   sync.Mutex
	held map[recordRef]*lock
}

// A lock is one that somebody has or waits for.
type lock struct {
	token chan struct{} // holds one while it is locked
	refs  int
}

// use returns the lock of a record for somebody who wants it.
func (l *rootLocks) acquireEntry(r recordRef) *lock {
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
	return one
}

// leave gives up a lock that use returned.
func (l *rootLocks) releaseEntry(r recordRef, one *lock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if one.refs--; one.refs == 0 {
		delete(l.held, r)
	}
}

// lock waits until it has the lock of a record, or ctx ends.
func (l *rootLocks) lock(ctx context.Context, r recordRef) (unlock func(), err error) {
	one := l.acquireEntry(r)
	select {
	case one.token <- struct{}{}:
		return func() { <-one.token; l.releaseEntry(r, one) }, nil
	case <-ctx.Done():
		l.releaseEntry(r, one)
		return nil, ctx.Err()
	}
}

// try is lock where nobody has it, and else fails.
func (l *rootLocks) tryLock(r recordRef) (unlock func(), ok bool) {
	one := l.acquireEntry(r)
	select {
	case one.token <- struct{}{}:
		return func() { <-one.token; l.releaseEntry(r, one) }, true
	default:
		l.releaseEntry(r, one)
		return nil, false
	}
}

// lockAll locks several roots of one resource, in the order of their keys, which it
// sorts.
func (l *rootLocks) lockAll(ctx context.Context, r adapter.Resource, keys []adapter.Key) (unlock func(), err error) {
	slices.Sort(keys)
	var locked []func()
	unlock = func() {
		for _, one := range locked {
			one()
		}
	}
	for i, key := range keys {
		if i > 0 && key == keys[i-1] {
			continue
		}
		one, err := l.lock(ctx, recordRef{r, key})
		if err != nil {
			unlock()
			return nil, err
		}
		locked = append(locked, one)
	}
	return unlock, nil
}
