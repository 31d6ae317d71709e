package adaptertest

import (
	"cmp"
	"context"
	"slices"
	"testing"

	"github.com/portico-commerce/portico/adapter"
)

// testProducts checks what only lists of products have: websites, categories,
// store views and prices on demand.
func testProducts(t *testing.T, a adapter.Adapter, s *suite) {
	t.Run("websites", func(t *testing.T) { s.testWebsites(t, a) })
	t.Run("categories", func(t *testing.T) { s.testCategories(t, a) })
	t.Run("prices on demand", s.testPrices)
	t.Run("store views", func(t *testing.T) { s.testStoreViews(t, a) })
}

// ids returns the keys of all records of a resource.
func ids(t *testing.T, a adapter.Adapter, r adapter.Resource) []int64 {
	t.Helper()
	store, err := a.Store(r)
	if err != nil {
		t.Skipf("no %s: %v", r, err)
	}
	result, err := store.List(t.Context(), &adapter.ListParams{})
	if err != nil {
		t.Fatal(err)
	}
	var all []int64
	for _, record := range result.Records {
		all = append(all, record.Get(record.Schema.Key).Int())
	}
	return all
}

// within lists the products that p leaves, as a store view has them, and checks
// that Get agrees.
func (s *suite) within(t *testing.T, storeID int64, p adapter.ProductParams) []adapter.Record {
	t.Helper()
	result, err := s.store.List(t.Context(), &adapter.ListParams{StoreID: storeID, Products: p})
	if err != nil {
		t.Fatalf("%+v: %v", p, err)
	}
	counted, err := s.store.List(t.Context(), &adapter.ListParams{StoreID: storeID, Products: p, Count: true})
	if err != nil || counted.Total != int64(len(result.Records)) {
		t.Errorf("%+v: %d records, counted %d, %v", p, len(result.Records), counted.Total, err)
	}
	keys := s.keys(result.Records)
	for _, r := range s.list(t, &adapter.Query{}) {
		got, err := s.store.Get(t.Context(), &adapter.GetParams{Key: s.key(r), StoreID: storeID, Products: p})
		at := slices.Index(keys, s.key(r))
		switch {
		case at < 0 && adapter.KindOf(err) != adapter.NotFound:
			t.Errorf("%+v: Get %d: %v, and not listed", p, s.key(r), err)
		case at >= 0 && err != nil:
			t.Errorf("%+v: Get %d: %v, and listed", p, s.key(r), err)
		case at >= 0 && !sameRecord(got, result.Records[at]):
			t.Errorf("%+v: Get %d:\n\t%s\nlisted:\n\t%s", p, s.key(r), values(got), values(result.Records[at]))
		}
	}
	return result.Records
}

func (s *suite) testWebsites(t *testing.T, a adapter.Adapter) {
	all := s.list(t, &adapter.Query{})
	var sold []adapter.Key
	for _, website := range ids(t, a, adapter.Websites) {
		here := s.within(t, 0, adapter.ProductParams{WebsiteID: website})
		if len(here) == 0 || len(here) == len(all) {
			t.Errorf("website %d: %d products of %d, so nothing is tested", website, len(here), len(all))
		}
		sold = append(sold, s.keys(here)...)
	}
	slices.Sort(sold)
	anywhere := s.keys(s.within(t, 0, adapter.ProductParams{WebsiteID: adapter.AnyWebsite}))
	if !slices.Equal(anywhere, slices.Compact(sold)) {
		t.Errorf("in any website: %v, in one: %v", anywhere, sold)
	}
	if none := s.within(t, 0, adapter.ProductParams{WebsiteID: 1 << 40}); len(none) > 0 {
		t.Errorf("in a website that is none: %v", s.keys(none))
	}
}

func (s *suite) testCategories(t *testing.T, a adapter.Adapter) {
	listed := 0
	for _, category := range ids(t, a, adapter.Categories) {
		bounds := adapter.ProductParams{CategoryID: category}
		here := s.within(t, 0, bounds)
		listed += len(here)
		for _, r := range here {
			if r.Get("category_position").Kind() != adapter.Integer {
				t.Errorf("category %d: product %d has no position", category, s.key(r))
			}
		}
		for _, q := range []adapter.Query{
			{OrderBy: "category_position"}, {OrderBy: "category_position", Desc: true, Offset: 1, Limit: 2},
			{Where: []adapter.Condition{{Any: []adapter.Test{{Attribute: "category_position", Op: adapter.GtEq, Operands: []string{"5"}}}}}},
		} {
			s.compareWithin(t, bounds, here, &q)
		}
	}
	if listed == 0 {
		t.Error("no category has a product: the demo store is not there")
	}
	for _, r := range s.list(t, &adapter.Query{OrderBy: "category_position"}) {
		if !r.Get("category_position").Empty() {
			t.Errorf("product %d has a position in no category", s.key(r))
		}
	}
}

