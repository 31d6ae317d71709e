package replica_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/idmap"
	"github.com/portico-commerce/portico/adapter/replica"
)

// A pushingAdapter creates imported records at the backend, as they would be invisible
// otherwise, and returns the refusals of a batch as its error.
type pushingAdapter struct{ *replica.Adapter }

func (a pushingAdapter) Import(ctx context.Context, batch []adapter.Aggregate, o adapter.ImportOptions) ([]adapter.Imported, error) {
	o.Push = true
	done, err := a.Adapter.Import(ctx, batch, o)
	for _, one := range done {
		if err == nil {
			err = one.Err
		}
	}
	return done, err
}

// exported returns a record of the local replica as it can be imported, with changed values.
func (f *fixture) exported(r adapter.Resource, key adapter.Key, change attrs) adapter.Aggregate {
	f.t.Helper()
	all, err := f.local.Export(f.t.Context(), r, key-1, 1)
	if err != nil || len(all) != 1 || all[0].Record.Key() != key {
		f.t.Fatalf("export %s %d: %v, %v", r, key, all, err)
	}
	one := all[0]
	changed := change.Record(one.Record.Schema)
	for name := range change {
		one.Record.Set(name, changed.Get(name))
	}
	if r == adapter.Products {
		one.Parts = slices.DeleteFunc(one.Parts, func(part adapter.Record) bool { return part.Schema.Resource == adapter.StockItems })
		one.PartsOf = []adapter.Resource{adapter.ProductWebsites, adapter.ProductCategories, adapter.ProductImages}
	}
	return one
}

// exportedText returns the local replica's content of a record, "" for none.
func (f *fixture) exportedText(r adapter.Resource, key adapter.Key) string {
	f.t.Helper()
	all, err := f.local.Export(f.t.Context(), r, key-1, 1)
	if err != nil {
		f.t.Fatal(err)
	}
	text := ""
	for _, one := range all {
		if one.Record.Key() != key {
			continue
		}
		text += adaptertest.FormatRecord(one.Record)
		for _, part := range one.Parts {
			text += "\n" + adaptertest.FormatRecord(part)
		}
		for _, l := range one.Levels {
			text += fmt.Sprint("\nat ", l.StoreID, ": ", adaptertest.FormatRecord(l.Record))
		}
	}
	return text + "\n"
}

// gone returns the removal of a record.
func gone(r adapter.Resource, key adapter.Key) adapter.Aggregate {
	schema := schemas().Of(r)
	return adapter.Aggregate{Record: attrs{schema.Key: int(key)}.Record(schema), Gone: true}
}

// without returns an aggregate without some of its parts.
func without(one adapter.Aggregate, r adapter.Resource, keys ...adapter.Key) adapter.Aggregate {
	removed := func(part adapter.Record) bool { return part.Schema.Resource == r && slices.Contains(keys, part.Key()) }
	one.Parts = slices.DeleteFunc(slices.Clone(one.Parts), removed)
	one.Levels = slices.DeleteFunc(slices.Clone(one.Levels), func(l adapter.Level) bool { return removed(l.Record) })
	return one
}

// importAll imports a batch that replaces existing records.
func (f *fixture) importAll(batch ...adapter.Aggregate) ([]adapter.Imported, error) {
	return f.Import(f.t.Context(), batch, adapter.ImportOptions{Existing: adapter.ReplaceExisting})
}

// pushAll imports a batch that replaces existing records, and creates missing ones at the
// backend.
func (f *fixture) pushAll(batch ...adapter.Aggregate) ([]adapter.Imported, error) {
	return f.Import(f.t.Context(), batch, adapter.ImportOptions{Existing: adapter.ReplaceExisting, Push: true, Source: "old", Position: "7"})
}

// pushOne is importOne with the options of pushAll.
func (f *fixture) pushOne(one adapter.Aggregate) error {
	done, err := f.pushAll(one)
	if err == nil {
		err = done[0].Err
	}
	return err
}

