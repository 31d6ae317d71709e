package replica_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/idmap"
	"github.com/portico-commerce/portico/adapter/replica"
)

// TestReadCost checks that reading records in sync costs one query of the ID map and one
// request to the backend, whatever the length of the list.
func TestReadCost(t *testing.T) {
	point := &crashPoint{}
	f := newCrashingFixture(t, point).fixture
	for _, c := range []struct {
		name  string
		r     adapter.Resource
		list  *adapter.ListParams // nil for Get of key 1
		steps int
	}{
		{"list products", adapter.Products, &adapter.ListParams{}, 3},
		{"list stock items", adapter.StockItems, &adapter.ListParams{Only: []string{"qty"}}, 3},
		{"list addresses", adapter.CustomerAddresses, &adapter.ListParams{}, 3},
		{"a page of orders", adapter.Orders, &adapter.ListParams{Query: adapter.Query{Limit: 2}}, 3},
		{"ordered by Apply", adapter.Products, &adapter.ListParams{Query: adapter.Query{OrderBy: "tier_price", Limit: 1}}, 3},
		{"empty list", adapter.Products, &adapter.ListParams{Query: where("sku", "none")}, 1},
		{"count", adapter.Products, &adapter.ListParams{Count: true}, 1},
		{"get a product", adapter.Products, nil, 3},
		{"get an address", adapter.CustomerAddresses, nil, 3},
		{"resource of the replica alone", adapter.Websites, &adapter.ListParams{}, 1},
	} {
		before := point.steps
		var err error
		if c.list == nil {
			_, err = f.store(c.r).Get(t.Context(), &adapter.GetParams{Key: 1})
		} else {
			_, err = f.store(c.r).List(t.Context(), c.list)
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := point.steps - before; got != c.steps {
			t.Errorf("%s: %d steps, want %d", c.name, got, c.steps)
		}
	}
}

// TestSharedReads checks that the reads of one call fetch a document once, unless the record is
// written in between, and that other calls fetch it again.
func TestSharedReads(t *testing.T) {
	point := &crashPoint{}
	f := newCrashingFixture(t, point).fixture
	ctx := adapter.WithSharedReads(t.Context())
	if adapter.WithSharedReads(ctx) != ctx {
		t.Error("a call within a call has its own reads")
	}
	get := func(ctx context.Context) (adapter.Record, error) {
		return f.store(adapter.Products).Get(ctx, &adapter.GetParams{Key: 1})
	}
	for _, c := range []struct {
		name  string
		read  func() error
		steps int
	}{
		{"a product", func() error { _, err := get(ctx); return err }, 3},
		{"the same product", func() error { _, err := get(ctx); return err }, 2},
		{"its stock item", func() error {
			_, err := f.store(adapter.StockItems).Get(ctx, &adapter.GetParams{Key: 1})
			return err
		}, 2},
		{"a list with others", func() error {
			_, err := f.store(adapter.Products).List(ctx, &adapter.ListParams{})
			return err
		}, 3},
		{"the same list", func() error {
			_, err := f.store(adapter.Products).List(ctx, &adapter.ListParams{})
			return err
		}, 2},
		{"an order", func() error {
			_, err := f.store(adapter.Orders).Get(ctx, &adapter.GetParams{Key: 1})
			return err
		}, 3},
		{"in another call", func() error { _, err := get(t.Context()); return err }, 3},
	} {
		before := point.steps
		if err := c.read(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := point.steps - before; got != c.steps {
			t.Errorf("%s: %d steps, want %d", c.name, got, c.steps)
		}
	}
	wantName := func(ctx context.Context, name string) {
		t.Helper()
		if r, err := get(ctx); err != nil || r.Get("name").Text() != name {
			t.Errorf("name %q, %v; want %q", r.Get("name").Text(), err, name)
		}
	}
	if err := f.update(adapter.Products, 1, 0, attrs{"name": "written"}); err != nil {
		t.Fatal(err)
	}
	rename := func(name string) {
		f.memory.edit(adapter.Products, f.id(adapter.Products, 1), func(d *memoryDoc) { d.record.Set("name", adapter.TextValue(name)) })
	}
	rename("after the write")
	wantName(ctx, "after the write")
	rename("during the call")
	wantName(ctx, "after the write")
	wantName(t.Context(), "during the call")
	wantName(ctx, "during the call")
}

// TestReadsLocally checks that reads of records that only scans compare request no documents, and
// return the values of the last scan.
func TestReadsLocally(t *testing.T) {
	local, memory := demoReplica(t), newCategoryMemory()
	memory.resources[0].ReadsLocally = true
	f := reopen(t, local, memory, replica.Options{})
	if err := f.Push(t.Context(), 1, nil); err != nil {
		t.Fatal(err)
	}
	before := f.memory.calls["Fetch categories"]
	f.memory.edit(adapter.Categories, f.id(adapter.Categories, 3), func(d *memoryDoc) { d.record.Set("name", adapter.TextValue("Pantry")) })
	f.checkValues(adapter.Categories, 3, attrs{"name": "Kitchen"})
	if n := f.memory.calls["Fetch categories"] - before; n != 0 {
		t.Errorf("%d requests for documents", n)
	}
	f.scan()
	f.checkValues(adapter.Categories, 3, attrs{"name": "Pantry"})
}

// TestChangedAtTheBackend changes documents at the backend. The next read applies the changed
// values and no others.
func TestChangedAtTheBackend(t *testing.T) {
	f := newFixture(t)
	if err := f.update(adapter.Customers, 1, 0, attrs{"email": "Exact@Example.com"}); err != nil {
		t.Fatal(err)
	}
	product, customer := f.id(adapter.Products, 1), f.id(adapter.Customers, 1)
	seen := f.get(adapter.Products, 1)
	f.memory.edit(adapter.Products, product, func(d *memoryDoc) {
		d.record.Set("name", adapter.TextValue("Renamed"))
		d.record.Set("price", adapter.TextValue("12.5000"))
		d.record.Set("description", adapter.NullValue())
		d.record.Set("tier_price", attrs{"tier_price": []attrs{{"website_id": 0, "cust_group": 32000, "price": "5.0000", "price_qty": "7.0000"}}}.Record(d.record.Schema).Get("tier_price"))
		d.parts[adapter.StockItems][0].record = attrs{"qty": "77.0000", "manage_stock": 1, "backorders": 2}.Record(schemas().Of(adapter.StockItems))
	})
	f.memory.edit(adapter.Customers, customer, func(d *memoryDoc) { d.record.Set("firstname", adapter.TextValue("Other")) })
	f.checkValues(adapter.Products, 1, attrs{"name": "Renamed", "price": "12.5000", "description": nil, "sku": seen.Get("sku"), "url_key": seen.Get("url_key")})
	f.checkValues(adapter.StockItems, 1, attrs{"qty": "77.0000", "backorders": 2})
	f.checkValues(adapter.Customers, 1, attrs{"firstname": "Other", "email": "Exact@Example.com"})
	prices := f.get(adapter.Products, 1, "tier_price").Get("tier_price").Records()
	if len(prices) != 1 || prices[0].Get("price_qty").Text() != "7.0000" {
		t.Errorf("tier prices: %v", prices)
	}
	if found := f.keys(adapter.Products, where("name", "renamed")); !slices.Equal(found, []adapter.Key{1}) {
		t.Errorf("found %v by the new name", found)
	}
	// Values unchanged at the backend keep the precision with which the client wrote them.
	f.memory.edit(adapter.Customers, customer, func(d *memoryDoc) { d.record.Set("email", adapter.TextValue("new@example.com")) })
	f.checkValues(adapter.Customers, 1, attrs{"email": "new@example.com"})
}

// TestOrderChangedAtTheBackend changes an order, which clients cannot write.
func TestOrderChangedAtTheBackend(t *testing.T) {
	f := newFixture(t)
	f.memory.edit(adapter.Orders, f.id(adapter.Orders, 1), func(d *memoryDoc) {
		d.record.Set("status", adapter.TextValue("shipped"))
		d.parts[adapter.OrderItems][0].record = d.parts[adapter.OrderItems][0].record.Clone()
		d.parts[adapter.OrderItems][0].record.Set("name", adapter.TextValue("Renamed"))
	})
	before := f.get(adapter.Orders, 2).Get("updated_at")
	f.checkValues(adapter.Orders, 1, attrs{"status": "shipped"})
	if found := f.keys(adapter.OrderItems, where("name", "Renamed")); len(found) != 1 {
		t.Errorf("lines of the new name: %v", found)
	}
	f.checkValues(adapter.Orders, 2, attrs{"updated_at": before})
}

// TestListUsesNewValues checks that a list queries the replica again after reconciling.
func TestListUsesNewValues(t *testing.T) {
	f := newFixture(t)
	if _, err := f.store(adapter.Products).List(t.Context(), &adapter.ListParams{}); err != nil {
		t.Fatal(err)
	}
	sku := f.get(adapter.Products, 1).Get("sku").Text()
	f.memory.edit(adapter.Products, f.id(adapter.Products, 1), func(d *memoryDoc) { d.record.Set("sku", adapter.TextValue("moved")) })
	if found := f.keys(adapter.Products, where("sku", sku)); len(found) != 0 {
		t.Errorf("found by its old SKU: %v", found)
	}
	if found := f.keys(adapter.Products, where("sku", "moved")); len(found) != 1 {
		t.Errorf("found by its new SKU: %v", found)
	}
}

// TestPartsChangedAtTheBackend adds and deletes parts at the backend.
func TestPartsChangedAtTheBackend(t *testing.T) {
	f := newFixture(t)
	customer := f.id(adapter.Customers, 1)
	ofCustomer := where("customer_id", "1")
	before := f.keys(adapter.CustomerAddresses, ofCustomer)
	part := f.memory.part(newAddress(1).Record(schemas().Of(adapter.CustomerAddresses)), 0)
	part.rest = attrs{"region": "", "fax": "rest"}.Record(schemas().Of(adapter.CustomerAddresses))
	deleted := before[len(before)-1]
	deletedID := f.id(adapter.CustomerAddresses, deleted)
	f.memory.edit(adapter.Customers, customer, func(d *memoryDoc) {
		d.parts[adapter.CustomerAddresses] = append(slices.DeleteFunc(slices.Clone(d.parts[adapter.CustomerAddresses]), func(i memoryItem) bool { return i.id == deletedID }), part)
	})
	f.get(adapter.Customers, 1) // any read of the root reconciles its parts
	after := f.keys(adapter.CustomerAddresses, ofCustomer)
	fresh := after[len(after)-1]
	if len(after) != len(before) || slices.Contains(after, deleted) || slices.Contains(before, fresh) {
		t.Fatalf("addresses %v, were %v", after, before)
	}
	f.checkValues(adapter.CustomerAddresses, fresh, attrs{"city": "C", "fax": "rest", "customer_id": 1})
	if got := f.id(adapter.CustomerAddresses, fresh); got != part.id {
		t.Errorf("its id is %s, want %s", got, part.id)
	}
	if err := f.update(adapter.CustomerAddresses, fresh, 0, attrs{"city": "D"}); err != nil {
		t.Error(err)
	}
	if _, exists := f.mapping(adapter.CustomerAddresses, deleted); exists {
		t.Error("the mapping of the deleted address still exists")
	}

	f.memory.edit(adapter.Products, f.id(adapter.Products, 3), func(d *memoryDoc) {
		d.parts[adapter.ProductWebsites] = []memoryItem{{record: attrs{"website_id": 2}.Record(schemas().Of(adapter.ProductWebsites))}}
		d.parts[adapter.StockItems] = nil // the replica cannot delete a stock item
	})
	sites := f.websites(3)
	if !slices.Equal(sites, []int64{2}) {
		t.Errorf("product 3 is in the websites %v, want [2]", sites)
	}
	f.checkAgreementExcept("stock_items")
}

// TestOrderLineDeletedAtTheBackend deletes an order line at the backend, which no client can
// do.
func TestOrderLineDeletedAtTheBackend(t *testing.T) {
	f := newFixture(t)
	before := f.keys(adapter.OrderItems, where("order_id", "1"))
	deletedID := f.id(adapter.OrderItems, before[0])
	f.memory.edit(adapter.Orders, f.id(adapter.Orders, 1), func(d *memoryDoc) {
		d.parts[adapter.OrderItems] = slices.DeleteFunc(slices.Clone(d.parts[adapter.OrderItems]), func(i memoryItem) bool { return i.id == deletedID })
	})
	if after := f.keys(adapter.OrderItems, where("order_id", "1")); !slices.Equal(after, before[1:]) {
		t.Errorf("lines %v, were %v", after, before)
	}
	f.checkAgreement()
}

func (f *fixture) websites(product adapter.Key) (sites []int64) {
	f.t.Helper()
	for _, r := range adaptertest.MustList(f.t, f.store(adapter.ProductWebsites), adapter.ListParams{Query: where("product_id", keyText(product))}).Records {
		sites = append(sites, r.Get("website_id").Int())
	}
	return sites
}

// checkAgreementExcept is checkAgreement without one resource.
func (f *fixture) checkAgreementExcept(r adapter.Resource) {
	f.t.Helper()
	resources := f.memory.resources
	defer func() { f.memory.resources = resources }()
	f.memory.resources = slices.DeleteFunc(slices.Clone(resources), func(res replica.BackendResource) bool { return res.Resource == r })
	f.checkAgreement()
}

// TestRecordDeletedAtTheBackend checks that a record whose document no longer exists is in
// no list, page or count, and is visible again when the document exists again.
func TestRecordDeletedAtTheBackend(t *testing.T) {
	f := newFixture(t)
	all := f.keys(adapter.Products, adapter.Query{})
	id := f.id(adapter.Products, all[1])
	f.memory.mu.Lock()
	doc := f.memory.docs[adapter.Products][id]
	delete(f.memory.docs[adapter.Products], id)
	f.memory.mu.Unlock()

	rest := slices.DeleteFunc(slices.Clone(all), func(k adapter.Key) bool { return k == all[1] })
	for _, q := range []adapter.Query{{Limit: 3}, {Offset: 1, Limit: 2}, {Offset: 3, Limit: 3}, {}} {
		want := rest[min(int(q.Offset), len(rest)):]
		if q.Limit > 0 {
			want = want[:min(int(q.Limit), len(want))]
		}
		if got := f.keys(adapter.Products, q); !slices.Equal(got, want) {
			t.Errorf("offset %d limit %d: %v, want %v", q.Offset, q.Limit, got, want)
		}
	}
	f.checkMissing(adapter.Products, all[1])
	found, err := f.store(adapter.Products).List(t.Context(), &adapter.ListParams{Count: true})
	if err != nil || found.Total != int64(len(rest)) {
		t.Errorf("counted %d, %v, want %d", found.Total, err, len(rest))
	}
	for _, r := range []adapter.Resource{adapter.StockItems, adapter.ProductWebsites} {
		if found := f.keys(r, where("product_id", keyText(all[1]))); len(found) != 0 {
			t.Errorf("%s of the deleted product: %v", r, found)
		}
	}
	for name, err := range map[string]error{
		"update": f.update(adapter.Products, all[1], 0, attrs{"meta_title": "x"}),
		"delete": f.delete(adapter.Products, all[1]),
		"stock":  f.update(adapter.StockItems, 2, 0, attrs{"qty": "1.0000"}),
	} {
		if adapter.KindOf(err) != adapter.NotFound || err == nil {
			t.Errorf("%s: %v, want not found", name, err)
		}
	}
	_, err = f.create(adapter.ProductWebsites, attrs{"product_id": int(all[1]), "website_id": 2})
	if adapter.KindOf(err) != adapter.Invalid || err == nil {
		t.Errorf("create a part: %v, want invalid", err)
	}

	f.memory.mu.Lock()
	f.memory.docs[adapter.Products][id] = doc
	f.memory.mu.Unlock()
	if err := f.Scan(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := f.keys(adapter.Products, adapter.Query{}); !slices.Equal(got, all) {
		t.Errorf("with the document again: %v, want %v", got, all)
	}
}

// TestUnmapped checks that a record is invisible until it has a mapping.
func TestUnmapped(t *testing.T) {
	f := newFixture(t)
	mapping, _ := f.mapping(adapter.Products, 2)
	if err := f.local.DeleteMapping(t.Context(), adapter.Products, 2); err != nil {
		t.Fatal(err)
	}
	f.checkMissing(adapter.Products, 2)
	for base, want := range map[string]string{"": "the replica's", "{}": "the backend's"} {
		t.Run(fmt.Sprintf("base %q", base), func(t *testing.T) {
			f.memory.edit(adapter.Products, mapping.BackendID, func(d *memoryDoc) { d.record.Set("name", adapter.TextValue("the backend's")) })
			if err := f.update(adapter.Products, 1, 0, attrs{"name": "x"}); err != nil {
				t.Fatal(err)
			}
			store := adaptertest.StoreOf(t, f.local, adapter.Products)
			if err := store.Update(t.Context(), &adapter.UpdateParams{Key: 2, Change: func(current adapter.Record) (adapter.Record, error) {
				return attrs{"name": "the replica's"}.Record(current.Schema), nil
			}}); err != nil {
				t.Fatal(err)
			}
			imported := idmap.Mapping{Resource: adapter.Products, Key: 2, BackendID: mapping.BackendID}
			if base != "" {
				imported.Base = []byte(base)
			}
			if err := f.local.PutMappings(t.Context(), imported); err != nil {
				t.Fatal(err)
			}
			f.checkValues(adapter.Products, 2, attrs{"name": want})
		})
	}
}

// TestRefusedValue checks that a value refused by the replica is left out while the others are
// applied, that it is logged, and that the next document tries it again.
func TestRefusedValue(t *testing.T) {
	f := newFixture(t)
	sku, taken := f.get(adapter.Products, 1).Get("sku"), f.get(adapter.Products, 2).Get("sku")
	id := f.id(adapter.Products, 1)
	f.memory.edit(adapter.Products, id, func(d *memoryDoc) {
		d.record.Set("sku", taken)
		d.record.Set("name", adapter.TextValue("Renamed"))
	})
	f.checkValues(adapter.Products, 1, attrs{"sku": sku, "name": "Renamed"})
	if lines := f.log.all(); len(lines) != 1 || !strings.Contains(lines[0], "attribute=sku") || !strings.Contains(lines[0], "conflict") {
		t.Errorf("logged: %q", lines)
	}
	f.checkValues(adapter.Products, 1, attrs{"sku": sku})
	if err := f.update(adapter.Products, 2, 0, attrs{"sku": "free"}); err != nil {
		t.Fatal(err)
	}
	f.memory.edit(adapter.Products, id, func(d *memoryDoc) { d.record.Set("name", adapter.TextValue("Again")) })
	f.checkValues(adapter.Products, 1, attrs{"sku": taken, "name": "Again"})
}

// TestBackendDown checks that records that cannot be compared are not returned.
func TestBackendDown(t *testing.T) {
	f := newFixture(t)
	down := &adapter.Error{Kind: adapter.Unavailable, Op: "fetch"}
	f.memory.fail("Fetch products", down, nil)
	_, err := f.store(adapter.Products).Get(t.Context(), &adapter.GetParams{Key: 1})
	if adapter.KindOf(err) != adapter.Unavailable {
		t.Errorf("get: %v", err)
	}
	_, err = f.store(adapter.StockItems).List(t.Context(), &adapter.ListParams{})
	if adapter.KindOf(err) != adapter.Unavailable {
		t.Errorf("list: %v", err)
	}
	if err := f.update(adapter.Products, 1, 0, attrs{"meta_title": "x"}); adapter.KindOf(err) != adapter.Unavailable {
		t.Errorf("update: %v", err)
	}
	f.checkValues(adapter.Customers, 1, attrs{"entity_id": 1})
}

// TestUnreadable checks that a document that cannot be decoded fails its own reads, and
// does not stop a scan.
func TestUnreadable(t *testing.T) {
	f := newFixture(t)
	f.memory.edit(adapter.Products, f.id(adapter.Products, 1), func(d *memoryDoc) { d.broken = true })
	if _, err := f.store(adapter.Products).Get(t.Context(), &adapter.GetParams{Key: 1}); adapter.KindOf(err) != adapter.Unavailable {
		t.Errorf("get: %v", err)
	}
	f.memory.edit(adapter.Products, f.id(adapter.Products, 2), func(d *memoryDoc) { d.record.Set("name", adapter.TextValue("Moved")) })
	d := placeOrder(f, 0)
	f.memory.edit(adapter.Orders, d.id, func(d *memoryDoc) { d.broken = true })
	placeOrder(f, 77)
	f.scan()
	f.checkValues(adapter.Products, 2, attrs{"name": "Moved"})
	f.checkValues(adapter.Orders, 77, attrs{"increment_id": "B-1"})
	logged := strings.Join(f.log.all(), "\n")
	for _, want := range []string{"cannot be read", d.id, "cannot be reconciled"} {
		if !strings.Contains(logged, want) {
			t.Errorf("the log does not contain %q:\n%s", want, logged)
		}
	}
	f.memory.edit(adapter.Products, f.id(adapter.Products, 1), func(d *memoryDoc) { d.broken = false })
	f.checkValues(adapter.Products, 1, attrs{"entity_id": 1})
}

// A talkativeBackend returns documents that were not requested.
type talkativeBackend struct{ *memoryBackend }

func (b talkativeBackend) Fetch(ctx context.Context, r adapter.Resource, ids []string) ([]replica.Document, error) {
	docs, err := b.memoryBackend.Fetch(ctx, r, ids)
	unread := func(context.Context) (replica.Item, map[adapter.Resource][]replica.Item, error) {
		return replica.Item{}, nil, memoryError(adapter.Internal, "")
	}
	return append(docs, replica.Document{ID: "unasked", Version: "v", Read: unread}), err
}

// TestUnaskedDocuments checks that documents which were not requested are ignored.
func TestUnaskedDocuments(t *testing.T) {
	f := newFixture(t)
	want := f.get(adapter.Products, 1)
	a, err := replica.New(replica.Options{Replica: f.local, Backend: talkativeBackend{f.memory}})
	if err != nil {
		t.Fatal(err)
	}
	f.Adapter = a
	if got := f.get(adapter.Products, 1); adaptertest.FormatRecord(got) != adaptertest.FormatRecord(want) {
		t.Errorf("%s, want %s", adaptertest.FormatRecord(got), adaptertest.FormatRecord(want))
	}
}
