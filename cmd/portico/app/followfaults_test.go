//go:build linux

package app

import (
	"database/sql"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/contracttests/nightly"
)

// What the log of a follower says.
const (
	saysFollows  = "following the binary log of the old database"
	saysStandsBy = "another process follows the old shop: this one takes over when that one ends"
	saysLost     = "another process has taken over following the old shop, as this one did not respond in time"
	saysCompared = "everything was compared with the old shop"
	saysFailed   = "following the old shop has failed and is tried again"
)

// A followedStore is a store on a server that followers fill from an old shop.
type followedStore struct {
	*importedShop
	t           *testing.T
	engine, dsn string
	db          *sql.DB
}

// newFollowedStore fills the store of a DSN from the shop Rich.
func newFollowedStore(t *testing.T, engine, dsn string) *followedStore {
	t.Helper()
	return &followedStore{loggedShop(t, dsn), t, engine, dsn, storeOf(t, engine, dsn)}
}

// start starts a follower that takes changes from the log, and hardly ever compares.
func (s *followedStore) start(dsn string) *process {
	s.t.Helper()
	return s.follow(s.t, dsn, "--interval", "50ms", "--compare-period", "1h", "--allow-removals", "1000")
}

// startReading starts a follower like start, and waits until it has taken a change from the log and
// stored the position.
func (s *followedStore) startReading(dsn string) *process {
	s.t.Helper()
	p := s.start(dsn)
	p.stderr.await(s.t, p, saysFollows)
	s.setSKU("read")
	await(s.t, "the position", func() bool {
		return s.sku() == "read" && len(selectTexts(s.t, s.db, "SELECT position FROM import_position")) > 0
	})
	return p
}

// setSKU changes the SKU of product 5 of the old shop.
func (s *followedStore) setSKU(sku string) {
	s.t.Helper()
	execute(s.t, s.old, "UPDATE catalog_product_entity SET sku = '"+sku+"' WHERE entity_id = 5")
}

// sku returns the SKU that product 5 has here.
func (s *followedStore) sku() string {
	s.t.Helper()
	return selectTexts(s.t, s.db, "SELECT sku FROM product WHERE entity_id = 5")[0]
}

// watchSKUs has the server of the store note each SKU that product 5 is given.
func (s *followedStore) watchSKUs() (seen func() []string) {
	s.t.Helper()
	statements := []string{"CREATE TABLE seen_sku (sku VARCHAR(64))", "CREATE TRIGGER seen AFTER UPDATE ON product FOR EACH ROW INSERT INTO seen_sku SELECT NEW.sku FROM DUAL WHERE NEW.entity_id = 5"}
	if s.engine == "postgres" {
		statements = []string{statements[0], "CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO seen_sku VALUES (NEW.sku); RETURN NULL; END'",
			"CREATE TRIGGER seen AFTER UPDATE ON product FOR EACH ROW WHEN (NEW.entity_id = 5) EXECUTE FUNCTION see()"}
	}
	execute(s.t, s.db, statements...)
	return func() []string { return selectTexts(s.t, s.db, "SELECT sku FROM seen_sku") }
}

// holder returns the name of the follower that leads.
func (s *followedStore) holder() string {
	s.t.Helper()
	return selectTexts(s.t, s.db, "SELECT holder FROM lease")[0]
}

// holdReader changes the SKU of product 5, and holds the follower back that has read the change,
// before it stores it, until release is called.
func (s *followedStore) holdReader(sku string) (release func()) {
	s.t.Helper()
	unlock := lockTable(s.t, s.engine, s.db, "import_digest")
	s.setSKU(sku)
	s.awaitLockWait()
	return unlock
}

// awaitLockWait waits until the follower waits for a lock of the server.
func (s *followedStore) awaitLockWait() {
	s.t.Helper()
	waiting := "SELECT COUNT(*) FROM pg_locks WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
	if s.engine == "mariadb" {
		waiting = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE state LIKE 'Waiting for table%' AND db = DATABASE()"
	}
	await(s.t, "the follower to wait for a lock", func() bool { return selectTexts(s.t, s.db, waiting)[0] != "0" })
}

