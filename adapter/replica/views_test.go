package replica_test

import (
	"slices"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/replica"
)

// nameAt returns the name of a product at a store view, as clients read it.
func (f *fixture) nameAt(key adapter.Key, storeID int64) string {
	f.t.Helper()
	return adaptertest.MustGet(f.t, f.store(adapter.Products), adapter.GetParams{Key: key, StoreID: storeID}).Get("name").Text()
}

// editView changes the name of a product at a store view, directly at the backend; "" lets it inherit.
func (f *fixture) editView(key, store adapter.Key, name string) {
	f.t.Helper()
	view := adapter.NewRecord(schemas().Of(adapter.Products))
	view.Set("name", adapter.TextValue(name))
	if name == "" {
		view.Set("name", adapter.NullValue())
	}
	f.memory.edit(adapter.Products, f.id(adapter.Products, key), func(d *memoryDoc) {
		d.putViews([]replica.ViewWrite{{Store: store, New: view, Changed: []string{"name"}}})
	})
}

// TestViewsChangedAtTheBackend changes values of store views at the backend.
func TestViewsChangedAtTheBackend(t *testing.T) {
	f := newFixture(t)
	f.editView(1, 2, "Bouilloire")
	if got := []string{f.nameAt(1, 0), f.nameAt(1, 1), f.nameAt(1, 2)}; !slices.Equal(got, []string{"Steel Kettle", "Steel Kettle", "Bouilloire"}) {
		t.Errorf("after a change at a store view: %q", got)
	}
	f.memory.edit(adapter.Products, f.id(adapter.Products, 1), func(d *memoryDoc) { d.record.Set("name", adapter.TextValue("Kettle")) })
	if got := []string{f.nameAt(1, 0), f.nameAt(1, 1), f.nameAt(1, 2)}; !slices.Equal(got, []string{"Kettle", "Kettle", "Bouilloire"}) {
		t.Errorf("after a change at the default scope: %q", got)
	}
	f.editView(1, 2, "")
	if got := f.nameAt(1, 2); got != "Kettle" {
		t.Errorf("a store view that inherits again has %q", got)
	}
	f.checkAgreement()
	f.checkNoIntents()
}

// TestViewsOfPushedProducts checks that a push reads the values at store views only of products that have some, and
// that later changes of all others show.
func TestViewsOfPushedProducts(t *testing.T) {
	local := demoReplica(t)
	if err := adaptertest.Update(t, adaptertest.StoreOf(t, local, adapter.Products), 1, 2, attrs{"name": "Bouilloire"}); err != nil {
		t.Fatal(err)
	}
	f := reopen(t, local, newMemory(), replica.Options{})
	if err := f.Push(t.Context(), 1, nil); err != nil {
		t.Fatal(err)
	}
	if n := f.memory.viewReads.Load(); n != 1 {
		t.Errorf("the values of %d products are read, want 1", n)
	}
	f.editView(3, 2, "Lampe")
	if got := []string{f.nameAt(1, 2), f.nameAt(3, 1), f.nameAt(3, 2)}; !slices.Equal(got, []string{"Bouilloire", "Desk Lamp", "Lampe"}) {
		t.Errorf("the names are %q", got)
	}
	f.checkNoIntents()
}

// TestViewsReachTheBackend writes values of store views, and lets them inherit again.
func TestViewsReachTheBackend(t *testing.T) {
	f := newFixture(t)
	atBackend := func() string {
		d := f.memory.docs[adapter.Products][f.id(adapter.Products, 1)]
		return adaptertest.FormatValue(f.memory.viewsOf(d)[2].Get("name"))
	}
	for _, c := range []struct {
		value any
		want  string
	}{{"Bouilloire", "text Bouilloire"}, {adapter.UnsetValue(), "null"}} {
		if err := f.update(adapter.Products, 1, 2, attrs{"name": c.value}); err != nil {
			t.Fatal(err)
		}
		if got := atBackend(); got != c.want {
			t.Errorf("after %v the backend has %s, want %s", c.value, got, c.want)
		}
	}
	if got := f.nameAt(1, 2); got != "Steel Kettle" {
		t.Errorf("a store view that inherits has %q", got)
	}
	f.checkAgreement()
}

