package replica

import (
	"context"
	"errors"
	"github.com/portico-commerce/portico/adapter"
	"math/rand/v2"
	"time"
)

// errBusy means that another process is writing a record.
var errBusy = errors.New("another process is writing the record")

// busy returns the error for a write that cannot be done now because of other writes.
func busy(op string, err error) error {
	return &adapter.Error{Kind: adapter.Unavailable, Op: op, Err: err, RetryAfter: time.Second}
}

// poll is the time between two checks of another process's progress.
const poll = 20 * time.Millisecond

// Wait waits until it is time to look again, unless ctx ends, whose error it returns.
func Wait(ctx context.Context) error { return wait(ctx, poll) }

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
