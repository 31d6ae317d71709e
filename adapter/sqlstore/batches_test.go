package sqlstore

import (
	"strconv"
	"sync"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// setQty returns the update that sets the quantity of a stock item.
func setQty(key adapter.Key, qty string) adapter.UpdateParams {
	return adapter.UpdateParams{Key: key, Change: func(current adapter.Record) (adapter.Record, error) {
		change := adapter.NewRecord(current.Schema)
		change.Set("qty", adapter.TextValue(qty))
		return change, nil
	}}
}

// TestBatchWithFailedStatement updates stock items in a batch and checks that the server refuses
// one while the others are stored, which requires savepoints.
func TestBatchWithFailedStatement(t *testing.T) {
	sqltest.EachServer(t, func(t *testing.T, e sqltest.Engine) {
		store := storeOf(t, openDemo(t, e), adapter.StockItems)
		const tooLarge = "99999999999999.0000" // DECIMAL(12,4)
		failures, err := adapter.UpdateBatch(t.Context(), store, []adapter.UpdateParams{setQty(1, "41.0000"), setQty(2, tooLarge), setQty(1, "42.0000"), setQty(3, "43.0000"), setQty(3, tooLarge)})
		if err != nil {
			t.Fatal(err)
		}
		for i, wantsFailure := range []bool{false, true, false, false, true} {
			if failed := adapter.KindOf(failures[i]) == adapter.Invalid && failures[i] != nil; failed != wantsFailure {
				t.Errorf("item %d of the batch: %v, want a failure: %t", i, failures[i], wantsFailure)
			}
		}
		for key, want := range map[adapter.Key]string{1: "42.0000", 3: "43.0000"} {
			if got := adaptertest.MustGet(t, store, adapter.GetParams{Key: key}).Get("qty").Text(); got != want {
				t.Errorf("item %d has %s, want %s", key, got, want)
			}
		}
	})
}

// TestConcurrentBatches updates the same stock items from two stores, which are two processes to
// the database.
func TestConcurrentBatches(t *testing.T) {
	sqltest.EachEngine(t, func(t *testing.T, e sqltest.Engine) {
		dsn := NewDemo(t, e)
		CheckConcurrentBatches(t, storeOf(t, openAt(t, dsn), adapter.StockItems), storeOf(t, openAt(t, dsn), adapter.StockItems))
	})
}

// CheckConcurrentBatches updates the same stock items in opposite orders at once by two stores. No
// batch may fail, and one of them must come last for all items.
func CheckConcurrentBatches(t *testing.T, stores ...adapter.Store) {
	t.Helper()
	const each, items = 10, 6
	var all sync.WaitGroup
	for s, store := range stores {
		all.Go(func() {
			for n := range each {
				batch := make([]adapter.UpdateParams, items)
				for i := range batch {
					key := i + 1
					if s == 1 {
						key = items - i
					}
					batch[i] = setQty(adapter.Key(key), strconv.Itoa(100+s*each+n)+".0000")
				}
				if _, err := adapter.UpdateBatch(t.Context(), store, batch); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	last := adaptertest.MustGet(t, stores[0], adapter.GetParams{Key: 1}).Get("qty").Text()
	for key := range items {
		if got := adaptertest.MustGet(t, stores[0], adapter.GetParams{Key: adapter.Key(key + 1)}).Get("qty").Text(); got != last {
			t.Errorf("item %d has %s, and item 1 %s", key+1, got, last)
		}
	}
}
