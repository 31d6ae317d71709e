package adaptertest

import (
	"cmp"
	"context"
	"github.com/portico-commerce/portico/adapter"
	"slices"
	"strconv"
	"testing"
)

// A productLists tests the features that only lists of products have.
type productLists struct{ *suite }

// testProducts checks the features that only lists of products have: websites,
// categories, store views, and on-demand attributes.
func testProducts(t *testing.T, h Harness, a adapter.Adapter, s *suite) {
	for _, c := range []struct {
		name string
		also []adapter.Resource // other resources that the test reads
		test func(productLists, *testing.T, adapter.Adapter)
	}{
		{"websites", []adapter.Resource{adapter.Websites}, productLists.testWebsites},
		{"product listing", []adapter.Resource{adapter.Stores}, productLists.testListing},
		{"products in stock", []adapter.Resource{adapter.Stores, adapter.StockItems}, productLists.testInStock},
		{"categories", []adapter.Resource{adapter.Categories}, productLists.testCategories},
		{"prices on demand", nil, productLists.testPrices},
		{"stock on demand", []adapter.Resource{adapter.StockItems}, productLists.testStock},
		{"images on demand", []adapter.Resource{adapter.Stores, adapter.ProductImages}, productLists.testImageFiles},
		{"selected attributes", nil, productLists.testOnlyAttributes},
		{"store views", []adapter.Resource{adapter.Stores}, productLists.testStoreViews},
	} {
		if h.supports(c.also...) {
			t.Run(c.name, func(t *testing.T) { c.test(productLists{s}, t, a) })
		}
	}
}

// storeOf returns the store of a supported resource.
func storeOf(t *testing.T, a adapter.Adapter, r adapter.Resource) adapter.Store {
	t.Helper()
	return &checkedStore{Store: StoreOf(t, a, r), t: t}
}

// records returns all records of a resource.
func records(t *testing.T, a adapter.Adapter, r adapter.Resource) []adapter.Record {
	t.Helper()
	return MustList(t, storeOf(t, a, r), adapter.ListParams{}).Records
}

// listWithin lists the products within bounds, and checks that Get agrees.
func (s productLists) listWithin(t *testing.T, p Bounds) []adapter.Record {
	t.Helper()
	result := MustList(t, s.store, adapter.ListParams{StoreID: p.StoreID, WebsiteScope: p.WebsiteScope, Filters: p.Filters})
	counted, err := s.store.List(t.Context(), &adapter.ListParams{StoreID: p.StoreID, WebsiteScope: p.WebsiteScope, Filters: p.Filters, Count: true})
	if err != nil || counted.Total != int64(len(result.Records)) {
		t.Errorf("%+v: %d records, counted %d, %v", p, len(result.Records), counted.Total, err)
	}
	keys := s.keys(result.Records)
	for _, r := range s.list(t, &adapter.Query{}) {
		got, err := s.store.Get(t.Context(), &adapter.GetParams{Key: s.key(r), StoreID: p.StoreID, WebsiteScope: p.WebsiteScope, Filters: p.Filters})
		at := slices.Index(keys, s.key(r))
		switch {
		case at < 0 && adapter.KindOf(err) != adapter.NotFound:
			t.Errorf("%+v: Get %d: %v, but not listed", p, s.key(r), err)
		case at >= 0 && err != nil:
			t.Errorf("%+v: Get %d: %v, but listed", p, s.key(r), err)
		case at >= 0 && !sameRecord(got, result.Records[at]):
			t.Errorf("%+v: Get %d:\n\t%s\nlisted:\n\t%s", p, s.key(r), FormatRecord(got), FormatRecord(result.Records[at]))
		}
	}
	return result.Records
}

func inWebsite(id int64) []adapter.Filter {
	return []adapter.Filter{{Name: adapter.InWebsite, Value: id}}
}

func (s productLists) testWebsites(t *testing.T, a adapter.Adapter) {
	all := s.list(t, &adapter.Query{})
	var sold []adapter.Key
	for _, record := range records(t, a, adapter.Websites) {
		website := int64(record.Key())
		here := s.listWithin(t, Bounds{Filters: inWebsite(website)})
		if len(here) == 0 || len(here) == len(all) {
			t.Errorf("website %d: %d products of %d, so the restriction is not tested", website, len(here), len(all))
		}
		sold = append(sold, s.keys(here)...)
	}
	slices.Sort(sold)
	anywhere := s.keys(s.listWithin(t, Bounds{Filters: inWebsite(0)}))
	if !slices.Equal(anywhere, slices.Compact(sold)) {
		t.Errorf("in any website: %v, in one: %v", anywhere, sold)
	}
	if none := s.listWithin(t, Bounds{Filters: inWebsite(1 << 40)}); len(none) > 0 {
		t.Errorf("in an unknown website: %v", s.keys(none))
	}
}

