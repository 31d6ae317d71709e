//go:build linux

package follow

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/config/testenv"
)

// TestFollowKeepsBatches reads the log while files of it end, while the store refuses changes, and
// while an import keeps the follower from working. The changes logged meanwhile arrive.
func TestFollowKeepsBatches(t *testing.T) {
	t.Parallel() // much of it is waiting
	dsn := sqltest.SQLite(t)
	s := newLoggedShop(t, dsn)
	f := s.follower(t, hourly)
	stop := s.startReading(t, f)
	failures := func() float64 { return s.metric(t, f, "failures_total", "") }

	t.Run("the log is rotated", func(t *testing.T) {
		stopChanges := s.changeOn(t)
		for range 8 {
			before := s.position(t)
			s.execute(t, "FLUSH BINARY LOGS")
			testenv.Await(t, "the position to move", func() bool { return s.position(t) != before })
		}
		stopChanges()
		s.awaitEqual(t)
		if failures() > 0 {
			t.Errorf("%v failures", failures())
		}
	})
	t.Run("the store refuses changes", func(t *testing.T) {
		store, err := sql.Open("sqlite", "file:"+strings.TrimPrefix(dsn, "sqlite:")+"?_pragma=busy_timeout(10000)")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = store.Close() }()
		rename := func(from, to string) {
			t.Helper()
			if _, err := store.ExecContext(t.Context(), "ALTER TABLE "+from+" RENAME TO "+to); err != nil {
				t.Fatal(err)
			}
		}
		rename("import_digest", "hidden")
		s.execute(t, setSKU("refused", "5"))
		testenv.Await(t, "the change to fail", func() bool { return failures() > 0 })
		began := time.Now()
		for n := range 20 {
			s.execute(t, setSKU(fmt.Sprintf("later-%d", n), "6"))
		}
		testenv.Await(t, "the change to fail again", func() bool { return failures() > 2 })
		// The pauses double from one interval on.
		if pauses := float64(time.Since(began)/f.o.Interval) + 1; failures() > 2+pauses {
			t.Errorf("%v attempts in %v pauses", failures(), pauses)
		}
		rename("hidden", "import_digest")
		s.awaitEqual(t)
	})
	t.Run("an import is running", func(t *testing.T) {
		release, err := s.store.Imports().LockWithin(t.Context(), lockWait)
		if err != nil {
			t.Fatal(err)
		}
		s.execute(t, "UPDATE sales_flat_order SET grand_total = 7 WHERE entity_id = 1")
		testenv.Await(t, "the follower to wait", func() bool { return strings.Contains(s.log.String(), "an import into this store is running") })
		s.execute(t, "ALTER TABLE sales_flat_order DROP COLUMN coupon_code", setSKU("second", "6")) // which the first change was made before
		if err := release(); err != nil {
			t.Fatal(err)
		}
		s.awaitEqual(t)
	})
	if s.metric(t, f, "mode", "log") != 1 || strings.Count(s.log.String(), "following the binary log") != 1 {
		t.Errorf("it does not simply go on reading the log:\n%s", s.log.String())
	}
	stop()
}

// TestFollowWrongClocks follows a shop by polling whose server's clock, and whose own clock, step
// forward and back. Changes without a usable date arrive within the period of comparisons, and
// dated changes still arrive earlier.
func TestFollowWrongClocks(t *testing.T) {
	t.Parallel()
	s := newFollowedShop(t, sqltest.SQLite(t))
	clock := newSteppedClock(t, s)
	const period = 300 * time.Millisecond
	f := s.follower(t, func(o *Options) { o.ComparePeriod = period })
	stop := s.startReading(t, f)
	for n, c := range []struct {
		name  string
		shift time.Duration // of the server's clock as the follower sees it
		dated string        // how the shop dates the change
	}{
		{"the server's clock is ahead", 24 * time.Hour, "NOW()"},
		{"it was set back", 0, "NOW()"},
		{"it is late", -24 * time.Hour, "NOW()"},
		{"it was set forward", 0, "NOW()"},
		{"the shop's clock is ahead", 0, "'2037-01-01'"},
		{"the shop's clock was set back", 0, "NOW()"},
		{"the shop's clock is late", 0, "'2001-01-01'"},
		{"the shop has no date", 0, "NULL"},
	} {
		t.Run(c.name, func(t *testing.T) {
			clock.step(c.shift)
			s.execute(t,
				fmt.Sprintf("UPDATE catalog_product_entity SET sku = 'step-%d', updated_at = %s WHERE entity_id = 5", n, c.dated),
				fmt.Sprintf("UPDATE sales_flat_order SET grand_total = 100 + %d, updated_at = %s WHERE entity_id = 2", n, c.dated))
			testenv.Await(t, "the change", func() bool { return s.skuOf(t, 5) == fmt.Sprintf("step-%d", n) })
		})
	}
	s.awaitEqual(t)
	stop()

	// Polls have not lost their place.
	f = s.follower(t, hourly)
	stop = s.startReading(t, f)
	for n, shift := range []time.Duration{24 * time.Hour, 0} {
		clock.step(shift)
		clock.awaitPolls(f)
		s.execute(t, fmt.Sprintf("UPDATE catalog_product_entity SET sku = 'polled-%d', updated_at = NOW() + INTERVAL %d SECOND WHERE entity_id = 6", n, int(shift.Seconds())))
		testenv.Await(t, "the change", func() bool { return s.skuOf(t, 6) == fmt.Sprintf("polled-%d", n) })
	}
	stop()
}

