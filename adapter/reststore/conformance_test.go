package reststore_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/demo/demotest"
	"github.com/portico-commerce/portico/adapter/idmap"
	"github.com/portico-commerce/portico/adapter/replica"
	"github.com/portico-commerce/portico/adapter/reststore"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/contracttests/nightly"
)

// TestConformance runs the conformance suite against the demo store, with part of it in a
// backend that differs from Medusa.
func TestConformance(t *testing.T) {
	sample := nightly.NewSample(t)
	adaptertest.Run(t, adaptertest.Harness{
		// Imports are tested in package replica, with a backend that owns all resources.
		Open:       func(t *testing.T) adapter.Adapter { return struct{ adapter.Adapter }{openMigratedShop(t).Adapter} },
		Sampled:    func() bool { return sample.Takes(100) }, // lists are the job of sqlstore, which runs the whole suite
		Attributes: func(adapter.Attribute) bool { return nightly.Whole() },
	})
}

// migratedDemo is the demo store with part of it moved to a fake shop: the database of the
// local replica and the state of the shop.
type migratedDemo struct{ replica, shop []byte }

// migrateDemo creates the demo store and moves it to a fake shop, once for all tests. The
// orders are already in the shop, with their legacy ids.
var migrateDemo = sync.OnceValues(func() (done migratedDemo, err error) {
	folder, err := os.MkdirTemp("", "portico-reststore-")
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	path := filepath.Join(folder, "replica.db")
	ctx := context.Background() // shared by all tests
	db, err := openDemo(ctx, path)
	if err != nil {
		return done, err
	}
	s := startFakeShop()
	defer s.Close()
	local := db.Replica()
	if err := mapFixtures(ctx, local); err != nil {
		return done, err
	}
	a, err := openAdapter(local, s, nil)
	if err != nil {
		return done, err
	}
	if err := a.Push(ctx, nil); err != nil {
		return done, err
	}
	if err := createOrders(ctx, local, s); err != nil {
		return done, err
	}
	if err := errors.Join(a.Scan(ctx), a.Close(), db.Close()); err != nil {
		return done, err
	}
	if done.shop, err = s.save(); err != nil {
		return done, err
	}
	done.replica, err = os.ReadFile(path)
	return done, err
})

// openDemo creates a database with the demo store and images.
func openDemo(ctx context.Context, path string) (*sqlstore.DB, error) {
	dsn := "sqlite:" + path
	if err := demotest.LoadWithImages(dsn); err != nil {
		return nil, err
	}
	return sqlstore.Open(ctx, sqlstore.Options{DSN: dsn, MediaDir: filepath.Dir(path)})
}

// mapFixtures adds the fake shop's ids of read-only resources to the ID map.
func mapFixtures(ctx context.Context, local replica.Replica) error {
	var entries []idmap.Mapping
	for r, form := range map[adapter.Resource]string{
		adapter.Websites:       "c0ffee00-0000-4000-8000-%012d",
		adapter.CustomerGroups: "1abe1000-0000-4000-8000-%012d",
		adapter.Categories:     "77%03d",
	} {
		store, err := local.Store(r)
		if err != nil {
			return err
		}
		found, err := store.List(ctx, &adapter.ListParams{})
		if err != nil {
			return err
		}
		for _, record := range found.Records {
			if key := record.Get(record.Schema.Key).Int(); key > 0 {
				entries = append(entries, idmap.Mapping{Resource: r, Key: adapter.Key(key), BackendID: fmt.Sprintf(form, key)})
			}
		}
	}
	return local.PutMappings(ctx, entries...)
}

