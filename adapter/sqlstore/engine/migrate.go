package engine

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"path"
	"strings"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/pressly/goose/v3"
)

//go:embed migrations
var migrations embed.FS

// Migrate runs the migrations by the connections of pool, which needs at least two for a server,
// logs them to logger unless that is nil, and returns the names of the migrations that the database
// lacked. name is the name that Open was given. It waits while another process migrates, for at most
// [migrationWait]. It takes a lock of the engine itself, because goose creates its own table before
// it locks, and concurrent processes see that table half created. Tests give further options.
func (e *Engine) Migrate(ctx context.Context, pool *sql.DB, name string, logger *slog.Logger, options ...goose.ProviderOption) (applied []string, err error) {
	if e.LockClause != "" { // a new file of SQLite is opened with the lock
		versions, err := e.Versions(ctx, pool)
		if err == nil {
			err = versions.checkKnown()
		}
		if err == nil && len(versions.Pending) == 0 {
			err = e.completeState(ctx, pool)
		}
		if err != nil || len(versions.Pending) == 0 {
			return nil, err
		}
	}
	release, err := e.lockMigrations(ctx, pool, name, logger)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()
	versions, err := e.Versions(ctx, pool)
	if err == nil {
		err = versions.checkKnown()
	}
	if err != nil {
		return nil, err
	}
	if len(versions.Pending) == 0 { // of a file of SQLite
		return nil, e.completeState(ctx, pool)
	}
	// Before, in case this process is killed, and afterwards, as others may have read in between.
	if err := e.renewState(ctx, pool); err != nil {
		return nil, err
	}
	if applied, err = e.runMigrations(ctx, pool, logger, options); err == nil {
		err = e.renewState(ctx, pool)
	}
	return applied, err
}

// CheckVersion fails with kind Invalid if the tables have another version than the program: a
// migration is missing that no other process is running, or a later version has made one after which
// this one must not run. It waits while another process migrates, for at most [migrationWait]. A
// foreign database, which notes no migrations, passes.
func (e *Engine) CheckVersion(ctx context.Context, pool *sql.DB, name string, logger *slog.Logger) error {
	versions, err := e.Versions(ctx, pool)
	if err == nil && len(versions.Pending) > 0 {
		var release func() error
		if release, err = e.lockMigrations(ctx, pool, name, logger); err == nil {
			err = release()
		}
		if err == nil {
			versions, err = e.Versions(ctx, pool)
		}
	}
	if err != nil {
		return err
	}
	if err := versions.checkKnown(); err != nil || len(versions.Pending) == 0 || !versions.noted && e.isForeign(ctx, pool) {
		return err
	}
	return &adapter.Error{Kind: adapter.Invalid, Op: opVersion, Err: fmt.Errorf("the database lacks %d migrations, and sql.migrate is off: run \"portico migrate up\" with the program of this version, as a user who may change tables", len(versions.Pending))}
}

// opVersion is the operation of errors about the version of the tables.
const opVersion = "check the version of the tables"

// migrationWait limits how long a process waits for another one that migrates.
const migrationWait = 10 * time.Minute

// migrationPoll is the shortest time between two attempts to take the lock of migrations; the
// longest is twice as long. A statement that waits in the server would have a snapshot, for whose
// end CREATE INDEX CONCURRENTLY waits, and could wait no longer than lock_timeout.
const migrationPoll = 100 * time.Millisecond

// errMigrating means that another process holds the lock of migrations.
var errMigrating = errors.New("another process is migrating the database")

// lockMigrations waits for the lock of migrations.
func (e *Engine) lockMigrations(ctx context.Context, pool *sql.DB, name string, logger *slog.Logger) (release func() error, err error) {
	for began, said := time.Now(), false; ; {
		release, err := e.tryMigrationLock(ctx, pool, name)
		if !errors.Is(err, errMigrating) {
			return release, err
		}
		if !said && logger != nil {
			logger.Info("waiting: another process is migrating the database", "at_most", migrationWait)
		}
		if said = true; time.Since(began) > migrationWait {
			return nil, &adapter.Error{Kind: adapter.Unavailable, Op: "migrate", Err: fmt.Errorf("%w for more than %s: see what it does, then start this one again", errMigrating, migrationWait)}
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(migrationPoll + rand.N(migrationPoll)):
		}
	}
}

// runMigrations runs the migrations that the database lacks, and returns their names.
func (e *Engine) runMigrations(ctx context.Context, pool *sql.DB, logger *slog.Logger, options []goose.ProviderOption) (applied []string, err error) {
	files, err := fs.Sub(migrations, "migrations/"+e.migrations)
	if err != nil {
		return nil, err
	}
	options = append(options, goose.WithDisableGlobalRegistry(true))
	if e.commitsChanges {
		stepped, err := steppedMigrations(files)
		if err == nil {
			err = e.completeVersionTable(ctx, pool)
		}
		if err != nil {
			return nil, err
		}
		files, options = nil, append(options, goose.WithGoMigrations(stepped...))
	}
	if logger != nil {
		options = append(options, goose.WithSlog(logger))
	}
	provider, err := goose.NewProvider(e.dialect, pool, files, options...)
	if err != nil {
		return nil, err
	}
	results, err := provider.Up(ctx)
	for _, r := range results {
		name := path.Base(r.Source.Path)
		applied = append(applied, strings.TrimSuffix(name, path.Ext(name)))
	}
	return applied, err
}
