package engine

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"modernc.org/sqlite"
)

// TestUnlockedConnections checks that the connections of SQLite have no mutex, and that they write, read and are
// interrupted at the same time.
func TestUnlockedConnections(t *testing.T) {
	t.Parallel()
	pools, err := openSQLite(filepath.Join(t.TempDir(), "shop.db"), PoolOptions{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pools.Close() }()
	for name, pool := range map[string]*sql.DB{"writer": pools.Writer, "readers": pools.Readers, "credential readers": pools.CredentialReaders} {
		conn, err := pool.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.Raw(func(c any) error {
			if handle := sqliteHandle(c.(*sqliteConn).full); handle == nil || handle.Fmutex != 0 {
				t.Errorf("a connection of the %s has a mutex", name)
			}
			return nil
		})
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := pools.Writer.ExecContext(t.Context(), "CREATE TABLE entry (n INTEGER)"); err != nil {
		t.Fatal(err)
	}
	const writers, writes = 8, 20
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for n := range writes {
				if _, err := pools.Writer.ExecContext(t.Context(), "INSERT INTO entry VALUES (?)", n); err != nil {
					t.Error(err)
				}
				interruptRead(t, pools.Readers)
			}
		})
	}
	wg.Wait()
	var stored int
	if err := pools.Readers.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM entry").Scan(&stored); err != nil || stored != writers*writes {
		t.Errorf("%d entries, %v; want %d", stored, err, writers*writes)
	}
}

// TestKeptPlans checks that no other values make SQLite prepare a statement again: limits, small numbers and
// patterns. SQLite asks the authorizer when it prepares a statement.
func TestKeptPlans(t *testing.T) {
	t.Parallel()
	pools, err := openSQLite(filepath.Join(t.TempDir(), "shop.db"), PoolOptions{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pools.Close() }()
	if _, err := pools.Writer.ExecContext(t.Context(), "CREATE TABLE entry (n INTEGER PRIMARY KEY, store INTEGER, name TEXT)"); err != nil {
		t.Fatal(err)
	}
	conn, err := pools.Readers.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	asked := 0
	err = conn.Raw(func(c any) error {
		return c.(*sqliteConn).full.(sqlite.AuthorizerRegisterer).RegisterAuthorizer(func(sqlite.AuthorizerActionCode, string, string, string, string) sqlite.AuthorizerReturnCode {
			asked++
			return sqlite.AuthorizerOK
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	read, err := conn.PrepareContext(t.Context(), "SELECT n FROM entry WHERE store = ? AND name LIKE ? ORDER BY n LIMIT ?")
	if err != nil {
		t.Fatal(err)
	}
	prepared := asked
	for i := range 10 {
		rows, err := read.QueryContext(t.Context(), i%3, strconv.Itoa(i)+"%", 1+i%2)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if prepared == 0 || asked != prepared {
		t.Errorf("the authorizer was asked %d times to prepare the statement, and %d times after that", prepared, asked-prepared)
	}
}

// interruptRead starts to read rows without end, and cancels the context.
func interruptRead(t *testing.T, readers *sql.DB) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	rows, err := readers.QueryContext(ctx, "WITH RECURSIVE made(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM made) SELECT n FROM made, (SELECT COUNT(*) FROM entry)")
	if err != nil {
		t.Error(err)
		return
	}
	for n := 1; rows.Next(); n++ {
		if n == 10 {
			cancel()
		}
	}
	if err := errors.Join(rows.Err(), rows.Close()); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want the rows cancelled", err)
	}
}