// testListing compares the products that shoppers may list at each store view with the
// conditions for it.
func (s productLists) testListing(t *testing.T, a adapter.Adapter) {
	is := func(attribute string, op adapter.Op, operand string) adapter.Condition {
		return adapter.Condition{Any: []adapter.Test{{Attribute: attribute, Op: op, Operands: []string{operand}}}}
	}
	someLeftOut := false
	byDefault := s.keys(s.list(t, &adapter.Query{Where: []adapter.Condition{is("status", adapter.Eq, "1"), is("visibility", adapter.NotEq, "1")}}))
	for _, view := range records(t, a, adapter.Stores) {
		id, website := view.Get("store_id").Int(), view.Get("website_id").Int()
		sold := s.listWithin(t, Bounds{StoreID: id, WebsiteScope: true, Filters: inWebsite(website)})
		enabled, _, err := adapter.Apply(t.Context(), s.schema, sold, &adapter.Query{Where: []adapter.Condition{is("status", adapter.Eq, "1")}})
		if err != nil {
			t.Fatal(err)
		}
		want := slices.DeleteFunc(enabled, func(r adapter.Record) bool { return !slices.Contains(byDefault, s.key(r)) })
		if len(want) == 0 {
			t.Fatalf("store %d lists nothing: the demo store is missing", id)
		}
		someLeftOut = someLeftOut || len(want) < len(sold)
		listed := Bounds{StoreID: id, WebsiteScope: true, Filters: []adapter.Filter{{Name: adapter.Listed}}}
		if got := s.listWithin(t, listed); !slices.EqualFunc(got, want, sameRecord) {
			t.Errorf("store %d lists %v, want %v", id, s.keys(got), s.keys(want))
		}
		middle := s.key(want[len(want)/2])
		bounded := &suite{schema: s.schema, store: RestrictedStore{s.store, listed}, sampled: s.sampled}
		for _, q := range []adapter.Query{
			{Limit: 2}, {Offset: 1, Limit: 2}, {Offset: 1}, {Offset: 1 << 40, Limit: 1},
			{OrderBy: s.schema.Key, Desc: true, Limit: 3},
			{After: &adapter.Cursor{Key: middle}, Limit: 2}, {After: &adapter.Cursor{Key: middle}, Offset: 1},
			{OrderBy: s.schema.Key, Desc: true, After: &adapter.Cursor{Key: middle}},
			{Where: []adapter.Condition{is(s.schema.Key, adapter.GtEq, strconv.FormatInt(int64(middle), 10))}},
			{Where: []adapter.Condition{is(s.schema.Key, adapter.Like, "1%")}},
			{Where: []adapter.Condition{is("sku", adapter.Like, "%e%")}, OrderBy: "name", Limit: 3},
			{OrderBy: "price", Desc: true, Offset: 1, Limit: 3},
		} {
			bounded.compare(t, want, &q)
		}
	}
	if !someLeftOut {
		t.Error("every product that is sold is listed, so the restriction is not tested")
	}
	if none := s.listWithin(t, Bounds{Filters: []adapter.Filter{{Name: adapter.Listed}}}); len(none) > 0 {
		t.Errorf("listed at the default scope: %v", s.keys(none))
	}
}