// importOne imports one record, and returns its refusal as an error.
func (f *fixture) importOne(one adapter.Aggregate) error {
	done, err := f.importAll(one)
	if err == nil {
		err = done[0].Err
	}
	return err
}

// writes returns the number of writes that the backend has received.
func (m *memoryBackend) writes() (n int) {
	for _, verb := range []string{"Create ", "Update ", "Delete "} {
		for _, res := range m.resources {
			n += m.callCount(verb + string(res.Resource))
		}
	}
	return n
}

// TestImportOutcomes checks that an import changes and deletes the backend's records there, that
// nothing is sent for equal records, and that new records wait for Push.
func TestImportOutcomes(t *testing.T) {
	f := newFixture(t)
	changed := f.exported(adapter.Products, 1, attrs{"name": "Imported", "meta_title": "M"})
	levelOnly := f.exported(adapter.Products, 3, attrs{"meta_title": "N"})
	fresh := f.exported(adapter.Customers, 2, attrs{"entity_id": 77, "email": "fresh@example.com"})
	equal := f.exported(adapter.Customers, 1, nil)
	batch := []adapter.Aggregate{changed, levelOnly, fresh, equal, gone(adapter.Products, 2), gone(adapter.Products, 98)}
	want := []adapter.ImportOutcome{adapter.ImportChanged, adapter.ImportChanged, adapter.ImportCreated, adapter.ImportEqual, adapter.ImportRemoved, adapter.ImportEqual}
	outcomes := func(done []adapter.Imported, err error) (all []adapter.ImportOutcome) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		for i, one := range done {
			if one.Err != nil || one.Key != batch[i].Record.Key() {
				t.Errorf("record %d: %+v", batch[i].Record.Key(), one)
			}
			all = append(all, one.Outcome)
		}
		return all
	}
	before := f.memory.writes()
	got := outcomes(f.Import(t.Context(), batch, adapter.ImportOptions{Existing: adapter.ReplaceExisting, DryRun: true}))
	if difference := cmp.Diff(want, got); difference != "" || f.memory.writes() != before {
		t.Errorf("a dry run sends %d writes, want -, got +:\n%s", f.memory.writes()-before, difference)
	}
	got = outcomes(f.importAll(batch...))
	if difference := cmp.Diff(want, got); difference != "" || f.memory.writes() != before+2 {
		t.Errorf("the import sends %d writes, want 2; outcomes -, got +:\n%s", f.memory.writes()-before, difference)
	}
	f.checkValues(adapter.Products, 1, attrs{"name": "Imported", "meta_title": "M"})
	f.checkMissing(adapter.Products, 2)
	f.checkMissing(adapter.Customers, 77)
	f.checkNoIntents()
	fetched := f.memory.callCount("Fetch products")
	want = []adapter.ImportOutcome{adapter.ImportEqual, adapter.ImportEqual, adapter.ImportEqual, adapter.ImportEqual, adapter.ImportEqual, adapter.ImportEqual}
	got = outcomes(f.importAll(batch...))
	if difference := cmp.Diff(want, got); difference != "" || f.memory.writes() != before+2 || f.memory.callCount("Fetch products") != fetched+1 {
		t.Errorf("again: %d writes and %d fetches, want -, got +:\n%s", f.memory.writes()-before, f.memory.callCount("Fetch products")-fetched, difference)
	}
	if err := f.Push(t.Context(), 1, nil); err != nil {
		t.Fatal(err)
	}
	f.checkValues(adapter.Customers, 77, attrs{"email": "fresh@example.com"})
	f.scan()
	f.checkAgreement()
}

