package coordination_test

import (
	"errors"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// TestImportLock takes the lock of imports twice.
func TestImportLock(t *testing.T) {
	sqltest.EachEngine(t, func(t *testing.T, e sqltest.Engine) {
		dsn := e.NewDSN(t)
		first, second := coordination.NewImportLog(sqltest.Open(t, dsn)), coordination.NewImportLog(sqltest.Open(t, dsn))
		release, err := first.Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for name, other := range map[string]coordination.ImportLog{"another process": second, "the same": first} {
			if release, err := other.Lock(t.Context()); !errors.Is(err, engine.ErrImporting) {
				t.Errorf("%s: %v, want it refused", name, err)
				if err == nil {
					_ = release()
				}
			}
		}
		if unlocked, err := coordination.NewImportLog(sqltest.Open(t, e.NewDSN(t))).Lock(t.Context()); err != nil {
			t.Errorf("another database: %v", err)
		} else if err := unlocked(); err != nil {
			t.Error(err)
		}
		if err := release(); err != nil {
			t.Fatal(err)
		}
		again, err := second.Lock(t.Context())
		if err != nil {
			t.Fatalf("%v, after the lock was released", err)
		}
		if err := again(); err != nil {
			t.Error(err)
		}
	})
}

// TestImportLockInTurn waits for the lock of imports while another process takes it again and
// again.
func TestImportLockInTurn(t *testing.T) {
	sqltest.EachEngine(t, func(t *testing.T, e sqltest.Engine) {
		dsn := e.NewDSN(t)
		busy, waiting := coordination.NewImportLog(sqltest.Open(t, dsn)), coordination.NewImportLog(sqltest.Open(t, dsn))
		release, err := busy.Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := waiting.LockWithin(t.Context(), 50*time.Millisecond); !errors.Is(err, engine.ErrImporting) {
			t.Errorf("%v, want no lock in time", err)
		}
		waits, turn, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		go func() { // holds the lock nearly all the time
			close(waits)
			var err error
			for held := true; err == nil; {
				select {
				case <-turn:
					if held {
						err = release()
					}
					ended <- err
					return
				case <-time.After(20 * time.Millisecond):
				}
				if err = release(); err == nil {
					release, err = busy.LockWithin(t.Context(), 5*time.Second)
					held = err == nil
				}
			}
			ended <- err
		}()
		<-waits
		got, err := waiting.LockWithin(t.Context(), 5*time.Second)
		if err == nil {
			err = got()
		}
		close(turn)
		if err = errors.Join(err, <-ended); err != nil {
			t.Error(err)
		}
	})
}
