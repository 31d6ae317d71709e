package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"time"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// ErrImporting means that another process imports into the database.
var ErrImporting = errors.New("another import into this store is running: run the command again when it has ended")

// Lock keeps others from importing into the database until release is called, or the process
// ends. If another process has the lock, Lock fails at once with ErrImporting. Further kinds:
// Unavailable, Internal.
func (i Imports) Lock(ctx context.Context) (release func() error, err error) {
	return i.LockWithin(ctx, 0)
}

// LockWithin is Lock, except that it fails only if the lock is not released in time. A process
// that waits gets the lock before one that has just released it.
func (i Imports) LockWithin(ctx context.Context, wait time.Duration) (release func() error, err error) {
	release, err = i.db.engine.lockImports(ctx, i.db.readers, i.db.name, wait)
	if err == nil || errors.Is(err, ErrImporting) {
		return release, err
	}
	return nil, i.db.wrapError(ctx, "lock imports", err)
}

// A serverLock is a server's lock that a connection holds. Each of the statements lock,
// unlock and that of lockWithin returns 1 if it succeeded.
type serverLock struct {
	prepare      string // a statement for the connection; "" for none
	lock, unlock string
	// lockWithin returns a statement that waits for the lock: for so long if the server can
	// do so, and then for grace less than a connection is given.
	lockWithin func(wait time.Duration) string
	grace      time.Duration
}

// do runs one of these statements on a connection, and reports whether it succeeded.
func (l serverLock) do(ctx context.Context, conn *sql.Conn, text string) (done bool, err error) {
	var number sql.NullInt64
	err = conn.QueryRowContext(ctx, text).Scan(&number)
	return number.Int64 == 1, err
}

// lockImports takes the lock of imports on a connection of its own.
func (l serverLock) lockImports(ctx context.Context, readers *sql.DB, _ string, wait time.Duration) (release func() error, err error) {
	conn, err := readers.Conn(ctx)
	if err != nil {
		return nil, err
	}
	if l.prepare != "" {
		_, err = conn.ExecContext(ctx, l.prepare)
	}
	done := false
	if err == nil {
		done, err = l.acquire(ctx, conn, wait)
	}
	if err == nil && !done {
		err = ErrImporting
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return func() error {
		_, err := l.do(context.WithoutCancel(ctx), conn, l.unlock)
		return errors.Join(err, conn.Close())
	}, nil
}

// acquire takes the lock if it is free or released in time. Servers give it to those who wait
// in their order.
func (l serverLock) acquire(ctx context.Context, conn *sql.Conn, wait time.Duration) (done bool, err error) {
	if wait <= 0 {
		return l.do(ctx, conn, l.lock)
	}
	// The server ends the wait itself if it can: it may notice late that a connection was closed.
	limited, cancel := context.WithTimeout(ctx, wait+l.grace)
	defer cancel()
	done, err = l.do(limited, conn, l.lockWithin(wait))
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return false, nil
	}
	return done, err
}

// lockSQLiteImports locks an empty database beside that of path: an import writes the latter
// in many transactions. SQLite has no order of those who wait for a lock. So they wait one by
// one, with the lock of a second database in hand that is for waiting.
func lockSQLiteImports(ctx context.Context, _ *sql.DB, path string, wait time.Duration) (release func() error, err error) {
	if wait <= 0 {
		return lockFile(ctx, path+"-import", 0)
	}
	began := time.Now()
	next, err := lockFile(ctx, path+"-import-next", wait)
	if err != nil {
		return nil, err
	}
	release, err = lockFile(ctx, path+"-import", max(0, wait-time.Since(began)))
	if end := next(); end != nil && err == nil {
		return nil, errors.Join(end, release())
	}
	return release, err
}

// lockRetry is the time between two attempts to lock a file: much shorter than what SQLite
// itself would wait.
const lockRetry = 2 * time.Millisecond

// lockFile locks an SQLite database, which it creates.
func lockFile(ctx context.Context, path string, wait time.Duration) (release func() error, err error) {
	began := time.Now()
	beside, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?_txlock=exclusive")
	if err != nil {
		return nil, err
	}
	for {
		tx, err := beside.BeginTx(context.WithoutCancel(ctx), nil) // which would end with ctx
		if err == nil {
			return func() error { return errors.Join(tx.Rollback(), beside.Close()) }, nil
		}
		var fault *sqlite.Error
		if !errors.As(err, &fault) || fault.Code()&0xff != lib.SQLITE_BUSY {
			return nil, errors.Join(err, beside.Close())
		}
		if time.Since(began) >= wait {
			return nil, errors.Join(ErrImporting, beside.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), beside.Close())
		case <-time.After(lockRetry):
		}
	}
}
