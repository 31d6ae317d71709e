package sqlstore_test

import (
	"context"
	"slices"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// data returns the demo store.
func data(tb testing.TB) *adapter.Dataset {
	tb.Helper()
	return sqlstore.DemoData(tb)
}

// open opens a database, and closes it when the test ends.
func open(tb testing.TB, dsn string) *sqlstore.DB {
	tb.Helper()
	return sqlstore.OpenWith(tb, sqlstore.Options{DSN: dsn, Migrate: true, SecretKey: sqlstore.SecretKey, MediaDir: tb.TempDir()})
}

// openDemo opens a new database with the demo store.
func openDemo(tb testing.TB, e sqltest.Engine) *sqlstore.DB {
	tb.Helper()
	return open(tb, sqlstore.NewDemo(tb, e))
}

func stock(tb testing.TB, db *sqlstore.DB) adapter.Store {
	tb.Helper()
	return adaptertest.StoreOf(tb, db.Adapter(), adapter.StockItems)
}

func TestConformance(t *testing.T) {
	sqltest.EachEngineFullSuite(t, func(t *testing.T, e sqltest.Engine) {
		open := openGalleries(t, e)
		adaptertest.Run(t, adaptertest.Harness{
			Open:    func(t *testing.T) adapter.Adapter { return open(t).Adapter() },
			Sampled: sqltest.Sampled(t),
		})
	})
}

// TestMoreStatementsThanCached runs more statements than the cache of prepared
// statements can hold.
func TestMoreStatementsThanCached(t *testing.T) {
	sqltest.EachEngine(t, func(t *testing.T, e sqltest.Engine) {
		s := stock(t, openDemo(t, e))
		for n := 1; n <= 300; n++ {
			q := adapter.Query{Where: []adapter.Condition{{Any: []adapter.Test{{Attribute: "qty", Op: adapter.In, Operands: slices.Repeat([]string{"100"}, n)}}}}}
			result, err := s.List(t.Context(), &adapter.ListParams{Query: q})
			if err != nil || len(result.Records) == 0 || result.Partial || result.Records[0].Get("qty").Text() != "100.0000" {
				t.Fatalf("%d operands: %+v, %v", n, result, err)
			}
		}
	})
}

func TestAfterClose(t *testing.T) {
	sqltest.EachEngine(t, testAfterClose)
}

func testAfterClose(t *testing.T, e sqltest.Engine) {
	db := openDemo(t, e)
	s := stock(t, db)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func(context.Context) error{
		"Get":    func(ctx context.Context) error { _, err := s.Get(ctx, &adapter.GetParams{Key: 1}); return err },
		"List":   func(ctx context.Context) error { _, err := s.List(ctx, &adapter.ListParams{}); return err },
		"Ping":   db.Ping,
		"Empty":  func(ctx context.Context) error { _, err := db.Empty(ctx); return err },
		"Reset":  func(ctx context.Context) error { return db.Reset(ctx, data(t)) },
		"Use":    func(ctx context.Context) error { _, err := db.Credentials().Use(ctx, "n", 1); return err },
		"List 2": func(ctx context.Context) error { _, err := db.Credentials().List(ctx); return err },
		"Update": func(ctx context.Context) error {
			return s.Update(ctx, &adapter.UpdateParams{Key: 1, Change: func(r adapter.Record) (adapter.Record, error) { return r, nil }})
		},
	} {
		if err := call(t.Context()); adapter.KindOf(err) != adapter.Unavailable || err == nil {
			t.Errorf("%s: %v, want unavailable", name, err)
		}
	}
}

// TestUpdatePanicReleasesLock checks that a Change function that panics does not keep
// the write lock.
func TestUpdatePanicReleasesLock(t *testing.T) {
	sqltest.EachEngine(t, testUpdatePanicReleasesLock)
}

func testUpdatePanicReleasesLock(t *testing.T, e sqltest.Engine) {
	s := stock(t, openDemo(t, e))
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_ = s.Update(t.Context(), &adapter.UpdateParams{Key: 1, Change: func(adapter.Record) (adapter.Record, error) { panic("broken") }})
	}()
	if err := adaptertest.Update(t, s, 1, 0, nil); err != nil {
		t.Error(err)
	}
}
