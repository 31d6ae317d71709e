package magento1test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/adapter/memstore"
)

const prefix = "mage_"

// open creates a shop and returns it with an adapter.
func open(t *testing.T, content Shop) (*LiveShop, *ShopAdapter) {
	t.Helper()
	dsn, db := NewShop(t, content, prefix)
	shop := NewLiveShop(db, prefix)
	a, err := shop.Adapter(t.Context(), dsn, adapter.NewSchemas())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return shop, a
}

// contents returns all records as lines, by resource, without their times.
func contents(t *testing.T, records *memstore.Adapter, but ...string) map[adapter.Resource][]string {
	t.Helper()
	all := map[adapter.Resource][]string{}
	for _, r := range []adapter.Resource{adapter.Websites, adapter.Stores, adapter.CustomerGroups, adapter.Categories, adapter.Customers, adapter.CustomerAddresses, adapter.Products, adapter.Orders} {
		exported, err := records.Export(t.Context(), r, -1, math.MaxInt32)
		if err != nil {
			t.Fatal(err)
		}
		for i := range exported {
			one := &exported[i]
			lines := []string{describe(one.Record, but)}
			for _, part := range one.Parts {
				lines = append(lines, describe(part, but))
			}
			for _, l := range one.Levels {
				if text := describe(l.Record, but); !strings.HasSuffix(text, ":") {
					lines = append(lines, fmt.Sprintf("at %d: %s", l.StoreID, text))
				}
			}
			slices.Sort(lines[1:])
			all[r] = append(all[r], strings.Join(lines, "\n"))
		}
	}
	return all
}

// describe returns the values of a record as text, without its key, its times and some more.
func describe(r adapter.Record, but []string) string {
	var text strings.Builder
	text.WriteString(string(r.Schema.Resource) + ":")
	for i, a := range r.Schema.Attributes {
		v := r.Values[i]
		if v.Kind() == adapter.Absent || a.Name == r.Schema.Key || slices.Contains(but, a.Name) || a.Kind == adapter.KindTime && strings.HasSuffix(a.Name, "_at") {
			continue
		}
		fmt.Fprintf(&text, " %s=%d:%s%q", a.Name, v.Kind(), v.Text(), v.Texts())
		for _, nested := range v.Records() {
			text.WriteString(" " + describe(nested, but))
		}
	}
	return text.String()
}

// fresh returns the records of the tables, read without any cached state.
func fresh(t *testing.T, a *ShopAdapter) *memstore.Adapter {
	t.Helper()
	records := memstore.New(memstore.Options{Schemas: a.schemas})
	for _, p := range magento1.Parts() {
		var all []adapter.Aggregate
		for one, err := range a.legacy.Records(t.Context(), p) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, one)
		}
		if _, err := records.Import(t.Context(), all, adapter.ImportOptions{}); err != nil {
			t.Fatalf("%s: %v", p, err)
		}
	}
	return records
}

// digests returns the digests of all parts.
func digests(t *testing.T, a *ShopAdapter) map[magento1.Part]string {
	t.Helper()
	all := map[magento1.Part]string{}
	for _, p := range magento1.Parts() {
		digest, err := a.legacy.Digests(t.Context(), p, 0, math.MaxInt64-1)
		if err != nil {
			t.Fatal(err)
		}
		all[p] = digest
	}
	return all
}

// change returns a function that sets values, for UpdateParams.
func change(schema *adapter.Schema, values map[string]adapter.Value) func(adapter.Record) (adapter.Record, error) {
	return func(adapter.Record) (adapter.Record, error) {
		r := adapter.NewRecord(schema)
		for name, v := range values {
			r.Set(name, v)
		}
		return r, nil
	}
}

