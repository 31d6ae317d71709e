//go:build linux

package apptest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/contracttests"
)

// A Demo is a server with the demo store, which a test can restore.
type Demo struct {
	*Process
	DSN     string // of the database
	dialect string
	restore func(context.Context) error
}

// StartDemo starts a server with the demo store in a file of SQLite. environ has additional settings.
func StartDemo(t testing.TB, dialect string, environ ...string) *Demo {
	t.Helper()
	return StartDemoOn(t, demotest.SQLite(t), dialect, environ...)
}

// StartDemoOn is StartDemo on a database. A reset restores its former contents, or the demo store in one of
// MariaDB.
func StartDemoOn(t testing.TB, dsn, dialect string, environ ...string) *Demo {
	t.Helper()
	media := t.TempDir()
	d := &Demo{DSN: dsn, dialect: dialect}
	d.Process = Start(t, append([]string{"PORTICO_DIALECT=" + dialect, "PORTICO_SQL_DSN=" + dsn, "PORTICO_SQL_MEDIA_DIR=" + media}, environ...))
	switch {
	case strings.HasPrefix(dsn, "sqlite:"):
		saved := demotest.Save(t, dsn)
		d.restore = func(context.Context) error { return saved.Restore() }
	case strings.HasPrefix(dsn, "postgres:"):
		d.restore = demotest.SavePostgres(t, dsn)
	default:
		db := demotest.Open(t, sqlstore.Options{DSN: dsn, MediaDir: media})
		d.restore = func(ctx context.Context) error { return db.Reset(ctx, demotest.Data(t)) }
	}
	return d
}

// Reset restores the store, and clears the server's caches of replies and credentials.
func (d *Demo) Reset(ctx context.Context) error {
	err := d.forget(ctx)
	if err != nil { // the customer is gone, or the administrator
		if err = d.restore(ctx); err == nil {
			err = d.forget(ctx)
		}
	}
	if err == nil {
		err = d.restore(ctx)
	}
	if err == nil {
		err = d.send(ctx, http.MethodPost, d.Ops+"/cache/purge")
	}
	return err
}

// forget deletes a customer, which has the server forget all credentials.
func (d *Demo) forget(ctx context.Context) error {
	return d.send(ctx, http.MethodDelete, d.Contract+"/api/rest/customers/2")
}

// send sends a request as the demo store's administrator.
func (d *Demo) send(ctx context.Context, method, address string) error {
	request, err := http.NewRequestWithContext(ctx, method, address, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Authorization", DemoAdmin())
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s", method, address, response.Status)
	}
	return errors.Join(err, response.Body.Close())
}

// Target returns the server as a target of the contract suite.
func (d *Demo) Target(t testing.TB) contracttests.Target {
	t.Helper()
	return DemoTarget(t, d.Contract, d.dialect, d.Reset)
}

// DemoTarget returns a server with the demo store as a target of the contract suite. reset restores
// the store.
func DemoTarget(t testing.TB, base, dialect string, reset func(context.Context) error) contracttests.Target {
	t.Helper()
	credentials, err := contracttests.DemoCredentials()
	if err != nil {
		t.Fatal(err)
	}
	fixtures, err := contracttests.DemoFixtures()
	if err != nil {
		t.Fatal(err)
	}
	return contracttests.Target{
		BaseURL: base, Fixtures: fixtures, Complete: true, Dialect: contracttests.Dialect(dialect), Credentials: credentials, Reset: reset,
	}
}

// PostgresDemo starts a private PostgreSQL server with the demo store.
func PostgresDemo(t testing.TB) (server *sqltest.Server, dsn string) {
	t.Helper()
	server = sqltest.StartPostgres(t)
	dsn = server.Database("shop")
	if err := demotest.Load(dsn); err != nil {
		t.Fatal(err)
	}
	return server, dsn
}

// WithoutReplyCache turns the reply cache off, for tests of replies that are not cached.
const WithoutReplyCache = "PORTICO_CACHE_MEMORY_BYTES=0"

// DemoDatabases returns, by engine, functions that create a database with the demo store and return its DSN:
// of the engines whose turn it is ([sqltest.EnginesInTurn]), and with -short of SQLite.
func DemoDatabases(tb testing.TB) map[string]func(testing.TB) string {
	tb.Helper()
	engines := map[string]func(testing.TB) string{"sqlite": demotest.SQLite}
	if testing.Short() {
		return engines
	}
	engines["postgres"], engines["mariadb"] = demotest.Postgres, demotest.MariaDB
	taken := map[string]func(testing.TB) string{}
	for _, e := range sqltest.EnginesInTurn(tb) {
		taken[e.Name] = engines[e.Name]
	}
	return taken
}

// WritableFixtures returns the fixtures of the demo store, marked as writable.
func WritableFixtures(t testing.TB) contracttests.Fixtures {
	t.Helper()
	file := bytes.ReplaceAll(contracttests.DemoFixtureFile(), []byte("writable: false"), []byte("writable: true"))
	fixtures, err := contracttests.ParseFixtures(file)
	if err != nil {
		t.Fatal(err)
	}
	return fixtures
}

// SampleExchanges returns one in oneIn of the cases, or all of them in nightly runs. A
// case that continues another one is returned together with it.
func SampleExchanges(t testing.TB, cases []contracttests.Exchange, oneIn int) []contracttests.Exchange {
	t.Helper()
	var chains [][]contracttests.Exchange
	for _, c := range cases {
		goesOn := c.Reset != nil && !*c.Reset
		if last := len(chains) - 1; goesOn && last >= 0 {
			chains[last] = append(chains[last], c)
			continue
		}
		chains = append(chains, []contracttests.Exchange{c})
	}
	return slices.Concat(testenv.Rows(t, chains, oneIn)...)
}