// TestFollowInTurn is TestFollowInTurnOnce on all servers, with followers that are paused until
// the other one has done their work.
func TestFollowInTurn(t *testing.T) {
	nightly.Only(t, "faults")
	for _, engine := range []string{"postgres", "mariadb"} {
		t.Run(engine, func(t *testing.T) { followInTurn(t, newFollowedStore(t, engine, followedEngines()[engine](t)), true) })
	}
}

// TestFollowInTurnOnce starts two followers. One of them leads. It is paused for longer than its
// lease, while it has read a change and not yet stored it, so that the other one leads. When it goes
// on, it stores nothing more, and says so. Then that one is killed, and it leads again.
func TestFollowInTurnOnce(t *testing.T) {
	followInTurn(t, newFollowedStore(t, "postgres", followedEngines()["postgres"](t)), false)
}

// followInTurn is TestFollowInTurnOnce. waits: the paused follower goes on only when the other one
// has taken changes over.
func followInTurn(t *testing.T, s *followedStore, waits bool) {
	first := s.startReading(s.dsn)
	second := s.start(s.dsn)
	second.stderr.await(t, second, saysStandsBy)
	if strings.Contains(second.stderr.text(), saysFollows) {
		t.Errorf("both follow:\n%s", second.stderr.text())
	}

	holder, seen := s.holder(), s.watchSKUs()
	release := s.holdReader("paused")
	first.signal(t, syscall.SIGSTOP)
	expireLease(t, s.engine, s.dsn)
	release()
	await(t, "the second one to lead", func() bool { return s.holder() != holder })
	s.setSKU("later")
	if waits { // the server gives the lock and the transaction of the first one up after a while
		taken := func() bool { return s.sku() == "later" }
		if !poll(taken) {
			pollUntil(t, "a change that the second one takes over", taken)
		}
	}
	first.signal(t, syscall.SIGCONT)
	first.stderr.await(t, first, saysLost)
	s.awaitExported(t, s.dsn)
	if got := seen(); slices.Contains(got, "paused") || !slices.Contains(got, "later") {
		t.Errorf("the store got the SKUs %v", got)
	}

	second.signal(t, os.Kill)
	second.wait(t)
	expireLease(t, s.engine, s.dsn)
	s.setSKU("last")
	await(t, "the first one to lead again", func() bool { return strings.Count(first.stderr.text(), saysFollows) == 2 })
	s.awaitExported(t, s.dsn)
	first.stop(t)
	if text := first.stderr.text(); strings.Count(text, saysLost) != 1 || strings.Contains(second.stderr.text(), saysCompared) {
		t.Errorf("the log of the first one:\n%s\nand of the second one:\n%s", text, second.stderr.text())
	}
}

// TestFollowStoreCut cuts the connections between a follower and its store at the worst moments. It
// goes on by itself: nothing is missing, and what was stored in spite of all is no harm.
func TestFollowStoreCut(t *testing.T) {
	nightly.Only(t, "faults")
	dsn := sqltest.Postgres(t)
	s := newFollowedStore(t, "postgres", dsn)
	server, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	line := newSlowProxy(t, server.Host)
	f := s.startReading(dsnThrough(dsn, server.Host, line))
	for _, c := range []struct {
		name string
		hold func(sku string) (release func())
		want string // the SKU here while the line is cut
	}{
		{"between reading and storing", s.holdReader, "read"},
		{"during the commit", s.holdCommit, "during-the-commit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			failures := strings.Count(f.stderr.text(), saysFailed)
			release := c.hold(strings.ReplaceAll(c.name, " ", "-"))
			line.Stop()
			await(t, "the follower to notice", func() bool { return strings.Count(f.stderr.text(), saysFailed) > failures })
			release()
			await(t, "the SKU "+c.want, func() bool { return s.sku() == c.want })
			execute(t, s.old, "UPDATE cataloginventory_stock_item SET qty = qty + 1")
			if err := line.Start(); err != nil {
				t.Fatal(err)
			}
			s.awaitExported(t, dsn)
		})
	}
	f.stop(t)
	if text := f.stderr.text(); strings.Count(text, saysFollows) != 1 || strings.Count(text, saysCompared) != 1 {
		t.Errorf("it does not simply go on:\n%s", text)
	}
}

