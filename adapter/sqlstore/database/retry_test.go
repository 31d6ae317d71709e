package database

import (
	"context"
	"errors"
	"testing"

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
	} {
		t.Run(name, func(t *testing.T) {
			db, err := Open(Options{DSN: c.dsn})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			runs := 0
			err = db.Retry(t.Context(), func() error { runs++; return c.err })
			if runs != MaxAttempts || !errors.Is(err, c.err) {
				t.Errorf("%d runs, %v", runs, err)
			}
			if err = db.WrapError(t.Context(), "update", err); adapter.KindOf(err) != adapter.Unavailable {
				t.Errorf("%v, want unavailable", err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			runs = 0
			err = db.Retry(ctx, func() error { runs++; cancel(); return c.err })
			if runs != 1 || !errors.Is(err, context.Canceled) {
				t.Errorf("after the end of the context: %d runs, %v", runs, err)
			}
		})
	}
}
