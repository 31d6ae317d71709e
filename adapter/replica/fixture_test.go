package replica_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/adapter/idmap"
	"github.com/portico-commerce/portico/adapter/replica"
	"github.com/portico-commerce/portico/adapter/sqlstore"
)

// A snapshot is the demo store after it was pushed to a memory backend.
type snapshot struct {
	database []byte // the bytes of a SQLite file
	memory   memoryState
}

// demoSnapshot pushes the demo store, with images, to a memory backend. It does so once for
// all tests. The backend has the orders already, with their legacy ids.
var demoSnapshot = sync.OnceValues(func() (done snapshot, err error) {
	folder, err := os.MkdirTemp("", "portico-replica-")
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	path := filepath.Join(folder, "replica.db")
	ctx := context.Background() // shared by all tests
	if err := demotest.LoadWithImages("sqlite:" + path); err != nil {
		return done, err
	}
	db, err := sqlstore.Open(ctx, sqlstore.Options{DSN: "sqlite:" + path, MediaDir: folder})
	if err != nil {
		return done, err
	}
	m := newMemory()
	if err := m.placeOrders(ctx, db.Replica()); err != nil {
		return done, err
	}
	a, err := replica.New(replica.Options{Replica: db.Replica(), Backend: m})
	if err != nil {
		return done, err
	}
	if err := errors.Join(a.Push(ctx, 1, nil), a.Scan(ctx), a.Close(), db.Close()); err != nil {
		return done, err
	}
	done.memory = m.save()
	done.database, err = os.ReadFile(path)
	return done, err
})

// placeOrders stores the orders of a replica at the backend.
func (m *memoryBackend) placeOrders(ctx context.Context, local replica.Replica) error {
	list := func(r adapter.Resource) ([]adapter.Record, error) { return adaptertest.AllOf(ctx, local, r) }
	orders, err := list(adapter.Orders)
	if err != nil {
		return err
	}
	byKey := map[int64]*memoryDoc{}
	for _, r := range orders {
		d := m.order(r)
		d.key = adapter.Key(r.Get("entity_id").Int())
		byKey[r.Get("entity_id").Int()] = d
	}
	for _, part := range []adapter.Resource{adapter.OrderItems, adapter.OrderAddresses} {
		records, err := list(part)
		if err != nil {
			return err
		}
		for _, r := range records {
			d := byKey[r.Get(r.Schema.RootAttribute).Int()]
			d.parts[part] = append(d.parts[part], m.part(r, adapter.Key(r.Get(r.Schema.Key).Int())))
		}
	}
	return nil
}

// order stores an order with the backend-owned values of r.
func (m *memoryBackend) order(r adapter.Record) *memoryDoc {
	m.mu.Lock()
	defer m.mu.Unlock()
	d := &memoryDoc{memoryItem: memoryItem{id: m.newID("order"), record: adapter.NewRecord(r.Schema)}, parts: map[adapter.Resource][]memoryItem{}}
	for _, name := range m.resource(adapter.Orders).Attributes {
		d.record.Set(name, r.Get(name))
	}
	if err := m.add(adapter.Orders, d); err != nil {
		panic(err)
	}
	return d
}

// part returns an item with the backend-owned values of r and a new id.
func (m *memoryBackend) part(r adapter.Record, key adapter.Key) memoryItem {
	m.mu.Lock()
	defer m.mu.Unlock()
	item := memoryItem{key: key, record: adapter.NewRecord(r.Schema)}
	res := m.resource(r.Schema.Resource)
	if res.HasIDs {
		item.id = m.newID("part")
	}
	for _, name := range res.Attributes {
		item.record.Set(name, r.Get(name))
	}
	return item
}

// A fixture is an adapter that joins the demo store with a memory backend to which it was
// pushed.
type fixture struct {
	*replica.Adapter
	local   replica.Replica
	memory  *memoryBackend
	log     *logRecorder
	metrics *prometheus.Registry
	t       testing.TB
}

// newFixture returns a fixture that the test can change.
func newFixture(tb testing.TB) *fixture {
	tb.Helper()
	start, err := demoSnapshot()
	if err != nil {
		tb.Fatal(err)
	}
	m := newMemory()
	m.restore(start.memory)
	return reopen(tb, openReplica(tb, start.database), m, replica.Options{})
}

// openReplica opens a replica with the given content.
func openReplica(tb testing.TB, content []byte) replica.Replica {
	tb.Helper()
	folder := tb.TempDir()
	path := filepath.Join(folder, "replica.db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		tb.Fatal(err)
	}
	return demotest.Open(tb, sqlstore.Options{DSN: "sqlite:" + path, MediaDir: filepath.Join(folder, "media")}).Replica()
}

// reopen joins a replica and a backend as a newly started process does.
func reopen(tb testing.TB, local replica.Replica, m *memoryBackend, o replica.Options) *fixture {
	tb.Helper()
	f := &fixture{local: local, memory: m, log: &logRecorder{}, metrics: prometheus.NewRegistry(), t: tb}
	o.Replica, o.Backend, o.Logger, o.Registerer = local, m, slog.New(f.log), f.metrics
	var err error
	if f.Adapter, err = replica.New(o); err != nil {
		tb.Fatal(err)
	}
	f.SetForeignIntentAge(0)
	tb.Cleanup(func() { _ = f.Close() })
	return f
}

// restart joins the same replica and backend again, without faults.
func (f *fixture) restart() *fixture {
	f.t.Helper()
	f.memory.clearFaults()
	return reopen(f.t, f.local, f.memory, replica.Options{})
}

