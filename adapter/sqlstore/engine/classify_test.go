package engine_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// TestClassify classifies real errors of the drivers.
func TestClassify(t *testing.T) {
	sqltest.EachSQL(t, testClassify)
}

func testClassify(t *testing.T, e sqltest.Engine) {
	dsn := e.NewDSN(t)
	raw := sqltest.Raw(t, dsn)
	sqltest.Exec(t, dsn,
		"CREATE TABLE owner (id BIGINT PRIMARY KEY, name VARCHAR(8) NOT NULL UNIQUE, n BIGINT CHECK (n > 0), d DECIMAL(12,4))",
		"CREATE TABLE part (owner_id BIGINT, FOREIGN KEY (owner_id) REFERENCES owner(id))",
		"INSERT INTO owner VALUES (1, 'a', 1, 0)",
		"INSERT INTO part VALUES (1)")
	engine, _, err := engine.Of(dsn)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, statement string
		lax             bool // SQLite accepts it
		want            adapter.ErrorKind
	}{
		{"unique", "INSERT INTO owner VALUES (2, 'a', 1, 0)", false, adapter.Conflict},
		{"key", "INSERT INTO owner VALUES (1, 'b', 1, 0)", false, adapter.Conflict},
		{"foreign key", "INSERT INTO part VALUES (9)", false, adapter.Conflict},
		{"owner of parts", "DELETE FROM owner", false, adapter.Conflict},
		{"not null", "INSERT INTO owner VALUES (2, NULL, 1, 0)", false, adapter.Invalid},
		{"check", "INSERT INTO owner VALUES (2, 'b', 0, 0)", false, adapter.Invalid},
		{"too long", "INSERT INTO owner VALUES (2, 'much too long', 1, 0)", true, adapter.Invalid},
		{"out of range", "INSERT INTO owner VALUES (2, 'b', 1, 100000000)", true, adapter.Invalid},
		{"of another type", "INSERT INTO owner VALUES (2, 'b', 1, 'x')", true, adapter.Invalid},
		{"no table", "DELETE FROM nothing", false, adapter.Internal},
	} {
		if c.lax && engine.LockClause == "" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			_, err := raw.ExecContext(t.Context(), c.statement)
			if kind, again := engine.Classify(err); kind != c.want || again || err == nil {
				t.Errorf("%v is %v, worth another attempt: %v; want %v", err, kind, again, c.want)
			}
		})
	}
	t.Run("any other", func(t *testing.T) {
		if kind, again := engine.Classify(errors.New("any")); kind != adapter.Internal || again {
			t.Errorf("%v, %v", kind, again)
		}
	})
	if engine.LockClause != "" {
		t.Run("locked", func(t *testing.T) { testLocked(t, engine, raw) })
		t.Run("killed", func(t *testing.T) { testKilled(t, engine, raw) })
		t.Run("too many", func(t *testing.T) { testTooMany(t, engine, raw, dsn) })
	}
}

// ownConnection reserves a connection of a pool until the test ends.
func ownConnection(t *testing.T, pool *sql.DB) *sql.Conn {
	t.Helper()
	c, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// testLocked waits for a record that another transaction has locked until the wait
// times out.
func testLocked(t *testing.T, engine *engine.Engine, raw *sql.DB) {
	tx, err := raw.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	const change = "UPDATE owner SET n = 2 WHERE id = 1"
	if _, err := tx.ExecContext(t.Context(), change); err != nil {
		t.Fatal(err)
	}
	impatient := ownConnection(t, raw)
	soon := "SET lock_timeout = 1"
	if engine.Rebind("?") == "?" {
		soon = "SET innodb_lock_wait_timeout = 0"
	}
	if _, err := impatient.ExecContext(t.Context(), soon); err != nil {
		t.Fatal(err)
	}
	_, err = impatient.ExecContext(t.Context(), change)
	if kind, _ := engine.Classify(err); kind != adapter.Unavailable || err == nil {
		t.Errorf("%v is %v", err, kind)
	}
}

// testKilled uses a connection that the server has closed.
func testKilled(t *testing.T, engine *engine.Engine, raw *sql.DB) {
	id, kill := "SELECT pg_backend_pid()", "SELECT pg_terminate_backend(?)"
	if engine.Rebind("?") == "?" {
		id, kill = "SELECT CONNECTION_ID()", "KILL ?"
	}
	victim := ownConnection(t, raw)
	var number int64
	if err := victim.QueryRowContext(t.Context(), id).Scan(&number); err != nil {
		t.Fatal(err)
	}
	if _, err := raw.ExecContext(t.Context(), engine.Rebind(kill), number); err != nil {
		t.Fatal(err)
	}
	_, err := victim.ExecContext(t.Context(), "DELETE FROM part")
	if kind, _ := engine.Classify(err); kind != adapter.Unavailable || err == nil {
		t.Errorf("%v is %v", err, kind)
	}
}

// testTooMany connects twice as a user who may have one connection.
func testTooMany(t *testing.T, engine *engine.Engine, raw *sql.DB, dsn string) {
	create, user := "CREATE ROLE few LOGIN CONNECTION LIMIT 1", "portico@"
	if engine.Rebind("?") == "?" {
		create, user = "CREATE USER few WITH MAX_USER_CONNECTIONS 1", "root@"
	}
	if _, err := raw.ExecContext(t.Context(), create); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = raw.ExecContext(context.WithoutCancel(t.Context()), "DROP USER few") })
	if engine.Rebind("?") == "?" {
		if _, err := raw.ExecContext(t.Context(), "GRANT ALL ON *.* TO few"); err != nil {
			t.Fatal(err)
		}
	}
	few := sqltest.Raw(t, strings.Replace(dsn, user, "few@", 1))
	first := ownConnection(t, few)
	defer func() { _ = first.Close() }()
	err := few.PingContext(t.Context())
	if kind, _ := engine.Classify(err); kind != adapter.Unavailable || err == nil {
		t.Errorf("%v is %v", err, kind)
	}
}
