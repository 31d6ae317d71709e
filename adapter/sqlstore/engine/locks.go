package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// ErrImporting means that another process imports into the database.
var ErrImporting = errors.New("another import into this store is running: run the command again when it has ended")

// A serverLock is a server's lock that a connection holds. Each of the statements lock, unlock and
// lockWithin returns 1 if it succeeded.
type serverLock struct {
	lock, unlock string
	// limitSilence returns a statement after which the server ends the connection when it has
	// received nothing for that time; 0 stands for the duration of any import. It returns "" if no
	// statement is necessary. unlimitSilence undoes it.
	limitSilence   func(silence time.Duration) string
	unlimitSilence string
	// lockWithin returns a statement that waits for the lock: for wait if the server can limit the
	// time, and for less than grace longer otherwise.
	lockWithin func(wait time.Duration) string
	grace      time.Duration
	// isRefused reports whether an error of lockWithin means that the lock was not free.
	isRefused func(error) bool
}

// do runs one of these statements on a connection, and reports whether it succeeded.
func (l serverLock) do(ctx context.Context, conn *sql.Conn, text string) (done bool, err error) {
	var number sql.NullInt64
	err = conn.QueryRowContext(ctx, text).Scan(&number)
	return number.Int64 == 1, err
}

// unlockTimeout limits how long a server may take to release a lock. After that the connection is
// closed, which releases it, too.
const unlockTimeout = 5 * time.Second

// lockImports takes the lock of imports on a connection of its own.
func (l serverLock) lockImports(ctx context.Context, readers *sql.DB, _ string, wait, silence time.Duration) (release func() error, err error) {
	conn, err := readers.Conn(ctx)
	if err != nil {
		return nil, err
	}
	limit, unlimit := l.limitSilence(silence), l.unlimitSilence
	if limit == "" {
		unlimit = ""
	}
	err = execIfAny(ctx, conn, limit)
	done := false
	if err == nil {
		done, err = l.acquire(ctx, conn, wait)
	}
	if err == nil && !done {
		err = errors.Join(ErrImporting, execIfAny(ctx, conn, unlimit))
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	stop := keepAlive(conn, silence)
	return func() error {
		stop()
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockTimeout)
		defer cancel()
		_, err := l.do(limited, conn, l.unlock)
		if err == nil {
			err = execIfAny(limited, conn, unlimit)
		}
		return errors.Join(err, conn.Close())
	}, nil
}

// execIfAny runs a statement, unless it is "".
func execIfAny(ctx context.Context, conn *sql.Conn, text string) error {
	if text == "" {
		return nil
	}
	_, err := conn.ExecContext(ctx, text)
	return err
}

// keepAlive shows a server several times in each span of silence that the process lives, until stop
// is called or a statement fails. With 0 it does nothing, as the server has no limit.
func keepAlive(conn *sql.Conn, silence time.Duration) (stop func()) {
	if silence == 0 {
		return func() {}
	}
	ending, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(silence / 3)
		defer tick.Stop()
		for {
			select {
			case <-ending:
				return
			case <-tick.C:
			}
			ctx, cancel := context.WithTimeout(context.Background(), unlockTimeout)
			_, err := conn.ExecContext(ctx, "SELECT 1")
			if cancel(); err != nil {
				return // the release fails as well
			}
		}
	}()
	return func() {
		close(ending)
		<-ended
	}
}

// acquire takes the lock if it is free or released in time. Servers grant it to waiting connections
// in their order.
func (l serverLock) acquire(ctx context.Context, conn *sql.Conn, wait time.Duration) (done bool, err error) {
	if wait <= 0 {
		return l.do(ctx, conn, l.lock)
	}
	// The server ends the wait itself if it can: it may notice late that a connection was closed.
	limited, cancel := context.WithTimeout(ctx, wait+l.grace)
	defer cancel()
	done, err = l.do(limited, conn, l.lockWithin(wait))
	if err != nil && ctx.Err() == nil && (limited.Err() != nil || l.isRefused(err)) {
		return false, nil
	}
	return done, err
}

// lockSQLiteImports locks an empty database beside the one of path: an import writes the database
// of path in many transactions. SQLite does not queue the processes that wait for a lock. So they
// wait one by one, each holding the lock of a second database that is for waiting.
func lockSQLiteImports(ctx context.Context, _ *sql.DB, path string, wait, _ time.Duration) (release func() error, err error) {
	if wait <= 0 {
		return lockBeside(ctx, path, "-import", 0, ErrImporting)
	}
	began := time.Now()
	next, err := lockBeside(ctx, path, "-import-next", wait, ErrImporting)
	if err != nil {
		return nil, err
	}
	release, err = lockBeside(ctx, path, "-import", max(0, wait-time.Since(began)), ErrImporting)
	if end := next(); end != nil && err == nil {
		return nil, errors.Join(end, release())
	}
	return release, err
}

