package sqlstore_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/replica"
	"github.com/portico-commerce/portico/adapter/sqlstore"
)

// withoutTimes returns entries without the times at which they were stored.
func withoutTimes(tb testing.TB, entries []replica.Entry, err error) []replica.Entry {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
	for i := range entries {
		if age := time.Since(entries[i].Changed); age < 0 || age > time.Hour {
			tb.Errorf("entry %d changed at %v", entries[i].Key, entries[i].Changed)
		}
		entries[i].Changed = time.Time{}
	}
	return entries
}

// keysOf returns the keys of entries, sorted.
func keysOf(entries []replica.Entry) []adapter.Key {
	keys := make([]adapter.Key, len(entries))
	for i, e := range entries {
		keys[i] = e.Key
	}
	slices.Sort(keys)
	return keys
}

func wantKind(tb testing.TB, what string, err error, want adapter.ErrorKind) {
	tb.Helper()
	var fault *adapter.Error
	if !errors.As(err, &fault) || fault.Kind != want {
		tb.Errorf("%s: %v, want %v", what, err, want)
	}
}

func TestLedger(t *testing.T) {
	sqlstore.EachEngine(t, testLedger)
}

func testLedger(t *testing.T, e sqlstore.Engine) {
	ctx, db := t.Context(), open(t, e.NewDSN(t))
	ledger := db.Replica()
	enter := func(entries ...replica.Entry) {
		t.Helper()
		if err := ledger.Enter(ctx, entries...); err != nil {
			t.Fatal(err)
		}
	}
	long := strings.Repeat("🂡", 255)
	odd := []string{"a", "A", "a ", "a\n", "ä", "a\u0308", "1", "01", "%", `\`, "'", long}
	all := []replica.Entry{
		{Resource: adapter.Orders, Key: 1, ID: "a", Tag: "t", Base: []byte(`{"sku":"ä"}`)}, // the same id as a product
		{Resource: adapter.Products, Key: 100},
		{Resource: adapter.Products, Key: 101, Base: []byte("{}"), Note: []byte(`{"op":"create"}`)},
		{Resource: adapter.StockItems, Key: 5, Root: adapter.Products, Owner: 1},
		{Resource: adapter.ProductWebsites, Key: 9, Root: adapter.Products, Owner: 1},
		{Resource: adapter.ProductWebsites, Key: 2, Root: adapter.Products, Owner: 1},
		{Resource: adapter.CustomerAddresses, Key: 2, ID: "x", Root: adapter.Customers, Owner: 1},
	}
	for i, id := range odd {
		all = append(all, replica.Entry{Resource: adapter.Products, Key: adapter.Key(i + 1), ID: id, Tag: strings.Repeat("t", 255)})
	}
	enter(all...)
	enter()

	t.Run("by key", func(t *testing.T) {
		var got []replica.Entry
		for _, r := range []adapter.Resource{adapter.Orders, adapter.Products, adapter.StockItems, adapter.ProductWebsites, adapter.CustomerAddresses} {
			var keys []adapter.Key
			for _, e := range all {
				if e.Resource == r {
					keys = append(keys, e.Key)
				}
			}
			some, err := ledger.Entries(ctx, r, append(keys, 77777))
			got = append(got, withoutTimes(t, some, err)...)
		}
		order := func(a, b replica.Entry) int {
			return strings.Compare(fmt.Sprintf("%s %09d", a.Resource, a.Key), fmt.Sprintf("%s %09d", b.Resource, b.Key))
		}
		slices.SortFunc(got, order)
		want := slices.SortedFunc(slices.Values(all), order)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
	t.Run("by id, case sensitive", func(t *testing.T) {
		for i, id := range odd {
			got, err := ledger.EntriesOf(ctx, adapter.Products, []string{id, "nobody's", id})
			if keys := keysOf(withoutTimes(t, got, err)); !slices.Equal(keys, []adapter.Key{adapter.Key(i + 1)}) {
				t.Errorf("%q is %v", id, keys)
			}
		}
		got, err := ledger.EntriesOf(ctx, adapter.Products, append(slices.Clone(odd), "", "a\x00", "\xff", long+"x", "b "))
		if keys := withoutTimes(t, got, err); len(keys) != len(odd) {
			t.Errorf("%d entries, want %d", len(keys), len(odd))
		}
	})
	t.Run("empty request", func(t *testing.T) {
		if got, err := ledger.Entries(ctx, adapter.Products, nil); len(got) != 0 || err != nil {
			t.Errorf("%v, %v", got, err)
		}
		if got, err := ledger.EntriesOf(ctx, adapter.Products, nil); len(got) != 0 || err != nil {
			t.Errorf("%v, %v", got, err)
		}
	})
	t.Run("owned", func(t *testing.T) {
		got, err := ledger.Owned(ctx, adapter.Products, 1)
		var names []string
		for _, e := range withoutTimes(t, got, err) {
			names = append(names, fmt.Sprint(e.Resource, e.Key))
		}
		if want := []string{"product_websites2", "product_websites9", "stock_items5"}; !slices.Equal(names, want) {
			t.Errorf("%v, want %v", names, want)
		}
		if got, err := ledger.Owned(ctx, adapter.Products, 2); len(got) != 0 || err != nil {
			t.Errorf("%v, %v", got, err)
		}
	})
	t.Run("walk", func(t *testing.T) {
		var keys []adapter.Key
		for after := adapter.Key(0); ; {
			got, err := ledger.Walk(ctx, adapter.Products, after, 5)
			if len(withoutTimes(t, got, err)) == 0 {
				break
			}
			for _, e := range got {
				keys = append(keys, e.Key)
			}
			after = keys[len(keys)-1]
		}
		want := []adapter.Key{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 100, 101}
		if !slices.Equal(keys, want) {
			t.Errorf("%v, want %v", keys, want)
		}
	})
	t.Run("noted", func(t *testing.T) {
		got, err := ledger.Noted(ctx, time.Now().Add(time.Minute), 10)
		if keys := keysOf(withoutTimes(t, got, err)); !slices.Equal(keys, []adapter.Key{101}) {
			t.Errorf("%v, want 101", keys)
		}
		if got, err := ledger.Noted(ctx, time.Now().Add(-time.Hour), 10); len(got) != 0 || err != nil {
			t.Errorf("before: %v, %v", got, err)
		}
		enter(replica.Entry{Resource: adapter.Orders, Key: 1, ID: "a", Note: []byte("{}")})
		got, err = ledger.Noted(ctx, time.Now().Add(time.Minute), 1)
		if keys := keysOf(withoutTimes(t, got, err)); !slices.Equal(keys, []adapter.Key{101}) {
			t.Errorf("the oldest: %v, want 101", keys)
		}
	})
	t.Run("replace", func(t *testing.T) {
		want := replica.Entry{Resource: adapter.Products, Key: 101, ID: "new", Tag: "u", Base: []byte(`{"a":1}`)}
		enter(want)
		got, err := ledger.EntriesOf(ctx, adapter.Products, []string{"new"})
		if diff := cmp.Diff([]replica.Entry{want}, withoutTimes(t, got, err)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		enter(replica.Entry{Resource: adapter.Products, Key: 101, ID: "newer"})
		got, err = ledger.EntriesOf(ctx, adapter.Products, []string{"new"})
		if len(withoutTimes(t, got, err)) != 0 {
			t.Errorf("an id that was given up: %v", got)
		}
	})
	t.Run("refused", func(t *testing.T) {
		good := replica.Entry{Resource: adapter.Products, Key: 200, ID: "good"}
		for name, c := range map[string]struct {
			entry replica.Entry
			want  adapter.ErrorKind
		}{
			"id of another key":       {replica.Entry{Resource: adapter.Products, Key: 201, ID: "a "}, adapter.Conflict},
			"id of an existing entry": {replica.Entry{Resource: adapter.Products, Key: 100, ID: "a"}, adapter.Conflict},
			"same entry twice":        {replica.Entry{Resource: adapter.Products, Key: 201, ID: "good"}, adapter.Conflict},
			"too long":                {replica.Entry{Resource: adapter.Products, Key: 201, ID: long + "x"}, adapter.Invalid},
			"zero byte":               {replica.Entry{Resource: adapter.Products, Key: 201, ID: "a\x00"}, adapter.Invalid},
			"invalid UTF-8":           {replica.Entry{Resource: adapter.Products, Key: 201, Note: []byte("\xff")}, adapter.Invalid},
			"long tag":                {replica.Entry{Resource: adapter.Products, Key: 201, Tag: strings.Repeat("t", 256)}, adapter.Invalid},
		} {
			wantKind(t, name, ledger.Enter(ctx, good, c.entry), c.want)
		}
		got, err := ledger.Entries(ctx, adapter.Products, []adapter.Key{200, 201})
		if len(withoutTimes(t, got, err)) != 0 {
			t.Errorf("stored all the same: %v", got)
		}
	})
	t.Run("many", func(t *testing.T) {
		var many []replica.Entry
		var keys []adapter.Key
		var ids []string
		for n := range 300 {
			many = append(many, replica.Entry{Resource: adapter.Customers, Key: adapter.Key(300 - n), ID: fmt.Sprint("c", n), Tag: "1"})
			keys, ids = append(keys, many[n].Key), append(ids, many[n].ID)
		}
		enter(many[:150]...)
		for i := range many {
			many[i].Tag = "2"
		}
		enter(many...)
		byKey, err := ledger.Entries(ctx, adapter.Customers, keys)
		byID, err2 := ledger.EntriesOf(ctx, adapter.Customers, ids)
		for _, got := range [][]replica.Entry{withoutTimes(t, byKey, err), withoutTimes(t, byID, err2)} {
			if len(got) != len(many) || slices.ContainsFunc(got, func(e replica.Entry) bool { return e.Tag != "2" }) {
				t.Errorf("%d entries, want %d with the second tag", len(got), len(many))
			}
		}
	})
	t.Run("doubt", func(t *testing.T) {
		if err := ledger.Doubt(ctx); err != nil {
			t.Fatal(err)
		}
		for _, r := range []adapter.Resource{adapter.Products, adapter.Customers} {
			got, err := ledger.Walk(ctx, r, 0, 1000)
			for _, e := range withoutTimes(t, got, err) {
				if e.Tag != "" {
					t.Errorf("%s %d has the tag %q", r, e.Key, e.Tag)
				}
			}
		}
	})
	t.Run("strike", func(t *testing.T) {
		for _, c := range []struct {
			resource adapter.Resource
			key      adapter.Key
		}{{adapter.CustomerAddresses, 2}, {adapter.Products, 1}, {adapter.Products, 1}} {
			if err := ledger.Strike(ctx, c.resource, c.key); err != nil {
				t.Fatal(err)
			}
		}
		for r, want := range map[adapter.Resource]int{adapter.Products: 13, adapter.StockItems: 0, adapter.ProductWebsites: 0, adapter.CustomerAddresses: 0, adapter.Orders: 1} {
			got, err := ledger.Walk(ctx, r, 0, 100)
			if len(withoutTimes(t, got, err)) != want {
				t.Errorf("%s: %d entries, want %d", r, len(got), want)
			}
		}
	})
	t.Run("reset", func(t *testing.T) {
		if err := db.Reset(ctx, data(t)); err != nil {
			t.Fatal(err)
		}
		for _, r := range []adapter.Resource{adapter.Products, adapter.Customers, adapter.Orders} {
			if got, err := ledger.Walk(ctx, r, 0, 1); len(got) != 0 || err != nil {
				t.Errorf("%s: %v, %v", r, got, err)
			}
		}
	})
	t.Run("closed", func(t *testing.T) {
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		_, err := ledger.Entries(ctx, adapter.Products, []adapter.Key{1})
		wantKind(t, "Entries", err, adapter.Unavailable)
		wantKind(t, "Enter", ledger.Enter(ctx, all...), adapter.Unavailable)
		wantKind(t, "Strike", ledger.Strike(ctx, adapter.Products, 1), adapter.Unavailable)
		wantKind(t, "Doubt", ledger.Doubt(ctx), adapter.Unavailable)
	})
}

// TestConcurrentEntries stores one entry from many goroutines.
func TestConcurrentEntries(t *testing.T) {
	sqlstore.EachEngine(t, testConcurrentEntries)
}

func testConcurrentEntries(t *testing.T, e sqlstore.Engine) {
	const writers = 8
	ctx, ledger := t.Context(), open(t, e.NewDSN(t)).Replica()
	together := func(entry func(n int) replica.Entry) (stored, conflicts int) {
		t.Helper()
		var all sync.WaitGroup
		failed := make([]error, writers)
		for n := range writers {
			all.Go(func() { failed[n] = ledger.Enter(ctx, entry(n)) })
		}
		all.Wait()
		for _, err := range failed {
			switch {
			case err == nil:
				stored++
			case adapter.KindOf(err) == adapter.Conflict:
				conflicts++
			default:
				t.Error(err)
			}
		}
		return stored, conflicts
	}
	for round := range 5 {
		id := fmt.Sprint("one ", round)
		stored, conflicts := together(func(n int) replica.Entry {
			return replica.Entry{Resource: adapter.Products, Key: adapter.Key(100*round + n + 1), ID: id}
		})
		if stored != 1 || conflicts != writers-1 {
			t.Errorf("one id: %d stored, %d conflicts", stored, conflicts)
		}
		if got, err := ledger.EntriesOf(ctx, adapter.Products, []string{id}); len(got) != 1 || err != nil {
			t.Errorf("one id: %v, %v", got, err)
		}
		stored, _ = together(func(n int) replica.Entry {
			return replica.Entry{Resource: adapter.Customers, Key: adapter.Key(round + 1), ID: fmt.Sprint("many ", round, n)}
		})
		if stored != writers {
			t.Errorf("one key: %d stored, want %d", stored, writers)
		}
	}
}
