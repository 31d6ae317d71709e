package replica_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/idmap"
	"github.com/portico-commerce/portico/adapter/replica"
)

// A staticBackend is a backend that can only be read.
type staticBackend struct {
	replica.Backend
	documents map[adapter.Resource][]replica.Document
	fail      error
}

func (b *staticBackend) Name() string                         { return "static" }
func (b *staticBackend) Resources() []replica.BackendResource { return testResources() }
func (b *staticBackend) Close() error                         { return nil }

func (b *staticBackend) Fetch(_ context.Context, root adapter.Resource, ids []string) ([]replica.Document, error) {
	return slices.DeleteFunc(slices.Clone(b.documents[root]), func(d replica.Document) bool { return !slices.Contains(ids, d.ID) }), b.fail
}

func (b *staticBackend) Scan(_ context.Context, root adapter.Resource, _ time.Time, found func([]replica.Document) error) error {
	for batch := range slices.Chunk(b.documents[root], 2) {
		if err := found(batch); err != nil {
			return err
		}
	}
	return nil
}

// newDocument returns a document that contains only its ids and the ids of its parts.
func newDocument(id string, key adapter.Key, addresses ...string) replica.Document {
	return replica.Document{ID: id, Version: "t", Read: func(context.Context) (replica.Item, map[adapter.Resource][]replica.Item, error) {
		items := make([]replica.Item, len(addresses))
		for i, address := range addresses {
			items[i].ID = address
		}
		return replica.Item{ID: id, Key: key}, map[adapter.Resource][]replica.Item{adapter.CustomerAddresses: items}, nil
	}}
}

func newUnreadableDocument(id string) replica.Document {
	return replica.Document{ID: id, Read: func(context.Context) (replica.Item, map[adapter.Resource][]replica.Item, error) {
		return replica.Item{}, nil, &adapter.Error{Kind: adapter.Unavailable, Op: "read document"}
	}}
}

