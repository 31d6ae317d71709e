package sqlstore_test

import (
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/idmap"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

func TestDeleteReadOnly(t *testing.T) {
	sqltest.EachEngine(t, testRemove)
}

func testRemove(t *testing.T, e sqltest.Engine) {
	ctx, local := t.Context(), openDemo(t, e).Replica()
	line := all(t, local, adapter.OrderItems)[0]
	order, item := adapter.Key(line.Get("order_id").Int()), adapter.Key(line.Get("item_id").Int())
	var lines []adapter.Record
	for _, r := range all(t, local, adapter.OrderItems) {
		if adapter.Key(r.Get("order_id").Int()) == order {
			lines = append(lines, r)
		}
	}
	mappings := []idmap.Mapping{{Resource: adapter.Orders, Key: order, BackendID: "o"}, {Resource: adapter.StockItems, Key: 1, BackendID: "s", Root: adapter.Products, RootKey: 1}}
	for _, r := range lines {
		key := adapter.Key(r.Get("item_id").Int())
		mappings = append(mappings, idmap.Mapping{Resource: adapter.OrderItems, Key: key, BackendID: r.Get("item_id").Text(), Root: adapter.Orders, RootKey: order})
	}
	if err := local.PutMappings(ctx, mappings...); err != nil {
		t.Fatal(err)
	}
	gone := func(r adapter.Resource, key adapter.Key) {
		t.Helper()
		_, err := adaptertest.StoreOf(t, local, r).Get(ctx, &adapter.GetParams{Key: key})
		wantKind(t, "the record", err, adapter.NotFound)
		if found, err := local.MappingsByKey(ctx, r, []adapter.Key{key}); len(found) != 0 || err != nil {
			t.Errorf("the mapping of %s %d: %v, %v", r, key, found, err)
		}
		wantKind(t, "a second time", local.DeleteReadOnly(ctx, r, key), adapter.NotFound)
	}
	if err := local.DeleteReadOnly(ctx, adapter.OrderItems, item); err != nil {
		t.Fatal(err)
	}
	gone(adapter.OrderItems, item)
	if found, err := local.MappingsOfParts(ctx, adapter.Orders, order); len(found) != len(lines)-1 || err != nil {
		t.Errorf("the other lines' mappings: %v, %v", found, err)
	}
	if err := local.DeleteReadOnly(ctx, adapter.Orders, order); err != nil {
		t.Fatal(err)
	}
	gone(adapter.Orders, order)
	for _, r := range lines {
		gone(adapter.OrderItems, adapter.Key(r.Get("item_id").Int()))
	}
	if err := local.DeleteReadOnly(ctx, adapter.StockItems, 1); err != nil {
		t.Fatal(err)
	}
	gone(adapter.StockItems, 1)
	for _, r := range []adapter.Resource{adapter.Products, adapter.Customers, adapter.ProductWebsites, adapter.ProductImages, adapter.Admins} {
		wantKind(t, string(r), local.DeleteReadOnly(ctx, r, 1), adapter.Unsupported)
	}
}
