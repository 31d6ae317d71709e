package engine

import (
	"context"
	"database/sql"
	"io/fs"
)

// LockBeside and WaitSeconds are for tests that use databases.
var LockBeside = lockBeside

const WaitSeconds = waitSeconds

// TryMigrationLock takes the lock of migrations if it is free.
func (e *Engine) TryMigrationLock(ctx context.Context, pool *sql.DB, name string) (release func() error, err error) {
	return e.tryMigrationLock(ctx, pool, name)
}

// ErrMigrating is the error of a lock that is not free, and Migrations are the files.
var (
	ErrMigrating       = errMigrating
	Migrations   fs.FS = migrations
)