// TestViewsEverywhere changes a value for all store views.
func TestViewsEverywhere(t *testing.T) {
	f := newFixture(t)
	if err := f.update(adapter.Products, 1, 2, attrs{"name": "Bouilloire"}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Kettle", "Kettle"} { // the second time, only the store view changes
		f.editView(1, 3, "Olla")
		if got := f.nameAt(1, 3); got != "Olla" {
			t.Fatalf("the third store view has %q", got)
		}
		err := f.store(adapter.Products).Update(t.Context(), &adapter.UpdateParams{Key: 1, Everywhere: true, Change: func(current adapter.Record) (adapter.Record, error) {
			return attrs{"name": name}.Record(current.Schema), nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		if got := []string{f.nameAt(1, 0), f.nameAt(1, 2), f.nameAt(1, 3)}; !slices.Equal(got, []string{name, name, name}) {
			t.Errorf("after the change: %q", got)
		}
		f.memory.mu.Lock()
		views := f.memory.viewsOf(f.memory.docs[adapter.Products][f.id(adapter.Products, 1)])
		f.memory.mu.Unlock()
		for store, view := range views {
			if v := view.Get("name"); v.Kind() != adapter.Null {
				t.Errorf("store view %d of the backend has %s", store, v.Text())
			}
		}
	}
	f.checkAgreement()
}

// TestViewsImported imports a product that only the backend has, with the values of its store views.
func TestViewsImported(t *testing.T) {
	f := reopen(t, newFixture(t).local, newMemory(), replica.Options{AllocateIDs: true})
	record := attrs{"sku": "theirs", "name": "Theirs", "price": "1.0000", "status": 1}.Record(schemas().Of(adapter.Products))
	d := &memoryDoc{memoryItem: memoryItem{id: "prod_theirs", record: record, rest: newProduct("theirs").Record(record.Schema)}, parts: map[adapter.Resource][]memoryItem{}}
	view := adapter.NewRecord(record.Schema)
	view.Set("name", adapter.TextValue("Leurs"))
	d.putViews([]replica.ViewWrite{{Store: 2, New: view, Changed: []string{"name"}}})
	f.memory.mu.Lock()
	err := f.memory.add(adapter.Products, d)
	f.memory.mu.Unlock()
	if err == nil {
		err = f.Scan(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	// The local replica has the value before any client reads the product.
	found := adaptertest.MustList(t, adaptertest.StoreOf(t, f.local, adapter.Products), adapter.ListParams{Query: where("sku", "theirs"), StoreID: 2})
	if len(found.Records) != 1 || found.Records[0].Get("name").Text() != "Leurs" {
		t.Errorf("found %v", found.Records)
	}
}

// TestViewsKept checks that a backend that begins to own values at store views does not remove the values
// that only the local replica has.
func TestViewsKept(t *testing.T) {
	f := newFixture(t)
	views := f.memory.resource(adapter.Products).ViewAttributes
	f.memory.resource(adapter.Products).ViewAttributes = nil
	before := f.restart()
	if err := before.update(adapter.Products, 1, 2, attrs{"name": "Bouilloire"}); err != nil {
		t.Fatal(err)
	}
	before.memory.edit(adapter.Products, f.id(adapter.Products, 1), func(d *memoryDoc) { d.record.Set("price", adapter.TextValue("9.0000")) })
	if before.get(adapter.Products, 1); before.nameAt(1, 2) != "Bouilloire" {
		t.Fatal("the store view has no value of its own")
	}
	f.memory.resource(adapter.Products).ViewAttributes = views
	after := f.restart()
	if got := after.nameAt(1, 2); got != "Bouilloire" {
		t.Errorf("the store view has %q", got)
	}
	after.editView(1, 2, "Marmite")
	if got := after.nameAt(1, 2); got != "Marmite" {
		t.Errorf("after a change at the backend the store view has %q", got)
	}
}
