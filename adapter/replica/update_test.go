package replica_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/replica"
)

// dump returns all values and mappings of the backend's resources, so that a test can
// compare the states before and after.
func (f *fixture) dump() string {
	f.t.Helper()
	var b strings.Builder
	for _, res := range f.memory.resources {
		store := adaptertest.StoreOf(f.t, f.local, res.Resource)
		storeIDs := []int64{0}
		if res.Resource == adapter.Products {
			storeIDs = []int64{0, 1, 2, 3}
		}
		for _, storeID := range storeIDs {
			onDemand := []string{"tier_price", "group_price", "stock_item"}
			if res.Resource != adapter.Products {
				onDemand = nil
			}
			for _, r := range adaptertest.MustList(f.t, store, adapter.ListParams{StoreID: storeID, With: onDemand}).Records {
				for _, name := range []string{"updated_at", "low_stock_date"} {
					if _, ok := r.Schema.Index(name); ok {
						r.Set(name, adapter.Value{})
					}
				}
				fmt.Fprintln(&b, res.Resource, storeID, strings.ReplaceAll(adaptertest.FormatRecord(r), "value_id", ""))
			}
		}
		mappings, err := f.local.ListMappings(f.t.Context(), res.Resource, 0, 1000)
		if err != nil {
			f.t.Fatal(err)
		}
		for _, mapping := range mappings {
			fmt.Fprintf(&b, "%s %d %s %s\n", mapping.Resource, mapping.Key, mapping.BackendID, mapping.Intent)
		}
	}
	return b.String()
}

// TestSentChanges checks that the backend gets the changes of backend-owned attributes and no
// others.
func TestSentChanges(t *testing.T) {
	for _, c := range []struct {
		name    string
		r       adapter.Resource
		key     adapter.Key
		level   int64
		change  attrs
		changed []string // nil if nothing is sent
	}{
		{"backend-owned and others", adapter.Products, 1, 0, attrs{"name": "x", "price": "2.0000", "url_key": "x"}, []string{"name", "price"}},
		{"not backend-owned", adapter.Products, 1, 0, attrs{"url_key": "x", "weight": "1.0000"}, nil},
		{"unchanged value", adapter.Products, 1, 0, attrs{"name": adapter.TextValue("Steel Kettle")}, nil},
		{"no values", adapter.Products, 1, 0, attrs{}, nil},
		{"values of a store view", adapter.Products, 1, 2, attrs{"name": "x", "status": 2}, []string{"1 status", "2 name", "2 status"}},
		{"inherited value of a store view", adapter.Products, 1, 2, attrs{"name": "Steel Kettle"}, []string{"2 name"}},
		{"value of a store view that is not backend-owned", adapter.Products, 1, 2, attrs{"meta_title": "x"}, nil},
		{"global value at a store view", adapter.Products, 1, 2, attrs{"name": "x", "price": "2.0000"}, []string{"price", "2 name"}},
		{"prices", adapter.Products, 3, 0, attrs{"tier_price": []attrs{{"website_id": 0, "cust_group": 1, "price": "1.0000", "price_qty": "9.0000"}}}, []string{"tier_price"}},
		{"the same prices", adapter.Products, 3, 0, attrs{"tier_price": []attrs{}}, nil},
		{"stock of a product", adapter.Products, 1, 0, attrs{"stock_item": []attrs{{"qty": "1.5000"}}}, []string{"stock_item"}},
		{"stock attribute not backend-owned", adapter.Products, 1, 0, attrs{"stock_item": []attrs{{"min_qty": "1.5000"}}}, nil},
		{"stock item", adapter.StockItems, 1, 0, attrs{"qty": "1.5000", "min_qty": "1.0000"}, []string{"qty"}},
		{"address", adapter.CustomerAddresses, 1, 0, attrs{"fax": "1", "street": []string{"x"}}, []string{"street"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			watch := &recordingBackend{memoryBackend: f.memory}
			a, err := replica.New(replica.Options{Replica: f.local, Backend: watch})
			if err != nil {
				t.Fatal(err)
			}
			f.Adapter = a
			before := f.get(c.r, c.key)
			if err := f.update(c.r, c.key, c.level, c.change); err != nil {
				t.Fatal(err)
			}
			if c.changed == nil {
				if len(watch.writes) != 0 {
					t.Fatalf("the backend got %+v", watch.writes[0])
				}
				return
			}
			if len(watch.writes) != 1 || !slices.Equal(changesOf(watch.writes[0]), c.changed) {
				t.Fatalf("the backend got %d writes, the first with %v, want %v", len(watch.writes), changesOf(watch.writes[0]), c.changed)
			}
			w := watch.writes[0]
			for _, name := range w.Changed {
				if v := c.change.Record(before.Schema).Get(name); v.Kind() != adapter.Records && (adaptertest.FormatValue(w.New.Get(name)) != adaptertest.FormatValue(v) || adaptertest.FormatValue(w.Old.Get(name)) != adaptertest.FormatValue(before.Get(name))) {
					t.Errorf("%s: %s was %s", name, adaptertest.FormatValue(w.New.Get(name)), adaptertest.FormatValue(w.Old.Get(name)))
				}
			}
			if c.r == adapter.CustomerAddresses && (w.RootKey != 1 || w.RootID != f.id(adapter.Customers, 1) || len(w.Siblings) != 2 || w.Siblings[0].ID != w.ID || w.Siblings[0].Record.Get("street").Texts()[0] != "x") {
				t.Errorf("the root and the siblings of the write: %+v", w)
			}
			f.checkAgreement()
			f.checkNoIntents()
		})
	}
}