// holdCommit changes the SKU of product 5, and holds the follower back while it commits the change,
// until release is called.
func (s *followedStore) holdCommit(sku string) (release func()) {
	s.t.Helper()
	execute(s.t, s.db, "CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NULL; END'",
		"CREATE CONSTRAINT TRIGGER hold AFTER UPDATE ON product DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION hold()")
	conn, err := s.db.Conn(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	lock := func(function string) {
		if _, err := conn.ExecContext(s.t.Context(), "SELECT "+function+"(1)"); err != nil {
			s.t.Error(err)
		}
	}
	lock("pg_advisory_lock")
	s.setSKU(sku)
	s.awaitLockWait()
	return func() {
		lock("pg_advisory_unlock")
		_ = conn.Close()
	}
}

// TestFollowOtherServer puts another server at the address of the old database, while it is followed.
// The follower takes nothing from it, and says so, unless the owner has said by a name that it is the
// same shop: then everything is compared.
func TestFollowOtherServer(t *testing.T) {
	nightly.Only(t, "faults")
	dsn := followedEngines()["sqlite"](t)
	s := newFollowedStore(t, "sqlite", dsn)
	config, err := mysql.ParseDSN(strings.TrimPrefix(s.from[1], "mysql:"))
	if err != nil {
		t.Fatal(err)
	}
	other := sqltest.StartLoggedMariaDB(t)
	moved := *s.importedShop
	moved.from = slices.Clone(s.from)
	moved.from[1] = other.Database(config.DBName)
	moved.old = magento1test.Fill(t, moved.from[1], magento1test.Rich, "")
	execute(t, moved.old, "UPDATE catalog_product_entity SET sku = 'moved' WHERE entity_id = 5", "DELETE FROM catalog_product_entity WHERE entity_id = 41")
	line := newSlowProxy(t, config.Addr)
	leadTo := func(address string) {
		t.Helper()
		line.Stop()
		line.Upstream = address
		if err := line.Start(); err != nil {
			t.Fatal(err)
		}
	}
	s.from[1] = strings.Replace(s.from[1], config.Addr, line.Listen, 1)

	f := s.startReading(dsn)
	leadTo(other.Address())
	const refuses = "this is another database"
	f.stderr.await(t, f, refuses)
	execute(t, moved.old, "UPDATE catalog_product_entity SET sku = 'moved-too', updated_at = NOW() WHERE entity_id = 5")
	await(t, "it to refuse again", func() bool { return strings.Count(f.stderr.text(), refuses) > 1 })
	if got := s.sku(); got != "read" {
		t.Errorf("the SKU is %s", got)
	}
	leadTo(config.Addr)
	s.setSKU("back")
	await(t, "the shop itself again", func() bool { return s.sku() == "back" })
	source := selectTexts(t, s.db, "SELECT source FROM import_source")[0]
	f.stop(t)

	f = s.follow(t, dsn, "--interval", "50ms", "--compare-period", "1h", "--source", source)
	f.stderr.await(t, f, saysFollows)
	leadTo(other.Address())
	f.stderr.await(t, f, "does not go on where it was last read")
	moved.awaitExported(t, dsn)
	execute(t, moved.old, "UPDATE catalog_product_entity SET sku = 'moved-on' WHERE entity_id = 5")
	moved.awaitExported(t, dsn)
	f.stop(t)
}
