package app

import (
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/contracttests/nightly"
)

// target serves the store in the dialect magento until the end of the test.
func (s *importedShop) target(t *testing.T) contracttests.Target {
	t.Helper()
	return s.serve(t, newProgram())
}

// serve is target for a program with options. environ has additional settings.
func (s *importedShop) serve(t *testing.T, p *program, environ ...string) contracttests.Target {
	t.Helper()
	// The answers name the server's own address, not the public one of the old shop.
	environ = append(s.console.with("PORTICO_PUBLIC_URL="), environ...)
	cfg, err := config.Load(config.Sources{Sections: p.sections(), File: s.config, Environ: slices.Concat(os.Environ(), environ), Attribute: checkAttribute, Fields: checkFieldList})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	db, err := openStore(t.Context(), cfg, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	a, err := p.newApp(t.Context(), cfg, db, nil, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.close() })
	server := httptest.NewServer(a.contract)
	t.Cleanup(server.Close)
	credentials, err := contracttests.DemoCredentials()
	if err != nil {
		t.Fatal(err)
	}
	return contracttests.Target{BaseURL: server.URL, Complete: true, Dialect: contracttests.Magento, Credentials: credentials}
}

// readsOf returns the cases that only read.
func readsOf(cases []contracttests.Exchange) (reads []contracttests.Exchange) {
	for _, c := range cases {
		readsOnly := true
		for _, s := range c.Steps {
			readsOnly = readsOnly && s.Method == "GET"
		}
		if readsOnly {
			reads = append(reads, c)
		}
	}
	return reads
}

// TestImportedShops imports whole shops and compares what Portico answers from then on with
// what the originals answered.
func TestImportedShops(t *testing.T) {
	stores := map[string]func(testing.TB) string{
		"sqlite": func(tb testing.TB) string { return "sqlite:" + filepath.Join(tb.TempDir(), "store.db") },
	}
	if nightly.Whole() {
		stores["postgres"], stores["mariadb"] = sqltest.Postgres, sqltest.MariaDB
	}
	for _, c := range []struct {
		shop      magento1test.Shop
		prefix    string
		exchanges func() ([]contracttests.Exchange, error)
		want      contracttests.Summary
	}{
		{magento1test.Rich, "", contracttests.RichExchanges, contracttests.Summary{Passed: 136}},
		{magento1test.Demo, "mage_", contracttests.Exchanges, contracttests.Summary{Passed: 168}},
	} {
		for engine, newDSN := range stores {
			t.Run(string(c.shop)+" "+engine, func(t *testing.T) {
				shop := importShop(t, c.shop, c.prefix, newDSN(t))
				cases, err := c.exchanges()
				if err != nil {
					t.Fatal(err)
				}
				got := contracttests.Replay(t, shop.target(t), readsOf(cases))
				if got != c.want && !t.Failed() {
					t.Errorf("%+v, want %+v", got, c.want)
				}
			})
		}
	}
}
