package sqlstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/outbox"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/config/testenv"
)

// largeOutbox is the number of entries that the outbox of TestLargeOutbox has in each state.
const largeOutbox = 100_000

// fill enters as many changes as a large outbox has, each of another product.
func (m *mirroredStore) fill(firstKey int64, parked bool, retry time.Time) {
	m.Helper()
	digit := "(SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)"
	flag := 0
	if parked {
		flag = 1
	}
	key := fmt.Sprintf("%d + a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d", firstKey)
	sqlstore.Exec(m, m.db, fmt.Sprintf(
		"INSERT INTO outbox_entry (resource, record_key, store_id, held, root, root_key, agreed, sent, sending, removed, gone, identity, version, reason, attempts, parked, created_ms, retry_ms)"+
			" SELECT 'products', %s, 0, 0, 'products', %[1]s, '{\"name\":\"#00\"}', '{}', 0, 0, 0, '{}', 1, '', 0, %d, %d, %d FROM %s a, %[5]s b, %[5]s c, %[5]s e, %[5]s f",
		key, flag, time.Now().UnixMilli(), retry.UnixMilli(), digit))
}

// TestLargeOutbox runs the outbox queries of the deliverer, the metrics, commands and imports
// while 100,000 changes wait and as many are dead letters; none of them is due.
func TestLargeOutbox(t *testing.T) {
	testenv.OnlyNightly(t, "faults")
	for _, e := range sqltest.Engines() {
		t.Run(e.Name, func(t *testing.T) {
			m := newMirroredStore(t, openDemo(t, e))
			m.fill(1_000_000, true, time.Now().Add(time.Hour))
			m.fill(1000, false, time.Now())
			sqlstore.Exec(t, m.db, map[string]string{"sqlite": "ANALYZE", "postgres": "ANALYZE outbox_entry", "mariadb": "ANALYZE TABLE outbox_entry"}[e.Name])
			box := m.db.Outbox()
			took := func(name string, most time.Duration, do func() (n, want int, err error)) {
				t.Helper()
				fastest := time.Hour
				for range 5 { // other tests may use the machine
					began := time.Now()
					n, want, err := do()
					fastest = min(fastest, time.Since(began))
					if n != want || err != nil {
						t.Fatalf("%s: %d, want %d, %v", name, n, want, err)
					}
				}
				t.Logf("%-28s %8s", name, fastest.Round(10*time.Microsecond))
				if fastest > most {
					t.Errorf("%s takes %s, want at most %s", name, fastest, most)
				}
			}
			took("what is due", 50*time.Millisecond, func() (int, int, error) {
				due, err := box.Due(t.Context(), 8)
				return len(due), 8, err
			})
			took("counts", 2*time.Second, func() (int, int, error) {
				counts, err := box.Count(t.Context())
				c := counts[adapter.Products]
				return int(c.Waiting + c.Parked), 2 * largeOutbox, err
			})
			took("the last page", 50*time.Millisecond, func() (int, int, error) {
				page, err := box.Entries(t.Context(), coordination.EntryFilter{After: 2*largeOutbox - 1000, Limit: 1000})
				return len(page), 1000, err
			})
			took("a page of what is parked", 50*time.Millisecond, func() (int, int, error) {
				page, err := box.Entries(t.Context(), coordination.EntryFilter{Parked: true, After: largeOutbox / 2, Limit: 1000})
				return len(page), 1000, err
			})
			took("what waits of a product", 10*time.Millisecond, func() (int, int, error) {
				waits, err := box.Waiting(t.Context(), outbox.Root{Resource: adapter.Products, Key: 1005})
				return map[bool]int{true: 1}[waits], 1, err
			})
			took("a client's write", 100*time.Millisecond, func() (int, int, error) {
				m.update(adapter.StockItems, 2, 0, attrs{"qty": fmt.Sprintf("%d.0000", time.Now().UnixNano()%1000)})
				return 0, 0, nil
			})
			took("20 imports of what is pending", 2*time.Second, func() (int, int, error) {
				return m.importPending(20), 20, nil
			})
		})
	}
}

// importPending changes a product as a client does, and then imports the legacy store's state
// the given number of times. It returns the number of times that the client's value stayed.
func (m *mirroredStore) importPending(times int) (kept int) {
	m.Helper()
	product, _, _ := ofProduct(m.export(adapter.Products, 1))
	m.update(adapter.Products, 1, 0, attrs{"name": fmt.Sprintf("Ours %d", time.Now().UnixNano())})
	ours := m.export(adapter.Products, 1).Record.Get("name").Text()
	for range times {
		done := m.follow(product)
		if done[0].Pending && m.export(adapter.Products, 1).Record.Get("name").Text() == ours {
			kept++
		}
	}
	m.drop(adapter.Products, 1)
	m.follow(product)
	return kept
}

// drop drops the pending entries of a record.
func (m *mirroredStore) drop(r adapter.Resource, key adapter.Key) {
	m.Helper()
	sqlstore.Exec(m, m.db, fmt.Sprintf("DELETE FROM outbox_entry WHERE resource = '%s' AND record_key = %d", r, key))
}
