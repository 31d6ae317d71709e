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
	"github.com/portico-commerce/portico/adapter/replica"
)

// TestTogether lets many read, write, change the backend behind Portico's back and
// scan it, while answers get lost now and then. In the end both sides agree, nothing
// was lost that was acknowledged, and a list never showed what was not there.
func TestTogether(t *testing.T) {
	const writers, rounds = 6, 8
	s := openShop(t)
	s.memory.mu.Lock()
	lost := func(_ context.Context, call string) error {
		if !strings.HasPrefix(call, "Scan") && rand.IntN(25) == 0 {
			return memoryError(adapter.Unavailable, "")
		}
		return nil
	}
	s.memory.before, s.memory.after = lost, lost
	s.memory.mu.Unlock()
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
	made, kept := map[adapter.Key]string{}, map[string]string{}
	var writing, all sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			mine := names[w%len(names)] // of one product
			for i := range rounds {
				v := fmt.Sprintf("%d.%d000", w, i%10)
				if ok("update", s.update(adapter.Products, 1, 0, given{mine: v})) {
					mu.Lock()
					kept[mine] = v
					mu.Unlock()
				} else {
					mu.Lock()
					delete(kept, mine)
					mu.Unlock()
				}
				ok("stock", s.of(adapter.StockItems).Update(t.Context(), &adapter.UpdateParams{Key: adapter.Key(1 + i%3), Change: func(current adapter.Record) (adapter.Record, error) {
					return given{"qty": strconv.Itoa(i) + ".0000"}.record(current.Schema), nil
				}}))
				sku := fmt.Sprintf("t-%d-%d", w, i)
				if key, err := s.create(adapter.Products, newProduct(sku)); ok("create", err) {
					mu.Lock()
					made[key] = sku
					mu.Unlock()
					if i%3 == 0 {
						gone := s.delete(adapter.Products, key)
						ok("delete", gone)
						mu.Lock()
						delete(made, key)
						mu.Unlock()
					}
				}
				_, err := s.create(adapter.CustomerAddresses, newAddress(1))
				ok("address", err)
				if key, err := s.create(adapter.ProductCategories, given{"product_id": 3, "category_id": 6}); ok("assign", err) {
					ok("unassign", s.delete(adapter.ProductCategories, key))
				}
			}
		})
	}
	ended := make(chan struct{})
	for _, work := range []func(){
		func() {
			for _, r := range []adapter.Resource{adapter.Products, adapter.CustomerAddresses, adapter.ProductCategories, adapter.StockItems} {
				found, err := s.of(r).List(t.Context(), &adapter.ListParams{Query: adapter.Query{Limit: 20, Offset: int64(rand.IntN(5))}})
				if ok("list", err) && len(found.Records) > 20 {
					t.Errorf("%d records", len(found.Records))
				}
			}
		},
		func() {
			s.memory.edit(adapter.Customers, s.id(adapter.Customers, 1), func(d *memoryDoc) { d.record.Set("lastname", adapter.TextValue(fmt.Sprint(rand.Int()))) })
			_, err := s.of(adapter.Customers).Get(t.Context(), &adapter.GetParams{Key: 1})
			ok("get", err)
		},
		func() { ok("scan", s.Scan(t.Context())) },
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
	s.memory.heal()
	s.scan()
	s.settled()
	for _, res := range s.memory.kept { // what was changed last is taken over when it is read
		s.keys(res.Resource, adapter.Query{})
	}
	s.agree()
	for key, sku := range made {
		s.want(adapter.Products, key, given{"sku": sku})
	}
	for name, v := range kept {
		s.want(adapter.Products, 1, given{name: v})
	}
}

// TestWritersWait: who writes a record that another is writing waits for it, and no
// longer than its context.
func TestWritersWait(t *testing.T) {
	s := openShop(t)
	begun, go_ := make(chan struct{}), make(chan struct{})
	s.memory.mu.Lock()
	s.memory.before = func(_ context.Context, call string) error {
		if call == "Update products" {
			close(begun)
			<-go_
		}
		return nil
	}
	s.memory.mu.Unlock()
	first := make(chan error)
	go func() { first <- s.update(adapter.Products, 1, 0, given{"name": "first"}) }()
	<-begun
	ctx, leave := context.WithTimeout(t.Context(), time.Millisecond)
	defer leave()
	err := s.of(adapter.StockItems).Update(ctx, &adapter.UpdateParams{Key: 1, Change: func(r adapter.Record) (adapter.Record, error) {
		t.Error("it is not its turn")
		return r, nil
	}})
	if err != context.DeadlineExceeded { //nolint:errorlint // returned as it is
		t.Errorf("error %v", err)
	}
	// Others do not wait.
	if err := s.update(adapter.StockItems, 2, 0, given{"qty": "1.0000"}); err != nil {
		t.Error(err)
	}
	close(go_)
	if err := <-first; err != nil {
		t.Error(err)
	}
}

// TestManyBehind brings a whole list up to date at once.
func TestManyBehind(t *testing.T) {
	s := openShop(t)
	all := s.keys(adapter.Products, adapter.Query{})
	for i, key := range all {
		s.memory.edit(adapter.Products, s.id(adapter.Products, key), func(d *memoryDoc) { d.record.Set("name", adapter.TextValue(fmt.Sprint("n", i))) })
	}
	fetches := s.memory.counted("Fetch products")
	found, err := s.of(adapter.Products).List(t.Context(), &adapter.ListParams{})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range found.Records {
		if got := r.Get("name").Text(); got != fmt.Sprint("n", i) {
			t.Errorf("%d is called %s", i, got)
		}
	}
	if got := s.memory.counted("Fetch products") - fetches; got != 2 {
		t.Errorf("%d questions to the backend, want one that finds out and one under the locks", got)
	}
}

