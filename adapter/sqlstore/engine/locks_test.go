package engine_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/config/testenv"
)

// TestImportLockOfFile tries to take the lock of an SQLite database again immediately while another
// process waits for it, and checks that the waiting process gets it first.
func TestImportLockOfFile(t *testing.T) {
	dsn := sqltest.Engines()[0].NewDSN(t)
	first, second := coordination.NewImportLog(sqltest.Open(t, dsn)), coordination.NewImportLog(sqltest.Open(t, dsn))
	release, err := first.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	order := make(chan string, 2)
	take := func(name string, i coordination.ImportLog) error {
		release, err := i.LockWithin(t.Context(), testenv.Patience(t))
		if err != nil {
			return err
		}
		order <- name
		return release()
	}
	ended := make(chan error, 1)
	go func() { ended <- take("the one that waits", second) }()
	testenv.Await(t, "the other one to wait", func() bool {
		next, err := engine.LockBeside(t.Context(), strings.TrimPrefix(dsn, "sqlite:"), "-import-next", 0, engine.ErrImporting)
		if errors.Is(err, engine.ErrImporting) {
			return true
		}
		if err == nil {
			err = next()
		}
		if err != nil {
			t.Fatal(err)
		}
		return false
	})
	if err := errors.Join(release(), take("the other one", first), <-ended); err != nil {
		t.Fatal(err)
	}
	if got := <-order; got != "the one that waits" {
		t.Errorf("%s has the lock first", got)
	}
}

// TestImportLockKeptAlive holds the lock for longer than a process may be silent, and then uses its
// connection for other things.
func TestImportLockKeptAlive(t *testing.T) {
	for _, e := range sqltest.Servers() {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel() // much of it is waiting
			dsn := e.NewDSN(t)
			db, other := sqltest.Open(t, dsn), coordination.NewImportLog(sqltest.Open(t, dsn))
			db.Readers.SetMaxOpenConns(1)
			const silence = time.Second // the shortest that MariaDB has
			release, err := db.Engine.LockImports(t.Context(), db.Readers, db.Name, time.Second, silence)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := other.LockWithin(t.Context(), 2*silence); !errors.Is(err, engine.ErrImporting) {
				t.Errorf("another process: %v", err)
			}
			if err := release(); err != nil {
				t.Fatal(err)
			}
			// The attempt above, which was given up, may still get the lock before its server notices.
			release, err = other.LockWithin(t.Context(), 10*silence)
			if err != nil {
				t.Fatal(err)
			}
			if err := release(); err != nil {
				t.Error(err)
			}
			setting, want := "@@SESSION.wait_timeout", strconv.Itoa(engine.WaitSeconds)
			if e.Name == "postgres" {
				setting, want = "current_setting('idle_session_timeout', true)", "0"
			}
			var got string
			if err := db.Readers.QueryRowContext(t.Context(), "SELECT "+setting).Scan(&got); err != nil || got != want {
				t.Errorf("afterwards the connection may be silent for %q (%v), want %s", got, err, want)
			}
		})
	}
}
