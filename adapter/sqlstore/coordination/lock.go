package coordination

import (
	"context"
	"errors"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"time"
)

// Lock keeps other processes from importing into the database until release is called, or the
// process ends. If another process has the lock, Lock fails immediately with engine.ErrImporting.
// Further kinds: Unavailable, Internal.
func (i ImportLog) Lock(ctx context.Context) (release func() error, err error) {
	return i.LockWithin(ctx, 0)
}

// maxSilence is how long a server waits for a sign of life of a process that imports under a lease.
const maxSilence = 30 * time.Second

// LockWithin is Lock, except that it fails only if the lock is not released in time. A process that
// waits gets the lock before one that has just released it.
//
// A process with a lease, as described at [Log.Fenced], loses the lock half a minute after it has
// stopped or lost its network, except with SQLite: it can no longer write when another process has
// the lease. Other processes keep the lock.
func (i ImportLog) LockWithin(ctx context.Context, wait time.Duration) (release func() error, err error) {
	var silence time.Duration
	if i.lease != nil {
		silence = maxSilence
	}
	pool, err := i.db.SessionPool(i.db.Readers)
	if err != nil {
		return nil, err
	}
	release, err = i.db.Engine.LockImports(ctx, pool, i.db.Name, wait, silence)
	if err == nil || errors.Is(err, engine.ErrImporting) {
		return release, err
	}
	return nil, i.db.WrapError(ctx, "lock imports", err)
}
