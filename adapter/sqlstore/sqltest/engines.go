//go:build linux

package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"github.com/portico-commerce/portico/config/testenv"
)

// An Engine is a kind of database that the tests run on.
type Engine struct {
	Name string
	// Empty returns the DSN of a new, empty database.
	Empty  func(testing.TB) string
	server *program // nil for SQLite
}

// Engines lists every engine.
func Engines() []Engine {
	return append([]Engine{
		{"sqlite", func(tb testing.TB) string { return "sqlite:" + filepath.Join(tb.TempDir(), "shop.db") }, nil},
	}, Servers()...)
}

// Servers lists the engines that are servers. With -short, which the race detector
// uses, it is PostgreSQL alone, as only SQL differs between servers.
func Servers() []Engine {
	servers := []Engine{{"postgres", Postgres, postgres()}, {"mariadb", MariaDB, mariaDB()}}
	if testing.Short() {
		return servers[:1]
	}
	return servers
}

// migrated is a template of databases with empty tables.
var migrated = NewTemplate("tables", func(dsn string) error {
	db, err := engine.Open(engine.Options{DSN: dsn, PoolOptions: engine.PoolOptions{Create: true}})
	if err != nil {
		return err
	}
	_, err = db.Engine.Migrate(context.Background(), db.Writer, db.Name, nil)
	return errors.Join(err, db.Close())
})

// NewDSN returns the DSN of a new database with empty tables.
func (e Engine) NewDSN(tb testing.TB) string {
	tb.Helper()
	return migrated.Database(tb, e.Name)
}

// SQLite returns the DSN of a SQLite file with empty tables in a new folder.
func SQLite(tb testing.TB) string { tb.Helper(); return migrated.SQLite(tb) }

// Sampled returns a function for adaptertest.Harness.Sampled, which takes one in ten of the list tests. As ten is no
// multiple of three, each of them runs on each engine within 30 runs ([EachEngine]).
func Sampled(tb testing.TB) func() bool {
	tb.Helper()
	sample := testenv.NewSample(tb)
	return func() bool { return sample.Takes(10) }
}

// EnginesInTurn returns the engines that a test runs on: every engine at night, otherwise one of them. Runs take turns,
// and the tests of a run differ in the engine, as their SQL differs between engines only in the parts that package engine
// defines. Outside CI, SQLite takes the turn of a server that is not installed.
func EnginesInTurn(tb testing.TB) []Engine {
	tb.Helper()
	taken := testenv.Rows(tb, Engines(), 3)
	if os.Getenv("CI") != "true" {
		taken = installed(taken)
	}
	return taken
}

// installed returns engines with SQLite, once, in place of the servers that are not installed.
func installed(engines []Engine) []Engine {
	for i, e := range engines {
		if e.server == nil {
			continue
		}
		if _, err := e.server.find(); errors.Is(err, errNotInstalled) {
			engines[i] = Engines()[0]
		}
	}
	return slices.CompactFunc(engines, func(a, b Engine) bool { return a.Name == b.Name })
}

// EachEngine runs a test on the engines whose turn it is ([EnginesInTurn]).
func EachEngine(t *testing.T, test func(t *testing.T, e Engine)) {
	inParallel(t, EnginesInTurn(t), test)
}

// EachSQL runs a test of the SQL that is written for one engine on every engine, in parallel, since tests mostly
// wait for servers.
func EachSQL(t *testing.T, test func(t *testing.T, e Engine)) { inParallel(t, Engines(), test) }

// EachServer is EachSQL without SQLite.
func EachServer(t *testing.T, test func(t *testing.T, e Engine)) { inParallel(t, Servers(), test) }

// EachEngineFullSuite is EachEngine for a conformance suite. With -short it uses PostgreSQL alone, since the race
// detector slows SQLite, which is written in Go, more than tenfold.
func EachEngineFullSuite(t *testing.T, test func(t *testing.T, e Engine)) {
	if testing.Short() {
		EachServer(t, test)
		return
	}
	EachEngine(t, test)
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

// Raw returns a connection pool of its own for the database of a DSN.
func Raw(tb testing.TB, dsn string) *sql.DB {
	tb.Helper()
	e, name, err := engine.Of(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	pools, err := e.Open(name, engine.PoolOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = pools.Close() })
	return pools.Writer
}

// Exec runs statements on the database of a DSN.
func Exec(tb testing.TB, dsn string, statements ...string) {
	tb.Helper()
	raw := Raw(tb, dsn)
	for _, statement := range statements {
		if _, err := raw.ExecContext(tb.Context(), statement); err != nil {
			tb.Fatalf("%v\n%s", err, statement)
		}
	}
}

// AdvanceCounter moves a counter of the database of a DSN past keys that a test has
// inserted.
func AdvanceCounter(tb testing.TB, dsn, table, column string) {
	tb.Helper()
	e, _, err := engine.Of(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	if e.Counters.Advance == nil {
		return
	}
	Exec(tb, dsn, e.Counters.Advance(engine.Counter{Table: table, Column: column}))
}

// Open opens a database without the store, and closes it when the test ends.
func Open(tb testing.TB, dsn string) *engine.DB {
	tb.Helper()
	db, err := engine.Open(engine.Options{DSN: dsn})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = db.Close() })
	return db
}
