package engine

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync"
	"time"
)

// A commitQueue gives the writes of a database of SQLite, which has one writer, their turns. Short writes that wait for
// each other share a transaction: a commit waits for the disk, which takes longer than most writes, and one commit
// stores them all. No write ends before the transaction that it belongs to has been committed.
type commitQueue struct {
	pool *sql.DB
	// longest is the age at which no further write joins a transaction, and the time after which shared
	// transactions leave the file to other processes for othersTime.
	longest time.Duration

	mu      sync.Mutex
	busy    bool // a write has its turn, or a transaction is being committed
	waiting []*waitingWrite
	shared  *sharedTx // open for the next write

	// Only the write that has its turn, and the commit, use these.
	held  time.Duration // for which shared transactions have followed each other
	ended time.Time     // when the last one ended
}

// A waitingWrite waits for its turn.
type waitingWrite struct {
	turn  chan struct{} // closed when it has come
	alone bool
}

// A sharedTx is a transaction of one or several writes.
type sharedTx struct {
	*sql.Tx
	cancel context.CancelFunc // of its context
	begun  time.Time
	writes int           // that succeeded
	lost   bool          // it is rolled back, not committed
	ended  chan struct{} // closed when it has been committed, or has failed
	err    error         // why it was not committed; set before ended is closed
}

const (
	// maxSharedWrites is how many writes share a transaction at most, and sharedTime is the usual commitQueue.longest.
	maxSharedWrites = 64
	sharedTime      = 5 * time.Millisecond
	// othersTime is enough for other processes, which poll for the lock of the file, and would otherwise hardly ever
	// find it free. Transactions of one write leave the file free often enough.
	othersTime = time.Millisecond
)

// errSharedLost ends writes whose transaction was rolled back by another one that shared it. They are repeated.
var errSharedLost = errors.New("another write rolled back the transaction")

// write runs f in a transaction and commits it if f returns nil. alone: it shares the transaction with no other write.
// A write that fails after others of the transaction also waits for the commit, as it may have failed because of
// what they have written.
func (q *commitQueue) write(ctx context.Context, alone bool, f func(*sql.Tx) error) error {
	if err := q.enter(ctx, alone); err != nil {
		return err
	}
	lost := false // whether this write has lost the transaction
	shared, err := func() (*sharedTx, error) {
		defer q.leave(alone)
		s, err := q.run(ctx, f)
		lost = s != nil && s.lost
		return s, err
	}()
	if shared == nil {
		return err
	}
	// Also for a rollback, after which the caller may close the database: its connection must be free by then.
	if ended := shared.await(ctx); !lost {
		err = cmp.Or(ended, err)
	}
	return err
}

// enter waits for the turn of a write, or returns the error of ctx when that ends.
func (q *commitQueue) enter(ctx context.Context, alone bool) error {
	q.mu.Lock()
	if !q.busy {
		q.busy = true
		q.mu.Unlock()
		return nil
	}
	w := &waitingWrite{turn: make(chan struct{}), alone: alone}
	q.waiting = append(q.waiting, w)
	q.mu.Unlock()
	select {
	case <-w.turn:
		return nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	at := slices.Index(q.waiting, w)
	if at >= 0 {
		q.waiting = slices.Delete(q.waiting, at, at+1)
	}
	q.mu.Unlock()
	if at < 0 { // its turn has just come, and somebody has to end the transaction
		<-w.turn
		q.leave(alone)
	}
	return ctx.Err()
}

// run runs f in the open transaction, or in a new one, and returns it; nil if none could begin. If f fails, or does not
// return, or if ctx has ended then, what it wrote is undone.
func (q *commitQueue) run(ctx context.Context, f func(*sql.Tx) error) (s *sharedTx, err error) {
	if q.shared == nil {
		q.shared, err = q.begin(ctx)
	} else {
		err = q.shared.join()
	}
	if s = q.shared; s == nil {
		return nil, err
	}
	done := false
	defer func() {
		if !done {
			s.undo()
		}
	}()
	if err == nil {
		err = cmp.Or(f(s.Tx), ctx.Err())
	}
	if err == nil && s.writes > 0 {
		_, err = s.Exec("RELEASE SAVEPOINT shared")
	}
	if done = err == nil; done {
		s.writes++
	}
	return s, err
}

// begin begins a transaction. ctx ends the wait for it, but not the transaction: other writes may join it.
func (q *commitQueue) begin(ctx context.Context) (*sharedTx, error) {
	q.yield()
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel)
	tx, err := q.pool.BeginTx(own, nil)
	if !stop() { // ctx has ended meanwhile
		if err == nil {
			_ = tx.Rollback()
		}
		err = ctx.Err()
	}
	if err != nil {
		cancel()
		return nil, err
	}
	return &sharedTx{Tx: tx, cancel: cancel, begun: time.Now(), ended: make(chan struct{})}, nil
}

// yield leaves the file to other processes for a moment, if transactions have followed each other for long.
func (q *commitQueue) yield() {
	rest := othersTime - time.Since(q.ended)
	switch {
	case rest <= 0:
	case q.held < q.longest:
		return
	default:
		time.Sleep(rest)
	}
	q.held = 0
}

// join begins another write of the transaction. The first write has no savepoint, as most share with no other: if it has
// lost the transaction, BEGIN succeeds; otherwise SQLite refuses it.
func (s *sharedTx) join() error {
	if s.writes == 1 {
		if _, err := s.Exec("BEGIN"); err == nil {
			return errSharedLost
		}
	}
	_, err := s.Exec("SAVEPOINT shared")
	return err
}

// undo undoes the write that has its turn. The whole transaction is lost if it has no other write, or if SQLite has rolled
// it back, as it does if a write is interrupted or the disk is full: it has no savepoint then.
func (s *sharedTx) undo() {
	err := errSharedLost
	if s.writes > 0 {
		if _, err = s.Exec("ROLLBACK TO SAVEPOINT shared"); err == nil {
			_, err = s.Exec("RELEASE SAVEPOINT shared")
		}
	}
	s.lost = err != nil
}

// leave ends the turn of a write. The next one goes on with the transaction if both may share it; otherwise that is
// committed before, or rolled back if it is lost.
func (q *commitQueue) leave(alone bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.shared
	goesOn := s != nil && !s.lost && !alone && len(q.waiting) > 0 && !q.waiting[0].alone && s.writes < maxSharedWrites && time.Since(s.begun) < q.longest
	if s == nil || goesOn {
		q.next()
		return
	}
	q.shared = nil
	go func() { // a disk that hangs must not block the write for longer than its context
		if s.lost {
			_ = s.Rollback() // SQLite may have none to roll back
			s.end(errSharedLost)
		} else {
			s.end(s.Commit())
		}
		if q.ended = time.Now(); s.writes > 1 {
			q.held += q.ended.Sub(s.begun)
		}
		q.mu.Lock()
		defer q.mu.Unlock()
		q.next()
	}()
}

// next gives the next write its turn. The caller holds the lock.
func (q *commitQueue) next() {
	if q.busy = len(q.waiting) > 0; q.busy {
		close(q.waiting[0].turn)
		q.waiting = slices.Delete(q.waiting, 0, 1)
	}
}

// end notes how the transaction has ended.
func (s *sharedTx) end(err error) {
	s.cancel()
	s.err = err
	close(s.ended)
}

// await waits until the transaction has ended, at most until ctx ends, and returns why it was not committed.
func (s *sharedTx) await(ctx context.Context) error {
	if !awaitEnd(ctx, s.ended) {
		return ctx.Err()
	}
	return s.err
}
