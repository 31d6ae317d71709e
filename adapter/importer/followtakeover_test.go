//go:build linux

package importer_test

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
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
)

// Messages in the log of a follower.
const (
	saysFollows  = "following the binary log of the old database"
	saysStandsBy = "another process follows the legacy store: this one takes over when that one ends"
	saysLost     = "another process has taken over following the legacy store, as this one did not respond in time"
	saysCompared = "everything was compared with the legacy store"
	saysFailed   = "following the legacy store has failed and is tried again"
)

// A followedStore is a store on a server that followers fill from a legacy store.
type followedStore struct {
	*apptest.Imported
	t           *testing.T
	engine, dsn string
	db          *sql.DB
}

// newFollowedStore fills the store of a DSN from the shop Rich.
func newFollowedStore(t *testing.T, engine, dsn string) *followedStore {
	t.Helper()
	return &followedStore{loggedShop(t, dsn), t, engine, dsn, apptest.OpenStore(t, engine, dsn)}
}

// start starts a follower that takes changes from the log, and hardly ever compares.
func (s *followedStore) start(dsn string) *apptest.Process {
	s.t.Helper()
	return followImported(s.t, s.Imported, dsn, "--interval", "50ms", "--compare-period", "1h", "--allow-removals", "1000")
}

// startReading starts a follower like start, and waits until it has taken a change from the log and
// stored the position.
func (s *followedStore) startReading(dsn string) *apptest.Process {
	s.t.Helper()
	p := s.start(dsn)
	p.Stderr.Await(s.t, p, saysFollows)
	s.setSKU("read")
	testenv.Await(s.t, "the position", func() bool {
		return s.sku() == "read" && len(apptest.SelectTexts(s.t, s.db, "SELECT position FROM import_position")) > 0
	})
	return p
}

// setSKU changes the SKU of product 5 of the legacy store.
func (s *followedStore) setSKU(sku string) {
	s.t.Helper()
	apptest.Execute(s.t, s.DB, "UPDATE catalog_product_entity SET sku = '"+sku+"' WHERE entity_id = 5")
}

// sku returns the SKU that product 5 has here.
func (s *followedStore) sku() string {
	s.t.Helper()
	return apptest.SelectTexts(s.t, s.db, "SELECT sku FROM product WHERE entity_id = 5")[0]
}

// watchSKUs has the server of the store note each SKU that product 5 is given.
func (s *followedStore) watchSKUs() (seen func() []string) {
	s.t.Helper()
	statements := []string{"CREATE TABLE seen_sku (sku VARCHAR(64))", "CREATE TRIGGER seen AFTER UPDATE ON product FOR EACH ROW INSERT INTO seen_sku SELECT NEW.sku FROM DUAL WHERE NEW.entity_id = 5"}
	if s.engine == "postgres" {
		statements = []string{statements[0], "CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO seen_sku VALUES (NEW.sku); RETURN NULL; END'",
			"CREATE TRIGGER seen AFTER UPDATE ON product FOR EACH ROW WHEN (NEW.entity_id = 5) EXECUTE FUNCTION see()"}
	}
	apptest.Execute(s.t, s.db, statements...)
	return func() []string { return apptest.SelectTexts(s.t, s.db, "SELECT sku FROM seen_sku") }
}

// holder returns the name of the follower that leads.
func (s *followedStore) holder() string {
	s.t.Helper()
	return apptest.SelectTexts(s.t, s.db, "SELECT holder FROM lease")[0]
}

// holdReader changes the SKU of product 5, and holds the follower back that has read the change,
// before it stores it, until release is called.
func (s *followedStore) holdReader(sku string) (release func()) {
	s.t.Helper()
	unlock := apptest.LockTable(s.t, s.engine, s.db, "import_digest")
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
	testenv.Await(s.t, "the follower to wait for a lock", func() bool { return apptest.SelectTexts(s.t, s.db, waiting)[0] != "0" })
}

// TestFollowInTurn is TestFollowInTurnOnce on all servers, with followers that are paused until
// the other one has done their work.
func TestFollowInTurn(t *testing.T) {
	testenv.OnlyNightly(t, "faults")
	for _, engine := range []string{"postgres", "mariadb"} {
		t.Run(engine, func(t *testing.T) { followInTurn(t, newFollowedStore(t, engine, followedEngines()[engine](t)), true) })
	}
}

// TestFollowInTurnOnce starts two followers. One of them leads. It is paused for longer than its
// lease, while it has read a change and not yet stored it, so that the other one leads. When it goes
// on, it stores nothing more, and says so. Then that one is killed, and it leads again.
func TestFollowInTurnOnce(t *testing.T) {
	t.Parallel()
	followInTurn(t, newFollowedStore(t, "postgres", followedEngines()["postgres"](t)), false)
}

