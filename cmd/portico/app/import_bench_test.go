package app

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// BenchmarkImport imports 5,000 customers and 5,000 orders with six parts each, and then
// repeats the import without changes.
func BenchmarkImport(b *testing.B) {
	for _, engine := range []struct {
		name string
		dsn  func(testing.TB) string
	}{
		{"sqlite", func(tb testing.TB) string { return "sqlite:" + filepath.Join(tb.TempDir(), "store.db") }},
		{"postgres", sqltest.Postgres},
		{"mariadb", sqltest.MariaDB},
	} {
		b.Run(engine.name, func(b *testing.B) {
			dsn, raw := magento1test.New(b, "")
			const many = "seq_10001_to_15000"
			if _, err := raw.ExecContext(b.Context(), `
				INSERT INTO customer_entity (entity_id, website_id, email, group_id) SELECT seq, 1, CONCAT('n', seq, '@example.com'), 1 FROM `+many+`;
				INSERT INTO customer_entity_varchar (attribute_id, entity_id, value) SELECT a.seq, c.seq, 'value' FROM `+many+` c, seq_3_to_8 a;
				INSERT INTO customer_entity_datetime (attribute_id, entity_id, value) SELECT 11, seq, '1980-01-01' FROM `+many+`;
				INSERT INTO sales_flat_order (entity_id, increment_id, customer_id, created_at) SELECT seq, seq, seq, '2012-01-01' FROM `+many+`;
				INSERT INTO sales_flat_order_item (order_id) SELECT c.seq FROM `+many+` c, seq_1_to_2;
				INSERT INTO sales_flat_order_address (parent_id, address_type) SELECT c.seq, 'billing' FROM `+many+` c, seq_1_to_2;
				INSERT INTO sales_flat_order_status_history (parent_id, created_at) SELECT c.seq, '2012-01-01' FROM `+many+` c, seq_1_to_2`); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				b.StopTimer()
				b.Setenv("PORTICO_SQL_DSN", engine.dsn(b))
				b.Setenv("PORTICO_SQL_MEDIA_DIR", b.TempDir())
				mustRun(b, "credentials", "list") // makes the tables
				b.StartTimer()
				for _, kind := range []string{"customers", "orders"} {
					for _, run := range []string{kind, kind + "_again"} {
						began := time.Now()
						mustRun(b, "import", "--from", dsn, kind)
						b.ReportMetric(5000/time.Since(began).Seconds(), run+"/s")
					}
				}
			}
		})
	}
}
