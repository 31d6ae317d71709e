package replica_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/idmap"
	"github.com/portico-commerce/portico/adapter/replica"
)

// TestConcurrentClients reads, writes, scans and changes the backend's documents at once, while some
// answers get lost. In the end the replica and the backend agree, and no acknowledged write is lost.
func TestConcurrentClients(t *testing.T) {
	const writers, rounds = 6, 8
	f := newFixture(t)
	loseAnswer := func(_ context.Context, call string) error {
		if !strings.HasPrefix(call, "Scan") && rand.IntN(25) == 0 {
			return memoryError(adapter.Unavailable, "")
		}
		return nil
	}
	f.memory.before, f.memory.after = loseAnswer, loseAnswer
	ok := func(op string, err error) bool {
		switch adapter.KindOf(err) {
		case adapter.Unavailable, adapter.NotFound, adapter.Conflict:
		default:
			if err != nil {
				t.Errorf("%s: %v", op, err)
			}
		}
		return err == nil
	}
	names := []string{"name", "description", "price", "url_key", "meta_title", "short_description"}
	var mu sync.Mutex
	created, acknowledged := map[adapter.Key]string{}, map[string]string{}
	var writing, all sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			attribute := names[w%len(names)] // the attribute of product 1 that this writer changes
			for i := range rounds {
				v := fmt.Sprintf("%d.%d000", w, i%10)
				if ok("update", f.update(adapter.Products, 1, 0, attrs{attribute: v})) {
					mu.Lock()
					acknowledged[attribute] = v
					mu.Unlock()
				} else {
					mu.Lock()
					delete(acknowledged, attribute)
					mu.Unlock()
				}
				ok("stock", f.store(adapter.StockItems).Update(t.Context(), &adapter.UpdateParams{Key: adapter.Key(1 + i%3), Change: func(current adapter.Record) (adapter.Record, error) {
					return attrs{"qty": strconv.Itoa(i) + ".0000"}.Record(current.Schema), nil
				}}))
				sku := fmt.Sprintf("t-%d-%d", w, i)
				if key, err := f.create(adapter.Products, newProduct(sku)); ok("create", err) {
					mu.Lock()
					created[key] = sku
					mu.Unlock()
					if i%3 == 0 {
						ok("delete", f.delete(adapter.Products, key))
						mu.Lock()
						delete(created, key)
						mu.Unlock()
					}
				}
				_, err := f.create(adapter.CustomerAddresses, newAddress(1))
				ok("address", err)
				if key, err := f.create(adapter.ProductCategories, attrs{"product_id": 3, "category_id": 6}); ok("assign", err) {
					ok("unassign", f.delete(adapter.ProductCategories, key))
				}
			}
		})
	}
	ended := make(chan struct{})
	for _, work := range []func(){
		func() {
			for _, r := range []adapter.Resource{adapter.Products, adapter.CustomerAddresses, adapter.ProductCategories, adapter.StockItems} {
				found, err := f.store(r).List(t.Context(), &adapter.ListParams{Query: adapter.Query{Limit: 20, Offset: int64(rand.IntN(5))}})
				if ok("list", err) && len(found.Records) > 20 {
					t.Errorf("%d records", len(found.Records))
				}
			}
		},
		func() {
			f.memory.edit(adapter.Customers, f.id(adapter.Customers, 1), func(d *memoryDoc) { d.record.Set("lastname", adapter.TextValue(fmt.Sprint(rand.Int()))) })
			_, err := f.store(adapter.Customers).Get(t.Context(), &adapter.GetParams{Key: 1})
			ok("get", err)
		},
		func() { ok("scan", f.Scan(t.Context())) },
	} {
		all.Go(func() {
			for {
				select {
				case <-ended:
					return
				default:
					work()
				}
			}
		})
	}
	writing.Wait()
	close(ended)
	all.Wait()
	f.memory.clearFaults()
	f.scan()
	f.checkNoIntents()
	for _, res := range f.memory.resources { // apply the latest changes by reading
		f.keys(res.Resource, adapter.Query{})
	}
	f.checkAgreement()
	for key, sku := range created {
		f.checkValues(adapter.Products, key, attrs{"sku": sku})
	}
	for name, v := range acknowledged {
		f.checkValues(adapter.Products, 1, attrs{name: v})
	}
}