// TestImportParts checks that parts that an import creates, changes and removes are created,
// changed and removed at the backend, too.
func TestImportParts(t *testing.T) {
	f := newFixture(t)
	product := without(f.exported(adapter.Products, 1, nil), adapter.ProductImages, 1)
	product.Parts = append(product.Parts, attrs{"assignment_id": 80, "product_id": 1, "category_id": 6, "position": 1}.Record(schemas().Of(adapter.ProductCategories)))
	isPointer := func(l adapter.Level) bool { return l.Record.Schema.Resource == adapter.Products && l.StoreID == 0 } // perhaps to the image
	product.Levels = slices.DeleteFunc(product.Levels, isPointer)
	address := newAddress(1)
	address["entity_id"], address["is_default_billing"] = 90, 1
	created := adapter.Aggregate{Record: address.Record(schemas().Of(adapter.CustomerAddresses))}
	stock := adapter.Aggregate{Record: f.get(adapter.StockItems, 2).Clone()}
	stock.Record.Set("qty", adapter.TextValue("3.2500"))
	done, err := f.importAll(product, created, stock)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []adapter.ImportOutcome{adapter.ImportChanged, adapter.ImportCreated, adapter.ImportChanged} {
		if done[i].Outcome != want || done[i].Err != nil {
			t.Errorf("record %d: %+v, want %v", i, done[i], want)
		}
	}
	for call, want := range map[string]int{"Delete product_images": 1, "Create product_categories": 1, "Create customer_addresses": 1, "Update stock_items": 1} {
		if got := f.memory.callCount(call); got != want {
			t.Errorf("%d calls %s, want %d", got, call, want)
		}
	}
	f.checkMissing(adapter.ProductImages, 1)
	f.checkValues(adapter.CustomerAddresses, 90, attrs{"is_default_billing": 1})
	f.checkValues(adapter.StockItems, 2, attrs{"qty": "3.2500"})
	f.scan()
	f.checkAgreement()
	f.checkNoIntents()
	if err := f.importOne(gone(adapter.CustomerAddresses, 90)); err != nil {
		t.Fatal(err)
	}
	f.checkMissing(adapter.CustomerAddresses, 90)
	f.scan()
	f.checkAgreement()
}

// TestImportRefused checks that a record that the backend refuses stays unchanged, with its
// parts, and that the rest of the batch is imported.
func TestImportRefused(t *testing.T) {
	for _, c := range []struct {
		name, call string
		kind       adapter.ErrorKind
		one        func(f *fixture) adapter.Aggregate
	}{
		{"a root", "Update products", adapter.Conflict, func(f *fixture) adapter.Aggregate {
			return without(f.exported(adapter.Products, 1, attrs{"name": "Refused", "meta_title": "R", "tier_price": adapter.RecordsValue(nil)}), adapter.ProductWebsites, 1)
		}},
		{"a part that is removed", "Delete product_images", adapter.Invalid, func(f *fixture) adapter.Aggregate {
			return without(f.exported(adapter.Products, 1, attrs{"meta_title": "R"}), adapter.ProductImages, 1, 2)
		}},
		{"an address", "Update customer_addresses", adapter.Invalid, func(f *fixture) adapter.Aggregate {
			return f.exported(adapter.CustomerAddresses, 2, attrs{"city": "Refused", "is_default_billing": 1})
		}},
		{"a removal", "Delete products", adapter.Unsupported, func(*fixture) adapter.Aggregate { return gone(adapter.Products, 1) }},
		{"a removed address", "Delete customer_addresses", adapter.Conflict, func(*fixture) adapter.Aggregate { return gone(adapter.CustomerAddresses, 1) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			state := func() string {
				return fmt.Sprint(f.exportedText(adapter.Products, 1), f.exportedText(adapter.CustomerAddresses, 1), f.exportedText(adapter.CustomerAddresses, 2))
			}
			one, other, before := c.one(f), f.exported(adapter.Products, 3, attrs{"name": "Other"}), state()
			f.memory.before = func(_ context.Context, call string) error {
				if call == c.call && f.memory.callCount(call) == 1 {
					return memoryError(c.kind, "")
				}
				return nil
			}
			done, err := f.Import(t.Context(), []adapter.Aggregate{one, other}, adapter.ImportOptions{Existing: adapter.ReplaceExisting, Source: "old", Position: "7"})
			if err != nil {
				t.Fatal(err)
			}
			if position, err := f.Position(t.Context(), "old"); position != "" || err != nil {
				t.Errorf("position %q, %v", position, err)
			}
			if adapter.KindOf(done[0].Err) != c.kind || done[1].Err != nil || done[1].Outcome != adapter.ImportChanged || done[0].Err == nil {
				t.Errorf("%+v", done)
			}
			if difference := cmp.Diff(before, state()); difference != "" {
				t.Errorf("before -, after +:\n%s", difference)
			}
			f.checkValues(adapter.Products, 3, attrs{"name": "Other"})
			f.checkNoIntents()
			f.scan()
			f.checkAgreement()
			f.memory.clearFaults()
			if err := f.importOne(one); err != nil {
				t.Errorf("the next import: %v", err)
			}
			f.checkNoIntents()
			if _, err := f.Import(t.Context(), []adapter.Aggregate{other}, adapter.ImportOptions{Existing: adapter.ReplaceExisting, Source: "old", Position: "8"}); err != nil {
				t.Error(err)
			}
			if position, err := f.Position(t.Context(), "old"); position != "8" || err != nil {
				t.Errorf("position %q, %v", position, err)
			}
			if state() == before {
				t.Error("the next import changes nothing")
			}
			f.scan()
			f.checkAgreement()
		})
	}
}

