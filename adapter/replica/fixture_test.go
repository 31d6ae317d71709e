package replica_test

import (
	"context"
	"database/sql"
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
	"github.com/portico-commerce/portico/adapter/demo"
	"github.com/portico-commerce/portico/adapter/replica"
	"github.com/portico-commerce/portico/adapter/sqlstore"
)

// gallery are two images of a product and one of another, which no data set holds.
const gallery = `
	INSERT INTO product_image (id, product_id, file, media_type) VALUES
		(1, 1, 'o/n/one.png', 'image/png'), (2, 1, 't/w/two.jpg', 'image/jpeg'), (3, 2, 't/h/three.png', 'image/png');
	INSERT INTO product_image_value (image_id, store_id, label, position, exclude) VALUES
		(1, 0, 'One', 30, 0), (1, 2, 'Un', 5, 1), (2, 0, 'Two', 20, 1), (3, 0, NULL, 1, 0);
	INSERT INTO product_image_pointer (product_id, store_id, type, image_id) VALUES
		(1, 0, 'image', 1), (1, 0, 'thumbnail', 2), (2, 0, 'image', 3);`

// A migrated is the demo store with part of it moved to a memory.
type migrated struct {
	side   []byte // a database file
	memory memoryState
}

// move makes the demo store, with the gallery, and moves it to a memory, once for all
// tests: orders stand there already, and carry their legacy ids.
var move = sync.OnceValues(func() (done migrated, err error) {
	folder, err := os.MkdirTemp("", "portico-replica-")
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	path := filepath.Join(folder, "side.db")
	ctx := context.Background() // of no test in particular
	data, err := demo.Load()
	if err != nil {
		return done, err
	}
	db, err := sqlstore.Open(ctx, sqlstore.Options{DSN: "sqlite:" + path, Migrate: true, MediaDir: folder})
	if err != nil {
		return done, err
	}
	if err := errors.Join(db.Load(ctx, data, nil), db.Close()); err != nil {
		return done, err
	}
	raw, err := sql.Open("sqlite", path)
	if err != nil {
		return done, err
	}
	_, err = raw.ExecContext(ctx, gallery)
	if err := errors.Join(err, raw.Close()); err != nil {
		return done, err
	}
	if db, err = sqlstore.Open(ctx, sqlstore.Options{DSN: "sqlite:" + path, MediaDir: folder}); err != nil {
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
	if err := errors.Join(a.Push(ctx, nil), a.Scan(ctx), a.Close(), db.Close()); err != nil {
		return done, err
	}
	done.memory = m.save()
	done.side, err = os.ReadFile(path)
	return done, err
})

// placeOrders makes documents of the orders of a side.
func (m *memory) placeOrders(ctx context.Context, side replica.Replica) error {
	list := func(r adapter.Resource) ([]adapter.Record, error) {
		s, err := side.Store(r)
		if err != nil {
			return nil, err
		}
		found, err := s.List(ctx, &adapter.ListParams{})
		if err != nil {
			return nil, err
		}
		return found.Records, nil
	}
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
			res := m.keptOf(part)
			d := byKey[r.Get(res.RootAttribute).Int()]
			d.parts[part] = append(d.parts[part], m.part(r, adapter.Key(r.Get(r.Schema.Key).Int())))
		}
	}
	return nil
}

// order stores an order with what the backend keeps of r.
func (m *memory) order(r adapter.Record) *memoryDoc {
	m.mu.Lock()
	defer m.mu.Unlock()
	d := &memoryDoc{memoryItem: memoryItem{id: m.id("order"), record: adapter.NewRecord(r.Schema)}, parts: map[adapter.Resource][]memoryItem{}}
	for _, name := range m.keptOf(adapter.Orders).Attributes {
		d.record.Set(name, r.Get(name))
	}
	if err := m.add(adapter.Orders, d); err != nil {
		panic(err)
	}
	return d
}

