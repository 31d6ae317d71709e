package guard_test

import (
	"context"
	"testing"

	"github.com/portico-commerce/portico/adapter/guard"
)

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