// TestWrites makes clients' writes, and checks that the tables then hold the same records as a
// store in memory after the same writes.
func TestWrites(t *testing.T) {
	t.Parallel()
	_, a := open(t, Rich)
	text, number := adapter.TextValue, adapter.IntegerValue
	record := func(r adapter.Resource, values map[string]adapter.Value) adapter.Record {
		one, _ := change(a.schemas.Of(r), values)(adapter.Record{})
		return one
	}
	prices := func(list string, all ...map[string]adapter.Value) adapter.Value {
		schema := a.schemas.Of(adapter.Products)
		at, _ := schema.Index(list)
		var entries []adapter.Record
		for _, values := range all {
			entry, _ := change(schema.Attributes[at].Nested, values)(adapter.Record{})
			entries = append(entries, entry)
		}
		return adapter.RecordsValue(entries)
	}
	stock := map[string]adapter.Value{}
	for _, of := range a.schemas.Of(adapter.StockItems).Attributes {
		switch {
		case of.ReadOnly || !of.Required:
		case of.Kind == adapter.KindDecimal:
			stock[of.Name] = text("7.0000")
		default:
			stock[of.Name] = number(1)
		}
	}
	update := func(r adapter.Resource, key adapter.Key, store int64, values map[string]adapter.Value) func(context.Context, adapter.Store) error {
		return func(ctx context.Context, s adapter.Store) error {
			return s.Update(ctx, &adapter.UpdateParams{Key: key, StoreID: store, Change: change(a.schemas.Of(r), values)})
		}
	}
	create := func(r adapter.Resource, values map[string]adapter.Value) func(context.Context, adapter.Store) error {
		return func(ctx context.Context, s adapter.Store) error {
			key, err := s.Create(ctx, &adapter.CreateParams{Record: record(r, values)})
			if err == nil {
				_, err = s.Get(ctx, &adapter.GetParams{Key: key})
			}
			return err
		}
	}
	remove := func(key adapter.Key) func(context.Context, adapter.Store) error {
		return func(ctx context.Context, s adapter.Store) error {
			return s.Delete(ctx, &adapter.DeleteParams{Key: key})
		}
	}
	for _, tt := range []struct {
		name     string
		resource adapter.Resource
		write    func(context.Context, adapter.Store) error
	}{
		{"a product at the default scope", adapter.Products, update(adapter.Products, 1, 0, map[string]adapter.Value{
			"name": text("Né\\'w"), "sku": text("new-sku"), "price": text("12.3400"), "special_price": adapter.NullValue(), "status": number(2), "description": text("one\ntwo"), "special_to_date": text("2030-01-02 00:00:00"),
		})},
		{"a product at a store view", adapter.Products, update(adapter.Products, 1, 2, map[string]adapter.Value{"name": text("Neu"), "status": number(1)})},
		{"a value that a store view inherits again", adapter.Products, update(adapter.Products, 1, 2, map[string]adapter.Value{"name": adapter.UnsetValue()})},
		{"prices", adapter.Products, update(adapter.Products, 2, 0, map[string]adapter.Value{
			"tier_price": prices("tier_price",
				map[string]adapter.Value{"website_id": number(0), "cust_group": number(32000), "price": text("80.0000"), "price_qty": text("5.0000")},
				map[string]adapter.Value{"website_id": number(0), "cust_group": number(1), "price": text("70.0000"), "price_qty": text("7.0000")}),
			"group_price": prices("group_price", map[string]adapter.Value{"website_id": number(0), "cust_group": number(2), "price": text("60.0000")}),
		})},
		{"a new product", adapter.Products, create(adapter.Products, map[string]adapter.Value{
			"type_id": text("simple"), "attribute_set_id": number(4), "sku": text("fresh"), "name": text("Fresh"), "price": text("1.0000"), "weight": text("2.0000"), "status": number(1), "visibility": number(4),
			"tax_class_id": number(2), "stock_item": prices("stock_item", stock),
		})},
		{"a deleted product", adapter.Products, remove(3)},
		{"a stock item", adapter.StockItems, update(adapter.StockItems, 2, 0, map[string]adapter.Value{"qty": text("-3.5000"), "is_in_stock": number(0), "low_stock_date": text("2013-01-01 10:00:00")})},
		{"an assignment to a website", adapter.ProductWebsites, create(adapter.ProductWebsites, map[string]adapter.Value{"product_id": number(2), "website_id": number(4)})},
		{"a removed assignment to a website", adapter.ProductWebsites, remove(adapter.Key(assignmentKey(1, 1)))},
		{"an assignment to a category", adapter.ProductCategories, create(adapter.ProductCategories, map[string]adapter.Value{"product_id": number(1), "category_id": number(4), "position": number(-3)})},
		{"a removed assignment to a category", adapter.ProductCategories, remove(adapter.Key(assignmentKey(1, 3)))},
		{"a customer", adapter.Customers, update(adapter.Customers, 1, 0, map[string]adapter.Value{
			"email": text("new@example.com"), "firstname": text("Neu"), "prefix": adapter.NullValue(), "gender": number(1), "dob": text("1980-01-02 00:00:00"), "password_hash": text("other:hash"),
		})},
		{"a new customer", adapter.Customers, create(adapter.Customers, map[string]adapter.Value{
			"website_id": number(1), "store_id": number(0), "email": text("fresh@example.com"), "group_id": number(1), "disable_auto_group_change": number(0), "firstname": text("Fresh"), "created_in": text("Admin"),
		})},
		{"a new address that becomes the default one", adapter.CustomerAddresses, create(adapter.CustomerAddresses, map[string]adapter.Value{
			"customer_id": number(1), "firstname": text("Ada"), "street": adapter.TextsValue([]string{"a", "b"}), "country_id": text("US"), "region_id": number(0), "is_default_billing": number(1), "is_default_shipping": number(0),
		})},
		{"an address", adapter.CustomerAddresses, update(adapter.CustomerAddresses, 1, 0, map[string]adapter.Value{"street": adapter.TextsValue([]string{"x"}), "region": adapter.NullValue(), "is_default_billing": number(1)})},
		{"a deleted address", adapter.CustomerAddresses, remove(2)},
		{"a deleted customer", adapter.Customers, remove(2)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before, err := a.present(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			snapshot, err := before.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			inMemory := memstore.New(memstore.Options{Schemas: a.schemas})
			if err := inMemory.Restore(t.Context(), snapshot); err != nil {
				t.Fatal(err)
			}
			for _, of := range []adapter.Adapter{inMemory, a} {
				s, err := of.Store(tt.resource)
				if err == nil {
					err = tt.write(t.Context(), s)
				}
				if err != nil {
					t.Fatalf("%s: %v", of.Name(), err)
				}
			}
			// A product without a stock status has its stock item's status, and so do the tables. Only
			// imports bring the tax classes of parts.
			derived := []string{"stock_status", "parts_tax_class_id"}
			want, got := contents(t, inMemory, derived...), contents(t, fresh(t, a), derived...)
			if difference := cmp.Diff(contents(t, before, derived...), want); difference == "" {
				t.Error("the write changes nothing")
			}
			if difference := cmp.Diff(want, got); difference != "" {
				t.Errorf("in memory -, in the tables +:\n%s", difference)
			}
		})
	}
}

