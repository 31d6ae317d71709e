package app

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/contracttests/nightly"
	"github.com/portico-commerce/portico/contracttests/programs"
)

// TestFollowKilled is TestFollowKilledOnce for many moments and on all engines.
func TestFollowKilled(t *testing.T) {
	nightly.Only(t, "faults")
	for engine, newDSN := range followedEngines() {
		t.Run(engine, func(t *testing.T) { killFollowers(t, engine, newDSN(t), 30) })
	}
}

// followedEngines returns what makes empty databases for stores, by the name of the engine.
func followedEngines() map[string]func(testing.TB) string {
	return map[string]func(testing.TB) string{
		"sqlite":   func(tb testing.TB) string { return "sqlite:" + filepath.Join(tb.TempDir(), "store.db") },
		"postgres": sqltest.Postgres, "mariadb": sqltest.MariaDB,
	}
}

// TestFollowKilledOnce kills "portico follow" with SIGKILL at a random moment, while the old
// shop changes at random. The next one goes on, and the store is in the end as if the old shop
// had been imported into an empty one.
func TestFollowKilledOnce(t *testing.T) {
	killFollowers(t, "sqlite", followedEngines()["sqlite"](t), 1)
}

// killFollowers kills so many followers of one shop, most while they read the binary log, some while
// they poll. None has the time to compare everything again: a position that is ahead of the records
// would show.
func killFollowers(t *testing.T, engine, dsn string, rounds int) {
	t.Helper()
	shop := loggedShop(t, dsn)
	for round := range rounds {
		arguments := []string{"--interval", "50ms", "--compare-period", "1h", "--allow-removals", "1000"}
		if round%4 == 3 {
			arguments = append(arguments, "--poll")
		}
		f := shop.follow(t, dsn, arguments...)
		after := 200*time.Millisecond + rand.N(800*time.Millisecond)
		t.Logf("round %d is over after %s", round, after)
		for end := time.Now().Add(after); time.Now().Before(end); {
			execute(t, shop.old, randomChange())
		}
		f.signal(t, os.Kill)
		if f.wait(t) >= 0 {
			t.Fatalf("round %d: the follower has ended by itself:\n%s", round, f.stderr.text())
		}
		awaitTransactions(t, engine, dsn)
		expireLease(t, engine, dsn)
	}
	last := shop.follow(t, dsn, "--interval", "50ms", "--compare-period", "1h", "--allow-removals", "1000")
	shop.awaitExported(t, dsn)
	last.stop(t)
	if path, ok := strings.CutPrefix(dsn, "sqlite:"); ok {
		got := contentsOf(t, path)
		if difference := cmp.Diff(shop.again(t), got); difference != "" {
			t.Fatalf("a fresh import -, followed +:\n%s", difference)
		}
	}
}

// loggedShop imports the shop Rich, on a server with a binary log, into the database of a DSN.
func loggedShop(t *testing.T, dsn string) *importedShop {
	t.Helper()
	from := sqltest.LoggedMariaDB(t)
	s := shopAt(t, from, magento1test.Fill(t, from, magento1test.Rich, ""), "", dsn)
	s.run(t, "--media", s.media, "all")
	return s
}

// follow starts "portico follow" into the store of a DSN.
func (s *importedShop) follow(t *testing.T, dsn string, arguments ...string) *process {
	t.Helper()
	return follow(t, s.console.with("PORTICO_SQL_DSN="+dsn), append(append([]string{"--config", s.config, "--media", s.media}, s.from...), arguments...)...)
}

// follow starts "portico follow".
func follow(t testing.TB, environ []string, arguments ...string) *process {
	t.Helper()
	p := &process{stdout: newOutput(), stderr: newOutput()}
	p.cmd = exec.Command(portico(t), append([]string{"follow"}, arguments...)...)
	p.cmd.Env = append(withoutSettings(os.Environ()), environ...)
	p.cmd.Stdout, p.cmd.Stderr = p.stdout, p.stderr
	p.ended = programs.Start(t, p.cmd)
	return p
}

// storeOf opens the database of a store for statements of a test.
func storeOf(t *testing.T, engine, dsn string) *sql.DB {
	t.Helper()
	driver, name := "sqlite", strings.TrimPrefix(dsn, "sqlite:")
	switch engine {
	case "postgres":
		driver = "pgx"
	case "mariadb":
		driver, name = "mysql", strings.TrimPrefix(dsn, "mysql:")
	}
	db, err := sql.Open(driver, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// expireLease lets the lease of a follower expire, as if its time had passed.
func expireLease(t *testing.T, engine, dsn string) {
	t.Helper()
	execute(t, storeOf(t, engine, dsn), "UPDATE lease SET expires_ms = 0")
}

// exported returns the lines that a store exports, credentials included.
func (c console) exported(t *testing.T) []string {
	t.Helper()
	return strings.Split(c.mustRun(t, "export", "--inline", "--credentials"), "\n")
}

// awaitExported waits until the store of a DSN exports what it would if the old shop had been
// imported into an empty one.
func (s *importedShop) awaitExported(t *testing.T, dsn string) {
	t.Helper()
	again, _ := s.importAgain(t)
	want, difference := again.console.exported(t), ""
	followed := s.console.with("PORTICO_SQL_DSN=" + dsn)
	if !poll(func() bool { difference = cmp.Diff(want, followed.exported(t)); return difference == "" }) {
		t.Fatalf("a fresh import -, followed +:\n%s", difference)
	}
}

// randomChange returns a statement that changes the shop Rich.
func randomChange() string {
	dated := []string{"", ", updated_at = NOW()"}[rand.N(2)]
	return []string{
		fmt.Sprintf("UPDATE catalog_product_entity SET sku = 'random-%d'%s WHERE entity_id = %d", rand.N(1<<30), dated, 1+rand.N(45)),
		fmt.Sprintf("UPDATE cataloginventory_stock_item SET qty = %d WHERE product_id = %d", rand.N(99), 1+rand.N(45)),
		fmt.Sprintf("DELETE FROM catalog_category_product ORDER BY RAND() LIMIT %d", rand.N(2)),
		fmt.Sprintf("UPDATE sales_flat_order SET grand_total = %d%s WHERE entity_id = %d", rand.N(99), dated, 1+rand.N(12)),
		fmt.Sprintf("UPDATE customer_entity SET group_id = %d%s WHERE entity_id = %d", 1+rand.N(2), dated, 1+rand.N(9)),
		fmt.Sprintf("UPDATE catalog_product_entity_decimal SET value = %d WHERE entity_id = %d", rand.N(99), 1+rand.N(45)),
		fmt.Sprintf("DELETE FROM catalog_product_entity WHERE entity_id = %d", 30+rand.N(300)),
		"DELETE FROM catalog_product_entity_media_gallery ORDER BY RAND() LIMIT 1",
	}[rand.N(8)]
}
