package reststore_test

import (
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/config/testenv"
)

// TestConformance runs the conformance suite against the demo store, with part of it in
// backends that differ from Medusa and from each other.
func TestConformance(t *testing.T) {
	t.Parallel()
	for _, kind := range testenv.Rows(t, allKinds, 2) {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			sample := testenv.NewSample(t)
			adaptertest.Run(t, adaptertest.Harness{
				// Imports are tested in package replica, with a backend that owns all resources.
				Open: func(t *testing.T) adapter.Adapter { return struct{ adapter.Adapter }{openShop(t, kind).Adapter} },
				// Lists are tested by sqlstore, which runs the whole suite. An odd number lets each kind get all.
				Sampled:    func() bool { return sample.Takes(51) },
				Attributes: func(adapter.Attribute) bool { return testenv.Nightly() },
			})
		})
	}
}
