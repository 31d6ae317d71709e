package resource

import (
	"github.com/portico-commerce/portico/adapter"
	"slices"
	"strings"
	"testing"
	"time"
)

func newTestMemory(t testing.TB) *ListCache {
	t.Helper()
	m, err := NewListCache(time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestListKeys compares lists that differ in exactly one respect, or that hold the same
// texts divided differently.
func TestListKeys(t *testing.T) {
	where := func(tests ...adapter.Test) adapter.ListParams {
		return adapter.ListParams{Query: adapter.Query{Where: []adapter.Condition{{Any: tests}}}}
	}
	test := func(attribute string, op adapter.Op, operands ...string) adapter.Test {
		return adapter.Test{Attribute: attribute, Op: op, Operands: operands}
	}
	lists := map[string]adapter.ListParams{
		"all":            {},
		"owner":          {OwnerID: 1},
		"store":          {StoreID: 1},
		"website scope":  {WebsiteScope: true},
		"overrides":      {OverridesOnly: true},
		"website":        {Filters: []adapter.Filter{{Name: adapter.InWebsite, Value: 1}}},
		"any website":    {Filters: []adapter.Filter{{Name: adapter.InWebsite}}},
		"category":       {Filters: []adapter.Filter{{Name: adapter.InCategory, Value: 1}}},
		"order":          {Query: adapter.Query{OrderBy: "a"}},
		"descending":     {Query: adapter.Query{OrderBy: "a", Desc: true}},
		"condition":      {Query: adapter.Query{Where: []adapter.Condition{{}}}},
		"conditions":     {Query: adapter.Query{Where: []adapter.Condition{{}, {}}}},
		"attribute":      where(test("a", adapter.Eq)),
		"operator":       where(test("a", adapter.NotEq)),
		"no text":        where(test("a", adapter.Eq, "")),
		"operand":        where(test("a", adapter.Eq, "bc")),
		"operands":       where(test("a", adapter.Eq, "b", "c")),
		"operands begin": where(test("a", adapter.Eq, "", "bc")),
		"longer name":    where(test("ab", adapter.Eq, "c")),
		"tests":          where(test("a", adapter.Eq, "b"), test("a", adapter.Eq, "c")),
		"both": {Query: adapter.Query{Where: []adapter.Condition{
			{Any: []adapter.Test{test("a", adapter.Eq, "b")}}, {Any: []adapter.Test{test("a", adapter.Eq, "c")}},
		}}},
	}
	seen := map[listKey]string{}
	for _, r := range []adapter.Resource{adapter.Products, adapter.StockItems} {
		for name, p := range lists {
			key := listKeyOf(r, &p, true)
			if other, known := seen[key]; known {
				t.Errorf("%s %s has the key of %s", r, name, other)
			}
			seen[key] = string(r) + " " + name
			page := p
			page.With, page.Count, page.Query.Limit, page.Query.Offset, page.Query.After = []string{"a"}, true, 7, 9, &adapter.Cursor{Key: 1}
			if listKeyOf(r, &page, true) != key {
				t.Errorf("%s %s: the page changes the key", r, name)
			}
		}
	}
	ordered, all := lists["other way"], lists["all"]
	if listKeyOf(adapter.Products, &ordered, false) != listKeyOf(adapter.Products, &all, false) {
		t.Error("the order changes the key of the total")
	}
}

// FuzzListKey checks that two lists of tests have the same key only if they are the same.
func FuzzListKey(f *testing.F) {
	f.Add("a", "bc", "ab", "c")
	f.Add("", "\x00", "\x00", "")
	f.Fuzz(func(t *testing.T, a, b, c, d string) {
		key := func(attribute, operand string) listKey {
			condition := NewCondition(attribute, adapter.In, strings.Split(operand, ",")...)
			return listKeyOf(adapter.Products, &adapter.ListParams{Query: adapter.Query{Where: []adapter.Condition{condition}}}, true)
		}
		if same := a == c && b == d; (key(a, b) == key(c, d)) != same {
			t.Errorf("%q %q and %q %q: same key %v", a, b, c, d, !same)
		}
	})
}

// TestListCacheIsBounded fills the cache with lists that are never requested again.
func TestListCacheIsBounded(t *testing.T) {
	m := newTestMemory(t)
	for owner := range int64(2 * maxPositions) {
		v := m.view(adapter.StockItems, &adapter.ListParams{OwnerID: owner})
		v.setTotal(owner, m.now())
		v.setPosition(stretch, &adapter.Cursor{Key: 1}, m.now())
		if total, ok := v.total(); !ok || total != owner {
			t.Fatalf("list %d: total %d, %v", owner, total, ok)
		}
	}
	if m.totals.Len() != maxTotals || m.positions.Len() != maxPositions || m.stretches.Len() != maxStretches {
		t.Errorf("%d totals, %d positions, %d stretches", m.totals.Len(), m.positions.Len(), m.stretches.Len())
	}
}

// TestLongMarksAreNotCached checks that marks with long texts or lists are not cached.
func TestLongMarksAreNotCached(t *testing.T) {
	for _, c := range []struct {
		name  string
		value adapter.Value
		want  bool
	}{
		{"text", adapter.TextValue(strings.Repeat("x", maxMarkBytes)), true},
		{"long text", adapter.TextValue(strings.Repeat("x", maxMarkBytes+1)), false},
		{"null", adapter.NullValue(), true},
		{"texts", adapter.TextsValue([]string{"x"}), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newTestMemory(t)
			v := m.view(adapter.CustomerAddresses, &adapter.ListParams{Query: adapter.Query{OrderBy: "city"}})
			v.setPosition(10, &adapter.Cursor{Value: c.value, Key: 7}, m.now())
			mark, _, ok := v.position(10)
			if ok != c.want || ok && (mark.Key != 7 || mark.Value.Text() != c.value.Text()) {
				t.Errorf("%+v, %v", mark, ok)
			}
		})
	}
}

// TestInvalidate checks that entries from before an invalidation are neither used nor stored,
// and that entries of other resources remain.
func TestInvalidate(t *testing.T) {
	all := []adapter.Resource{adapter.Products, adapter.Customers, adapter.Orders}
	for name, invalidated := range map[string][]adapter.Resource{"one": all[:1], "two": all[:2], "all": nil} {
		t.Run(name, func(t *testing.T) {
			m := newTestMemory(t)
			for _, r := range all {
				before := m.view(r, &adapter.ListParams{})
				before.setTotal(5, m.now())
				m.Invalidate(invalidated)
				want := len(invalidated) > 0 && !slices.Contains(invalidated, r)
				now := m.view(r, &adapter.ListParams{})
				if _, ok := now.total(); ok != want {
					t.Errorf("%s: a total from before is used: %t, want %t", r, ok, want)
				}
				before.setTotal(6, m.now()) // by a call that began before
				if _, ok := now.total(); ok != want {
					t.Errorf("%s: a total was stored afterwards: %t, want %t", r, ok, want)
				}
			}
		})
	}
}
