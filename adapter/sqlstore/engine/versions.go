package engine

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/portico-commerce/portico/adapter"
	"github.com/pressly/goose/v3"
)

// Versions compares the migrations of a database with the migrations of this version.
type Versions struct {
	// Applied are the migrations that have run, and Pending the migrations that have not. Unknown
	// are the applied migrations that a later version has made.
	Applied, Pending, Unknown []int64
	// Oldest is the migration that a program must know to use the tables; 0: none. A migration
	// after which earlier versions must not run enters its number in the table migration_floor,
	// which the first one creates.
	Oldest int64
	newest int64 // of this version
	// noted: the database notes its migrations. A database without such notes is empty, or has
	// views with the names of the tables.
	noted bool
}

// TooNew reports whether a later version has changed the tables so that this one must not use them.
func (v *Versions) TooNew() bool { return v.Oldest > v.newest }

// checkKnown fails with kind Invalid if TooNew.
func (v *Versions) checkKnown() error {
	if !v.TooNew() {
		return nil
	}
	return &adapter.Error{Kind: adapter.Invalid, Op: opVersion, Err: fmt.Errorf("the database is newer than this program, which knows the migrations up to %d and needs to know those up to %d: use the program of that version, or restore the backup from before the upgrade", v.newest, v.Oldest)}
}

// Versions reads the versions of a database's migrations.
func (e *Engine) Versions(ctx context.Context, pool *sql.DB) (v Versions, err error) {
	known, err := e.MigrationVersions()
	if err != nil {
		return v, err
	}
	v.newest = known[len(known)-1]
	if v.Applied, v.noted, err = e.numbers(ctx, pool, VersionTable, "SELECT version_id FROM "+VersionTable+" WHERE is_applied AND version_id > 0 ORDER BY version_id"); err != nil {
		return v, err
	}
	floors, _, err := e.numbers(ctx, pool, "migration_floor", "SELECT migration FROM migration_floor")
	if len(floors) > 0 {
		v.Oldest = slices.Max(floors)
	}
	v.Pending = slices.DeleteFunc(slices.Clone(known), func(n int64) bool { return slices.Contains(v.Applied, n) })
	v.Unknown = slices.DeleteFunc(slices.Clone(v.Applied), func(n int64) bool { return slices.Contains(known, n) })
	return v, err
}

// numbers returns the numbers that a statement selects from a table, if there is such a table.
func (e *Engine) numbers(ctx context.Context, pool *sql.DB, table, text string) (all []int64, exists bool, err error) {
	if exists, err := e.hasTable(ctx, pool, table); err != nil || !exists {
		return nil, false, err
	}
	all, err = SelectColumn[int64](ctx, QueryOf(pool.QueryContext), text)
	return all, true, err
}

// isForeign reports whether a database that notes no migrations has tables or views all the same,
// which Portico does not check.
func (e *Engine) isForeign(ctx context.Context, pool *sql.DB) bool {
	for _, name := range []string{"oauth_consumer", "product", "customer", "stock_item", "sales_order"} {
		if rows, err := pool.QueryContext(ctx, "SELECT 1 FROM "+name+" WHERE 1 = 0"); err == nil {
			_ = rows.Close()
			return true
		}
	}
	return false
}

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
