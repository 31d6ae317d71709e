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

// newPostgresStore makes a store like newStore's on a PostgreSQL server of its own, and newMariaDBStore on a
// MariaDB server. They are for reads only: the counters of keys do not follow the rows.
func newPostgresStore(b testing.TB, dir string, statements ...string) store {
	b.Helper()
	dsn := sqltest.StartPostgres(b).Database("shop")
	return newServerStore(b, dir, dsn, store{driver: "pgx", dsn: dsn}, "SET LOCAL session_replication_role = replica", statements)
}

func newMariaDBStore(b testing.TB, dir string, statements ...string) store {
	b.Helper()
	dsn := sqltest.StartMariaDB(b).Database("shop")
	return newServerStore(b, dir, dsn, store{driver: "mysql", dsn: strings.TrimPrefix(dsn, "mysql:")}, "SET FOREIGN_KEY_CHECKS = 0, sql_mode = 'NO_AUTO_VALUE_ON_ZERO'", statements)
}

// newServerStore fills s, an empty database of a server, whose DSN for the program is dsn. anyOrder is the statement
// after which rows may be stored in any order, because no foreign keys are checked; statements are newStore's.
func newServerStore(b testing.TB, dir, dsn string, s store, anyOrder string, statements []string) store {
	b.Helper()
	original := newStore(b, dir, statements...)
	db, err := sqlstore.Open(b.Context(), sqlstore.Options{DSN: dsn, Migrate: true})
	if err == nil {
		err = errors.Join(db.Close(), copyTables(b, filepath.Join(dir, "demo.db"), s, anyOrder))
	}
	if err != nil {
		b.Fatal(err)
	}
	s.environ = []string{"PORTICO_SQL_DSN=" + dsn, original.environ[1]}
	return s
}

// copyTables replaces the rows of all tables by the rows in a file of SQLite.
func copyTables(b testing.TB, path string, into store, anyOrder string) (err error) {
	b.Helper()
	from, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	to, err := sql.Open(into.driver, into.dsn)
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
	if _, err := tx.Exec(anyOrder); err != nil {
		return err
	}
	for _, name := range names {
		if err := copyTable(b.Context(), into.driver, from, tx, name, tableColumns(b, from, name)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	if into.driver == "pgx" {
		_, err = to.Exec("ANALYZE")
	}
	return err
}

// copyTable replaces the rows of a table.
func copyTable(ctx context.Context, driver string, from *sql.DB, to *sql.Tx, table string, columns []string) error {
	if _, err := to.ExecContext(ctx, "DELETE FROM "+table); err != nil {
		return err
	}
	insert, err := to.PrepareContext(ctx, forDriver(driver, "INSERT INTO "+table+" ("+columnList("", columns)+") VALUES ("+parameters(len(columns))+")"))
	if err != nil {
		return err
	}
	read, err := (&floorDatabase{"sqlite", from}).prepare("SELECT " + columnList("", columns) + " FROM " + table)
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
