package replica

import (
	"context"
	"github.com/portico-commerce/portico/adapter"
	"slices"
	"sync"
)

// A ref identifies a record.
type ref struct {
	resource adapter.Resource
	key      adapter.Key
}

// locks serializes the writers of one root and its parts within this process. Callers must
// not lock while holding a lock, and Lock takes several in the order of their keys, so that
// no deadlock is possible.
type locks struct {
	mu   sync.Mutex
	held map[ref]chan struct{} // each is closed when its lock is released
}

// TryLock locks a root unless its lock is held. It then returns a nil unlock, and a channel
// that is closed when the lock is released.
func (l *locks) TryLock(resource adapter.Resource, key adapter.Key) (unlock func(), released <-chan struct{}) {
	r := ref{resource, key}
	l.mu.Lock()
	defer l.mu.Unlock()
	if current, held := l.held[r]; held {
		return nil, current
	}
	if l.held == nil {
		l.held = map[ref]chan struct{}{}
	}
	own := make(chan struct{})
	l.held[r] = own
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.held, r)
		close(own)
	}, nil
}

// Lock waits until it holds the locks of roots of one resource, or ctx ends.
func (l *locks) Lock(ctx context.Context, r adapter.Resource, keys ...adapter.Key) (unlock func(), err error) {
	var held []func()
	unlock = func() {
		for _, one := range held {
			one()
		}
	}
	for _, key := range slices.Compact(slices.Sorted(slices.Values(keys))) {
		one, released := l.TryLock(r, key)
		for one == nil {
			select {
			case <-released:
				one, released = l.TryLock(r, key)
			case <-ctx.Done():
				unlock()
				return nil, ctx.Err()
			}
		}
		held = append(held, one)
	}
	return unlock, nil
}