// part returns what the backend keeps of a part, with an id of its own.
func (m *memory) part(r adapter.Record, key adapter.Key) memoryItem {
	m.mu.Lock()
	defer m.mu.Unlock()
	item := memoryItem{key: key, record: adapter.NewRecord(r.Schema)}
	res := m.keptOf(r.Schema.Resource)
	if res.HasIDs {
		item.id = m.id("part")
	}
	for _, name := range res.Attributes {
		item.record.Set(name, r.Get(name))
	}
	return item
}

// A shop is an adapter of a memory and of the demo store, which is moved to it.
type shop struct {
	*replica.Adapter
	side    replica.Replica
	memory  *memory
	log     *logged
	metrics *prometheus.Registry
	t       testing.TB
}

// openShop opens a shop of the test's own.
func openShop(tb testing.TB) *shop {
	tb.Helper()
	start, err := move()
	if err != nil {
		tb.Fatal(err)
	}
	m := newMemory()
	m.restore(start.memory)
	return reopen(tb, openSide(tb, start.side), m, replica.Options{})
}

// openSide opens a side of the test's own, with that content.
func openSide(tb testing.TB, content []byte) replica.Replica {
	tb.Helper()
	folder := tb.TempDir()
	path := filepath.Join(folder, "side.db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		tb.Fatal(err)
	}
	db, err := sqlstore.Open(tb.Context(), sqlstore.Options{DSN: "sqlite:" + path, MediaDir: filepath.Join(folder, "media")})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = db.Close() })
	return db.Replica()
}