// followInTurn is TestFollowInTurnOnce. waits: the paused follower goes on only when the other one
// has taken changes over.
func followInTurn(t *testing.T, s *followedStore, waits bool) {
	first := s.startReading(s.dsn)
	second := s.start(s.dsn)
	second.Stderr.Await(t, second, saysStandsBy)
	if strings.Contains(second.Stderr.Text(), saysFollows) {
		t.Errorf("both follow:\n%s", second.Stderr.Text())
	}

	holder, seen := s.holder(), s.watchSKUs()
	release := s.holdReader("paused")
	first.Signal(t, syscall.SIGSTOP)
	apptest.ExpireLease(t, s.engine, s.dsn)
	release()
	testenv.Await(t, "the second one to lead", func() bool { return s.holder() != holder })
	s.setSKU("later")
	if waits { // the server gives the lock and the transaction of the first one up after a while
		taken := func() bool { return s.sku() == "later" }
		if !testenv.Poll(t, taken) {
			testenv.Await(t, "a change that the second one takes over", taken)
		}
	}
	first.Signal(t, syscall.SIGCONT)
	first.Stderr.Await(t, first, saysLost)
	awaitExported(t, s.Imported, s.dsn)
	if got := seen(); slices.Contains(got, "paused") || !slices.Contains(got, "later") {
		t.Errorf("the store got the SKUs %v", got)
	}

	second.Signal(t, os.Kill)
	second.Wait(t)
	apptest.ExpireLease(t, s.engine, s.dsn)
	s.setSKU("last")
	testenv.Await(t, "the first one to lead again", func() bool { return strings.Count(first.Stderr.Text(), saysFollows) == 2 })
	awaitExported(t, s.Imported, s.dsn)
	first.Stop(t)
	if text := first.Stderr.Text(); strings.Count(text, saysLost) != 1 || strings.Contains(second.Stderr.Text(), saysCompared) {
		t.Errorf("the log of the first one:\n%s\nand of the second one:\n%s", text, second.Stderr.Text())
	}
}

// TestFollowStoreCut cuts the connections between a follower and its store at the worst moments.
// The follower continues by itself: no change is missing, and changes that were stored in spite of
// the cut do no harm.
func TestFollowStoreCut(t *testing.T) {
	testenv.OnlyNightly(t, "faults")
	dsn := sqltest.Postgres(t)
	s := newFollowedStore(t, "postgres", dsn)
	server, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	line := apptest.NewSlowProxy(t, server.Host)
	f := s.startReading(apptest.DSNThrough(dsn, server.Host, line))
	for _, c := range []struct {
		name string
		hold func(sku string) (release func())
		want string // the SKU here while the line is cut
	}{
		{"between reading and storing", s.holdReader, "read"},
		{"during the commit", s.holdCommit, "during-the-commit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			failures := strings.Count(f.Stderr.Text(), saysFailed)
			release := c.hold(strings.ReplaceAll(c.name, " ", "-"))
			line.Stop()
			testenv.Await(t, "the follower to notice", func() bool { return strings.Count(f.Stderr.Text(), saysFailed) > failures })
			release()
			testenv.Await(t, "the SKU "+c.want, func() bool { return s.sku() == c.want })
			apptest.Execute(t, s.DB, "UPDATE cataloginventory_stock_item SET qty = qty + 1")
			line.Start()
			awaitExported(t, s.Imported, dsn)
		})
	}
	f.Stop(t)
	if text := f.Stderr.Text(); strings.Count(text, saysFollows) != 1 || strings.Count(text, saysCompared) != 1 {
		t.Errorf("it does not simply go on:\n%s", text)
	}
}

// holdCommit changes the SKU of product 5, and holds the follower back while it commits the change,
// until release is called.
func (s *followedStore) holdCommit(sku string) (release func()) {
	s.t.Helper()
	apptest.Execute(s.t, s.db, "CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NULL; END'",
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

// TestFollowOtherServer puts another server at the address of the legacy store's database, while it
// is followed. The follower takes nothing from it, and says so, unless the owner has said by a name
// that it is the same shop: then everything is compared.
func TestFollowOtherServer(t *testing.T) {
	testenv.OnlyNightly(t, "faults")
	dsn := followedEngines()["sqlite"](t)
	s := newFollowedStore(t, "sqlite", dsn)
	config, err := mysql.ParseDSN(strings.TrimPrefix(s.From[1], "mysql:"))
	if err != nil {
		t.Fatal(err)
	}
	other := sqltest.StartLoggedMariaDB(t)
	moved := *s.Imported
	moved.From = slices.Clone(s.From)
	moved.From[1] = other.Database(config.DBName)
	moved.DB = magento1test.Fill(t, moved.From[1], magento1test.Rich, "")
	apptest.Execute(t, moved.DB, "UPDATE catalog_product_entity SET sku = 'moved' WHERE entity_id = 5", "DELETE FROM catalog_product_entity WHERE entity_id = 41")
	line := apptest.NewSlowProxy(t, config.Addr)
	s.From[1] = strings.Replace(s.From[1], config.Addr, line.Listen, 1)

	f := s.startReading(dsn)
	line.Lead(other.Address())
	const refuses = "this is another database"
	f.Stderr.Await(t, f, refuses)
	apptest.Execute(t, moved.DB, "UPDATE catalog_product_entity SET sku = 'moved-too', updated_at = NOW() WHERE entity_id = 5")
	testenv.Await(t, "it to refuse again", func() bool { return strings.Count(f.Stderr.Text(), refuses) > 1 })
	if got := s.sku(); got != "read" {
		t.Errorf("the SKU is %s", got)
	}
	line.Lead(config.Addr)
	s.setSKU("back")
	testenv.Await(t, "the shop itself again", func() bool { return s.sku() == "back" })
	source := apptest.SelectTexts(t, s.db, "SELECT source FROM import_source")[0]
	f.Stop(t)

	f = followImported(t, s.Imported, dsn, "--interval", "50ms", "--compare-period", "1h", "--source", source)
	f.Stderr.Await(t, f, saysFollows)
	line.Lead(other.Address())
	f.Stderr.Await(t, f, "does not go on where it was last read")
	awaitExported(t, &moved, dsn)
	apptest.Execute(t, moved.DB, "UPDATE catalog_product_entity SET sku = 'moved-on' WHERE entity_id = 5")
	awaitExported(t, &moved, dsn)
	f.Stop(t)
}
