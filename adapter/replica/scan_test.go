package replica_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/replica"
)

// placed is an order that was placed at the backend.
func placed(s *shop, key adapter.Key) *memoryDoc {
	orders, lines, addresses := schemas().Of(adapter.Orders), schemas().Of(adapter.OrderItems), schemas().Of(adapter.OrderAddresses)
	d := s.memory.order(given{
		"increment_id": "B-1", "customer_id": 1, "store_id": 1, "state": "new", "status": "pending", "grand_total": "12.0000", "created_at": "2026-01-02 03:04:05",
	}.record(orders))
	line := s.memory.part(given{"sku": "x", "name": "X", "qty_ordered": "1.0000", "price": "12.0000"}.record(lines), 0)
	line.rest = given{"product_id": 1, "created_at": "2026-01-02 03:04:05", "updated_at": "2026-01-02 03:04:05"}.record(lines)
	s.memory.edit(adapter.Orders, d.id, func(d *memoryDoc) {
		d.key = key
		d.rest = given{"updated_at": "2026-01-02 03:04:05", "order_currency_code": "USD"}.record(orders)
		d.parts[adapter.OrderItems] = []memoryItem{line}
	})
	address := s.memory.part(given{"address_type": "billing", "lastname": "L", "city": "C"}.record(addresses), 0)
	s.memory.edit(adapter.Orders, d.id, func(d *memoryDoc) { d.parts[adapter.OrderAddresses] = []memoryItem{address} })
	return d
}

