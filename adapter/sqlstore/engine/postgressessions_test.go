package engine_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/config/testenv"
)

// openPools opens the pools of a DSN until the test ends.
func openPools(t *testing.T, dsn string, o engine.PoolOptions) (*engine.Engine, engine.Pools) {
	t.Helper()
	e, name, err := engine.Of(dsn)
	if err != nil {
		t.Fatal(err)
	}
	pools, err := e.Open(name, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pools.Close() })
	return e, pools
}

// TestPostgresDSN connects by DSNs that name several hosts, or the kind of server to find.
func TestPostgresDSN(t *testing.T) {
	t.Parallel()
	dsn := sqltest.Postgres(t)
	sqltest.Exec(t, dsn, "CREATE TABLE written (id BIGINT)")
	closed := testenv.FreeAddress(t) // a host where no server runs
	hosts := strings.Replace(dsn, "@", "@"+closed+",", 1)
	for _, c := range []struct {
		name, dsn string
		refused   bool
	}{
		{"one host", dsn, false},
		{"read-write", dsn + "?target_session_attrs=read-write", false},
		{"primary", dsn + "?target_session_attrs=primary", false},
		{"two hosts", hosts, false},
		{"two hosts, read-write", hosts + "?target_session_attrs=read-write", false},
		{"two hosts, primary", hosts + "?target_session_attrs=primary", false},
		{"standby", hosts + "?target_session_attrs=standby", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, pools := openPools(t, c.dsn, engine.PoolOptions{})
			_, err := pools.Writer.ExecContext(t.Context(), "INSERT INTO written VALUES (1)")
			if (err != nil) != c.refused {
				t.Fatalf("writer: %v", err)
			}
			if c.refused {
				if kind, _ := e.Classify(err); kind != adapter.Unavailable {
					t.Errorf("%v is %v", err, kind)
				}
				return
			}
			mustNotWrite(t, pools.Readers)
		})
	}
}

// mustNotWrite checks that statements of a pool cannot write.
func mustNotWrite(t *testing.T, readers *sql.DB) {
	t.Helper()
	if _, err := readers.ExecContext(t.Context(), "INSERT INTO written VALUES (1)"); err == nil || !strings.Contains(err.Error(), "read-only transaction") {
		t.Errorf("a reader writes: %v", err)
	}
	var n int
	if err := readers.QueryRowContext(t.Context(), "INSERT INTO written VALUES (1) RETURNING id").Scan(&n); err == nil || !strings.Contains(err.Error(), "read-only transaction") {
		t.Errorf("a reader's query writes: %v", err)
	}
}

// TestImportLockLeavesReaders checks that a reader that has held the lock of imports, with a
// limit of silence, still cannot write.
func TestImportLockLeavesReaders(t *testing.T) {
	t.Parallel()
	dsn := sqltest.Postgres(t)
	sqltest.Exec(t, dsn, "CREATE TABLE written (id BIGINT)")
	e, pools := openPools(t, dsn, engine.PoolOptions{})
	pools.Readers.SetMaxOpenConns(1)
	release, err := e.LockImports(t.Context(), pools.Readers, "", 0, time.Minute)
	if err == nil {
		err = release()
	}
	if err != nil {
		t.Fatal(err)
	}
	mustNotWrite(t, pools.Readers)
	var silence string
	if err := pools.Readers.QueryRowContext(t.Context(), "SELECT current_setting('idle_session_timeout')").Scan(&silence); err != nil || silence != "0" {
		t.Errorf("idle_session_timeout is %s, %v", silence, err)
	}
}

