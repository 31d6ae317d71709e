package sqlstore_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/demo"
	"github.com/portico-commerce/portico/adapter/sqlstore"
)

// demoData is decoded once for all tests; a data set is not changed once made.
var demoData = sync.OnceValues(demo.Load)

func data(tb testing.TB) *adapter.Dataset {
	tb.Helper()
	d, err := demoData()
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// open opens the database of a file, and closes it when the test ends.
func open(tb testing.TB, path string) *sqlstore.DB {
	tb.Helper()
	db, err := sqlstore.Open(tb.Context(), sqlstore.Options{DSN: "sqlite:" + path, Migrate: true, SecretKey: "a key of the tests"})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = db.Close() })
	return db
}

// openDemo opens a new database with the demo store.
func openDemo(tb testing.TB) *sqlstore.DB {
	tb.Helper()
	db := open(tb, filepath.Join(tb.TempDir(), "shop.db"))
	if err := db.Load(tb.Context(), data(tb), nil); err != nil {
		tb.Fatal(err)
	}
	return db
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
	unsupported := map[adapter.Resource]string{}
	for _, r := range []adapter.Resource{
		adapter.Admins, adapter.ProductImages, adapter.ProductWebsites, adapter.ProductCategories,
	} {
		unsupported[r] = "stored, and not served yet"
	}
	adaptertest.Run(t, adaptertest.Harness{
		Open:        func(t *testing.T) adapter.Adapter { return openDemo(t).Adapter() },
		Unsupported: unsupported,
	})
}

func TestSeededStock(t *testing.T) {
	s := stock(t, openDemo(t))
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

func TestReopenKeepsData(t *testing.T) {
	path := filepath.Join(t.TempDir(), "it's a #shop? 100%.db")
	db := open(t, path)
	if err := db.Load(t.Context(), data(t), nil); err != nil {
		t.Fatal(err)
	}
	err := stock(t, db).Update(t.Context(), &adapter.UpdateParams{Key: 1, Change: func(r adapter.Record) (adapter.Record, error) {
		r.Set("qty", adapter.TextValue("41.5000"))
		return r, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = open(t, path) // migrates again, and finds nothing to do
	r, err := stock(t, db).Get(t.Context(), &adapter.GetParams{Key: 1})
	if err != nil || r.Get("qty").Text() != "41.5000" {
		t.Errorf("qty %q, %v", r.Get("qty").Text(), err)
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		name string
		o    sqlstore.Options
		want adapter.ErrorKind
	}{
		{"no path", sqlstore.Options{DSN: "sqlite:"}, adapter.Invalid},
		{"in memory", sqlstore.Options{DSN: "sqlite::memory:", Migrate: true}, adapter.Invalid},
		{"another kind", sqlstore.Options{DSN: "mongodb://x/y", Migrate: true}, adapter.Invalid},
		{"no such file", sqlstore.Options{DSN: filepath.Join(dir, "none.db")}, adapter.Unavailable},
		{"a folder", sqlstore.Options{DSN: dir, Migrate: true}, adapter.Unavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			db, err := sqlstore.Open(t.Context(), c.o)
			if err == nil {
				_ = db.Close()
			}
			if adapter.KindOf(err) != c.want || err == nil {
				t.Errorf("error %v, want %v", err, c.want)
			}
		})
	}
}

func TestLoadAndEmpty(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "shop.db"))
	empty := func(want bool) {
		t.Helper()
		if got, err := db.Empty(t.Context()); got != want || err != nil {
			t.Errorf("Empty = %v, %v; want %v", got, err, want)
		}
	}
	empty(true)
	broken := *data(t)
	broken.Records = map[adapter.Resource][]adapter.Record{
		adapter.StockItems: data(t).Records[adapter.StockItems], // without their products
	}
	if err := db.Load(t.Context(), &broken, nil); adapter.KindOf(err) != adapter.Conflict {
		t.Errorf("Load of items without products: %v, want conflict", err)
	}
	empty(true)
	var last, total int
	if err := db.Load(t.Context(), data(t), func(done, all int) { last, total = done, all }); err != nil {
		t.Fatal(err)
	}
	if last != total || total < 800 {
		t.Errorf("progress ended at %d of %d", last, total)
	}
	empty(false)
	if err := db.Load(t.Context(), data(t), nil); adapter.KindOf(err) != adapter.Conflict {
		t.Errorf("second Load: %v, want conflict", err)
	}
}

func TestReset(t *testing.T) {
	db := openDemo(t)
	before := stockTable(t, db)
	err := stock(t, db).Update(t.Context(), &adapter.UpdateParams{Key: 2, Change: func(r adapter.Record) (adapter.Record, error) {
		r.Set("qty", adapter.TextValue("0.0000"))
		return r, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	credentials := db.Credentials()
	if _, err := credentials.Use(t.Context(), "n1", 1); err != nil {
		t.Fatal(err)
	}
	if _, err := credentials.AddConsumer(t.Context(), adapter.Consumer{Name: "mine"}); err != nil {
		t.Fatal(err)
	}
	if err := db.Reset(t.Context(), data(t)); err != nil {
		t.Fatal(err)
	}
	if after := stockTable(t, db); after != before {
		t.Errorf("after Reset:\n%s\nbefore:\n%s", after, before)
	}
	if used, err := credentials.Used(t.Context(), "n1"); used || err != nil {
		t.Errorf("nonce after Reset: %v, %v", used, err)
	}
	grants, err := credentials.List(t.Context())
	if err != nil || len(grants) != 1 || grants[0].Consumer.ID != 1 || len(grants[0].Tokens) != 3 {
		t.Errorf("credentials after Reset: %+v, %v", grants, err)
	}
}

// stockTable returns the stock items as text, dates left out.
func stockTable(t *testing.T, db *sqlstore.DB) string {
	t.Helper()
	result, err := stock(t, db).List(t.Context(), &adapter.ListParams{})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, r := range result.Records {
		for i, v := range r.Values {
			if r.Schema.Attributes[i].Kind != adapter.KindTime {
				b.WriteString(v.Text() + " ")
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestResetIsAtomic(t *testing.T) {
	db := openDemo(t)
	broken := *data(t)
	broken.Consumer.Key = "short"
	if err := db.Reset(t.Context(), &broken); adapter.KindOf(err) != adapter.Invalid {
		t.Fatalf("Reset: %v, want invalid", err)
	}
	if table := stockTable(t, db); !strings.HasPrefix(table, "1 1 1 100.0000") {
		t.Errorf("the store is gone:\n%s", table)
	}
}

func TestAfterClose(t *testing.T) {
	db := openDemo(t)
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

// TestChangePanic shows that a broken Change does not keep the write lock.
func TestChangePanic(t *testing.T) {
	s := stock(t, openDemo(t))
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
	s := stock(t, openDemo(t))
	err := s.Update(t.Context(), &adapter.UpdateParams{Key: 1, Change: func(r adapter.Record) (adapter.Record, error) {
		r.Set("qty", adapter.NullValue())
		return r, nil
	}})
	var e *adapter.Error
	if !errors.As(err, &e) || e.Kind != adapter.Invalid {
		t.Errorf("qty null: %v, want invalid", err)
	}
}
