package coordination_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/adapter/sqlstore"

	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"

	"github.com/google/go-cmp/cmp"
)

// A cachingProcess caches names of products, and drops them when its Watcher calls apply.
type cachingProcess struct {
	*coordination.Watcher
	store   shop
	mu      sync.Mutex
	names   map[adapter.Key]string
	dropped []map[adapter.Resource][]adapter.Key
	hits    atomic.Int64
}

// A shop is an open store.
type shop struct {
	*sqlstore.DB
	dsn string
}

// openAt opens a store, and closes it when the test ends.
func openAt(t *testing.T, dsn string) shop {
	t.Helper()
	return shop{demotest.Open(t, sqlstore.Options{DSN: dsn}), dsn}
}

// newCachingProcess starts a process with a database of its own.
func newCachingProcess(t *testing.T, dsn string) *cachingProcess {
	t.Helper()
	store := openAt(t, dsn)
	p := &cachingProcess{Watcher: store.Changes().NewWatch(), store: store, names: map[adapter.Key]string{}}
	p.Start(t.Context(), 0, nil, func(_ context.Context, changed map[adapter.Resource][]adapter.Key) {
		p.mu.Lock()
		defer p.mu.Unlock()
		for r := range changed {
			slices.Sort(changed[r])
		}
		p.dropped = append(p.dropped, changed)
		for _, key := range changed[adapter.Products] {
			delete(p.names, key)
		}
		if keys, all := changed[adapter.Products]; changed == nil || all && keys == nil {
			clear(p.names)
		}
	})
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// takeDropped returns the records dropped since the last call.
func (p *cachingProcess) takeDropped() []map[adapter.Resource][]adapter.Key {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer func() { p.dropped = nil }()
	return p.dropped
}

// name returns the name of a product, from the cache if that can be trusted.
func (p *cachingProcess) name(t *testing.T, key adapter.Key) string {
	trusted := p.Await(t.Context())
	p.mu.Lock()
	name, cached := p.names[key]
	drops := len(p.dropped)
	p.mu.Unlock()
	if trusted && cached {
		p.hits.Add(1)
		return name
	}
	r, err := adaptertest.StoreOf(t, p.store.Adapter(), adapter.Products).Get(t.Context(), &adapter.GetParams{Key: key})
	if err != nil {
		t.Error(err)
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.dropped) == drops { // otherwise it may be older than the dropped name
		p.names[key] = r.Get("name").Text()
	}
	return r.Get("name").Text()
}

// aggregate returns an aggregate of a record with some values.
func aggregate(r adapter.Resource, values adaptertest.Attributes) adapter.Aggregate {
	return adapter.Aggregate{Record: values.Record(adapter.NewSchemas().Of(r))}
}

// renamed returns an aggregate that merges a name into a product.
func renamed(key int, name string) adapter.Aggregate {
	return aggregate(adapter.Products, adaptertest.Attributes{"entity_id": key, "name": name})
}

func importMerged(t *testing.T, a *sqlstore.RecordAdapter, batch ...adapter.Aggregate) {
	t.Helper()
	if _, err := a.Import(t.Context(), batch, adapter.ImportOptions{Existing: adapter.MergeExisting}); err != nil {
		t.Fatal(err)
	}
}

// TestImportsEndCaches imports in one process while others answer from their caches, and checks
// that these never answer with names older than a committed import: before anybody imports, after
// the importer has announced itself, and after the announcement has expired.
func TestImportsEndCaches(t *testing.T) {
	sqltest.EachEngine(t, testImportsEndCaches)
}

func testImportsEndCaches(t *testing.T, e sqltest.Engine) {
	dsn := demotest.Database(t, e.Name)
	importer := openAt(t, dsn)
	readers := []*cachingProcess{newCachingProcess(t, dsn), newCachingProcess(t, dsn)}
	const products = 3
	var committed [products + 1]atomic.Int64 // by key: the number in the name
	// A process that answers all the time.
	ctx, stop := context.WithCancel(t.Context())
	var reading sync.WaitGroup
	defer reading.Wait()
	defer stop()
	for _, p := range readers {
		reading.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				key := adapter.Key(1 + n%products)
				least := committed[key].Load()
				if got, err := strconv.ParseInt(p.name(t, key), 10, 64); least > 0 && (err != nil || got < least) && ctx.Err() == nil {
					t.Errorf("product %d is %d after %d was committed, %v", key, got, least, err)
					return
				}
				time.Sleep(time.Millisecond) // lets the importer write
			}
		})
	}
	announcement, err := importer.Changes().Announce(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	a := importer.Adapter().Announced(announcement)
	number := int64(0)
	rename := func(times int) {
		t.Helper()
		for range times {
			number++
			key := adapter.Key(1 + number%products)
			importMerged(t, a, renamed(int(key), strconv.FormatInt(number, 10)))
			committed[key].Store(number)
		}
	}
	rename(40)
	sqltest.Exec(t, importer.dsn, "DELETE FROM import_process WHERE imports = 1") // as if it had been paused for long
	for _, p := range readers {
		for !p.Known() {
			time.Sleep(time.Millisecond)
		}
	}
	rename(20)
	if hits := readers[0].hits.Load() + readers[1].hits.Load(); hits < 50 {
		t.Errorf("only %d answers were cached: they prove nothing", hits)
	}
	if err := announcement.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, p := range readers {
		for !p.Known() { // nobody imports any more
			time.Sleep(time.Millisecond)
		}
	}
}