// lockRetry is the time between two attempts to lock a file, much shorter than SQLite's own wait.
const lockRetry = 2 * time.Millisecond

// lockBeside locks an empty SQLite database beside the database of path, which must exist. It
// creates the lock file with the mode and owner of the database file, and with its name and a
// suffix. It fails with errLocked if another process does not release the lock in time. Processes
// that open the database by different symbolic links use the same lock file.
func lockBeside(ctx context.Context, path, suffix string, wait time.Duration, errLocked error) (release func() error, err error) {
	began := time.Now()
	path, err = filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	lock := path + suffix
	// An earlier version may have set another mode, or the mode of the database may have changed. A
	// lock file of another owner may be unusable; the transaction then fails.
	if old, err := os.Stat(lock); err == nil && old.Mode().Perm() != info.Mode().Perm() {
		_ = os.Chmod(lock, info.Mode().Perm())
	}
	modeOf := strings.ReplaceAll(url.QueryEscape(path), "+", "%20") // SQLite reads a plus as a plus
	beside, err := sql.Open("sqlite", "file:"+(&url.URL{Path: lock}).EscapedPath()+"?_txlock=exclusive&modeof="+modeOf)
	if err != nil {
		return nil, err
	}
	for {
		tx, err := beside.BeginTx(context.WithoutCancel(ctx), nil) // ctx would end it
		if err == nil {
			return func() error { return errors.Join(tx.Rollback(), beside.Close()) }, nil
		}
		if fault, ok := errors.AsType[*sqlite.Error](err); !ok || fault.Code()&0xff != lib.SQLITE_BUSY {
			return nil, errors.Join(err, beside.Close())
		}
		if time.Since(began) >= wait {
			return nil, errors.Join(errLocked, beside.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), beside.Close())
		case <-time.After(lockRetry):
		}
	}
}

const takeLock = "UPDATE write_lock SET taken = taken + 1 WHERE name = ?"

// LockName takes the lock with that name, a row of the table write_lock, until the transaction ends.
// It writes the row: a row that is only read FOR UPDATE is locked on one node of a Galera cluster, but
// if two transactions have written it, the cluster commits one, and the other is repeated.
func (t *Tx) LockName(ctx context.Context, name string) error {
	if t.DB.Engine.LockClause == "" {
		return nil // the transaction has locked the whole database
	}
	t.Executed = append(t.Executed, takeLock)
	result, err := t.DB.WriteStatements.execTx(ctx, t.tx, takeLock, name)
	if err != nil {
		return err
	}
	rows, err := result.RowsAffected()
	if err == nil && rows != 1 {
		err = fmt.Errorf("%w: %s", errNoLock, name)
	}
	return err
}

var errNoLock = errors.New("a row is missing in the table write_lock")

// nodeLocks bounds the rows of write_lock for each kind of LockOnNodes. Keys that differ by a multiple
// of it share a lock.
const nodeLocks = 4096

// LockOnNodes makes transactions exclude each other on different nodes of a Galera cluster if they
// name the same keys of the same kind, in at most 64 characters. It does nothing on other servers. A
// transaction needs it if it relies on a row that it locks but does not write; it calls it before it
// reads that row.
func (t *Tx) LockOnNodes(ctx context.Context, kind string, keys ...int64) error {
	if t.DB.IsCluster == nil || !t.DB.IsCluster() || len(keys) == 0 {
		return nil
	}
	names := make([]any, len(keys))
	for i, key := range keys {
		names[i] = fmt.Sprintf("%s %04d", kind, uint64(key)%nodeLocks)
	}
	slices.SortFunc(names, func(a, b any) int { return strings.Compare(a.(string), b.(string)) }) // so that there is no deadlock
	names = slices.Compact(names)
	text := "INSERT INTO write_lock (name, taken) VALUES " + strings.Repeat("(?, 1), ", len(names)-1) + "(?, 1) ON DUPLICATE KEY UPDATE taken = taken + 1"
	if len(names) == 1 {
		return t.Exec(ctx, text, names...)
	}
	_, err := t.Run(ctx, text, names...)
	return err
}
