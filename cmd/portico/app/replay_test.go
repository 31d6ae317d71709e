package app

import (
	"context"
	"io"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/contracttests"
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
	db := apptest.OpenRecords(t, sqlstore.Options{DSN: dsn})
	a, server := serveApp(t, db, demotest.Data(t), dialect, environ...)
	if strings.HasPrefix(dsn, "sqlite:") {
		saved := demotest.Save(t, dsn)
		a.ops.restore = func(context.Context) error { return saved.Restore() }
	}
	return a, server
}

// serveApp serves db until the end of the test, and then closes it. environ has additional
// settings.
func serveApp(t testing.TB, db *sqlstore.DB, data *adapter.Dataset, dialect string, environ ...string) (*app, *httptest.Server) {
	t.Helper()
	return serveProgram(t, newProgram(), db, data, dialect, environ...)
}

// serveProgram is serveApp for a program with options.
func serveProgram(t testing.TB, p *program.Program, db *sqlstore.DB, data *adapter.Dataset, dialect string, environ ...string) (*app, *httptest.Server) {
	t.Helper()
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	cfg, err := config.Load(config.Sources{Sections: p.Sections(), Environ: append([]string{apptest.FastPasswordHashing, "PORTICO_DIALECT=" + dialect}, environ...)})
	if err != nil {
		t.Fatal(err)
	}
	a, err := newApp(t.Context(), p, cfg, db, data, slog.New(slog.NewTextHandler(io.Discard, nil)))
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

// targetOf returns a as a target of the contract suite.
func targetOf(t testing.TB, a *app, server *httptest.Server, dialect string) contracttests.Target {
	t.Helper()
	return apptest.DemoTarget(t, server.URL, dialect, a.ops.reset)
}
