//go:build linux

package importer_test

import (
	"database/sql"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
)

var (
	followLag     = flag.Duration("follow.lag", 0, "how long BenchmarkFollowLag changes a legacy store, 60s say; 0 leaves it out")
	followBacklog = flag.Int("follow.backlog", 0, "number of products that change for BenchmarkFollowCatchUp, 20000 say; 0 leaves it out")
	followBurst   = flag.Int("follow.burst", 0, "number of rows that change for BenchmarkFollowMemory, 1000000 say; 0 leaves it out")
	followProfile = flag.String("follow.profile", "", "file for a profile of the processor time of the follower in BenchmarkFollowCatchUp, which takes it for 10 seconds")
)

// measuredOrders is the number of orders that a measuredShop has more than Demo.
const measuredOrders = 1_000

// A measuredShop is a legacy store with a binary log, and a store on PostgreSQL that was filled
// from it.
type measuredShop struct {
	old, store *sql.DB
	from       string // the DSN of the legacy store
	environ    []string
}

// newMeasuredShop fills a store from a shop with so many products more than Demo, and some orders.
func newMeasuredShop(b *testing.B, products int) *measuredShop {
	b.Helper()
	s := &measuredShop{from: sqltest.LoggedMariaDB(b)}
	s.old = magento1test.Fill(b, s.from, magento1test.Demo, "")
	if err := magento1test.Grow(b.Context(), s.old, "", magento1test.Size{Products: products, Orders: measuredOrders}); err != nil {
		b.Fatal(err)
	}
	dsn := sqltest.Postgres(b)
	s.environ = []string{"PORTICO_SQL_DSN=" + dsn, "PORTICO_SQL_MEDIA_DIR=" + b.TempDir(), "PORTICO_AUTH_SECRET_KEY=" + apptest.SecretKey}
	timedImport(b, apptest.Program(b), s.environ, "--from", s.from, "all")
	store := apptest.OpenStore(b, "postgres", dsn)
	if _, err := store.ExecContext(b.Context(), "VACUUM ANALYZE"); err != nil { // others do it by themselves
		b.Fatal(err)
	}
	s.store = store
	return s
}

// startFollow starts "portico serve" as the follower.
func (s *measuredShop) follow(b *testing.B) *apptest.Process {
	b.Helper()
	return apptest.Start(b, append(s.environ, "PORTICO_FOLLOW_DSN="+s.from, "PORTICO_OPS_PPROF=true", "PORTICO_LOG_LEVEL=warn", "PORTICO_LEGACY_URL="))
}

// change runs a statement on the legacy store.
func (s *measuredShop) change(b *testing.B, statement string, arguments ...any) {
	b.Helper()
	if _, err := s.old.ExecContext(b.Context(), statement, arguments...); err != nil {
		b.Fatalf("%s: %v", statement, err)
	}
}

// reachesEnd reports whether the stored position is the end of the log.
func (s *measuredShop) reachesEnd(b *testing.B) bool {
	b.Helper()
	var end string
	var found int
	if err := s.old.QueryRowContext(b.Context(), "SELECT @@GLOBAL.gtid_binlog_pos").Scan(&end); err != nil {
		b.Fatal(err)
	}
	if err := s.store.QueryRowContext(b.Context(), "SELECT COUNT(*) FROM import_position WHERE position LIKE $1", `%"gtid":"`+end+`"%`).Scan(&found); err != nil {
		b.Fatal(err)
	}
	return found > 0
}

// awaitEnd waits until the stored position is the end of the log, and returns how long that took.
func (s *measuredShop) awaitEnd(b *testing.B, p *apptest.Process) time.Duration {
	b.Helper()
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if s.reachesEnd(b) {
			return time.Since(began)
		}
		select {
		case <-p.Ended:
			b.Fatalf("the follower has ended:\n%s", p.Stderr.Text())
		default:
		}
		if time.Since(began) > time.Hour {
			b.Fatal("the follower does not reach the end of the log")
		}
	}
}