// compareWithin is compare for a list within bounds.
func (s *suite) compareWithin(t *testing.T, bounds adapter.ProductParams, full []adapter.Record, q *adapter.Query) {
	t.Helper()
	bounded := &suite{schema: s.schema, store: Bounded{Store: s.store, Products: bounds}}
	bounded.compare(t, full, q)
}

// Bounded is a store of products that keeps all lists and reads within bounds
// and at one store view, so that the suite can run within them.
type Bounded struct {
	adapter.Store
	StoreID  int64
	Products adapter.ProductParams
}

// List is that of the store, within the bounds.
func (b Bounded) List(ctx context.Context, p *adapter.ListParams) (*adapter.ListResult, error) {
	bounded := *p
	bounded.StoreID, bounded.Products = b.StoreID, b.Products
	return b.Store.List(ctx, &bounded)
}

// Get is that of the store, within the bounds.
func (b Bounded) Get(ctx context.Context, p *adapter.GetParams) (adapter.Record, error) {
	bounded := *p
	bounded.StoreID, bounded.Products = b.StoreID, b.Products
	return b.Store.Get(ctx, &bounded)
}

func (s *suite) testPrices(t *testing.T) {
	with := []string{"group_price", "tier_price"}
	found := map[string]int{}
	result, err := s.store.List(t.Context(), &adapter.ListParams{With: with})
	if err != nil {
		t.Fatal(err)
	}
	for _, listed := range result.Records {
		got, err := s.store.Get(t.Context(), &adapter.GetParams{Key: s.key(listed), With: with})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range with {
			prices := listed.Get(name)
			if prices.Kind() != adapter.Records {
				t.Errorf("product %d: %s is %s", s.key(listed), name, value(prices))
			}
			if value(got.Get(name)) != value(prices) {
				t.Errorf("product %d: %s is %s, listed as %s", s.key(listed), name, value(got.Get(name)), value(prices))
			}
			if !slices.IsSortedFunc(prices.Records(), func(a, b adapter.Record) int {
				return cmp.Compare(a.Get("value_id").Int(), b.Get("value_id").Int())
			}) {
				t.Errorf("product %d: %s is not as first stored", s.key(listed), name)
			}
			found[name] += len(prices.Records())
		}
	}
	for _, name := range with {
		if found[name] == 0 {
			t.Errorf("no product has a %s: the demo store is not there", name)
		}
	}
	if _, err := s.store.List(t.Context(), &adapter.ListParams{With: []string{"no_such_attribute"}}); adapter.KindOf(err) != adapter.Unsupported {
		t.Errorf("With of an unknown attribute: %v, want unsupported", err)
	}
}

// testStoreViews compares what a store view shows with the default scope: only
// attributes that reach so far may differ.
func (s *suite) testStoreViews(t *testing.T, a adapter.Adapter) {
	defaults := s.within(t, 0, adapter.ProductParams{})
	for _, id := range ids(t, a, adapter.Stores) {
		whole := s.within(t, id, adapter.ProductParams{})
		website := s.within(t, id, adapter.ProductParams{WebsiteScope: true})
		for i, r := range defaults {
			for at, attribute := range s.schema.Attributes {
				global, mine, shared := value(r.Values[at]), value(whole[i].Values[at]), value(website[i].Values[at])
				if attribute.Scope == adapter.ScopeGlobal && (mine != global || shared != global) {
					t.Errorf("store %d, product %d: %s is %s, globally %s", id, s.key(r), attribute.Name, mine, global)
				}
				if attribute.Scope == adapter.ScopeStore && shared != global || attribute.Scope == adapter.ScopeWebsite && shared != mine {
					t.Errorf("store %d, product %d: %s of the website is %s", id, s.key(r), attribute.Name, shared)
				}
			}
		}
	}
}
