//go:build linux

package importer_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/contracttests/report"
)

// runSuite pushes the demo store to an empty backend and runs the whole contract suite against
// Portico in front of it, first in one dialect and then in the other. minPassed percent of the
// cases must pass in each dialect; NAME.gaps.yaml lists the cases that cannot pass. The reports of
// the runs are written to the folder PORTICO_TEST_REPORTS, if it is set.
func runSuite(t *testing.T, name string, settings []string, minPassed int) {
	t.Helper()
	store := apptest.Environment(append(settings, "PORTICO_SQL_DSN="+demotest.SQLite(t), "PORTICO_SQL_MEDIA_DIR="+t.TempDir()))
	begun := time.Now()
	if _, _, err := store.RunWith(t, nil, time.Hour, "ids", "push"); err != nil {
		t.Fatal(err)
	}
	t.Logf("the demo store is pushed in %s", time.Since(begun).Round(time.Millisecond))
	gaps, met := gapsOf(t, name), map[string]bool{}
	dialects := 0
	for _, dialect := range []string{"documented", "magento"} {
		t.Run(dialect, func(t *testing.T) {
			server := apptest.Start(t, store.With("PORTICO_DIALECT="+dialect))
			target := apptest.DemoTarget(t, server.Contract, dialect, nil)
			target.Fixtures = apptest.WritableFixtures(t)
			result, err := apptest.Suite(t).Run(t.Context(), target, contracttests.Options{Parallel: 4, Timeout: time.Minute, Done: func(r *contracttests.Result, done, total int) {
				if r.Status == contracttests.Failed || done%100 == 0 {
					t.Logf("%d of %d: %s %s in %s", done, total, r.ID(), r.Status, r.Took.Round(time.Millisecond))
				}
			}})
			if err != nil {
				t.Error(err)
			}
			for _, left := range result.Leftovers {
				t.Errorf("left behind: %s", left)
			}
			writeReports(t, name+"-"+dialect, result)
			checkGaps(t, result, gaps, met, minPassed)
			dialects++
		})
	}
	for gap, reason := range gaps {
		if dialects == 2 && !met[gap] { // a case may be in one dialect alone
			t.Errorf("%s is a gap, and no case", gap)
		}
		if strings.TrimSpace(reason) == "" {
			t.Errorf("%s has no reason", gap)
		}
	}
}

// writeReports writes a report as HTML and JSON to the folder PORTICO_TEST_REPORTS, if it is set.
func writeReports(t *testing.T, name string, r *contracttests.Report) {
	t.Helper()
	folder := os.Getenv("PORTICO_TEST_REPORTS")
	if folder == "" {
		return
	}
	var page, data strings.Builder
	if err := errors.Join(report.HTML(&page, r), report.JSON(&data, r)); err != nil {
		t.Fatal(err)
	}
	apptest.WriteFile(t, filepath.Join(folder, name+".html"), page.String())
	apptest.WriteFile(t, filepath.Join(folder, name+".json"), data.String())
}

// gapsOf returns the reasons why cases cannot pass with a backend, by case.
func gapsOf(t *testing.T, backend string) map[string]string {
	t.Helper()
	text := apptest.ReadFile(t, filepath.Join("..", "reststore", backend+".gaps.yaml"))
	gaps := map[string]string{}
	if err := yaml.Unmarshal([]byte(text), &gaps); err != nil {
		t.Fatal(err)
	}
	return gaps
}

// checkGaps checks that exactly the cases with a declared gap fail, and that minPassed percent pass. It adds
// the names of all cases to met.
func checkGaps(t *testing.T, report *contracttests.Report, gaps map[string]string, met map[string]bool, minPassed int) {
	t.Helper()
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
	passed, all := report.Count(contracttests.Passed), len(report.Results)
	t.Logf("%d of %d pass, %d are gaps, in %.0f s", passed, all, report.Count(contracttests.Failed), report.Took)
	if passed*100 < minPassed*all || all == 0 {
		t.Errorf("%d of %d cases pass, fewer than %d %%", passed, all, minPassed)
	}
}