// TestRefusedWrites checks that a write that fails leaves the tables as they are, and
// returns the caller's own error.
func TestRefusedWrites(t *testing.T) {
	t.Parallel()
	_, a := open(t, Demo)
	before := digests(t, a)
	customers, _ := a.Store(adapter.Customers)
	err := customers.Update(t.Context(), &adapter.UpdateParams{Key: 1, Change: change(a.schemas.Of(adapter.Customers), map[string]adapter.Value{"email": adapter.TextValue("BEN@example.com")})})
	if adapter.KindOf(err) != adapter.Conflict {
		t.Errorf("a second customer with an e-mail address: %v", err)
	}
	own := errors.New("own")
	if err := customers.Update(t.Context(), &adapter.UpdateParams{Key: 1, Change: func(adapter.Record) (adapter.Record, error) { return adapter.Record{}, own }}); !errors.Is(err, own) {
		t.Errorf("the caller's error came back as %v", err)
	}
	orders, _ := a.Store(adapter.Orders)
	if err := orders.Delete(t.Context(), &adapter.DeleteParams{Key: 1}); adapter.KindOf(err) != adapter.Unsupported {
		t.Errorf("deleting an order: %v", err)
	}
	if after := digests(t, a); !cmp.Equal(before, after) {
		t.Error("the tables have changed")
	}
}

// TestReadsAmongChanges reads a product again and again while categories to which it is
// assigned come and go. It must always be there, also when the tables do not stand still.
func TestReadsAmongChanges(t *testing.T) {
	t.Parallel()
	shop, a := open(t, Demo)
	products, _ := a.Store(adapter.Products)
	done := make(chan struct{})
	var changes sync.WaitGroup
	defer changes.Wait()
	defer close(done)
	changes.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			err := shop.inTx(t.Context(), func(tx transaction) error {
				id, err := tx.insert(t.Context(), "INSERT INTO {p}catalog_category_entity (entity_type_id, attribute_set_id, parent_id, path, position, level, children_count) VALUES (3, 3, 2, '1/2/x', 1, 2, 0)")
				if err != nil {
					return err
				}
				return tx.execAll(t.Context(), []string{
					"INSERT INTO {p}catalog_category_product (category_id, product_id) VALUES (?, 1)",
					"DELETE FROM {p}catalog_category_entity WHERE path = '1/2/x' AND entity_id < ?",
				}, id)
			})
			if err != nil {
				t.Error(err)
				return
			}
		}
	})
	for range 10 {
		if _, err := products.Get(t.Context(), &adapter.GetParams{Key: 1}); err != nil {
			t.Fatal(err)
		}
	}
}