// A steppedClock sets the clock of a legacy store's database as its follower sees it: the server
// sets the clock of each new connection of a user.
type steppedClock struct {
	t *testing.T
	s *followedShop
}

// newSteppedClock has a shop followed by a user of its own.
func newSteppedClock(t *testing.T, s *followedShop) *steppedClock {
	t.Helper()
	s.execute(t, "CREATE USER reader@'127.0.0.1'", "GRANT SELECT ON *.* TO reader@'127.0.0.1'")
	s.from.DSN = strings.Replace(s.from.DSN, "root@", "reader@", 1)
	c := &steppedClock{t, s}
	t.Cleanup(func() {
		for _, text := range []string{"SET GLOBAL init_connect = ''", "DROP USER reader@'127.0.0.1'"} {
			if _, err := s.old.Exec(text); err != nil { // the context of the test has ended
				t.Error(err)
			}
		}
	})
	return c
}

// step sets the clock: from now on it differs from the right time by shift, and stands still unless
// that is 0.
func (c *steppedClock) step(shift time.Duration) {
	c.t.Helper()
	statement := ""
	if shift != 0 {
		statement = fmt.Sprintf("SET timestamp = UNIX_TIMESTAMP() + %d", int(shift.Seconds()))
	}
	if _, err := c.s.old.ExecContext(c.t.Context(), "SET GLOBAL init_connect = ?", statement); err != nil {
		c.t.Fatal(err)
	}
	c.s.execute(c.t, "KILL USER reader@'127.0.0.1'") // the next connection has it
}

// awaitPolls waits until a follower has polled twice.
func (c *steppedClock) awaitPolls(f *Follower) {
	c.t.Helper()
	for range 2 {
		now := time.Now()
		testenv.Await(c.t, "a poll", func() bool { return f.o.Metrics.caughtUpAt.Load() > now.UnixNano() })
	}
}