// BenchmarkFollowLag makes 20 changes a second in a legacy store whose log is read, each of one
// product, of one stock item or of one order, and looks all the time which of them the store, on
// PostgreSQL, does not have yet:
//
//	go test ./adapter/importer -run '^$' -bench FollowLag -benchtime 1x -follow.lag 60s
//
//	age-*-ms    age of the oldest change that is not here: half of the time at most the first, 99 % of
//	            the time at most the second
//	delay-*-ms  from a change to its arrival, by change
//
// The age of a change counts from before its statement was sent.
func BenchmarkFollowLag(b *testing.B) {
	if *followLag == 0 {
		b.Skip("needs -follow.lag")
	}
	const every = time.Second / 20
	s := newMeasuredShop(b, 2*measuredOrders)
	p := s.follow(b)
	s.change(b, "UPDATE catalog_product_entity SET sku = 'first' WHERE entity_id = 1")
	s.awaitEnd(b, p)

	kinds := []struct{ change, here string }{
		{"UPDATE catalog_product_entity SET sku = ?, updated_at = NOW() WHERE entity_id = ?", "SELECT entity_id FROM product WHERE entity_id IN (%s) AND sku LIKE 'lag-%%'"},
		{"UPDATE cataloginventory_stock_item SET qty = 1000 + LENGTH(?) WHERE product_id = ?", "SELECT product_id FROM stock_item WHERE product_id IN (%s) AND qty > 1000"},
		{"UPDATE sales_flat_order SET coupon_code = ? WHERE entity_id = ?", "SELECT entity_id FROM sales_order WHERE entity_id IN (%s) AND coupon_code LIKE 'lag-%%'"},
	}
	pending := make([]map[string]time.Time, len(kinds))
	for i := range pending {
		pending[i] = map[string]time.Time{}
	}
	var ages, delays []time.Duration
	look := func() {
		age := time.Duration(0)
		for i, kind := range kinds {
			if len(pending[i]) == 0 {
				continue
			}
			now := time.Now()
			for _, key := range apptest.SelectTexts(b, s.store, fmt.Sprintf(kind.here, strings.Join(slices.Collect(maps.Keys(pending[i])), ", "))) {
				delays = append(delays, now.Sub(pending[i][key]))
				delete(pending[i], key)
			}
			for _, at := range pending[i] {
				age = max(age, now.Sub(at))
			}
		}
		ages = append(ages, age)
	}
	began, changes := time.Now(), 0
	for time.Since(began) < *followLag {
		if time.Since(began) >= time.Duration(changes)*every {
			i, key := changes%len(kinds), fmt.Sprint(magento1test.FirstGrown+changes/len(kinds)%measuredOrders)
			pending[i][key] = time.Now()
			s.change(b, kinds[i].change, fmt.Sprintf("lag-%d", changes), key)
			changes++
		}
		look()
		time.Sleep(2 * time.Millisecond)
	}
	for deadline := time.Now().Add(testenv.Patience(b)); len(delays) < changes; time.Sleep(10 * time.Millisecond) {
		if look(); time.Now().After(deadline) {
			b.Fatalf("%d of %d changes are not here:\n%s", changes-len(delays), changes, p.Stderr.Text())
		}
	}
	for name, all := range map[string][]time.Duration{"age": ages, "delay": delays} {
		slices.Sort(all)
		b.ReportMetric(milliseconds(all[len(all)/2]), name+"-median-ms")
		b.ReportMetric(milliseconds(all[len(all)*99/100]), name+"-99%-ms")
		b.ReportMetric(milliseconds(all[len(all)-1]), name+"-max-ms")
	}
	b.ReportMetric(float64(changes)/followLag.Seconds(), "changes/s")
	b.ReportMetric(0, "ns/op")
	p.Stop(b)
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// BenchmarkFollowCatchUp changes products of a legacy store while no process follows it: of each the
// SKU, four names, the price, the status and the stock item, in transactions of 100 products. Then
// it starts a follower into PostgreSQL:
//
//	go test ./adapter/importer -run '^$' -bench FollowCatchUp -benchtime 1x -follow.backlog 20000
//
//	records/s  products and stock items that have changed, per second from the start of the process until
//	           all are stored
func BenchmarkFollowCatchUp(b *testing.B) {
	if *followBacklog == 0 {
		b.Skip("needs -follow.backlog")
	}
	s := newMeasuredShop(b, *followBacklog)
	p := s.follow(b)
	s.change(b, "UPDATE catalog_product_entity SET sku = 'first' WHERE entity_id = 1")
	s.awaitEnd(b, p)
	p.Stop(b)
	const together = 100
	for first := magento1test.FirstGrown; first < magento1test.FirstGrown+*followBacklog; first += together {
		s.changeProducts(b, first, min(first+together, magento1test.FirstGrown+*followBacklog)-1)
	}
	for b.Loop() {
		began := time.Now()
		p = s.follow(b)
		if *followProfile != "" {
			apptest.WriteFile(b, *followProfile, apptest.Send(b, http.MethodGet, p.Ops+"/debug/pprof/profile?seconds=10", "").Body)
		}
		s.awaitEnd(b, p)
		took := time.Since(began)
		p.Stop(b)
		b.ReportMetric(float64(2**followBacklog)/took.Seconds(), "records/s")
		b.ReportMetric(took.Seconds(), "s")
	}
	var stored int
	if err := s.store.QueryRowContext(b.Context(), "SELECT COUNT(*) FROM product JOIN stock_item ON product_id = product.entity_id WHERE sku LIKE 'late-%' AND qty > 1000").Scan(&stored); err != nil || stored != *followBacklog {
		b.Errorf("%d products of %d are here, %v", stored, *followBacklog, err)
	}
	b.ReportMetric(0, "ns/op")
}

// changeProducts changes products of the legacy store, and their stock items, in one transaction.
func (s *measuredShop) changeProducts(b *testing.B, first, last int) {
	b.Helper()
	tx, err := s.old.BeginTx(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	for _, statement := range []string{
		"UPDATE catalog_product_entity SET sku = CONCAT('late-', entity_id), updated_at = NOW() WHERE entity_id",
		"UPDATE catalog_product_entity_varchar SET value = CONCAT(value, ' changed') WHERE value LIKE 'Product %' AND entity_id",
		"UPDATE catalog_product_entity_decimal SET value = value + 1 WHERE entity_id",
		"UPDATE catalog_product_entity_int SET value = 3 - value WHERE value < 3 AND entity_id",
		"UPDATE cataloginventory_stock_item SET qty = qty + 1001 WHERE product_id",
	} {
		if _, err := tx.ExecContext(b.Context(), fmt.Sprintf("%s BETWEEN %d AND %d", statement, first, last)); err != nil {
			b.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkFollowMemory changes very many rows of a legacy store while no process follows it. Then it
// starts "portico follow" into PostgreSQL, and measures its memory until it has read the log and
// stored the changes:
//
//	go test ./adapter/importer -run '^$' -bench FollowMemory -benchtime 1x -timeout 1h -follow.burst 1000000
//
//	MB  largest resident memory of the process
//	s   from the start of the process until everything was stored
func BenchmarkFollowMemory(b *testing.B) {
	if *followBurst == 0 {
		b.Skip("needs -follow.burst")
	}
	// Products have 16 rows with values.
	products := *followBurst / 10
	s := newMeasuredShop(b, products)
	sequence := fmt.Sprintf("seq_1_to_%d", *followBurst)
	for _, bb := range []struct {
		name       string
		statements []string
	}{
		{"nothing", []string{"UPDATE catalog_product_entity SET sku = 'first' WHERE entity_id = 1"}},
		{"updates of a large table", []string{fmt.Sprintf("UPDATE catalog_product_entity_varchar SET value = CONCAT(value, '.') ORDER BY value_id LIMIT %d", *followBurst)}},
		{"updates in transactions of one row", nil},
		{"a table that is emptied and filled", []string{"TRUNCATE TABLE catalogrule_product_price",
			"INSERT INTO catalogrule_product_price (rule_date, customer_group_id, product_id, rule_price, website_id) SELECT DATE('2030-01-01') + INTERVAL seq DIV " + fmt.Sprint(products) + " DAY, 1, " + fmt.Sprint(magento1test.FirstGrown) + " + seq MOD " + fmt.Sprint(products) + ", 9, 1 FROM " + sequence}},
		{"a reindex of all products", []string{
			"DELETE FROM cataloginventory_stock_status", "INSERT INTO cataloginventory_stock_status (product_id, website_id, stock_id, qty, stock_status) SELECT product_id, website_id, stock_id, qty, is_in_stock FROM cataloginventory_stock_item JOIN core_website WHERE website_id > 0",
			"DELETE FROM core_url_rewrite", "INSERT INTO core_url_rewrite (store_id, request_path, id_path, target_path) SELECT 1, CONCAT('product-', seq, '.html'), CONCAT('product/', seq), REPEAT('x', 100) FROM " + sequence,
		}},
	} {
		b.Run(strings.ReplaceAll(bb.name, " ", "-"), func(b *testing.B) {
			for _, statement := range bb.statements {
				s.change(b, statement)
			}
			if bb.statements == nil {
				for n := range *followBurst / 10 {
					s.change(b, "UPDATE cataloginventory_stock_item SET qty = qty + 1 WHERE product_id = ?", magento1test.FirstGrown+n%products)
				}
			}
			for b.Loop() {
				p := startFollow(b, s.environ, "--from", s.from)
				took := s.awaitEnd(b, p)
				b.ReportMetric(float64(p.PeakResident(b))/1e6, "MB")
				b.ReportMetric(took.Seconds(), "s")
				p.Stop(b)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}
