//go:build linux

package speed

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// newPostgresStore makes a store like newStore's on a PostgreSQL server of its own. It is for
// reads only: the counters of keys do not follow the rows.
func newPostgresStore(b testing.TB, dir string) store {
	b.Helper()
	original := newStore(b, dir)
	dsn := sqltest.StartPostgres(b).Database("shop")
	db, err := sqlstore.Open(b.Context(), sqlstore.Options{DSN: dsn, Migrate: true})
	if err == nil {
		err = errors.Join(db.Close(), copyTables(b, filepath.Join(dir, "demo.db"), dsn))
	}
	if err != nil {
		b.Fatal(err)
	}
	return store{environ: []string{"PORTICO_SQL_DSN=" + dsn, original.environ[1]}, driver: "pgx", dsn: dsn}
}

// copyTables replaces the rows of all tables by the rows in a file of SQLite.
func copyTables(b testing.TB, path, dsn string) (err error) {
	b.Helper()
	from, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	to, err := sql.Open("pgx", dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	tables, err := from.Query("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE 'goose%'")
	if err != nil {
		return err
	}
	var names []string
	for tables.Next() {
		var name string
		if err := tables.Scan(&name); err != nil {
			return err
		}
		names = append(names, name)
	}
	if err := errors.Join(tables.Err(), tables.Close()); err != nil {
		return err
	}
	tx, err := to.BeginTx(b.Context(), nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.Exec("SET LOCAL session_replication_role = replica"); err != nil { // no foreign keys, so that any order will do
		return err
	}
	for _, name := range names {
		if err := copyTable(b.Context(), from, tx, name, tableColumns(b, from, name)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	_, err = to.Exec("ANALYZE")
	return err
}

// copyTable replaces the rows of a table.
func copyTable(ctx context.Context, from *sql.DB, to *sql.Tx, table string, columns []string) error {
	if _, err := to.ExecContext(ctx, "DELETE FROM "+table); err != nil {
		return err
	}
	parameters := make([]string, len(columns))
	for i := range columns {
		parameters[i] = fmt.Sprintf("$%d", i+1)
	}
	insert, err := to.PrepareContext(ctx, "INSERT INTO "+table+" ("+columnList("", columns)+") VALUES ("+strings.Join(parameters, ", ")+")")
	if err != nil {
		return err
	}
	read, err := from.PrepareContext(ctx, "SELECT "+columnList("", columns)+" FROM "+table)
	if err != nil {
		return err
	}
	values := make([]any, len(columns))
	err = each(ctx, read, values, func() error {
		_, err := insert.ExecContext(ctx, values...)
		return err
	})
	return errors.Join(err, read.Close(), insert.Close())
}
