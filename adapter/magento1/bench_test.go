package magento1_test

import (
	"runtime"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
)

// BenchmarkRead reads 20,000 products with images and stock items, customers, addresses and
// orders, as [magento1test.Grow] makes them. It reports the records read per second and the
// largest heap.
func BenchmarkRead(b *testing.B) {
	const count = 20_000
	dsn, raw := magento1test.NewShop(b, magento1test.Demo, "")
	if err := magento1test.Grow(b.Context(), raw, "", magento1test.Size{Products: count, Customers: count, Orders: count}); err != nil {
		b.Fatal(err)
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
				for _, err := range d.RecordsAfter(b.Context(), part, magento1test.FirstGrown-1) {
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
				for after := adapter.Key(magento1test.FirstGrown - 1); after < magento1test.FirstGrown+count; after += magento1.RangeSize {
					if _, err := d.Digests(b.Context(), part, after, after+magento1.RangeSize); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.N*count)/b.Elapsed().Seconds(), "records/s")
		})
	}
}
