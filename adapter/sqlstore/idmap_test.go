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
	"github.com/portico-commerce/portico/adapter/idmap"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// withoutTimes returns mappings without the times at which they were stored.
func withoutTimes(tb testing.TB, mappings []idmap.Mapping, err error) []idmap.Mapping {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
	for i := range mappings {
		if age := time.Since(mappings[i].ChangedAt); age < 0 || age > time.Hour {
			tb.Errorf("mapping %d changed at %v", mappings[i].Key, mappings[i].ChangedAt)
		}
		mappings[i].ChangedAt = time.Time{}
	}
	return mappings
}

// keysOf returns the keys of mappings, sorted.
func keysOf(mappings []idmap.Mapping) []adapter.Key {
	keys := make([]adapter.Key, len(mappings))
	for i, m := range mappings {
		keys[i] = m.Key
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

func TestIDMap(t *testing.T) {
	sqltest.EachEngine(t, testLedger)
}

func testLedger(t *testing.T, e sqltest.Engine) {
	ctx, db := t.Context(), open(t, e.NewDSN(t))
	idMap := db.Replica()
	enter := func(mappings ...idmap.Mapping) {
		t.Helper()
		if err := idMap.PutMappings(ctx, mappings...); err != nil {
			t.Fatal(err)
		}
	}
	long := strings.Repeat("🂡", 255)
	odd := []string{"a", "A", "a ", "a\n", "ä", "a\u0308", "1", "01", "%", `\`, "'", long}
	all := []idmap.Mapping{
		{Resource: adapter.Orders, Key: 1, BackendID: "a", Version: "t", Base: []byte(`{"sku":"ä"}`)}, // the same id as a product
		{Resource: adapter.Products, Key: 100},
		{Resource: adapter.Products, Key: 101, Base: []byte("{}"), Intent: []byte(`{"op":"create"}`)},
		{Resource: adapter.StockItems, Key: 5, Root: adapter.Products, RootKey: 1},
		{Resource: adapter.ProductWebsites, Key: 9, Root: adapter.Products, RootKey: 1},
		{Resource: adapter.ProductWebsites, Key: 2, Root: adapter.Products, RootKey: 1},
		{Resource: adapter.CustomerAddresses, Key: 2, BackendID: "x", Root: adapter.Customers, RootKey: 1},
	}
	for i, id := range odd {
		all = append(all, idmap.Mapping{Resource: adapter.Products, Key: adapter.Key(i + 1), BackendID: id, Version: strings.Repeat("t", 255)})
	}
	enter(all...)
	enter()

	t.Run("by key", func(t *testing.T) {
		var got []idmap.Mapping
		for _, r := range []adapter.Resource{adapter.Orders, adapter.Products, adapter.StockItems, adapter.ProductWebsites, adapter.CustomerAddresses} {
			var keys []adapter.Key
			for _, m := range all {
				if m.Resource == r {
					keys = append(keys, m.Key)
				}
			}
			some, err := idMap.MappingsByKey(ctx, r, append(keys, 77777))
			got = append(got, withoutTimes(t, some, err)...)
		}
		order := func(a, b idmap.Mapping) int {
			return strings.Compare(fmt.Sprintf("%s %09d", a.Resource, a.Key), fmt.Sprintf("%s %09d", b.Resource, b.Key))
		}
		slices.SortFunc(got, order)
		want := slices.SortedFunc(slices.Values(all), order)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
	t.Run("versions", func(t *testing.T) {
		base := []byte(`{"unresolved":{"websites":["1"]}}`)
		enter(idmap.Mapping{Resource: adapter.Products, Key: 103, BackendID: "v", Version: "v1", Base: base})
		cut := idmap.Mapping{Resource: adapter.Products, Key: 103, BackendID: "v", Version: "v1", Base: base[:idmap.BaseStart]}
		created := idmap.Mapping{Resource: adapter.Products, Key: 101, Base: []byte("{}"), Intent: []byte(`{"op":"create"}`)}
		part := idmap.Mapping{Resource: adapter.CustomerAddresses, Key: 2, BackendID: "x"}
		for _, c := range []struct {
			name string
			r    adapter.Resource
			keys []adapter.Key
			want []idmap.Mapping
		}{
			{"no keys", adapter.Products, nil, nil},
			{"one key", adapter.Products, []adapter.Key{103}, []idmap.Mapping{cut}},
			{"a key without a mapping", adapter.Products, []adapter.Key{104}, nil},
			{"neighbors in any order", adapter.Products, []adapter.Key{103, 101, 103}, []idmap.Mapping{created, cut}},
			{"far apart", adapter.Products, []adapter.Key{77777, 103, 101}, []idmap.Mapping{created, cut}},
			{"a part", adapter.CustomerAddresses, []adapter.Key{2}, []idmap.Mapping{part}},
		} {
			got, err := idMap.VersionsByKey(ctx, c.r, c.keys)
			slices.SortFunc(got, func(a, b idmap.Mapping) int { return int(a.Key - b.Key) })
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("%s: %v, -want +got:\n%s", c.name, err, diff)
			}
		}
		if err := idMap.DeleteMapping(ctx, adapter.Products, 103); err != nil {
			t.Error(err)
		}
	})
	t.Run("by id, case sensitive", func(t *testing.T) {
		for i, id := range odd {
			got, err := idMap.MappingsByBackendID(ctx, adapter.Products, []string{id, "nobody's", id})
			if keys := keysOf(withoutTimes(t, got, err)); !slices.Equal(keys, []adapter.Key{adapter.Key(i + 1)}) {
				t.Errorf("%q is %v", id, keys)
			}
		}
		got, err := idMap.MappingsByBackendID(ctx, adapter.Products, append(slices.Clone(odd), "", "a\x00", "\xff", long+"x", "b "))
		if keys := withoutTimes(t, got, err); len(keys) != len(odd) {
			t.Errorf("%d mappings, want %d", len(keys), len(odd))
		}
	})
	t.Run("empty request", func(t *testing.T) {
		if got, err := idMap.MappingsByKey(ctx, adapter.Products, nil); len(got) != 0 || err != nil {
			t.Errorf("%v, %v", got, err)
		}
		if got, err := idMap.MappingsByBackendID(ctx, adapter.Products, nil); len(got) != 0 || err != nil {
			t.Errorf("%v, %v", got, err)
		}
	})
	t.Run("owned", func(t *testing.T) {
		got, err := idMap.MappingsOfParts(ctx, adapter.Products, 1)
		var names []string
		for _, m := range withoutTimes(t, got, err) {
			names = append(names, fmt.Sprint(m.Resource, m.Key))
		}
		if want := []string{"product_websites2", "product_websites9", "stock_items5"}; !slices.Equal(names, want) {
			t.Errorf("%v, want %v", names, want)
		}
		if got, err := idMap.MappingsOfParts(ctx, adapter.Products, 2); len(got) != 0 || err != nil {
			t.Errorf("%v, %v", got, err)
		}
	})
	t.Run("walk", func(t *testing.T) {
		var keys []adapter.Key
		for after := adapter.Key(0); ; {
			got, err := idMap.ListMappings(ctx, adapter.Products, after, 5)
			if len(withoutTimes(t, got, err)) == 0 {
				break
			}
			for _, m := range got {
				keys = append(keys, m.Key)
			}
			after = keys[len(keys)-1]
		}
		want := []adapter.Key{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 100, 101}
		if !slices.Equal(keys, want) {
			t.Errorf("%v, want %v", keys, want)
		}
	})
	t.Run("noted", func(t *testing.T) {
		got, err := idMap.MappingsWithIntent(ctx, 10)
		if keys := keysOf(withoutTimes(t, got, err)); !slices.Equal(keys, []adapter.Key{101}) {
			t.Errorf("%v, want 101", keys)
		}
		enter(idmap.Mapping{Resource: adapter.Orders, Key: 1, BackendID: "a", Intent: []byte("{}")})
		got, err = idMap.MappingsWithIntent(ctx, 1)
		if keys := keysOf(withoutTimes(t, got, err)); !slices.Equal(keys, []adapter.Key{101}) {
			t.Errorf("the oldest: %v, want 101", keys)
		}
	})
	t.Run("replace", func(t *testing.T) {
		want := idmap.Mapping{Resource: adapter.Products, Key: 101, BackendID: "new", Version: "u", Base: []byte(`{"a":1}`)}
		enter(want)
		got, err := idMap.MappingsByBackendID(ctx, adapter.Products, []string{"new"})
		if diff := cmp.Diff([]idmap.Mapping{want}, withoutTimes(t, got, err)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		enter(idmap.Mapping{Resource: adapter.Products, Key: 101, BackendID: "newer"})
		got, err = idMap.MappingsByBackendID(ctx, adapter.Products, []string{"new"})
		if len(withoutTimes(t, got, err)) != 0 {
			t.Errorf("an id that was given up: %v", got)
		}
	})
	t.Run("refused", func(t *testing.T) {
		good := idmap.Mapping{Resource: adapter.Products, Key: 200, BackendID: "good"}
		for name, c := range map[string]struct {
			mapping idmap.Mapping
			want    adapter.ErrorKind
		}{
			"id of another key":         {idmap.Mapping{Resource: adapter.Products, Key: 201, BackendID: "a "}, adapter.Conflict},
			"id of an existing mapping": {idmap.Mapping{Resource: adapter.Products, Key: 100, BackendID: "a"}, adapter.Conflict},
			"same mapping twice":        {idmap.Mapping{Resource: adapter.Products, Key: 201, BackendID: "good"}, adapter.Conflict},
			"too long":                  {idmap.Mapping{Resource: adapter.Products, Key: 201, BackendID: long + "x"}, adapter.Invalid},
			"zero byte":                 {idmap.Mapping{Resource: adapter.Products, Key: 201, BackendID: "a\x00"}, adapter.Invalid},
			"invalid UTF-8":             {idmap.Mapping{Resource: adapter.Products, Key: 201, Intent: []byte("\xff")}, adapter.Invalid},
			"long version":              {idmap.Mapping{Resource: adapter.Products, Key: 201, Version: strings.Repeat("t", 256)}, adapter.Invalid},
		} {
			wantKind(t, name, idMap.PutMappings(ctx, good, c.mapping), c.want)
		}
		got, err := idMap.MappingsByKey(ctx, adapter.Products, []adapter.Key{200, 201})
		if len(withoutTimes(t, got, err)) != 0 {
			t.Errorf("stored all the same: %v", got)
		}
	})
	t.Run("many", func(t *testing.T) {
		var many []idmap.Mapping
		var keys []adapter.Key
		var ids []string
		for n := range 300 {
			many = append(many, idmap.Mapping{Resource: adapter.Customers, Key: adapter.Key(300 - n), BackendID: fmt.Sprint("c", n), Version: "1"})
			keys, ids = append(keys, many[n].Key), append(ids, many[n].BackendID)
		}
		enter(many[:150]...)
		for i := range many {
			many[i].Version = "2"
		}
		enter(many...)
		byKey, err := idMap.MappingsByKey(ctx, adapter.Customers, keys)
		byID, err2 := idMap.MappingsByBackendID(ctx, adapter.Customers, ids)
		for _, got := range [][]idmap.Mapping{withoutTimes(t, byKey, err), withoutTimes(t, byID, err2)} {
			if len(got) != len(many) || slices.ContainsFunc(got, func(m idmap.Mapping) bool { return m.Version != "2" }) {
				t.Errorf("%d mappings, want %d with the second version", len(got), len(many))
			}
		}
	})
	t.Run("strike", func(t *testing.T) {
		for _, c := range []struct {
			resource adapter.Resource
			key      adapter.Key
		}{{adapter.CustomerAddresses, 2}, {adapter.Products, 1}, {adapter.Products, 1}} {
			if err := idMap.DeleteMapping(ctx, c.resource, c.key); err != nil {
				t.Fatal(err)
			}
		}
		for r, want := range map[adapter.Resource]int{adapter.Products: 13, adapter.StockItems: 0, adapter.ProductWebsites: 0, adapter.CustomerAddresses: 0, adapter.Orders: 1} {
			got, err := idMap.ListMappings(ctx, r, 0, 100)
			if len(withoutTimes(t, got, err)) != want {
				t.Errorf("%s: %d mappings, want %d", r, len(got), want)
			}
		}
	})
	t.Run("reset", func(t *testing.T) {
		if err := db.Reset(ctx, data(t)); err != nil {
			t.Fatal(err)
		}
		for _, r := range []adapter.Resource{adapter.Products, adapter.Customers, adapter.Orders} {
			if got, err := idMap.ListMappings(ctx, r, 0, 1); len(got) != 0 || err != nil {
				t.Errorf("%s: %v, %v", r, got, err)
			}
		}
	})
	t.Run("closed", func(t *testing.T) {
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		_, err := idMap.MappingsByKey(ctx, adapter.Products, []adapter.Key{1})
		wantKind(t, "MappingsByKey", err, adapter.Unavailable)
		_, err = idMap.VersionsByKey(ctx, adapter.Products, []adapter.Key{1})
		wantKind(t, "VersionsByKey", err, adapter.Unavailable)
		wantKind(t, "PutMappings", idMap.PutMappings(ctx, all...), adapter.Unavailable)
		wantKind(t, "DeleteMapping", idMap.DeleteMapping(ctx, adapter.Products, 1), adapter.Unavailable)
	})
}

// TestCompleteIntent stores mappings if the root still has the given intent.
func TestCompleteIntent(t *testing.T) {
	sqltest.EachEngine(t, func(t *testing.T, e sqltest.Engine) {
		ctx, idMap := t.Context(), open(t, e.NewDSN(t)).Replica()
		root := idmap.Mapping{Resource: adapter.Customers, Key: 1, BackendID: "a"}
		part := idmap.Mapping{Resource: adapter.CustomerAddresses, Key: 2, BackendID: "b", Root: adapter.Customers, RootKey: 1}
		for _, tt := range []struct {
			name   string
			stored []byte // the intent that the stored mapping has
			absent bool   // no mapping is stored
			want   bool
		}{
			{"still there", []byte(`{"op":"update"}`), false, true},
			{"resolved", nil, false, false},
			{"that of another write", []byte(`{"op":"delete"}`), false, false},
			{"deleted", nil, true, false},
		} {
			t.Run(tt.name, func(t *testing.T) {
				if err := idMap.DeleteMapping(ctx, root.Resource, root.Key); err != nil {
					t.Fatal(err)
				}
				if !tt.absent {
					before := root
					before.Version, before.Intent = "old", tt.stored
					if err := idMap.PutMappings(ctx, before); err != nil {
						t.Fatal(err)
					}
				}
				after := root
				after.Version = "new"
				completed, err := idMap.CompleteIntent(ctx, []byte(`{"op":"update"}`), after, part)
				if err != nil || completed != tt.want {
					t.Fatalf("completed: %t (%v), want %t", completed, err, tt.want)
				}
				roots, err := idMap.MappingsByKey(ctx, root.Resource, []adapter.Key{root.Key})
				if err != nil {
					t.Fatal(err)
				}
				parts, err := idMap.MappingsOfParts(ctx, root.Resource, root.Key)
				if err != nil {
					t.Fatal(err)
				}
				if stored := len(roots) == 1 && roots[0].Version == "new" && roots[0].Intent == nil && len(parts) == 1; stored != tt.want {
					t.Errorf("stored %+v and %+v, want them stored: %t", roots, parts, tt.want)
				}
			})
		}
	})
}

// TestConcurrentMappings stores one mapping from many goroutines.
func TestConcurrentMappings(t *testing.T) {
	sqltest.EachEngine(t, testConcurrentEntries)
}

func testConcurrentEntries(t *testing.T, e sqltest.Engine) {
	const writers = 8
	ctx, idMap := t.Context(), open(t, e.NewDSN(t)).Replica()
	together := func(mapping func(n int) idmap.Mapping) (stored, conflicts int) {
		t.Helper()
		var all sync.WaitGroup
		failed := make([]error, writers)
		for n := range writers {
			all.Go(func() { failed[n] = idMap.PutMappings(ctx, mapping(n)) })
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
		stored, conflicts := together(func(n int) idmap.Mapping {
			return idmap.Mapping{Resource: adapter.Products, Key: adapter.Key(100*round + n + 1), BackendID: id}
		})
		if stored != 1 || conflicts != writers-1 {
			t.Errorf("one id: %d stored, %d conflicts", stored, conflicts)
		}
		if got, err := idMap.MappingsByBackendID(ctx, adapter.Products, []string{id}); len(got) != 1 || err != nil {
			t.Errorf("one id: %v, %v", got, err)
		}
		stored, _ = together(func(n int) idmap.Mapping {
			return idmap.Mapping{Resource: adapter.Customers, Key: adapter.Key(round + 1), BackendID: fmt.Sprint("many ", round, n)}
		})
		if stored != writers {
			t.Errorf("one key: %d stored, want %d", stored, writers)
		}
	}
}

// TestCreateWithIntent checks that a record and the mapping with its write intent are stored together
// or not at all.
func TestCreateWithIntent(t *testing.T) {
	sqltest.EachEngine(t, func(t *testing.T, e sqltest.Engine) {
		local := openDemo(t, e).Replica()
		create := func(email string, intent func(adapter.Key) ([]byte, error)) (adapter.Key, []idmap.Mapping, error) {
			t.Helper()
			var chosen adapter.Key
			record := attrs{"website_id": 1, "store_id": 1, "group_id": 1, "email": email, "disable_auto_group_change": 0}
			key, err := local.CreateWithIntent(t.Context(), &adapter.CreateParams{Record: record.Record(adapter.NewSchemas().Of(adapter.Customers))}, func(key adapter.Key) ([]byte, error) {
				chosen = key
				return intent(key)
			})
			stored, failed := local.MappingsByKey(t.Context(), adapter.Customers, []adapter.Key{chosen})
			return key, withoutTimes(t, stored, failed), err
		}
		key, got, err := create("new@example.com", func(key adapter.Key) ([]byte, error) { return fmt.Append(nil, key), nil })
		want := []idmap.Mapping{{Resource: adapter.Customers, Key: key, Intent: fmt.Append(nil, key)}}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v; -want +got:\n%s", err, diff)
		}
		errNo := errors.New("no")
		if _, got, err := create("other@example.com", func(adapter.Key) ([]byte, error) { return nil, errNo }); !errors.Is(err, errNo) || len(got) > 0 {
			t.Errorf("%v, %v", got, err)
		}
		// The record is not there, or this would be a conflict.
		if _, _, err := create("other@example.com", func(adapter.Key) ([]byte, error) { return []byte("{}"), nil }); err != nil {
			t.Error(err)
		}
	})
}

// TestBeginIntent checks that a write intent is stored only if no process has stored the mapping
// since it was read, and that an update of an idle record is refused while there is one.
func TestBeginIntent(t *testing.T) {
	sqltest.EachEngine(t, func(t *testing.T, e sqltest.Engine) {
		local := openDemo(t, e).Replica()
		root := idmap.Mapping{Resource: adapter.Customers, Key: 1}
		read := func() idmap.Mapping {
			t.Helper()
			got, err := local.MappingsByKey(t.Context(), root.Resource, []adapter.Key{root.Key})
			if err != nil || len(got) != 1 {
				t.Fatal(got, err)
			}
			return got[0]
		}
		begin := func(m idmap.Mapping, intent string, want bool) {
			t.Helper()
			m.Intent = []byte(intent)
			if begun, err := local.BeginIntent(t.Context(), m); err != nil || begun != want {
				t.Errorf("%s: %v, %v, want %v", intent, begun, err, want)
			}
		}
		update := func(want bool) {
			t.Helper()
			idle, err := local.UpdateIdle(t.Context(), root, adapter.Customers, &adapter.UpdateParams{Key: 1, Change: func(current adapter.Record) (adapter.Record, error) {
				return attrs{"taxvat": "x"}.Record(current.Schema), nil
			}})
			if err != nil || idle != want {
				t.Errorf("update: %v, %v, want %v", idle, err, want)
			}
		}
		update(false) // there is no mapping
		begin(root, "first", true)
		begin(root, "second", false)
		begin(read(), "third", false)
		update(false)
		without := read()
		without.Intent = nil
		if completed, err := local.CompleteIntent(t.Context(), []byte("first"), without); err != nil || !completed {
			t.Fatal(completed, err)
		}
		begin(without, "of what was read before", false)
		idle := read()
		update(true)
		begin(idle, "of what was read before the update", false)
		begin(read(), "last", true)
	})
}