// processes returns the server's processes of all idle connections of a pool.
func processes(t *testing.T, pool *sql.DB, n int) (ids []int) {
	t.Helper()
	var borrowed []*sql.Conn
	for range n {
		c, err := pool.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		borrowed = append(borrowed, c)
		var id int
		if err := c.QueryRowContext(t.Context(), "SELECT pg_backend_pid()").Scan(&id); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	for _, c := range borrowed {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return ids
}

// TestPoolsRetire checks that all pooled connections are replaced once one of them notices that
// the server has changed, and that a mistake of a reader does not have that effect.
func TestPoolsRetire(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		fail    func(t *testing.T, pools engine.Pools) error
		retires bool
	}{
		{"a write to a server that is read-only", func(t *testing.T, pools engine.Pools) error {
			conn := ownConnection(t, pools.Writer)
			if _, err := conn.ExecContext(t.Context(), "SET default_transaction_read_only = on"); err != nil {
				t.Fatal(err)
			}
			_, err := conn.ExecContext(t.Context(), "CREATE TABLE a (id BIGINT)")
			return err
		}, true},
		{"a shutdown", func(t *testing.T, pools engine.Pools) error {
			_, err := ownConnection(t, pools.Readers).ExecContext(t.Context(), "SELECT pg_terminate_backend(pg_backend_pid())")
			return err
		}, true},
		{"a reader that writes", func(t *testing.T, pools engine.Pools) error {
			_, err := pools.Readers.ExecContext(t.Context(), "CREATE TABLE a (id BIGINT)")
			return err
		}, false},
		{"a statement with a mistake", func(t *testing.T, pools engine.Pools) error {
			_, err := pools.Writer.ExecContext(t.Context(), "SELEKT")
			return err
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, pools := openPools(t, sqltest.Postgres(t), engine.PoolOptions{})
			const n = 3
			before := append(processes(t, pools.Writer, n), processes(t, pools.Readers, n)...)
			if err := c.fail(t, pools); err == nil {
				t.Fatal("did not fail")
			}
			after := append(processes(t, pools.Writer, n), processes(t, pools.Readers, n)...)
			stayed := slices.DeleteFunc(slices.Clone(after), func(id int) bool { return !slices.Contains(before, id) })
			if c.retires && len(stayed) > 0 || !c.retires && len(stayed) < len(before) {
				t.Errorf("%d of %d connections stayed", len(stayed), len(before))
			}
		})
	}
}

// BenchmarkPoolModes reads a row by its key with sessions that are a connection's own, and with a
// scope for each statement.
func BenchmarkPoolModes(b *testing.B) {
	dsn := sqltest.Postgres(b)
	sqltest.Exec(b, dsn, "CREATE TABLE item (id BIGINT PRIMARY KEY, sku TEXT)", "INSERT INTO item SELECT n, n FROM generate_series(1, 1000) AS n")
	e, name, err := engine.Of(dsn)
	if err != nil {
		b.Fatal(err)
	}
	for mode, perTransaction := range map[string]bool{"session": false, "transaction": true} {
		b.Run(mode, func(b *testing.B) {
			pools, err := e.Open(name, engine.PoolOptions{PerTransaction: perTransaction})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = pools.Close() }()
			var sku string
			for n := 0; b.Loop(); n++ {
				if err := pools.Readers.QueryRowContext(b.Context(), "SELECT sku FROM item WHERE id = $1", 1+n%1000).Scan(&sku); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestPausedPostgres checks that connections to a server that no longer answers are noticed when
// they are borrowed, and that no other connection then waits for it.
func TestPausedPostgres(t *testing.T) {
	t.Parallel()
	server := sqltest.StartPostgres(t)
	_, pools := openPools(t, server.Database("shop"), engine.PoolOptions{})
	processes(t, pools.Writer, 3)
	time.Sleep(1100 * time.Millisecond) // until the connections are checked
	server.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second) // more than for one check, and less than for two
	defer cancel()
	if _, err := pools.Writer.ExecContext(ctx, "SELECT 1"); err == nil {
		t.Fatal("a server that is paused answers")
	}
	idle := pools.Writer.Stats().Idle
	server.Resume()
	if idle > 1 { // one may have been borrowed in vain when the time was over
		t.Errorf("%d connections to a server that does not answer are still pooled", idle)
	}
	for n := range 3 {
		if _, err := pools.Writer.ExecContext(t.Context(), fmt.Sprintf("SELECT %d", n)); err != nil {
			t.Error(err)
		}
	}
}
