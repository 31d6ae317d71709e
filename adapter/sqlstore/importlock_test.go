package sqlstore

import (
	"errors"
	"strconv"
	"testing"
	"time"
)

// TestImportLock takes the lock of imports twice.
func TestImportLock(t *testing.T) {
	EachEngine(t, func(t *testing.T, e Engine) {
		dsn := e.NewDSN(t)
		first, second := openAt(t, dsn).Imports(), openAt(t, dsn).Imports()
		release, err := first.Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for name, other := range map[string]Imports{"another process": second, "the same": first} {
			if release, err := other.Lock(t.Context()); !errors.Is(err, ErrImporting) {
				t.Errorf("%s: %v, want it refused", name, err)
				if err == nil {
					_ = release()
				}
			}
		}
		if unlocked, err := openTest(t, e).Imports().Lock(t.Context()); err != nil {
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
	EachEngine(t, func(t *testing.T, e Engine) {
		dsn := e.NewDSN(t)
		busy, waiting := openAt(t, dsn).Imports(), openAt(t, dsn).Imports()
		release, err := busy.Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := waiting.LockWithin(t.Context(), 50*time.Millisecond); !errors.Is(err, ErrImporting) {
			t.Errorf("%v, want no lock in time", err)
		}
		waits, turn, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		go func() { // holds the lock all the time but for moments
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

// TestImportLockOfFile takes the lock of an SQLite database again at once while another process
// waits for it, which has it first.
func TestImportLockOfFile(t *testing.T) {
	dsn := Engines()[0].NewDSN(t)
	first, second := openAt(t, dsn).Imports(), openAt(t, dsn).Imports()
	release, err := first.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	order := make(chan string, 2)
	take := func(name string, i Imports) error {
		release, err := i.LockWithin(t.Context(), 10*time.Second)
		if err != nil {
			return err
		}
		order <- name
		return release()
	}
	ended := make(chan error, 1)
	go func() { ended <- take("the one that waits", second) }()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		next, err := lockFile(t.Context(), second.db.name+"-import-next", 0)
		if errors.Is(err, ErrImporting) {
			break
		}
		if err == nil {
			err = next()
		}
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("nobody waits, %v", err)
		}
	}
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
	for _, e := range Servers() {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel() // much of it is waiting
			dsn := e.NewDSN(t)
			db, other := openAt(t, dsn), openAt(t, dsn).Imports()
			db.readers.SetMaxOpenConns(1)
			const silence = time.Second // the shortest that MariaDB has
			release, err := db.engine.lockImports(t.Context(), db.readers, db.name, time.Second, silence)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := other.LockWithin(t.Context(), 2*silence); !errors.Is(err, ErrImporting) {
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
			setting, want := "@@SESSION.wait_timeout", strconv.Itoa(waitSeconds)
			if e.Name == "postgres" {
				setting, want = "current_setting('idle_session_timeout', true)", "0"
			}
			var got string
			if err := db.readers.QueryRowContext(t.Context(), "SELECT "+setting).Scan(&got); err != nil || got != want {
				t.Errorf("afterwards the connection may be silent for %q (%v), want %s", got, err, want)
			}
		})
	}
}
