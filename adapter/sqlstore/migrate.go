package sqlstore

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"io/fs"
	"log/slog"

	"github.com/pressly/goose/v3"
)

//go:embed migrations
var migrations embed.FS

// migrate brings the tables up to date. logger, unless nil, is told.
func (e *engine) migrate(ctx context.Context, writer *sql.DB, logger *slog.Logger) error {
	files, err := fs.Sub(migrations, "migrations/"+e.migrations)
	if err != nil {
		return err
	}
	options := []goose.ProviderOption{goose.WithDisableGlobalRegistry(true)}
	if e.migrationLock.lock != "" {
		options = append(options, goose.WithSessionLocker(e.migrationLock))
	}
	if logger != nil {
		options = append(options, goose.WithSlog(logger))
	}
	provider, err := goose.NewProvider(e.dialect, writer, files, options...)
	if err != nil {
		return err
	}
	_, err = provider.Up(ctx)
	return err
}

// A migrationLock is a lock of the server that a connection holds. It is given
// by two statements, each of which answers 1 when it is done.
type migrationLock struct{ lock, unlock string }

var errMigrationLock = errors.New("another process is migrating the database")

// SessionLock waits for the lock.
func (l migrationLock) SessionLock(ctx context.Context, conn *sql.Conn) error {
	return l.do(ctx, conn, l.lock)
}

// SessionUnlock frees the lock.
func (l migrationLock) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	return l.do(ctx, conn, l.unlock)
}

func (l migrationLock) do(ctx context.Context, conn *sql.Conn, text string) error {
	var done sql.NullInt64
	if err := conn.QueryRowContext(ctx, text).Scan(&done); err != nil {
		return err
	}
	if done.Int64 != 1 {
		return errMigrationLock
	}
	return nil
}
