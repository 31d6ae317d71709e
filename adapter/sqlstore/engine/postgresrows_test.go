package engine_test

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// openPostgres opens a database, on which queries go through package sql if they are wrapped.
func openPostgres(t *testing.T, dsn string, wrapped bool) *engine.DB {
	t.Helper()
	o := engine.Options{DSN: dsn}
	if wrapped {
		o.Wrap = func(c driver.Connector) driver.Connector { return c }
	}
	db, err := engine.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// TestDirectRows reads all kinds of values from PostgreSQL with and without package sql.
func TestDirectRows(t *testing.T) {
	t.Parallel()
	dsn := sqltest.Postgres(t)
	sqltest.Exec(t, dsn, "CREATE TABLE kinds (id BIGINT PRIMARY KEY, small SMALLINT, number INTEGER, price DECIMAL(12,4), name VARCHAR(255), long TEXT, at TIMESTAMP(0))",
		"INSERT INTO kinds VALUES (1, 0, NULL, NULL, NULL, NULL, NULL)",
		"INSERT INTO kinds VALUES (-9223372036854775808, 1, 2147483647, -0.0001, '', E'a\nb', '0001-01-01 00:00:00')",
		"INSERT INTO kinds VALUES (9223372036854775807, 1, -1, 12345678.9, 'Größe', repeat('x', 100000), '9999-12-31 23:59:59')")
	read := func(db *engine.DB) []string {
		t.Helper()
		all, err := engine.CollectRows(t.Context(), db.ReadStatements.Query, func(rows engine.Rows) (string, error) {
			var id adapter.Key
			var flag bool
			values := make([]adapter.Value, 5)
			dest := []any{&id, &flag}
			for i, kind := range []adapter.Kind{adapter.KindInteger, adapter.KindDecimal, adapter.KindText, adapter.KindTexts, adapter.KindTime} {
				dest = append(dest, engine.NewCell(kind, &values[i]))
			}
			var again int64
			var small int
			var number sql.NullInt64
			var name sql.NullString
			var long string
			err := rows.Scan(append(dest, &again, &small, &number, &name, &long)...)
			text := fmt.Sprint(id, flag, again, small, number, name, len(long))
			for _, v := range values {
				text += fmt.Sprintf(" %d:%s%q", v.Kind(), v.Text(), v.Texts())
			}
			return text, err
		}, "SELECT id, small, number, price, name, long, at, id, small, number, name, COALESCE(long, '') FROM kinds WHERE id <> ? ORDER BY id", 7)
		if err != nil || len(all) != 3 {
			t.Fatalf("%d rows: %v", len(all), err)
		}
		return all
	}
	direct, wrapped := read(openPostgres(t, dsn, false)), read(openPostgres(t, dsn, true))
	for i := range direct {
		if direct[i] != wrapped[i] {
			t.Errorf("read %s, and through package sql %s", direct[i], wrapped[i])
		}
	}
}

// TestDirectRowsFail checks that a statement that fails, and rows that are read badly or not to their end, leave
// a connection that can be used, and that a connection which the server has closed is replaced.
func TestDirectRowsFail(t *testing.T) {
	t.Parallel()
	dsn := sqltest.Postgres(t)
	db := openPostgres(t, dsn, false)
	one := func() error {
		var number int
		return engine.First(db.ReadStatements.Query(t.Context(), "SELECT 1")).Scan(&number)
	}
	failures := map[string]func() error{
		"no table": func() error {
			return engine.First(db.ReadStatements.Query(t.Context(), "SELECT a FROM missing")).Scan()
		},
		"no column": func() error { return engine.First(db.ReadStatements.Query(t.Context(), "SELECT 1")).Scan() },
		"no number": func() error { return engine.First(db.ReadStatements.Query(t.Context(), "SELECT 'a'")).Scan(new(int)) },
		"a null text": func() error {
			return engine.First(db.ReadStatements.Query(t.Context(), "SELECT CAST(NULL AS TEXT)")).Scan(new(string))
		},
		"a null number": func() error {
			return engine.First(db.ReadStatements.Query(t.Context(), "SELECT CAST(NULL AS INTEGER)")).Scan(new(int64))
		},
		"a division by zero in the second row": func() error {
			return engine.EachRow(t.Context(), db.ReadStatements.Query, func(engine.Rows) error { return nil }, "SELECT 1 / (2 - n) FROM generate_series(1, 2) AS s(n)")
		},
		"not to the end": func() error {
			rows, err := db.ReadStatements.Query(t.Context(), "SELECT generate_series(1, 100000)")
			if err != nil || !rows.Next() {
				t.Fatal("no rows", err)
			}
			return errors.Join(rows.Close(), rows.Close(), errors.New("left"))
		},
	}
	for name, fail := range failures {
		if err := fail(); err == nil {
			t.Errorf("%s: no error", name)
		}
		if err := one(); err != nil {
			t.Errorf("after %s: %v", name, err)
		}
	}
	if open := db.Readers.Stats(); open.InUse != 0 {
		t.Errorf("%d connections remain in use", open.InUse)
	}
	sqltest.Exec(t, dsn, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
	if err := one(); err != nil && one() != nil { // the first may fail while the server is closing the connection
		t.Errorf("after the server has closed the connections: %v", err)
	}
}
