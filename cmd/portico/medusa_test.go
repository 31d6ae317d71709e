//go:build linux

package main

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.yaml.in/yaml/v3"

	"github.com/portico-commerce/portico/adapter/demo"
	"github.com/portico-commerce/portico/adapter/reststore/medusatest"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/contracttests"
)

// TestMedusaSuite runs the contract suite against Portico with a live Medusa behind it,
// into which the demo store was put. What cannot pass stands in medusa.gaps.yaml.
func TestMedusaSuite(t *testing.T) {
	m := medusatest.Start(t)
	environ := []string{
		"PORTICO_ADAPTER=" + restSection, "PORTICO_REST_URL=" + m.URL, "PORTICO_REST_USER=" + m.User, "PORTICO_REST_SECRET=" + m.Password,
		"PORTICO_REST_VARS=" + strings.Join([]string{"currency=" + m.Currency, "location=" + m.Location, "region=" + m.Region, "profile=" + m.Profile}, ","),
		// A machine that is busy with other tests is no sick backend.
		"PORTICO_UPSTREAM_TIMEOUT=20s",
		// New records of Medusa are no matter of the suite.
		"PORTICO_REST_SCAN_EVERY=24h",
	}
	data, err := demo.Load()
	if err != nil {
		t.Fatal(err)
	}
	db, err := sqlstore.Open(t.Context(), sqlstore.Options{DSN: "sqlite:" + filepath.Join(t.TempDir(), "side.db"), MediaDir: t.TempDir(), Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Load(t.Context(), data, nil); err != nil {
		t.Fatal(err)
	}
	pushDemo(t, db, environ)
	a, server := serveApp(t, db, data, "documented", environ...)
	target := targetOf(t, a, server, "documented")
	target.Fixtures = throwawayFixtures(t)
	suite, err := contracttests.NewSuite()
	if err != nil {
		t.Fatal(err)
	}
	report, err := suite.Run(t.Context(), target, contracttests.Options{Parallel: 4, Timeout: time.Minute, Done: func(r *contracttests.Result, done, total int) {
		if r.Status == contracttests.Failed || done%100 == 0 {
			t.Logf("%d of %d: %s %s in %s", done, total, r.ID(), r.Status, r.Took.Round(time.Millisecond))
		}
	}})
	if err != nil {
		t.Error(err)
	}
	for _, left := range report.Leftovers {
		t.Errorf("left behind: %s", left)
	}
	checkGaps(t, report, medusaGaps(t))
}

// pushDemo puts what is in db into the backend that the settings name.
func pushDemo(t *testing.T, db *sqlstore.DB, environ []string) {
	t.Helper()
	cfg, err := config.Load(config.Sources{Sections: sections(), Environ: environ})
	if err != nil {
		t.Fatal(err)
	}
	j, err := joinREST(cfg, db, prometheus.NewRegistry(), slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if err := j.store.Push(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	t.Logf("the demo store is pushed in %s", time.Since(begun).Round(time.Millisecond))
	if err := j.store.Close(); err != nil {
		t.Fatal(err)
	}
}

// medusaGaps returns why which cases cannot pass.
func medusaGaps(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "adapter", "reststore", "medusa.gaps.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	gaps := map[string]string{}
	if err := yaml.Unmarshal(text, &gaps); err != nil {
		t.Fatal(err)
	}
	return gaps
}

// leastPassed is how many cases of a hundred have to pass.
const leastPassed = 85

// checkGaps holds what came of the suite against the gaps that are declared: exactly
// those fail.
func checkGaps(t *testing.T, report *contracttests.Report, gaps map[string]string) {
	t.Helper()
	met := map[string]bool{}
	for _, r := range report.Results {
		gap := r.ID()
		if _, alone := gaps[gap]; !alone {
			gap = r.Resource + "/" + r.Name
		}
		_, declared := gaps[gap]
		met[gap] = true
		switch {
		case r.Status == contracttests.Skipped:
			t.Errorf("%s is skipped: %s", r.ID(), r.Reason)
		case r.Status == contracttests.Failed && !declared:
			t.Errorf("%s\n%s", r.ID(), r.Failure)
		case r.Status == contracttests.Passed && declared:
			t.Errorf("%s passes: take it out of the gaps", r.ID())
		}
	}
	for gap, reason := range gaps {
		if !met[gap] {
			t.Errorf("%s is a gap, and no case", gap)
		}
		if strings.TrimSpace(reason) == "" {
			t.Errorf("%s has no reason", gap)
		}
	}
	passed, all := report.Count(contracttests.Passed), len(report.Results)
	t.Logf("%d of %d pass, %d are gaps, in %.0f s", passed, all, report.Count(contracttests.Failed), report.Took)
	if passed*100 < leastPassed*all || all == 0 {
		t.Errorf("%d of %d cases pass, fewer than %d %%", passed, all, leastPassed)
	}
}
