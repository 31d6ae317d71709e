package follow

import (
	"context"
	"errors"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"time"
)

const (
	// lockWait is how long a session waits for others that import.
	lockWait = 5 * time.Second
	// shareAfter is how long a session imports before it yields to waiting importers.
	shareAfter = 20 * time.Millisecond
)

// An importLock is the lock of imports as the sessions of a process share it. Each reader reads and
// stores the present state of records under this lock, so that no state that was read earlier
// replaces one that was read later.
type importLock struct {
	imports coordination.ImportLog
	turn    chan struct{} // one place, for the session of the process that has or awaits the lock
	release func() error  // nil: the session does not have the lock
	since   time.Time
}

// lock takes the lock. It fails with [engine.ErrImporting] if others do not release it in
// time.
func (l *importLock) lock(ctx context.Context) error {
	timer := time.NewTimer(lockWait)
	defer timer.Stop()
	select {
	case l.turn <- struct{}{}:
	case <-timer.C:
		return engine.ErrImporting
	case <-ctx.Done():
		return ctx.Err()
	}
	release, err := l.imports.LockWithin(ctx, lockWait)
	if err != nil {
		<-l.turn
		return err
	}
	l.since = time.Now()
	l.release = func() error {
		defer func() { <-l.turn }()
		return release()
	}
	return nil
}

// unlock releases the lock if the session holds it.
func (l *importLock) unlock() error {
	if l.release == nil {
		return nil
	}
	release := l.release
	l.release = nil
	return release()
}

// share yields the lock to waiting importers if the session has held it for a while. Records that
// were read before must not be stored afterwards.
func (l *importLock) share(ctx context.Context) error {
	if time.Since(l.since) < shareAfter {
		return nil
	}
	return errors.Join(l.unlock(), l.lock(ctx))
}
