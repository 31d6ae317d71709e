package coordination

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// ErrLeaseLost means that another process has acquired a lease, or that it was released.
var ErrLeaseLost = errors.New("the lease is lost: another process has taken it over, or it was released")

// A Lease allows one of several processes to do something until another one acquires it.
type Lease struct {
	Name   string
	Holder string // name of the holder, for people and for itself
	// Token is greater than the token of every earlier holder. Transactions of
	// sqlstore.RecordAdapter.Fenced and ImportLog.Fenced compare it.
	Token int64
	// Expires is when another process can acquire the lease, at the earliest, by this machine's
	// clock.
	Expires time.Time
}

// Leases elects one of several processes. The clock of the database decides when a lease has expired;
// with SQLite that is this machine's clock.
type Leases struct{ db *engine.DB }

// NewLeases returns the leases of a database.
func NewLeases(db *engine.DB) Leases { return Leases{db} }

// Acquire acquires a lease that has no holder or that has expired. ok is false if another process
// holds it. A holder that still has the lease gets it again, under a new token, so that a process
// that starts again need not wait. No two processes may have the same name. All acquire a lease with
// the same ttl: a lease that expires later was renewed before the clock was set back, and expires one
// ttl from now unless its holder renews it. Names of leases have at
// most 64 characters, holders 255. Kinds: Invalid, Unavailable, Internal.
func (l Leases) Acquire(ctx context.Context, name, holder string, ttl time.Duration) (lease Lease, ok bool, err error) {
	db, begun := l.db, time.Now()
	err = db.Write(ctx, "acquire lease", func(tx *engine.Tx) error {
		ok = false
		// This locks the row if there is one.
		if _, err := tx.Run(ctx, "INSERT INTO lease (name, holder, token, expires_ms) VALUES (?, '', 0, 0)"+db.Engine.Upsert("name", "name"), name); err != nil {
			return err
		}
		var current string
		var token int64
		var expired, ahead bool
		row := tx.QueryRow(ctx, "SELECT holder, token, expires_ms <= "+db.Engine.Now+", expires_ms > "+db.Engine.Now+" + ? FROM lease WHERE name = ?", ttl.Milliseconds(), name)
		if err := row.Scan(&current, &token, &expired, &ahead); err != nil {
			return err
		}
		if !expired && current != holder {
			if !ahead {
				return nil
			}
			_, err := tx.Run(ctx, "UPDATE lease SET expires_ms = "+db.Engine.Now+" + ? WHERE name = ?", ttl.Milliseconds(), name)
			return err
		}
		if err := tx.LockOnNodes(ctx, lockKind+name, 0); err != nil {
			return err
		}
		lease, ok = Lease{Name: name, Holder: holder, Token: token + 1, Expires: begun.Add(ttl)}, true
		_, err := tx.Run(ctx, "UPDATE lease SET holder = ?, token = ?, expires_ms = "+db.Engine.Now+" + ? WHERE name = ?", holder, lease.Token, ttl.Milliseconds(), name)
		return err
	})
	if err != nil || !ok {
		return Lease{}, false, err
	}
	return lease, true, nil
}

// Renew extends a lease, also a lease that has expired while no other process wanted it. It fails
// with [ErrLeaseLost] if another process has acquired it. Kinds: Unavailable, Internal.
func (l Leases) Renew(ctx context.Context, lease Lease, ttl time.Duration) (Lease, error) {
	begun := time.Now()
	err := l.db.Write(ctx, "renew lease", func(tx *engine.Tx) error {
		if err := l.check(ctx, tx, lease); err != nil {
			return err
		}
		_, err := tx.Run(ctx, "UPDATE lease SET expires_ms = "+l.db.Engine.Now+" + ? WHERE name = ?", ttl.Milliseconds(), lease.Name)
		return err
	})
	if err != nil {
		return Lease{}, err
	}
	lease.Expires = begun.Add(ttl)
	return lease, nil
}

