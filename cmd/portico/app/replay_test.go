package app

import (
	"context"
	"io"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/demo"
	"github.com/portico-commerce/portico/adapter/demo/demotest"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/contracttests/nightly"
)

// startDemo serves the demo store in this process until the test ends. environ has
// additional settings.
func startDemo(t testing.TB, dialect string, environ ...string) (*app, *httptest.Server) {
	t.Helper()
	return startDemoOn(t, demotest.SQLite(t), dialect, environ...)
}

// startDemoOn is startDemo on a database that holds the demo store. If that is a file of
// SQLite, resetting the app restores the file.
func startDemoOn(t testing.TB, dsn, dialect string, environ ...string) (*app, *httptest.Server) {
	t.Helper()
	db, err := sqlstore.Open(t.Context(), sqlstore.Options{DSN: dsn, MediaDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	a, server := serveApp(t, db, demotest.Data(t), dialect, environ...)
	if strings.HasPrefix(dsn, "sqlite:") {
		saved := demotest.Save(t, dsn)
		a.ops.restore = func(context.Context) error { return saved.Restore() }
	}
	return a, server
}

// withoutReplyCache turns the reply cache off, for tests of how replies are made.
const withoutReplyCache = "PORTICO_CACHE_MEMORY_BYTES=0"

// serveApp serves db until the end of the test, and then closes it. environ has additional
// settings.
func serveApp(t testing.TB, db *sqlstore.DB, data *adapter.Dataset, dialect string, environ ...string) (*app, *httptest.Server) {
	t.Helper()
	return serveProgram(t, newProgram(), db, data, dialect, environ...)
}

// serveProgram is serveApp for a program with options.
func serveProgram(t testing.TB, p *program, db *sqlstore.DB, data *adapter.Dataset, dialect string, environ ...string) (*app, *httptest.Server) {
	t.Helper()
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	cfg, err := config.Load(config.Sources{Sections: p.sections(), Environ: append([]string{fastPasswordHashing, "PORTICO_DIALECT=" + dialect}, environ...)})
	if err != nil {
		t.Fatal(err)
	}
	a, err := p.newApp(t.Context(), cfg, db, data, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.close(); err != nil {
			t.Error(err)
		}
	})
	server := httptest.NewServer(a.contract)
	t.Cleanup(server.Close)
	return a, server
}

// demoTarget serves the demo store and returns it as a target of the contract suite.
func demoTarget(t testing.TB, dialect string) contracttests.Target {
	t.Helper()
	a, server := startDemo(t, dialect)
	return targetOf(t, a, server, dialect)
}

// targetOf returns a as a target of the contract suite.
func targetOf(t testing.TB, a *app, server *httptest.Server, dialect string) contracttests.Target {
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
		BaseURL:     server.URL,
		Fixtures:    fixtures,
		Complete:    true,
		Dialect:     contracttests.Dialect(dialect),
		Credentials: credentials,
		Reset:       a.ops.reset,
	}
}

// TestDemoCredentials checks that the contract suite has the credentials of the demo
// store.
func TestDemoCredentials(t *testing.T) {
	data, err := demo.Load()
	if err != nil {
		t.Fatal(err)
	}
	want := contracttests.Credentials{Consumer: contracttests.Consumer{Key: data.Consumer.Key, Secret: data.Consumer.Secret}}
	for _, token := range data.Tokens {
		caller := contracttests.Token{Token: token.Token, Secret: token.Secret}
		switch {
		case token.AdminID != 0:
			want.Admin = caller
		case token.CustomerID == 1:
			want.Customer1 = caller
		case token.CustomerID == 2:
			want.Customer2 = caller
		}
	}
	got, err := contracttests.DemoCredentials()
	if err != nil {
		t.Fatal(err)
	}
	if !got.Equal(want) {
		t.Error("contracttests/fixtures/demo-credentials.yaml holds others than the demo store's")
	}
}

// demoDatabases returns, by engine, functions that create a database with the demo store
// and return its DSN. With -short it returns SQLite only.
func demoDatabases() map[string]func(testing.TB) string {
	engines := map[string]func(testing.TB) string{"sqlite": demotest.SQLite}
	if !testing.Short() {
		engines["postgres"], engines["mariadb"] = demotest.Postgres, demotest.MariaDB
	}
	return engines
}

// TestRecordedExchanges replays the recorded exchanges of the original, by day samples of
// them, since resetting the store takes time. The test also checks their number, so that
// none can be lost unnoticed.
func TestRecordedExchanges(t *testing.T) {
	t.Parallel()
	cases, err := contracttests.Exchanges()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]contracttests.Summary{
		"documented": {Passed: 370, LeftOut: 212},
		"magento":    {Passed: 582},
	}
	if all := want["magento"].Passed; len(cases) != all {
		t.Errorf("%d recorded exchanges, want %d", len(cases), all)
	}
	for dialect, want := range want {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			for engine, newDSN := range demoDatabases() {
				t.Run(engine, func(t *testing.T) {
					t.Parallel() // these tests mostly wait for the servers
					a, server := startDemoOn(t, newDSN(t), dialect)
					oneIn := 30
					switch {
					case engine == "sqlite" && dialect == "magento":
						oneIn = 2
					case engine == "sqlite":
						oneIn = 6
					}
					chosen := sampleExchanges(t, cases, oneIn)
					got := contracttests.Replay(t, targetOf(t, a, server, dialect), chosen)
					expected := want
					if len(chosen) < len(cases) {
						expected = contracttests.Summary{Passed: len(chosen) - got.LeftOut, LeftOut: got.LeftOut}
					}
					if got != expected && !t.Failed() {
						t.Errorf("got %+v, want %+v", got, expected)
					}
				})
			}
		})
	}
}

// sampleExchanges returns one in oneIn of the cases, or all of them in nightly runs. A
// case that continues another one is returned together with it.
func sampleExchanges(t *testing.T, cases []contracttests.Exchange, oneIn int) []contracttests.Exchange {
	t.Helper()
	sample := nightly.NewSample(t)
	var chosen []contracttests.Exchange
	taken := false
	for _, c := range cases {
		if goesOn := c.Reset != nil && !*c.Reset; !goesOn {
			taken = sample.Takes(oneIn)
		}
		if taken {
			chosen = append(chosen, c)
		}
	}
	return chosen
}

// TestDocumentedClauses replays the cases of the contract document.
func TestDocumentedClauses(t *testing.T) {
	t.Parallel()
	cases, err := contracttests.DocumentedExchanges()
	if err != nil {
		t.Fatal(err)
	}
	want := contracttests.Summary{Passed: 304}
	if got := contracttests.Replay(t, demoTarget(t, "documented"), cases); got != want && !t.Failed() {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
