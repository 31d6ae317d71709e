package idmap_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/idmap"
)

// A countingMap counts the ids looked up. It is in memory, as a database cannot run
// within testing/synctest.
type countingMap struct {
	idmap.Map
	mappings []idmap.Mapping
	lookups  int
}

func (l *countingMap) MappingsByKey(_ context.Context, r adapter.Resource, keys []adapter.Key) ([]idmap.Mapping, error) {
	l.lookups += len(keys)
	return slices.DeleteFunc(slices.Clone(l.mappings), func(mapping idmap.Mapping) bool {
		return mapping.Resource != r || !slices.Contains(keys, mapping.Key)
	}), nil
}

func (l *countingMap) MappingsByBackendID(_ context.Context, r adapter.Resource, ids []string) ([]idmap.Mapping, error) {
	l.lookups += len(ids)
	return slices.DeleteFunc(slices.Clone(l.mappings), func(mapping idmap.Mapping) bool {
		return mapping.Resource != r || !slices.Contains(ids, mapping.BackendID)
	}), nil
}

func TestCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		idMap := &countingMap{mappings: []idmap.Mapping{
			{Resource: adapter.Products, Key: 1, BackendID: "p1"}, {Resource: adapter.Products, Key: 2, BackendID: "p2"},
			{Resource: adapter.Products, Key: 3}, // still being created
			{Resource: adapter.Websites, Key: 1, BackendID: "w1"}, {Resource: adapter.Websites, Key: 2, BackendID: "w2"},
		}}
		ids := idmap.NewCache(idMap)
		want := func(name string, lookups int, r adapter.Resource, keys []adapter.Key, want map[adapter.Key]string) {
			t.Helper()
			idMap.lookups = 0
			got, err := ids.BackendIDs(t.Context(), r, keys)
			if diff := cmp.Diff(want, got); diff != "" || err != nil || idMap.lookups != lookups {
				t.Errorf("%s: %v, %d ids looked up, want %d\n%s", name, err, idMap.lookups, lookups, diff)
			}
		}
		wantKeys := func(name string, lookups int, r adapter.Resource, names []string, want map[string]adapter.Key) {
			t.Helper()
			idMap.lookups = 0
			got, err := ids.Keys(t.Context(), r, names)
			if diff := cmp.Diff(want, got); diff != "" || err != nil || idMap.lookups != lookups {
				t.Errorf("%s: %v, %d ids looked up, want %d\n%s", name, err, idMap.lookups, lookups, diff)
			}
		}
		want("first lookup", 2, adapter.Products, []adapter.Key{1, 9}, map[adapter.Key]string{1: "p1"})
		want("second lookup", 1, adapter.Products, []adapter.Key{1, 9}, map[adapter.Key]string{1: "p1"})
		want("another resource", 1, adapter.Websites, []adapter.Key{1}, map[adapter.Key]string{1: "w1"})
		wantKeys("first lookup by id", 1, adapter.Websites, []string{"w2"}, map[string]adapter.Key{"w2": 2})
		want("cached by a lookup by id", 0, adapter.Websites, []adapter.Key{2}, map[adapter.Key]string{2: "w2"})
		want("partly cached", 1, adapter.Products, []adapter.Key{1, 2}, map[adapter.Key]string{1: "p1", 2: "p2"})
		want("none", 0, adapter.Products, nil, map[adapter.Key]string{})
		wantKeys("cached in the other direction", 0, adapter.Products, []string{"p1", "p2"}, map[string]adapter.Key{"p1": 1, "p2": 2})
		wantKeys("no mapping", 1, adapter.Products, []string{"p3"}, map[string]adapter.Key{})
		want("no id yet", 1, adapter.Products, []adapter.Key{3}, map[adapter.Key]string{})

		idMap.mappings[2].BackendID = "p3"
		want("misses are not cached", 1, adapter.Products, []adapter.Key{3}, map[adapter.Key]string{3: "p3"})
		wantKeys("cached by the last lookup", 0, adapter.Products, []string{"p3"}, map[string]adapter.Key{"p3": 3})

		idMap.mappings = idMap.mappings[1:]
		want("deleted, still cached", 0, adapter.Products, []adapter.Key{1}, map[adapter.Key]string{1: "p1"})
		time.Sleep(2 * time.Minute)
		want("deleted, cache expired", 1, adapter.Products, []adapter.Key{1}, map[adapter.Key]string{})
		wantKeys("deleted, by id", 1, adapter.Products, []string{"p1"}, map[string]adapter.Key{})
	})
}

type failingMap struct{ idmap.Map }

func (failingMap) MappingsByKey(context.Context, adapter.Resource, []adapter.Key) ([]idmap.Mapping, error) {
	return nil, &adapter.Error{Kind: adapter.Unavailable, Op: "read ID map"}
}

func (failingMap) MappingsByBackendID(context.Context, adapter.Resource, []string) ([]idmap.Mapping, error) {
	return nil, &adapter.Error{Kind: adapter.Unavailable, Op: "read ID map"}
}

func TestCacheUnavailable(t *testing.T) {
	ids := idmap.NewCache(failingMap{})
	if _, err := ids.BackendIDs(t.Context(), adapter.Products, []adapter.Key{1}); adapter.KindOf(err) != adapter.Unavailable {
		t.Error(err)
	}
	if _, err := ids.Keys(t.Context(), adapter.Products, []string{"a"}); adapter.KindOf(err) != adapter.Unavailable {
		t.Error(err)
	}
}
