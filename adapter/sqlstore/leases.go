package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/portico-commerce/portico/adapter/rules"
)

// ErrLeaseLost says that another process has taken a lease, or that it was released.
var ErrLeaseLost = errors.New("the lease is lost: another process has taken it over, or it was released")

// A Lease says that one of several processes may do something until another one takes over.
type Lease struct {
	Name   string
	Holder string // whoever has it, for people and for itself
	// Token is greater than that of every earlier holder. Transactions of [Adapter.Fenced]
	// and [Imports.Fenced] compare it.
	Token int64
	// Expires is when another process can take the lease over, at the earliest, by this
	// machine's clock.
	Expires time.Time
}

// Leases elects one of several processes. The clock of the database decides when a lease
// has expired; with SQLite that is this machine's.
type Leases struct{ db *DB }

// Leases returns the leases of the database.
func (db *DB) Leases() Leases { return Leases{db} }

// Acquire takes a lease that nobody holds or that has expired. ok is false if another process
// holds it. A holder that still has the lease gets it again, under a new token, so that a
// process that starts again need not wait. No two processes may have the same name. Names of
// leases have at most 64 characters, holders 255. Kinds: Invalid, Unavailable, Internal.
func (l Leases) Acquire(ctx context.Context, name, holder string, ttl time.Duration) (lease Lease, ok bool, err error) {
	db, begun := l.db, time.Now()
	err = db.write(ctx, "acquire lease", func(tx *sql.Tx) error {
		ok = false
		// This locks the row if there is one.
		if _, err := db.exec(ctx, tx, "INSERT INTO lease (name, holder, token, expires_ms) VALUES (?, '', 0, 0)"+db.engine.upsert("name", "name"), name); err != nil {
			return err
		}
		var current string
		var token int64
		var expired bool
		row := tx.QueryRowContext(ctx, db.engine.rebind("SELECT holder, token, expires_ms <= "+db.engine.now+" FROM lease WHERE name = ?"), name)
		if err := row.Scan(&current, &token, &expired); err != nil || !expired && current != holder {
			return err
		}
		lease, ok = Lease{Name: name, Holder: holder, Token: token + 1, Expires: begun.Add(ttl)}, true
		_, err := db.exec(ctx, tx, "UPDATE lease SET holder = ?, token = ?, expires_ms = "+db.engine.now+" + ? WHERE name = ?", holder, lease.Token, ttl.Milliseconds(), name)
		return err
	})
	if err != nil || !ok {
		return Lease{}, false, err
	}
	return lease, true, nil
}

// Renew extends a lease, also one that has expired while no other process wanted it. It fails
// with [ErrLeaseLost] if one has taken it. Kinds: Unavailable, Internal.
func (l Leases) Renew(ctx context.Context, lease Lease, ttl time.Duration) (Lease, error) {
	begun := time.Now()
	err := l.db.write(ctx, "renew lease", func(tx *sql.Tx) error {
		if err := l.check(ctx, tx, lease); err != nil {
			return err
		}
		_, err := l.db.exec(ctx, tx, "UPDATE lease SET expires_ms = "+l.db.engine.now+" + ? WHERE name = ?", ttl.Milliseconds(), lease.Name)
		return err
	})
	if err != nil {
		return Lease{}, err
	}
	lease.Expires = begun.Add(ttl)
	return lease, nil
}

// Release gives a lease up, so that another process can take it at once. It does nothing if
// one has it already. Kinds: Unavailable, Internal.
func (l Leases) Release(ctx context.Context, lease Lease) error {
	return l.db.write(ctx, "release lease", func(tx *sql.Tx) error {
		_, err := l.db.exec(ctx, tx, "UPDATE lease SET holder = '', expires_ms = 0 WHERE name = ? AND holder = ? AND token = ?", lease.Name, lease.Holder, lease.Token)
		return err
	})
}

// Hold takes a lease, renews it, and calls do, whose context ends when the lease is lost: Hold
// then fails with [ErrLeaseLost]. valid says whether no other process can have taken it yet, as
// far as this machine's clock can tell. ok is false if another process holds the lease.
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

// renewals is how often a lease is renewed in the time for which it is valid.
const renewals = 3

// releaseTimeout limits how long a process that ends waits for a store that does not answer. The
// lease then expires by itself.
const releaseTimeout = 5 * time.Second

// check fails with ErrLeaseLost if another process has taken a lease, and otherwise
// locks it, so that none does before tx has ended.
func (l Leases) check(ctx context.Context, tx *sql.Tx, lease Lease) error {
	var found int
	row := tx.QueryRowContext(ctx, l.db.engine.rebind("SELECT 1 FROM lease WHERE name = ? AND holder = ? AND token = ?"+l.db.engine.lockClause), lease.Name, lease.Holder, lease.Token)
	err := row.Scan(&found)
	if errors.Is(err, sql.ErrNoRows) {
		return ErrLeaseLost
	}
	return err
}

// writeFenced is write, except that the transaction fails with ErrLeaseLost, and stores
// nothing, if the process has lost a lease; nil: it needs none. The lease is the last row that
// the transaction locks, so that no process waits for it longer than for a commit.
func (db *DB) writeFenced(ctx context.Context, op string, lease *Lease, f func(*sql.Tx) error) error {
	if lease == nil {
		return db.write(ctx, op, f)
	}
	return db.write(ctx, op, func(tx *sql.Tx) error {
		if err := f(tx); err != nil {
			return err
		}
		return db.Leases().check(ctx, tx, *lease)
	})
}

// Fenced returns an adapter each of whose write transactions fails with [ErrLeaseLost], and
// stores nothing, if the holder of a lease has lost it. An expired lease that no other process
// has taken is not lost.
func (a *Adapter) Fenced(lease Lease) *Adapter {
	fenced := *a
	fenced.lease = &lease
	fenced.stores = rules.Stores(fenced.rules(), a.db.readerOf)
	return &fenced
}

// Fenced is [Adapter.Fenced] for what is noted of imports.
func (i Imports) Fenced(lease Lease) Imports { return Imports{i.db, &lease} }
