package mapping_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// manyRates returns a shop with a number of tax rates for postcodes, a fifth of them ranges, in one rule.
func manyRates(t testing.TB, n int) *shop {
	t.Helper()
	data := loadDemo(t)
	schema := adapter.NewSchemas().Of(adapter.TaxRates)
	data.Records[adapter.TaxRates] = nil
	for i := range n {
		r := adapter.NewRecord(schema)
		for name, v := range map[string]int64{"tax_rate_id": int64(i + 1), "tax_class_id": 2, "rule_id": 1} {
			r.Set(name, adapter.IntegerValue(v))
		}
		postcode := fmt.Sprintf("%05d", i)
		if i%5 == 0 {
			postcode = fmt.Sprintf("%05d-%05d", i, i+3)
			r.Set("zip_from", adapter.IntegerValue(int64(i)))
			r.Set("zip_to", adapter.IntegerValue(int64(i+3)))
		}
		for name, text := range map[string]string{"country_id": "US", "region": "CA", "postcode": postcode, "rate": fmt.Sprintf("%d.2500", i%20), "name": "rate"} {
			r.Set(name, adapter.TextValue(text))
		}
		data.Records[adapter.TaxRates] = append(data.Records[adapter.TaxRates], r)
	}
	s := settings()
	s.Prices = resource.PriceSettings{TaxCountry: "US", TaxRegion: "CA", TaxPostcode: "00004"}
	store := openSQLiteStore(t, data, adapter.NewSchemas())
	return serveShop(t, contract.Magento(), s, data, store, store)
}

// BenchmarkTaxRates compares lists in a shop with 50,000 tax rates and in one with 10, in turns. A list
// of the first may take a tenth longer. The first list, which reads the rates, is reported apart.
func BenchmarkTaxRates(b *testing.B) {
	few, many := manyRates(b, 10), manyRates(b, 50_000)
	for _, role := range []contract.Role{contract.Guest, contract.Customer} {
		list := func(s *shop) time.Duration {
			start := time.Now()
			r := s.serve(role, "GET", "/products?limit=100&page=1", "", "Accept", "application/json")
			if r.Status != 200 {
				b.Fatalf("%s: status %d: %s", role, r.Status, r.Body)
			}
			return time.Since(start)
		}
		b.Run(role.String(), func(b *testing.B) {
			b.ReportMetric(float64(list(many).Milliseconds()), "first-ms")
			list(few)
			var times [2][]time.Duration
			for range max(b.N, 300) {
				times[0], times[1] = append(times[0], list(few)), append(times[1], list(many))
			}
			median := func(of []time.Duration) float64 { slices.Sort(of); return float64(of[len(of)/2]) }
			ratio := median(times[1]) / median(times[0])
			b.ReportMetric(median(times[1])/1e3, "many-us")
			b.ReportMetric(ratio, "ratio")
			if ratio > 1.1 {
				b.Errorf("with 50,000 rates a list takes %.2f times as long as with 10", ratio)
			}
		})
	}
}