// createOrders creates the replica's orders as tickets in the fake shop.
func createOrders(ctx context.Context, local replica.Replica, s *fakeShop) error {
	list := func(r adapter.Resource) ([]adapter.Record, error) {
		store, err := local.Store(r)
		if err != nil {
			return nil, err
		}
		found, err := store.List(ctx, &adapter.ListParams{})
		if err != nil {
			return nil, err
		}
		return found.Records, nil
	}
	orders, err := list(adapter.Orders)
	if err != nil {
		return err
	}
	lines, err := list(adapter.OrderItems)
	if err != nil {
		return err
	}
	addresses, err := list(adapter.OrderAddresses)
	if err != nil {
		return err
	}
	ids := idmap.NewCache(local)
	for _, o := range orders {
		key := o.Get("entity_id").Int()
		inner := jsonObject{"code": o.Get("increment_id").Text(), "phase": o.Get("state").Text() + "/" + o.Get("status").Text(),
			"sum": hundredthsOfCents(o.Get("grand_total")), "at": strings.Replace(o.Get("created_at").Text(), " ", "T", 1) + "Z"}
		if buyer := adapter.Key(o.Get("customer_id").Int()); buyer != 0 {
			found, err := ids.BackendIDs(ctx, adapter.Customers, []adapter.Key{buyer})
			if err != nil {
				return err
			}
			inner["buyer"] = found[buyer]
		}
		ticket := jsonObject{"legacy": fmt.Sprint(key), "ticket": inner, "lines": []any{}, "to": jsonObject{}}
		for _, l := range lines {
			if l.Get("order_id").Int() == key {
				ticket["lines"] = append(ticket["lines"].([]any), jsonObject{"id": fmt.Sprintf("line-%d", l.Get("item_id").Int()), "legacy": l.Get("item_id").Int(),
					"code": l.Get("sku").Text(), "title": l.Get("name").Text(), "count": l.Get("qty_ordered").Text(), "each": hundredthsOfCents(l.Get("price"))})
			}
		}
		for _, a := range addresses {
			if a.Get("parent_id").Int() == key {
				ticket["to"].(jsonObject)[a.Get("address_type").Text()] = jsonObject{"uuid": fmt.Sprintf("to-%d", a.Get("entity_id").Int()), "legacy": a.Get("entity_id").Int(),
					"name": a.Get("lastname").Text(), "town": a.Get("city").Text()}
			}
		}
		s.placeTicket(ticket)
	}
	return nil
}

// hundredthsOfCents returns a decimal in hundredths of a cent.
func hundredthsOfCents(v adapter.Value) any {
	if v.Empty() {
		return nil
	}
	return toInt(strings.Replace(v.Text(), ".", "", 1))
}

// startFakeShop starts an empty fake shop. The caller must close it.
func startFakeShop() *fakeShop {
	s := &fakeShop{articles: map[string]jsonObject{}, people: map[string]jsonObject{}, tickets: map[string]jsonObject{}, changes: map[string]time.Time{}}
	s.Server = httptest.NewUnstartedServer(s.handler())
	s.Config.ConnState = func(_ net.Conn, is http.ConnState) {
		switch is {
		case http.StateNew:
			s.connections.Add(1)
		case http.StateClosed, http.StateHijacked:
			s.connections.Add(-1)
		}
	}
	s.Start()
	return s
}

// newFakeShop starts an empty fake shop that is closed when the test ends.
func newFakeShop(t testing.TB) *fakeShop {
	s := startFakeShop()
	t.Cleanup(s.Close)
	return s
}

// fakeShopOptions returns the options of a backend that uses the fake shop.
func fakeShopOptions(s *fakeShop, ids reststore.IDs, reg prometheus.Registerer) (reststore.Options, error) {
	content, err := os.ReadFile(filepath.Join("testdata", "fakeshop.yaml"))
	return reststore.Options{Mapping: content, File: "fakeshop.yaml", URL: s.URL, User: fakeShopUser, Secret: fakeShopSecret, IDs: ids, Registerer: reg}, err
}

// openAdapter opens an adapter with a local replica and a fake shop.
func openAdapter(local replica.Replica, s *fakeShop, reg prometheus.Registerer) (*replica.Adapter, error) {
	o, err := fakeShopOptions(s, idmap.NewCache(local), reg)
	if err != nil {
		return nil, err
	}
	backend, err := reststore.Open(o)
	if err != nil {
		return nil, err
	}
	return replica.New(replica.Options{Replica: local, Backend: backend})
}

// A migratedShop is an adapter whose local replica and fake shop hold the migrated demo
// store.
type migratedShop struct {
	*replica.Adapter
	replica replica.Replica
	shop    *fakeShop
	reg     *prometheus.Registry
}

// openMigratedShop opens a migratedShop that is closed when the test ends.
func openMigratedShop(t testing.TB) *migratedShop {
	t.Helper()
	start, err := migrateDemo()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	path := filepath.Join(folder, "replica.db")
	if err := os.WriteFile(path, start.replica, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := sqlstore.Open(t.Context(), sqlstore.Options{DSN: "sqlite:" + path, MediaDir: filepath.Join(folder, "media")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	s := &migratedShop{replica: db.Replica(), shop: newFakeShop(t), reg: prometheus.NewRegistry()}
	s.shop.restore(t, start.shop)
	if s.Adapter, err = openAdapter(s.replica, s.shop, s.reg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Adapter.Close() })
	return s
}
