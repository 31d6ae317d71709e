package replica

import (
	"context"
	"errors"
	"github.com/portico-commerce/portico/adapter"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestRootLocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l locks
		one, two := ref{adapter.Products, 1}, ref{adapter.Customers, 1}
		unlock, err := l.Lock(t.Context(), one.resource, one.key)
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := l.TryLock(one.resource, one.key); again != nil {
			t.Error("locked twice")
		}
		other, _ := l.TryLock(two.resource, two.key)
		if other == nil {
			t.Fatal("another record is locked, too")
		}
		ctx, cancel := context.WithCancel(t.Context())
		var waiting sync.WaitGroup
		waiting.Go(func() {
			if _, err := l.Lock(ctx, one.resource, one.key); !errors.Is(err, context.Canceled) {
				t.Errorf("a canceled caller got %v", err)
			}
		})
		got := false
		waiting.Go(func() {
			unlock, err := l.Lock(t.Context(), adapter.Products, 3, 1, 3, 2)
			if err != nil {
				t.Error(err)
				return
			}
			got = true
			unlock()
		})
		synctest.Wait()
		cancel()
		synctest.Wait()
		if got {
			t.Error("two callers hold the lock")
		}
		unlock()
		other()
		waiting.Wait()
		if !got || len(l.held) != 0 {
			t.Errorf("locked: %v; %d locks are left", got, len(l.held))
		}
	})
}

// TestLockCanceled checks that a caller that is canceled while it waits for its last
// lock releases the others.
func TestLockCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l locks
		unlock, err := l.Lock(t.Context(), adapter.Products, 2)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var waiting sync.WaitGroup
		waiting.Go(func() {
			if _, err := l.Lock(ctx, adapter.Products, 1, 2); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		})
		synctest.Wait()
		cancel()
		waiting.Wait()
		free, _ := l.TryLock(adapter.Products, 1)
		if free == nil {
			t.Fatal("the first is still locked")
		}
		free()
		unlock()
		if len(l.held) != 0 {
			t.Errorf("%d locks are left", len(l.held))
		}
	})
}

func TestHiddenRoots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h hidden
		h.Hide(adapter.Products, 3)
		h.Hide(adapter.Products, 5)
		if keys := h.Keys(adapter.Products); len(keys) != 2 {
			t.Errorf("%v, want 3 and 5", keys)
		}
		if keys := h.Keys(adapter.Orders); keys != nil {
			t.Errorf("of another resource: %v", keys)
		}
		h.Unhide(adapter.Products, 3, 9)
		if keys := h.Keys(adapter.Products); len(keys) != 1 || keys[0] != 5 {
			t.Errorf("%v, want 5", keys)
		}
		for key := range adapter.Key(2 * maxHidden) {
			h.Hide(adapter.Products, key)
		}
		if n := len(h.Keys(adapter.Products)); n != maxHidden {
			t.Errorf("%d roots are hidden, want %d", n, maxHidden)
		}
		time.Sleep(hiddenFor + 1) // by the clock of the synctest bubble
		if keys := h.Keys(adapter.Products); len(keys) != 0 {
			t.Errorf("%d roots are hidden after their time", len(keys))
		}
	})
}
