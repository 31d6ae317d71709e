package replica_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/adapter/idmap"
	"github.com/portico-commerce/portico/adapter/replica"
	"github.com/portico-commerce/portico/adapter/sqlstore"
)

// TestPushResumed repeats a push that was interrupted, and checks that it creates nothing
// twice.
func TestPushResumed(t *testing.T) {
	for _, c := range []struct {
		name  string
		after bool // the request is done, but its answer is lost
	}{{"refused", false}, {"answer lost", true}} {
		t.Run(c.name, func(t *testing.T) {
			local := demoReplica(t)
			m := newMemory()
			if err := m.placeOrders(t.Context(), local); err != nil {
				t.Fatal(err)
			}
			f := reopen(t, local, m, replica.Options{})
			creates := 0
			stop := func(_ context.Context, call string) error {
				if !strings.HasPrefix(call, "Create ") {
					return nil
				}
				if creates++; creates%7 == 0 {
					return memoryError(adapter.Unavailable, "")
				}
				return nil
			}
			if c.after {
				m.after = stop
			} else {
				m.before = stop
			}
			var done, total, tries int
			for ; ; tries++ {
				if tries > 50 {
					t.Fatal("the push does not end")
				}
				err := f.Push(t.Context(), 1, func(d, of int) { done, total = d, of })
				if err == nil {
					break
				}
				if adapter.KindOf(err) != adapter.Unavailable || !strings.Contains(err.Error(), "push ") {
					t.Fatal(err)
				}
			}
			if tries == 0 || done != total || total == 0 {
				t.Errorf("%d tries, progress ended at %d of %d", tries, done, total)
			}
			m.clearFaults()
			f.scan()
			f.checkAgreement()
			f.checkNoIntents()
			before := m.callCount("Create products")
			if err := f.Push(t.Context(), 1, nil); err != nil || m.callCount("Create products") != before {
				t.Errorf("another push: %v", err)
			}
		})
	}
}

// TestPushRefused checks that Push names the records that the backend refuses, keeps them in
// the replica, and creates all others.
func TestPushRefused(t *testing.T) {
	f := reopen(t, demoReplica(t), newMemory(), replica.Options{})
	refused := map[string]int{"Create customer_addresses": 2, "Create products": 1} // the number of the call
	f.memory.before = func(_ context.Context, call string) error {
		if refused[call]--; refused[call] == 0 {
			return memoryError(adapter.Conflict, "")
		}
		return nil
	}
	var done, total int
	err := f.Push(t.Context(), 1, func(d, of int) { done, total = d, of })
	if adapter.KindOf(err) != adapter.Conflict || done != total-2 {
		t.Errorf("error %v after %d of %d roots", err, done, total)
	}
	for _, want := range []string{"push customers 1: its customer_addresses 2: ", "push products 1: "} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
	if _, exists := f.mapping(adapter.Products, 1); exists {
		t.Error("the refused record has a mapping")
	}
	f.memory.clearFaults()
	before := len(f.memory.created)
	if err := f.Push(t.Context(), 1, nil); err != nil {
		t.Error(err)
	}
	if again := f.memory.created[before:]; len(again) < 2 || again[0] != "customer_addresses 2" || again[1] != "products 1" {
		t.Errorf("the next push creates %q", again)
	}
	f.checkNoIntents()
	f.checkValues(adapter.Products, 1, attrs{"entity_id": 1})
}

// TestPushRefusals checks that the error of a push has a bounded length.
func TestPushRefusals(t *testing.T) {
	local := demoReplica(t)
	customers := adaptertest.StoreOf(t, local, adapter.Customers)
	for i := range 30 {
		one := attrs{"website_id": 1, "group_id": 1, "email": fmt.Sprintf("new%d@example.com", i), "firstname": "New", "lastname": "One", "disable_auto_group_change": 0, "store_id": 0}
		if _, err := customers.Create(t.Context(), &adapter.CreateParams{Record: one.Record(schemas().Of(adapter.Customers))}); err != nil {
			t.Fatal(err)
		}
	}
	f := reopen(t, local, newMemory(), replica.Options{})
	f.memory.fail("Create customers", memoryError(adapter.Invalid, "email"), nil)
	err := f.Push(t.Context(), 1, nil)
	if err == nil || strings.Count(err.Error(), "push customers") != 20 || !strings.HasSuffix(err.Error(), "and others: portico ids check lists them") {
		t.Errorf("error %v", err)
	}
}

