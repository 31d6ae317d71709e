package follow

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/importer"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/config/testenv"
)

// A followedShop is a legacy store and a store that was filled from it.
type followedShop struct {
	old   *sql.DB
	from  magento1.Options
	store *sqlstore.DB
	log   testenv.Log
	// registries hold the metrics of the followers.
	registries map[*Follower]*prometheus.Registry
}

// metric returns the value of a gauge of a follower, with the value of its label.
func (s *followedShop) metric(t testing.TB, f *Follower, name, label string) float64 {
	t.Helper()
	families, err := s.registries[f].Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == "portico_follow_"+name && (label == "" || m.GetLabel()[0].GetValue() == label) {
				return m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	}
	return 0
}

// newFollowedShop imports the shop Rich into the store of a DSN.
func newFollowedShop(t *testing.T, dsn string) *followedShop {
	t.Helper()
	from, old := magento1test.NewShop(t, magento1test.Rich, "")
	return followShop(t, from, old, dsn)
}

// newLoggedShop is newFollowedShop on a server with a binary log.
func newLoggedShop(t *testing.T, dsn string) *followedShop {
	t.Helper()
	from := sqltest.LoggedMariaDB(t)
	return followShop(t, from, magento1test.Fill(t, from, magento1test.Rich, ""), dsn)
}

// followShop imports a legacy store into the store of a DSN.
func followShop(t *testing.T, from string, old *sql.DB, dsn string) *followedShop {
	t.Helper()
	s := &followedShop{old: old, from: magento1.Options{ServerOptions: magento1.ServerOptions{DSN: from}, Schemas: adapter.NewSchemas()}, store: openStore(t, dsn)}
	s.importAll(t, s.store)
	return s
}