// TestImportUnknownOutcome checks that an import stops when the outcome of a write is unknown,
// and that repeating it completes it.
func TestImportUnknownOutcome(t *testing.T) {
	for _, done := range []bool{true, false} {
		t.Run(fmt.Sprintf("done %v", done), func(t *testing.T) {
			f := newFixture(t)
			one := f.exported(adapter.Products, 1, attrs{"name": "Imported", "meta_title": "M"})
			lost := memoryError(adapter.Unavailable, "")
			if done {
				f.memory.fail("Update products", nil, lost)
			} else {
				f.memory.fail("Update products", lost, nil)
			}
			if _, err := f.importAll(one); adapter.KindOf(err) != adapter.Unavailable || err == nil {
				t.Errorf("error %v", err)
			}
			if mapping, _ := f.mapping(adapter.Products, 1); mapping.Intent == nil {
				t.Error("the write intent is gone")
			}
			f.memory.clearFaults()
			if err := f.importOne(one); err != nil {
				t.Error(err)
			}
			f.checkValues(adapter.Products, 1, attrs{"name": "Imported", "meta_title": "M"})
			f.checkNoIntents()
			f.checkAgreement()
		})
	}
}

// TestImportResolved checks that an import reports it if another process has undone it,
// mistaking it for an interrupted import.
func TestImportResolved(t *testing.T) {
	f := newFixture(t)
	other := f.restart()
	one := f.exported(adapter.Products, 1, attrs{"name": "Imported", "meta_title": "M"})
	f.memory.before = func(_ context.Context, call string) error {
		if call == "Update products" && f.memory.callCount(call) == 1 {
			other.get(adapter.Products, 1)
		}
		return nil
	}
	if err := f.importOne(one); adapter.KindOf(err) != adapter.Unavailable || err == nil {
		t.Errorf("error %v", err)
	}
	f.checkNoIntents()
	f.checkAgreement()
	if err := f.importOne(one); err != nil {
		t.Error(err)
	}
	f.checkValues(adapter.Products, 1, attrs{"name": "Imported", "meta_title": "M"})
}

