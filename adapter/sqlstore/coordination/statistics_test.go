package coordination

import (
	"slices"
	"testing"

	"github.com/portico-commerce/portico/adapter"
)

// TestGrowth counts imports until the statistics are due.
func TestGrowth(t *testing.T) {
	product := adapter.Aggregate{Record: adapter.NewRecord(&adapter.Schema{Resource: adapter.Products})}
	images := adapter.Aggregate{Record: product.Record, PartsOnly: true, PartsOf: []adapter.Resource{adapter.ProductImages}}
	type batch struct {
		one     adapter.Aggregate
		created int
		want    bool
	}
	for _, c := range []struct {
		name    string
		batches []batch
	}{
		{"small batches", []batch{{product, 100, false}, {product, 399, false}, {product, 1, true}, {product, 100, false}, {product, 3399, false}, {product, 1, true}}},
		{"a batch beyond several limits", []batch{{product, 9000, true}, {product, 22_999, false}, {product, 1, true}}},
		{"nothing created", []batch{{product, 0, false}, {product, 500, true}, {product, 0, false}}},
		{"the tables of images are empty when products are stored", []batch{{product, 9000, true}, {images, 499, false}, {images, 1, true}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var g Statistics
			for i, b := range c.batches {
				outcomes := slices.Repeat([]adapter.Imported{{Outcome: adapter.ImportCreated}}, b.created)
				outcomes = append(outcomes, adapter.Imported{Outcome: adapter.ImportEqual})
				if got := g.add(slices.Repeat([]adapter.Aggregate{b.one}, b.created+1), outcomes); got != b.want {
					t.Errorf("batch %d: %t, want %t", i, got, b.want)
				}
			}
		})
	}
}

// TestChangesAreNoGrowth checks that changed records do not count, because their table stays as large as it is, and
// that changed parts do, because they may have filled an empty table.
func TestChangesAreNoGrowth(t *testing.T) {
	product := adapter.Aggregate{Record: adapter.NewRecord(&adapter.Schema{Resource: adapter.Products})}
	images := adapter.Aggregate{Record: product.Record, PartsOnly: true, PartsOf: []adapter.Resource{adapter.ProductImages}}
	changed := slices.Repeat([]adapter.Imported{{Outcome: adapter.ImportChanged}}, 500)
	var g Statistics
	if g.add(slices.Repeat([]adapter.Aggregate{product}, 500), changed) {
		t.Error("the statistics are renewed after changes of products")
	}
	if !g.add(slices.Repeat([]adapter.Aggregate{images}, 500), changed) {
		t.Error("the statistics are not renewed after changes of images")
	}
}
