package follow

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/config/testenv"
)

// skuOf returns the SKU of a product in the store, or "" if there is no such product.
func (s *followedShop) skuOf(t *testing.T, key adapter.Key) string {
	t.Helper()
	store, err := s.store.Adapter().Store(adapter.Products)
	if err != nil {
		t.Fatal(err)
	}
	r, err := store.Get(t.Context(), &adapter.GetParams{Key: key})
	if adapter.KindOf(err) == adapter.NotFound {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	return r.Get("sku").Text()
}

// once has a new follower poll and compare everything once.
func (s *followedShop) once(t *testing.T, change func(*Options)) *Follower {
	t.Helper()
	f := s.follower(t, change)
	if _, err := f.Once(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, s.log.String())
	}
	return f
}

// TestFollowPolls makes changes that the legacy store dates, after everything was compared. They
// arrive without another comparison. The binary log cannot be read: the log says why.
func TestFollowPolls(t *testing.T) {
	t.Parallel()
	s := newFollowedShop(t, sqltest.SQLite(t))
	f := s.follower(t, func(o *Options) { o.ComparePeriod = time.Hour })
	stop := start(t, f)
	testenv.Await(t, "the first comparison", func() bool { return s.metric(t, f, "last_comparison_timestamp_seconds", "") > 0 })
	s.execute(t,
		// Swapped SKUs are stored together, and so are chains of renamed SKUs.
		"SET @a = (SELECT sku FROM catalog_product_entity WHERE entity_id = 1), @b = (SELECT sku FROM catalog_product_entity WHERE entity_id = 2), @c = (SELECT sku FROM catalog_product_entity WHERE entity_id = 3)",
		"UPDATE catalog_product_entity SET sku = CASE entity_id WHEN 1 THEN @b WHEN 2 THEN @c ELSE @a END, updated_at = NOW() WHERE entity_id IN (1, 2, 3)",
		"INSERT INTO sales_flat_order (entity_id, state, status, store_id, grand_total, increment_id, created_at, updated_at) VALUES (3000, 'new', 'pending', 1, 20, '300003000', NOW(), NOW())",
		"INSERT INTO sales_flat_order_item (order_id, store_id, created_at, updated_at, product_id, product_type, sku, name, qty_ordered) VALUES (3000, 1, NOW(), NOW(), 4, 'simple', 'x', 'x', 2)",
		"UPDATE cataloginventory_stock_item SET qty = 17 WHERE product_id = 4",
		"UPDATE customer_entity SET email = 'moved@example.com', updated_at = NOW() WHERE entity_id = 1")
	s.awaitEqual(t)
	if s.metric(t, f, "mode", "polling") != 1 {
		t.Error("it does not poll")
	}
	stop()
	if got := strings.Count(s.log.String(), "polling the old database"); got != 1 {
		t.Errorf("the log gives the reason %d times:\n%s", got, s.log.String())
	}
}

// TestFollowParks gives two products of the legacy store one SKU. One of them is parked, the others
// go on, and it is stored when the SKU is free.
func TestFollowParks(t *testing.T) {
	t.Parallel()
	s := newFollowedShop(t, sqltest.SQLite(t))
	before := s.skuOf(t, 1)
	s.execute(t, "SET @sku = (SELECT sku FROM catalog_product_entity WHERE entity_id = 2)", "UPDATE catalog_product_entity SET sku = @sku WHERE entity_id = 1", "UPDATE catalog_product_entity SET sku = 'other-3' WHERE entity_id = 3")
	f := s.once(t, nil)
	if got := s.skuOf(t, 1); got != before || s.skuOf(t, 3) != "other-3" {
		t.Errorf("product 1 has the SKU %s, product 3 %s", got, s.skuOf(t, 3))
	}
	parked, err := s.store.Imports().Parked(t.Context(), s.source(t), coordination.ParkedFilter{Limit: 10})
	if err != nil || len(parked) != 1 || parked[0].Key != 1 || parked[0].Part != "products" || parked[0].Reason != "another product has the SKU" {
		t.Errorf("parked are %+v, %v", parked, err)
	}
	if got := s.metric(t, f, "parked_records", "products"); got != 1 {
		t.Errorf("the metric of parked products is %v", got)
	}
	s.execute(t, "UPDATE catalog_product_entity SET sku = 'free-2' WHERE entity_id = 2")
	s.once(t, nil)
	parked, err = s.store.Imports().Parked(t.Context(), s.source(t), coordination.ParkedFilter{Limit: 10})
	if err != nil || len(parked) != 0 {
		t.Errorf("parked are still %+v, %v", parked, err)
	}
	s.wantEqual(t)
}

// source returns the name of the shop as a source.
func (s *followedShop) source(t *testing.T) string {
	t.Helper()
	sources, err := s.store.Imports().Sources(t.Context())
	if err != nil || len(sources) != 1 {
		t.Fatal(sources, err)
	}
	return sources[0].Name
}

