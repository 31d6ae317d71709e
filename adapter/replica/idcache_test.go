package replica_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/demo"
	"github.com/portico-commerce/portico/adapter/replica"
	"github.com/portico-commerce/portico/adapter/sqlstore"
)

// demoSide returns the demo store as a side, on SQLite, with an empty ledger.
func demoSide(tb testing.TB) replica.Replica {
	tb.Helper()
	db, err := sqlstore.Open(tb.Context(), sqlstore.Options{DSN: "sqlite:" + filepath.Join(tb.TempDir(), "side.db"), Migrate: true})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = db.Close() })
	data, err := demo.Load()
	if err != nil {
		tb.Fatal(err)
	}
	if err := db.Load(tb.Context(), data, nil); err != nil {
		tb.Fatal(err)
	}
	return db.Replica()
}

// keptByShop is what the backends of these tests keep.
func keptByShop() []replica.BackendResource {
	return []replica.BackendResource{
		{Resource: adapter.Products, Root: adapter.Products, Attributes: []string{"name"}},
		{Resource: adapter.StockItems, Root: adapter.Products, RootAttribute: "product_id", Attributes: []string{"qty"}},
		{Resource: adapter.Customers, Root: adapter.Customers, Attributes: []string{"email"}},
		{Resource: adapter.CustomerAddresses, Root: adapter.Customers, RootAttribute: "customer_id", HasIDs: true, Attributes: []string{"city"}},
	}
}

// countedLedger counts what it is asked for. Its entries are in memory: within
// testing/synctest there is no database.
type countedLedger struct {
	replica.IDMap
	entries []replica.Mapping
	asked   int
}

func (l *countedLedger) MappingsByKey(_ context.Context, r adapter.Resource, keys []adapter.Key) ([]replica.Mapping, error) {
	l.asked += len(keys)
	return slices.DeleteFunc(slices.Clone(l.entries), func(mapping replica.Mapping) bool {
		return mapping.Resource != r || !slices.Contains(keys, mapping.Key)
	}), nil
}

func (l *countedLedger) MappingsByBackendID(_ context.Context, r adapter.Resource, ids []string) ([]replica.Mapping, error) {
	l.asked += len(ids)
	return slices.DeleteFunc(slices.Clone(l.entries), func(mapping replica.Mapping) bool {
		return mapping.Resource != r || !slices.Contains(ids, mapping.BackendID)
	}), nil
}

func TestIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ledger := &countedLedger{entries: []replica.Mapping{
			{Resource: adapter.Products, Key: 1, BackendID: "p1"}, {Resource: adapter.Products, Key: 2, BackendID: "p2"},
			{Resource: adapter.Products, Key: 3}, // its id is still to come
			{Resource: adapter.Websites, Key: 1, BackendID: "w1"},
		}}
		ids := replica.NewIDCache(ledger)
		want := func(name string, asked int, r adapter.Resource, keys []adapter.Key, want map[adapter.Key]string) {
			t.Helper()
			ledger.asked = 0
			got, err := ids.BackendIDs(t.Context(), r, keys)
			if diff := cmp.Diff(want, got); diff != "" || err != nil || ledger.asked != asked {
				t.Errorf("%s: %v, %d asked for, want %d\n%s", name, err, ledger.asked, asked, diff)
			}
		}
		wantKeys := func(name string, asked int, r adapter.Resource, names []string, want map[string]adapter.Key) {
			t.Helper()
			ledger.asked = 0
			got, err := ids.Keys(t.Context(), r, names)
			if diff := cmp.Diff(want, got); diff != "" || err != nil || ledger.asked != asked {
				t.Errorf("%s: %v, %d asked for, want %d\n%s", name, err, ledger.asked, asked, diff)
			}
		}
		want("first", 2, adapter.Products, []adapter.Key{1, 9}, map[adapter.Key]string{1: "p1"})
		want("again", 1, adapter.Products, []adapter.Key{1, 9}, map[adapter.Key]string{1: "p1"})
		want("another resource", 1, adapter.Websites, []adapter.Key{1}, map[adapter.Key]string{1: "w1"})
		want("partly known", 1, adapter.Products, []adapter.Key{1, 2}, map[adapter.Key]string{1: "p1", 2: "p2"})
		want("none", 0, adapter.Products, nil, map[adapter.Key]string{})
		wantKeys("the other way round", 0, adapter.Products, []string{"p1", "p2"}, map[string]adapter.Key{"p1": 1, "p2": 2})
		wantKeys("a miss", 1, adapter.Products, []string{"p3"}, map[string]adapter.Key{})
		want("no id yet", 1, adapter.Products, []adapter.Key{3}, map[adapter.Key]string{})

		ledger.entries[2].BackendID = "p3"
		want("misses are not kept", 1, adapter.Products, []adapter.Key{3}, map[adapter.Key]string{3: "p3"})
		wantKeys("nor is the other side", 0, adapter.Products, []string{"p3"}, map[string]adapter.Key{"p3": 3})

		ledger.entries = ledger.entries[1:]
		want("gone, not for long", 0, adapter.Products, []adapter.Key{1}, map[adapter.Key]string{1: "p1"})
		time.Sleep(2 * time.Minute)
		want("gone", 1, adapter.Products, []adapter.Key{1}, map[adapter.Key]string{})
		wantKeys("gone by id", 1, adapter.Products, []string{"p1"}, map[string]adapter.Key{})
	})
}

type brokenLedger struct{ replica.IDMap }

func (brokenLedger) MappingsByKey(context.Context, adapter.Resource, []adapter.Key) ([]replica.Mapping, error) {
	return nil, &adapter.Error{Kind: adapter.Unavailable, Op: "read ID map"}
}

func (brokenLedger) MappingsByBackendID(context.Context, adapter.Resource, []string) ([]replica.Mapping, error) {
	return nil, &adapter.Error{Kind: adapter.Unavailable, Op: "read ID map"}
}

func TestIDsUnavailable(t *testing.T) {
	ids := replica.NewIDCache(brokenLedger{})
	if _, err := ids.BackendIDs(t.Context(), adapter.Products, []adapter.Key{1}); adapter.KindOf(err) != adapter.Unavailable {
		t.Error(err)
	}
	if _, err := ids.Keys(t.Context(), adapter.Products, []string{"a"}); adapter.KindOf(err) != adapter.Unavailable {
		t.Error(err)
	}
}