// TestWritersWait checks that a writer waits for another writer of the same record, but not
// beyond its own context.
func TestWritersWait(t *testing.T) {
	f := newFixture(t)
	started, release := make(chan struct{}), make(chan struct{})
	f.memory.before = func(_ context.Context, call string) error {
		if call == "Update products" {
			close(started)
			<-release
		}
		return nil
	}
	first := make(chan error)
	go func() { first <- f.update(adapter.Products, 1, 0, attrs{"name": "first"}) }()
	<-started
	ctx, leave := context.WithTimeout(t.Context(), time.Millisecond)
	defer leave()
	err := f.store(adapter.StockItems).Update(ctx, &adapter.UpdateParams{Key: 1, Change: func(r adapter.Record) (adapter.Record, error) {
		t.Error("the second writer did not wait")
		return r, nil
	}})
	if err != context.DeadlineExceeded { //nolint:errorlint // returned unchanged
		t.Errorf("error %v", err)
	}
	// Writers of other records do not wait.
	if err := f.update(adapter.StockItems, 2, 0, attrs{"qty": "1.0000"}); err != nil {
		t.Error(err)
	}
	close(release)
	if err := <-first; err != nil {
		t.Error(err)
	}
}

// TestManyStale reconciles a whole list with one read.
func TestManyStale(t *testing.T) {
	f := newFixture(t)
	all := f.keys(adapter.Products, adapter.Query{})
	for i, key := range all {
		f.memory.edit(adapter.Products, f.id(adapter.Products, key), func(d *memoryDoc) { d.record.Set("name", adapter.TextValue(fmt.Sprint("n", i))) })
	}
	fetches := f.memory.callCount("Fetch products")
	for i, r := range adaptertest.MustList(t, f.store(adapter.Products), adapter.ListParams{}).Records {
		if got := r.Get("name").Text(); got != fmt.Sprint("n", i) {
			t.Errorf("product %d has the name %s", i, got)
		}
	}
	if got := f.memory.callCount("Fetch products") - fetches; got != 2 {
		t.Errorf("%d fetches, want one to compare and one under the locks", got)
	}
}

// TestTwoProcesses creates and updates records in two processes that share a replica, and
// scans meanwhile. No scan may roll back an update that the backend does not have yet.
func TestTwoProcesses(t *testing.T) {
	f := newFixture(t)
	other := reopen(t, f.local, f.memory, replica.Options{})
	f.SetForeignIntentAge(time.Hour)
	other.SetForeignIntentAge(time.Hour)
	var all sync.WaitGroup
	for i, one := range []*fixture{f, other, f, other} {
		all.Go(func() {
			for n := range 10 {
				if _, err := one.create(adapter.Products, newProduct(fmt.Sprintf("r-%d-%d", i, n))); err != nil {
					t.Errorf("create: %v", err)
				}
				if err := one.update(adapter.Products, adapter.Key(4+i), 0, attrs{"name": fmt.Sprint(i, n)}); err != nil {
					t.Errorf("update: %v", err)
				}
				if err := one.Scan(t.Context()); err != nil {
					t.Errorf("scan: %v", err)
				}
			}
		})
	}
	all.Wait()
	f.scan()
	f.checkNoIntents()
	f.checkAgreement()
	a, b := f.keys(adapter.Products, adapter.Query{}), other.keys(adapter.Products, adapter.Query{})
	if !slices.Equal(a, b) {
		t.Errorf("one process lists %v, the other %v", a, b)
	}
}