// TestImportMissing checks imports of records that the backend has lost, or may be creating:
// they can be removed, and not be changed.
func TestImportMissing(t *testing.T) {
	f := newFixture(t)
	one, doubtful := f.exported(adapter.Products, 1, attrs{"meta_title": "M"}), f.exported(adapter.Products, 3, attrs{"meta_title": "M"})
	f.memory.mu.Lock()
	delete(f.memory.docs[adapter.Products], f.id(adapter.Products, 1))
	f.memory.mu.Unlock()
	intent := idmap.Mapping{Resource: adapter.Products, Key: 3, Intent: []byte(`{"by":"another","op":"push","resource":"products","key":3}`)}
	if err := errors.Join(f.local.DeleteMapping(t.Context(), adapter.Products, 3), f.local.PutMappings(t.Context(), intent)); err != nil {
		t.Fatal(err)
	}
	f.memory.withoutKeys = true // so that it stays in doubt
	done, err := f.importAll(one, doubtful)
	if err != nil || adapter.KindOf(done[0].Err) != adapter.NotFound || adapter.KindOf(done[1].Err) != adapter.NotFound {
		t.Errorf("%+v, %v", done, err)
	}
	done, err = f.importAll(gone(adapter.Products, 1), gone(adapter.Products, 3))
	if err != nil || done[0].Outcome != adapter.ImportRemoved || done[0].Err != nil || adapter.KindOf(done[1].Err) != adapter.Conflict {
		t.Errorf("%+v, %v", done, err)
	}
	if mapping, exists := f.mapping(adapter.Products, 1); exists || f.exportedText(adapter.Products, 1) != "\n" {
		t.Errorf("%+v and %q are left", mapping, f.exportedText(adapter.Products, 1))
	}
	if f.memory.writes() > 0 {
		t.Errorf("%d writes", f.memory.writes())
	}
}

