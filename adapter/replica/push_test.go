package replica_test

import (
	"context"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/replica"
)

// TestPushResumed: a push that ends half-way is begun again, and makes nothing twice.
func TestPushResumed(t *testing.T) {
	for _, c := range []struct {
		name  string
		after bool // the answer is lost
	}{{"refused", false}, {"answer lost", true}} {
		t.Run(c.name, func(t *testing.T) {
			side := demoSide(t)
			m := newMemory()
			if err := m.placeOrders(t.Context(), side); err != nil {
				t.Fatal(err)
			}
			s := reopen(t, side, m, replica.Options{})
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
					t.Fatal("it comes to no end")
				}
				err := s.Push(t.Context(), func(d, of int) { done, total = d, of })
				if err == nil {
					break
				}
				if adapter.KindOf(err) != adapter.Unavailable || !strings.Contains(err.Error(), "push ") {
					t.Fatal(err)
				}
			}
			if tries == 0 || done != total || total == 0 {
				t.Errorf("%d tries, %d of %d", tries, done, total)
			}
			m.heal()
			s.scan()
			s.agree()
			s.settled()
			before := m.counted("Create products")
			if err := s.Push(t.Context(), nil); err != nil || m.counted("Create products") != before {
				t.Errorf("once more: %v", err)
			}
		})
	}
}

// TestPushRefused names the record that the backend does not take, and leaves it at
// the side.
func TestPushRefused(t *testing.T) {
	s := reopen(t, demoSide(t), newMemory(), replica.Options{})
	s.memory.fail("Create products", memoryError(adapter.Invalid, "price"), nil)
	err := s.Push(t.Context(), nil)
	if adapter.KindOf(err) != adapter.Invalid || !strings.Contains(err.Error(), "push products 1") {
		t.Errorf("error %v", err)
	}
	if _, exists := s.entry(adapter.Products, 1); exists {
		t.Error("it has an entry")
	}
	s.memory.heal()
	if err := s.Push(t.Context(), nil); err != nil {
		t.Error(err)
	}
	s.want(adapter.Products, 1, given{"entity_id": 1})
}
