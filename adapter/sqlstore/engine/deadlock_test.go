package engine_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// TestDeadlock lets two transactions lock two records in opposite order. The server
// aborts one, which is then retried. SQLite is left out, as it runs one writing
// transaction at a time.
func TestDeadlock(t *testing.T) {
	sqltest.EachServer(t, func(t *testing.T, e sqltest.Engine) {
		db := sqltest.Open(t, e.NewDSN(t))
		if _, err := db.Writer.ExecContext(t.Context(), "INSERT INTO category (category_id, parent_id, name, is_active) VALUES (1, 0, 'a', 1), (2, 0, 'b', 1)"); err != nil {
			t.Fatal(err)
		}
		var bothLocked, all sync.WaitGroup
		var runs atomic.Int64
		bothLocked.Add(2)
		for _, order := range [][2]int64{{1, 2}, {2, 1}} {
			firstRun := true
			all.Go(func() {
				err := db.Write(t.Context(), "test", func(tx *engine.Tx) error {
					runs.Add(1)
					const change = "UPDATE category SET parent_id = parent_id + 1 WHERE category_id = ?"
					if _, err := tx.Run(t.Context(), change, order[0]); err != nil {
						return err
					}
					if firstRun {
						firstRun = false
						bothLocked.Done()
						bothLocked.Wait()
					}
					_, err := tx.Run(t.Context(), change, order[1])
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
		if err := db.Readers.QueryRowContext(t.Context(), "SELECT MIN(parent_id), MAX(parent_id) FROM category").Scan(&least, &most); err != nil || least != 2 || most != 2 {
			t.Errorf("changed %d to %d times, want 2; %v", least, most, err)
		}
	})
}