// TestImportPushes checks imports that create missing records at the backend: each record and
// each part is created once, whatever the backend has refused before, and whatever was
// interrupted.
func TestImportPushes(t *testing.T) {
	customer := func(f *fixture, key int, email string) adapter.Aggregate {
		return f.exported(adapter.Customers, 2, attrs{"entity_id": key, "email": email})
	}
	address := func(f *fixture, key, customer int) adapter.Aggregate {
		return f.exported(adapter.CustomerAddresses, 2, attrs{"entity_id": key, "customer_id": customer, "is_default_billing": 0, "is_default_shipping": 0})
	}
	// expect imports a batch, and compares the outcomes of its records, the number of requests
	// that create something, and whether the position was stored.
	expect := func(t *testing.T, f *fixture, batch []adapter.Aggregate, creates int, want ...string) {
		t.Helper()
		before := f.memory.callCount("Create customers") + f.memory.callCount("Create customer_addresses")
		stored, err := f.Position(t.Context(), "old")
		if err != nil {
			t.Fatal(err)
		}
		done, err := f.pushAll(batch...)
		var got []string
		refused := false
		for _, one := range done {
			text := []string{"created", "changed", "equal", "kept", "removed"}[one.Outcome]
			if one.Err != nil {
				refused, text = true, adapter.KindOf(one.Err).String()
			}
			got = append(got, text)
		}
		if err != nil {
			refused, got = true, []string{adapter.KindOf(err).String()}
		}
		if n := f.memory.callCount("Create customers") + f.memory.callCount("Create customer_addresses") - before; n != creates || !slices.Equal(got, want) {
			t.Errorf("%q and %d creations, want %q and %d (%v)", got, n, want, creates, err)
		}
		position, err := f.Position(t.Context(), "old")
		if err != nil || (position == "7") != (!refused || stored == "7") {
			t.Errorf("the position is %q, %v", position, err)
		}
	}
	fail := func(f *fixture, call string, kind adapter.ErrorKind, when func() bool) {
		f.memory.before = func(_ context.Context, made string) error {
			if made == call && when() {
				return memoryError(kind, "")
			}
			return nil
		}
	}
	always := func() bool { return true }
	for _, c := range []struct {
		name string
		run  func(t *testing.T, f *fixture)
	}{
		{"new records", func(t *testing.T, f *fixture) {
			batch := []adapter.Aggregate{customer(f, 77, "a@example.com"), address(f, 77, 77), address(f, 78, 1), f.exported(adapter.Customers, 1, nil)}
			expect(t, f, batch, 3, "created", "created", "created", "equal")
			expect(t, f, batch, 0, "equal", "equal", "equal", "equal")
			f.checkValues(adapter.CustomerAddresses, 77, attrs{"customer_id": 77})
			expect(t, f, []adapter.Aggregate{gone(adapter.Customers, 77), customer(f, 79, "a@example.com")}, 1, "removed", "created")
			f.checkMissing(adapter.Customers, 77)
		}},
		{"a record that the backend refuses, and another", func(t *testing.T, f *fixture) {
			batch := []adapter.Aggregate{customer(f, 77, "a@example.com"), customer(f, 78, "b@example.com"), address(f, 77, 77)}
			first := true
			fail(f, "Create customers", adapter.Invalid, func() bool { defer func() { first = false }(); return first })
			expect(t, f, batch[:2], 2, "invalid", "created")
			fail(f, "Create customers", adapter.Invalid, always)
			expect(t, f, batch, 2, "invalid", "equal", "invalid") // the address names the record that it waits for
			f.checkMissing(adapter.Customers, 77)
			f.memory.clearFaults()
			expect(t, f, batch, 2, "created", "equal", "equal")
			f.checkValues(adapter.CustomerAddresses, 77, attrs{"customer_id": 77})
		}},
		{"a part that the backend refuses", func(t *testing.T, f *fixture) {
			batch := []adapter.Aggregate{address(f, 77, 1), customer(f, 77, "a@example.com")}
			fail(f, "Create customer_addresses", adapter.Conflict, always)
			expect(t, f, batch, 2, "conflict", "created")
			expect(t, f, batch, 1, "conflict", "equal")
			f.memory.clearFaults()
			expect(t, f, batch, 1, "equal", "equal")
			expect(t, f, batch, 0, "equal", "equal")
		}},
		{"a backend that is away", func(t *testing.T, f *fixture) {
			batch := []adapter.Aggregate{customer(f, 77, "a@example.com"), customer(f, 78, "b@example.com")}
			fail(f, "Create customers", adapter.Unavailable, func() bool { return f.memory.callCount("Create customers") == 2 })
			expect(t, f, batch, 2, "unavailable")
			f.memory.clearFaults()
			expect(t, f, batch, 1, "equal", "created")
		}},
		{"an answer that is lost", func(t *testing.T, f *fixture) {
			f.memory.fail("Create customers", nil, memoryError(adapter.Unavailable, ""))
			expect(t, f, []adapter.Aggregate{customer(f, 77, "a@example.com")}, 1, "unavailable")
			f.memory.clearFaults()
			expect(t, f, []adapter.Aggregate{customer(f, 77, "b@example.com")}, 0, "changed")
		}},
		{"a record that another process may be creating", func(t *testing.T, f *fixture) {
			one := customer(f, 77, "a@example.com")
			if _, err := f.importAll(one); err != nil {
				t.Fatal(err)
			}
			intent := idmap.Mapping{Resource: adapter.Customers, Key: 77, Intent: []byte(`{"by":"another","op":"push","resource":"customers","key":77}`)}
			if err := f.local.PutMappings(t.Context(), intent); err != nil {
				t.Fatal(err)
			}
			f.SetForeignIntentAge(time.Hour)
			expect(t, f, []adapter.Aggregate{one, customer(f, 78, "b@example.com")}, 1, "not_found", "created")
			f.SetForeignIntentAge(0)
			one.Record.Set("firstname", adapter.TextValue("Changed"))
			expect(t, f, []adapter.Aggregate{one}, 1, "changed")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			c.run(t, f)
			f.checkNoIntents()
			f.scan()
			f.checkAgreement()
		})
	}
}
