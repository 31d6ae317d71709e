package sqlstore_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/sqlstore"
)

// data returns the demo store.
func data(tb testing.TB) *adapter.Dataset {
	tb.Helper()
	return sqlstore.DemoData(tb)
}

// open opens a database, and closes it when the test ends.
func open(tb testing.TB, dsn string) *sqlstore.DB {
	tb.Helper()
	db, err := sqlstore.Open(tb.Context(), sqlstore.Options{DSN: dsn, Migrate: true, SecretKey: sqlstore.SecretKey, MediaDir: tb.TempDir()})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = db.Close() })
	return db
}

// openDemo opens a new database with the demo store.
func openDemo(tb testing.TB, e sqlstore.Engine) *sqlstore.DB {
	tb.Helper()
	return open(tb, e.NewDemo(tb))
}

func stock(tb testing.TB, db *sqlstore.DB) adapter.Store {
	tb.Helper()
	s, err := db.Adapter().Store(adapter.StockItems)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func TestConformance(t *testing.T) {
	sqlstore.EachEngineFullSuite(t, func(t *testing.T, e sqlstore.Engine) {
		open := openGalleries(t, e)
		adaptertest.Run(t, adaptertest.Harness{
			Open:    func(t *testing.T) adapter.Adapter { return open(t).Adapter() },
			Sampled: e.Sampled(t),
		})
	})
}

func TestSeededStock(t *testing.T) {
	sqlstore.EachEngine(t, testSeededStock)
}

func testSeededStock(t *testing.T, e sqlstore.Engine) {
	s := stock(t, openDemo(t, e))
	for _, c := range []struct {
		key       adapter.Key
		qty       string
		inStock   int64
		automatic int64
		low       bool
	}{
		{1, "100.0000", 1, 0, false}, {3, "0.0000", 0, 1, true}, {9, "2.5000", 1, 0, false}, {12, "1.0000", 1, 0, false},
	} {
		r, err := s.Get(t.Context(), &adapter.GetParams{Key: c.key})
		if err != nil {
			t.Fatal(err)
		}
		if r.Get("qty").Text() != c.qty || r.Get("is_in_stock").Int() != c.inStock ||
			r.Get("stock_status_changed_auto").Int() != c.automatic || r.Get("low_stock_date").Empty() == c.low {
			t.Errorf("item %d: %v", c.key, r.Values)
		}
	}
}

// TestMoreStatementsThanCached runs more statements than the cache of prepared
// statements can hold.
func TestMoreStatementsThanCached(t *testing.T) {
	sqlstore.EachEngine(t, func(t *testing.T, e sqlstore.Engine) {
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

// TestHugeOffset asks for the last possible page.
func TestHugeOffset(t *testing.T) {
	sqlstore.EachEngine(t, func(t *testing.T, e sqlstore.Engine) {
		s := stock(t, openDemo(t, e))
		for _, q := range []adapter.Query{
			{Offset: math.MaxInt64}, {Offset: math.MaxInt64, Limit: math.MaxInt64, OrderBy: "qty"}, {Offset: 1 << 62, Limit: 1 << 62, OrderBy: "qty", Desc: true},
		} {
			if result, err := s.List(t.Context(), &adapter.ListParams{Query: q}); err != nil || len(result.Records) != 0 {
				t.Errorf("%+v: %+v, %v", q, result, err)
			}
		}
		first := adapter.Query{Offset: 1, Limit: math.MaxInt64, OrderBy: "qty"}
		if result, err := s.List(t.Context(), &adapter.ListParams{Query: first}); err != nil || len(result.Records) != len(data(t).Records[adapter.StockItems])-1 {
			t.Errorf("%+v: %+v, %v", first, result, err)
		}
	})
}

func TestAfterClose(t *testing.T) {
	sqlstore.EachEngine(t, testAfterClose)
}

func testAfterClose(t *testing.T, e sqlstore.Engine) {
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
	sqlstore.EachEngine(t, testUpdatePanicReleasesLock)
}

func testUpdatePanicReleasesLock(t *testing.T, e sqlstore.Engine) {
	s := stock(t, openDemo(t, e))
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_ = s.Update(t.Context(), &adapter.UpdateParams{Key: 1, Change: func(adapter.Record) (adapter.Record, error) { panic("broken") }})
	}()
	err := s.Update(t.Context(), &adapter.UpdateParams{Key: 1, Change: func(r adapter.Record) (adapter.Record, error) { return r, nil }})
	if err != nil {
		t.Error(err)
	}
}

func TestRequiredColumn(t *testing.T) {
	sqlstore.EachEngine(t, testRequiredColumn)
}

func testRequiredColumn(t *testing.T, e sqlstore.Engine) {
	s := stock(t, openDemo(t, e))
	err := s.Update(t.Context(), &adapter.UpdateParams{Key: 1, Change: func(r adapter.Record) (adapter.Record, error) {
		r.Set("qty", adapter.NullValue())
		return r, nil
	}})
	var fault *adapter.Error
	if !errors.As(err, &fault) || fault.Kind != adapter.Invalid {
		t.Errorf("qty null: %v, want invalid", err)
	}
}
