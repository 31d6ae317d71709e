package magento1_test

import (
	"runtime"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
)

// BenchmarkRead reads 20,000 products, each with 25 values in the default scope, 3 of its
// own at each of three store views, prices, assignments, an image and a stock item, and
// 20,000 customers, addresses and orders. It reports the records read per second and the
// largest heap.
func BenchmarkRead(b *testing.B) {
	const count, many = 20_000, "seq_10001_to_30000"
	dsn, raw := magento1test.NewShop(b, magento1test.Rich, "")
	for _, statement := range []string{
		"INSERT INTO catalog_product_entity (entity_id, entity_type_id, attribute_set_id, sku, created_at, updated_at) SELECT seq, 4, 4, CONCAT('n', seq), '2013-01-01', '2013-01-01' FROM " + many,
		"INSERT INTO catalog_product_entity_varchar (entity_type_id, attribute_id, entity_id, value) SELECT 4, a.attribute_id, seq, CONCAT('value ', seq) FROM " + many +
			" JOIN eav_attribute a ON a.entity_type_id = 4 AND a.backend_type = 'varchar' AND a.attribute_id NOT IN (87, 88, 89, 90, 97)",
		"INSERT INTO catalog_product_entity_int (entity_type_id, attribute_id, entity_id, value) SELECT 4, a, seq, 1 FROM " + many + " JOIN (SELECT 98 a UNION SELECT 104 UNION SELECT 123) x",
		"INSERT INTO catalog_product_entity_text (entity_type_id, attribute_id, entity_id, value) SELECT 4, a, seq, REPEAT('some words ', 50) FROM " + many + " JOIN (SELECT 74 a UNION SELECT 75) x",
		"INSERT INTO catalog_product_entity_decimal (entity_type_id, attribute_id, entity_id, value) SELECT 4, a, seq, 12.5 FROM " + many + " JOIN (SELECT 77 a UNION SELECT 82) x",
		"INSERT INTO catalog_product_entity_datetime (entity_type_id, attribute_id, entity_id, value) SELECT 4, 79, seq, NULL FROM " + many,
		"INSERT INTO catalog_product_entity_varchar (entity_type_id, attribute_id, store_id, entity_id, value) SELECT 4, a, s, seq, CONCAT('view ', seq) FROM " + many +
			" JOIN (SELECT 73 a UNION SELECT 99 UNION SELECT 100) x JOIN (SELECT 1 s UNION SELECT 2 UNION SELECT 3) y",
		"INSERT INTO catalog_product_website SELECT seq, w FROM " + many + " JOIN (SELECT 1 w UNION SELECT 2) x",
		"INSERT INTO catalog_category_product SELECT c, seq, seq FROM " + many + " JOIN (SELECT 3 c UNION SELECT 4) x",
		"INSERT INTO cataloginventory_stock_item (product_id, stock_id, qty, is_in_stock) SELECT seq, 1, 5, 1 FROM " + many,
		"INSERT INTO cataloginventory_stock_status SELECT seq, w, 1, 5, 1 FROM " + many + " JOIN (SELECT 1 w UNION SELECT 2) x",
		"INSERT INTO catalog_product_entity_tier_price (entity_id, qty, value, website_id) SELECT seq, 5, 9, 0 FROM " + many,
		"INSERT INTO catalog_product_entity_media_gallery (value_id, attribute_id, entity_id, value) SELECT seq, 90, seq, CONCAT('/i/m/', seq, '.jpg') FROM " + many,
		"INSERT INTO catalog_product_entity_media_gallery_value SELECT seq, 0, 'label', 1, 0 FROM " + many,
		"INSERT INTO catalog_product_entity_varchar (entity_type_id, attribute_id, entity_id, value) SELECT 4, a, seq, CONCAT('/i/m/', seq, '.jpg') FROM " + many + " JOIN (SELECT 87 a UNION SELECT 88 UNION SELECT 89) x",
		"INSERT INTO customer_entity (entity_id, website_id, email, group_id) SELECT seq, 1, CONCAT('n', seq, '@example.com'), 1 FROM " + many,
		"INSERT INTO customer_entity_varchar (attribute_id, entity_id, value) SELECT a.seq, c.seq, 'value' FROM " + many + " c, seq_3_to_8 a",
		"INSERT INTO customer_address_entity (entity_id, parent_id) SELECT seq, seq FROM " + many,
		"INSERT INTO customer_address_entity_varchar (attribute_id, entity_id, value) SELECT a.seq, c.seq, 'value' FROM " + many + " c, seq_26_to_32 a WHERE a.seq <> 29",
		"INSERT INTO sales_flat_order (entity_id, increment_id, customer_id, created_at) SELECT seq, seq, seq, '2012-01-01' FROM " + many,
		"INSERT INTO sales_flat_order_item (order_id) SELECT c.seq FROM " + many + " c, seq_1_to_2",
		"INSERT INTO sales_flat_order_address (parent_id, address_type) SELECT c.seq, 'billing' FROM " + many + " c, seq_1_to_2",
		"INSERT INTO sales_flat_order_status_history (parent_id, created_at) SELECT c.seq, '2012-01-01' FROM " + many + " c, seq_1_to_2",
	} {
		if _, err := raw.ExecContext(b.Context(), statement); err != nil {
			b.Fatal(statement, err)
		}
	}
	d, err := magento1.Open(b.Context(), magento1.Options{DSN: dsn, Schemas: shopSchemas(b)})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	for _, part := range []magento1.Part{magento1.Products, magento1.Images, magento1.Stock, magento1.Customers, magento1.Addresses, magento1.Orders} {
		b.Run(string(part), func(b *testing.B) {
			var heap uint64
			n := 0
			for b.Loop() {
				for _, err := range d.RecordsAfter(b.Context(), part, 10_000) {
					if err != nil {
						b.Fatal(err)
					}
					if n++; n%5000 == 0 {
						var m runtime.MemStats
						runtime.ReadMemStats(&m)
						heap = max(heap, m.HeapAlloc)
					}
				}
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "records/s")
			b.ReportMetric(float64(heap)/(1<<20), "MiB")
		})
		b.Run(string(part)+"_digests", func(b *testing.B) {
			for b.Loop() {
				for after := adapter.Key(10_000); after < 10_000+count; after += magento1.RangeSize {
					if _, err := d.Digests(b.Context(), part, after, after+magento1.RangeSize); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.N*count)/b.Elapsed().Seconds(), "records/s")
		})
	}
}
