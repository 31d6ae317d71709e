package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"github.com/portico-commerce/portico/adapter"
	"strings"
	"testing"
)

// testBatches changes stock items in batches, if the store supports them.
func testBatches(t *testing.T, h Harness) {
	a := h.Open(t)
	store := storeOf(t, a, adapter.StockItems)
	if _, err := adapter.UpdateBatch(t.Context(), store, nil); adapter.KindOf(err) == adapter.Unsupported && err != nil {
		t.Log("the store has no batches")
		return
	}
	items := records(t, a, adapter.StockItems)
	if len(items) < 2 {
		t.Fatal("there are fewer than two stock items")
	}
	first, second := items[0], items[1]
	qty := func(key adapter.Key) string {
		t.Helper()
		return MustGet(t, store, adapter.GetParams{Key: key}).Get("qty").Text()
	}
	set := func(key adapter.Key, to string) adapter.UpdateParams {
		return adapter.UpdateParams{Key: key, Change: func(current adapter.Record) (adapter.Record, error) {
			change := adapter.NewRecord(current.Schema)
			change.Set("qty", adapter.TextValue(to))
			return change, nil
		}}
	}
	refuse := func(key adapter.Key) adapter.UpdateParams {
		return adapter.UpdateParams{Key: key, Change: func(adapter.Record) (adapter.Record, error) { return adapter.Record{}, errCallback }}
	}
	observed := func(p adapter.UpdateParams) adapter.UpdateParams {
		p.Locked = []adapter.Observer{func(_, _ adapter.Record) error { return errCallback }}
		return p
	}
	// append adds a digit to the quantity that the change sees.
	appendDigit := func(key adapter.Key, digit string) adapter.UpdateParams {
		return adapter.UpdateParams{Key: key, Change: func(current adapter.Record) (adapter.Record, error) {
			whole, _, _ := strings.Cut(current.Get("qty").Text(), ".")
			return set(key, whole+digit+".0000").Change(current)
		}}
	}
	for _, c := range []struct {
		name     string
		batch    []adapter.UpdateParams
		failures string // c: of Change, n: not found, i: invalid, -: none
		want     [2]string
	}{
		{"nothing", nil, "", [2]string{"1.0000", "2.0000"}},
		{"both, from the greater key on", []adapter.UpdateParams{set(second.Key(), "20.0000"), set(first.Key(), "10.0000")}, "--", [2]string{"10.0000", "20.0000"}},
		{"a record several times", []adapter.UpdateParams{appendDigit(first.Key(), "2"), set(second.Key(), "5.0000"), appendDigit(first.Key(), "3")}, "---", [2]string{"123.0000", "5.0000"}},
		{"one is refused", []adapter.UpdateParams{set(first.Key(), "7.0000"), refuse(second.Key())}, "-c", [2]string{"7.0000", "2.0000"}},
		{"one is refused by an observer", []adapter.UpdateParams{set(first.Key(), "7.0000"), observed(set(second.Key(), "8.0000"))}, "-c", [2]string{"7.0000", "2.0000"}},
		{"one is unknown", []adapter.UpdateParams{set(unknownKey, "7.0000"), set(second.Key(), "8.0000")}, "n-", [2]string{"1.0000", "8.0000"}},
		{"one is invalid", []adapter.UpdateParams{set(first.Key(), "7.0000"), set(second.Key(), "x"), appendDigit(first.Key(), "1")}, "-i-", [2]string{"71.0000", "2.0000"}},
		{"all fail", []adapter.UpdateParams{refuse(first.Key()), set(second.Key(), "x"), set(unknownKey, "1.0000")}, "cin", [2]string{"1.0000", "2.0000"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			reset := []adapter.UpdateParams{set(first.Key(), "1.0000"), set(second.Key(), "2.0000")}
			for i := range reset {
				if err := store.Update(t.Context(), &reset[i]); err != nil {
					t.Fatal(err)
				}
			}
			failures, err := adapter.UpdateBatch(t.Context(), store, c.batch)
			if err != nil {
				t.Fatal(err)
			}
			if got := failureKinds(failures); got != c.failures {
				t.Errorf("failures %s %v, want %s", got, failures, c.failures)
			}
			if got := [2]string{qty(first.Key()), qty(second.Key())}; got != c.want {
				t.Errorf("quantities %s, want %s", got, c.want)
			}
		})
	}
	t.Run("canceled", func(t *testing.T) {
		before := qty(first.Key())
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		_, err := adapter.UpdateBatch(ctx, store, []adapter.UpdateParams{set(first.Key(), "4.0000"), {Key: second.Key(), Change: func(current adapter.Record) (adapter.Record, error) {
			cancel()
			return set(second.Key(), "4.0000").Change(current)
		}}})
		if !errors.Is(err, context.Canceled) || qty(first.Key()) != before {
			t.Errorf("%v, and the quantity is %s, want %s", err, qty(first.Key()), before)
		}
	})
}

// failureKinds returns a letter for each failure of a batch.
func failureKinds(failures []error) string {
	var b strings.Builder
	for _, err := range failures {
		switch {
		case err == nil:
			b.WriteByte('-')
		case isRefused(err):
			b.WriteByte('c')
		default:
			fmt.Fprint(&b, adapter.KindOf(err).String()[:1])
		}
	}
	return b.String()
}