// TestIntentOfRunningWrite lets one process resolve the intent of a write that another
// process is still doing. Once the backend has the write, the replica and the backend agree
// on it.
func TestIntentOfRunningWrite(t *testing.T) {
	for _, c := range []struct {
		name, call string
		do         func(f *fixture) error
		r          adapter.Resource // resource that the other process reads
		want       func(f *fixture)
	}{
		{"update", "Update products", func(f *fixture) error {
			return f.update(adapter.Products, 1, 0, attrs{"name": "new", "url_key": "new", "stock_item": []attrs{{"qty": "7.0000"}}})
		}, adapter.Products, func(f *fixture) {
			f.checkValues(adapter.Products, 1, attrs{"name": "new"})
			f.checkValues(adapter.StockItems, 1, attrs{"qty": "7.0000"})
		}},
		{"create a part", "Create customer_addresses", func(f *fixture) error {
			key, err := f.create(adapter.CustomerAddresses, newAddress(1))
			if err == nil {
				f.checkValues(adapter.CustomerAddresses, key, attrs{"city": "C", "is_default_billing": 1})
			}
			return err
		}, adapter.CustomerAddresses, func(f *fixture) { f.checkValues(adapter.CustomerAddresses, 1, attrs{"is_default_billing": 0}) }},
		{"assign", "Create product_categories", func(f *fixture) error {
			_, err := f.create(adapter.ProductCategories, attrs{"product_id": 3, "category_id": 6, "position": 7})
			return err
		}, adapter.ProductCategories, func(f *fixture) {
			if found := f.keys(adapter.ProductCategories, where("category_id", "6")); len(found) == 0 {
				f.t.Error("the category is not assigned")
			}
		}},
		{"delete", "Delete products", func(f *fixture) error { return f.delete(adapter.Products, 2) }, adapter.Products, func(f *fixture) { f.checkMissing(adapter.Products, 2) }},
		{"create", "Create products", func(f *fixture) error {
			_, err := f.create(adapter.Products, newProduct("new"))
			return err
		}, adapter.Products, func(f *fixture) {
			if found := f.keys(adapter.Products, where("sku", "new")); len(found) != 1 {
				f.t.Errorf("found %v", found)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			other := reopen(t, f.local, f.memory, replica.Options{})
			other.SetForeignIntentAge(time.Hour)
			other.SetForeignWriteWait(0)
			f.memory.before = func(_ context.Context, call string) error {
				if call == c.call {
					other.keys(c.r, adapter.Query{})
					if err := other.Scan(t.Context()); err != nil {
						t.Error(err)
					}
				}
				return nil
			}
			if err := c.do(f); err != nil {
				t.Fatal(err)
			}
			f.memory.clearFaults()
			for _, one := range []*fixture{f, other} {
				c.want(one)
			}
			f.scan()
			f.checkAgreement()
			f.checkNoIntents()
		})
	}
}

// TestOtherProcessRollsBack checks that a write fails if another process rolled it back
// before it was sent to the backend.
func TestOtherProcessRollsBack(t *testing.T) {
	f := newFixture(t)
	other := reopen(t, f.local, f.memory, replica.Options{})
	hooked := &hookedReplica{Replica: f.local}
	a, err := replica.New(replica.Options{Replica: hooked, Backend: f.memory})
	if err != nil {
		t.Fatal(err)
	}
	f.Adapter = a
	hooked.afterUpdate = func() { other.get(adapter.Products, 1) }
	if err := f.update(adapter.Products, 1, 0, attrs{"name": "new"}); adapter.KindOf(err) != adapter.Unavailable {
		t.Errorf("error %v", err)
	}
	hooked.afterUpdate = nil
	f.checkValues(adapter.Products, 1, attrs{"name": "Steel Kettle"})
	f.checkAgreement()
	f.checkNoIntents()
}

// TestScanLeavesForeignIntents checks that a scan does not touch a record that another process is
// writing, and resolves the intent once it is older than foreignIntentAge.
func TestScanLeavesForeignIntents(t *testing.T) {
	for _, c := range []struct {
		age  time.Duration
		want string
	}{{time.Hour, "new"}, {0, "Steel Kettle"}} {
		t.Run(c.age.String(), func(t *testing.T) {
			f := newFixture(t)
			other := reopen(t, f.local, f.memory, replica.Options{})
			other.SetForeignIntentAge(c.age)
			hooked := &hookedReplica{Replica: f.local, afterUpdate: other.scan}
			f.Adapter = newAdapter(t, hooked, f.memory)
			err := f.update(adapter.Products, 1, 0, attrs{"name": "new"})
			if (err == nil) != (c.want == "new") {
				t.Errorf("error %v", err)
			}
			if noted := other.metric("portico_side_noted"); (noted == 1) != (c.want == "new") {
				t.Errorf("%v unresolved writes counted", noted)
			}
			hooked.afterUpdate = nil
			for _, one := range []*fixture{f, other} {
				one.checkValues(adapter.Products, 1, attrs{"name": c.want})
			}
			f.checkAgreement()
			f.checkNoIntents()
		})
	}
}

// TestReadWaitsForForeignWrite checks that a read of a record that another process is writing
// waits for the write instead of undoing it.
func TestReadWaitsForForeignWrite(t *testing.T) {
	f := newFixture(t)
	other := reopen(t, f.local, f.memory, replica.Options{})
	looks := make(chan struct{}, 1000)
	other.Adapter = newAdapter(t, &hookedReplica{Replica: f.local, beforeMappings: func() { looks <- struct{}{} }}, f.memory)
	other.SetForeignWriteWait(time.Hour)
	done := make(chan struct{})
	f.Adapter = newAdapter(t, &hookedReplica{Replica: f.local, afterUpdate: func() {
		go func() {
			defer close(done)
			other.checkValues(adapter.Products, 1, attrs{"name": "new"})
		}()
		for range 4 { // the read finds the intent, looks again under the lock, and then while it waits
			select {
			case <-looks:
			case <-done:
				t.Error("the read did not wait")
			}
		}
	}}, f.memory)
	if err := f.update(adapter.Products, 1, 0, attrs{"name": "new"}); err != nil {
		t.Error(err)
	}
	<-done
	f.checkAgreement()
	f.checkNoIntents()
}

// TestListWhileCreating lists a new record in another process while it is in the local replica and
// not at the backend yet. The list leaves it out, and the next one has it.
func TestListWhileCreating(t *testing.T) {
	f := newFixture(t)
	other := reopen(t, f.local, f.memory, replica.Options{})
	other.SetForeignIntentAge(time.Hour)
	hooked := &hookedReplica{Replica: f.local}
	f.Adapter = newAdapter(t, hooked, f.memory)
	hooked.afterCreate = func() {
		if found := other.keys(adapter.Products, where("sku", "new")); len(found) != 0 {
			t.Errorf("found %v before it is created", found)
		}
	}
	if _, err := f.create(adapter.Products, newProduct("new")); err != nil {
		t.Fatal(err)
	}
	for _, one := range []*fixture{f, other} {
		if found := one.keys(adapter.Products, where("sku", "new")); len(found) != 1 {
			t.Errorf("found %v", found)
		}
	}
}

// TestReconcileKeepsNewIntent lets a process reconcile a record for which another process has stored
// a write intent in the meantime. The intent remains until it is resolved.
func TestReconcileKeepsNewIntent(t *testing.T) {
	f := newFixture(t)
	hooked := &hookedReplica{Replica: f.local}
	f.Adapter = newAdapter(t, hooked, f.memory)
	f.SetForeignWriteWait(0)
	f.memory.edit(adapter.Products, f.id(adapter.Products, 1), func(d *memoryDoc) { d.record.Set("name", adapter.TextValue("theirs")) })
	hooked.beforeComplete = func() {
		written, _ := f.mapping(adapter.Products, 1)
		written.Intent = []byte(`{"by":"other","op":"update","resource":"products","key":1,"named":["name"],"old":{"name":"Steel Kettle"}}`)
		if err := f.local.PutMappings(t.Context(), written); err != nil {
			t.Error(err)
		}
	}
	if _, err := f.store(adapter.Products).Get(t.Context(), &adapter.GetParams{Key: 1}); adapter.KindOf(err) != adapter.Unavailable {
		t.Errorf("error %v", err)
	}
	if mapping, _ := f.mapping(adapter.Products, 1); mapping.Intent == nil {
		t.Error("the write intent is gone")
	}
	hooked.beforeComplete = nil
	f.SetForeignIntentAge(0) // the other process has ended
	f.checkValues(adapter.Products, 1, attrs{"name": "theirs"})
	f.checkAgreement()
	f.checkNoIntents()
}

// A hookedReplica calls functions after each create of a root, after each update, before mappings are
// read, and before an intent is completed.
type hookedReplica struct {
	replica.Replica
	afterCreate, afterUpdate, beforeMappings, beforeComplete func()
}

func (m *hookedReplica) CompleteIntent(ctx context.Context, intent []byte, root idmap.Mapping, parts ...idmap.Mapping) (completed bool, err error) {
	if m.beforeComplete != nil {
		m.beforeComplete()
	}
	return m.Replica.CompleteIntent(ctx, intent, root, parts...)
}

func (m *hookedReplica) VersionsByKey(ctx context.Context, r adapter.Resource, keys []adapter.Key) ([]idmap.Mapping, error) {
	if m.beforeMappings != nil {
		m.beforeMappings()
	}
	return m.Replica.VersionsByKey(ctx, r, keys)
}

func (m *hookedReplica) MappingsByKey(ctx context.Context, r adapter.Resource, keys []adapter.Key) ([]idmap.Mapping, error) {
	if m.beforeMappings != nil {
		m.beforeMappings()
	}
	return m.Replica.MappingsByKey(ctx, r, keys)
}

func (m *hookedReplica) CreateWithIntent(ctx context.Context, p *adapter.CreateParams, intent func(adapter.Key) ([]byte, error)) (adapter.Key, error) {
	key, err := m.Replica.CreateWithIntent(ctx, p, intent)
	if err == nil && m.afterCreate != nil {
		m.afterCreate()
	}
	return key, err
}

func (m *hookedReplica) Store(r adapter.Resource) (adapter.Store, error) {
	store, err := m.Replica.Store(r)
	return &hookedStore{store, m}, err
}

type hookedStore struct {
	adapter.Store
	m *hookedReplica
}

func (s *hookedStore) Update(ctx context.Context, p *adapter.UpdateParams) error {
	err := s.Store.Update(ctx, p)
	if err == nil && s.m.afterUpdate != nil {
		s.m.afterUpdate()
	}
	return err
}
