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

// migrate runs the migrations and logs them to logger unless that is nil. It takes a
// lock of the engine itself, because goose creates its own table before it locks, and
// concurrent processes see that table half created on MySQL.
func (e *engine) migrate(ctx context.Context, writer *sql.DB, logger *slog.Logger) error {
	l := e.migrationLock
	if l.lock == "" {
		return e.runMigrations(ctx, writer, logger)
	}
	conn, err := writer.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	done, err := l.do(ctx, conn, l.lock)
	if err != nil {
		return err
	}
	if !done {
		return errMigrationLock
	}
	err = e.runMigrations(ctx, writer, logger)
	_, unlockErr := l.do(context.WithoutCancel(ctx), conn, l.unlock)
	return errors.Join(err, unlockErr)
}

// runMigrations runs the migrations that the database lacks. Tests give further options.
func (e *engine) runMigrations(ctx context.Context, writer *sql.DB, logger *slog.Logger, options ...goose.ProviderOption) error {
	files, err := fs.Sub(migrations, "migrations/"+e.migrations)
	if err != nil {
		return err
	}
	options = append(options, goose.WithDisableGlobalRegistry(true))
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

var errMigrationLock = errors.New("another process is migrating the database")