// newAgreeingPair maps every record of the demo store, and returns the replica with a
// backend that has all of them.
func newAgreeingPair(t *testing.T) (replica.Replica, *staticBackend) {
	t.Helper()
	local := demoReplica(t)
	backend := &staticBackend{documents: map[adapter.Resource][]replica.Document{}}
	listed := func(r adapter.Resource) []adapter.Record {
		store := adaptertest.StoreOf(t, local, r)
		return adaptertest.MustList(t, store, adapter.ListParams{}).Records
	}
	addresses := map[int64][]string{}
	for _, r := range listed(adapter.CustomerAddresses) {
		key, owner := r.Get("entity_id").Int(), r.Get("customer_id").Int()
		id := fmt.Sprint("addr_", key)
		addresses[owner] = append(addresses[owner], id)
		if err := local.PutMappings(t.Context(), idmap.Mapping{Resource: adapter.CustomerAddresses, Key: adapter.Key(key), BackendID: id, Root: adapter.Customers, RootKey: adapter.Key(owner)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, root := range []adapter.Resource{adapter.Products, adapter.Customers} {
		for _, r := range listed(root) {
			key := r.Get("entity_id").Int()
			id := fmt.Sprint(root, "_", key)
			if err := local.PutMappings(t.Context(), idmap.Mapping{Resource: root, Key: adapter.Key(key), BackendID: id, Base: []byte("{}")}); err != nil {
				t.Fatal(err)
			}
			document := newDocument(id, adapter.Key(key))
			if root == adapter.Customers {
				document = newDocument(id, 0, addresses[key]...)
			}
			backend.documents[root] = append(backend.documents[root], document)
		}
	}
	return local, backend
}

// newAdapter joins a replica with a backend. It has no scans, and is not closed.
func newAdapter(tb testing.TB, local replica.Replica, backend replica.Backend) *replica.Adapter {
	tb.Helper()
	a, err := replica.New(replica.Options{Replica: local, Backend: backend})
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

func findingsOf(t *testing.T, local replica.Replica, backend replica.Backend) []string {
	t.Helper()
	var found []string
	progress := map[string]int{}
	err := newAdapter(t, local, backend).Check(t.Context(), func(f replica.Finding) error {
		found = append(found, fmt.Sprintf("%s %s %d %s", f.Kind, f.Resource, f.Key, f.ID))
		return nil
	}, func(r adapter.Resource, step string, done int) { progress[string(r)+" "+step] = done })
	if err != nil {
		t.Fatal(err)
	}
	if len(progress) != 8 || progress["customers documents"] == 0 {
		t.Errorf("progress was reported for %v", progress)
	}
	return found
}

func TestCheck(t *testing.T) {
	local, backend := newAgreeingPair(t)
	ctx := t.Context()
	if found := findingsOf(t, local, backend); len(found) != 0 {
		t.Fatalf("findings while both agree: %q", found)
	}
	without := func(r adapter.Resource, id string) {
		backend.documents[r] = slices.DeleteFunc(backend.documents[r], func(d replica.Document) bool { return d.ID == id })
	}
	enter := func(mappings ...idmap.Mapping) {
		t.Helper()
		if err := local.PutMappings(ctx, mappings...); err != nil {
			t.Fatal(err)
		}
	}
	if err := local.DeleteMapping(ctx, adapter.Products, 1); err != nil {
		t.Fatal(err)
	}
	without(adapter.Products, "products_2")
	without(adapter.Products, "products_4")
	without(adapter.Products, "products_5")
	without(adapter.Customers, "customers_1")
	enter(
		idmap.Mapping{Resource: adapter.Products, Key: 3, BackendID: "products_3", Intent: []byte("{}")},
		idmap.Mapping{Resource: adapter.Products, Key: 4},
		idmap.Mapping{Resource: adapter.Products, Key: 99999, BackendID: "products_99999"},
		idmap.Mapping{Resource: adapter.CustomerAddresses, Key: 99999, BackendID: "addr_99999", Root: adapter.Customers, RootKey: 1},
	)
	backend.documents[adapter.Products] = append(backend.documents[adapter.Products],
		newDocument("new", 0), newDocument("old", 777), newDocument("copy", 6), newDocument("old 2", 777), newUnreadableDocument("broken"), newUnreadableDocument("products_5"))
	backend.documents[adapter.Customers] = append(backend.documents[adapter.Customers], newDocument("customers_1", 2, "addr_77"))

	want := []string{
		"not_mapped products 1 ",
		"gone_at_backend products 2 products_2",
		"unfinished products 3 products_3",
		"no_backend_id products 4 ",
		"unreadable products 5 products_5",
		"gone_at_side products 99999 products_99999",
		"no_legacy_id products 1 products_1",
		"no_legacy_id products 0 new",
		"no_legacy_id products 777 old",
		"duplicate products 6 copy",
		"duplicate products 777 old 2",
		"unreadable products 0 broken",
		"duplicate customers 1 customers_1",
		"no_legacy_id customer_addresses 0 addr_77",
		"gone_at_backend customer_addresses 1 addr_1",
		"gone_at_backend customer_addresses 99999 addr_99999",
		"gone_at_side customer_addresses 99999 addr_99999",
	}
	got := findingsOf(t, local, backend)
	// The customer's other addresses are missing from the new document, too.
	got = slices.DeleteFunc(got, func(f string) bool { return f == "gone_at_backend customer_addresses 2 addr_2" })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestCheckStopsOnError(t *testing.T) {
	local, backend := newAgreeingPair(t)
	errStop := errors.New("stop")
	backend.documents[adapter.Products] = nil
	a := newAdapter(t, local, backend)
	if err := a.Check(t.Context(), func(replica.Finding) error { return errStop }, nil); !errors.Is(err, errStop) {
		t.Error(err)
	}
	backend.fail = &adapter.Error{Kind: adapter.Unavailable, Op: "fetch"}
	if err := a.Check(t.Context(), func(replica.Finding) error { return nil }, nil); adapter.KindOf(err) != adapter.Unavailable {
		t.Error(err)
	}
}