// reopen opens a shop as a process does that finds both sides as another has left
// them.
func reopen(tb testing.TB, side replica.Replica, m *memory, o replica.Options) *shop {
	tb.Helper()
	s := &shop{side: side, memory: m, log: &logged{}, metrics: prometheus.NewRegistry(), t: tb}
	o.Replica, o.Backend, o.Logger, o.Registerer = side, m, slog.New(s.log), s.metrics
	var err error
	if s.Adapter, err = replica.New(o); err != nil {
		tb.Fatal(err)
	}
	s.LeaveForeign(0)
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

// again opens a shop on the same side and backend, which is well.
func (s *shop) again() *shop {
	s.t.Helper()
	s.memory.heal()
	return reopen(s.t, s.side, s.memory, replica.Options{})
}

func (s *shop) of(r adapter.Resource) adapter.Store {
	s.t.Helper()
	store, err := s.Store(r)
	if err != nil {
		s.t.Fatal(err)
	}
	return store
}

func (s *shop) get(r adapter.Resource, key adapter.Key, onDemand ...string) adapter.Record {
	s.t.Helper()
	record, err := s.of(r).Get(s.t.Context(), &adapter.GetParams{Key: key, With: onDemand})
	if err != nil {
		s.t.Fatalf("get %s %d: %v", r, key, err)
	}
	return record
}

// given are values by attribute, as strings and ints; nil is null.
type given map[string]any

func (g given) record(schema *adapter.Schema) adapter.Record {
	r := adapter.NewRecord(schema)
	for name, v := range g {
		r.Set(name, valueOf(schema, name, v))
	}
	return r
}

func valueOf(schema *adapter.Schema, name string, v any) adapter.Value {
	switch v := v.(type) {
	case adapter.Value:
		return v
	case string:
		return adapter.TextValue(v)
	case int:
		return adapter.IntegerValue(int64(v))
	case []string:
		return adapter.TextsValue(v)
	case []given:
		at, _ := schema.Index(name)
		nested := make([]adapter.Record, len(v))
		for i, g := range v {
			nested[i] = g.record(schema.Attributes[at].Nested)
		}
		return adapter.RecordsValue(nested)
	default:
		return adapter.NullValue()
	}
}

var schemas = sync.OnceValue(adapter.NewSchemas)

func (s *shop) update(r adapter.Resource, key adapter.Key, storeID int64, change given) error {
	s.t.Helper()
	return s.of(r).Update(s.t.Context(), &adapter.UpdateParams{Key: key, StoreID: storeID, Change: func(current adapter.Record) (adapter.Record, error) {
		return change.record(current.Schema), nil
	}})
}

func (s *shop) create(r adapter.Resource, record given) (adapter.Key, error) {
	s.t.Helper()
	return s.of(r).Create(s.t.Context(), &adapter.CreateParams{Record: record.record(schemas().Of(r))})
}

func (s *shop) delete(r adapter.Resource, key adapter.Key) error {
	s.t.Helper()
	return s.of(r).Delete(s.t.Context(), &adapter.DeleteParams{Key: key})
}

// want compares values of a record that is read through the shop.
func (s *shop) want(r adapter.Resource, key adapter.Key, want given) {
	s.t.Helper()
	got := s.get(r, key)
	for name, v := range want {
		if w := valueOf(got.Schema, name, v); shownValue(got.Get(name)) != shownValue(w) {
			s.t.Errorf("%s %d: %s is %s, want %s", r, key, name, shownValue(got.Get(name)), shownValue(w))
		}
	}
}

// missing fails unless a record is not found, and in no list.
func (s *shop) missing(r adapter.Resource, key adapter.Key) {
	s.t.Helper()
	if _, err := s.of(r).Get(s.t.Context(), &adapter.GetParams{Key: key}); adapter.KindOf(err) != adapter.NotFound || err == nil {
		s.t.Errorf("get %s %d: %v, want not found", r, key, err)
	}
	if slices.Contains(s.keys(r, adapter.Query{}), key) {
		s.t.Errorf("%s %d is listed", r, key)
	}
}

func (s *shop) keys(r adapter.Resource, q adapter.Query) []adapter.Key {
	s.t.Helper()
	found, err := s.of(r).List(s.t.Context(), &adapter.ListParams{Query: q})
	if err != nil {
		s.t.Fatal(err)
	}
	keys := make([]adapter.Key, len(found.Records))
	for i, r := range found.Records {
		keys[i] = adapter.Key(r.Get(r.Schema.Key).Int())
	}
	return keys
}

// entry returns the entry of a record.
func (s *shop) entry(r adapter.Resource, key adapter.Key) (replica.Mapping, bool) {
	s.t.Helper()
	mappings, err := s.side.MappingsByKey(s.t.Context(), r, []adapter.Key{key})
	if err != nil {
		s.t.Fatal(err)
	}
	if len(mappings) == 0 {
		return replica.Mapping{}, false
	}
	return mappings[0], true
}

// id returns the backend's id of a record.
func (s *shop) id(r adapter.Resource, key adapter.Key) string {
	s.t.Helper()
	mapping, ok := s.entry(r, key)
	if !ok || mapping.BackendID == "" {
		s.t.Fatalf("%s %d has no id", r, key)
	}
	return mapping.BackendID
}

// settled fails unless no note is left.
func (s *shop) settled() {
	s.t.Helper()
	withIntent, err := s.side.MappingsWithIntent(s.t.Context(), farFuture, 100)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, mapping := range withIntent {
		s.t.Errorf("%s %d still has a note: %s", mapping.Resource, mapping.Key, mapping.Intent)
	}
}

// where is a query for records with a value.
func where(name, value string) adapter.Query {
	return adapter.Query{Where: []adapter.Condition{{Any: []adapter.Test{{Attribute: name, Op: adapter.Eq, Operands: []string{value}}}}}}
}

func keyText(key adapter.Key) string { return strconv.FormatInt(int64(key), 10) }

// logged keeps what is logged.
type logged struct {
	mu    sync.Mutex
	lines []string
}

func (l *logged) Enabled(context.Context, slog.Level) bool { return true }
func (l *logged) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *logged) WithGroup(string) slog.Handler            { return l }

func (l *logged) Handle(_ context.Context, r slog.Record) error {
	line := r.Message
	r.Attrs(func(a slog.Attr) bool { line += " " + a.String(); return true })
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
	return nil
}

func (l *logged) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lines)
}
