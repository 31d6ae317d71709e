package replica_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/idmap"
	"github.com/portico-commerce/portico/adapter/replica"
)

// placeOrder stores a new order at the backend.
func placeOrder(f *fixture, key adapter.Key) *memoryDoc {
	orders, lines, addresses := schemas().Of(adapter.Orders), schemas().Of(adapter.OrderItems), schemas().Of(adapter.OrderAddresses)
	d := f.memory.order(attrs{
		"increment_id": "B-1", "customer_id": 1, "store_id": 1, "state": "new", "status": "pending", "grand_total": "12.0000", "created_at": "2026-01-02 03:04:05",
	}.Record(orders))
	line := f.memory.part(attrs{"sku": "x", "name": "X", "qty_ordered": "1.0000", "price": "12.0000"}.Record(lines), 0)
	line.rest = attrs{"product_id": 1, "created_at": "2026-01-02 03:04:05", "updated_at": "2026-01-02 03:04:05"}.Record(lines)
	f.memory.edit(adapter.Orders, d.id, func(d *memoryDoc) {
		d.key = key
		d.rest = attrs{"updated_at": "2026-01-02 03:04:05", "order_currency_code": "USD"}.Record(orders)
		d.parts[adapter.OrderItems] = []memoryItem{line}
	})
	address := f.memory.part(attrs{"address_type": "billing", "lastname": "L", "city": "C"}.Record(addresses), 0)
	f.memory.edit(adapter.Orders, d.id, func(d *memoryDoc) { d.parts[adapter.OrderAddresses] = []memoryItem{address} })
	return d
}