// TestPushFiles checks that images are created with their bytes, and images without bytes
// once their bytes have come.
func TestPushFiles(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "replica.db")
	if err := demotest.LoadWithImages("sqlite:" + path); err != nil {
		t.Fatal(err)
	}
	db := demotest.Open(t, sqlstore.Options{DSN: "sqlite:" + path, MediaDir: folder})
	late := filepath.Join(folder, "t", "w", "two.jpg")
	if err := os.Rename(late, late+"-later"); err != nil {
		t.Fatal(err)
	}
	f := reopen(t, db.Replica(), newMemory(), replica.Options{})
	if err := f.Push(t.Context(), 1, nil); err != nil {
		t.Fatal(err)
	}
	want := map[adapter.Key]string{1: "o/n/one.png", 3: "t/h/three.png"}
	if difference := cmp.Diff(want, f.memory.files); difference != "" {
		t.Errorf("want -, got +:\n%s", difference)
	}
	f.checkValues(adapter.ProductImages, 2, attrs{"file": "t/w/two.jpg"})
	if err := os.Rename(late+"-later", late); err != nil {
		t.Fatal(err)
	}
	if err := f.Push(t.Context(), 1, nil); err != nil {
		t.Fatal(err)
	}
	want[2] = "t/w/two.jpg"
	if difference := cmp.Diff(want, f.memory.files); difference != "" {
		t.Errorf("want -, got +:\n%s", difference)
	}
}

// newCategoryMemory returns a backend that owns only categories.
func newCategoryMemory() *memoryBackend {
	m := newMemory()
	m.resources = []replica.BackendResource{{Resource: adapter.Categories, Root: adapter.Categories, Attributes: []string{"name", "parent_id"}, Creates: true}}
	return m
}

// TestPushTree checks that a category is created after its parent, whatever their keys, and
// not at all if the parent is refused.
func TestPushTree(t *testing.T) {
	local := demoReplica(t)
	for key, above := range map[adapter.Key]int{3: 6, 6: 5, 5: 2} {
		if err := local.UpdateReadOnly(t.Context(), adapter.Categories, key, attrs{"parent_id": above}.Record(schemas().Of(adapter.Categories))); err != nil {
			t.Fatal(err)
		}
	}
	f := reopen(t, local, newCategoryMemory(), replica.Options{})
	f.memory.before = func(_ context.Context, call string) error {
		if call == "Create categories" && len(f.memory.created) == 1 {
			return memoryError(adapter.Invalid, "")
		}
		return nil
	}
	err := f.Push(t.Context(), 1, nil)
	if err == nil || !strings.Contains(err.Error(), "push categories 3: categories 5 above it: ") || len(f.memory.created) != 1 {
		t.Errorf("error %v, created %q", err, f.memory.created)
	}
	f.memory.clearFaults()
	done := 0
	if err := f.Push(t.Context(), 1, func(d, _ int) { done = d }); err != nil {
		t.Error(err)
	}
	if want := []string{"categories 2", "categories 5", "categories 6", "categories 3", "categories 4"}; !slices.Equal(f.memory.created, want) || done != len(want) {
		t.Errorf("created %q, want %q; %d done", f.memory.created, want, done)
	}
}

// TestPushScans checks that a push first gives records that only the backend creates their mappings.
func TestPushScans(t *testing.T) {
	f := reopen(t, demoReplica(t), newCategoryMemory(), replica.Options{})
	if err := f.Push(t.Context(), 1, nil); err != nil {
		t.Fatal(err)
	}
	other := newCategoryMemory()
	other.docs, other.resources[0].Creates, other.resources[0].ReadsLocally = f.memory.docs, false, true
	g := reopen(t, demoReplica(t), other, replica.Options{})
	if err := g.Push(t.Context(), 1, nil); err != nil {
		t.Fatal(err)
	}
	if got, want := g.id(adapter.Categories, 3), f.id(adapter.Categories, 3); got != want || len(other.created) > 0 {
		t.Errorf("category 3 has the id %q, want %q; created %q", got, want, other.created)
	}
}

// TestPushCycle checks that categories that are each other's parents are created all the
// same.
func TestPushCycle(t *testing.T) {
	local := demoReplica(t)
	for key, above := range map[adapter.Key]int{3: 4, 4: 5, 5: 3, 6: 6} {
		if err := local.UpdateReadOnly(t.Context(), adapter.Categories, key, attrs{"parent_id": above}.Record(schemas().Of(adapter.Categories))); err != nil {
			t.Fatal(err)
		}
	}
	f := reopen(t, local, newCategoryMemory(), replica.Options{})
	if err := f.Push(t.Context(), 1, nil); err != nil {
		t.Error(err)
	}
	want := []string{"categories 2", "categories 5", "categories 4", "categories 3", "categories 6"}
	if !slices.Equal(f.memory.created, want) {
		t.Errorf("created %q, want %q", f.memory.created, want)
	}
	// Each is fetched once after its create, and categories 4 and 5 again in their turns.
	if n := f.memory.callCount("Fetch categories"); n != len(want)+2 {
		t.Errorf("%d documents are fetched", n)
	}
}