// changesOf returns the attributes that a write changes, at store views with the store view.
func changesOf(w replica.Write) []string {
	changes := slices.Clone(w.Changed)
	for _, view := range w.Views {
		for _, name := range view.Changed {
			changes = append(changes, fmt.Sprintf("%d %s", view.Store, name))
		}
	}
	return changes
}

// A recordingBackend records the writes that it gets.
type recordingBackend struct {
	*memoryBackend
	writes []replica.Write
}

func (w *recordingBackend) Create(ctx context.Context, write *replica.Write) (string, error) {
	w.writes = append(w.writes, *write)
	return w.memoryBackend.Create(ctx, write)
}

func (w *recordingBackend) Update(ctx context.Context, write *replica.Write) error {
	w.writes = append(w.writes, *write)
	return w.memoryBackend.Update(ctx, write)
}

func (w *recordingBackend) Delete(ctx context.Context, write *replica.Write) error {
	w.writes = append(w.writes, *write)
	return w.memoryBackend.Delete(ctx, write)
}

// TestRefusedByTheBackend checks that a write that the backend refuses leaves no trace in
// the replica.
func TestRefusedByTheBackend(t *testing.T) {
	kinds := []adapter.ErrorKind{adapter.Conflict, adapter.Invalid, adapter.Unsupported, adapter.NotFound}
	for i, c := range append(writeCases(), rollBackCases()...) {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			if c.before != nil {
				c.before(f)
			}
			before := f.dump()
			verb := strings.Fields(c.name)[0]
			kind := kinds[i%len(kinds)]
			if kind == adapter.NotFound && verb != "update" {
				kind = adapter.Conflict // a record that is not found counts as deleted
			}
			refusal := memoryError(kind, "field")
			f.memory.before = func(_ context.Context, call string) error {
				for _, verb := range []string{"Create ", "Update ", "Delete "} {
					if strings.HasPrefix(call, verb) {
						return refusal
					}
				}
				return nil
			}
			if err := c.write(f); !errors.Is(err, refusal) {
				t.Errorf("error %v, want the backend's %v", err, refusal)
			}
			if after := f.dump(); after != before {
				t.Errorf("the refused write changed %s", difference(before, after))
			}
			f.checkNoIntents()
			f.memory.clearFaults()
			if err := c.write(f); err != nil {
				t.Errorf("without faults: %v", err)
			}
			f.checkAgreement()
		})
	}
}

