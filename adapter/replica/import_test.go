package replica_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/idmap"
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
