package replica_test

import (
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/replica"
	"github.com/portico-commerce/portico/config/testenv"
)

// TestConformance runs the conformance suite on a replica joined with a backend.
func TestConformance(t *testing.T) {
	sample := testenv.NewSample(t)
	h := adaptertest.Harness{
		Open: func(t *testing.T) adapter.Adapter {
			f := newFixture(t)
			for i := range f.memory.resources { // imports write resources that clients cannot
				if res := &f.memory.resources[i]; res.Resource != adapter.StockItems {
					res.Creates, res.Updates, res.Deletes = true, true, true
				}
			}
			return pushingAdapter{f.restart().Adapter}
		},
		OneByOne: true,
		Sampled:  func() bool { return sample.Takes(100) }, // most lists are left to sqlstore's own suite
	}
	if !testenv.Nightly() { // lists are slow, and tested in sqlstore
		h.Attributes = func(adapter.Attribute) bool { return false }
	}
	adaptertest.Run(t, h)
}

// TestNew refuses a backend whose declared resources do not fit the schemas.
func TestNew(t *testing.T) {
	local := demoReplica(t)
	for name, resources := range map[string][]replica.BackendResource{
		"unknown resource":  {{Resource: "things", Root: "things"}},
		"declared twice":    {{Resource: adapter.Products, Root: adapter.Products}, {Resource: adapter.Products, Root: adapter.Products}},
		"unknown attribute": {{Resource: adapter.Products, Root: adapter.Products, Attributes: []string{"colour"}}},
		"part before root":  {{Resource: adapter.StockItems, Root: adapter.Products}},
		"part of a part": {
			{Resource: adapter.Products, Root: adapter.Products},
			{Resource: adapter.StockItems, Root: adapter.Products},
			{Resource: adapter.ProductImages, Root: adapter.StockItems},
		},
		"another root":               {{Resource: adapter.Orders, Root: adapter.Orders}, {Resource: adapter.StockItems, Root: adapter.Orders}},
		"nested attribute not owned": {{Resource: adapter.Products, Root: adapter.Products}, {Resource: adapter.StockItems, Root: adapter.Products}},
		"unknown match":              {{Resource: adapter.Products, Root: adapter.Products}, {Resource: adapter.StockItems, Root: adapter.Products, MatchBy: []string{"x"}}},
	} {
		m := newMemory()
		m.resources = resources
		if _, err := replica.New(replica.Options{Replica: local, Backend: m}); adapter.KindOf(err) != adapter.Invalid {
			t.Errorf("%s: %v, want invalid", name, err)
		}
	}
}
