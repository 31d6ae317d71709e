package replica_test

import (
	"context"
	"slices"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/idmap"
	"github.com/portico-commerce/portico/adapter/replica"
)

// Find returns the document that carries a legacy id.
func (b *staticBackend) Find(ctx context.Context, root adapter.Resource, key adapter.Key, _ adapter.Record) (replica.Document, error) {
	for _, d := range b.documents[root] {
		if item, _, err := d.Read(ctx); err == nil && item.Key == key {
			return d, nil
		}
	}
	return replica.Document{}, &adapter.Error{Kind: adapter.NotFound, Op: "find"}
}

func TestForget(t *testing.T) {
	local, backend := newAgreeingPair(t)
	ctx := t.Context()
	enter := func(mappings ...idmap.Mapping) {
		t.Helper()
		if err := local.PutMappings(ctx, mappings...); err != nil {
			t.Fatal(err)
		}
	}
	without := func(r adapter.Resource, id string) {
		backend.documents[r] = slices.DeleteFunc(backend.documents[r], func(d replica.Document) bool { return d.ID == id })
	}
	without(adapter.Products, "products_2")
	without(adapter.Products, "products_4")
	without(adapter.Customers, "customers_1")
	without(adapter.Customers, "customers_2")
	backend.documents[adapter.Customers] = append(backend.documents[adapter.Customers], newDocument("customers_1", 0, "addr_2"))
	enter(
		idmap.Mapping{Resource: adapter.Products, Key: 4, BackendID: "products_4", Intent: []byte("{}")},
		idmap.Mapping{Resource: adapter.Products, Key: 5}, // its document carries the key
		idmap.Mapping{Resource: adapter.Products, Key: 99999, BackendID: "products_1 "},
	)
	without(adapter.Products, "products_6")
	enter(idmap.Mapping{Resource: adapter.Products, Key: 6})
	if err := local.DeleteMapping(ctx, adapter.Products, 7); err != nil {
		t.Fatal(err)
	}
	const done = adapter.ErrorKind(99)
	a := newAdapter(t, local, backend)
	for _, c := range []struct {
		name     string
		resource adapter.Resource
		key      adapter.Key
		want     adapter.ErrorKind
	}{
		{"exists at the backend", adapter.Products, 1, adapter.Conflict},
		{"missing at the backend", adapter.Products, 2, done},
		{"forgotten already", adapter.Products, 2, adapter.NotFound},
		{"unresolved write", adapter.Products, 4, adapter.Conflict},
		{"no backend id, exists at the backend", adapter.Products, 5, adapter.Conflict},
		{"no backend id, missing at the backend", adapter.Products, 6, done},
		{"no mapping", adapter.Products, 7, adapter.NotFound},
		{"missing in the replica", adapter.Products, 99999, done},
		{"part that exists at the backend", adapter.CustomerAddresses, 2, adapter.Conflict},
		{"part missing at the backend", adapter.CustomerAddresses, 1, done},
		{"root with parts", adapter.Customers, 2, done},
		{"part of a forgotten root", adapter.CustomerAddresses, 3, adapter.NotFound},
		{"part without ids", adapter.StockItems, 1, adapter.Unsupported},
		{"no backend resource", adapter.Orders, 1, adapter.Unsupported},
	} {
		err := a.Forget(ctx, c.resource, c.key)
		if got := adapter.KindOf(err); c.want == done && err != nil || c.want != done && (err == nil || got != c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		store, storeErr := local.Store(c.resource)
		if storeErr != nil {
			t.Fatal(storeErr)
		}
		_, err = store.Get(ctx, &adapter.GetParams{Key: c.key})
		gone := c.want == done || slices.Contains([]string{"forgotten already", "part of a forgotten root"}, c.name)
		if (adapter.KindOf(err) == adapter.NotFound && err != nil) != gone {
			t.Errorf("%s: the record: %v", c.name, err)
		}
		if mappings, err := local.MappingsByKey(ctx, c.resource, []adapter.Key{c.key}); err != nil || gone && len(mappings) != 0 {
			t.Errorf("%s: the mapping: %v, %v", c.name, mappings, err)
		}
	}
}