func (f *fixture) scan() {
	f.t.Helper()
	if err := f.Scan(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
}

// metric returns the sum of a metric's series.
func (f *fixture) metric(name string) (sum float64) {
	f.t.Helper()
	families, err := f.metrics.Gather()
	if err != nil {
		f.t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == name {
			for _, m := range family.GetMetric() {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return sum
}

// TestScan imports records that only the backend has, according to the policy.
func TestScan(t *testing.T) {
	for _, c := range []struct {
		name     string
		allocate bool
		key      adapter.Key // carried by the document
		want     adapter.Key // 0 if it is left out, -1 for the next key
	}{
		{"with a legacy id, refusing", false, 4711, 4711},
		{"with a legacy id, allocating", true, 4711, 4711},
		{"without a legacy id, refusing", false, 0, 0},
		{"without a legacy id, allocating", true, 0, -1},
		{"with another record's legacy id", true, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			f = reopen(t, f.local, f.memory, replica.Options{AllocateIDs: c.allocate})
			before := f.keys(adapter.Orders, adapter.Query{})
			d := placeOrder(f, c.key)
			f.scan()
			f.scan()
			after := f.keys(adapter.Orders, adapter.Query{})
			fresh := slices.DeleteFunc(slices.Clone(after), func(k adapter.Key) bool { return slices.Contains(before, k) })
			if c.want == 0 {
				if len(fresh) != 0 {
					t.Errorf("imported: %v", fresh)
				}
				if lines := f.log.all(); len(lines) != 1 || !strings.Contains(lines[0], d.id) {
					t.Errorf("logged: %q", lines)
				}
				if f.metric("portico_side_unmapped_total") == 0 {
					t.Error("not counted")
				}
				return
			}
			if len(fresh) != 1 || c.want > 0 && fresh[0] != c.want || c.want < 0 && fresh[0] <= slices.Max(before) {
				t.Fatalf("taken over: %v, want %d", fresh, c.want)
			}
			f.checkValues(adapter.Orders, fresh[0], attrs{"increment_id": "B-1", "customer_id": 1, "grand_total": "12.0000", "order_currency_code": "USD", "created_at": "2026-01-02 03:04:05"})
			lines := f.keys(adapter.OrderItems, where("order_id", keyText(fresh[0])))
			if len(lines) != 1 {
				t.Fatalf("lines: %v", lines)
			}
			f.checkValues(adapter.OrderItems, lines[0], attrs{"sku": "x", "product_id": 1, "price": "12.0000"})
			if addresses := f.keys(adapter.OrderAddresses, where("parent_id", keyText(fresh[0]))); len(addresses) != 1 {
				t.Errorf("addresses: %v", addresses)
			}
			if got := f.metric("portico_side_adopted_total"); got != 1 {
				t.Errorf("%v imports counted, want 1", got)
			}
			f.checkAgreement()
		})
	}
}

// TestScanNewAddress imports an address without a postcode from a backend that has null for it. The new address has
// no value; it has null after the backend has emptied a postcode (customers 3).
func TestScanNewAddress(t *testing.T) {
	f := newFixture(t)
	postcode := func() adapter.Value {
		t.Helper()
		f.scan()
		found := f.keys(adapter.CustomerAddresses, where("city", "Bath"))
		if len(found) != 1 {
			t.Fatalf("addresses: %v", found)
		}
		return f.get(adapter.CustomerAddresses, found[0]).Get("postcode")
	}
	address := newAddress(1)
	address["city"], address["postcode"] = "Bath", nil
	added := f.memory.part(address.Record(schemas().Of(adapter.CustomerAddresses)), 0)
	set := func(v adapter.Value) {
		f.memory.edit(adapter.Customers, f.id(adapter.Customers, 1), func(d *memoryDoc) {
			kept := slices.DeleteFunc(slices.Clone(d.parts[adapter.CustomerAddresses]), func(i memoryItem) bool { return i.id == added.id })
			added.record = added.record.Clone()
			added.record.Set("postcode", v)
			d.parts[adapter.CustomerAddresses] = append(kept, added)
		})
	}
	for _, step := range []struct{ atBackend, want adapter.Value }{
		{adapter.NullValue(), adapter.Value{}}, {adapter.TextValue("BA1"), adapter.TextValue("BA1")}, {adapter.NullValue(), adapter.NullValue()},
	} {
		set(step.atBackend)
		if got := postcode(); !got.Equal(step.want) {
			t.Errorf("the backend has %s: got %s, want %s", adaptertest.FormatValue(step.atBackend), adaptertest.FormatValue(got), adaptertest.FormatValue(step.want))
		}
	}
}

// TestScanMovedAddress moves an address to another country at a backend that has no ids of regions. The stored
// id belongs to the old region, and is removed.
func TestScanMovedAddress(t *testing.T) {
	f := newFixture(t)
	f.checkValues(adapter.CustomerAddresses, 1, attrs{"country_id": "US", "region_id": 12})
	f.memory.edit(adapter.Customers, f.id(adapter.Customers, 1), func(d *memoryDoc) {
		moved := slices.Clone(d.parts[adapter.CustomerAddresses])
		for i := range moved {
			moved[i].record = moved[i].record.Clone()
			moved[i].record.Set("country_id", adapter.TextValue("FR"))
		}
		d.parts[adapter.CustomerAddresses] = moved
	})
	f.scan()
	f.checkValues(adapter.CustomerAddresses, 1, attrs{"country_id": "FR"})
	if id := f.get(adapter.CustomerAddresses, 1).Get("region_id"); !id.Empty() {
		t.Errorf("the id of the region is %s", adaptertest.FormatValue(id))
	}
}

// TestScanReconciles checks that changed records are found by their new values after a scan,
// before any read of them.
func TestScanReconciles(t *testing.T) {
	f := newFixture(t)
	f.memory.edit(adapter.Products, f.id(adapter.Products, 1), func(d *memoryDoc) { d.record.Set("name", adapter.TextValue("Moved")) })
	f.scan()
	if found := f.keys(adapter.Products, where("name", "Moved")); len(found) != 1 {
		t.Errorf("found %v", found)
	}
	// The next scan fetches only documents that have changed since.
	fetched := f.memory.callCount("Fetch products")
	f.scan()
	if got := f.memory.callCount("Fetch products") - fetched; got != 0 {
		t.Errorf("%d unchanged documents fetched", got)
	}
}

// TestIncompleteScan leaves a product out of the backend's list. The scan is reported, and repeated from
// where it began, so that the product is found once it is listed; unlisted records are not deleted.
func TestIncompleteScan(t *testing.T) {
	f := newFixture(t)
	f.scan() // from now on only changed documents are listed
	known, before := f.id(adapter.Products, 1), f.keys(adapter.Products, adapter.Query{})
	list := func(unlisted string) {
		f.memory.mu.Lock()
		defer f.memory.mu.Unlock()
		f.memory.unlisted = unlisted
	}
	incomplete := func(want float64) {
		t.Helper()
		if got := f.metric("portico_side_incomplete_scans_total"); got != want {
			t.Errorf("%v scans counted, want %v", got, want)
		}
	}
	list(known)
	f.scan()
	f.scan()
	incomplete(2)
	lines := f.log.all()
	if len(lines) != 1 || !strings.Contains(lines[0], "products") || !strings.Contains(lines[0], "the backend says that there are") {
		t.Errorf("logged: %q", lines)
	}
	if after := f.keys(adapter.Products, adapter.Query{}); !slices.Equal(after, before) {
		t.Errorf("products %v, want %v", after, before)
	}
	var found []replica.Finding
	if err := f.Check(t.Context(), func(one replica.Finding) error { found = append(found, one); return nil }, nil); err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 || found[0].Kind != replica.IncompleteList || found[0].Resource != adapter.Products || !strings.Contains(found[0].Detail, "others may be missing") {
		t.Errorf("findings: %v", found)
	}

	// A process whose first scan is incomplete reads all documents again, not only later changes.
	d := placeOrder(f, 4711)
	f.memory.mu.Lock()
	d.changed = time.Time{}
	f.memory.mu.Unlock()
	f = f.restart()
	list(d.id)
	f.scan()
	if _, known := f.mapping(adapter.Orders, 4711); known {
		t.Fatal("the order that is not listed is known")
	}
	list("")
	f.scan()
	f.checkValues(adapter.Orders, 4711, attrs{"increment_id": "B-1"})
	incomplete(1)
}

// TestScanBindsByLegacyID checks that a document that carries the legacy id of an unmapped
// record is mapped to that record, and its values are applied.
func TestScanBindsByLegacyID(t *testing.T) {
	f := newFixture(t)
	id := f.id(adapter.Customers, 1)
	if err := f.local.DeleteMapping(t.Context(), adapter.Customers, 1); err != nil {
		t.Fatal(err)
	}
	f.checkMissing(adapter.Customers, 1)
	f.memory.edit(adapter.Customers, id, func(d *memoryDoc) { d.record.Set("firstname", adapter.TextValue("Theirs")) })
	f.scan()
	f.checkValues(adapter.Customers, 1, attrs{"firstname": "Theirs"})
	if got := f.id(adapter.Customers, 1); got != id {
		t.Errorf("its id is %s, want %s", got, id)
	}
	f.checkAgreement() // its addresses have their mappings again, too
}

// TestScanImportsMapped imports a document whose mapping exists while the replica has no
// such record. It gets the mapped legacy id, and so do its parts.
func TestScanImportsMapped(t *testing.T) {
	f := newFixture(t)
	d := placeOrder(f, 0)
	if err := f.local.PutMappings(t.Context(),
		idmap.Mapping{Resource: adapter.Orders, Key: 900, BackendID: d.id, Base: []byte("{}")},
		idmap.Mapping{Resource: adapter.OrderItems, Key: 901, BackendID: f.memory.docs[adapter.Orders][d.id].parts[adapter.OrderItems][0].id, Root: adapter.Orders, RootKey: 900},
	); err != nil {
		t.Fatal(err)
	}
	f.scan()
	f.checkValues(adapter.Orders, 900, attrs{"increment_id": "B-1"})
	f.checkValues(adapter.OrderItems, 901, attrs{"sku": "x", "order_id": 900})
	f.checkAgreement()
}

// TestScanCategory imports a category that only the backend has. Only the documents that
// refer to it are read again.
func TestScanCategory(t *testing.T) {
	f := newFixture(t)
	f.memory.ids = idmap.NewCache(f.local)
	f.memory.resources = append(memoryResources(), replica.BackendResource{Resource: adapter.Categories, Root: adapter.Categories, Attributes: []string{"name", "parent_id"}})
	f = reopen(t, f.local, f.memory, replica.Options{AllocateIDs: true})
	f.memory.edit(adapter.Products, f.id(adapter.Products, 2), func(d *memoryDoc) { d.categories = []string{"new"} })
	mappings := func() map[adapter.Key]idmap.Mapping {
		all := map[adapter.Key]idmap.Mapping{}
		for _, key := range f.keys(adapter.Products, adapter.Query{}) { // reads all documents
			all[key], _ = f.mapping(adapter.Products, key)
		}
		return all
	}
	categories := func() int { return len(f.keys(adapter.ProductCategories, where("product_id", "2"))) }
	assigned, before := categories(), mappings()
	schema := schemas().Of(adapter.Categories)
	d := &memoryDoc{memoryItem: memoryItem{id: "new", record: attrs{"name": "New", "parent_id": 2}.Record(schema)}, changed: time.Now()}
	d.rest = attrs{"is_active": 1}.Record(schema)
	f.memory.mu.Lock()
	f.memory.docs[adapter.Categories] = map[string]*memoryDoc{"new": d}
	f.memory.mu.Unlock()
	f.scan()
	if got := f.metric("portico_side_adopted_total"); got != 1 {
		t.Fatalf("%v imports counted, want 1: %q", got, f.log.all())
	}
	fetched := f.memory.callCount("Fetch products")
	after := mappings()
	if got := f.memory.callCount("Fetch products") - fetched; got != 2 {
		t.Errorf("%d fetches of products, want one of all, and one of the product with the category", got)
	}
	for key, mapping := range after {
		if changed := !mapping.ChangedAt.Equal(before[key].ChangedAt); changed != (key == 2) {
			t.Errorf("product %d was reconciled: %v", key, changed)
		}
	}
	if got := categories(); got != assigned+1 {
		t.Errorf("%d categories of the product, want %d", got, assigned+1)
	}
	fetched = f.memory.callCount("Fetch products")
	mappings()
	if got := f.memory.callCount("Fetch products") - fetched; got != 1 {
		t.Errorf("%d fetches of products that are in sync, want 1", got)
	}
}

// TestScanImportRefused checks that a record refused by the replica is logged and left out,
// while the others are imported.
func TestScanImportRefused(t *testing.T) {
	f := newFixture(t)
	f = reopen(t, f.local, f.memory, replica.Options{AllocateIDs: true})
	products := schemas().Of(adapter.Products)
	add := func(sku string) string {
		f.memory.mu.Lock()
		defer f.memory.mu.Unlock()
		d := &memoryDoc{memoryItem: memoryItem{id: f.memory.newID("prod"), record: adapter.NewRecord(products)}, parts: map[adapter.Resource][]memoryItem{}, changed: time.Now()}
		d.record = attrs{"sku": sku, "name": "N", "price": "1.0000", "status": 1}.Record(products)
		d.rest = attrs{"attribute_set_id": 4, "type_id": "simple", "visibility": 4, "tax_class_id": 2}.Record(products)
		f.memory.docs[adapter.Products][d.id] = d
		return d.id
	}
	taken := f.get(adapter.Products, 1).Get("sku").Text()
	double, fine := add(strings.ToUpper(taken)), add("fine")
	f.scan()
	if found := f.keys(adapter.Products, where("sku", "fine")); len(found) != 1 || f.id(adapter.Products, found[0]) != fine {
		t.Errorf("found %v", found)
	}
	if lines := f.log.all(); len(lines) != 1 || !strings.Contains(lines[0], double) || !strings.Contains(lines[0], "sku") {
		t.Errorf("logged: %q", lines)
	}
	if found := f.keys(adapter.Products, where("sku", taken)); !slices.Equal(found, []adapter.Key{1}) {
		t.Errorf("found %v by the duplicate SKU", found)
	}
}

// TestScanImportLacks checks that the log names every value that a record and its parts lack.
func TestScanImportLacks(t *testing.T) {
	f := newFixture(t)
	f = reopen(t, f.local, f.memory, replica.Options{AllocateIDs: true})
	products := schemas().Of(adapter.Products)
	f.memory.mu.Lock()
	d := &memoryDoc{memoryItem: memoryItem{id: f.memory.newID("prod"), record: attrs{"sku": "lacking"}.Record(products), rest: attrs{"type_id": "simple"}.Record(products)}, changed: time.Now()}
	d.parts = map[adapter.Resource][]memoryItem{adapter.ProductCategories: {{record: attrs{"category_id": 3}.Record(schemas().Of(adapter.ProductCategories))}}}
	f.memory.docs[adapter.Products][d.id] = d
	f.memory.mu.Unlock()
	f.scan()
	const want = "without values of product_categories.position, products.attribute_set_id: "
	if lines := f.log.all(); len(lines) != 1 || !strings.Contains(lines[0], d.id) || !strings.Contains(lines[0], want) {
		t.Errorf("logged: %q, want one line with %q", lines, want)
	}
	if found := f.keys(adapter.Products, where("sku", "lacking")); len(found) != 0 {
		t.Errorf("found %v", found)
	}
}

// TestScanWhileCreating checks that a scan does not import a record that is being created,
// even if documents carry no legacy ids.
func TestScanWhileCreating(t *testing.T) {
	f := newFixture(t)
	f.memory.withoutKeys = true
	f = reopen(t, f.local, f.memory, replica.Options{AllocateIDs: true})
	created, release := make(chan struct{}), make(chan struct{})
	f.memory.after = func(_ context.Context, call string) error {
		if call == "Create products" {
			close(created)
			<-release
		}
		return nil
	}
	done := make(chan error)
	go func() { _, err := f.create(adapter.Products, newProduct("mine")); done <- err }()
	<-created
	f.scan() // the document exists, and its mapping does not yet
	close(release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	f.scan()
	if found := f.keys(adapter.Products, where("sku", "mine")); len(found) != 1 {
		t.Errorf("found %v", found)
	}
	f.checkAgreement()
}

// TestUnknownCreateWithoutKeys loses the answer of a create while documents carry no legacy
// ids, so that its outcome cannot be found out. The record is logged, and invisible until
// its pair is imported.
func TestUnknownCreateWithoutKeys(t *testing.T) {
	f := newFixture(t)
	f.memory.withoutKeys = true
	f = f.restart()
	f.memory.fail("Create products", nil, memoryError(adapter.Unavailable, ""))
	if _, err := f.create(adapter.Products, newProduct("mine")); adapter.KindOf(err) != adapter.Unavailable {
		t.Fatal(err)
	}
	f.memory.clearFaults()
	f.scan()
	f.scan()
	if found := f.keys(adapter.Products, where("sku", "mine")); len(found) != 0 {
		t.Errorf("found %v", found)
	}
	if lines := f.log.all(); len(lines) != 1 || !strings.Contains(lines[0], "import its id") {
		t.Errorf("logged: %q", lines)
	}
	if got := f.metric("portico_side_noted"); got != 1 {
		t.Errorf("%v unresolved writes counted, want 1", got)
	}
	var id string
	for one, d := range f.memory.docs[adapter.Products] {
		if d.record.Get("sku").Text() == "mine" {
			id = one
		}
	}
	withIntent, err := f.local.MappingsWithIntent(t.Context(), 10)
	if err != nil || len(withIntent) != 1 {
		t.Fatal(withIntent, err)
	}
	withIntent[0].BackendID, withIntent[0].Intent = id, nil
	if err := f.local.PutMappings(t.Context(), withIntent[0]); err != nil {
		t.Fatal(err)
	}
	f.checkValues(adapter.Products, withIntent[0].Key, attrs{"sku": "mine"})
	f.checkAgreement()
}

// TestPeriodicScan checks that scans start immediately, repeat, and end with Close.
func TestPeriodicScan(t *testing.T) {
	f := newFixture(t)
	scanned := make(chan struct{}, 100)
	f.memory.after = func(_ context.Context, call string) error {
		if call == "Scan orders" {
			scanned <- struct{}{}
		}
		return nil
	}
	f = reopen(t, f.local, f.memory, replica.Options{ScanInterval: time.Millisecond})
	for range 3 {
		<-scanned
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	before := f.memory.callCount("Scan orders")
	if !f.memory.closed {
		t.Error("the backend is open")
	}
	_, got := f.store(adapter.Products).Get(t.Context(), &adapter.GetParams{Key: 1})
	_, listed := f.store(adapter.Products).List(t.Context(), &adapter.ListParams{})
	_, created := f.create(adapter.Products, newProduct("late"))
	for name, err := range map[string]error{
		"get": got, "list": listed, "create": created,
		"ping": f.Ping(t.Context()), "scan": f.Scan(t.Context()), "push": f.Push(t.Context(), 1, nil),
		"update": f.update(adapter.Products, 1, 0, attrs{"name": "x"}), "delete": f.delete(adapter.Products, 1),
	} {
		if adapter.KindOf(err) != adapter.Unavailable || err == nil {
			t.Errorf("%s: %v, want unavailable", name, err)
		}
	}
	if f.memory.callCount("Scan orders") != before {
		t.Error("it was scanned after Close")
	}
	if err := f.local.Ping(t.Context()); err != nil {
		t.Errorf("the replica: %v", err)
	}
}
