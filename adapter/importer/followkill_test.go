package importer_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
)

// TestFollowKilled is TestFollowKilledOnce for many moments and on all engines.
func TestFollowKilled(t *testing.T) {
	testenv.OnlyNightly(t, "faults")
	for engine, newDSN := range followedEngines() {
		t.Run(engine, func(t *testing.T) { killFollowers(t, engine, newDSN(t), 30) })
	}
}

// followedEngines returns the functions that create empty databases for stores, by the name of the
// engine.
func followedEngines() map[string]func(testing.TB) string {
	return map[string]func(testing.TB) string{
		"sqlite":   sqltest.SQLite,
		"postgres": sqltest.Postgres, "mariadb": sqltest.MariaDB,
	}
}

// TestFollowKilledOnce kills "portico follow" with SIGKILL at a random moment, while the legacy
// store changes at random. The next one goes on, and the store is in the end as if the legacy store
// had been imported into an empty one.
func TestFollowKilledOnce(t *testing.T) {
	t.Parallel()
	killFollowers(t, "sqlite", followedEngines()["sqlite"](t), 1)
}

// killFollowers kills so many followers of one shop, most while they read the binary log, some while
// they poll. None has the time to compare everything again: a position that is ahead of the records
// would show.
func killFollowers(t *testing.T, engine, dsn string, rounds int) {
	t.Helper()
	shop, sample := loggedShop(t, dsn), testenv.NewSample(t)
	for round := range rounds {
		arguments := []string{"--interval", "50ms", "--compare-period", "1h", "--allow-removals", "1000"}
		if round%4 == 3 {
			arguments = append(arguments, "--poll")
		}
		f := followImported(t, shop, dsn, arguments...)
		after := 200*time.Millisecond + time.Duration(sample.Int64N(int64(800*time.Millisecond)))
		t.Logf("round %d is over after %s", round, after)
		for end := time.Now().Add(after); time.Now().Before(end); {
			apptest.Execute(t, shop.DB, magento1test.RandomChange())
		}
		f.Signal(t, os.Kill)
		if f.Wait(t) >= 0 {
			t.Fatalf("round %d: the follower has ended by itself:\n%s", round, f.Stderr.Text())
		}
		apptest.AwaitTransactions(t, engine, dsn)
		apptest.ExpireLease(t, engine, dsn)
	}
	last := followImported(t, shop, dsn, "--interval", "50ms", "--compare-period", "1h", "--allow-removals", "1000")
	awaitExported(t, shop, dsn)
	last.Stop(t)
	if path, ok := strings.CutPrefix(dsn, "sqlite:"); ok {
		got := contentsOf(t, path)
		if difference := cmp.Diff(again(t, shop), got); difference != "" {
			t.Fatalf("a fresh import -, followed +:\n%s", difference)
		}
	}
}

// loggedShop imports the shop Rich, on a server with a binary log, into the database of a DSN.
func loggedShop(t *testing.T, dsn string) *apptest.Imported {
	t.Helper()
	from := sqltest.LoggedMariaDB(t)
	s := apptest.NewImportedAt(t, from, magento1test.Fill(t, from, magento1test.Rich, ""), "", dsn)
	s.Run(t, "--media", s.Media, "all")
	return s
}

// followImported starts "portico follow" into the store of a DSN.
func followImported(t *testing.T, s *apptest.Imported, dsn string, arguments ...string) *apptest.Process {
	t.Helper()
	return startFollow(t, s.Commands.With("PORTICO_SQL_DSN="+dsn), append(append([]string{"--config", s.Config, "--media", s.Media}, s.From...), arguments...)...)
}

// startFollow starts "portico follow".
func startFollow(t testing.TB, environ []string, arguments ...string) *apptest.Process {
	t.Helper()
	return apptest.StartProgram(t, environ, apptest.Program(t), append([]string{"follow"}, arguments...)...)
}

// exported returns the lines that a store exports, credentials included.
func exported(t *testing.T, c apptest.Environment) []string {
	t.Helper()
	return strings.Split(c.MustRun(t, "export", "--inline", "--credentials"), "\n")
}

// awaitExported waits until the export of the store at dsn equals the export of a fresh import of
// the legacy store.
func awaitExported(t *testing.T, s *apptest.Imported, dsn string) {
	t.Helper()
	again, _ := importAgain(t, s)
	want, difference := exported(t, again.Commands), ""
	followed := s.Commands.With("PORTICO_SQL_DSN=" + dsn)
	if !testenv.Poll(t, func() bool { difference = cmp.Diff(want, exported(t, followed)); return difference == "" }) {
		t.Fatalf("a fresh import -, followed +:\n%s", difference)
	}
}
