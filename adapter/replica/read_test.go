package replica_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/replica"
)

// TestCheapReads: what both sides agree on costs one query of the ledger and one
// question to the backend, however long the list.
func TestCheapReads(t *testing.T) {
	f := &fate{}
	s := mortal(t, f).shop
	for _, c := range []struct {
		name  string
		r     adapter.Resource
		list  *adapter.ListParams // nil: get 1
		steps int
	}{
		{"list products", adapter.Products, &adapter.ListParams{}, 3},
		{"list stock items", adapter.StockItems, &adapter.ListParams{Only: []string{"qty"}}, 3},
		{"list addresses", adapter.CustomerAddresses, &adapter.ListParams{}, 3},
		{"a page of orders", adapter.Orders, &adapter.ListParams{Query: adapter.Query{Limit: 2}}, 3},
		{"left to Apply", adapter.Products, &adapter.ListParams{Query: adapter.Query{OrderBy: "tier_price", Limit: 1}}, 3},
		{"nothing found", adapter.Products, &adapter.ListParams{Query: where("sku", "none")}, 1},
		{"count", adapter.Products, &adapter.ListParams{Count: true}, 1},
		{"get a product", adapter.Products, nil, 3},
		{"get an address", adapter.CustomerAddresses, nil, 3},
		{"what the backend keeps nothing of", adapter.Websites, &adapter.ListParams{}, 1},
	} {
		before := f.steps
		var err error
		if c.list == nil {
			_, err = s.of(c.r).Get(t.Context(), &adapter.GetParams{Key: 1})
		} else {
			_, err = s.of(c.r).List(t.Context(), c.list)
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := f.steps - before; got != c.steps {
			t.Errorf("%s: %d steps, want %d", c.name, got, c.steps)
		}
	}
}

// TestChangedAtTheBackend changes documents behind Portico's back: whoever reads next
// sees it, and nothing besides.
func TestChangedAtTheBackend(t *testing.T) {
	s := openShop(t)
	if err := s.update(adapter.Customers, 1, 0, given{"email": "Exact@Example.com"}); err != nil {
		t.Fatal(err)
	}
	product, customer := s.id(adapter.Products, 1), s.id(adapter.Customers, 1)
	seen := s.get(adapter.Products, 1)
	s.memory.edit(adapter.Products, product, func(d *memoryDoc) {
		d.record.Set("name", adapter.TextValue("Renamed"))
		d.record.Set("price", adapter.TextValue("12.5000"))
		d.record.Set("description", adapter.NullValue())
		d.record.Set("tier_price", valueOf(d.record.Schema, "tier_price", []given{{"website_id": 0, "cust_group": 32000, "price": "5.0000", "price_qty": "7.0000"}}))
		d.parts[adapter.StockItems][0].record = given{"qty": "77.0000", "manage_stock": 1, "backorders": 2}.record(schemas().Of(adapter.StockItems))
	})
	s.memory.edit(adapter.Customers, customer, func(d *memoryDoc) { d.record.Set("firstname", adapter.TextValue("Other")) })
	s.want(adapter.Products, 1, given{"name": "Renamed", "price": "12.5000", "description": nil, "sku": seen.Get("sku"), "url_key": seen.Get("url_key")})
	s.want(adapter.StockItems, 1, given{"qty": "77.0000", "backorders": 2})
	s.want(adapter.Customers, 1, given{"firstname": "Other", "email": "Exact@Example.com"})
	prices := s.get(adapter.Products, 1, "tier_price").Get("tier_price").Records()
	if len(prices) != 1 || prices[0].Get("price_qty").Text() != "7.0000" {
		t.Errorf("tier prices: %v", prices)
	}
	if found := s.keys(adapter.Products, where("name", "renamed")); !slices.Equal(found, []adapter.Key{1}) {
		t.Errorf("found %v by the new name", found)
	}
	// What is not changed at the backend stays the client's, as exact as it was.
	s.memory.edit(adapter.Customers, customer, func(d *memoryDoc) { d.record.Set("email", adapter.TextValue("new@example.com")) })
	s.want(adapter.Customers, 1, given{"email": "new@example.com"})
}

// TestOrderChangedAtTheBackend: orders are amended, not written.
func TestOrderChangedAtTheBackend(t *testing.T) {
	s := openShop(t)
	s.memory.edit(adapter.Orders, s.id(adapter.Orders, 1), func(d *memoryDoc) {
		d.record.Set("status", adapter.TextValue("shipped"))
		d.parts[adapter.OrderItems][0].record = d.parts[adapter.OrderItems][0].record.Clone()
		d.parts[adapter.OrderItems][0].record.Set("name", adapter.TextValue("Renamed"))
	})
	before := s.get(adapter.Orders, 2).Get("updated_at")
	s.want(adapter.Orders, 1, given{"status": "shipped"})
	if found := s.keys(adapter.OrderItems, where("name", "Renamed")); len(found) != 1 {
		t.Errorf("lines of the new name: %v", found)
	}
	s.want(adapter.Orders, 2, given{"updated_at": before})
}

// TestListSeesWhatIsNew: a list is selected anew once the side has been brought up to
// date.
func TestListSeesWhatIsNew(t *testing.T) {
	s := openShop(t)
	if _, err := s.of(adapter.Products).List(t.Context(), &adapter.ListParams{}); err != nil {
		t.Fatal(err)
	}
	sku := s.get(adapter.Products, 1).Get("sku").Text()
	s.memory.edit(adapter.Products, s.id(adapter.Products, 1), func(d *memoryDoc) { d.record.Set("sku", adapter.TextValue("moved")) })
	if found := s.keys(adapter.Products, where("sku", sku)); len(found) != 0 {
		t.Errorf("still found by its old SKU: %v", found)
	}
	if found := s.keys(adapter.Products, where("sku", "moved")); len(found) != 1 {
		t.Errorf("found by its new SKU: %v", found)
	}
}

// TestPartsOfTheBackend adds and removes parts behind Portico's back.
func TestPartsOfTheBackend(t *testing.T) {
	s := openShop(t)
	customer := s.id(adapter.Customers, 1)
	mine := where("customer_id", "1")
	before := s.keys(adapter.CustomerAddresses, mine)
	part := s.memory.part(newAddress(1).record(schemas().Of(adapter.CustomerAddresses)), 0)
	part.rest = given{"region": "", "fax": "rest"}.record(schemas().Of(adapter.CustomerAddresses))
	gone := before[len(before)-1]
	goneID := s.id(adapter.CustomerAddresses, gone)
	s.memory.edit(adapter.Customers, customer, func(d *memoryDoc) {
		d.parts[adapter.CustomerAddresses] = append(slices.DeleteFunc(slices.Clone(d.parts[adapter.CustomerAddresses]), func(i memoryItem) bool { return i.id == goneID }), part)
	})
	s.get(adapter.Customers, 1) // whoever reads anything of it
	after := s.keys(adapter.CustomerAddresses, mine)
	fresh := after[len(after)-1]
	if len(after) != len(before) || slices.Contains(after, gone) || slices.Contains(before, fresh) {
		t.Fatalf("addresses %v, were %v", after, before)
	}
	s.want(adapter.CustomerAddresses, fresh, given{"city": "C", "fax": "rest", "customer_id": 1})
	if got := s.id(adapter.CustomerAddresses, fresh); got != part.id {
		t.Errorf("its id is %s, want %s", got, part.id)
	}
	if err := s.update(adapter.CustomerAddresses, fresh, 0, given{"city": "D"}); err != nil {
		t.Error(err)
	}
	if _, exists := s.entry(adapter.CustomerAddresses, gone); exists {
		t.Error("the entry of the address that is gone is still there")
	}

	s.memory.edit(adapter.Products, s.id(adapter.Products, 3), func(d *memoryDoc) {
		d.parts[adapter.ProductWebsites] = []memoryItem{s.memory.partOf(given{"website_id": 2}.record(schemas().Of(adapter.ProductWebsites)))}
		d.parts[adapter.StockItems] = nil // which the side cannot lose
	})
	sites := s.websites(3)
	if !slices.Equal(sites, []int64{2}) {
		t.Errorf("product 3 is in the websites %v, want 2 alone", sites)
	}
	s.agreeBut("stock_items")
}

// TestLineGone removes a line of an order behind Portico's back, which no client can.
func TestLineGone(t *testing.T) {
	s := openShop(t)
	before := s.keys(adapter.OrderItems, where("order_id", "1"))
	gone := s.id(adapter.OrderItems, before[0])
	s.memory.edit(adapter.Orders, s.id(adapter.Orders, 1), func(d *memoryDoc) {
		d.parts[adapter.OrderItems] = slices.DeleteFunc(slices.Clone(d.parts[adapter.OrderItems]), func(i memoryItem) bool { return i.id == gone })
	})
	if after := s.keys(adapter.OrderItems, where("order_id", "1")); !slices.Equal(after, before[1:]) {
		t.Errorf("lines %v, were %v", after, before)
	}
	s.agree()
}

// partOf is part, of a caller who has the lock.
func (m *memory) partOf(r adapter.Record) memoryItem {
	return memoryItem{record: r}
}

func (s *shop) websites(product adapter.Key) (sites []int64) {
	s.t.Helper()
	found, err := s.of(adapter.ProductWebsites).List(s.t.Context(), &adapter.ListParams{Query: where("product_id", keyText(product))})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, r := range found.Records {
		sites = append(sites, r.Get("website_id").Int())
	}
	return sites
}

// agreeBut is agree, but for one resource.
func (s *shop) agreeBut(r adapter.Resource) {
	s.t.Helper()
	resources := s.memory.kept
	defer func() { s.memory.kept = resources }()
	s.memory.kept = slices.DeleteFunc(slices.Clone(resources), func(res replica.BackendResource) bool { return res.Resource == r })
	s.agree()
}

// TestGone: a record whose document is gone is in no list, page or count, and comes
// back with the document. The side keeps it.
func TestGone(t *testing.T) {
	s := openShop(t)
	all := s.keys(adapter.Products, adapter.Query{})
	id := s.id(adapter.Products, all[1])
	s.memory.mu.Lock()
	doc := s.memory.docs[adapter.Products][id]
	delete(s.memory.docs[adapter.Products], id)
	s.memory.mu.Unlock()

	rest := slices.DeleteFunc(slices.Clone(all), func(k adapter.Key) bool { return k == all[1] })
	for _, q := range []adapter.Query{{Limit: 3}, {Offset: 1, Limit: 2}, {Offset: 3, Limit: 3}, {}} {
		want := rest[min(int(q.Offset), len(rest)):]
		if q.Limit > 0 {
			want = want[:min(int(q.Limit), len(want))]
		}
		if got := s.keys(adapter.Products, q); !slices.Equal(got, want) {
			t.Errorf("offset %d limit %d: %v, want %v", q.Offset, q.Limit, got, want)
		}
	}
	s.missing(adapter.Products, all[1])
	found, err := s.of(adapter.Products).List(t.Context(), &adapter.ListParams{Count: true})
	if err != nil || found.Total != int64(len(rest)) {
		t.Errorf("counted %d, %v, want %d", found.Total, err, len(rest))
	}
	for _, r := range []adapter.Resource{adapter.StockItems, adapter.ProductWebsites} {
		if found := s.keys(r, where("product_id", keyText(all[1]))); len(found) != 0 {
			t.Errorf("%s of it: %v", r, found)
		}
	}
	for name, err := range map[string]error{
		"update": s.update(adapter.Products, all[1], 0, given{"meta_title": "x"}),
		"delete": s.delete(adapter.Products, all[1]),
		"stock":  s.update(adapter.StockItems, 2, 0, given{"qty": "1.0000"}),
	} {
		if adapter.KindOf(err) != adapter.NotFound || err == nil {
			t.Errorf("%s: %v, want not found", name, err)
		}
	}
	_, err = s.create(adapter.ProductWebsites, given{"product_id": int(all[1]), "website_id": 2})
	if adapter.KindOf(err) != adapter.Invalid || err == nil {
		t.Errorf("create a part: %v, want invalid", err)
	}

	s.memory.mu.Lock()
	s.memory.docs[adapter.Products][id] = doc
	s.memory.mu.Unlock()
	if err := s.Scan(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := s.keys(adapter.Products, adapter.Query{}); !slices.Equal(got, all) {
		t.Errorf("back: %v, want %v", got, all)
	}
}

// TestUnmapped: a record without an entry is not to be seen until it has one.
func TestUnmapped(t *testing.T) {
	s := openShop(t)
	mapping, _ := s.entry(adapter.Products, 2)
	if err := s.side.DeleteMapping(t.Context(), adapter.Products, 2); err != nil {
		t.Fatal(err)
	}
	s.missing(adapter.Products, 2)
	for base, want := range map[string]string{"": "the side's", "{}": "the backend's"} {
		t.Run(fmt.Sprintf("base %q", base), func(t *testing.T) {
			s.memory.edit(adapter.Products, mapping.BackendID, func(d *memoryDoc) { d.record.Set("name", adapter.TextValue("the backend's")) })
			if err := s.update(adapter.Products, 1, 0, given{"name": "x"}); err != nil {
				t.Fatal(err)
			}
			store, err := s.side.Store(adapter.Products)
			if err != nil {
				t.Fatal(err)
			}
			if err := store.Update(t.Context(), &adapter.UpdateParams{Key: 2, Change: func(current adapter.Record) (adapter.Record, error) {
				return given{"name": "the side's"}.record(current.Schema), nil
			}}); err != nil {
				t.Fatal(err)
			}
			imported := replica.Mapping{Resource: adapter.Products, Key: 2, BackendID: mapping.BackendID}
			if base != "" {
				imported.Base = []byte(base)
			}
			if err := s.side.PutMappings(t.Context(), imported); err != nil {
				t.Fatal(err)
			}
			s.want(adapter.Products, 2, given{"name": want})
		})
	}
}

// TestRefusedValue: a value that the side does not take is left out, the others are
// not; it is said, and tried again with the next document.
func TestRefusedValue(t *testing.T) {
	s := openShop(t)
	sku, taken := s.get(adapter.Products, 1).Get("sku"), s.get(adapter.Products, 2).Get("sku")
	id := s.id(adapter.Products, 1)
	s.memory.edit(adapter.Products, id, func(d *memoryDoc) {
		d.record.Set("sku", taken)
		d.record.Set("name", adapter.TextValue("Renamed"))
	})
	s.want(adapter.Products, 1, given{"sku": sku, "name": "Renamed"})
	if lines := s.log.all(); len(lines) != 1 || !strings.Contains(lines[0], "attribute=sku") || !strings.Contains(lines[0], "conflict") {
		t.Errorf("logged: %q", lines)
	}
	s.want(adapter.Products, 1, given{"sku": sku})
	if err := s.update(adapter.Products, 2, 0, given{"sku": "free"}); err != nil {
		t.Fatal(err)
	}
	s.memory.edit(adapter.Products, id, func(d *memoryDoc) { d.record.Set("name", adapter.TextValue("Again")) })
	s.want(adapter.Products, 1, given{"sku": taken, "name": "Again"})
}

// TestBackendDown: nothing is answered that could not be compared.
func TestBackendDown(t *testing.T) {
	s := openShop(t)
	down := &adapter.Error{Kind: adapter.Unavailable, Op: "fetch"}
	s.memory.fail("Fetch products", down, nil)
	_, err := s.of(adapter.Products).Get(t.Context(), &adapter.GetParams{Key: 1})
	if adapter.KindOf(err) != adapter.Unavailable {
		t.Errorf("get: %v", err)
	}
	_, err = s.of(adapter.StockItems).List(t.Context(), &adapter.ListParams{})
	if adapter.KindOf(err) != adapter.Unavailable {
		t.Errorf("list: %v", err)
	}
	if err := s.update(adapter.Products, 1, 0, given{"meta_title": "x"}); adapter.KindOf(err) != adapter.Unavailable {
		t.Errorf("update: %v", err)
	}
	s.want(adapter.Customers, 1, given{"entity_id": 1})
}

// TestUnreadable: a document that is not of the promised form is no answer, and keeps
// a scan from nothing else.
func TestUnreadable(t *testing.T) {
	s := openShop(t)
	s.memory.edit(adapter.Products, s.id(adapter.Products, 1), func(d *memoryDoc) { d.broken = true })
	if _, err := s.of(adapter.Products).Get(t.Context(), &adapter.GetParams{Key: 1}); adapter.KindOf(err) != adapter.Unavailable {
		t.Errorf("get: %v", err)
	}
	s.memory.edit(adapter.Products, s.id(adapter.Products, 2), func(d *memoryDoc) { d.record.Set("name", adapter.TextValue("Moved")) })
	d := placed(s, 0)
	s.memory.edit(adapter.Orders, d.id, func(d *memoryDoc) { d.broken = true })
	placed(s, 77)
	s.scan()
	s.want(adapter.Products, 2, given{"name": "Moved"})
	s.want(adapter.Orders, 77, given{"increment_id": "B-1"})
	told := strings.Join(s.log.all(), "\n")
	for _, want := range []string{"cannot be read", d.id, "cannot be reconciled"} {
		if !strings.Contains(told, want) {
			t.Errorf("the log says nothing of %q:\n%s", want, told)
		}
	}
	s.memory.edit(adapter.Products, s.id(adapter.Products, 1), func(d *memoryDoc) { d.broken = false })
	s.want(adapter.Products, 1, given{"entity_id": 1})
}
