package engine

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/config/testenv"
)

// A writing is a database of SQLite whose writes take turns as a test says.
type writing struct {
	*DB
	t   *testing.T
	all sync.WaitGroup
}

func newWriting(t *testing.T) *writing {
	t.Helper()
	db, err := Open(Options{DSN: "sqlite:" + filepath.Join(t.TempDir(), "store.db"), PoolOptions: PoolOptions{Create: true}})
	if err == nil {
		_, err = db.Writer.ExecContext(t.Context(), "CREATE TABLE entry (n INTEGER PRIMARY KEY)")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.commits.longest = time.Hour // a busy machine takes its time
	return &writing{DB: db, t: t}
}

// A turn is a write in another goroutine.
type turn struct {
	err  error
	ran  []*sql.Tx // the transaction of each run
	done chan struct{}
}

// start starts a write that inserts n, and calls do, unless that is nil, in the transaction.
func (w *writing) start(ctx context.Context, n int, alone bool, do func(*Tx) error) *turn {
	one := &turn{done: make(chan struct{})}
	w.all.Go(func() {
		defer close(one.done)
		one.err = w.write(ctx, "test", alone, func(tx *Tx) error {
			one.ran = append(one.ran, tx.tx)
			if err := tx.Exec(ctx, "INSERT INTO entry (n) VALUES (?)", n); err != nil {
				return err
			}
			if do != nil {
				return do(tx)
			}
			return nil
		})
	})
	return one
}

// hold starts a write that keeps its turn until release is called.
func (w *writing) hold(n int, do func(*Tx) error) (held *turn, release func()) {
	w.t.Helper()
	begun, released := make(chan struct{}), make(chan struct{})
	var once sync.Once
	held = w.start(w.t.Context(), n, false, func(tx *Tx) error {
		once.Do(func() { close(begun) })
		<-released
		if do != nil {
			return do(tx)
		}
		return nil
	})
	testenv.Receive(w.t, "the write that holds its turn", begun)
	return held, func() { close(released) }
}

// queue starts a write and waits until it is the last of so many that wait for their turns.
func (w *writing) queue(ctx context.Context, waiting, n int, alone bool, do func(*Tx) error) *turn {
	w.t.Helper()
	one := w.start(ctx, n, alone, do)
	testenv.Await(w.t, "a write that waits", func() bool {
		w.commits.mu.Lock()
		defer w.commits.mu.Unlock()
		return len(w.commits.waiting) == waiting
	})
	return one
}

// stored returns the numbers that are stored.
func (w *writing) stored() []int {
	w.t.Helper()
	found, err := SelectColumn[int](w.t.Context(), w.ReadStatements.Query, "SELECT n FROM entry ORDER BY n")
	if err != nil {
		w.t.Fatal(err)
	}
	return found
}

// check checks what is stored when all writes have ended, and that none has the turn.
func (w *writing) check(want ...int) {
	w.t.Helper()
	w.all.Wait()
	if got := w.stored(); !slices.Equal(got, want) {
		w.t.Errorf("stored %v, want %v", got, want)
	}
	testenv.Await(w.t, "an idle queue", func() bool {
		w.commits.mu.Lock()
		defer w.commits.mu.Unlock()
		return !w.commits.busy && w.commits.shared == nil && len(w.commits.waiting) == 0
	})
}

var errRefused = errors.New("refused")

// TestWritesShareACommit checks that writes that wait for each other share a transaction, that one that fails is
// undone alone, and that none ends before the commit.
func TestWritesShareACommit(t *testing.T) {
	t.Parallel()
	w := newWriting(t)
	first, release := w.hold(1, nil)
	second := w.queue(t.Context(), 1, 2, false, nil)
	refused := w.queue(t.Context(), 2, 3, false, func(*Tx) error { return errRefused })
	goes, goOn := make(chan struct{}), make(chan struct{})
	last := w.queue(t.Context(), 3, 4, false, func(*Tx) error {
		close(goes)
		<-goOn
		return nil
	})
	release()
	testenv.Receive(t, "the last write", goes)
	for i, one := range []*turn{first, second, refused} {
		select {
		case <-one.done:
			t.Errorf("write %d has ended before the commit: %v", i+1, one.err)
		default:
		}
	}
	if got := w.stored(); len(got) != 0 {
		t.Errorf("readers see %v before the commit", got)
	}
	close(goOn)
	w.check(1, 2, 4)
	if err := errors.Join(first.err, second.err, last.err); err != nil || !errors.Is(refused.err, errRefused) {
		t.Errorf("%v; refused: %v", err, refused.err)
	}
	for _, one := range []*turn{second, refused, last} {
		if !slices.Equal(one.ran, first.ran) {
			t.Errorf("transactions %v, want %v", one.ran, first.ran)
		}
	}
}

// TestLongWritesShareNothing checks that a long write neither makes others wait for its commit nor waits for theirs.
func TestLongWritesShareNothing(t *testing.T) {
	t.Parallel()
	w := newWriting(t)
	first, release := w.hold(1, nil)
	second := w.queue(t.Context(), 1, 2, false, nil)
	long := w.queue(t.Context(), 2, 3, true, nil)
	last := w.queue(t.Context(), 3, 4, false, nil)
	release()
	w.check(1, 2, 3, 4)
	if second.ran[0] != first.ran[0] || long.ran[0] == first.ran[0] || last.ran[0] == long.ran[0] {
		t.Errorf("transactions %v, %v, %v, %v", first.ran, second.ran, long.ran, last.ran)
	}
}

// TestSharedWritesAreBounded checks how many writes share a transaction.
func TestSharedWritesAreBounded(t *testing.T) {
	t.Parallel()
	w := newWriting(t)
	first, release := w.hold(0, nil)
	want := []int{0}
	var others []*turn
	for n := 1; n <= maxSharedWrites+1; n++ {
		others, want = append(others, w.queue(t.Context(), n, n, false, nil)), append(want, n)
	}
	release()
	w.check(want...)
	together := 1
	for _, one := range others {
		if one.ran[0] == first.ran[0] {
			together++
		}
	}
	if together != maxSharedWrites {
		t.Errorf("%d writes share a transaction, want %d", together, maxSharedWrites)
	}
}

// TestOldTransactionsAreNotShared checks that no write joins a transaction that is older than commitQueue.longest.
func TestOldTransactionsAreNotShared(t *testing.T) {
	t.Parallel()
	w := newWriting(t)
	w.commits.longest = 0
	first, release := w.hold(1, nil)
	second := w.queue(t.Context(), 1, 2, false, nil)
	release()
	w.check(1, 2)
	if first.ran[0] == second.ran[0] {
		t.Error("they share a transaction")
	}
}

// TestSharedCommitFails checks that no write of a transaction succeeds if its commit fails.
func TestSharedCommitFails(t *testing.T) {
	t.Parallel()
	w := newWriting(t)
	if _, err := w.Writer.ExecContext(t.Context(), "CREATE TABLE part (of INTEGER REFERENCES entry (n) DEFERRABLE INITIALLY DEFERRED)"); err != nil {
		t.Fatal(err)
	}
	first, release := w.hold(1, nil)
	violates := w.queue(t.Context(), 1, 2, false, func(tx *Tx) error { return tx.Exec(t.Context(), "INSERT INTO part (of) VALUES (99)") })
	last := w.queue(t.Context(), 2, 3, false, nil)
	release()
	w.check()
	for i, one := range []*turn{first, violates, last} {
		if adapter.KindOf(one.err) != adapter.Conflict {
			t.Errorf("write %d: %v", i+1, one.err)
		}
	}
}

// TestSharedTransactionLost checks that writes are repeated if another one rolls back the transaction that they share:
// SQLite does so if a statement that writes is interrupted, or if the disk is full.
func TestSharedTransactionLost(t *testing.T) {
	t.Parallel()
	rollBack := func(tx *Tx) error {
		_, err := tx.tx.Exec("ROLLBACK")
		return err
	}
	t.Run("by an error", func(t *testing.T) {
		t.Parallel()
		w := newWriting(t)
		first, release := w.hold(1, nil)
		second := w.queue(t.Context(), 1, 2, false, nil)
		fails := w.queue(t.Context(), 2, 3, false, func(tx *Tx) error { return errors.Join(errRefused, rollBack(tx)) })
		release()
		w.check(1, 2)
		if err := errors.Join(first.err, second.err); err != nil || !errors.Is(fails.err, errRefused) || len(first.ran) != 2 || len(second.ran) != 2 || len(fails.ran) != 1 {
			t.Errorf("%v; %v; runs %v, %v, %v", err, fails.err, first.ran, second.ran, fails.ran)
		}
	})
	t.Run("by the first, which does not notice", func(t *testing.T) {
		t.Parallel()
		w := newWriting(t)
		runs := 0
		_, release := w.hold(1, func(tx *Tx) error {
			if runs++; runs == 1 {
				return rollBack(tx)
			}
			return nil
		})
		second := w.queue(t.Context(), 1, 2, false, nil)
		release()
		w.check(1, 2)
		if second.err != nil || runs != 2 {
			t.Errorf("%v after %d runs", second.err, runs)
		}
	})
	t.Run("by an interrupt", func(t *testing.T) {
		t.Parallel()
		w := newWriting(t)
		first, release := w.hold(1, nil)
		ctx, cancel := context.WithCancel(t.Context())
		interrupted := w.queue(ctx, 1, 2, false, func(tx *Tx) error {
			time.AfterFunc(10*time.Millisecond, cancel) // while the statement, which does not end, runs
			return tx.Exec(ctx, "INSERT INTO entry (n) WITH RECURSIVE made(n) AS (SELECT 100 UNION ALL SELECT n + 1 FROM made) SELECT n FROM made WHERE n < 0")
		})
		last := w.queue(t.Context(), 2, 3, false, nil)
		release()
		w.check(1, 3)
		if err := errors.Join(first.err, last.err); err != nil || interrupted.err == nil || len(first.ran) != 2 {
			t.Errorf("%v; interrupted: %v; runs %v", err, interrupted.err, first.ran)
		}
	})
	t.Run("under a write that was refused", func(t *testing.T) {
		t.Parallel()
		w := newWriting(t)
		ctx, cancel := context.WithCancel(t.Context())
		begun, released := make(chan struct{}), make(chan struct{})
		first := w.start(ctx, 1, false, func(*Tx) error {
			close(begun)
			<-released
			return nil
		})
		testenv.Receive(t, "the first write", begun)
		second := w.queue(t.Context(), 1, 1, false, nil) // the same number
		third := w.queue(t.Context(), 2, 3, false, func(tx *Tx) error {
			cancel() // so that the first one is not repeated
			return errors.Join(errRefused, rollBack(tx))
		})
		close(released)
		w.check(1)
		if first.err == nil || second.err != nil || !errors.Is(third.err, errRefused) {
			t.Errorf("%v, %v, %v", first.err, second.err, third.err)
		}
	})
}

// TestEndedWriteIsUndone checks that a write whose context ends before its commit is undone, shared or not.
func TestEndedWriteIsUndone(t *testing.T) {
	t.Parallel()
	for _, alone := range []bool{false, true} {
		w := newWriting(t)
		ctx, cancel := context.WithCancel(t.Context())
		one := w.start(ctx, 1, alone, func(*Tx) error { cancel(); return nil })
		w.check()
		if !errors.Is(one.err, context.Canceled) {
			t.Error(one.err)
		}
	}
}

// TestSharedTransactionsYield checks that other processes get time to take the lock of the file.
func TestSharedTransactionsYield(t *testing.T) {
	t.Parallel()
	w := newWriting(t)
	w.start(t.Context(), 1, false, nil)
	w.check(1)
	w.commits.held = w.commits.longest // as after many shared transactions
	ended, begun := w.commits.ended, time.Time{}
	w.start(t.Context(), 2, false, func(*Tx) error { begun = w.commits.shared.begun; return nil })
	w.check(1, 2)
	if left := begun.Sub(ended); left < othersTime || w.commits.held != 0 {
		t.Errorf("%s were left, and %s are held", left, w.commits.held)
	}
}

// TestSharedBeginIsBounded checks that a context ends the wait for a process that holds the lock of the file.
func TestSharedBeginIsBounded(t *testing.T) {
	t.Parallel()
	w := newWriting(t)
	other, err := Open(Options{DSN: "sqlite:" + w.Name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond) // SQLite waits for seconds
	defer cancel()
	err = other.commits.write(t.Context(), true, func(*sql.Tx) error { return w.commits.write(ctx, false, func(*sql.Tx) error { return nil }) })
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	w.check()
}

// TestAbandonedTurn checks that a write whose turn comes as its context ends passes the turn on.
func TestAbandonedTurn(t *testing.T) {
	t.Parallel()
	q := &commitQueue{}
	for range 100 {
		if err := q.enter(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		entered := make(chan error, 1)
		go func() { entered <- q.enter(ctx, false) }()
		waits := func() bool {
			q.mu.Lock()
			defer q.mu.Unlock()
			return len(q.waiting) == 1
		}
		testenv.Await(t, "a write that waits", waits)
		q.mu.Lock()
		cancel()
		q.next()
		q.mu.Unlock()
		if testenv.Receive(t, "the end of the wait", entered) == nil {
			q.leave(false)
		}
		if q.busy {
			t.Fatal("the queue stays busy")
		}
	}
}

// TestSharedWritePanics checks that the writes beside one that panics are stored.
func TestSharedWritePanics(t *testing.T) {
	t.Parallel()
	w := newWriting(t)
	first, release := w.hold(1, nil)
	panicked := make(chan any, 1)
	w.all.Go(func() {
		defer func() { panicked <- recover() }()
		_ = w.Write(t.Context(), "test", func(tx *Tx) error {
			if err := tx.Exec(t.Context(), "INSERT INTO entry (n) VALUES (2)"); err != nil {
				return err
			}
			panic("a fault")
		})
	})
	testenv.Await(t, "a write that waits", func() bool {
		w.commits.mu.Lock()
		defer w.commits.mu.Unlock()
		return len(w.commits.waiting) == 1
	})
	last := w.queue(t.Context(), 2, 3, false, nil)
	release()
	w.check(1, 3)
	if got := <-panicked; got != "a fault" || first.err != nil || last.err != nil {
		t.Errorf("recovered %v, %v, %v", got, first.err, last.err)
	}
}

// TestSharedWriteGivesUp checks that a write whose context ends while it waits leaves the others alone.
func TestSharedWriteGivesUp(t *testing.T) {
	t.Parallel()
	w := newWriting(t)
	first, release := w.hold(1, nil)
	ctx, cancel := context.WithCancel(t.Context())
	gone := w.queue(ctx, 1, 2, false, nil)
	cancel()
	<-gone.done
	release()
	w.check(1)
	if first.err != nil || !errors.Is(gone.err, context.Canceled) || len(gone.ran) > 0 {
		t.Errorf("%v, %v", first.err, gone.err)
	}
}

// TestSharedWritesAtRandom lets many writes fail, give up and end in all orders: what was acknowledged is stored, and
// what failed is not.
func TestSharedWritesAtRandom(t *testing.T) {
	t.Parallel()
	w := newWriting(t)
	const writers, writes = 8, 60
	var acknowledged, refused sync.Map
	for writer := range writers {
		w.all.Go(func() {
			for i := range writes {
				n := writer*writes + i
				ctx, cancel := context.WithCancel(t.Context())
				if n%5 == 0 {
					go cancel()
				}
				err := w.write(ctx, "test", n%11 == 0, func(tx *Tx) error {
					if err := tx.Exec(ctx, "INSERT INTO entry (n) VALUES (?)", n); err != nil {
						return err
					}
					if n%7 == 0 {
						return errRefused
					}
					return nil
				})
				cancel()
				switch {
				case err == nil:
					acknowledged.Store(n, true)
				case errors.Is(err, errRefused):
					refused.Store(n, true)
				case n%5 == 0:
					// it may have been stored
				default:
					t.Errorf("write %d: %v", n, err)
				}
			}
		})
	}
	w.all.Wait()
	has := map[int]bool{}
	for _, n := range w.stored() {
		has[n] = true
	}
	acknowledged.Range(func(n, _ any) bool {
		if !has[n.(int)] {
			t.Errorf("%v was acknowledged, and is not stored", n)
		}
		return true
	})
	refused.Range(func(n, _ any) bool {
		if has[n.(int)] {
			t.Errorf("%v was refused, and is stored", n)
		}
		return true
	})
	w.check(w.stored()...)
}
