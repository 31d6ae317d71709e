package follow

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/config/testenv"
)

// awaitEqual waits until the store is as if the legacy store had been imported into an empty one.
func (s *followedShop) awaitEqual(t *testing.T) {
	t.Helper()
	fresh := openStore(t, sqltest.SQLite(t))
	s.importAll(t, fresh)
	want, difference := contents(t, fresh), ""
	deadline := time.Now().Add(10 * time.Second)
	for {
		if difference = cmp.Diff(want, contents(t, s.store)); difference == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("a fresh import -, followed +:\n%s\n%s", difference, s.log.String())
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// TestFollowLog makes changes of all kinds while a follower reads the binary log. Each arrives
// without a comparison. A second follower goes on where the first one has stopped, and compares
// everything at once only where the log does not go on.
func TestFollowLog(t *testing.T) {
	t.Parallel()
	s := newLoggedShop(t, sqltest.SQLite(t))
	hourly := func(o *Options) { o.ComparePeriod = time.Hour }
	first := s.follower(t, hourly)
	stop := start(t, first)
	testenv.Await(t, "the first comparison", func() bool { return s.metric(t, first, "last_comparison_timestamp_seconds", "") > 0 })
	for _, c := range everyChange() {
		s.execute(t, c.statements...)
	}
	s.awaitEqual(t)
	if s.metric(t, first, "mode", "log") != 1 {
		t.Errorf("it does not read the log:\n%s", s.log.String())
	}
	testenv.Await(t, "the position", func() bool {
		position, err := s.store.Imports().Position(t.Context(), s.source(t))
		return err == nil && position != ""
	})
	stop()

	s.execute(t, "UPDATE catalog_product_entity SET sku = 'while-away' WHERE entity_id = 5")
	second := s.follower(t, hourly)
	stop = start(t, second)
	s.awaitEqual(t)
	if s.metric(t, second, "last_comparison_timestamp_seconds", "") > 0 {
		t.Error("everything was compared although the log goes on")
	}
	stop()

	s.execute(t, "UPDATE catalog_product_entity SET sku = 'not-in-the-log' WHERE entity_id = 6", "FLUSH BINARY LOGS")
	testenv.Await(t, "the server to remove its log, which it does when nobody reads it", func() bool {
		rows, err := s.old.QueryContext(t.Context(), "SHOW BINARY LOGS")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = rows.Close() }()
		var name, size string
		files := 0
		for ; rows.Next(); files++ {
			if err := rows.Scan(&name, &size); err != nil {
				t.Fatal(err)
			}
		}
		if files > 1 {
			s.execute(t, "PURGE BINARY LOGS TO '"+name+"'")
		}
		return files == 1
	})
	third := s.follower(t, hourly)
	stop = start(t, third)
	s.awaitEqual(t)
	if !strings.Contains(s.log.String(), "does not go on where it was last read") {
		t.Errorf("the log says nothing of the gap:\n%s", s.log.String())
	}
	stop()
}

// TestFollowLogReconciles makes changes that the log tells only of whole tables.
func TestFollowLogReconciles(t *testing.T) {
	t.Parallel()
	s := newLoggedShop(t, sqltest.SQLite(t))
	f := s.follower(t, func(o *Options) { o.ComparePeriod = time.Hour })
	stop := start(t, f)
	testenv.Await(t, "the first comparison", func() bool { return s.metric(t, f, "last_comparison_timestamp_seconds", "") > 0 })
	found := s.metric(t, f, "comparison_found_total", "products")
	s.execute(t, "SET SESSION binlog_format = STATEMENT", "UPDATE catalog_product_entity SET sku = 'by-statement' WHERE entity_id = 7", "SET SESSION binlog_format = ROW",
		"TRUNCATE TABLE catalogrule_product_price", "ALTER TABLE catalog_product_entity ADD COLUMN flavor INT",
		"UPDATE catalog_product_entity SET sku = 'after-ddl' WHERE entity_id = 8")
	s.awaitEqual(t)
	if now := s.metric(t, f, "comparison_found_total", "products"); now != found {
		t.Errorf("what the log has told counts as found by the comparison: %v, %v", found, now)
	}
	stop()
}

// TestFollowMoved follows the shop on another server, to which it was moved. Everything is
// compared, as the log there is another one.
func TestFollowMoved(t *testing.T) {
	t.Parallel()
	s := newLoggedShop(t, sqltest.SQLite(t))
	first := s.follower(t, nil)
	stop := start(t, first)
	testenv.Await(t, "the position", func() bool {
		position, err := s.store.Imports().Position(t.Context(), s.source(t))
		return err == nil && position != ""
	})
	stop()
	name := s.source(t)
	s.from.DSN, s.old = magento1test.NewShop(t, magento1test.Rich, "")
	s.execute(t, "UPDATE catalog_product_entity SET sku = 'moved' WHERE entity_id = 5")
	if _, err := s.follower(t, nil).Once(t.Context()); err == nil || !strings.Contains(err.Error(), "--source "+name) {
		t.Errorf("another server without the name of the source: %v", err)
	}
	s.once(t, func(o *Options) { o.Source = name })
	if got := s.skuOf(t, 5); got != "moved" {
		t.Errorf("the product has the SKU %q", got)
	}
}
