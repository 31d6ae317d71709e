package sqlstore

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/dataset"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

type attrs = adaptertest.Attributes

// SecretKey encrypts the secrets of the demo stores.
const SecretKey = "a key of the tests"

// demoData decodes the demo store once for all tests, which do not modify it.
var demoData = sync.OnceValues(dataset.Load)

// DemoData returns the demo store.
func DemoData(tb testing.TB) *adapter.Dataset {
	tb.Helper()
	data, err := demoData()
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// demoStore is a template of databases with the demo store.
var demoStore = sqltest.NewTemplate("demo_with_secrets", func(dsn string) error {
	data, err := demoData()
	if err != nil {
		return err
	}
	db, err := Open(context.Background(), Options{DSN: dsn, Migrate: true, SecretKey: SecretKey})
	if err != nil {
		return err
	}
	return errors.Join(db.Load(context.Background(), data, nil), db.Close())
})

// NewDemo returns the DSN of a new database that holds the demo store.
func NewDemo(tb testing.TB, e sqltest.Engine) string {
	tb.Helper()
	return demoStore.Database(tb, e.Name)
}

// StoreOpener returns a function that opens the stores of a conformance suite, whose
// tests run one after the other. On SQLite each store is new, a copy of a file. On servers the first
// two are, as the suite closes one and uses the other throughout. All later ones are one store that restore
// resets to its initial content: creating a server's database for each takes most of the suite's time.
func StoreOpener(tb testing.TB, e sqltest.Engine, open func(testing.TB) *DB, restore func(testing.TB, *DB)) func(testing.TB) *DB {
	if e.Name == "sqlite" {
		return open
	}
	const own = 2
	opened := 0
	var shared *DB
	return func(test testing.TB) *DB {
		test.Helper()
		opened++
		switch {
		case opened <= own:
			return open(test)
		case shared == nil:
			shared = open(tb)
		default:
			restore(test, shared)
		}
		return shared
	}
}

// openTest opens a new database with empty tables, and closes it when the test
// ends.
func openTest(t testing.TB, e sqltest.Engine) *DB {
	t.Helper()
	return openAt(t, e.NewDSN(t))
}

// openDemo is openTest for the demo store.
func openDemo(t testing.TB, e sqltest.Engine) *DB {
	t.Helper()
	return openAt(t, NewDemo(t, e))
}

func openAt(t testing.TB, dsn string) *DB {
	t.Helper()
	folder := t.TempDir()
	db := OpenWith(t, Options{DSN: dsn, MediaDir: folder})
	mediaDirs.Store(db, folder)
	t.Cleanup(func() { mediaDirs.Delete(db) })
	return db
}

// OpenWith opens a database, and closes it when the test ends.
func OpenWith(tb testing.TB, o Options) *DB {
	tb.Helper()
	db, err := Open(tb.Context(), o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = db.Close() })
	return db
}

// mediaDirs are the media folders of the stores that OpenAt has opened.
var mediaDirs sync.Map

func mediaDir(db *DB) string {
	folder, _ := mediaDirs.Load(db)
	return folder.(string)
}

// Exec runs statements, for tests outside the package.
func Exec(t testing.TB, db *DB, statements ...string) { t.Helper(); execute(t, db, statements...) }

// execute runs statements.
func execute(t testing.TB, db *DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := db.records.Writer.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%v\n%s", err, statement)
		}
	}
}

// ReadFrom runs a statement with rows on a connection that only reads.
func ReadFrom(t testing.TB, db *DB, statement string) error {
	t.Helper()
	_, err := engine.SelectColumn[int64](t.Context(), db.records.ReadStatements.Query, statement)
	return err
}

// storeOf returns the store of a resource.
func storeOf(tb testing.TB, db *DB, r adapter.Resource) adapter.Store {
	tb.Helper()
	return adaptertest.StoreOf(tb, db.Adapter(), r)
}
