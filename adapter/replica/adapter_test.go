package replica_test

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/replica"
	"github.com/portico-commerce/portico/contracttests/nightly"
)

var farFuture = time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC)

// TestConformance: a side with a backend does what a side does alone.
func TestConformance(t *testing.T) {
	sample := nightly.NewSample(t)
	h := adaptertest.Harness{
		Open:    func(t *testing.T) adapter.Adapter { return openShop(t).Adapter },
		Sampled: func() bool { return sample.Takes(100) }, // sqlstore lists them, which has a suite of its own
	}
	if !nightly.Whole() { // lists of the side are slow, and tested in sqlstore
		h.Attributes = func(adapter.Attribute) bool { return false }
	}
	adaptertest.Run(t, h)
}

// TestNew refuses a backend that keeps what there is not.
func TestNew(t *testing.T) {
	side := demoSide(t)
	for name, resources := range map[string][]replica.BackendResource{
		"unknown resource":  {{Resource: "things", Root: "things"}},
		"twice":             {{Resource: adapter.Products, Root: adapter.Products}, {Resource: adapter.Products, Root: adapter.Products}},
		"unknown attribute": {{Resource: adapter.Products, Root: adapter.Products, Attributes: []string{"colour"}}},
		"part first":        {{Resource: adapter.StockItems, Root: adapter.Products, RootAttribute: "product_id"}},
		"part of a part": {
			{Resource: adapter.Products, Root: adapter.Products},
			{Resource: adapter.StockItems, Root: adapter.Products, RootAttribute: "product_id"},
			{Resource: adapter.ProductImages, Root: adapter.StockItems, RootAttribute: "product_id"},
		},
		"unknown owner":         {{Resource: adapter.Products, Root: adapter.Products}, {Resource: adapter.StockItems, Root: adapter.Products, RootAttribute: "owner"}},
		"stock beside products": {{Resource: adapter.Products, Root: adapter.Products}, {Resource: adapter.StockItems, Root: adapter.Products, RootAttribute: "product_id"}},
		"images taken over": {
			{Resource: adapter.Products, Root: adapter.Products},
			{Resource: adapter.ProductImages, Root: adapter.Products, RootAttribute: "product_id", HasIDs: true, ImportsParts: true},
		},
		"unknown match": {{Resource: adapter.Products, Root: adapter.Products}, {Resource: adapter.StockItems, Root: adapter.Products, RootAttribute: "product_id", MatchBy: []string{"x"}}},
	} {
		m := newMemory()
		m.kept = resources
		if _, err := replica.New(replica.Options{Replica: side, Backend: m}); adapter.KindOf(err) != adapter.Invalid {
			t.Errorf("%s: %v, want invalid", name, err)
		}
	}
	if _, err := replica.New(replica.Options{Replica: side, Backend: newMemory(), Unmapped: "guess"}); adapter.KindOf(err) != adapter.Invalid {
		t.Errorf("unknown policy: %v, want invalid", err)
	}
	registry := prometheus.NewRegistry()
	for i, want := range []bool{true, false} {
		_, err := replica.New(replica.Options{Replica: side, Backend: newMemory(), Registerer: registry})
		if (err == nil) != want {
			t.Errorf("registered %d: %v", i, err)
		}
	}
}
