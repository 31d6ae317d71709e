package replica_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/adapter/outbox"
	"github.com/portico-commerce/portico/adapter/replica"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
)

// newMirroredFixture returns a fixture whose clients' writes enter an outbox, and the outbox.
func newMirroredFixture(t *testing.T) (*fixture, coordination.Outboxes) {
	t.Helper()
	start, err := demoSnapshot()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "replica.db")
	if err := os.WriteFile(path, start.database, 0o600); err != nil {
		t.Fatal(err)
	}
	db := demotest.Open(t, sqlstore.Options{DSN: "sqlite:" + path, MediaDir: t.TempDir()})
	owners := db.WriteOwners()
	known, wishes := map[adapter.Resource]int64{}, map[adapter.Resource]bool{}
	for _, r := range []adapter.Resource{adapter.Products, adapter.StockItems, adapter.Customers} {
		known[r], wishes[r] = 1, true
	}
	_, err = owners.Announce(t.Context(), outbox.Process{ID: "only", Wishes: wishes, Known: known}, time.Hour)
	for r := range known {
		err = errors.Join(err, owners.Begin(t.Context(), r, true), owners.Complete(t.Context(), r, 1))
	}
	if err != nil {
		t.Fatal(err)
	}
	m := newMemory()
	m.restore(start.memory)
	return reopen(t, db.Replica(), m, replica.Options{Writes: db.Adapter().Mirrored()}), db.Outbox()
}

// entries returns the entries of an outbox.
func entries(t *testing.T, box coordination.Outboxes) []outbox.Entry {
	t.Helper()
	all, err := box.Entries(t.Context(), coordination.EntryFilter{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestOutboxReleased checks that the outbox releases a client's write only after the backend has
// confirmed it, and that a write which the backend refuses leaves nothing to deliver.
func TestOutboxReleased(t *testing.T) {
	f, box := newMirroredFixture(t)
	due := func() []outbox.Entry {
		t.Helper()
		all, err := box.Due(t.Context(), 10)
		again, errAgain := box.ByID(t.Context(), idsOf(all)...)
		if err := errors.Join(err, errAgain); err != nil || len(again) != len(all) {
			t.Fatal(all, again, err)
		}
		return all
	}
	asked := 0
	f.memory.before = func(_ context.Context, call string) error {
		if strings.HasPrefix(call, "Update") {
			asked++
			if got, read := due(), entries(t, box); len(got) > 0 || len(read) == 0 {
				t.Errorf("before %s: of %v are due %v", call, read, got)
			}
		}
		return nil
	}
	for _, write := range []struct {
		name string
		do   func() error
	}{
		{"product", func() error { return f.update(adapter.Products, 1, 0, attrs{"price": "7.00"}) }},
		{"part", func() error { return f.update(adapter.StockItems, 1, 0, attrs{"qty": "50.0000"}) }},
	} {
		before := asked
		if err := write.do(); err != nil || asked == before {
			t.Fatalf("%s: %v, %d requests", write.name, err, asked-before)
		}
	}
	if err := f.delete(adapter.Customers, 2); err != nil {
		t.Fatal(err)
	}
	if got := due(); len(got) != 2 || !got[1].Gone { // only the first entry of product 1 is due
		t.Errorf("due are %+v of %+v", got, entries(t, box))
	}
	f.memory.before = func(_ context.Context, call string) error {
		if strings.HasPrefix(call, "Update") {
			return &adapter.Error{Kind: adapter.Invalid, Op: call}
		}
		return nil
	}
	if err := f.update(adapter.Products, 2, 0, attrs{"price": "8.00"}); adapter.KindOf(err) != adapter.Invalid {
		t.Fatalf("%v, want invalid", err)
	}
	old, err := f.local.Export(t.Context(), adapter.Products, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries(t, box) {
		if e.Key != 2 || e.Resource != adapter.Products {
			continue
		}
		schema := old[0].Record.Schema
		at, _ := schema.Index("price")
		if state := outbox.State(&schema.Attributes[at], old[0].Record.Values[at]); e.Agreed["price"] != state {
			t.Errorf("there is something to send: %+v, and here is %s", e, state)
		}
	}
}

func idsOf(all []outbox.Entry) (ids []int64) {
	for _, e := range all {
		ids = append(ids, e.ID)
	}
	return ids
}

// TestOutboxUndoneImport checks that an import which the backend refuses leaves the outbox
// unchanged, so that the other system's change of a quantity is still added when the backend
// accepts the import later.
func TestOutboxUndoneImport(t *testing.T) {
	f, box := newMirroredFixture(t)
	if err := f.update(adapter.StockItems, 1, 0, attrs{"qty": "50.0000"}); err != nil {
		t.Fatal(err)
	}
	before := entries(t, box)
	item := f.get(adapter.StockItems, 1)
	number, ok := outbox.Number(before[0].Agreed["qty"])
	if !ok {
		t.Fatalf("%+v", before)
	}
	sold := adapter.NewRecord(item.Schema)
	copy(sold.Values, item.Values)
	sold.Set("qty", adapter.TextValue(adapter.FormatDecimal(number-20_000)))
	follow := func() adapter.Imported {
		t.Helper()
		done, err := f.Import(t.Context(), []adapter.Aggregate{{Record: sold}}, adapter.ImportOptions{Existing: adapter.ReplaceExisting, Source: "old", Push: true})
		if err != nil {
			t.Fatal(err)
		}
		return done[0]
	}
	f.memory.before = func(_ context.Context, call string) error {
		if strings.HasPrefix(call, "Update") {
			return &adapter.Error{Kind: adapter.Invalid, Op: call}
		}
		return nil
	}
	for range 2 {
		if done := follow(); done.Err == nil {
			t.Errorf("%+v, want an error", done)
		}
		f.checkValues(adapter.StockItems, 1, attrs{"qty": "50.0000"})
		if after := entries(t, box); len(after) != 1 || !maps.Equal(after[0].Agreed, before[0].Agreed) || after[0].Version == before[0].Version {
			t.Errorf("%+v, want the content of %+v", after, before)
		}
	}
	f.memory.clearFaults()
	if done := follow(); done.Err != nil {
		t.Error(done.Err)
	}
	f.checkValues(adapter.StockItems, 1, attrs{"qty": "48.0000"})
	if after := entries(t, box); len(after) != 1 || maps.Equal(after[0].Agreed, before[0].Agreed) {
		t.Errorf("%+v", after)
	}
	f.checkNoIntents()
}