// openStore opens the store of a DSN.
func openStore(t testing.TB, dsn string) *sqlstore.DB {
	t.Helper()
	db, err := sqlstore.Open(t.Context(), sqlstore.Options{DSN: dsn, MediaDir: t.TempDir(), Migrate: true, SecretKey: strings.Repeat("5a", 32)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// importAll imports the legacy store as it is now.
func (s *followedShop) importAll(t testing.TB, into *sqlstore.DB) {
	t.Helper()
	imp, err := importer.New(t.Context(), importer.Options{From: s.from, Store: into, AllowRemovals: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = imp.Close() }()
	if err := imp.Import(t.Context(), importer.All); err != nil {
		t.Fatal(err)
	}
}

// grow imports the shop Demo with so many more products into a new store.
func (s *followedShop) grow(b *testing.B, products int) {
	b.Helper()
	from, old := magento1test.NewShop(b, magento1test.Demo, "")
	if err := magento1test.Grow(b.Context(), old, "", magento1test.Size{Products: products}); err != nil {
		b.Fatal(err)
	}
	s.old, s.from, s.store = old, magento1.Options{ServerOptions: magento1.ServerOptions{DSN: from}, Schemas: adapter.NewSchemas()}, openStore(b, sqltest.SQLite(b))
	s.importAll(b, s.store)
}

// execute changes the legacy store.
func (s *followedShop) execute(t *testing.T, statements ...string) {
	t.Helper()
	for _, text := range statements {
		if _, err := s.old.ExecContext(t.Context(), text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
}

// follower returns a follower of the shop.
func (s *followedShop) follower(t testing.TB, change func(*Options)) *Follower {
	t.Helper()
	registry := prometheus.NewRegistry()
	metrics := NewMetrics(registry)
	o := Options{
		Options:  importer.Options{From: s.from, Store: s.store, AllowRemovals: -1},
		Interval: 20 * time.Millisecond, Overlap: time.Second, ComparePeriod: 100 * time.Millisecond, Holder: t.Name(),
		Log: slog.New(slog.NewTextHandler(&s.log, nil)), Metrics: metrics,
	}
	if change != nil {
		change(&o)
	}
	f := New(o)
	if s.registries == nil {
		s.registries = map[*Follower]*prometheus.Registry{}
	}
	s.registries[f] = registry
	return f
}

// start runs a follower until stop is called.
func start(t *testing.T, f *Follower) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return stop
}

// contents returns all records and credentials of a store as text, by resource.
func contents(t *testing.T, db *sqlstore.DB) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, r := range []adapter.Resource{
		adapter.Websites, adapter.Stores, adapter.CustomerGroups, adapter.TaxRates, adapter.Categories, adapter.Products, adapter.Customers, adapter.CustomerAddresses, adapter.Orders,
	} {
		for after := adapter.Key(-1); ; {
			batch, err := db.Adapter().Export(t.Context(), r, after, 500)
			if err != nil {
				t.Fatal(r, err)
			}
			for _, one := range batch {
				after = one.Record.Key()
				all[string(r)] = append(all[string(r)], textOf(one))
			}
			if len(batch) < 500 {
				break
			}
		}
	}
	grants, err := db.Credentials().Export(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range grants {
		g.Consumer.ID = 0
		for _, token := range g.Tokens {
			if token.ID, token.ConsumerID = 0, 0; !token.Revoked {
				all["tokens"] = append(all["tokens"], fmt.Sprintf("%s %+v", g.Consumer.Key, token))
			}
		}
		all["consumers"] = append(all["consumers"], fmt.Sprintf("%+v", g.Consumer))
	}
	return all
}

// textOf returns an aggregate as text, without keys that the store chooses.
func textOf(a adapter.Aggregate) string {
	var b strings.Builder
	record := func(r adapter.Record) {
		b.WriteString("\n" + string(r.Schema.Resource))
		for i, v := range r.Values {
			if name := r.Schema.Attributes[i].Name; v.Kind() != adapter.Absent && name != "content" && (name != r.Schema.Key || r.Schema.Resource != adapter.ProductWebsites && r.Schema.Resource != adapter.ProductCategories) {
				fmt.Fprintf(&b, " %s=%q%q", name, v.Text(), v.Texts())
				for _, one := range v.Records() {
					fmt.Fprintf(&b, "%v", one.Values)
				}
			}
		}
	}
	record(a.Record)
	for _, part := range a.Parts {
		record(part)
	}
	for _, level := range a.Levels {
		fmt.Fprintf(&b, "\nat %d", level.StoreID)
		record(level.Record)
	}
	return b.String()
}

// wantEqual fails if the store is not as if the legacy store had been imported into an empty one.
func (s *followedShop) wantEqual(t *testing.T) {
	t.Helper()
	fresh := openStore(t, sqltest.SQLite(t))
	s.importAll(t, fresh)
	if difference := cmp.Diff(contents(t, fresh), contents(t, s.store)); difference != "" {
		t.Errorf("a fresh import -, followed +:\n%s", difference)
	}
}

// nameOf is the SQL expression for the id of the attribute name of products.
const nameOf = "(SELECT attribute_id FROM eav_attribute WHERE attribute_code = 'name' AND entity_type_id = (SELECT entity_type_id FROM eav_entity_type WHERE entity_type_code = 'catalog_product'))"

// everyChange returns changes as an admin panel and a checkout make them.
func everyChange() []struct {
	name       string
	statements []string
} {
	return []struct {
		name       string
		statements []string
	}{
		{"a product is renamed", []string{"UPDATE catalog_product_entity_varchar SET value = 'Renamed' WHERE entity_id = 1 AND store_id = 0 AND attribute_id = " + nameOf, "UPDATE catalog_product_entity SET updated_at = NOW() WHERE entity_id = 1"}},
		{"many are renamed without a date", []string{"UPDATE catalog_product_entity_varchar SET value = CONCAT('Mass ', entity_id) WHERE entity_id BETWEEN 3 AND 9 AND store_id = 0 AND attribute_id = " + nameOf}},
		{"products are deleted", []string{"DELETE FROM catalog_product_entity WHERE entity_id IN (39, 41)"}},
		{"the SKU of a deleted one is used again", []string{"UPDATE catalog_product_entity SET sku = 'was-40', updated_at = NOW() WHERE entity_id = 40",
			"INSERT INTO catalog_product_entity (entity_id, entity_type_id, attribute_set_id, type_id, sku, created_at, updated_at) SELECT 2500, entity_type_id, attribute_set_id, type_id, 'kept-40', NOW(), NOW() FROM catalog_product_entity WHERE entity_id = 40"}},
		{"SKUs are swapped", []string{"SET @a = (SELECT sku FROM catalog_product_entity WHERE entity_id = 1), @b = (SELECT sku FROM catalog_product_entity WHERE entity_id = 2)",
			"UPDATE catalog_product_entity SET sku = IF(entity_id = 1, @b, @a), updated_at = NOW() WHERE entity_id IN (1, 2)"}},
		{"stock is sold", []string{"UPDATE cataloginventory_stock_item SET qty = qty - 1 WHERE product_id IN (2, 3)"}},
		{"an image goes", []string{"DELETE FROM catalog_product_entity_media_gallery WHERE entity_id = 45 LIMIT 1"}},
		{"a product leaves a category", []string{"DELETE FROM catalog_category_product WHERE product_id = 2 LIMIT 1"}},
		{"a category is renamed", []string{"UPDATE catalog_category_entity_varchar SET value = 'Shoes' WHERE entity_id = 3 AND store_id = 0", "UPDATE catalog_category_entity SET updated_at = NOW() WHERE entity_id = 3"}},
		{"an order is placed", []string{"INSERT INTO sales_flat_order (entity_id, state, status, store_id, customer_id, grand_total, increment_id, created_at, updated_at) SELECT 3000, 'new', 'pending', store_id, customer_id, grand_total, '300003000', NOW(), NOW() FROM sales_flat_order WHERE entity_id = 1",
			"INSERT INTO sales_flat_order_item (order_id, store_id, created_at, updated_at, product_id, product_type, sku, name, qty_ordered) SELECT 3000, store_id, NOW(), NOW(), product_id, product_type, sku, name, 2 FROM sales_flat_order_item WHERE order_id = 1 LIMIT 1",
			"UPDATE sales_flat_order SET status = 'holded', updated_at = NOW() WHERE entity_id = 2"}},
		{"a customer changes", []string{"UPDATE customer_entity SET email = 'moved@example.com', updated_at = NOW() WHERE entity_id = 1"}},
		{"a customer is deleted", []string{"DELETE FROM customer_entity WHERE entity_id = 3"}},
		{"a tax rate changes", []string{"UPDATE tax_calculation_rate SET rate = 19.5 LIMIT 1"}},
		{"a price rule is evaluated", []string{"UPDATE catalogrule_product_price SET rule_price = rule_price + 1"}},
		{"a token is revoked", []string{"UPDATE oauth_token SET revoked = 1 ORDER BY entity_id LIMIT 1"}},
		{"a consumer is deleted", []string{"DELETE FROM oauth_consumer ORDER BY entity_id DESC LIMIT 1"}},
	}
}

// TestFollow makes changes of all kinds while a follower runs. Each arrives, and the store is
// in the end as if the shop had been imported into an empty one.
func TestFollow(t *testing.T) {
	for _, e := range sqltest.EnginesInTurn(t) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			s := newFollowedShop(t, e.NewDSN(t))
			stop := start(t, s.follower(t, nil))
			for _, c := range everyChange() {
				s.execute(t, c.statements...)
			}
			stop()
			f := s.follower(t, nil)
			if _, err := f.Once(t.Context()); err != nil {
				t.Fatal(err)
			}
			s.wantEqual(t)
			if t.Failed() {
				t.Log(s.log.String())
			}
		})
	}
}