// rollBackCases are updates that are hard to undo.
func rollBackCases() []writeCase {
	return []writeCase{
		{name: "update null and absent values", before: func(f *fixture) {
			if err := f.update(adapter.Customers, 2, 0, attrs{"middlename": nil, "taxvat": nil, "prefix": "Dr"}); err != nil {
				f.t.Fatal(err)
			}
		}, write: func(f *fixture) error {
			return f.update(adapter.Customers, 2, 0, attrs{"middlename": "M", "suffix": "S", "prefix": nil})
		}},
		{name: "update the default address", write: func(f *fixture) error {
			return f.update(adapter.CustomerAddresses, 2, 0, attrs{"is_default_billing": 1, "is_default_shipping": 1})
		}},
		{name: "update values that a store view had of its own", before: func(f *fixture) {
			if err := f.update(adapter.Products, 3, 2, attrs{"name": "own", "meta_title": nil}); err != nil {
				f.t.Fatal(err)
			}
		}, write: func(f *fixture) error {
			return f.update(adapter.Products, 3, 2, attrs{"name": "other", "description": "own", "meta_title": "t", "price": "3.0000"})
		}},
		{name: "update all lists of a product", write: func(f *fixture) error {
			return f.update(adapter.Products, 1, 1, attrs{
				"tier_price":  []attrs{{"website_id": 0, "cust_group": 2, "price": "1.0000", "price_qty": "3.0000"}},
				"group_price": []attrs{{"website_id": 0, "cust_group": 2, "price": "1.0000"}},
				"stock_item":  []attrs{{"qty": "1.0000", "is_in_stock": 0}},
			})
		}},
		{name: "update that removes values", write: func(f *fixture) error {
			return f.update(adapter.Products, 1, 0, attrs{"special_price": adapter.UnsetValue(), "description": adapter.UnsetValue(), "name": "x"})
		}},
	}
}

// difference returns the lines that only one of two texts contains.
func difference(a, b string) string {
	was, is := strings.Split(a, "\n"), strings.Split(b, "\n")
	out := ""
	for _, line := range was {
		if !slices.Contains(is, line) {
			out += "\n- " + line
		}
	}
	for _, line := range is {
		if !slices.Contains(was, line) {
			out += "\n+ " + line
		}
	}
	return out
}

// TestOutcomeUnknown loses the answer of a write, and checks that the next access by the
// same process finds out the outcome.
func TestOutcomeUnknown(t *testing.T) {
	for _, c := range writeCases() {
		for _, maybeDone := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s done %v", c.name, maybeDone), func(t *testing.T) {
				f := newFixture(t)
				before := c.observe(f, lossy)
				lost := memoryError(adapter.Unavailable, "")
				hook := func(_ context.Context, call string) error {
					for _, verb := range []string{"Create ", "Update ", "Delete "} {
						if strings.HasPrefix(call, verb) {
							return lost
						}
					}
					return nil
				}
				if maybeDone {
					f.memory.after = hook
				} else {
					f.memory.before = hook
				}
				if err := c.write(f); !errors.Is(err, lost) {
					t.Fatalf("error %v, want %v", err, lost)
				}
				f.memory.clearFaults()
				for _, res := range f.memory.resources {
					f.keys(res.Resource, adapter.Query{})
				}
				if state := c.observe(f, lossy); (state != before) != maybeDone {
					t.Errorf("done: %v, but the replica holds %s", maybeDone, state)
				}
				if err := f.Scan(t.Context()); err != nil { // covers records that are in no list
					t.Fatal(err)
				}
				f.checkAgreement()
				f.checkNoIntents()
			})
		}
	}
}

