package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/portico-commerce/portico/adapter"
)

// TestClassify classifies real errors of the drivers.
func TestClassify(t *testing.T) {
	EachEngine(t, testClassify)
}

func testClassify(t *testing.T, e Engine) {
	dsn := e.NewDSN(t)
	if path, ok := strings.CutPrefix(dsn, "sqlite:"); ok {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	raw := Raw(t, dsn)
	for _, statement := range []string{
		"CREATE TABLE owner (id BIGINT PRIMARY KEY, name VARCHAR(8) NOT NULL UNIQUE, n BIGINT CHECK (n > 0), d DECIMAL(12,4))",
		"CREATE TABLE part (owner_id BIGINT, FOREIGN KEY (owner_id) REFERENCES owner(id))",
		"INSERT INTO owner VALUES (1, 'a', 1, 0)",
		"INSERT INTO part VALUES (1)",
	} {
		if _, err := raw.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	engine, _, err := engineOf(dsn)
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
		if c.lax && engine.lockClause == "" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			_, err := raw.ExecContext(t.Context(), c.statement)
			if kind, again := engine.classify(err); kind != c.want || again || err == nil {
				t.Errorf("%v is %v, worth another attempt: %v; want %v", err, kind, again, c.want)
			}
		})
	}
	t.Run("any other", func(t *testing.T) {
		if kind, again := engine.classify(errors.New("any")); kind != adapter.Internal || again {
			t.Errorf("%v, %v", kind, again)
		}
	})
	if engine.lockClause != "" {
		t.Run("locked", func(t *testing.T) { testLocked(t, engine, raw) })
		t.Run("killed", func(t *testing.T) { testKilled(t, engine, raw) })
		t.Run("too many", func(t *testing.T) { testTooMany(t, engine, raw, dsn) })
	}
}

// connection reserves a connection of a pool until the test ends.
func connection(t *testing.T, pool *sql.DB) *sql.Conn {
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
func testLocked(t *testing.T, engine *engine, raw *sql.DB) {
	tx, err := raw.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	const change = "UPDATE owner SET n = 2 WHERE id = 1"
	if _, err := tx.ExecContext(t.Context(), change); err != nil {
		t.Fatal(err)
	}
	impatient := connection(t, raw)
	soon := "SET lock_timeout = 1"
	if !engine.numberedParameters {
		soon = "SET innodb_lock_wait_timeout = 0"
	}
	if _, err := impatient.ExecContext(t.Context(), soon); err != nil {
		t.Fatal(err)
	}
	_, err = impatient.ExecContext(t.Context(), change)
	if kind, _ := engine.classify(err); kind != adapter.Unavailable || err == nil {
		t.Errorf("%v is %v", err, kind)
	}
}

// testKilled uses a connection that the server has closed.
func testKilled(t *testing.T, engine *engine, raw *sql.DB) {
	id, kill := "SELECT pg_backend_pid()", "SELECT pg_terminate_backend(?)"
	if !engine.numberedParameters {
		id, kill = "SELECT CONNECTION_ID()", "KILL ?"
	}
	victim := connection(t, raw)
	var number int64
	if err := victim.QueryRowContext(t.Context(), id).Scan(&number); err != nil {
		t.Fatal(err)
	}
	if _, err := raw.ExecContext(t.Context(), engine.rebind(kill), number); err != nil {
		t.Fatal(err)
	}
	_, err := victim.ExecContext(t.Context(), "DELETE FROM part")
	if kind, _ := engine.classify(err); kind != adapter.Unavailable || err == nil {
		t.Errorf("%v is %v", err, kind)
	}
}

// testTooMany connects twice as a user who may have one connection.
func testTooMany(t *testing.T, engine *engine, raw *sql.DB, dsn string) {
	create, user := "CREATE ROLE few LOGIN CONNECTION LIMIT 1", "portico@"
	if !engine.numberedParameters {
		create, user = "CREATE USER few WITH MAX_USER_CONNECTIONS 1", "root@"
	}
	if _, err := raw.ExecContext(t.Context(), create); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = raw.ExecContext(context.WithoutCancel(t.Context()), "DROP USER few") })
	if !engine.numberedParameters {
		if _, err := raw.ExecContext(t.Context(), "GRANT ALL ON *.* TO few"); err != nil {
			t.Fatal(err)
		}
	}
	few := Raw(t, strings.Replace(dsn, user, "few@", 1))
	first := connection(t, few)
	defer func() { _ = first.Close() }()
	err := few.PingContext(t.Context())
	if kind, _ := engine.classify(err); kind != adapter.Unavailable || err == nil {
		t.Errorf("%v is %v", err, kind)
	}
}