// testInStock compares the listed products that are in stock at each store view with the stock
// status that they show there and with their stock items.
func (s productLists) testInStock(t *testing.T, a adapter.Adapter) {
	items := map[int64]adapter.Record{}
	for _, item := range records(t, a, adapter.StockItems) {
		items[item.Get("product_id").Int()] = item
	}
	for _, view := range records(t, a, adapter.Stores) {
		id := view.Get("store_id").Int()
		listed := s.listWithin(t, Bounds{StoreID: id, WebsiteScope: true, Filters: []adapter.Filter{{Name: adapter.Listed}}})
		for _, managed := range []bool{true, false} {
			want := slices.DeleteFunc(slices.Clone(listed), func(r adapter.Record) bool {
				return !isInStock(r.Get("stock_status"), items[int64(s.key(r))], managed)
			})
			inStock := Bounds{StoreID: id, WebsiteScope: true, Filters: []adapter.Filter{{Name: adapter.InStock, Value: flag(managed)}}}
			if got := s.listWithin(t, inStock); !slices.EqualFunc(got, want, sameRecord) {
				t.Errorf("store %d, managed %t: in stock are %v, want %v", id, managed, s.keys(got), s.keys(want))
			}
			bounded := &suite{schema: s.schema, store: RestrictedStore{s.store, inStock}, sampled: s.sampled}
			for _, q := range []adapter.Query{
				{Limit: 2}, {Offset: 1, Limit: 2}, {OrderBy: s.schema.Key, Desc: true, Limit: 3}, {OrderBy: "name", Limit: 3}, {OrderBy: "price", Desc: true, Offset: 1, Limit: 3},
			} {
				bounded.compare(t, want, &q)
			}
			both := Bounds{StoreID: id, WebsiteScope: true, Filters: append([]adapter.Filter{{Name: adapter.Listed}}, inStock.Filters...)}
			if got := s.listWithin(t, both); !slices.EqualFunc(got, want, sameRecord) {
				t.Errorf("store %d, managed %t: listed and in stock are %v, want %v", id, managed, s.keys(got), s.keys(want))
			}
		}
	}
	if none := s.listWithin(t, Bounds{Filters: []adapter.Filter{{Name: adapter.InStock, Value: 1}}}); len(none) > 0 {
		t.Errorf("in stock at the default scope: %v", s.keys(none))
	}
}

// isInStock reports whether a product with a stock status and a stock item is in stock.
func isInStock(status adapter.Value, item adapter.Record, managedByDefault bool) bool {
	switch {
	case !status.Empty():
		return status.Int() == 1 || status.Int() == 2 && !managedByDefault
	case item.Schema == nil:
		return false
	case item.Get("is_in_stock").Int() == 1:
		return true
	case item.Get("use_config_manage_stock").Int() != 0:
		return !managedByDefault
	}
	return item.Get("manage_stock").Int() == 0
}

func flag(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

func (s productLists) testCategories(t *testing.T, a adapter.Adapter) {
	listed := 0
	for _, record := range records(t, a, adapter.Categories) {
		category := int64(record.Key())
		bounds := Bounds{Filters: []adapter.Filter{{Name: adapter.InCategory, Value: category}}}
		here := s.listWithin(t, bounds)
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
			bounded := &suite{schema: s.schema, store: RestrictedStore{s.store, bounds}, sampled: s.sampled}
			bounded.compare(t, here, &q)
		}
	}
	if listed == 0 {
		t.Error("no category has a product: the demo store is missing")
	}
	for _, r := range s.list(t, &adapter.Query{OrderBy: "category_position"}) {
		if !r.Get("category_position").Empty() {
			t.Errorf("product %d has a position without a category", s.key(r))
		}
	}
}

// Bounds restrict the reads of a store, as in [adapter.ListParams].
type Bounds struct {
	StoreID      int64
	WebsiteScope bool
	Filters      []adapter.Filter
}

// A RestrictedStore is a store of products whose reads are restricted by Bounds, so that
// the suite can run on the remaining records.
type RestrictedStore struct {
	adapter.Store
	Bounds
}

// List lists the products that remain under the restrictions.
func (b RestrictedStore) List(ctx context.Context, p *adapter.ListParams) (*adapter.ListResult, error) {
	bounded := *p
	bounded.StoreID, bounded.WebsiteScope, bounded.Filters = b.StoreID, b.WebsiteScope, slices.Concat(b.Filters, p.Filters)
	return b.Store.List(ctx, &bounded)
}

// Get returns a product if it remains under the restrictions.
func (b RestrictedStore) Get(ctx context.Context, p *adapter.GetParams) (adapter.Record, error) {
	bounded := *p
	bounded.StoreID, bounded.WebsiteScope, bounded.Filters = b.StoreID, b.WebsiteScope, slices.Concat(b.Filters, p.Filters)
	return b.Store.Get(ctx, &bounded)
}

// Create creates a product. It fails with kind Unsupported if a new product, which has
// no website and no category, would not be visible.
func (b RestrictedStore) Create(ctx context.Context, p *adapter.CreateParams) (adapter.Key, error) {
	if len(b.Filters) > 0 {
		return 0, &adapter.Error{Kind: adapter.Unsupported, Op: "create products within bounds"}
	}
	return b.Store.Create(ctx, p)
}

