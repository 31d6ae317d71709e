package replica

import (
	"context"
	"slices"
	"sync"

	"github.com/portico-commerce/portico/adapter"
)

// A recordRef identifies a root record.
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

// acquireEntry returns the lock of a record and counts a reference to it.
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

// releaseEntry gives up a reference that acquireEntry counted. Locks without references are
// deleted.
func (l *rootLocks) releaseEntry(r recordRef, one *lock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if one.refs--; one.refs == 0 {
		delete(l.held, r)
	}
}

// lock waits until it holds the lock of a record, or ctx ends.
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

// tryLock locks a record if nobody holds its lock.
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

// lockAll locks several roots of one resource in the order of their keys. It sorts keys.
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
