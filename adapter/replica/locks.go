package replica

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/portico-commerce/portico/adapter"
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

// errBusy means that another process is writing a record.
var errBusy = errors.New("another process is writing the record")

// busy returns the error for a write that cannot be done now because of other writes.
func busy(op string, err error) error {
	return &adapter.Error{Kind: adapter.Unavailable, Op: op, Err: err, RetryAfter: time.Second}
}

// poll is the time between two checks of another process's progress.
const poll = 20 * time.Millisecond

// wait waits for a time, unless ctx ends, whose error it returns.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// take calls write until it does not return ErrBusy, or for the time most: ErrBusy means that another
// process is writing the same record. If the record has changed at the backend meanwhile, Take calls
// write once more.
func take(ctx context.Context, most time.Duration, write func() error) error {
	deadline, repeated := time.Now().Add(most), false
	for {
		err := write()
		switch hasChanged := errors.Is(err, ErrChanged) && adapter.IsRefusal(err); {
		case hasChanged && repeated:
			return busy("write", err)
		case hasChanged:
			repeated = true
		case !errors.Is(err, errBusy) || !time.Now().Before(deadline):
			return err
		default: // processes that wait for each other must not retry in step
			if err := wait(ctx, rand.N(poll)); err != nil {
				return err
			}
		}
	}
}
