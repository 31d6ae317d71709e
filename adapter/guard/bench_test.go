package guard_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/guard"
)

// BenchmarkGet compares a guarded Get with the bare store's, in turns of many calls
// each, and reports the median of their ratios.
func BenchmarkGet(b *testing.B) {
	g := protect(b, guard.Options{})
	bare, err := g.db.Adapter().Store(adapter.StockItems)
	if err != nil {
		b.Fatal(err)
	}
	behind, err := g.Adapter(g.db.Adapter()).Store(adapter.StockItems)
	if err != nil {
		b.Fatal(err)
	}
	const turn = 500
	timed := func(s adapter.Store) float64 {
		start := time.Now()
		for range turn {
			if _, err := s.Get(b.Context(), &adapter.GetParams{Key: 1}); err != nil {
				b.Fatal(err)
			}
		}
		return float64(time.Since(start).Nanoseconds()) / turn
	}
	timed(bare)
	var ratios, extra []float64
	for b.Loop() {
		without, with := timed(bare), timed(behind)
		ratios, extra = append(ratios, with/without), append(extra, with-without)
	}
	slices.Sort(ratios)
	slices.Sort(extra)
	b.ReportMetric(ratios[len(ratios)/2], "guarded/bare")
	b.ReportMetric(extra[len(extra)/2], "ns-more/call")
}

// BenchmarkDo is what the guard alone costs.
func BenchmarkDo(b *testing.B) {
	g := protect(b, guard.Options{})
	b.ReportAllocs()
	for b.Loop() {
		if err := g.Do(b.Context(), "brush", "paint", func(context.Context) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}