// Update changes a product at the store view, or in the default scope if the
// restrictions ignore values of store views. It fails with kind Unsupported if a change
// could hide the product.
func (b RestrictedStore) Update(ctx context.Context, p *adapter.UpdateParams) error {
	if slices.ContainsFunc(b.Filters, func(f adapter.Filter) bool { return f.Name == adapter.Listed || f.Name == adapter.InStock }) {
		return &adapter.Error{Kind: adapter.Unsupported, Op: "update products within bounds"}
	}
	bounded := *p
	if !b.WebsiteScope {
		bounded.StoreID = b.StoreID
	}
	return b.Store.Update(ctx, &bounded)
}

func (s productLists) testPrices(t *testing.T, _ adapter.Adapter) {
	with := []string{"group_price", "tier_price"}
	found := map[string]int{}
	for _, listed := range MustList(t, s.store, adapter.ListParams{With: with}).Records {
		got := MustGet(t, s.store, adapter.GetParams{Key: s.key(listed), With: with})
		for _, name := range with {
			prices := listed.Get(name)
			if prices.Kind() != adapter.Records {
				t.Errorf("product %d: %s is %s", s.key(listed), name, FormatValue(prices))
			}
			if FormatValue(got.Get(name)) != FormatValue(prices) {
				t.Errorf("product %d: %s is %s, listed as %s", s.key(listed), name, FormatValue(got.Get(name)), FormatValue(prices))
			}
			if !slices.IsSortedFunc(prices.Records(), func(a, b adapter.Record) int {
				return cmp.Compare(a.Get("value_id").Int(), b.Get("value_id").Int())
			}) {
				t.Errorf("product %d: %s is not in the order of storage", s.key(listed), name)
			}
			found[name] += len(prices.Records())
		}
	}
	for _, name := range with {
		if found[name] == 0 {
			t.Errorf("no product has a %s: the demo store is missing", name)
		}
	}
	for _, buyer := range []adapter.Buyer{{Group: 0, WebsiteID: 1}, {Group: 2, WebsiteID: 1}} {
		for _, r := range MustList(t, s.store, adapter.ListParams{With: with}).Records {
			alone := MustGet(t, s.store, adapter.GetParams{Key: s.key(r), With: with, Buyer: &buyer})
			for _, name := range with {
				if got, want := pricesFor(buyer, alone.Get(name)), pricesFor(buyer, r.Get(name)); got != want {
					t.Errorf("product %d has a %s for %+v of %s, want %s", s.key(r), name, buyer, got, want)
				}
			}
		}
	}
}

// pricesFor formats the entries of a list of group or tier prices for a buyer.
func pricesFor(b adapter.Buyer, list adapter.Value) string {
	mine := slices.DeleteFunc(slices.Clone(list.Records()), func(price adapter.Record) bool {
		group, website := price.Get("cust_group").Int(), price.Get("website_id").Int()
		return group != b.Group && group != adapter.AllGroupsID || website != b.WebsiteID && website != 0
	})
	return FormatValue(adapter.RecordsValue(mine))
}

// testStock compares the stock flags that products show with the stock items.
func (s productLists) testStock(t *testing.T, a adapter.Adapter) {
	of := map[int64]adapter.Record{}
	for _, item := range records(t, a, adapter.StockItems) {
		of[item.Get("product_id").Int()] = item
	}
	names := []string{"is_in_stock", "manage_stock", "use_config_manage_stock"}
	with := make([]string, len(names))
	for i, name := range names {
		with[i] = "stock_" + name
	}
	for _, r := range MustList(t, s.store, adapter.ListParams{With: with}).Records {
		got := MustGet(t, s.store, adapter.GetParams{Key: s.key(r), With: with})
		for i, name := range names {
			var want adapter.Value
			if item, ok := of[int64(s.key(r))]; ok {
				want = item.Get(name)
			}
			if FormatValue(r.Get(with[i])) != FormatValue(want) || FormatValue(got.Get(with[i])) != FormatValue(want) {
				t.Errorf("product %d: %s is %s in a list, %s alone, want %s", s.key(r), with[i], FormatValue(r.Get(with[i])), FormatValue(got.Get(with[i])), FormatValue(want))
			}
		}
	}
}

