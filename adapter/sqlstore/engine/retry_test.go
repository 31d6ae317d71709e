package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/portico-commerce/portico/adapter"
)

// TestRetryGivesUp runs a transaction that always fails because of concurrent ones.
func TestRetryGivesUp(t *testing.T) {
	for name, c := range map[string]struct {
		dsn string
		err error
	}{
		"serialization": {"postgres://u:p@localhost/shop", &pgconn.PgError{Code: "40001"}},
		"deadlock":      {"postgres://u:p@localhost/shop", &pgconn.PgError{Code: "40P01"}},
		"mysql":         {"mysql:u:p@tcp(localhost)/shop", &mysql.MySQLError{Number: 1213}},
		"group":         {"mysql:u:p@tcp(localhost)/shop", &mysql.MySQLError{Number: 3101}},
	} {
		t.Run(name, func(t *testing.T) {
			db, err := Open(Options{DSN: c.dsn})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			synctest.Test(t, func(t *testing.T) { testRetryGivesUp(t, db, c.err) })
		})
	}
}

func testRetryGivesUp(t *testing.T, db *DB, failure error) {
	for _, c := range []struct {
		name            string
		deadline        time.Duration // 0: none
		takes           time.Duration // a run of the transaction
		atLeast, atMost time.Duration
		runs            int // at least
	}{
		{"without a deadline", 0, 0, retryFor - longestPause, retryFor, 20},
		{"long transactions", 0, 4 * time.Second, MaxAttempts * 4 * time.Second, MaxAttempts*4*time.Second + 2*longestPause, MaxAttempts},
		{"well before a deadline", 10 * time.Second, 0, 7500*time.Millisecond - longestPause, 7500 * time.Millisecond, 30},
		{"a deadline that is near", 20 * time.Millisecond, 0, 0, 15 * time.Millisecond, 1},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		if c.deadline > 0 {
			ctx, cancel = context.WithTimeout(t.Context(), c.deadline)
		}
		runs, begun := 0, time.Now()
		err := db.Retry(ctx, func() error { runs++; time.Sleep(c.takes); return failure })
		took := time.Since(begun)
		if !errors.Is(err, failure) || runs < c.runs || took < c.atLeast || took > c.atMost {
			t.Errorf("%s: %d runs in %s, %v", c.name, runs, took, err)
		}
		if err = db.WrapError(ctx, "update", err); adapter.KindOf(err) != adapter.Unavailable || !errors.Is(err, adapter.ErrContention) {
			t.Errorf("%s: %v, want unavailable because of contention", c.name, err)
		}
		cancel()
	}
	ctx, cancel := context.WithCancel(t.Context())
	runs := 0
	err := db.Retry(ctx, func() error { runs++; cancel(); return failure })
	if runs != 1 || !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of the context: %d runs, %v", runs, err)
	}
}
