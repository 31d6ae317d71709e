package replica

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/portico-commerce/portico/adapter"
)

func TestLocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l rootLocks
		one, two := recordRef{adapter.Products, 1}, recordRef{adapter.Customers, 1}
		unlock, err := l.lock(t.Context(), one)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := l.tryLock(one); ok {
			t.Error("locked twice")
		}
		other, ok := l.tryLock(two)
		if !ok {
			t.Fatal("another record is locked, too")
		}
		ctx, leave := context.WithCancel(t.Context())
		var waiting sync.WaitGroup
		waiting.Go(func() {
			if _, err := l.lock(ctx, one); !errors.Is(err, context.Canceled) {
				t.Errorf("who left got %v", err)
			}
		})
		got := false
		waiting.Go(func() {
			unlock, err := l.lockAll(t.Context(), adapter.Products, []adapter.Key{3, 1, 3, 2})
			if err != nil {
				t.Error(err)
				return
			}
			got = true
			unlock()
		})
		synctest.Wait()
		leave()
		synctest.Wait()
		if got {
			t.Error("locked by two")
		}
		unlock()
		other()
		waiting.Wait()
		if !got || len(l.held) != 0 {
			t.Errorf("got its turn: %v; %d locks are left", got, len(l.held))
		}
	})
}

// TestLockAllLeaves: who leaves while it waits for the last of several has none.
func TestLockAllLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l rootLocks
		unlock, err := l.lock(t.Context(), recordRef{adapter.Products, 2})
		if err != nil {
			t.Fatal(err)
		}
		ctx, leave := context.WithCancel(t.Context())
		var waiting sync.WaitGroup
		waiting.Go(func() {
			if _, err := l.lockAll(ctx, adapter.Products, []adapter.Key{1, 2}); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		})
		synctest.Wait()
		leave()
		waiting.Wait()
		free, ok := l.tryLock(recordRef{adapter.Products, 1})
		if !ok {
			t.Fatal("the first is still locked")
		}
		free()
		unlock()
		if len(l.held) != 0 {
			t.Errorf("%d locks are left", len(l.held))
		}
	})
}

func TestHidden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h hiddenRoots
		quiet := h.createState()
		done := h.beginCreate()
		during := h.createState()
		h.hide(adapter.Products, 1, quiet, false)
		h.hide(adapter.Products, 2, during, false)
		h.hide(adapter.Products, 3, quiet, true)
		done()
		h.hide(adapter.Products, 4, quiet, false)
		h.hide(adapter.Products, 5, h.createState(), false)
		if keys := h.keys(adapter.Products); len(keys) != 2 {
			t.Errorf("%v, want 3, which is gone, and 5, as nothing was being created", keys)
		}
		if keys := h.keys(adapter.Orders); keys != nil {
			t.Errorf("of another resource: %v", keys)
		}
		h.unhide(adapter.Products, 3, 9)
		if keys := h.keys(adapter.Products); len(keys) != 1 || keys[0] != 5 {
			t.Errorf("%v, want 5", keys)
		}
		for key := range adapter.Key(2 * maxHidden) {
			h.hide(adapter.Products, key, quiet, true)
		}
		if n := len(h.keys(adapter.Products)); n != maxHidden {
			t.Errorf("%d are remembered, want %d", n, maxHidden)
		}
		time.Sleep(hiddenFor + 1) // of the bubble's clock
		if keys := h.keys(adapter.Products); len(keys) != 0 {
			t.Errorf("%d are remembered after their time", len(keys))
		}
	})
}