func (s *shop) scan() {
	s.t.Helper()
	if err := s.Scan(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
}

// counter adds up a metric.
func (s *shop) counter(name string) (sum float64) {
	s.t.Helper()
	families, err := s.metrics.Gather()
	if err != nil {
		s.t.Fatal(err)
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

// TestScan takes over what the backend has and the side has not, as the policy says.
func TestScan(t *testing.T) {
	for _, c := range []struct {
		name   string
		policy replica.UnmappedPolicy
		key    adapter.Key // that the document carries
		want   adapter.Key // 0 for one that is left out, -1 for the next
	}{
		{"with a legacy id", replica.RefuseUnmapped, 4711, 4711},
		{"with a legacy id, allocating", replica.AllocateIDs, 4711, 4711},
		{"without one, refused", replica.RefuseUnmapped, 0, 0},
		{"without one, allocated", replica.AllocateIDs, 0, -1},
		{"with that of another", replica.AllocateIDs, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := openShop(t)
			s = reopen(t, s.side, s.memory, replica.Options{Unmapped: c.policy})
			before := s.keys(adapter.Orders, adapter.Query{})
			d := placed(s, c.key)
			s.scan()
			s.scan()
			after := s.keys(adapter.Orders, adapter.Query{})
			fresh := slices.DeleteFunc(slices.Clone(after), func(k adapter.Key) bool { return slices.Contains(before, k) })
			if c.want == 0 {
				if len(fresh) != 0 {
					t.Errorf("taken over: %v", fresh)
				}
				if lines := s.log.all(); len(lines) != 1 || !strings.Contains(lines[0], d.id) {
					t.Errorf("logged: %q", lines)
				}
				if s.counter("portico_side_unmapped_total") == 0 {
					t.Error("not counted")
				}
				return
			}
			if len(fresh) != 1 || c.want > 0 && fresh[0] != c.want || c.want < 0 && fresh[0] <= slices.Max(before) {
				t.Fatalf("taken over: %v, want %d", fresh, c.want)
			}
			s.want(adapter.Orders, fresh[0], given{"increment_id": "B-1", "customer_id": 1, "grand_total": "12.0000", "order_currency_code": "USD", "created_at": "2026-01-02 03:04:05"})
			lines := s.keys(adapter.OrderItems, where("order_id", keyText(fresh[0])))
			if len(lines) != 1 {
				t.Fatalf("lines: %v", lines)
			}
			s.want(adapter.OrderItems, lines[0], given{"sku": "x", "product_id": 1, "price": "12.0000"})
			if addresses := s.keys(adapter.OrderAddresses, where("parent_id", keyText(fresh[0]))); len(addresses) != 1 {
				t.Errorf("addresses: %v", addresses)
			}
			if got := s.counter("portico_side_adopted_total"); got != 1 {
				t.Errorf("%v taken over, as counted", got)
			}
			s.agree()
		})
	}
}

// TestScanBringsUpToDate: what was changed at the backend is found by its new values
// although nobody has read it.
func TestScanBringsUpToDate(t *testing.T) {
	s := openShop(t)
	s.memory.edit(adapter.Products, s.id(adapter.Products, 1), func(d *memoryDoc) { d.record.Set("name", adapter.TextValue("Moved")) })
	s.scan()
	if found := s.keys(adapter.Products, where("name", "Moved")); len(found) != 1 {
		t.Errorf("found %v", found)
	}
	// The next scan asks for what has changed since.
	fetched := s.memory.counted("Fetch products")
	s.scan()
	if got := s.memory.counted("Fetch products") - fetched; got != 0 {
		t.Errorf("%d documents fetched of what is known", got)
	}
}

// TestScanClaims: a document that carries the legacy id of a record without an entry
// is that record, and its values are taken over.
func TestScanClaims(t *testing.T) {
	s := openShop(t)
	id := s.id(adapter.Customers, 1)
	if err := s.side.DeleteMapping(t.Context(), adapter.Customers, 1); err != nil {
		t.Fatal(err)
	}
	s.missing(adapter.Customers, 1)
	s.memory.edit(adapter.Customers, id, func(d *memoryDoc) { d.record.Set("firstname", adapter.TextValue("Theirs")) })
	s.scan()
	s.want(adapter.Customers, 1, given{"firstname": "Theirs"})
	if got := s.id(adapter.Customers, 1); got != id {
		t.Errorf("its id is %s, want %s", got, id)
	}
	s.agree() // its addresses have their entries again, too
}

// TestImported: an imported pair whose record the side has not got is taken over under
// its legacy id, with the parts whose pairs were imported.
func TestImported(t *testing.T) {
	s := openShop(t)
	d := placed(s, 0)
	if err := s.side.PutMappings(t.Context(),
		replica.Mapping{Resource: adapter.Orders, Key: 900, BackendID: d.id, Base: []byte("{}")},
		replica.Mapping{Resource: adapter.OrderItems, Key: 901, BackendID: s.memory.docs[adapter.Orders][d.id].parts[adapter.OrderItems][0].id, Root: adapter.Orders, RootKey: 900},
	); err != nil {
		t.Fatal(err)
	}
	s.scan()
	s.want(adapter.Orders, 900, given{"increment_id": "B-1"})
	s.want(adapter.OrderItems, 901, given{"sku": "x", "order_id": 900})
	s.agree()
}

// TestAdoptedRefused: a record that the side refuses is left out and said, and the
// others are taken over.
func TestAdoptedRefused(t *testing.T) {
	s := openShop(t)
	s = reopen(t, s.side, s.memory, replica.Options{Unmapped: replica.AllocateIDs})
	products := schemas().Of(adapter.Products)
	add := func(sku string) string {
		s.memory.mu.Lock()
		defer s.memory.mu.Unlock()
		d := &memoryDoc{memoryItem: memoryItem{id: s.memory.id("prod"), record: adapter.NewRecord(products)}, parts: map[adapter.Resource][]memoryItem{}, changed: time.Now()}
		d.record = given{"sku": sku, "name": "N", "price": "1.0000", "status": 1}.record(products)
		d.rest = given{"attribute_set_id": 4, "type_id": "simple", "visibility": 4, "tax_class_id": 2}.record(products)
		s.memory.docs[adapter.Products][d.id] = d
		return d.id
	}
	taken := s.get(adapter.Products, 1).Get("sku").Text()
	double, fine := add(strings.ToUpper(taken)), add("fine")
	s.scan()
	if found := s.keys(adapter.Products, where("sku", "fine")); len(found) != 1 || s.id(adapter.Products, found[0]) != fine {
		t.Errorf("found %v", found)
	}
	if lines := s.log.all(); len(lines) != 1 || !strings.Contains(lines[0], double) || !strings.Contains(lines[0], "sku") {
		t.Errorf("logged: %q", lines)
	}
	if found := s.keys(adapter.Products, where("sku", taken)); !slices.Equal(found, []adapter.Key{1}) {
		t.Errorf("found %v by the SKU of two", found)
	}
}

// TestScanWhileCreating: what is just being created is not taken for a record that
// somebody else has made, not even where documents carry no legacy ids.
func TestScanWhileCreating(t *testing.T) {
	s := openShop(t)
	s.memory.keyless = true
	s = reopen(t, s.side, s.memory, replica.Options{Unmapped: replica.AllocateIDs})
	made, go_ := make(chan struct{}), make(chan struct{})
	s.memory.mu.Lock()
	s.memory.after = func(_ context.Context, call string) error {
		if call == "Create products" {
			close(made)
			<-go_
		}
		return nil
	}
	s.memory.mu.Unlock()
	created := make(chan error)
	go func() { _, err := s.create(adapter.Products, newProduct("mine")); created <- err }()
	<-made
	s.scan() // while the document is there, and its entry is not
	close(go_)
	if err := <-created; err != nil {
		t.Fatal(err)
	}
	s.scan()
	if found := s.keys(adapter.Products, where("sku", "mine")); len(found) != 1 {
		t.Errorf("found %v", found)
	}
	s.agree()
}

// TestKeylessUnknown: where documents carry no legacy ids, nobody can tell whether a
// record was made. It is not to be seen, and said, until its pair is imported.
func TestKeylessUnknown(t *testing.T) {
	s := openShop(t)
	s.memory.keyless = true
	s = s.again()
	s.memory.fail("Create products", nil, memoryError(adapter.Unavailable, ""))
	if _, err := s.create(adapter.Products, newProduct("mine")); adapter.KindOf(err) != adapter.Unavailable {
		t.Fatal(err)
	}
	s.memory.heal()
	s.scan()
	s.scan()
	if found := s.keys(adapter.Products, where("sku", "mine")); len(found) != 0 {
		t.Errorf("found %v", found)
	}
	if lines := s.log.all(); len(lines) != 1 || !strings.Contains(lines[0], "import its id") {
		t.Errorf("logged: %q", lines)
	}
	if got := s.counter("portico_side_noted"); got != 1 {
		t.Errorf("%v writes are open, as counted", got)
	}
	var id string
	for one, d := range s.memory.docs[adapter.Products] {
		if d.record.Get("sku").Text() == "mine" {
			id = one
		}
	}
	withIntent, err := s.side.MappingsWithIntent(t.Context(), farFuture, 10)
	if err != nil || len(withIntent) != 1 {
		t.Fatal(withIntent, err)
	}
	withIntent[0].BackendID, withIntent[0].Intent = id, nil
	if err := s.side.PutMappings(t.Context(), withIntent[0]); err != nil {
		t.Fatal(err)
	}
	s.want(adapter.Products, withIntent[0].Key, given{"sku": "mine"})
	s.agree()
}

// TestLoop: the loop scans at once and then ever again, and Close ends it.
func TestLoop(t *testing.T) {
	s := openShop(t)
	scanned := make(chan struct{}, 100)
	s.memory.mu.Lock()
	s.memory.after = func(_ context.Context, call string) error {
		if call == "Scan orders" {
			scanned <- struct{}{}
		}
		return nil
	}
	s.memory.mu.Unlock()
	s = reopen(t, s.side, s.memory, replica.Options{ScanInterval: time.Millisecond})
	for range 3 {
		<-scanned
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before := s.memory.counted("Scan orders")
	if !s.memory.closed {
		t.Error("the backend is open")
	}
	for name, err := range map[string]error{
		"ping": s.Ping(t.Context()), "scan": s.Scan(t.Context()), "push": s.Push(t.Context(), nil),
		"update": s.update(adapter.Products, 1, 0, given{"name": "x"}), "delete": s.delete(adapter.Products, 1),
	} {
		if adapter.KindOf(err) != adapter.Unavailable || err == nil {
			t.Errorf("%s: %v, want unavailable", name, err)
		}
	}
	if s.memory.counted("Scan orders") != before {
		t.Error("it was scanned after Close")
	}
	if err := s.side.Ping(t.Context()); err != nil {
		t.Errorf("the side: %v", err)
	}
}
