package replica_test

import (
	"context"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/replica"
)

// TestPushResumed repeats a push that was interrupted, and checks that it creates nothing
// twice.
func TestPushResumed(t *testing.T) {
	for _, c := range []struct {
		name  string
		after bool // the request is done, but its answer is lost
	}{{"refused", false}, {"answer lost", true}} {
		t.Run(c.name, func(t *testing.T) {
			local := demoReplica(t)
			m := newMemory()
			if err := m.placeOrders(t.Context(), local); err != nil {
				t.Fatal(err)
			}
			f := reopen(t, local, m, replica.Options{})
			creates := 0
			stop := func(_ context.Context, call string) error {
				if !strings.HasPrefix(call, "Create ") {
					return nil
				}
				if creates++; creates%7 == 0 {
					return memoryError(adapter.Unavailable, "")
				}
				return nil
			}
			m.mu.Lock()
			if c.after {
				m.after = stop
			} else {
				m.before = stop
			}
			m.mu.Unlock()
			var done, total, tries int
			for ; ; tries++ {
				if tries > 50 {
					t.Fatal("the push does not end")
				}
				err := f.Push(t.Context(), func(d, of int) { done, total = d, of })
				if err == nil {
					break
				}
				if adapter.KindOf(err) != adapter.Unavailable || !strings.Contains(err.Error(), "push ") {
					t.Fatal(err)
				}
			}
			if tries == 0 || done != total || total == 0 {
				t.Errorf("%d tries, progress ended at %d of %d", tries, done, total)
			}
			m.clearFaults()
			f.scan()
			f.checkAgreement()
			f.checkNoIntents()
			before := m.callCount("Create products")
			if err := f.Push(t.Context(), nil); err != nil || m.callCount("Create products") != before {
				t.Errorf("another push: %v", err)
			}
		})
	}
}

// TestPushRefused checks that Push names the record that the backend refuses, and keeps it
// in the replica.
func TestPushRefused(t *testing.T) {
	f := reopen(t, demoReplica(t), newMemory(), replica.Options{})
	f.memory.fail("Create products", memoryError(adapter.Invalid, "price"), nil)
	err := f.Push(t.Context(), nil)
	if adapter.KindOf(err) != adapter.Invalid || !strings.Contains(err.Error(), "push products 1") {
		t.Errorf("error %v", err)
	}
	if _, exists := f.mapping(adapter.Products, 1); exists {
		t.Error("the refused record has a mapping")
	}
	f.memory.clearFaults()
	if err := f.Push(t.Context(), nil); err != nil {
		t.Error(err)
	}
	f.checkValues(adapter.Products, 1, values{"entity_id": 1})
}
