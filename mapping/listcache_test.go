package mapping

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/memstore"
)

func newTestMemory(t testing.TB) *listCache {
	t.Helper()
	m, err := newListCache(time.Now)
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
			condition := condition(attribute, adapter.In, strings.Split(operand, ",")...)
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
		v.setPosition(10, &adapter.Cursor{Key: 1}, m.now())
		if total, ok := v.total(); !ok || total != owner {
			t.Fatalf("list %d: total %d, %v", owner, total, ok)
		}
	}
	if m.totals.Len() != maxTotals || m.positions.Len() != maxPositions {
		t.Errorf("%d totals, %d positions", m.totals.Len(), m.positions.Len())
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

// TestEveryWriteStartsAGeneration writes each resource with each method, in a store that
// holds no records. Entries from before the write must neither be used nor stored.
func TestEveryWriteStartsAGeneration(t *testing.T) {
	records := memstore.New(memstore.Options{})
	unchanged := func(current adapter.Record) (adapter.Record, error) { return current, nil }
	refused := errors.New("not to be written")
	schemas := adapter.NewSchemas()
	methods := map[string]func(adapter.Resource, adapter.Store) error{
		"Create": func(r adapter.Resource, s adapter.Store) error {
			_, err := s.Create(t.Context(), &adapter.CreateParams{Record: adapter.NewRecord(schemas.Of(r)), Check: func() error { return refused }})
			return err
		},
		"Update": func(_ adapter.Resource, s adapter.Store) error {
			return s.Update(t.Context(), &adapter.UpdateParams{Key: 1, Change: unchanged})
		},
		"Delete": func(_ adapter.Resource, s adapter.Store) error {
			return s.Delete(t.Context(), &adapter.DeleteParams{Key: 1})
		},
	}
	for _, c := range []struct {
		write adapter.Resource
		show  []adapter.Resource
		keep  []adapter.Resource
	}{
		{adapter.StockItems, []adapter.Resource{adapter.StockItems}, []adapter.Resource{adapter.Products, adapter.Orders}},
		{adapter.Products, []adapter.Resource{adapter.Products, adapter.StockItems, adapter.ProductImages}, []adapter.Resource{adapter.Customers}},
		{adapter.ProductWebsites, []adapter.Resource{adapter.ProductWebsites, adapter.Products}, []adapter.Resource{adapter.Orders}},
		{adapter.ProductCategories, []adapter.Resource{adapter.ProductCategories, adapter.Products}, []adapter.Resource{adapter.Orders}},
		{adapter.Customers, []adapter.Resource{adapter.Customers, adapter.CustomerAddresses, adapter.Orders}, []adapter.Resource{adapter.Products}},
		{adapter.CustomerAddresses, []adapter.Resource{adapter.CustomerAddresses, adapter.Customers}, []adapter.Resource{adapter.Orders}},
		{adapter.OrderComments, []adapter.Resource{adapter.OrderComments, adapter.Orders}, []adapter.Resource{adapter.Products}},
		{adapter.Categories, []adapter.Resource{adapter.Categories, adapter.Products, adapter.Customers}, nil},
	} {
		for method, write := range methods {
			t.Run(fmt.Sprintf("%s %s", method, c.write), func(t *testing.T) {
				a := &invalidatingAdapter{Adapter: records, listCache: newTestMemory(t)}
				before := map[adapter.Resource]*listView{}
				for _, r := range append(c.show, c.keep...) {
					before[r] = a.listCache.view(r, &adapter.ListParams{})
					before[r].setTotal(5, a.listCache.now())
				}
				store, err := a.Store(c.write)
				if err != nil {
					t.Fatal(err)
				}
				if err := write(c.write, store); err == nil {
					t.Fatal("the write succeeded")
				}
				for _, r := range c.show {
					now := a.listCache.view(r, &adapter.ListParams{})
					if _, ok := now.total(); ok {
						t.Errorf("%s: a total from before the write is still used", r)
					}
					before[r].setTotal(6, a.listCache.now()) // by a call that began before the write
					if _, ok := now.total(); ok {
						t.Errorf("%s: a total was stored after the write", r)
					}
				}
				for _, r := range c.keep {
					if _, ok := a.listCache.view(r, &adapter.ListParams{}).total(); !ok {
						t.Errorf("%s: an unaffected entry was dropped", r)
					}
				}
			})
		}
	}
}

// TestWritesAffectTheirOwnResource checks that every row of the table includes its own
// resource.
func TestWritesAffectTheirOwnResource(t *testing.T) {
	for r, shown := range affectedLists() {
		if !slices.Contains(shown, r) {
			t.Errorf("a write of %s does not affect its own lists", r)
		}
	}
}