// TestFollowKeeps follows while clients write the products here: existing products stay unchanged.
func TestFollowKeeps(t *testing.T) {
	t.Parallel()
	s := newFollowedShop(t, sqltest.SQLite(t))
	before := s.skuOf(t, 1)
	s.execute(t, "UPDATE catalog_product_entity SET sku = 'changed-1', updated_at = NOW() WHERE entity_id = 1", "DELETE FROM catalog_product_entity WHERE entity_id = 41",
		"INSERT INTO catalog_product_entity (entity_id, entity_type_id, attribute_set_id, type_id, sku, created_at, updated_at) SELECT 2500, entity_type_id, attribute_set_id, type_id, 'new-2500', NOW(), NOW() FROM catalog_product_entity WHERE entity_id = 2",
		"UPDATE sales_flat_order SET status = 'holded' WHERE entity_id = 1")
	here := func(resource string) bool { return resource == "products" }
	s.once(t, func(o *Options) { o.WrittenHere = here })
	if s.skuOf(t, 1) != before || s.skuOf(t, 41) == "" || s.skuOf(t, 2500) != "new-2500" {
		t.Errorf("the products have the SKUs %q, %q and %q", s.skuOf(t, 1), s.skuOf(t, 41), s.skuOf(t, 2500))
	}
	s.once(t, nil) // the writes have moved back
	s.wantEqual(t)
}

// TestFollowHolds removes many records from the legacy store: none are removed here until the owner
// allows it. All other changes arrive.
func TestFollowHolds(t *testing.T) {
	t.Parallel()
	s := newFollowedShop(t, sqltest.SQLite(t))
	s.execute(t, "DELETE FROM sales_flat_order WHERE entity_id > 1", "UPDATE catalog_product_entity SET sku = 'changed-1' WHERE entity_id = 1", "DELETE FROM catalog_product_entity WHERE entity_id = 41")
	f := s.once(t, nil)
	if got := s.metric(t, f, "removals_held", "orders"); got < 10 {
		t.Errorf("%v orders are held", got)
	}
	if s.skuOf(t, 1) != "changed-1" || s.skuOf(t, 41) != "" || len(contents(t, s.store)["orders"]) < 10 {
		t.Errorf("product 1 has the SKU %s, product 41 %q, and there are %d orders", s.skuOf(t, 1), s.skuOf(t, 41), len(contents(t, s.store)["orders"]))
	}
	if !strings.Contains(s.log.String(), "--allow-removals") {
		t.Errorf("the log does not say what to do:\n%s", s.log.String())
	}
	s.once(t, func(o *Options) { o.AllowRemovals = 100 })
	s.wantEqual(t)
}

// TestFollowBurst changes more records than a poll applies one by one.
func TestFollowBurst(t *testing.T) {
	t.Parallel()
	s := newFollowedShop(t, sqltest.SQLite(t))
	f := s.follower(t, func(o *Options) { o.ComparePeriod = time.Hour })
	f.maxSeen = 10
	stop := start(t, f)
	testenv.Await(t, "the first comparison", func() bool { return s.metric(t, f, "last_comparison_timestamp_seconds", "") > 0 })
	s.execute(t, "UPDATE catalog_product_entity SET sku = CONCAT('burst-', entity_id), updated_at = NOW()")
	testenv.Await(t, "the last product", func() bool { return s.skuOf(t, 45) == "burst-45" })
	stop()
	if !strings.Contains(s.log.String(), "compared instead") {
		t.Errorf("the log says nothing of it:\n%s", s.log.String())
	}
	s.wantEqual(t)
}

// TestFollowTakesOver lets a second follower take over while the first one still runs. The
// first one stores nothing more, and stands by.
func TestFollowTakesOver(t *testing.T) {
	t.Parallel()
	s := newFollowedShop(t, sqltest.SQLite(t))
	first := s.follower(t, func(o *Options) { o.Holder = "first" })
	second := s.follower(t, func(o *Options) { o.Holder, o.Log = "second", first.o.Log })
	stop := start(t, first)
	leads := func(f *Follower) bool { return s.metric(t, f, "leader", "") == 1 }
	testenv.Await(t, "the first to lead", func() bool { return leads(first) })
	if _, err := second.Once(t.Context()); !errors.Is(err, ErrFollowed) {
		t.Errorf("the second one: %v", err)
	}
	// As if the first one had not renewed its lease in time.
	lease, ok, err := s.store.Leases().Acquire(t.Context(), leaseName, "first", time.Hour)
	if err != nil || !ok {
		t.Fatal(err, ok)
	}
	testenv.Await(t, "the first to notice", func() bool { return !leads(first) })
	if err := s.store.Leases().Release(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	stop()
	if _, err := second.Once(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestFollowInterrupted interrupts a follower at random moments while random changes go on.
// Afterwards the store is as if nothing had happened.
func TestFollowInterrupted(t *testing.T) {
	t.Parallel()
	s := newFollowedShop(t, sqltest.SQLite(t))
	for range 5 {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		f := s.follower(t, nil)
		go func() { ended <- f.Run(ctx) }()
		for range 1 + rand.N(4) {
			s.execute(t, magento1test.RandomChange())
			time.Sleep(rand.N(40 * time.Millisecond)) // a random moment, which nothing is waited for
		}
		cancel()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	}
	s.once(t, nil)
	s.wantEqual(t)
}