// Release gives a lease up, so that another process can acquire it immediately. It does nothing if
// another process has it already. Kinds: Unavailable, Internal.
func (l Leases) Release(ctx context.Context, lease Lease) error {
	return l.db.Write(ctx, "release lease", func(tx *engine.Tx) error {
		_, err := tx.Run(ctx, "UPDATE lease SET holder = '', expires_ms = 0 WHERE name = ? AND holder = ? AND token = ?", lease.Name, lease.Holder, lease.Token)
		return err
	})
}

// Hold acquires a lease, renews it, and calls do, whose context ends when the lease is lost: Hold
// then fails with [ErrLeaseLost]. valid reports whether no other process can have acquired the lease
// yet, according to this machine's clock. ok is false if another process holds the lease.
func (l Leases) Hold(ctx context.Context, name, holder string, ttl time.Duration, do func(ctx context.Context, lease Lease, valid func() bool) error) (ok bool, err error) {
	lease, ok, err := l.Acquire(ctx, name, holder, ttl)
	if err != nil || !ok {
		return false, err
	}
	var expires atomic.Pointer[time.Time]
	expires.Store(&lease.Expires)
	holding, lose := context.WithCancelCause(ctx)
	var renewing sync.WaitGroup
	renewing.Go(func() {
		for ticks := time.Tick(ttl / renewals); ; {
			select {
			case <-holding.Done():
				return
			case <-ticks:
			}
			renewed, err := l.Renew(holding, lease, ttl)
			switch {
			case err == nil:
				expires.Store(&renewed.Expires)
			case errors.Is(err, ErrLeaseLost):
				lose(err)
			}
		}
	})
	defer func() {
		lose(nil)
		renewing.Wait()
		releasing, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
		defer cancel()
		err = errors.Join(err, l.Release(releasing, lease))
	}()
	err = do(holding, lease, func() bool { return time.Now().Before(*expires.Load()) })
	if errors.Is(context.Cause(holding), ErrLeaseLost) {
		return true, ErrLeaseLost
	}
	return true, err
}

// renewals is the number of renewals of a lease in the time for which it is valid.
const renewals = 3

// releaseTimeout limits how long a process that ends waits for a store that does not answer. The
// lease then expires by itself.
const releaseTimeout = 5 * time.Second

// lockKind, followed by the name of a lease, is the lock for it between nodes of a cluster.
const lockKind = "lease "

// check fails with ErrLeaseLost if another process has acquired a lease, and otherwise locks it, so
// that no process does before tx has ended.
func (l Leases) check(ctx context.Context, tx *engine.Tx, lease Lease) error {
	if err := tx.LockOnNodes(ctx, lockKind+lease.Name, 0); err != nil {
		return err
	}
	var found int
	row := tx.QueryRow(ctx, "SELECT 1 FROM lease WHERE name = ? AND holder = ? AND token = ?"+l.db.Engine.LockClause, lease.Name, lease.Holder, lease.Token)
	err := row.Scan(&found)
	if errors.Is(err, sql.ErrNoRows) {
		return ErrLeaseLost
	}
	return err
}

// WriteLease is [engine.DB.Write], except that the transaction fails with ErrLeaseLost, and stores
// nothing, if the process has lost a lease; if lease is nil, it needs none.
func WriteLease(ctx context.Context, db *engine.DB, op string, lease *Lease, f func(*engine.Tx) error) error {
	return db.Write(ctx, op, Leased(ctx, db, lease, f))
}

// Leased returns f, except that it fails with ErrLeaseLost if the process has lost a lease; if lease is nil,
// it needs none. The lease is the last row that the transaction locks, so that no process waits for it
// longer than for a commit.
func Leased(ctx context.Context, db *engine.DB, lease *Lease, f func(*engine.Tx) error) func(*engine.Tx) error {
	if lease == nil {
		return f
	}
	return func(tx *engine.Tx) error {
		if err := f(tx); err != nil {
			return err
		}
		return Leases{db}.check(ctx, tx, *lease)
	}
}

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