// TestChangesSeen checks that a process notices the changes of imports.
func TestChangesSeen(t *testing.T) {
	sqltest.EachEngine(t, testChangesSeen)
}

func testChangesSeen(t *testing.T, e sqltest.Engine) {
	dsn := demotest.Database(t, e.Name)
	importer := openAt(t, dsn)
	a := importer.Adapter()
	announcement, err := importer.Changes().Announce(t.Context()) // which does not wait, as no process caches
	if err != nil {
		t.Fatal(err)
	}
	p := newCachingProcess(t, dsn)
	gone := func(r adapter.Resource, attribute string, key int) adapter.Aggregate {
		one := aggregate(r, adaptertest.Attributes{attribute: key})
		one.Gone = true
		return one
	}
	items, err := adaptertest.StoreOf(t, importer.Adapter(), adapter.StockItems).List(t.Context(), &adapter.ListParams{Query: adapter.Query{Where: []adapter.Condition{{Any: []adapter.Test{{Attribute: "product_id", Op: adapter.Eq, Operands: []string{"2"}}}}}}})
	if err != nil || len(items.Records) != 1 {
		t.Fatal(items, err)
	}
	item := int(items.Records[0].Key())
	type changes = map[adapter.Resource][]adapter.Key
	for _, step := range []struct {
		name  string
		batch []adapter.Aggregate
		want  []changes
	}{
		{"changed", []adapter.Aggregate{renamed(1, "a"), renamed(2, "b")}, []changes{{adapter.Products: {1, 2}}}},
		{"the same", []adapter.Aggregate{renamed(1, "a"), renamed(2, "b")}, nil},
		{"one of two", []adapter.Aggregate{renamed(1, "a"), renamed(2, "c")}, []changes{{adapter.Products: {2}}}},
		{"nothing", nil, nil},
		{"a part", []adapter.Aggregate{aggregate(adapter.StockItems, adaptertest.Attributes{"item_id": item, "product_id": 2, "min_qty": "77.0000"})}, []changes{{adapter.StockItems: {2}}}},
		{"a part that is gone", []adapter.Aggregate{gone(adapter.StockItems, "item_id", item)}, []changes{{adapter.StockItems: {2}}}},
		{"a part that was gone", []adapter.Aggregate{gone(adapter.StockItems, "item_id", item)}, nil},
		{"several resources", []adapter.Aggregate{gone(adapter.Orders, "entity_id", 1), gone(adapter.Products, "entity_id", 3)}, []changes{{adapter.Orders: {1}, adapter.Products: {3}}}},
	} {
		importMerged(t, a, step.batch...)
		if !p.Await(t.Context()) {
			t.Fatalf("%s: the process cannot know", step.name)
		}
		got := p.takeDropped()
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("%s: want -, got +:\n%s", step.name, diff)
		}
	}
	refused := errors.New("refused")
	direct := sqltest.Open(t, importer.dsn)
	change := func(changed changes) {
		t.Helper()
		if err := direct.Write(t.Context(), "change", func(tx *engine.Tx) error { return coordination.NoteImport(t.Context(), tx, nil, changed) }); err != nil {
			t.Fatal(err)
		}
	}
	var many []adapter.Key
	for key := range adapter.Key(coordination.MaxChangedKeys + 1) {
		many = append(many, key+1)
	}
	change(changes{adapter.Products: many, adapter.Orders: many[1:]})
	p.Await(t.Context())
	if got := p.takeDropped(); len(got) != 1 || len(got[0][adapter.Orders]) != coordination.MaxChangedKeys || got[0][adapter.Products] != nil {
		t.Errorf("many: %v", got)
	}
	err = direct.Write(t.Context(), "change", func(tx *engine.Tx) error {
		return errors.Join(coordination.NoteImport(t.Context(), tx, nil, changes{adapter.Products: {1}}), refused)
	})
	if p.Await(t.Context()); !errors.Is(err, refused) || p.takeDropped() != nil {
		t.Errorf("a transaction that was rolled back: %v", err)
	}

	slow := newCachingProcess(t, dsn)
	_ = slow.Close() // it looks no more by itself
	for key := range adapter.Key(coordination.KeptGenerations) {
		change(changes{adapter.Products: {key + 1}})
	}
	slow.Look()
	if got := slow.takeDropped(); len(got) != 1 || len(got[0][adapter.Products]) != coordination.KeptGenerations {
		t.Errorf("as many generations as are noted: %v", got)
	}
	for range coordination.KeptGenerations + 1 {
		change(changes{adapter.Products: {1}})
	}
	slow.Look()
	if got := slow.takeDropped(); len(got) != 1 || got[0] != nil {
		t.Errorf("more generations than are noted: %v, want everything", got)
	}
	sqltest.Exec(t, importer.dsn, "UPDATE import_state SET generation = generation - 1") // as a backup has it
	slow.Look()
	if got := slow.takeDropped(); len(got) != 1 || got[0] != nil {
		t.Errorf("an earlier generation: %v, want everything", got)
	}
	var noted int
	if err := sqltest.Raw(t, importer.dsn).QueryRowContext(t.Context(), "SELECT COUNT(*) FROM import_change").Scan(&noted); err != nil || noted != 1 {
		t.Errorf("%d records are noted, %v, want 1", noted, err)
	}

	for cached, want := range map[time.Duration]int{0: 0, time.Hour: 1} {
		fresh := importer.Changes().NewWatch()
		dropped := 0
		fresh.Start(t.Context(), cached, nil, func(_ context.Context, changed changes) {
			if dropped++; changed != nil {
				t.Errorf("at the start: %v", slices.Collect(maps.Keys(changed)))
			}
		})
		_ = fresh.Close()
		if dropped != want {
			t.Errorf("at the start, with replies of %v: dropped %d times, want %d", cached, dropped, want)
		}
	}
	if err := announcement.End(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestLaterLooks checks that no caller shares a look that began before the call.
func TestLaterLooks(t *testing.T) {
	db := openAt(t, demotest.Database(t, "sqlite"))
	if _, err := db.Changes().Announce(t.Context()); err != nil {
		t.Fatal(err)
	}
	w := db.Changes().NewWatch()
	entered, release := make(chan struct{}, 9), make(chan struct{})
	var dropped []adapter.Key
	w.Start(t.Context(), 0, nil, func(_ context.Context, changed map[adapter.Resource][]adapter.Key) {
		entered <- struct{}{}
		<-release
		dropped = append(dropped, changed[adapter.Products]...)
	})
	w.StopLooking()
	importMerged(t, db.Adapter(), renamed(1, "a"))
	first := make(chan bool, 1)
	go func() { first <- w.Await(t.Context()) }()
	<-entered
	importMerged(t, db.Adapter(), renamed(2, "b"))
	time.AfterFunc(50*time.Millisecond, func() { close(release) }) // while the next call waits
	if !w.Await(t.Context()) || !slices.Equal(dropped, []adapter.Key{1, 2}) {
		t.Errorf("dropped %v before the call returned, want 1 and 2", dropped)
	}
	if !<-first {
		t.Error("the first call does not know")
	}
}

// TestWatchWithoutDatabase checks when a process trusts its cache while it cannot read its
// database.
func TestWatchWithoutDatabase(t *testing.T) {
	for name, tt := range map[string]struct{ importing, trusted, withoutTables bool }{
		"nobody imported":           {trusted: true},
		"somebody imports":          {importing: true},
		"nobody can, without views": {trusted: true, withoutTables: true},
	} {
		t.Run(name, func(t *testing.T) {
			dsn := sqltest.Engines()[0].NewDSN(t)
			importer := openAt(t, dsn)
			if tt.importing {
				if _, err := importer.Changes().Announce(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if tt.withoutTables {
				sqltest.Exec(t, importer.dsn, "DROP TABLE import_state", "DROP TABLE import_change", "DROP TABLE import_process")
			}
			p := newCachingProcess(t, dsn)
			if p.Known() == tt.importing {
				t.Errorf("known: %v", p.Known())
			}
			_ = p.store.Close()
			p.Share(t.Context())
			if got := p.Await(t.Context()); got != tt.trusted || p.Known() != tt.trusted {
				t.Errorf("trusted: %v, known: %v, want %v", got, p.Known(), tt.trusted)
			}
		})
	}
}

// TestAnnouncements checks that announcements are renewed, end, and expire.
func TestAnnouncements(t *testing.T) {
	db := openAt(t, sqltest.Engines()[0].NewDSN(t))
	expiries := func() []int64 {
		t.Helper()
		all, err := engine.SelectColumn[int64](t.Context(), engine.QueryOf(sqltest.Raw(t, db.dsn).QueryContext), "SELECT expires_ms FROM import_process WHERE imports = 1 ORDER BY expires_ms")
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	first, err := db.Changes().Announce(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sqltest.Exec(t, db.dsn, "UPDATE import_process SET expires_ms = expires_ms - 1000")
	before := expiries()
	importMerged(t, db.Adapter().Announced(first))
	if got := expiries(); !slices.Equal(got, before) {
		t.Errorf("renewed at once: %v, was %v", got, before)
	}
	first.Age()
	importMerged(t, db.Adapter().Announced(first))
	if got := expiries(); len(got) != 1 || got[0] <= before[0] {
		t.Errorf("not renewed: %v, was %v", got, before)
	}
	sqltest.Exec(t, db.dsn, "UPDATE import_process SET expires_ms = 1")
	second, err := db.Changes().Announce(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := expiries(); len(got) != 1 {
		t.Errorf("an expired announcement stays: %v", got)
	}
	// The clock was a day ahead when a process announced itself that was killed since.
	sqltest.Exec(t, db.dsn, "UPDATE import_process SET expires_ms = expires_ms + 86400000")
	third, err := db.Changes().Announce(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got, latest := expiries(), time.Now().Add(time.Hour).UnixMilli(); len(got) != 2 || got[1] > latest {
		t.Errorf("the announcement of a process that was killed expires at %v, want before %d", got, latest)
	}
	if err := third.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := second.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := expiries(); len(got) != 0 {
		t.Errorf("an announcement that has ended stays: %v", got)
	}
}