func (f *fixture) store(r adapter.Resource) adapter.Store {
	f.t.Helper()
	return adaptertest.StoreOf(f.t, f.Adapter, r)
}

func (f *fixture) get(r adapter.Resource, key adapter.Key, onDemand ...string) adapter.Record {
	f.t.Helper()
	return adaptertest.MustGet(f.t, f.store(r), adapter.GetParams{Key: key, With: onDemand})
}

type attrs = adaptertest.Attributes

var schemas = sync.OnceValue(adapter.NewSchemas)

func (f *fixture) update(r adapter.Resource, key adapter.Key, storeID int64, change attrs) error {
	f.t.Helper()
	return adaptertest.Update(f.t, f.store(r), key, storeID, change)
}

func (f *fixture) create(r adapter.Resource, record attrs) (adapter.Key, error) {
	f.t.Helper()
	return f.store(r).Create(f.t.Context(), &adapter.CreateParams{Record: record.Record(schemas().Of(r))})
}

func (f *fixture) delete(r adapter.Resource, key adapter.Key) error {
	f.t.Helper()
	return f.store(r).Delete(f.t.Context(), &adapter.DeleteParams{Key: key})
}

// checkValues compares values of a record read through the adapter.
func (f *fixture) checkValues(r adapter.Resource, key adapter.Key, want attrs) {
	f.t.Helper()
	got := f.get(r, key)
	wanted := want.Record(got.Schema)
	for name := range want {
		if w := wanted.Get(name); adaptertest.FormatValue(got.Get(name)) != adaptertest.FormatValue(w) {
			f.t.Errorf("%s %d: %s is %s, want %s", r, key, name, adaptertest.FormatValue(got.Get(name)), adaptertest.FormatValue(w))
		}
	}
}

// checkMissing fails if a record is found or listed.
func (f *fixture) checkMissing(r adapter.Resource, key adapter.Key) {
	f.t.Helper()
	if _, err := f.store(r).Get(f.t.Context(), &adapter.GetParams{Key: key}); adapter.KindOf(err) != adapter.NotFound || err == nil {
		f.t.Errorf("get %s %d: %v, want not found", r, key, err)
	}
	if slices.Contains(f.keys(r, adapter.Query{}), key) {
		f.t.Errorf("%s %d is listed", r, key)
	}
}

func (f *fixture) keys(r adapter.Resource, q adapter.Query) []adapter.Key {
	f.t.Helper()
	found := adaptertest.MustList(f.t, f.store(r), adapter.ListParams{Query: q})
	keys := make([]adapter.Key, len(found.Records))
	for i, r := range found.Records {
		keys[i] = adapter.Key(r.Get(r.Schema.Key).Int())
	}
	return keys
}

// mapping returns the mapping of a record.
func (f *fixture) mapping(r adapter.Resource, key adapter.Key) (idmap.Mapping, bool) {
	f.t.Helper()
	mappings, err := f.local.MappingsByKey(f.t.Context(), r, []adapter.Key{key})
	if err != nil {
		f.t.Fatal(err)
	}
	if len(mappings) == 0 {
		return idmap.Mapping{}, false
	}
	return mappings[0], true
}

// id returns the backend id of a record.
func (f *fixture) id(r adapter.Resource, key adapter.Key) string {
	f.t.Helper()
	mapping, ok := f.mapping(r, key)
	if !ok || mapping.BackendID == "" {
		f.t.Fatalf("%s %d has no id", r, key)
	}
	return mapping.BackendID
}

// checkNoIntents fails if a write intent is left.
func (f *fixture) checkNoIntents() {
	f.t.Helper()
	withIntent, err := f.local.MappingsWithIntent(f.t.Context(), 100)
	if err != nil {
		f.t.Fatal(err)
	}
	for _, mapping := range withIntent {
		f.t.Errorf("%s %d still has a write intent: %s", mapping.Resource, mapping.Key, mapping.Intent)
	}
}

// where returns a query for records with a value.
func where(name, value string) adapter.Query {
	return adapter.Query{Where: []adapter.Condition{{Any: []adapter.Test{{Attribute: name, Op: adapter.Eq, Operands: []string{value}}}}}}
}

func keyText(key adapter.Key) string { return strconv.FormatInt(int64(key), 10) }

// A logRecorder records log lines.
type logRecorder struct {
	mu    sync.Mutex
	lines []string
}

func (l *logRecorder) Enabled(context.Context, slog.Level) bool { return true }
func (l *logRecorder) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *logRecorder) WithGroup(string) slog.Handler            { return l }

func (l *logRecorder) Handle(_ context.Context, r slog.Record) error {
	line := r.Message
	r.Attrs(func(a slog.Attr) bool { line += " " + a.String(); return true })
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
	return nil
}

func (l *logRecorder) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lines)
}

// demoReplica returns the demo store as a local replica on SQLite, with an empty ID map.
func demoReplica(tb testing.TB) replica.Replica {
	tb.Helper()
	return demotest.Open(tb, sqlstore.Options{DSN: demotest.SQLite(tb)}).Replica()
}

// testResources are the resources of the backends in these tests.
func testResources() []replica.BackendResource {
	return []replica.BackendResource{
		{Resource: adapter.Products, Root: adapter.Products, Attributes: []string{"name", "stock_item"}},
		{Resource: adapter.StockItems, Root: adapter.Products, Attributes: []string{"qty"}},
		{Resource: adapter.Customers, Root: adapter.Customers, Attributes: []string{"email"}},
		{Resource: adapter.CustomerAddresses, Root: adapter.Customers, HasIDs: true, Attributes: []string{"city"}},
	}
}
