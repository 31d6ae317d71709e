package app

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/contracttests/nightly"
	"github.com/portico-commerce/portico/contracttests/programs"
)

// TestFollowKilled is TestFollowKilledOnce for many moments.
func TestFollowKilled(t *testing.T) {
	nightly.Only(t, "faults")
	killFollowers(t, 30)
}

// TestFollowKilledOnce kills "portico follow" with SIGKILL at a random moment, while the old
// shop changes at random. The next one goes on, and the store is in the end as if the old shop
// had been imported into an empty one.
func TestFollowKilledOnce(t *testing.T) { killFollowers(t, 1) }

// killFollowers kills so many followers of one shop: those with even numbers while they read
// the binary log, the others while they poll.
func killFollowers(t *testing.T, rounds int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store.db")
	shop := loggedShop(t, "sqlite:"+path)
	for round := range rounds {
		arguments := []string{"--interval", "50ms", "--compare-period", "1s"}
		if round%2 == 1 {
			arguments = append(arguments, "--poll")
		}
		f := shop.startFollow(t, path, arguments...)
		after := 200*time.Millisecond + rand.N(800*time.Millisecond)
		t.Logf("round %d is over after %s", round, after)
		for end := time.Now().Add(after); time.Now().Before(end); {
			execute(t, shop.old, randomChange())
		}
		if err := f.cmd.Process.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Fatal(err)
		}
		if <-f.ended; f.cmd.ProcessState.ExitCode() >= 0 {
			t.Fatalf("round %d: the follower has ended by itself:\n%s", round, f.output)
		}
		releaseLease(t, path)
	}
	mustRun(t, append([]string{"follow", "--once", "--config", shop.config, "--media", shop.media, "--allow-removals", "1000"}, shop.from...)...)
	got := contentsOf(t, path)
	if difference := cmp.Diff(shop.again(t), got); difference != "" {
		t.Fatalf("a fresh import -, followed +:\n%s", difference)
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

// startFollow starts "portico follow" into a SQLite store.
func (s *importedShop) startFollow(t *testing.T, store string, arguments ...string) *startedImport {
	t.Helper()
	f := &startedImport{output: &bytes.Buffer{}}
	f.cmd = exec.Command(portico(t), append(append([]string{"follow", "--config", s.config, "--media", s.media}, s.from...), arguments...)...)
	f.cmd.Env = append(withoutSettings(os.Environ()), "PORTICO_SQL_DSN=sqlite:"+store, "PORTICO_SQL_MEDIA_DIR="+os.Getenv("PORTICO_SQL_MEDIA_DIR"), "PORTICO_AUTH_SECRET_KEY="+secretKey)
	f.cmd.Stdout, f.cmd.Stderr = f.output, f.output
	f.ended = programs.Start(t, f.cmd)
	return f
}

// releaseLease lets the lease of a follower that was killed expire.
func releaseLease(t *testing.T, store string) {
	t.Helper()
	db, err := sql.Open("sqlite", store)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	execute(t, db, "UPDATE lease SET expires_ms = 0")
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
