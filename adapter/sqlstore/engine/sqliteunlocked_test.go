package engine

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"path/filepath"
	"sync"
	"testing"
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
			if handle := sqliteHandle(c.(driver.Conn)); handle == nil || handle.Fmutex != 0 {
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
