package follow

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/config/testenv"
)

// writes returns Writes of a follower of the shop.
func (s *followedShop) writes(t testing.TB, change func(*Options)) *Writes {
	t.Helper()
	w := s.follower(t, func(o *Options) {
		o.Wait = 20 * time.Second
		if change != nil {
			change(o)
		}
	}).Writes()
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// setSKU sets the SKU of a product of the legacy store.
func setSKU(sku, key string) string {
	return "UPDATE catalog_product_entity SET sku = '" + sku + "' WHERE entity_id = " + key
}

// TestWrites applies the changes of single writes.
func TestWrites(t *testing.T) {
	s := newFollowedShop(t, sqltest.SQLite(t))
	w := s.writes(t, nil)
	for _, tt := range []struct {
		name     string
		changes  []string
		resource adapter.Resource
		keys     []adapter.Key
		want     writeOutcome
		key      adapter.Key // of a product, 0 for none
		sku      string      // that it has afterwards
	}{
		{"a product", []string{setSKU("new-1", "1"), setSKU("new-2", "2")}, adapter.Products, []adapter.Key{1}, writeApplied, 1, "new-1"},
		{"no other product", nil, adapter.Products, []adapter.Key{999_999}, writeApplied, 2, s.skuOf(t, 2)},
		{"no key, and dates that are old", nil, adapter.Products, nil, writeUnnamed, 2, s.skuOf(t, 2)},
		{"no key, and a date", []string{"UPDATE catalog_product_entity SET updated_at = NOW() WHERE entity_id = 2"}, adapter.Products, nil, writeApplied, 2, "new-2"},
		{"no key, and no dates", nil, adapter.StockItems, nil, writeUnnamed, 0, ""},
		{"a resource that is not read by itself", nil, adapter.OrderItems, []adapter.Key{1}, writeUnnamed, 0, ""},
		{"an SKU that another product has", []string{setSKU("new-1", "3")}, adapter.Products, []adapter.Key{3}, writeFailed, 3, s.skuOf(t, 3)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s.execute(t, tt.changes...)
			if got := w.await(t.Context(), tt.resource, tt.keys); got != tt.want {
				t.Errorf("%s, want %s\n%s", got, tt.want, s.log.String())
			}
			if tt.key != 0 && s.skuOf(t, tt.key) != tt.sku {
				t.Errorf("product %d has the SKU %s, want %s", tt.key, s.skuOf(t, tt.key), tt.sku)
			}
		})
	}
	parked, err := s.store.Imports().Parked(t.Context(), s.source(t), coordination.ParkedFilter{Limit: 10})
	if err != nil || len(parked) > 0 {
		t.Errorf("parked are %+v, %v", parked, err)
	}

	t.Run("while another process imports", func(t *testing.T) {
		w := s.writes(t, func(o *Options) { o.Wait = 100 * time.Millisecond })
		release, err := s.store.Imports().Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s.execute(t, setSKU("newer-1", "1"))
		if got := w.await(t.Context(), adapter.Products, []adapter.Key{1}); got != writeLate || s.skuOf(t, 1) != "new-1" {
			t.Errorf("%s, and the SKU is %s", got, s.skuOf(t, 1))
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if got := w.await(gone, adapter.Products, []adapter.Key{1}); got != writeLate {
			t.Errorf("%s, although the client has gone", got)
		}
		if w.CaughtUp(adapter.Products) || w.CaughtUp(adapter.ProductImages) || !w.CaughtUp(adapter.Customers) {
			t.Error("it is not known that something of products is not here")
		}
		if err := release(); err != nil {
			t.Fatal(err)
		}
		testenv.Await(t, "the change", func() bool { return s.skuOf(t, 1) == "newer-1" })
		testenv.Await(t, "an end", func() bool { return w.CaughtUp(adapter.Products) && w.CaughtUp(adapter.ProductImages) })
	})
	t.Run("while too many wait", func(t *testing.T) {
		full := &Writes{f: w.f, pending: make(chan *pendingWrite), open: map[adapter.Resource]int{}}
		if got := full.await(t.Context(), adapter.Products, []adapter.Key{1}); got != writeRefused || full.CaughtUp(adapter.Products) {
			t.Errorf("%s, want it refused", got)
		}
	})
	t.Run("while the old database fails", func(t *testing.T) {
		s.execute(t, setSKU("newest-1", "1"), "RENAME TABLE catalog_product_entity_tier_price TO away")
		if got := w.await(t.Context(), adapter.Products, []adapter.Key{1}); got != writeFailed || w.CaughtUp(adapter.Products) {
			t.Errorf("%s, want a failure that is known", got)
		}
		s.execute(t, "RENAME TABLE away TO catalog_product_entity_tier_price")
		testenv.Await(t, "another attempt", func() bool { return w.CaughtUp(adapter.Products) })
		if got := s.skuOf(t, 1); got != "newest-1" {
			t.Errorf("the SKU is %s", got)
		}
	})
	t.Run("without the old database", func(t *testing.T) {
		w := s.writes(t, func(o *Options) { o.From.DSN = "mysql:u:swordfish@tcp(127.0.0.1:1)/d" })
		if got := w.await(t.Context(), adapter.Products, []adapter.Key{1}); got != writeFailed || strings.Contains(s.log.String(), "swordfish") {
			t.Errorf("%s\n%s", got, s.log.String())
		}
	})
}

// TestWritesInOrder writes ever greater values at the legacy store through two processes, one of
// which follows it, too. After each write the store has its value or a greater one: no state that
// was read earlier replaces one that was read later.
func TestWritesInOrder(t *testing.T) {
	dsn := sqltest.SQLite(t)
	s := newFollowedShop(t, dsn)
	other := &followedShop{old: s.old, from: s.from, store: openStore(t, dsn)}
	s.execute(t, setSKU("0", "1"))
	start(t, s.follower(t, func(o *Options) { o.Interval = time.Millisecond }))
	both := []*Writes{s.writes(t, nil), other.writes(t, nil)}
	const rounds = 8
	named := [][]adapter.Key{{1}, nil} // records that take longer to read are stored later
	for key := range adapter.Key(200) {
		named[1] = append(named[1], 1+key)
	}
	var last atomic.Int64
	var writers sync.WaitGroup
	for writer := range 2 * len(both) {
		writers.Go(func() {
			w := both[writer%len(both)]
			for range rounds {
				value := last.Add(1)
				_, err := s.old.ExecContext(t.Context(), "UPDATE catalog_product_entity SET sku = IF(sku > ?, sku, ?), updated_at = NOW() WHERE entity_id = 1",
					fmt.Sprintf("%09d", value), fmt.Sprintf("%09d", value))
				if err != nil {
					t.Error(err)
					return
				}
				if got := w.await(t.Context(), adapter.Products, named[writer%len(both)]); got != writeApplied {
					t.Errorf("%s\n%s", got, s.log.String()+other.log.String())
					return
				}
				if got, want := s.skuOf(t, 1), fmt.Sprintf("%09d", value); got < want {
					t.Errorf("the SKU is %s, and %s was written before", got, want)
				}
			}
		})
	}
	writers.Wait()
}

// BenchmarkWrites applies writes of single products one after the other.
func BenchmarkWrites(b *testing.B) {
	s := &followedShop{}
	s.grow(b, 2_000)
	w := s.writes(b, nil)
	w.await(b.Context(), adapter.Products, []adapter.Key{1}) // connects
	for n := 0; b.Loop(); n++ {
		if _, err := s.old.ExecContext(b.Context(), fmt.Sprintf("UPDATE catalog_product_entity SET sku = 'bench-%d' WHERE entity_id = 1500", n)); err != nil {
			b.Fatal(err)
		}
		if got := w.await(b.Context(), adapter.Products, []adapter.Key{1500}); got != writeApplied {
			b.Fatal(got)
		}
	}
}