// TestPushDeleted checks that a push creates nothing that another process deletes in the
// replica meanwhile, and leaves no write intent for it.
func TestPushDeleted(t *testing.T) {
	for r, m := range map[adapter.Resource]*memoryBackend{adapter.Categories: newCategoryMemory(), adapter.Customers: newMemory()} {
		t.Run(string(r), func(t *testing.T) {
			local := demoReplica(t)
			deleted := adapter.Key(3)
			m.before = func(ctx context.Context, call string) error {
				if call != "Create "+string(r) || m.callCount(call) > 1 {
					return nil
				}
				if r == adapter.Categories {
					return local.DeleteReadOnly(ctx, r, deleted)
				}
				store, err := local.Store(r)
				if err != nil {
					return err
				}
				return store.Delete(ctx, &adapter.DeleteParams{Key: deleted})
			}
			f := reopen(t, local, m, replica.Options{})
			err := f.Push(t.Context(), 1, nil)
			if want := fmt.Sprintf("push %s %d: ", r, deleted); adapter.KindOf(err) != adapter.NotFound || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("error %v, want %q", err, want)
			}
			f.checkNoIntents()
			if name := fmt.Sprint(r, " ", deleted); slices.Contains(f.memory.created, name) {
				t.Errorf("%s was created", name)
			}
		})
	}
}

// TestPushKeepsDeleted checks that a push does not create again a record that the backend has
// deleted since it was pushed.
func TestPushKeepsDeleted(t *testing.T) {
	f := reopen(t, demoReplica(t), newCategoryMemory(), replica.Options{})
	if err := f.Push(t.Context(), 1, nil); err != nil {
		t.Fatal(err)
	}
	created := len(f.memory.created)
	f.memory.mu.Lock()
	delete(f.memory.docs[adapter.Categories], f.id(adapter.Categories, 5))
	f.memory.mu.Unlock()
	if err := f.Push(t.Context(), 1, nil); err != nil {
		t.Error(err)
	}
	if len(f.memory.created) != created {
		t.Errorf("created %q", f.memory.created[created:])
	}
}

