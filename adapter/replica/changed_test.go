package replica_test

import (
	"context"
	"errors"
	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/replica"
	"maps"
	"slices"
	"testing"
)

// TestChanged checks the records that are noted as changed at the backend: records that have
// changed there, once, and no client's write.
func TestChanged(t *testing.T) {
	change := func(f *fixture) {
		f.memory.edit(adapter.Products, f.id(adapter.Products, 2), func(d *memoryDoc) { d.record.Set("name", adapter.TextValue("Renamed")) })
	}
	remove := func(f *fixture) {
		f.memory.mu.Lock()
		defer f.memory.mu.Unlock()
		delete(f.memory.docs[adapter.Products], f.id(adapter.Products, 2))
	}
	read := func(f *fixture) { f.keys(adapter.Products, adapter.Query{}) }
	for _, c := range []struct {
		name string
		do   func(f *fixture)
		want []adapter.Key // products
	}{
		{name: "nothing", do: func(f *fixture) { f.scan(); read(f) }},
		{name: "a client's write", do: func(f *fixture) { _ = f.update(adapter.Products, 2, 0, attrs{"name": "Written"}); f.scan(); read(f) }},
		{name: "changed, found by a scan", do: func(f *fixture) { change(f); f.scan(); f.scan() }, want: []adapter.Key{2}},
		{name: "changed, found by a read", do: func(f *fixture) { change(f); read(f); read(f) }, want: []adapter.Key{2}},
		{name: "changed, found by a write", do: func(f *fixture) { change(f); _ = f.update(adapter.Products, 2, 0, attrs{"sku": "s"}) }, want: []adapter.Key{2}},
		{name: "gone", do: func(f *fixture) { remove(f); read(f); read(f) }, want: []adapter.Key{2}},
		{name: "gone and back", do: func(f *fixture) {
			id := f.id(adapter.Products, 2)
			doc := f.memory.docs[adapter.Products][id]
			remove(f)
			read(f)
			f.memory.mu.Lock()
			f.memory.docs[adapter.Products][id] = doc
			f.memory.mu.Unlock()
			f.scan()
		}, want: []adapter.Key{2, 2}},
		{name: "bound by its legacy id", do: func(f *fixture) {
			mapping, _ := f.mapping(adapter.Products, 2)
			if err := f.local.DeleteMapping(f.t.Context(), adapter.Products, 2); err != nil {
				f.t.Fatal(err)
			}
			f.memory.edit(adapter.Products, mapping.BackendID, func(d *memoryDoc) { d.key = 2 })
			f.scan()
		}, want: []adapter.Key{2}},
		{name: "new", do: func(f *fixture) { placeOrder(f, 4711); f.scan() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			read(f)
			var noted []map[adapter.Resource][]adapter.Key
			f = reopen(t, f.local, f.memory, replica.Options{Changed: func(_ context.Context, changed map[adapter.Resource][]adapter.Key) error {
				noted = append(noted, maps.Clone(changed))
				return nil
			}})
			c.do(f)
			var got []adapter.Key
			for _, changed := range noted {
				got = append(got, changed[adapter.Products]...)
				if keys := changed[adapter.StockItems]; !slices.Equal(keys, changed[adapter.Products]) {
					t.Errorf("stock items of products %v, want %v", keys, changed[adapter.Products])
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("noted products %v, want %v", got, c.want)
			}
			for _, changed := range noted {
				if keys := changed[adapter.Orders]; len(keys) > 0 != (c.name == "new") || len(keys) > 0 && !slices.Equal(keys, []adapter.Key{4711}) {
					t.Errorf("noted %v", noted)
				}
			}
			if c.name == "new" && len(noted) == 0 {
				t.Error("the new order is not noted")
			}
		})
	}
}

// TestChangedFails checks that a record stays unchanged while its change cannot be announced.
func TestChangedFails(t *testing.T) {
	f := newFixture(t)
	name := f.get(adapter.Products, 2).Get("name").Text()
	f.memory.edit(adapter.Products, f.id(adapter.Products, 2), func(d *memoryDoc) { d.record.Set("name", adapter.TextValue("Renamed")) })
	refuse := errors.New("not now")
	f = reopen(t, f.local, f.memory, replica.Options{Changed: func(context.Context, map[adapter.Resource][]adapter.Key) error { return refuse }})
	if _, err := f.store(adapter.Products).Get(t.Context(), &adapter.GetParams{Key: 2}); !errors.Is(err, refuse) {
		t.Errorf("read: %v, want %v", err, refuse)
	}
	f.scan()
	store, err := f.local.Store(adapter.Products)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := store.Get(t.Context(), &adapter.GetParams{Key: 2}); err != nil || r.Get("name").Text() != name {
		t.Errorf("the local replica has the name %s, %v; want %s", r.Get("name").Text(), err, name)
	}
	refuse = nil
	f.checkValues(adapter.Products, 2, attrs{"name": "Renamed"})
}