// TestCanceledCaller cancels a caller while the backend hangs, and checks that the next
// access finds out the outcome.
func TestCanceledCaller(t *testing.T) {
	f := newFixture(t)
	ctx, leave := context.WithCancel(t.Context())
	f.memory.before = func(ctx context.Context, call string) error {
		if call != "Update products" {
			return nil
		}
		leave()
		<-ctx.Done()
		return ctx.Err()
	}
	err := f.store(adapter.Products).Update(ctx, &adapter.UpdateParams{Key: 1, Change: func(current adapter.Record) (adapter.Record, error) {
		return attrs{"name": "x", "url_key": "x"}.Record(current.Schema), nil
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	f.memory.clearFaults()
	f.checkValues(adapter.Products, 1, attrs{"name": "Steel Kettle", "url_key": "steel-kettle"})
	f.checkAgreement()
	f.checkNoIntents()
}

// TestCreateAfterUnknownOutcome checks that a record that was never created does not
// conflict with a new one.
func TestCreateAfterUnknownOutcome(t *testing.T) {
	f := newFixture(t)
	f.memory.fail("Create products", memoryError(adapter.Unavailable, ""), nil)
	if _, err := f.create(adapter.Products, newProduct("mine")); adapter.KindOf(err) != adapter.Unavailable {
		t.Fatal(err)
	}
	f.memory.clearFaults()
	key, err := f.create(adapter.Products, newProduct("mine"))
	if err != nil {
		t.Fatal(err)
	}
	f.checkValues(adapter.Products, key, attrs{"sku": "mine", "price": "1.2345"})
	f.checkAgreement()
	f.checkNoIntents()

	// If the record was created, the second create conflicts with it.
	f.memory.fail("Create products", nil, memoryError(adapter.Unavailable, ""))
	if _, err := f.create(adapter.Products, newProduct("made")); adapter.KindOf(err) != adapter.Unavailable {
		t.Fatal(err)
	}
	f.memory.clearFaults()
	if _, err := f.create(adapter.Products, newProduct("made")); adapter.KindOf(err) != adapter.Conflict {
		t.Errorf("second create: %v, want conflict", err)
	}
	if found := f.keys(adapter.Products, where("sku", "made")); len(found) != 1 {
		t.Errorf("found %v", found)
	}
	f.checkAgreement()
}

// TestCreateOfOtherProcess leaves the record of a pending create to the process that
// creates it.
func TestCreateOfOtherProcess(t *testing.T) {
	f := newFixture(t)
	f.memory.fail("Create products", memoryError(adapter.Unavailable, ""), nil)
	_, _ = f.create(adapter.Products, newProduct("theirs"))
	other := f.restart()
	other.SetForeignIntentAge(1 << 40)
	if found := other.keys(adapter.Products, where("sku", "theirs")); len(found) != 0 {
		t.Errorf("the pending record is visible: %v", found)
	}
	if err := other.Scan(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := other.create(adapter.Products, newProduct("theirs")); adapter.KindOf(err) != adapter.Conflict {
		t.Errorf("create: %v, want conflict", err)
	}
	other.SetForeignIntentAge(0)
	if _, err := other.create(adapter.Products, newProduct("theirs")); err != nil {
		t.Errorf("create after the intent's age: %v", err)
	}
	other.checkAgreement()
}

// TestPartWithoutID checks that changes of a part whose backend id is unknown are refused and
// leave no trace.
func TestPartWithoutID(t *testing.T) {
	f := newFixture(t)
	if err := f.local.DeleteMapping(t.Context(), adapter.CustomerAddresses, 1); err != nil {
		t.Fatal(err)
	}
	before := f.dump()
	for name, err := range map[string]error{
		"update": f.update(adapter.CustomerAddresses, 1, 0, attrs{"city": "x"}),
		"delete": f.delete(adapter.CustomerAddresses, 1),
	} {
		if adapter.KindOf(err) != adapter.Unsupported {
			t.Errorf("%s: %v, want unsupported", name, err)
		}
	}
	if after := f.dump(); after != before {
		t.Errorf("the refused writes changed %s", difference(before, after))
	}
	f.checkNoIntents()
}

// TestReadOnlyBackend checks that writes that the backend does not accept are refused and
// leave no trace in the replica.
func TestReadOnlyBackend(t *testing.T) {
	f := newFixture(t)
	resources := memoryResources()
	for i := range resources {
		resources[i].Creates, resources[i].Updates, resources[i].Deletes = false, false, false
	}
	f.memory.resources = resources
	f = f.restart()
	before := f.dump()
	_, creates := f.create(adapter.Products, newProduct("x"))
	_, assigns := f.create(adapter.ProductWebsites, attrs{"product_id": 1, "website_id": 2})
	for name, err := range map[string]error{
		"create": creates, "assign": assigns,
		"update": f.update(adapter.Products, 1, 0, attrs{"name": "x"}),
		"delete": f.delete(adapter.Products, 1),
		"part":   f.update(adapter.StockItems, 1, 0, attrs{"qty": "1.0000"}),
		"order":  f.update(adapter.Orders, 1, 0, attrs{"status": "x"}),
	} {
		if adapter.KindOf(err) != adapter.Unsupported {
			t.Errorf("%s: %v, want unsupported", name, err)
		}
	}
	if after := f.dump(); after != before {
		t.Errorf("the refused writes changed %s", difference(before, after))
	}
	if err := f.update(adapter.Products, 1, 0, attrs{"url_key": "x"}); err != nil {
		t.Errorf("update of an attribute that is not backend-owned: %v", err)
	}
}
