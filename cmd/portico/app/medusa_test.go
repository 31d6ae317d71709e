//go:build linux

package app

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

// TestMedusaSuite runs the contract suite against Portico in front of a live Medusa that
// holds the demo store. Cases that cannot pass are listed in medusa.gaps.yaml.
func TestMedusaSuite(t *testing.T) {
	m := medusatest.Start(t)
	environ := medusaSettings(m)
	data, err := demo.Load()
	if err != nil {
		t.Fatal(err)
	}
	db, err := sqlstore.Open(t.Context(), sqlstore.Options{DSN: "sqlite:" + filepath.Join(t.TempDir(), "replica.db"), MediaDir: t.TempDir(), Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Load(t.Context(), data, nil); err != nil {
		t.Fatal(err)
	}
	pushDemo(t, db, environ)
	a, server := serveApp(t, db, data, "documented", environ...)
	target := targetOf(t, a, server, "documented")
	target.Fixtures = writableFixtures(t)
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

// medusaSettings returns the settings of Portico in front of a Medusa, as in the environment.
func medusaSettings(m *medusatest.Medusa) []string {
	return []string{
		"PORTICO_ADAPTER=" + restSection, "PORTICO_REST_URL=" + m.URL, "PORTICO_REST_USER=" + m.User, "PORTICO_REST_SECRET=" + m.Password,
		"PORTICO_REST_VARS=" + strings.Join([]string{"currency=" + m.Currency, "location=" + m.Location, "region=" + m.Region, "profile=" + m.Profile}, ","),
		// On a busy machine slow replies must not open the breaker.
		"PORTICO_UPSTREAM_TIMEOUT=20s",
		// The tests do not create records in Medusa directly, so scans are not needed.
		"PORTICO_REST_SCAN_EVERY=24h",
	}
}

// pushDemo creates the records in db at the backend that the settings name.
func pushDemo(t *testing.T, db *sqlstore.DB, environ []string) {
	t.Helper()
	cfg, err := config.Load(config.Sources{Sections: newProgram().sections(), Environ: environ})
	if err != nil {
		t.Fatal(err)
	}
	j, err := newProgram().openBackend(t.Context(), cfg, db, db.Adapter(), prometheus.NewRegistry(), slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if err := j.adapter.Push(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	t.Logf("the demo store is pushed in %s", time.Since(begun).Round(time.Millisecond))
	if err := j.adapter.Close(); err != nil {
		t.Fatal(err)
	}
}

// medusaGaps returns the reasons why cases cannot pass, by case.
func medusaGaps(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "adapter", "reststore", "medusa.gaps.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	gaps := map[string]string{}
	if err := yaml.Unmarshal(text, &gaps); err != nil {
		t.Fatal(err)
	}
	return gaps
}

// minPassedPercent is the minimum percentage of cases that must pass.
const minPassedPercent = 85

// checkGaps checks that exactly the cases with a declared gap fail.
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
	if passed*100 < minPassedPercent*all || all == 0 {
		t.Errorf("%d of %d cases pass, fewer than %d %%", passed, all, minPassedPercent)
	}
}
