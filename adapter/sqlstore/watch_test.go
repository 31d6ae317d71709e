package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/idmap"
)

// A cachingProcess caches names of products, and drops them as its Watch says.
type cachingProcess struct {
	*Watch
	mu      sync.Mutex
	names   map[adapter.Key]string
	dropped []map[adapter.Resource][]adapter.Key
	hits    atomic.Int64
}

// newCachingProcess starts a process with a database of its own.
func newCachingProcess(t *testing.T, dsn string) *cachingProcess {
	t.Helper()
	p := &cachingProcess{Watch: openAt(t, dsn).NewWatch(), names: map[adapter.Key]string{}}
	p.Start(t.Context(), 0, func(_ context.Context, changed map[adapter.Resource][]adapter.Key) {
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

// takeDropped returns what was dropped since the last call.
func (p *cachingProcess) takeDropped() []map[adapter.Resource][]adapter.Key {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer func() { p.dropped = nil }()
	return p.dropped
}

// name returns the name of a product, from what is cached if that can be trusted.
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
	r, err := p.db.stores[adapter.Products].Get(t.Context(), &adapter.GetParams{Key: key})
	if err != nil {
		t.Error(err)
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.dropped) == drops { // otherwise it may be older than what was dropped
		p.names[key] = r.Get("name").Text()
	}
	return r.Get("name").Text()
}

// renamed returns an aggregate that merges a name into a product.
func renamed(db *DB, key adapter.Key, name string) adapter.Aggregate {
	r := adapter.NewRecord(db.schemas.Of(adapter.Products))
	r.Set("entity_id", adapter.IntegerValue(int64(key)))
	r.Set("name", adapter.TextValue(name))
	return adapter.Aggregate{Record: r}
}

func importMerged(t *testing.T, a *Adapter, batch ...adapter.Aggregate) {
	t.Helper()
	if _, err := a.Import(t.Context(), batch, adapter.ImportOptions{Existing: adapter.MergeExisting}); err != nil {
		t.Fatal(err)
	}
}

// TestImportsEndCaches imports in one process while others answer from what they have cached,
// and checks that these answer with nothing older than a committed import: before anybody
// imports, after the importer has announced itself, and after the announcement has expired.
func TestImportsEndCaches(t *testing.T) {
	EachEngine(t, testImportsEndCaches)
}

func testImportsEndCaches(t *testing.T, e Engine) {
	dsn := e.NewDemo(t)
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
	announcement, err := importer.AnnounceImports(t.Context())
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
			importMerged(t, a, renamed(importer, key, strconv.FormatInt(number, 10)))
			committed[key].Store(number)
		}
	}
	rename(40)
	execute(t, importer, "DELETE FROM import_process WHERE imports = 1") // as if it had been paused for long
	for _, p := range readers {
		for !p.known() {
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
		for !p.known() { // nobody imports any more
			time.Sleep(time.Millisecond)
		}
	}
}

// TestChangesSeen checks what a process learns of imports.
func TestChangesSeen(t *testing.T) {
	EachEngine(t, testChangesSeen)
}

func testChangesSeen(t *testing.T, e Engine) {
	dsn := e.NewDemo(t)
	importer := openAt(t, dsn)
	a := importer.Adapter()
	announcement, err := importer.AnnounceImports(t.Context()) // which waits for nobody
	if err != nil {
		t.Fatal(err)
	}
	p := newCachingProcess(t, dsn)
	product := func(key adapter.Key, name string) adapter.Aggregate { return renamed(importer, key, name) }
	stock := func(item, product, notify int64) adapter.Aggregate {
		r := adapter.NewRecord(importer.schemas.Of(adapter.StockItems))
		r.Set("item_id", adapter.IntegerValue(item))
		r.Set("product_id", adapter.IntegerValue(product))
		r.Set("min_qty", adapter.TextValue(strconv.FormatInt(notify, 10)+".0000"))
		return adapter.Aggregate{Record: r}
	}
	gone := func(r adapter.Resource, attribute string, key int64) adapter.Aggregate {
		record := adapter.NewRecord(importer.schemas.Of(r))
		record.Set(attribute, adapter.IntegerValue(key))
		return adapter.Aggregate{Record: record, Gone: true}
	}
	items, err := importer.stores[adapter.StockItems].List(t.Context(), &adapter.ListParams{Query: adapter.Query{Where: where("product_id", adapter.Eq, "2")}})
	if err != nil || len(items.Records) != 1 {
		t.Fatal(items, err)
	}
	item := items.Records[0].Get("item_id").Int()
	type changes = map[adapter.Resource][]adapter.Key
	for _, step := range []struct {
		name  string
		batch []adapter.Aggregate
		want  []changes
	}{
		{"changed", []adapter.Aggregate{product(1, "a"), product(2, "b")}, []changes{{adapter.Products: {1, 2}}}},
		{"the same", []adapter.Aggregate{product(1, "a"), product(2, "b")}, nil},
		{"one of two", []adapter.Aggregate{product(1, "a"), product(2, "c")}, []changes{{adapter.Products: {2}}}},
		{"nothing", nil, nil},
		{"a part", []adapter.Aggregate{stock(item, 2, 77)}, []changes{{adapter.StockItems: {2}}}},
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
	mapped := &Replica{a.Announced(announcement)}
	err = mapped.PutMappings(t.Context(), idmap.Mapping{Resource: adapter.Orders, Key: 2, BackendID: "o2"}, idmap.Mapping{Resource: adapter.StockItems, Key: 7, Root: adapter.Products, RootKey: 1})
	p.Await(t.Context())
	if got := p.takeDropped(); err != nil || !cmp.Equal(got, []changes{{adapter.Orders: {2}, adapter.Products: {1}}}) {
		t.Errorf("a record that gets its mapping: %v, %v", got, err)
	}

	refused := errors.New("refused")
	change := func(changed changes) {
		t.Helper()
		if err := importer.write(t.Context(), "change", func(tx *sql.Tx) error { return newWriteTx(importer, tx).Changed(t.Context(), changed) }); err != nil {
			t.Fatal(err)
		}
	}
	var many []adapter.Key
	for key := range adapter.Key(maxChangedKeys + 1) {
		many = append(many, key+1)
	}
	change(changes{adapter.Products: many, adapter.Orders: many[1:]})
	p.Await(t.Context())
	if got := p.takeDropped(); len(got) != 1 || len(got[0][adapter.Orders]) != maxChangedKeys || got[0][adapter.Products] != nil {
		t.Errorf("many: %v", got)
	}
	err = importer.write(t.Context(), "change", func(tx *sql.Tx) error {
		return errors.Join(newWriteTx(importer, tx).Changed(t.Context(), changes{adapter.Products: {1}}), refused)
	})
	if p.Await(t.Context()); !errors.Is(err, refused) || p.takeDropped() != nil {
		t.Errorf("a transaction that was rolled back: %v", err)
	}

	slow := newCachingProcess(t, dsn)
	_ = slow.Close() // it looks no more by itself
	for key := range adapter.Key(keptGenerations) {
		change(changes{adapter.Products: {key + 1}})
	}
	slow.look()
	if got := slow.takeDropped(); len(got) != 1 || len(got[0][adapter.Products]) != keptGenerations {
		t.Errorf("as many generations as are noted: %v", got)
	}
	for range keptGenerations + 1 {
		change(changes{adapter.Products: {1}})
	}
	slow.look()
	if got := slow.takeDropped(); len(got) != 1 || got[0] != nil {
		t.Errorf("more generations than are noted: %v, want everything", got)
	}
	execute(t, importer, "UPDATE import_state SET generation = generation - 1") // as a backup has it
	slow.look()
	if got := slow.takeDropped(); len(got) != 1 || got[0] != nil {
		t.Errorf("an earlier generation: %v, want everything", got)
	}
	var noted int
	if err := importer.readers.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM import_change").Scan(&noted); err != nil || noted != 1 {
		t.Errorf("%d records are noted, %v, want 1", noted, err)
	}

	for cached, want := range map[time.Duration]int{0: 0, time.Hour: 1} {
		fresh := importer.NewWatch()
		dropped := 0
		fresh.Start(t.Context(), cached, func(_ context.Context, changed changes) {
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

// TestLaterLooks checks that nobody shares a look that began before the call.
func TestLaterLooks(t *testing.T) {
	db := openDemo(t, Engines()[0])
	if _, err := db.AnnounceImports(t.Context()); err != nil {
		t.Fatal(err)
	}
	w := db.NewWatch()
	entered, release := make(chan struct{}, 9), make(chan struct{})
	var dropped []adapter.Key
	w.Start(t.Context(), 0, func(_ context.Context, changed map[adapter.Resource][]adapter.Key) {
		entered <- struct{}{}
		<-release
		dropped = append(dropped, changed[adapter.Products]...)
	})
	w.stop()
	w.done.Wait() // it looks no more by itself
	importMerged(t, db.Adapter(), renamed(db, 1, "a"))
	first := make(chan bool, 1)
	go func() { first <- w.Await(t.Context()) }()
	<-entered
	importMerged(t, db.Adapter(), renamed(db, 2, "b"))
	time.AfterFunc(50*time.Millisecond, func() { close(release) }) // while the next call waits
	if !w.Await(t.Context()) || !slices.Equal(dropped, []adapter.Key{1, 2}) {
		t.Errorf("dropped %v before the call returned, want 1 and 2", dropped)
	}
	if !<-first {
		t.Error("the first call does not know")
	}
}

// TestWatchWithoutDatabase checks what a process may trust while it cannot read its database.
func TestWatchWithoutDatabase(t *testing.T) {
	for name, tt := range map[string]struct{ importing, trusted, withoutTables bool }{
		"nobody imported":           {trusted: true},
		"somebody imports":          {importing: true},
		"nobody can, without views": {trusted: true, withoutTables: true},
	} {
		t.Run(name, func(t *testing.T) {
			dsn := Engines()[0].NewDSN(t)
			importer := openAt(t, dsn)
			if tt.importing {
				if _, err := importer.AnnounceImports(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if tt.withoutTables {
				execute(t, importer, "DROP TABLE import_state", "DROP TABLE import_change", "DROP TABLE import_process")
			}
			p := newCachingProcess(t, dsn)
			if p.known() == tt.importing {
				t.Errorf("known: %v", p.known())
			}
			_ = p.db.Close()
			p.share(t.Context())
			if got := p.Await(t.Context()); got != tt.trusted || p.known() != tt.trusted {
				t.Errorf("trusted: %v, known: %v, want %v", got, p.known(), tt.trusted)
			}
		})
	}
}

// TestAnnouncements checks that announcements are renewed, end, and expire.
func TestAnnouncements(t *testing.T) {
	db := openTest(t, Engines()[0])
	expiries := func() []int64 {
		t.Helper()
		all, err := selectColumn[int64](t.Context(), db.readStatements.query, "SELECT expires_ms FROM import_process WHERE imports = 1 ORDER BY expires_ms")
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	first, err := db.AnnounceImports(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	execute(t, db, "UPDATE import_process SET expires_ms = expires_ms - 1000")
	before := expiries()
	importMerged(t, db.Adapter().Announced(first))
	if got := expiries(); !slices.Equal(got, before) {
		t.Errorf("renewed at once: %v, was %v", got, before)
	}
	first.renewed = first.renewed.Add(-renewProcess)
	importMerged(t, db.Adapter().Announced(first))
	if got := expiries(); len(got) != 1 || got[0] <= before[0] {
		t.Errorf("not renewed: %v, was %v", got, before)
	}
	execute(t, db, "UPDATE import_process SET expires_ms = 1")
	second, err := db.AnnounceImports(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := expiries(); len(got) != 1 {
		t.Errorf("an expired announcement stays: %v", got)
	}
	if err := second.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := expiries(); len(got) != 0 {
		t.Errorf("an announcement that has ended stays: %v", got)
	}
}
