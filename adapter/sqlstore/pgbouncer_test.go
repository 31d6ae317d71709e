//go:build linux

package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/config/testenv"
)

// pooled returns the options to open a database through a pooler in transaction mode.
func pooled(tb testing.TB, b *sqltest.Bouncer, dsn string) sqlstore.Options {
	tb.Helper()
	return sqlstore.Options{
		DSN: b.Through(dsn), DirectDSN: dsn, PerTransaction: true, Migrate: true,
		SecretKey: sqlstore.SecretKey, MediaDir: tb.TempDir(),
	}
}

// TestConformancePgBouncer is TestConformance through PgBouncer in transaction mode.
func TestConformancePgBouncer(t *testing.T) {
	testenv.OnlyNightly(t, "pgbouncer")
	t.Parallel()
	bouncer := sqltest.StartBouncer(t, sqltest.Postgres(t), "transaction")
	postgres := sqltest.Servers()[0]
	var dsn string // of the latest store
	open := sqlstore.StoreOpener(t, postgres, func(tb testing.TB) *sqlstore.DB {
		dsn = sqlstore.NewDemo(tb, postgres)
		addGallery(tb, dsn)
		return sqlstore.OpenWith(tb, pooled(tb, bouncer, dsn))
	}, func(tb testing.TB, db *sqlstore.DB) {
		if err := db.Reset(tb.Context(), data(tb)); err != nil {
			tb.Fatal(err)
		}
		addGallery(tb, dsn)
	})
	adaptertest.Run(t, adaptertest.Harness{
		Open:    func(t *testing.T) adapter.Adapter { return open(t).Adapter() },
		Sampled: sqltest.Sampled(t),
	})
}

// TestPgBouncer opens a store several times at once on an empty database through PgBouncer in
// transaction mode, and checks that its connections leave nothing in the server's sessions.
func TestPgBouncer(t *testing.T) {
	t.Parallel()
	dsn := sqltest.Postgres(t)
	bouncer := sqltest.StartBouncer(t, dsn, "transaction")
	options := pooled(t, bouncer, dsn)

	t.Run("without direct DSN", func(t *testing.T) {
		o := options
		o.DirectDSN = ""
		_, err := sqlstore.Open(t.Context(), o)
		if adapter.KindOf(err) != adapter.Invalid || !strings.Contains(fmt.Sprint(err), "direct_dsn") {
			t.Errorf("the tables are made without a direct DSN: %v", err)
		}
		o.Migrate = false
		db := sqlstore.OpenWith(t, o)
		if _, err := db.Imports().Lock(t.Context()); adapter.KindOf(err) != adapter.Invalid || !strings.Contains(fmt.Sprint(err), "direct_dsn") {
			t.Errorf("imports lock without a direct DSN: %v", err)
		}
	})

	stores := make([]*sqlstore.DB, 4)
	errs := make([]error, len(stores))
	var opening sync.WaitGroup
	for i := range stores {
		opening.Go(func() { stores[i], errs[i] = sqlstore.Open(context.WithoutCancel(t.Context()), options) })
	}
	opening.Wait()
	for _, db := range stores {
		if db != nil {
			t.Cleanup(func() { _ = db.Close() })
		}
	}
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if err := stores[0].Load(t.Context(), data(t), nil); err != nil {
		t.Fatal(err)
	}

	t.Run("stores write and read", func(t *testing.T) {
		var working sync.WaitGroup
		for i, db := range stores {
			working.Go(func() {
				s := stock(t, db)
				for range 20 {
					if err := adaptertest.Update(t, s, adapter.Key(i+1), 0, nil); err != nil {
						t.Error(err)
					}
					if _, err := s.List(t.Context(), &adapter.ListParams{}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		working.Wait()
	})
	t.Run("readers cannot write", func(t *testing.T) {
		if err := sqlstore.ReadFrom(t, stores[0], "UPDATE stock_item SET qty = 0 RETURNING item_id"); err == nil || !strings.Contains(err.Error(), "read-only transaction") {
			t.Errorf("a reader writes: %v", err)
		}
	})
	t.Run("imports lock", func(t *testing.T) {
		release, err := stores[0].Imports().Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stores[1].Imports().Lock(t.Context()); err == nil {
			t.Error("two imports run at once")
		}
		if err := release(); err != nil {
			t.Error(err)
		}
	})
	t.Run("nothing is left", func(t *testing.T) { checkLeftNothing(t, bouncer.Through(dsn)) })
}

// TestPgBouncerSessions opens a store through PgBouncer in session mode, which needs no setting.
func TestPgBouncerSessions(t *testing.T) {
	t.Parallel()
	dsn := sqltest.Postgres(t)
	db := sqlstore.OpenWith(t, sqlstore.Options{
		DSN: sqltest.StartBouncer(t, dsn, "session").Through(dsn), Migrate: true, MediaDir: t.TempDir(),
		WriteConnections: 3, ReadConnections: 3, // PgBouncer's pool has as many together
	})
	if err := db.Load(t.Context(), data(t), nil); err != nil {
		t.Fatal(err)
	}
	if err := adaptertest.Update(t, stock(t, db), 1, 0, nil); err != nil {
		t.Error(err)
	}
	if err := sqlstore.ReadFrom(t, db, "UPDATE stock_item SET qty = 0 RETURNING item_id"); err == nil || !strings.Contains(err.Error(), "read-only transaction") {
		t.Errorf("a reader writes: %v", err)
	}
	release, err := db.Imports().Lock(t.Context())
	if err == nil {
		err = release()
	}
	if err != nil {
		t.Error(err)
	}
}

// checkLeftNothing checks as another client of the pooler that sessions have neither Portico's
// settings nor prepared statements.
func checkLeftNothing(t *testing.T, dsn string) {
	t.Helper()
	for range 20 { // as many sessions as there are
		for text, want := range map[string]string{
			"SELECT COUNT(*) FROM pg_prepared_statements": "0",
			"SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())": "0",
			"SELECT current_setting('lock_timeout')":                               "0",
			"SELECT current_setting('default_transaction_read_only')":              "off",
			"SELECT current_setting('transaction_read_only')":                      "off",
			"SELECT current_setting('idle_in_transaction_session_timeout')":        "0",
			"SELECT setting = reset_val FROM pg_settings WHERE name = 'DateStyle'": "t",
		} {
			if got := askSimply(t, dsn, text); got != want {
				t.Errorf("%s: %s, want %s", text, got, want)
			}
		}
	}
}

// askSimply returns the only value that a statement selects on a connection of its own, as text.
func askSimply(t *testing.T, dsn, text string) string {
	t.Helper()
	conn, err := pgconn.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	results, err := conn.Exec(t.Context(), text).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return string(results[0].Rows[0][0])
}
