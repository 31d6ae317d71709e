package magento1_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1"
)

// TestRecordsOf reads every second record of each part by its key, with keys of no records.
func TestRecordsOf(t *testing.T) {
	s := openRich(t, magento1.Options{}, "INSERT INTO log_customer (log_id, visitor_id, customer_id, login_at) VALUES (900, 1, 1, '2014-05-06 07:08:09')")
	for _, p := range magento1.Parts() {
		all := collect(t, s.Records(t.Context(), p))
		var want []adapter.Aggregate
		keys := []adapter.Key{0, 1 << 40, 999_999}
		for i, one := range all {
			if whole := len(p.Resources()) > 1 || p == magento1.CustomerGroups || p == magento1.Taxes; whole || i%2 == 0 {
				want = append(want, one)
				keys = append([]adapter.Key{one.Record.Key(), one.Record.Key()}, keys...)
			}
		}
		got, err := s.RecordsOf(t.Context(), p, keys[:min(len(keys), magento1.MaxKeys)]...)
		if err != nil {
			t.Fatal(p, err)
		}
		if difference := cmp.Diff(texts(want), texts(got)); difference != "" || len(want) < 2 {
			t.Errorf("%s: want -, got +:\n%s", p, difference)
		}
	}
	if _, err := s.RecordsOf(t.Context(), magento1.Products, make([]adapter.Key, magento1.MaxKeys+1)...); err == nil {
		t.Error("there may be more than MaxKeys keys")
	}
	if _, err := s.RecordsOf(t.Context(), "carts", 1); err == nil {
		t.Error("there are carts")
	}
	if got, err := s.RecordsOf(t.Context(), magento1.Orders); err != nil || got != nil {
		t.Errorf("without keys: %v, %v", got, err)
	}
}

// texts returns aggregates as text.
func texts(all []adapter.Aggregate) (list []string) {
	for _, a := range all {
		text := fmt.Sprintf("%s %v parts of %v", a.Record.Schema.Resource, valuesOf(a.Record), a.PartsOf)
		for _, part := range a.Parts {
			text += fmt.Sprintf("\n  %s %v", part.Schema.Resource, valuesOf(part))
		}
		for _, level := range a.Levels {
			text += fmt.Sprintf("\n  at %d %s %v", level.StoreID, level.Record.Schema.Resource, valuesOf(level.Record))
		}
		list = append(list, text)
	}
	return list
}

// TestKeysOf looks for the records that change together with others.
func TestKeysOf(t *testing.T) {
	s := openRich(t, magento1.Options{},
		"UPDATE cataloginventory_stock_item SET item_id = 700 WHERE product_id = 2",
		"INSERT INTO customer_address_entity (entity_id, entity_type_id, parent_id) VALUES (701, 2, 2)",
		"UPDATE sales_flat_order_item SET product_id = 40 WHERE order_id = 1")
	for _, c := range []struct {
		p, of magento1.Part
		key   adapter.Key
		want  adapter.Key
	}{
		{magento1.Stock, magento1.Products, 2, 700},
		{magento1.Addresses, magento1.Customers, 2, 701},
		{magento1.Products, magento1.Orders, 1, 40},
		{magento1.Products, magento1.Stock, 700, 2},
		{magento1.Customers, magento1.Addresses, 701, 2},
	} {
		got, err := s.KeysOf(t.Context(), c.p, c.of, c.key, 999_999)
		if err != nil || !slices.Contains(got, c.want) {
			t.Errorf("%s of %s %d: %v, %v", c.p, c.of, c.key, got, err)
		}
	}
	if got, err := s.KeysOf(t.Context(), magento1.Orders, magento1.Products, 1); err != nil || got != nil {
		t.Errorf("orders of products: %v, %v", got, err)
	}
}

// TestChangedSince asks for the records that have changed since a time.
func TestChangedSince(t *testing.T) {
	s := openRich(t, magento1.Options{}, "UPDATE catalog_product_entity SET updated_at = '2019-01-01 00:00:00'",
		"UPDATE catalog_product_entity SET updated_at = '2020-05-06 07:08:09' WHERE entity_id IN (2, 40)", "UPDATE catalog_product_entity SET updated_at = NULL WHERE entity_id = 3")
	for _, c := range []struct {
		name, since string
		after       adapter.Key
		want        []magento1.Changed
	}{
		{"at the time", "2020-05-06 07:08:09", -1, []magento1.Changed{{2, "2020-05-06 07:08:09"}, {40, "2020-05-06 07:08:09"}}},
		{"later", "2020-05-06 07:08:10", -1, nil},
		{"after a key", "2020-05-06 07:08:09", 2, []magento1.Changed{{40, "2020-05-06 07:08:09"}}},
		{"no time", "0' OR 1", -1, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := s.ChangedSince(t.Context(), magento1.Products, c.since, c.after)
			if err != nil || !cmp.Equal(got, c.want) {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
	for _, p := range magento1.Parts() {
		got, err := s.ChangedSince(t.Context(), p, "2000-01-01 00:00:00", -1)
		if err != nil || magento1.HasChangeTimes(p) != (len(got) > 0) {
			t.Errorf("%s: %d records, %v", p, len(got), err)
		}
	}
	if now, err := s.Now(t.Context()); err != nil || len(now) != len("2006-01-02 15:04:05") {
		t.Errorf("%q, %v", now, err)
	}
}