// TestPushInDoubt checks that Push waits for a record that another process may be creating, and creates it once that
// process's intent is too old.
func TestPushInDoubt(t *testing.T) {
	local := demoReplica(t)
	intent := idmap.Mapping{Resource: adapter.Products, Key: 3, Intent: []byte(`{"by":"another","op":"push","resource":"products","key":3}`)}
	if err := local.PutMappings(t.Context(), intent); err != nil {
		t.Fatal(err)
	}
	f := reopen(t, local, newMemory(), replica.Options{})
	f.SetForeignIntentAge(time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	err := f.Push(ctx, 1, func(int, int) {
		if slices.Contains(f.memory.created, "products 2") {
			cancel() // the next one is product 3
		}
	})
	if !errors.Is(err, context.Canceled) || slices.Contains(f.memory.created, "products 3") {
		t.Errorf("error %v, created %q", err, f.memory.created)
	}
	f.SetForeignIntentAge(0)
	if err := f.Push(t.Context(), 1, nil); err != nil || !slices.Contains(f.memory.created, "products 3") {
		t.Errorf("error %v", err)
	}
	f.checkNoIntents()
}

// TestPushBelowDoubt checks that Push creates no category below another one that the backend may or may not have.
func TestPushBelowDoubt(t *testing.T) {
	local, m := demoReplica(t), newCategoryMemory()
	m.withoutKeys = true
	intent := idmap.Mapping{Resource: adapter.Categories, Key: 3, Intent: []byte(`{"by":"another","op":"push","resource":"categories","key":3}`)}
	if err := local.PutMappings(t.Context(), intent); err != nil {
		t.Fatal(err)
	}
	f := reopen(t, local, m, replica.Options{})
	err := f.Push(t.Context(), 1, nil)
	for _, want := range []string{"push categories 3: ", "push categories 5: categories 3 above it: "} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
	if want := []string{"categories 2", "categories 4", "categories 6"}; !slices.Equal(m.created, want) {
		t.Errorf("created %q, want %q", m.created, want)
	}
}

// TestPushReferred checks that Push creates no order before its customer and the products of its lines: the backend would
// have the order of a guest, and no later push would change that.
func TestPushReferred(t *testing.T) {
	local, m := demoReplica(t), newMemory()
	m.withoutKeys = true // so that a customer stays in doubt
	for i := range m.resources {
		switch r := &m.resources[i]; r.Resource {
		case adapter.Orders:
			r.Creates = true
		case adapter.OrderItems:
			r.Attributes = append(r.Attributes, "product_id")
		}
	}
	orders := adaptertest.StoreOf(t, local, adapter.Orders)
	customer := adapter.Key(adaptertest.MustGet(t, orders, adapter.GetParams{Key: 1}).Get("customer_id").Int())
	intent := idmap.Mapping{Resource: adapter.Customers, Key: customer, Intent: fmt.Appendf(nil, `{"by":"another","op":"push","resource":"customers","key":%d}`, customer)}
	if err := local.PutMappings(t.Context(), intent); err != nil {
		t.Fatal(err)
	}
	lines := adaptertest.MustList(t, adaptertest.StoreOf(t, local, adapter.OrderItems), adapter.ListParams{Query: where("order_id", "2")})
	sold := lines.Records[0].Get("product_id").Int()
	creates := 0
	m.before = func(_ context.Context, call string) error {
		if call == "Create products" {
			if creates++; int64(creates) == sold {
				return memoryError(adapter.Invalid, "")
			}
		}
		return nil
	}
	f := reopen(t, local, m, replica.Options{})
	err := f.Push(t.Context(), 1, nil)
	for _, want := range []string{
		fmt.Sprintf("push orders 1: create orders: not_found: customers %d, to which it refers, is not at the backend yet", customer),
		fmt.Sprintf("push orders 2: create order_items: not_found: products %d, to which it refers, is not at the backend yet", sold),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
	created := func(key int) bool { return slices.Contains(m.created, fmt.Sprint("orders ", key)) }
	if created(1) || created(2) {
		t.Errorf("created %q", m.created)
	}
	m.before = nil
	if err := local.DeleteMapping(t.Context(), adapter.Customers, customer); err != nil {
		t.Fatal(err)
	}
	if err := f.Push(t.Context(), 1, nil); err != nil || !created(1) || !created(2) {
		t.Errorf("error %v, created %q", err, m.created)
	}
}

// TestPushFindsByValues loses the answer to the create of a customer whose document does not carry the legacy id. The
// next push finds it by its e-mail address, unless the ID map has the document for another customer.
func TestPushFindsByValues(t *testing.T) {
	for _, c := range []struct {
		name    string
		owner   adapter.Key // the customer that the ID map has for the document
		creates int
	}{{"its own", 0, 0}, {"of another customer", 99, 1}} {
		t.Run(c.name, func(t *testing.T) {
			m := newMemory()
			m.withoutKeys, m.findsBy = true, "email"
			f := reopen(t, demoReplica(t), m, replica.Options{})
			away := memoryError(adapter.Unavailable, "")
			m.fail("Create customers", nil, away)
			if err := f.Push(t.Context(), 1, nil); !errors.Is(err, away) {
				t.Fatal(err)
			}
			id := slices.Collect(maps.Keys(m.docs[adapter.Customers]))[0]
			if c.owner != 0 {
				if err := f.local.PutMappings(t.Context(), idmap.Mapping{Resource: adapter.Customers, Key: c.owner, BackendID: id}); err != nil {
					t.Fatal(err)
				}
			}
			m.fail("Create customers", memoryError(adapter.Conflict, "email"), nil)
			before := m.callCount("Create customers")
			err := f.Push(t.Context(), 1, nil)
			if isRefused := strings.Contains(fmt.Sprint(err), "push customers 1: "); isRefused != (c.creates > 0) {
				t.Errorf("error %v", err)
			}
			if mapping, exists := f.mapping(adapter.Customers, 1); exists != (c.creates == 0) || exists && mapping.BackendID != id {
				t.Errorf("its mapping is %+v", mapping)
			}
			// The other three customers are refused in either case.
			if n := m.callCount("Create customers") - before; n != c.creates+3 {
				t.Errorf("%d customers are created, want %d", n, c.creates+3)
			}
		})
	}
}

// TestInterruptedRootPush ends the process when the backend has a new product, and lacks values that further requests of
// the create would have sent. The next push sends them, but not the stock, which has changed since.
func TestInterruptedRootPush(t *testing.T) {
	local, m := demoReplica(t), newMemory()
	products := adaptertest.StoreOf(t, local, adapter.Products)
	for storeID, values := range map[int64]attrs{0: {"price": "12.3456"}, 2: {"name": "Bouilloire"}} {
		if err := adaptertest.Update(t, products, 1, storeID, values); err != nil {
			t.Fatal(err)
		}
	}
	f := reopen(t, local, m, replica.Options{})
	away := memoryError(adapter.Unavailable, "")
	m.fail("Create products", nil, away)
	if err := f.Push(t.Context(), 1, nil); !errors.Is(err, away) {
		t.Fatal(err)
	}
	m.clearFaults()
	id := slices.Collect(maps.Keys(m.docs[adapter.Products]))[0]
	m.edit(adapter.Products, id, func(d *memoryDoc) {
		d.views, d.record = nil, d.record.Clone()
		d.record.Set("description", adapter.NullValue())
		d.record.Set("price", adapter.NullValue())
		stock := &d.parts[adapter.StockItems][0]
		stock.record = stock.record.Clone()
		stock.record.Set("qty", adapter.TextValue("3.0000"))
	})
	if err := f.Push(t.Context(), 1, nil); err != nil {
		t.Fatal(err)
	}
	d := m.docs[adapter.Products][id]
	if got, want := d.record.Get("description").Text(), f.get(adapter.Products, 1).Get("description").Text(); got != want || d.views[2].Schema == nil || d.views[2].Get("name").Text() != "Bouilloire" {
		t.Errorf("the backend has the description %q, want %q, and the views %v", got, want, d.views)
	}
	f.checkValues(adapter.Products, 1, attrs{"price": "12.3456"}) // although the backend has it less exactly
	if got := d.parts[adapter.StockItems][0].record.Get("qty").Text(); got != "3.0000" {
		t.Errorf("the quantity is %s", got)
	}
	f.checkNoIntents()
}

// TestInterruptedPartPush loses the backend after it has created a part. The local replica keeps the values
// that it had, although the backend has stored them less exactly. Without a legacy id the next push knows the part by
// its values.
func TestInterruptedPartPush(t *testing.T) {
	for name, carriesKeys := range map[string]bool{"legacy id": true, "values": false} {
		t.Run(name, func(t *testing.T) { testInterruptedPartPush(t, carriesKeys) })
	}
}

func testInterruptedPartPush(t *testing.T, carriesKeys bool) {
	t.Helper()
	f := newFixture(t)
	id := f.id(adapter.Customers, 1)
	city, addresses := f.get(adapter.CustomerAddresses, 1).Get("city").Text(), len(f.keys(adapter.CustomerAddresses, adapter.Query{}))
	if err := f.local.DeleteMapping(t.Context(), adapter.CustomerAddresses, 1); err != nil {
		t.Fatal(err)
	}
	f.memory.edit(adapter.Customers, id, func(d *memoryDoc) {
		d.parts[adapter.CustomerAddresses] = slices.DeleteFunc(slices.Clone(d.parts[adapter.CustomerAddresses]), func(i memoryItem) bool { return i.key == 1 })
	})
	away := memoryError(adapter.Unavailable, "")
	created := false
	f.memory.after = func(_ context.Context, call string) error {
		created = created || call == "Create customer_addresses"
		if created && !carriesKeys {
			return away // in place of the id
		}
		return nil
	}
	f.memory.before = func(_ context.Context, call string) error {
		if created {
			return away
		}
		return nil
	}
	if err := f.Push(t.Context(), 1, nil); !errors.Is(err, away) || !created {
		t.Fatalf("created %v, error %v, want %v", created, err, away)
	}
	f = f.restart()
	f.memory.withoutKeys = !carriesKeys
	f.memory.edit(adapter.Customers, id, func(d *memoryDoc) {
		for i := range d.parts[adapter.CustomerAddresses] {
			if address := &d.parts[adapter.CustomerAddresses][i]; address.key == 1 && carriesKeys { // or its values would not tell it
				address.record = address.record.Clone()
				address.record.Set("city", adapter.TextValue("shortened"))
			}
		}
	})
	if err := f.Push(t.Context(), 1, nil); err != nil {
		t.Fatal(err)
	}
	if got := f.get(adapter.CustomerAddresses, 1).Get("city").Text(); got != city {
		t.Errorf("the city is %q, want %q", got, city)
	}
	f.memory.mu.Lock()
	n := 0
	for _, address := range f.memory.docs[adapter.Customers][id].parts[adapter.CustomerAddresses] {
		if address.key == 1 {
			n++
		}
	}
	f.memory.mu.Unlock()
	if n != 1 || len(f.keys(adapter.CustomerAddresses, adapter.Query{})) != addresses {
		t.Errorf("the backend has the address %d times, and there are %d addresses, not %d", n, len(f.keys(adapter.CustomerAddresses, adapter.Query{})), addresses)
	}
	f.checkNoIntents()
}
