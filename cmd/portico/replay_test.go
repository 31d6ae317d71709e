package main

import (
	"io"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/demo"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/contracttests"
)

// startDemo serves the demo store in this process, until the test ends.
func startDemo(t testing.TB, dialect string) (*app, *httptest.Server) {
	t.Helper()
	return startDemoOn(t, "sqlite:"+filepath.Join(t.TempDir(), "demo.db"), dialect)
}

// startDemoOn is startDemo on the empty database of a DSN.
func startDemoOn(t testing.TB, dsn, dialect string) (*app, *httptest.Server) {
	t.Helper()
	return startDemoWith(t, sqlstore.Options{DSN: dsn, MediaDir: t.TempDir(), Migrate: true}, dialect)
}

// startDemoWith is startDemo on an empty database that is opened as options say.
// environ changes settings.
func startDemoWith(t testing.TB, options sqlstore.Options, dialect string, environ ...string) (*app, *httptest.Server) {
	t.Helper()
	data, err := demo.Load()
	if err != nil {
		t.Fatal(err)
	}
	db, err := sqlstore.Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Load(t.Context(), data, nil); err != nil {
		t.Fatal(err)
	}
	return serveApp(t, db, data, dialect, environ...)
}

// keepingNothing has every reply made anew, for what looks at how it is made.
const keepingNothing = "PORTICO_CACHE_MEMORY_BYTES=0"

// serveApp serves db, which it closes at the end of the test. environ changes
// settings.
func serveApp(t testing.TB, db *sqlstore.DB, data *adapter.Dataset, dialect string, environ ...string) (*app, *httptest.Server) {
	t.Helper()
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	cfg, err := config.Load(config.Sources{Sections: sections(), Environ: append(environ, "PORTICO_DIALECT="+dialect)})
	if err != nil {
		t.Fatal(err)
	}
	a, err := newApp(cfg, db, data, slog.New(slog.NewTextHandler(io.Discard, nil)))
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

// demoTarget is the running demo store as the replay engine sees it.
func demoTarget(t testing.TB, dialect string) contracttests.Target {
	t.Helper()
	a, server := startDemo(t, dialect)
	return targetOf(t, a, server, dialect)
}

// targetOf is a as the replay engine sees it.
func targetOf(t testing.TB, a *app, server *httptest.Server, dialect string) contracttests.Target {
	t.Helper()
	data, err := demo.Load()
	if err != nil {
		t.Fatal(err)
	}
	target := contracttests.Target{
		BaseURL: server.URL,
		Dialect: contracttests.Dialect(dialect),
		Reset:   a.ops.reset,
		Skip: func(c contracttests.Case, s contracttests.Step) string {
			// Recorded without a mark, and yet the document's tables rule out two of
			// its steps; recordings of the same calls in other files carry the mark.
			// The case in documented/refusals.json says what holds.
			if dialect == "documented" && c.Name == "405: the other wording, and its 403 twin" {
				return "the document refuses updates of customers and category assignments otherwise"
			}
			// Recorded without a mark as well; the same answer in products.json carries
			// it: the document has flags 0 or 1, never a literal.
			if dialect == "documented" && c.Name == "manage_stock off" {
				return "the document writes is_in_stock as 0 or 1"
			}
			// Three recordings of products assign one on the way, without the mark that
			// the recordings of assigning one website carry.
			if dialect == "documented" && s.Method == "POST" && strings.HasSuffix(s.Path, "/websites") && s.Response.Status == 200 && s.Response.Body == "" {
				return "the document answers with a success list when a product is assigned to one website"
			}
			if strings.HasPrefix(s.Path, "!/oauth/") {
				return "three-legged OAuth is not built yet"
			}
			return ""
		},
	}
	target.Credentials.Consumer = contracttests.Consumer{Key: data.Consumer.Key, Secret: data.Consumer.Secret}
	for _, token := range data.Tokens {
		printed := contracttests.Token{Token: token.Token, Secret: token.Secret}
		switch {
		case token.AdminID != 0:
			target.Credentials.Admin = printed
		case token.CustomerID == 1:
			target.Credentials.Customer1 = printed
		case token.CustomerID == 2:
			target.Credentials.Customer2 = printed
		}
	}
	return target
}

// newDatabases returns, by engine, what makes an empty database and returns its
// DSN: of every engine, with -short of SQLite alone.
func newDatabases() map[string]func(testing.TB) string {
	engines := map[string]func(testing.TB) string{
		"sqlite": func(tb testing.TB) string { return "sqlite:" + filepath.Join(tb.TempDir(), "demo.db") },
	}
	if !testing.Short() {
		engines["postgres"], engines["mariadb"] = sqltest.Postgres, sqltest.MariaDB
	}
	return engines
}

// TestRecordedExchanges replays what the original answered, on every engine, with
// -short on SQLite alone. The numbers are committed, so that neither a case nor a
// step can be lost unseen.
func TestRecordedExchanges(t *testing.T) {
	cases, err := contracttests.Cases()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]contracttests.Summary{
		"documented": {Passed: 344, LeftOut: 183},
		"magento":    {Passed: 524, LeftOut: 3},
	}
	engines := newDatabases()
	for dialect, want := range want {
		t.Run(dialect, func(t *testing.T) {
			for engine, newDSN := range engines {
				t.Run(engine, func(t *testing.T) {
					a, server := startDemoOn(t, newDSN(t), dialect)
					if got := contracttests.Replay(t, targetOf(t, a, server, dialect), cases); got != want && !t.Failed() {
						t.Errorf("got %+v, want %+v", got, want)
					}
				})
			}
		})
	}
}

// TestDocumentedClauses replays the document's own cases.
func TestDocumentedClauses(t *testing.T) {
	cases, err := contracttests.DocumentedCases()
	if err != nil {
		t.Fatal(err)
	}
	want := contracttests.Summary{Passed: 304}
	if got := contracttests.Replay(t, demoTarget(t, "documented"), cases); got != want && !t.Failed() {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
