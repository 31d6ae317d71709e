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

// An Engine is a kind of database that the tests run on.
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

// Servers lists the engines that are servers. With -short, which the race detector
// uses, it is PostgreSQL alone, as only SQL differs between servers.
func Servers() []Engine {
	servers := []Engine{{"postgres", sqltest.Postgres}, {"mariadb", sqltest.MariaDB}}
	if testing.Short() {
		return servers[:1]
	}
	return servers
}

// migrated is a template of databases with empty tables.
var migrated = sqltest.NewTemplate(func(dsn string) error {
	db, err := Open(context.Background(), Options{DSN: dsn, Migrate: true})
	if err != nil {
		return err
	}
	return db.Close()
})

// NewDSN returns the DSN of a new database with empty tables.
func (e Engine) NewDSN(tb testing.TB) string {
	tb.Helper()
	return migrated.Database(tb, e.Name)
}

// SecretKey encrypts the secrets of the demo stores.
const SecretKey = "a key of the tests"

// demoData decodes the demo store once for all tests, which do not modify it.
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

// demoStore is a template of databases with the demo store.
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

// Sampled returns a function for adaptertest.Harness.Sampled. On servers, which are
// much slower than a file, fewer of the list tests run.
func (e Engine) Sampled(tb testing.TB) func() bool {
	tb.Helper()
	sample, oneIn := nightly.NewSample(tb), 20
	if e.Name != "sqlite" {
		oneIn = 120
	}
	return func() bool { return sample.Takes(oneIn) }
}

// EachEngine runs a test on every engine, in parallel, since tests mostly wait for servers.
func EachEngine(t *testing.T, test func(t *testing.T, e Engine)) { inParallel(t, Engines(), test) }

// EachServer is EachEngine without SQLite.
func EachServer(t *testing.T, test func(t *testing.T, e Engine)) { inParallel(t, Servers(), test) }

// EachEngineFullSuite runs a conformance suite on every engine in parallel. With -short
// it uses PostgreSQL alone, since the race detector slows SQLite, which is written in
// Go, more than tenfold.
func EachEngineFullSuite(t *testing.T, test func(t *testing.T, e Engine)) {
	engines := Engines()
	if testing.Short() {
		engines = Servers()
	}
	inParallel(t, engines, test)
}

// EachEngineNightly is EachEngineFullSuite for a variant of a suite that every engine
// runs anyway. Outside nightly runs it uses one engine.
func EachEngineNightly(t *testing.T, test func(t *testing.T, e Engine)) {
	engines := Engines()
	switch {
	case testing.Short():
		engines = Servers()
	case !nightly.Whole():
		engines = engines[:1]
	}
	inParallel(t, engines, test)
}

func inParallel(t *testing.T, engines []Engine, test func(t *testing.T, e Engine)) {
	t.Parallel()
	for _, e := range engines {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			test(t, e)
		})
	}
}

// StoreOpener returns a function that opens the stores of a conformance suite, whose
// tests run one after the other. Its first two stores are new, as the suite closes one
// and uses the other throughout. All later ones are one store that restore resets to
// its initial content: creating a server's database for each takes most of the suite's
// time.
func StoreOpener(tb testing.TB, open func(testing.TB) *DB, restore func(testing.TB, *DB)) func(testing.TB) *DB {
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

// Raw returns a connection pool of its own for the database of a DSN.
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

// LockClause returns the clause that makes a SELECT lock its rows in the database of a
// DSN.
func LockClause(tb testing.TB, dsn string) string {
	tb.Helper()
	e, _, err := engineOf(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	return e.lockClause
}

// AdvanceCounter moves a counter of the database of a DSN past keys that a test has
// inserted.
func AdvanceCounter(tb testing.TB, dsn, table, column string) {
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