// testImageFiles compares the image that a product shows at each scope with the types of
// the images there. Types are of store view scope.
func (s productLists) testImageFiles(t *testing.T, a adapter.Adapter) {
	images := storeOf(t, a, adapter.ProductImages)
	with := []string{"image_file"}
	views := []int64{0}
	for _, view := range records(t, a, adapter.Stores) {
		views = append(views, int64(view.Key()))
	}
	for _, level := range views {
		for _, websiteScope := range []bool{false, true} {
			p := adapter.ListParams{StoreID: level, WebsiteScope: websiteScope, With: with}
			if websiteScope {
				level = 0
			}
			gallery := MustList(t, images, adapter.ListParams{StoreID: level})
			want := map[int64]adapter.Value{}
			for _, image := range gallery.Records {
				if slices.Contains(image.Get("types").Texts(), "image") {
					want[image.Get("product_id").Int()] = image.Get("file")
				}
			}
			for _, r := range MustList(t, s.store, p).Records {
				file := FormatValue(want[int64(s.key(r))])
				got, err := s.store.Get(t.Context(), &adapter.GetParams{Key: s.key(r), StoreID: p.StoreID, WebsiteScope: websiteScope, With: with})
				if err != nil || FormatValue(r.Get("image_file")) != file || FormatValue(got.Get("image_file")) != file {
					t.Errorf("%+v: product %d lists %s, has %s alone, want %s; %v", p, s.key(r), FormatValue(r.Get("image_file")), FormatValue(got.Get("image_file")), file, err)
				}
			}
		}
	}
}

// testOnlyAttributes reads products with selected attributes. The selected ones must be
// present; the others must be absent or correct.
func (s productLists) testOnlyAttributes(t *testing.T, _ adapter.Adapter) {
	full := s.list(t, &adapter.Query{OrderBy: "name"})
	for _, only := range [][]string{{}, {"sku", "price"}, {"meta_title", "visibility", "special_from_date"}} {
		p := &adapter.ListParams{Query: adapter.Query{OrderBy: "name"}, Only: only}
		result, err := s.store.List(t.Context(), p)
		if err != nil || len(result.Records) != len(full) {
			t.Fatalf("only %v: %+v, %v", only, result, err)
		}
		for i, r := range result.Records {
			got := MustGet(t, s.store, adapter.GetParams{Key: s.key(r), Only: only})
			for at, a := range s.schema.Attributes {
				inList := a.Name == s.schema.Key || a.Name == "name" || slices.Contains(only, a.Name)
				alone := inList && a.Name != "name"
				want := full[i].Values[at]
				if v := r.Values[at]; FormatValue(v) != FormatValue(want) && (inList || v.Kind() != adapter.Absent) {
					t.Errorf("only %v: product %d: %s is %s in a list, want %s", only, s.key(r), a.Name, FormatValue(v), FormatValue(want))
				}
				if v := got.Values[at]; FormatValue(v) != FormatValue(want) && (alone || v.Kind() != adapter.Absent) {
					t.Errorf("only %v: product %d: %s is %s alone, want %s", only, s.key(r), a.Name, FormatValue(v), FormatValue(want))
				}
			}
		}
	}
}

// testStoreViews compares the values at a store view with the values of the default
// scope, and with the values in a list of its website scope.
func (s productLists) testStoreViews(t *testing.T, a adapter.Adapter) {
	defaults := s.listWithin(t, Bounds{})
	for _, view := range records(t, a, adapter.Stores) {
		id := int64(view.Key())
		whole := s.listWithin(t, Bounds{StoreID: id})
		website := s.listWithin(t, Bounds{StoreID: id, WebsiteScope: true})
		for i, r := range defaults {
			for at, attribute := range s.schema.Attributes {
				global, mine, shared := FormatValue(r.Values[at]), FormatValue(whole[i].Values[at]), FormatValue(website[i].Values[at])
				if attribute.Static && mine != global {
					t.Errorf("store %d, product %d: %s is %s, globally %s", id, s.key(r), attribute.Name, mine, global)
				}
				ofWebsite := attribute.Scope == adapter.ScopeWebsite && !attribute.Added
				if !ofWebsite && shared != global || ofWebsite && shared != mine {
					t.Errorf("store %d, product %d: %s of the website is %s", id, s.key(r), attribute.Name, shared)
				}
			}
		}
	}
}
