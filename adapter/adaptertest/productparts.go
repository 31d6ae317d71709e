package adaptertest

import (
	"fmt"
	"github.com/portico-commerce/portico/adapter"
	"math/big"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// prices returns a price list without the ids.
func prices(r adapter.Record, name string) string {
	var all []string
	for _, p := range r.Get(name).Records() {
		all = append(all, strings.TrimSpace(p.Get("cust_group").Text()+" "+p.Get("price").Text()+" "+p.Get("price_qty").Text()))
	}
	return strings.Join(all, "|")
}

// testEverywhere checks that a write everywhere leaves no store view a value of its own for the
// attributes that it sets, and leaves the others.
func (s *productSuite) testEverywhere(t *testing.T) {
	key := s.createProduct(t, "everywhere", attrs{"name": "default", "meta_title": "default"})
	for _, view := range []int64{aView, sisterView, otherView} {
		s.mustUpdate(t, key, view, attrs{"name": "own", "meta_title": "own", "special_price": "2.0000"})
	}
	err := s.products.Update(t.Context(), &adapter.UpdateParams{Key: key, Everywhere: true, Change: func(current adapter.Record) (adapter.Record, error) {
		if name := current.Get("name"); !name.Equal(adapter.TextValue("default")) {
			t.Errorf("the change gets the name %s, want that of the default scope", FormatValue(name))
		}
		return attrs{"name": "new", "special_price": "3.0000"}.Record(current.Schema), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	for view, title := range map[int64]string{0: "default", aView: "own", sisterView: "own", otherView: "own"} {
		got := MustGet(t, s.products, adapter.GetParams{Key: key, StoreID: view})
		if got.Get("name").Text() != "new" || got.Get("special_price").Text() != "3.0000" || got.Get("meta_title").Text() != title {
			t.Errorf("at store view %d: name %s, special_price %s, meta_title %s; want new, 3.0000, %s", view,
				FormatValue(got.Get("name")), FormatValue(got.Get("special_price")), FormatValue(got.Get("meta_title")), title)
		}
	}
}

// testOverrides checks that a list of overrides leaves out values that only the store view has,
// in its conditions, too.
func (s *productSuite) testOverrides(t *testing.T) {
	const overridden, null, alone = "meta_title", "meta_description", "meta_keyword"
	key := s.createProduct(t, "overridden", attrs{overridden: "default", null: nil})
	s.mustUpdate(t, key, aView, attrs{overridden: "own", null: "own", alone: "own"})
	for _, c := range []struct {
		name      string
		overrides bool
		want      map[string]string // by attribute
	}{
		{"all values", false, map[string]string{overridden: "text own", null: "text own", alone: "text own"}},
		{"overrides", true, map[string]string{overridden: "text own", null: "text own", alone: "absent"}},
	} {
		for name, want := range c.want {
			p := adapter.ListParams{StoreID: aView, OverridesOnly: c.overrides}
			p.Query.Where = []adapter.Condition{{Any: []adapter.Test{{Attribute: "entity_id", Op: adapter.Eq, Operands: []string{strconv.FormatInt(int64(key), 10)}}}}}
			listed := s.listed(t, p)
			if len(listed) != 1 || FormatValue(listed[0].Get(name)) != want {
				t.Fatalf("%s: %d products, %v, want one whose %s is %s", c.name, len(listed), listed, name, want)
			}
			p.Query.Where = append(p.Query.Where, adapter.Condition{Any: []adapter.Test{{Attribute: name, Op: adapter.Eq, Operands: []string{"own"}}}})
			if listed := s.listed(t, p); (len(listed) == 1) != (want != "absent") {
				t.Errorf("%s: %d products whose %s is own", c.name, len(listed), name)
			}
		}
	}
}

// listed returns the products that p selects.
func (s *productSuite) listed(t *testing.T, p adapter.ListParams) []adapter.Record {
	t.Helper()
	return MustSelect(t, s.products, s.schemas.Of(adapter.Products), p)
}

func (s *productSuite) testPriceLists(t *testing.T) {
	tier := func(group int, price, qty string) attrs {
		return attrs{"website_id": 0, "cust_group": group, "price": price, "price_qty": qty}
	}
	key := s.createProduct(t, "priced", attrs{"tier_price": []attrs{tier(1, "9.0000", "1.0000"), tier(2, "8.0000", "2.0000"), tier(3, "7.0000", "3.0000")}})
	ids := func() (all []int64) {
		for _, r := range s.getProduct(t, key, 0, "tier_price").Get("tier_price").Records() {
			all = append(all, r.Get("value_id").Int())
		}
		return all
	}
	before := ids()
	s.mustUpdate(t, key, aView, attrs{"tier_price": []attrs{tier(4, "1.0000", "1.0000"), tier(3, "6.0000", "3.0000"), tier(1, "9.0000", "1.0000")}})
	if got := prices(s.getProduct(t, key, 0, "tier_price"), "tier_price"); got != "1 9.0000 1.0000|3 6.0000 3.0000|4 1.0000 1.0000" {
		t.Errorf("after a change: %s", got)
	}
	if after := ids(); len(after) != 3 || after[0] != before[0] || after[1] != before[2] || after[2] <= before[2] {
		t.Errorf("ids %v, were %v", after, before)
	}
	for name, list := range map[string][]attrs{
		"same quantity":         {tier(1, "1.0000", "2.0000"), tier(1, "2.0000", "2.0000")},
		"no price":              {{"website_id": 0, "cust_group": 1, "price_qty": "2.0000"}},
		"no number":             {tier(1, "x", "2.0000")},
		"no quantity":           {tier(1, "1.0000", "")},
		"value of another kind": {{"website_id": "0", "cust_group": 1, "price": "1.0000", "price_qty": "2.0000"}},
	} {
		if err := s.updateProduct(t, key, 0, attrs{"name": "x", "tier_price": list}); adapter.KindOf(err) != adapter.Invalid || err == nil {
			t.Errorf("%s: %v, want invalid", name, err)
		}
	}
	s.wantValues(t, key, 0, attrs{"name": "N"})
	s.mustUpdate(t, key, 0, attrs{"name": "M"})
	if after := ids(); len(after) != 3 {
		t.Errorf("a change without prices left %v", after)
	}
	s.mustUpdate(t, key, 0, attrs{"tier_price": []attrs{}})
	if after := ids(); len(after) != 0 {
		t.Errorf("an empty list left %v", after)
	}
	s.mustUpdate(t, key, 0, attrs{"tier_price": []attrs{tier(1, "9.0000", "1.0000"), {"website_id": aWebsite, "cust_group": 1, "price": "5.0000", "price_qty": "1.0000"}}})
	s.mustUpdate(t, key, 0, attrs{"tier_price": []attrs{tier(2, "8.0000", "1.0000")}})
	if got := prices(s.getProduct(t, key, 0, "tier_price"), "tier_price"); got != "1 5.0000 1.0000|2 8.0000 1.0000" {
		t.Errorf("a list of prices of all websites left %s, want those of a single website to stay", got)
	}
	group := func(id int) attrs { return attrs{"website_id": 0, "cust_group": id, "price": "1.0000"} }
	wantError(t, "same group", s.updateProduct(t, key, 0, attrs{"group_price": []attrs{group(1), group(1)}}), adapter.Invalid, "group_price")
}

// incrementQty returns a change that adds 1 to the quantity of a stock item, which may
// be a record of its own or part of a product, and turns is_in_stock.
func incrementQty(item adapter.Record) adapter.Record {
	change := adapter.NewRecord(item.Schema)
	change.Set("qty", adapter.TextValue(addToDecimal(item.Get("qty").Text(), 1)))
	change.Set("is_in_stock", adapter.IntegerValue(1-item.Get("is_in_stock").Int()))
	return change
}

// addToDecimal adds n to a decimal.
func addToDecimal(decimal string, n int64) string {
	r, _ := new(big.Rat).SetString(decimal)
	return r.Add(r, big.NewRat(n, 1)).FloatString(4)
}

// testConcurrentStockWrites increments one quantity through the product and through the
// stock item at the same time.
func (s *productSuite) testConcurrentStockWrites(t *testing.T) {
	const writers = 20
	before := s.getProduct(t, aProduct, 0, "stock_item").Get("stock_item").Records()[0]
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			err := s.stock.Update(t.Context(), &adapter.UpdateParams{Key: before.Key(), Change: func(item adapter.Record) (adapter.Record, error) {
				return incrementQty(item), nil
			}})
			if err != nil {
				t.Error(err)
			}
		})
		all.Go(func() {
			err := s.products.Update(t.Context(), &adapter.UpdateParams{Key: aProduct, With: []string{"stock_item"}, Change: func(current adapter.Record) (adapter.Record, error) {
				change := adapter.NewRecord(current.Schema)
				change.Set("stock_item", adapter.RecordsValue([]adapter.Record{incrementQty(current.Get("stock_item").Records()[0])}))
				return change, nil
			}})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	after := s.getProduct(t, aProduct, 0, "stock_item").Get("stock_item").Records()[0]
	if got, want := after.Get("qty").Text(), addToDecimal(before.Get("qty").Text(), 2*writers); got != want {
		t.Errorf("qty is %s, want %s", got, want)
	}
}

func (s *productSuite) testStockItem(t *testing.T) {
	before := s.getProduct(t, aProduct, 0, "stock_item").Get("stock_item").Records()[0]
	s.mustUpdate(t, aProduct, aView, attrs{"stock_item": []attrs{{"qty": "3.5000", "is_in_stock": 0}}})
	after := s.getProduct(t, aProduct, 0, "stock_item").Get("stock_item").Records()[0]
	want := before.Clone()
	want.Set("qty", adapter.TextValue("3.5000"))
	want.Set("is_in_stock", adapter.IntegerValue(0))
	if FormatRecord(after) != FormatRecord(want) {
		t.Errorf("stock item\n\t%s\nwant\n\t%s", FormatRecord(after), FormatRecord(want))
	}
	bare := s.createProduct(t, "bare", nil)
	for name, c := range map[string]struct {
		key   adapter.Key
		items any
	}{
		"product without item":    {bare, []attrs{{"qty": "1.0000"}}},
		"empty list":              {aProduct, []attrs{}},
		"two items":               {aProduct, []attrs{{"qty": "1.0000"}, {"qty": "2.0000"}}},
		"null":                    {aProduct, nil},
		"no number":               {aProduct, []attrs{{"qty": "many"}}},
		"item of another product": {aProduct, []attrs{{"product_id": 1}}},
		"null number":             {aProduct, []attrs{{"qty": nil}}},
	} {
		if err := s.updateProduct(t, c.key, 0, attrs{"name": "x", "stock_item": c.items}); adapter.KindOf(err) != adapter.Invalid || err == nil {
			t.Errorf("%s: %v, want invalid", name, err)
		}
	}
	if again := s.getProduct(t, aProduct, 0, "stock_item"); again.Get("name").Text() == "x" || FormatRecord(again.Get("stock_item").Records()[0]) != FormatRecord(want) {
		t.Errorf("changed despite the error:\n\t%s", FormatRecord(again))
	}
}

// testConcurrentWrites changes every attribute of one product concurrently, and creates
// one SKU concurrently.
func (s *productSuite) testConcurrentWrites(t *testing.T) {
	const writers = 50
	names := []string{"name", "url_key", "meta_title", "meta_description", "description", "short_description", "meta_keyword"}
	levels := []int64{0, aView, sisterView}
	key := s.createProduct(t, "busy", nil)
	var all sync.WaitGroup
	var mu sync.Mutex
	created := 0
	for i := range writers {
		name, level := names[i/len(levels)%len(names)], levels[i%len(levels)]
		all.Go(func() {
			if err := s.updateProduct(t, key, level, attrs{name: fmt.Sprint(name, level)}); err != nil {
				t.Errorf("%s at %d: %v", name, level, err)
			}
		})
		all.Go(func() {
			_, err := s.products.Create(t.Context(), &adapter.CreateParams{Record: newProduct("once", nil).Record(s.schemas.Of(adapter.Products))})
			if err != nil {
				wantError(t, "the same SKU", err, adapter.Conflict, "sku")
				return
			}
			mu.Lock()
			defer mu.Unlock()
			created++
		})
	}
	all.Wait()
	if created != 1 {
		t.Errorf("%d products of one SKU", created)
	}
	for _, level := range levels {
		for _, name := range names {
			s.wantValues(t, key, level, attrs{name: fmt.Sprint(name, level)})
		}
	}
	found, err := s.products.List(t.Context(), &adapter.ListParams{Query: adapter.Query{Where: []adapter.Condition{{Any: []adapter.Test{
		{Attribute: "sku", Op: adapter.Eq, Operands: []string{"once"}},
	}}}}})
	if err != nil || len(found.Records) != 1 {
		t.Errorf("found %d, %v", len(found.Records), err)
	}
}
