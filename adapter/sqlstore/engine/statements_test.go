package engine

import "testing"

// TestBuiltStatementsAreBounded builds more statements than the cache can hold.
func TestBuiltStatementsAreBounded(t *testing.T) {
	k := newStatements(&Engine{}, nil, PoolOptions{})
	for i := range 2 * maxBuilt {
		k.AddBuilt(i, Built{Text: "SELECT"})
	}
	if _, first := k.LookupBuilt(0); !first || len(k.built) != maxBuilt {
		t.Errorf("%d are kept, the first: %v", len(k.built), first)
	}
}