// TestFollowBadInput logs changes of records that cannot be stored. Each is parked, which the log
// and a metric say, and tried again when it may be stored. Others go on meanwhile. A value that
// cannot be stored costs no record.
func TestFollowBadInput(t *testing.T) {
	t.Parallel()
	s := newLoggedShop(t, sqltest.SQLite(t))
	f := s.follower(t, hourly)
	stop := s.startReading(t, f)
	for n, c := range []struct {
		name   string
		breaks []string
		parked coordination.Parked
		mends  []string // neither of them dates or changes the record itself, but for its own value
	}{
		{"an SKU that another product has", []string{"SET @sku = (SELECT sku FROM catalog_product_entity WHERE entity_id = 2)", "UPDATE catalog_product_entity SET sku = @sku WHERE entity_id = 1"},
			coordination.Parked{Part: "products", Key: 1, Reason: "another product has the SKU"}, []string{setSKU("free-2", "2")}},
		{"an e-mail address that another customer has", []string{"ALTER TABLE customer_entity DROP INDEX email", "SET @email = (SELECT email FROM customer_entity WHERE entity_id = 2)",
			"UPDATE customer_entity SET email = @email, website_id = 1 WHERE entity_id = 1"},
			coordination.Parked{Part: "customers", Key: 1, Reason: "another customer of the website has the e-mail address"}, []string{"UPDATE customer_entity SET email = 'free-2@example.com' WHERE entity_id = 2"}},
		{"an address without its customer", []string{"SET foreign_key_checks = 0", "INSERT INTO customer_address_entity (entity_id, entity_type_id, parent_id, created_at, updated_at) VALUES (88, 2, 88, NOW(), NOW())", "SET foreign_key_checks = 1"},
			coordination.Parked{Part: "addresses", Key: 88, Reason: "its customer is not here"},
			[]string{"INSERT INTO customer_entity (entity_id, entity_type_id, website_id, email, group_id, store_id, created_at, updated_at) VALUES (88, 1, 1, 'late@example.com', 1, 1, NOW(), NOW())"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.execute(t, c.breaks...)
			other := fmt.Sprintf("goes-on-%d", n)
			s.execute(t, setSKU(other, "5"))
			var parked []coordination.Parked
			testenv.Await(t, "the record to be parked", func() bool {
				var err error
				if parked, err = s.store.Imports().Parked(t.Context(), s.source(t), coordination.ParkedFilter{Limit: 10}); err != nil {
					t.Fatal(err)
				}
				return len(parked) > 0
			})
			testenv.Await(t, "another one", func() bool { return s.skuOf(t, 5) == other })
			if len(parked) != 1 || parked[0].Part != c.parked.Part || parked[0].Key != c.parked.Key || parked[0].Reason != c.parked.Reason {
				t.Errorf("parked are %+v", parked)
			}
			testenv.Await(t, "the metric to say so", func() bool { return s.metric(t, f, "parked_records", c.parked.Part) == 1 })
			if !strings.Contains(s.log.String(), fmt.Sprintf("part=%s id=%d reason=%q", c.parked.Part, c.parked.Key, c.parked.Reason)) {
				t.Errorf("the log says nothing of it:\n%s", s.log.String())
			}
			s.execute(t, c.mends...)
			s.awaitEqual(t)
			testenv.Await(t, "the record not to be parked", func() bool { return s.metric(t, f, "parked_records", c.parked.Part) == 0 })
		})
	}
	t.Run("a price that is too great", func(t *testing.T) {
		s.execute(t, "ALTER TABLE catalog_product_entity_decimal MODIFY value DECIMAL(30,4)", "UPDATE catalog_product_entity_decimal SET value = 1e20 WHERE entity_id = 3", setSKU("all-the-same", "3"))
		testenv.Await(t, "the rest of the record", func() bool { return s.skuOf(t, 3) == "all-the-same" })
		if !strings.Contains(s.log.String(), `what="catalog_product_entity_decimal, product 3, attribute price, store 0"`) {
			t.Errorf("the log does not say what is left out:\n%s", s.log.String())
		}
		s.execute(t, "UPDATE catalog_product_entity_decimal SET value = 1 WHERE entity_id = 3")
		s.awaitEqual(t)
	})
	for _, c := range []struct {
		name    string
		changes []string
	}{
		{"a new column", []string{"ALTER TABLE sales_flat_order ADD COLUMN flavor INT FIRST", "UPDATE sales_flat_order SET flavor = 7, status = 'holded' WHERE entity_id = 1"}},
		{"a column less", []string{"ALTER TABLE sales_flat_order DROP COLUMN flavor, DROP COLUMN coupon_code", "UPDATE sales_flat_order SET status = 'closed' WHERE entity_id = 1"}},
		{"columns in another order", []string{"ALTER TABLE cataloginventory_stock_item MODIFY qty DECIMAL(12,4) FIRST", "UPDATE cataloginventory_stock_item SET qty = 8 WHERE product_id = 3"}},
		{"a table that is not known", []string{"CREATE TABLE extension (entity_id INT)", "INSERT INTO extension VALUES (5)", "RENAME TABLE extension TO catalog_product_entity_extension", "DROP TABLE catalog_product_entity_extension"}},
		{"a number that is none", []string{"ALTER TABLE catalog_product_entity_decimal MODIFY value VARCHAR(99)", "UPDATE catalog_product_entity_decimal SET value = 'cheap' WHERE entity_id = 3"}},
		{"a text that is none", []string{"ALTER TABLE catalog_product_entity_varchar MODIFY value VARBINARY(255)", "UPDATE catalog_product_entity_varchar SET value = X'FF00FE' WHERE entity_id = 3 AND attribute_id = " + nameOf}},
		{"a date that is none", []string{"SET SESSION sql_mode = ''", "UPDATE sales_flat_order SET created_at = '0000-00-00' WHERE entity_id = 1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.execute(t, c.changes...)
			s.execute(t, setSKU(c.name, "5"))
			testenv.Await(t, "another change", func() bool { return s.skuOf(t, 5) == c.name })
		})
	}
	s.awaitEqual(t)
	if s.metric(t, f, "mode", "log") != 1 || strings.Count(s.log.String(), "following the binary log") != 1 { // it may have read a table while it changed
		t.Errorf("it does not simply go on:\n%s", s.log.String())
	}
	stop()
}
