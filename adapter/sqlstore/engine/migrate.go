package engine

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"io/fs"
	"log/slog"
	"path"
	"slices"
	"strings"

	"github.com/pressly/goose/v3"
)

//go:embed migrations
var migrations embed.FS

// Migrate runs the migrations, logs them to logger unless that is nil, and returns the names
// of those that the database lacked. It takes a lock of the engine itself, because goose
// creates its own table before it locks, and concurrent processes see that table half created
// on MySQL. Tests give further options.
func (e *Engine) Migrate(ctx context.Context, writer *sql.DB, logger *slog.Logger, options ...goose.ProviderOption) (applied []string, err error) {
	l := e.migrationLock
	if l.lock == "" {
		return e.runMigrations(ctx, writer, logger, options)
	}
	conn, err := writer.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	done, err := l.do(ctx, conn, l.lock)
	if err != nil {
		return nil, err
	}
	if !done {
		return nil, errMigrationLock
	}
	applied, err = e.runMigrations(ctx, writer, logger, options)
	_, unlockErr := l.do(context.WithoutCancel(ctx), conn, l.unlock)
	return applied, errors.Join(err, unlockErr)
}

// runMigrations runs the migrations that the database lacks, and returns their names.
func (e *Engine) runMigrations(ctx context.Context, writer *sql.DB, logger *slog.Logger, options []goose.ProviderOption) (applied []string, err error) {
	files, err := fs.Sub(migrations, "migrations/"+e.migrations)
	if err != nil {
		return nil, err
	}
	options = append(options, goose.WithDisableGlobalRegistry(true))
	if logger != nil {
		options = append(options, goose.WithSlog(logger))
	}
	provider, err := goose.NewProvider(e.dialect, writer, files, options...)
	if err != nil {
		return nil, err
	}
	results, err := provider.Up(ctx)
	for _, r := range results {
		applied = append(applied, strings.TrimSuffix(path.Base(r.Source.Path), ".sql"))
	}
	return applied, err
}

var errMigrationLock = errors.New("another process is migrating the database")

// MigrationVersions returns the versions of the engine's migrations in order.
func (e *Engine) MigrationVersions() (versions []int64, err error) {
	files, err := migrations.ReadDir("migrations/" + e.migrations)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		version, err := goose.NumericComponent(file.Name())
		if err != nil {
			return nil, err
		}
		versions = append(versions, version)
	}
	slices.Sort(versions)
	return versions, nil
}

// VersionTable is the table in which goose notes the migrations that have run.
const VersionTable = "goose_db_version"
