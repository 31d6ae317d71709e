package binlog_test

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	gomysql "github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"
	"github.com/go-sql-driver/mysql"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1"
)

// A silentReplica is a semi-synchronous replica that does not acknowledge a transaction until
// released. Meanwhile the server has the transaction in its log and sends it to other replicas, but
// no other connection can see it.
type silentReplica struct{ released chan struct{} }

// HandleEvent implements [replication.EventHandler].
func (r silentReplica) HandleEvent(e *replication.BinlogEvent) error {
	if e.Header.EventType == replication.XID_EVENT {
		<-r.released
	}
	return nil
}

// holdCommits makes the server hold commits back between its log and its tables, until release
// is called.
func (s *shop) holdCommits() (release func()) {
	s.Helper()
	s.exec("SET GLOBAL rpl_semi_sync_master_enabled = 1, rpl_semi_sync_master_wait_point = 'AFTER_SYNC', rpl_semi_sync_master_timeout = 60000")
	s.Cleanup(func() {
		// The context of the test has ended.
		if _, err := s.db.Exec("SET GLOBAL rpl_semi_sync_master_enabled = 0"); err != nil {
			s.Error(err)
		}
	})
	config, err := mysql.ParseDSN(s.dsn[len("mysql:"):])
	if err != nil {
		s.Fatal(err)
	}
	replica := silentReplica{make(chan struct{})}
	syncer := replication.NewBinlogSyncer(replication.BinlogSyncerConfig{
		ServerID: 99, Flavor: gomysql.MariaDBFlavor, Host: config.Addr, User: config.User, SemiSyncEnabled: true,
		SynchronousEventHandler: replica, Logger: slog.New(slog.DiscardHandler),
	})
	s.Cleanup(syncer.Close)
	at, err := gomysql.ParseMariadbGTIDSet(s.value("SELECT @@GLOBAL.gtid_binlog_pos"))
	if err != nil {
		s.Fatal(err)
	}
	if _, err := syncer.StartSyncGTID(at); err != nil {
		s.Fatal(err)
	}
	for s.value("SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'Rpl_semi_sync_master_clients'") != "1" {
		if s.Context().Err() != nil {
			s.Fatal("the server knows no semi-synchronous replica")
		}
	}
	return func() { close(replica.released) }
}

func (s *shop) database() *magento1.Database {
	s.Helper()
	d, err := magento1.Open(s.Context(), magento1.Options{ServerOptions: magento1.ServerOptions{DSN: s.dsn, Prefix: prefix}, Schemas: adapter.NewSchemas()})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = d.Close() })
	return d
}

// TestHeldCommit reads a change from the log while the server does not yet show it, and checks
// that reads from its position wait.
func TestHeldCommit(t *testing.T) {
	s := newShop(t)
	r := s.open(s.options())
	release := s.holdCommits()
	committed := make(chan error, 1)
	go func() {
		_, err := s.db.ExecContext(t.Context(), "UPDATE "+prefix+"catalog_product_entity SET sku = 'held' WHERE entity_id = 1")
		committed <- err
	}()
	var position magento1.Position
	for {
		b, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(b.Changes) > 0 {
			position = b.Position
			break
		}
	}
	sku := func(ctx context.Context, d *magento1.Database) (sku string, err error) {
		for a, err := range d.RecordsBetween(ctx, magento1.Products, 0, 1) {
			if err != nil {
				return "", err
			}
			sku = a.Record.Get("sku").Text()
		}
		return sku, nil
	}
	if got, err := sku(t.Context(), s.database()); err != nil || got != "kettle-steel" {
		t.Errorf("without waiting: %q, %v; the test needs a commit that is held back", got, err)
	}
	waiting := s.database()
	waiting.ReadFrom(position)
	const patience = 200 * time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if got, err := sku(ctx, waiting); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while the commit is held back: %q, %v", got, err)
	}
	release()
	if got, err := sku(t.Context(), waiting); err != nil || got != "held" {
		t.Errorf("afterwards: %q, %v", got, err)
	}
	if err := <-committed; err != nil {
		t.Fatal(err)
	}
}

// TestHeldLookup checks that keys which are not in the log are looked up when they are visible,
// and that a batch is not lost if its caller gives up before.
func TestHeldLookup(t *testing.T) {
	s := newShop(t)
	r := s.open(s.options())
	release := s.holdCommits()
	committed := make(chan error, 1)
	go func() {
		tx, err := s.db.BeginTx(t.Context(), nil)
		for _, statement := range []string{
			"INSERT INTO " + prefix + "review (review_id, entity_id, entity_pk_value, status_id) VALUES (901, 1, 5, 1)",
			"UPDATE " + prefix + "review SET entity_pk_value = 6 WHERE review_id = 901",
			"INSERT INTO " + prefix + "review_store VALUES (901, 1)",
		} {
			if err == nil {
				_, err = tx.ExecContext(t.Context(), statement)
			}
		}
		if err == nil {
			err = tx.Commit()
		}
		committed <- err
	}()
	const patience = 200 * time.Millisecond
	for ctx, cancel := context.WithTimeout(t.Context(), patience); ; {
		b, err := r.Next(ctx)
		if len(b.Changes) > 0 {
			t.Fatalf("changes before they are visible: %v", describe(b))
		}
		if err != nil {
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
			break
		}
	}
	release()
	if err := <-committed; err != nil {
		t.Fatal(err)
	}
	got, _ := s.read(r)
	if diff := gocmp.Diff([]string{"products 5", "products 6"}, describe(got)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestReadFromUnderLoad writes while it reads the log. Each transaction adds 1 to a quantity, so
// that the sum of the read quantities must be the number of transactions up to the position, or
// more.
func TestReadFromUnderLoad(t *testing.T) {
	s := newShop(t)
	const writers, writes = 4, 100
	s.exec("UPDATE {p}cataloginventory_stock_item SET qty = 0")
	start := s.sequence(s.value("SELECT @@GLOBAL.gtid_binlog_pos"))
	r, d := s.open(s.options()), s.database()
	failed := make(chan error, writers)
	for w := range writers {
		go func() {
			var err error
			for i := 0; i < writes && err == nil; i++ {
				_, err = s.db.ExecContext(t.Context(), "UPDATE "+prefix+"cataloginventory_stock_item SET qty = qty + 1 WHERE item_id = ?", w+1)
			}
			failed <- err
		}()
	}
	for logged := 0; logged < writers*writes; {
		b, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		logged = s.sequence(b.Position.GTID) - start
		d.ReadFrom(b.Position)
		sum := 0
		for a, err := range d.RecordsBetween(t.Context(), magento1.Stock, 0, writers) {
			if err != nil {
				t.Fatal(err)
			}
			qty, err := strconv.ParseFloat(a.Record.Get("qty").Text(), 64)
			if err != nil {
				t.Fatal(err)
			}
			sum += int(qty)
		}
		if sum < logged {
			t.Errorf("%d changes are visible of the %d up to the position", sum, logged)
		}
	}
	for range writers {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
}

// sequence returns the number of the last transaction.
func (s *shop) sequence(gtid string) int {
	s.Helper()
	n, err := strconv.Atoi(gtid[strings.LastIndexByte(gtid, '-')+1:])
	if err != nil {
		s.Fatal(err)
	}
	return n
}
