package engine

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"time"
)

// A migrationLock takes the lock of migrations, or fails with errMigrating if another process has
// it. name is the name that Open was given.
type migrationLock func(ctx context.Context, pool *sql.DB, name string) (release func() error, err error)

// migrationLock returns the lock, held by the database's session: the server frees it when the
// process dies.
func (l serverLock) migrationLock(ctx context.Context, pool *sql.DB, _ string) (release func() error, err error) {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, err
	}
	done, err := l.do(ctx, conn, l.lock)
	if err == nil && !done {
		err = errMigrating
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return func() error {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockTimeout)
		defer cancel()
		_, err := l.do(limited, conn, l.unlock)
		return errors.Join(err, conn.Close())
	}, nil
}

// lockSQLiteMigrations locks an empty database beside the one of path. It is called before the
// latter is opened for the first time, which may fail while another process does so.
func lockSQLiteMigrations(ctx context.Context, _ *sql.DB, path string) (release func() error, err error) {
	return lockBeside(ctx, path, "-migration", 0, errMigrating)
}

// A galeraLock is the lock of migrations where a database may be a Galera cluster. GET_LOCK is local
// to a node there, so a row with an expiry is the lock of the cluster: if two nodes change it at
// once, certification refuses one of them.
type galeraLock struct {
	serverLock
	now       string               // Engine.Now
	contested func(err error) bool // whether another process was faster
}

// migrationLock takes the lock of the server, and in a cluster the row.
func (l galeraLock) migrationLock(ctx context.Context, pool *sql.DB, name string) (release func() error, err error) {
	unlock, err := l.serverLock.migrationLock(ctx, pool, name)
	if err != nil {
		return nil, err
	}
	clustered, err := isGalera(ctx, pool)
	if err == nil && !clustered {
		return unlock, nil
	}
	var drop func() error
	if err == nil {
		drop, err = l.takeRow(ctx, pool)
	}
	if err != nil {
		return nil, errors.Join(err, unlock())
	}
	return func() error { return errors.Join(drop(), unlock()) }, nil
}

// isGalera reports whether a server is a node of a Galera cluster.
func isGalera(ctx context.Context, pool *sql.DB) (bool, error) {
	var on bool
	err := pool.QueryRowContext(ctx, isNodeSQL).Scan(&on)
	if isUnknownVariable(err) {
		return false, nil
	}
	return on, err
}

const (
	// galeraExpiry is the time after which other processes may acquire the row of a process that has
	// died. A statement that changes a large table holds up the renewal, too.
	galeraExpiry = 2 * time.Minute
	// galeraRenewals is the number of renewals in that time.
	galeraRenewals = 6
)

// takeRow acquires the row of the cluster, and renews it until it is released.
func (l galeraLock) takeRow(ctx context.Context, pool *sql.DB) (release func() error, err error) {
	holder, expiry := rand.Text(), galeraExpiry.Milliseconds()
	for _, text := range []string{
		"CREATE TABLE IF NOT EXISTS migration_lock (name VARCHAR(64) NOT NULL PRIMARY KEY, holder VARCHAR(64) NOT NULL, expires_ms BIGINT NOT NULL)",
		"INSERT IGNORE INTO migration_lock (name, holder, expires_ms) VALUES ('migrations', '', 0)",
	} {
		if _, err := pool.ExecContext(ctx, text); err != nil {
			return nil, l.takeError(err)
		}
	}
	result, err := pool.ExecContext(ctx, "UPDATE migration_lock SET holder = ?, expires_ms = "+l.now+" + ? WHERE name = 'migrations' AND expires_ms < "+l.now, holder, expiry)
	if err != nil {
		return nil, l.takeError(err)
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return nil, errors.Join(err, errMigrating)
	}
	renewing, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ticks := time.Tick(galeraExpiry / galeraRenewals); ; {
			select {
			case <-renewing.Done():
				return
			case <-ticks:
			}
			// The next tick makes up for a failure.
			_, _ = pool.ExecContext(renewing, "UPDATE migration_lock SET expires_ms = "+l.now+" + ? WHERE holder = ?", expiry, holder)
		}
	}()
	return func() error {
		stop()
		<-ended
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockTimeout)
		defer cancel()
		_, err := pool.ExecContext(limited, "UPDATE migration_lock SET holder = '', expires_ms = 0 WHERE holder = ?", holder)
		return err
	}, nil
}

// takeError returns errMigrating for the error of a statement that lost against another node.
func (l galeraLock) takeError(err error) error {
	if l.contested(err) {
		return errMigrating
	}
	return err
}
