package replica_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/idmap"
	"github.com/portico-commerce/portico/adapter/replica"
)

// TestImportIDs checks the information that imports of ids get about the backend's
// resources and the local replica's records.
func TestImportIDs(t *testing.T) {
	local := demoReplica(t)
	a := newAdapter(t, local, &staticBackend{})
	_, err := a.ImportIDs(t.Context(), []idmap.Pair{
		{Line: 1, Resource: adapter.Orders, Key: 1, BackendID: "o"},
		{Line: 2, Resource: adapter.StockItems, Key: 1, BackendID: "s"},
		{Line: 3, Resource: adapter.Customers, Key: 1, BackendID: "c", RootKey: 1},
		{Line: 4, Resource: adapter.CustomerAddresses, Key: 1, BackendID: "a", RootKey: 2},
		{Line: 5, Resource: adapter.Products, Key: 99999, BackendID: "p"},
	}, false, nil)
	const want = `line 1: the backend has no resource "orders"
line 2: stock_items have no ids at the backend: leave them out
line 3: customers do not belong to another record: leave owner_id empty
line 4: customer_addresses 1 belongs to customers 1, not to 2
line 5: the database has no record products 99999`
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	good := []idmap.Pair{
		{Resource: adapter.CustomerAddresses, Key: 1, BackendID: "a", RootKey: 1},
		{Resource: adapter.Customers, Key: 1, BackendID: "c"},
	}
	if result, err := a.ImportIDs(t.Context(), good, false, nil); err != nil || result.Stored != 2 {
		t.Errorf("%+v, %v", result, err)
	}
	address := idmap.Mapping{Resource: adapter.CustomerAddresses, Key: 1, BackendID: "a", Root: adapter.Customers, RootKey: 1, Base: []byte("{}")}
	got, err := local.MappingsOfParts(t.Context(), adapter.Customers, 1)
	if diff := cmp.Diff([]idmap.Mapping{address}, got, cmpopts.IgnoreFields(idmap.Mapping{}, "ChangedAt")); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := a.ImportIDs(t.Context(), good, false, nil); adapter.KindOf(err) != adapter.Unavailable {
		t.Errorf("%v after Close, want unavailable", err)
	}
}

// TestRefusedValues imports orders, and a line of an order that is known, with amounts that no database can hold.
// They come without them, and a check names the amounts.
func TestRefusedValues(t *testing.T) {
	f := newFixture(t)
	tooGreat := adapter.TextValue("900000000000.0000")
	d := placeOrder(f, 4711)
	f.memory.edit(adapter.Orders, d.id, func(d *memoryDoc) { d.record.Set("grand_total", tooGreat) })
	f.scan()
	f.checkValues(adapter.Orders, 4711, attrs{"increment_id": "B-1", "customer_id": 1, "grand_total": nil})
	lines := f.keys(adapter.OrderItems, where("order_id", "4711"))
	if len(lines) != 1 {
		t.Fatalf("lines: %v", lines)
	}

	f.memory.edit(adapter.Orders, d.id, func(d *memoryDoc) {
		line := d.parts[adapter.OrderItems][0]
		line.id, line.record = "another", line.record.Clone()
		line.record.Set("price", tooGreat)
		line.record.Set("name", adapter.TextValue("Another"))
		d.parts[adapter.OrderItems] = append(d.parts[adapter.OrderItems], line)
	})
	f.scan()
	lines = f.keys(adapter.OrderItems, where("order_id", "4711"))
	if len(lines) != 2 {
		t.Fatalf("lines: %v", lines)
	}
	f.checkValues(adapter.OrderItems, lines[1], attrs{"sku": "x", "name": "Another", "price": nil})

	var found []string
	if err := f.Check(t.Context(), func(one replica.Finding) error {
		found = append(found, fmt.Sprintf("%s %d: %s", one.Kind, one.Key, one.Detail))
		return nil
	}, nil); err != nil {
		t.Fatal(err)
	}
	if want := []string{"left_out 4711: grand_total of orders is refused by the database", "left_out 4711: price of order_items is refused by the database"}; !slices.Equal(found, want) {
		t.Errorf("findings %q, want %q", found, want)
	}
	for _, name := range []string{"grand_total", "price"} {
		if !slices.ContainsFunc(f.log.all(), func(line string) bool {
			return strings.Contains(line, "cannot be taken over") && strings.Contains(line, "attribute="+name)
		}) {
			t.Errorf("%s is not named in the log: %q", name, f.log.all())
		}
	}
	f.memory.edit(adapter.Orders, d.id, func(d *memoryDoc) { d.record.Set("grand_total", adapter.TextValue("5.0000")) })
	f.checkValues(adapter.Orders, 4711, attrs{"grand_total": "5.0000"})
}
