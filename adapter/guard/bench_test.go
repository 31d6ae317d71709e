package guard_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/guard"
)

// BenchmarkGet compares a guarded Get with an unguarded one, in alternating runs of many
// calls, and reports the median of the ratios.
func BenchmarkGet(b *testing.B) {
	g := newGuarded(b, guard.Options{})
	bare, err := g.db.Adapter().Store(adapter.StockItems)
	if err != nil {
		b.Fatal(err)
	}
	behind, err := g.Adapter(g.db.Adapter()).Store(adapter.StockItems)
	if err != nil {
		b.Fatal(err)
	}
	const callsPerRun = 500
	timed := func(s adapter.Store) float64 {
		start := time.Now()
		for range callsPerRun {
			if _, err := s.Get(b.Context(), &adapter.GetParams{Key: 1}); err != nil {
				b.Fatal(err)
			}
		}
		return float64(time.Since(start).Nanoseconds()) / callsPerRun
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

// BenchmarkDo measures the cost of the guard alone.
func BenchmarkDo(b *testing.B) {
	g := newGuarded(b, guard.Options{})
	b.ReportAllocs()
	for b.Loop() {
		if err := g.Do(b.Context(), "thing", "use", func(context.Context) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}