// TestReplicas lets two processes create and change at the same time on the same side.
func TestReplicas(t *testing.T) {
	s := openShop(t)
	other := reopen(t, s.side, s.memory, replica.Options{})
	s.LeaveForeign(time.Hour)
	other.LeaveForeign(time.Hour)
	var all sync.WaitGroup
	for i, one := range []*shop{s, other, s, other} {
		all.Go(func() {
			for n := range 10 {
				if _, err := one.create(adapter.Products, newProduct(fmt.Sprintf("r-%d-%d", i, n))); err != nil {
					t.Errorf("create: %v", err)
				}
				if err := one.update(adapter.Products, adapter.Key(4+i), 0, given{"name": fmt.Sprint(i, n)}); err != nil {
					t.Errorf("update: %v", err)
				}
				if err := one.Scan(t.Context()); err != nil {
					t.Errorf("scan: %v", err)
				}
			}
		})
	}
	all.Wait()
	s.scan()
	s.settled()
	s.agree()
	a, b := s.keys(adapter.Products, adapter.Query{}), other.keys(adapter.Products, adapter.Query{})
	if !slices.Equal(a, b) {
		t.Errorf("one lists %v, the other %v", a, b)
	}
}

// TestReplicasMeet: a process that meets the note of a write that another is just
// doing takes it for one that was given up. The other finds out when the backend has
// the write, and both sides agree on it.
func TestReplicasMeet(t *testing.T) {
	for _, c := range []struct {
		name, call string
		do         func(s *shop) error
		r          adapter.Resource // what the other reads
		want       func(s *shop)
	}{
		{"update", "Update products", func(s *shop) error {
			return s.update(adapter.Products, 1, 0, given{"name": "new", "url_key": "new", "stock_item": []given{{"qty": "7.0000"}}})
		}, adapter.Products, func(s *shop) {
			s.want(adapter.Products, 1, given{"name": "new"})
			s.want(adapter.StockItems, 1, given{"qty": "7.0000"})
		}},
		{"create a part", "Create customer_addresses", func(s *shop) error {
			key, err := s.create(adapter.CustomerAddresses, newAddress(1))
			if err == nil {
				s.want(adapter.CustomerAddresses, key, given{"city": "C", "is_default_billing": 1})
			}
			return err
		}, adapter.CustomerAddresses, func(s *shop) { s.want(adapter.CustomerAddresses, 1, given{"is_default_billing": 0}) }},
		{"assign", "Create product_categories", func(s *shop) error {
			_, err := s.create(adapter.ProductCategories, given{"product_id": 3, "category_id": 6, "position": 7})
			return err
		}, adapter.ProductCategories, func(s *shop) {
			if found := s.keys(adapter.ProductCategories, where("category_id", "6")); len(found) == 0 {
				s.t.Error("it is not assigned")
			}
		}},
		{"delete", "Delete products", func(s *shop) error { return s.delete(adapter.Products, 2) }, adapter.Products, func(s *shop) { s.missing(adapter.Products, 2) }},
		{"create", "Create products", func(s *shop) error {
			_, err := s.create(adapter.Products, newProduct("mine"))
			return err
		}, adapter.Products, func(s *shop) {
			if found := s.keys(adapter.Products, where("sku", "mine")); len(found) != 1 {
				s.t.Errorf("found %v", found)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := openShop(t)
			other := reopen(t, s.side, s.memory, replica.Options{})
			other.LeaveForeign(time.Hour)
			s.memory.mu.Lock()
			s.memory.before = func(_ context.Context, call string) error {
				if call == c.call {
					other.keys(c.r, adapter.Query{})
					if err := other.Scan(t.Context()); err != nil {
						t.Error(err)
					}
				}
				return nil
			}
			s.memory.mu.Unlock()
			if err := c.do(s); err != nil {
				t.Fatal(err)
			}
			s.memory.heal()
			for _, one := range []*shop{s, other} {
				c.want(one)
			}
			s.scan()
			s.agree()
			s.settled()
		})
	}
}

// TestReplicaUndoesEarly: a write that another process has undone before the backend
// heard of it was not done, and is not said to be.
func TestReplicaUndoesEarly(t *testing.T) {
	s := openShop(t)
	other := reopen(t, s.side, s.memory, replica.Options{})
	side := &meddled{Replica: s.side}
	a, err := replica.New(replica.Options{Replica: side, Backend: s.memory})
	if err != nil {
		t.Fatal(err)
	}
	s.Adapter = a
	side.updated = func() { other.get(adapter.Products, 1) }
	if err := s.update(adapter.Products, 1, 0, given{"name": "new"}); adapter.KindOf(err) != adapter.Unavailable {
		t.Errorf("error %v", err)
	}
	side.updated = nil
	s.want(adapter.Products, 1, given{"name": "Steel Kettle"})
	s.agree()
	s.settled()
}

// meddled is a side at which something happens after each update.
type meddled struct {
	replica.Replica
	updated func()
}

func (m *meddled) Store(r adapter.Resource) (adapter.Store, error) {
	store, err := m.Replica.Store(r)
	return &meddledStore{store, m}, err
}

type meddledStore struct {
	adapter.Store
	m *meddled
}

func (s *meddledStore) Update(ctx context.Context, p *adapter.UpdateParams) error {
	err := s.Store.Update(ctx, p)
	if err == nil && s.m.updated != nil {
		s.m.updated()
	}
	return err
}
