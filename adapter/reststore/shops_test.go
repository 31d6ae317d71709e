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
	"sync"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/adapter/idmap"
	"github.com/portico-commerce/portico/adapter/replica"
	"github.com/portico-commerce/portico/adapter/reststore"
	"github.com/portico-commerce/portico/adapter/sqlstore"
)

// A shop is a backend of the tests.
type shop interface {
	server() *shopServer
	routes() http.Handler       // of all its endpoints
	save() ([]byte, error)      // returns its data, for restore
	restore(testing.TB, []byte) // replaces its data
}

// A shopKind is a kind of shop.
type shopKind struct {
	name  string // of the mapping file in testdata, too
	start func() shop
	// ids are the forms of its ids of read-only resources.
	ids map[adapter.Resource]string
	// fill creates records that Portico cannot write there, or is nil.
	fill func(context.Context, replica.Replica, shop) error
	// isWrite reports whether a request changes it.
	isWrite func(*http.Request) bool
	// noProducts is the response to a request for products if there are none.
	noProducts string
	// failures and writeFailures are failures that only this kind can have.
	failures      []failure
	writeFailures []writeFailure
	migrated      func() (migratedDemo, error)
}

// newKind returns a kind whose shops get the demo store, which is migrated once for all
// tests.
func newKind(k shopKind) *shopKind {
	k.migrated = sync.OnceValues(k.migrateDemo)
	return &k
}

var allKinds = []*shopKind{fakeShopKind, kioskKind}

// A shopServer serves a shop. Only the token of the latest login is valid.
type shopServer struct {
	*httptest.Server
	// intercept, unless nil, is called for every request first. It returns true if it has
	// sent a response.
	intercept   atomic.Pointer[func(http.ResponseWriter, *http.Request) bool]
	logins      atomic.Int64
	connections atomic.Int64 // open connections

	mu    sync.Mutex
	token string
}

const shopUser, shopSecret = "portico", "open sesame"

// startServer starts a server of these routes.
func startServer(routes http.Handler) *shopServer {
	s := &shopServer{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if before := s.intercept.Load(); before != nil && (*before)(w, r) {
			return
		}
		routes.ServeHTTP(w, r)
	}))
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

func (s *shopServer) server() *shopServer { return s }

// setIntercept replaces intercept.
func (s *shopServer) setIntercept(f func(http.ResponseWriter, *http.Request) bool) {
	if f == nil {
		s.intercept.Store(nil)
		return
	}
	s.intercept.Store(&f)
}

// expire invalidates the current token.
func (s *shopServer) expire() {
	s.mu.Lock()
	s.token = ""
	s.mu.Unlock()
}

// migratedDemo is the demo store with part of it migrated to a shop: the database of the
// local replica and the data of the shop.
type migratedDemo struct{ replica, shop []byte }

// migrateDemo creates the demo store and migrates it to a shop.
func (k *shopKind) migrateDemo() (done migratedDemo, err error) {
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
	s := k.start()
	defer s.server().Close()
	local := db.Replica()
	if err := k.mapFixtures(ctx, local); err != nil {
		return done, err
	}
	a, err := k.openAdapter(local, s.server().URL, nil)
	if err != nil {
		return done, err
	}
	if err := a.Push(ctx, 1, nil); err != nil {
		return done, err
	}
	if k.fill != nil {
		if err := k.fill(ctx, local, s); err != nil {
			return done, err
		}
	}
	if err := errors.Join(a.Scan(ctx), a.Close(), db.Close()); err != nil {
		return done, err
	}
	if done.shop, err = s.save(); err != nil {
		return done, err
	}
	done.replica, err = os.ReadFile(path)
	return done, err
}

// openDemo creates a database with the demo store and images.
func openDemo(ctx context.Context, path string) (*sqlstore.DB, error) {
	dsn := "sqlite:" + path
	if err := demotest.LoadWithImages(dsn); err != nil {
		return nil, err
	}
	return sqlstore.Open(ctx, sqlstore.Options{DSN: dsn, MediaDir: filepath.Dir(path)})
}

// mapFixtures adds the shop's ids of read-only resources to the ID map.
func (k *shopKind) mapFixtures(ctx context.Context, local replica.Replica) error {
	var entries []idmap.Mapping
	for r, form := range k.ids {
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

// options returns the options of a backend that uses the shop at this URL.
func (k *shopKind) options(url string, ids reststore.IDs, reg prometheus.Registerer) (reststore.Options, error) {
	content, err := os.ReadFile(filepath.Join("testdata", k.name+".yaml"))
	return reststore.Options{Mapping: content, File: k.name + ".yaml", URL: url, User: shopUser, Secret: shopSecret, IDs: ids, Registerer: reg}, err
}

// openAdapter opens an adapter with a local replica and the shop at this URL.
func (k *shopKind) openAdapter(local replica.Replica, url string, reg prometheus.Registerer) (*replica.Adapter, error) {
	o, err := k.options(url, idmap.NewCache(local), reg)
	if err != nil {
		return nil, err
	}
	backend, err := reststore.Open(o)
	if err != nil {
		return nil, err
	}
	return replica.New(replica.Options{Replica: local, Backend: backend})
}

// A migratedShop is an adapter whose local replica and shop hold the migrated demo store.
type migratedShop struct {
	*replica.Adapter
	kind    *shopKind
	replica replica.Replica
	shop    shop
	server  *shopServer // of the shop
	reg     *prometheus.Registry
}

// openShop opens a migratedShop that is closed when the test ends.
func openShop(t testing.TB, kind *shopKind) *migratedShop {
	t.Helper()
	start, err := kind.migrated()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	path := filepath.Join(folder, "replica.db")
	if err := os.WriteFile(path, start.replica, 0o600); err != nil {
		t.Fatal(err)
	}
	db := demotest.Open(t, sqlstore.Options{DSN: "sqlite:" + path, MediaDir: filepath.Join(folder, "media")})
	s := &migratedShop{kind: kind, replica: db.Replica(), shop: kind.start(), reg: prometheus.NewRegistry()}
	s.server = s.shop.server()
	t.Cleanup(s.server.Close)
	s.shop.restore(t, start.shop)
	if s.Adapter, err = kind.openAdapter(s.replica, s.server.URL, s.reg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Adapter.Close() })
	return s
}
