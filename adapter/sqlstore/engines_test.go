package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"sync"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/demo"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/contracttests/nightly"
)

// An Engine is one that tests run on.
type Engine struct {
	Name string
	// Empty returns the DSN of a new, empty database.
	Empty func(testing.TB) string
}

// Engines lists every engine.
func Engines() []Engine {
	return append([]Engine{
		{"sqlite", func(tb testing.TB) string { return "sqlite:" + filepath.Join(tb.TempDir(), "shop.db") }},
	}, Servers()...)
}

// Servers lists the engines that are servers. With -short, for the race detector,
// PostgreSQL is enough: what differs between them is SQL.
func Servers() []Engine {
	servers := []Engine{{"postgres", sqltest.Postgres}, {"mariadb", sqltest.MariaDB}}
	if testing.Short() {
		return servers[:1]
	}
	return servers
}

// migrated is a database that has its tables, which are empty.
var migrated = sqltest.NewTemplate(func(dsn string) error {
	db, err := Open(context.Background(), Options{DSN: dsn, Migrate: true})
	if err != nil {
		return err
	}
	return db.Close()
})

// NewDSN returns the DSN of a new database, which has its tables.
func (e Engine) NewDSN(tb testing.TB) string {
	tb.Helper()
	return migrated.Database(tb, e.Name)
}

// SecretKey is the key that seals the secrets of the demo stores.
const SecretKey = "a key of the tests"

// demoData decodes the demo store once for all tests: a data set is not changed.
var demoData = sync.OnceValues(demo.Load)

// DemoData returns the demo store.
func DemoData(tb testing.TB) *adapter.Dataset {
	tb.Helper()
	data, err := demoData()
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// demoStore is a database that holds the demo store.
var demoStore = sqltest.NewTemplate(func(dsn string) error {
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
func (e Engine) NewDemo(tb testing.TB) string {
	tb.Helper()
	return demoStore.Database(tb, e.Name)
}

// Sampled returns a sample of the tests of lists of a conformance suite. Servers, which
// take much longer than a file, are sent fewer.
func (e Engine) Sampled(tb testing.TB) func() bool {
	tb.Helper()
	sample, oneIn := nightly.NewSample(tb), 20
	if e.Name != "sqlite" {
		oneIn = 120
	}
	return func() bool { return sample.Takes(oneIn) }
}

// EachEngine runs a test on every engine.
func EachEngine(t *testing.T, test func(t *testing.T, e Engine)) {
	for _, e := range Engines() {
		t.Run(e.Name, func(t *testing.T) { test(t, e) })
	}
}

// EachServer is EachEngine for what a file cannot do.
func EachServer(t *testing.T, test func(t *testing.T, e Engine)) {
	for _, e := range Servers() {
		t.Run(e.Name, func(t *testing.T) { test(t, e) })
	}
}

// EachEngineInFull runs a whole conformance suite on every engine at once, with -short
// on PostgreSQL: the race detector slows SQLite, which is Go, more than tenfold.
func EachEngineInFull(t *testing.T, test func(t *testing.T, e Engine)) {
	engines := Engines()
	if testing.Short() {
		engines = Servers()
	}
	atOnce(t, engines, test)
}

// EachEngineAtNight is EachEngineInFull for a variant of a suite that every engine runs
// anyway: by day it runs on one engine.
func EachEngineAtNight(t *testing.T, test func(t *testing.T, e Engine)) {
	engines := Engines()
	switch {
	case testing.Short():
		engines = Servers()
	case !nightly.Whole():
		engines = engines[:1]
	}
	atOnce(t, engines, test)
}

func atOnce(t *testing.T, engines []Engine, test func(t *testing.T, e Engine)) {
	for _, e := range engines {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			test(t, e)
		})
	}
}

// Reused returns what gives the tests of a conformance suite, which run one after the
// other, their stores. The first two are new: the suite closes one of them and reads
// the other all the time. All later ones are one store, which restore puts back to
// what open has it hold: to make a database of a server for each takes most of the
// suite's time.
func Reused(tb testing.TB, open func(testing.TB) *DB, restore func(testing.TB, *DB)) func(testing.TB) *DB {
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

// Raw returns a pool of connections to the database of a DSN, beside a DB.
func Raw(tb testing.TB, dsn string) *sql.DB {
	tb.Helper()
	e, name, err := engineOf(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	pools, err := e.open(name, false, identityConnector)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = pools.close() })
	return pools.writer
}

// Lock returns what makes a SELECT lock what it finds in the database of a DSN.
func Lock(tb testing.TB, dsn string) string {
	tb.Helper()
	e, _, err := engineOf(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	return e.lockClause
}

// Advance moves a counter of the database of a DSN past keys that were given by
// hand.
func Advance(tb testing.TB, dsn, table, column string) {
	tb.Helper()
	e, _, err := engineOf(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	if e.counters.advance == nil {
		return
	}
	if _, err := Raw(tb, dsn).ExecContext(tb.Context(), e.counters.advance(counter{table, column})); err != nil {
		tb.Fatal(err)
	}
}

// openTest opens a new database with empty tables, and closes it when the test
// ends.
func openTest(t testing.TB, e Engine) *DB {
	t.Helper()
	return openAt(t, e.NewDSN(t))
}

// openDemo is openTest for the demo store.
func openDemo(t testing.TB, e Engine) *DB {
	t.Helper()
	return openAt(t, e.NewDemo(t))
}

func openAt(t testing.TB, dsn string) *DB {
	t.Helper()
	db, err := Open(t.Context(), Options{DSN: dsn, MediaDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// Exec runs statements, for tests outside the package.
func Exec(t testing.TB, db *DB, statements ...string) { t.Helper(); execute(t, db, statements...) }

// execute runs statements.
func execute(t testing.TB, db *DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := db.writer.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%v\n%s", err, statement)
		}
	}
}
