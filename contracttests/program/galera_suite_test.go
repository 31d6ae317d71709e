package program

import (
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/contracttests"
)

// shared are the settings that must be equal on all replicas.
func shared(t *testing.T) []string {
	t.Helper()
	return []string{"PORTICO_SQL_MEDIA_DIR=" + t.TempDir(), "PORTICO_AUTH_SECRET_KEY=" + strings.Repeat("0a", 32), "PORTICO_LOG_LEVEL=error"}
}

// newDatabase creates a database with the demo store, and returns its DSN at each node.
func newDatabase(t *testing.T, c *sqltest.GaleraCluster, name string) (dsns []string) {
	t.Helper()
	dsns = c.Database(name)
	if err := demotest.Load(dsns[0]); err != nil {
		t.Fatal(err)
	}
	return dsns
}

// TestSuiteOnTwoNodes runs the contract suite against a program whose connections reach two nodes in turn.
func TestSuiteOnTwoNodes(t *testing.T) {
	testenv.OnlyNightly(t, "galera")
	cluster := sqltest.StartGalera(t)
	for _, dialect := range []string{"documented", "magento"} {
		t.Run(dialect, func(t *testing.T) {
			newDatabase(t, cluster, "suite_"+dialect)
			target := apptest.StartDemoOn(t, cluster.Alternate(t, "suite_"+dialect), dialect).Target(t)
			target.Fixtures = apptest.WritableFixtures(t)
			report, err := apptest.Suite(t).Run(t.Context(), target, contracttests.Options{Parallel: 4})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range report.Results {
				if r.Status == contracttests.Failed {
					t.Errorf("%s\n%s", r.ID(), r.Failure)
				}
			}
			for _, left := range report.Leftovers {
				t.Errorf("left behind: %s", left)
			}
			passed, skipped := report.Count(contracttests.Passed), report.Count(contracttests.Skipped)
			t.Logf("%d cases passed, %d were skipped", passed, skipped)
			if passed == 0 || skipped > 0 {
				t.Error("the suite is not whole")
			}
		})
	}
}
