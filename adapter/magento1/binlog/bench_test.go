package binlog_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter/magento1/binlog"
	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// BenchmarkRead reads the log of statements that change 200,000 rows of one product each, and
// reports the rows read per second and the largest heap meanwhile.
func BenchmarkRead(b *testing.B) {
	const rows = 200_000
	for _, c := range []struct{ name, table, insert, update string }{
		{"values", "catalog_product_entity_text", "INSERT INTO catalog_product_entity_text (entity_type_id, attribute_id, store_id, entity_id, value) SELECT 4, 1, 0, seq, REPEAT('x', 200) FROM seq_100001_to_300000",
			"UPDATE catalog_product_entity_text SET value = CONCAT(value, '.') WHERE entity_id > 100000"},
		{"orders", "sales_flat_order", "INSERT INTO sales_flat_order (entity_id, increment_id, state) SELECT seq, seq, 'new' FROM seq_100001_to_300000",
			"UPDATE sales_flat_order SET state = 'closed' WHERE entity_id > 100000"},
		{"ignored", "core_url_rewrite", "INSERT INTO core_url_rewrite (store_id, request_path, id_path) SELECT 1, CONCAT('a', seq), seq FROM seq_100001_to_300000",
			"UPDATE core_url_rewrite SET target_path = 'x' WHERE url_rewrite_id > 0"},
	} {
		b.Run(c.name, func(b *testing.B) {
			dsn := sqltest.LoggedMariaDB(b)
			db := magento1test.Fill(b, dsn, magento1test.Demo, "")
			magento1test.Break(b, db, c.insert)
			o := binlog.Options{DSN: dsn, Heartbeat: 100 * time.Millisecond}
			first, err := binlog.Open(b.Context(), o)
			if err != nil {
				b.Fatal(err)
			}
			start, err := first.Next(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			if err := first.Close(); err != nil {
				b.Fatal(err)
			}
			o.From = start.Position
			magento1test.Break(b, db, c.update)
			var end string
			if err := db.QueryRowContext(b.Context(), "SELECT @@GLOBAL.gtid_binlog_pos").Scan(&end); err != nil {
				b.Fatal(err)
			}
			var before runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			var heap uint64
			for b.Loop() {
				r, err := binlog.Open(b.Context(), o)
				if err != nil {
					b.Fatal(err)
				}
				read := make(chan error, 1)
				go func() {
					for {
						batch, err := r.Next(b.Context())
						if err != nil || batch.Position.GTID == end {
							read <- err
							return
						}
					}
				}()
				for ticker := time.NewTicker(20 * time.Millisecond); ; {
					select {
					case err = <-read:
					case <-ticker.C:
						var m runtime.MemStats
						runtime.ReadMemStats(&m)
						heap = max(heap, m.HeapAlloc)
						continue
					}
					break
				}
				if err != nil {
					b.Fatal(err)
				}
				if err := r.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*rows)/b.Elapsed().Seconds(), "rows/s")
			b.ReportMetric(float64(heap-min(heap, before.HeapAlloc))/(1<<20), "MiB")
		})
	}
}
