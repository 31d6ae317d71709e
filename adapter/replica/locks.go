package replica

import (
	"context"
	"slices"
	"sync"

	"github.com/portico-commerce/portico/adapter"
)

// A record names a root record.
type record struct {
	resource adapter.Resource
	key      adapter.Key
}

// locks let those who change one root, or a part of it, take turns. Who locks several
// does so by lockAll and holds none before, so nobody waits in a circle.
type locks struct {
	mu   sync.Mutex
	held map[record]*lock
}

// A lock is one that somebody has or waits for.
type lock struct {
	turn  chan struct{} // holds one while it is locked
	users int
}

// use returns the lock of a record for somebody who wants it.
func (l *locks) use(r record) *lock {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		l.held = map[record]*lock{}
	}
	one := l.held[r]
	if one == nil {
		one = &lock{turn: make(chan struct{}, 1)}
		l.held[r] = one
	}
	one.users++
	return one
}

// leave gives up a lock that use returned.
func (l *locks) leave(r record, one *lock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if one.users--; one.users == 0 {
		delete(l.held, r)
	}
}

// lock waits until it has the lock of a record, or ctx ends.
func (l *locks) lock(ctx context.Context, r record) (unlock func(), err error) {
	one := l.use(r)
	select {
	case one.turn <- struct{}{}:
		return func() { <-one.turn; l.leave(r, one) }, nil
	case <-ctx.Done():
		l.leave(r, one)
		return nil, ctx.Err()
	}
}

// try is lock where nobody has it, and else fails.
func (l *locks) try(r record) (unlock func(), ok bool) {
	one := l.use(r)
	select {
	case one.turn <- struct{}{}:
		return func() { <-one.turn; l.leave(r, one) }, true
	default:
		l.leave(r, one)
		return nil, false
	}
}

// lockAll locks several roots of one resource, in the order of their keys, which it
// sorts.
func (l *locks) lockAll(ctx context.Context, r adapter.Resource, keys []adapter.Key) (unlock func(), err error) {
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
		one, err := l.lock(ctx, record{r, key})
		if err != nil {
			unlock()
			return nil, err
		}
		locked = append(locked, one)
	}
	return unlock, nil
}