// TestConnectionLost distinguishes errors of the connection from errors of the server.
func TestConnectionLost(t *testing.T) {
	for _, e := range []*engine{postgresEngine(), mysqlEngine()} {
		if kind, again := e.classify(io.ErrUnexpectedEOF); kind != adapter.Unavailable || again {
			t.Errorf("%s: %v, %v", e.migrations, kind, again)
		}
	}
}

// TestRetryGivesUp runs a transaction that always fails because of concurrent ones.
func TestRetryGivesUp(t *testing.T) {
	for name, c := range map[string]struct {
		engine *engine
		err    error
	}{
		"serialization": {postgresEngine(), &pgconn.PgError{Code: "40001"}},
		"deadlock":      {postgresEngine(), &pgconn.PgError{Code: "40P01"}},
		"mysql":         {mysqlEngine(), &mysql.MySQLError{Number: 1213}},
	} {
		t.Run(name, func(t *testing.T) {
			db := &DB{engine: c.engine}
			runs := 0
			err := db.retry(t.Context(), func() error { runs++; return c.err })
			if runs != maxAttempts || !errors.Is(err, c.err) {
				t.Errorf("%d runs, %v", runs, err)
			}
			if err = db.wrapError(t.Context(), "update", err); adapter.KindOf(err) != adapter.Unavailable {
				t.Errorf("%v, want unavailable", err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			runs = 0
			err = db.retry(ctx, func() error { runs++; cancel(); return c.err })
			if runs != 1 || !errors.Is(err, context.Canceled) {
				t.Errorf("after the end of the context: %d runs, %v", runs, err)
			}
		})
	}
}

// TestDeadlock lets two transactions lock two records in opposite order. The server
// stops one, which is then retried. SQLite is left out, as it runs one writing
// transaction at a time.
func TestDeadlock(t *testing.T) {
	EachServer(t, func(t *testing.T, e Engine) {
		db := openTest(t, e)
		execute(t, db,
			"INSERT INTO category (category_id, parent_id, name, is_active) VALUES (1, 0, 'a', 1)",
			"INSERT INTO category (category_id, parent_id, name, is_active) VALUES (2, 0, 'b', 1)")
		var bothLocked, all sync.WaitGroup
		var runs atomic.Int64
		bothLocked.Add(2)
		for _, order := range [][2]int64{{1, 2}, {2, 1}} {
			firstRun := true
			all.Go(func() {
				err := db.write(t.Context(), "test", func(tx *sql.Tx) error {
					runs.Add(1)
					const change = "UPDATE category SET parent_id = parent_id + 1 WHERE category_id = ?"
					if _, err := db.exec(t.Context(), tx, change, order[0]); err != nil {
						return err
					}
					if firstRun {
						firstRun = false
						bothLocked.Done()
						bothLocked.Wait()
					}
					_, err := db.exec(t.Context(), tx, change, order[1])
					return err
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if runs.Load() < 3 {
			t.Errorf("%d runs: there was no deadlock", runs.Load())
		}
		var least, most int
		if err := db.readers.QueryRowContext(t.Context(), "SELECT MIN(parent_id), MAX(parent_id) FROM category").Scan(&least, &most); err != nil || least != 2 || most != 2 {
			t.Errorf("changed %d to %d times, want 2; %v", least, most, err)
		}
	})
}
