package importer_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/portico-commerce/portico/adapter/importer"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
)

// TestImportOrderAddressWithoutType imports and follows an order with an address that has lost its
// type. The order and its other parts are here, and the report and the log name the address.
func TestImportOrderAddressWithoutType(t *testing.T) {
	t.Parallel()
	shop := apptest.NewImported(t, magento1test.Rich, "", sqltest.SQLite(t))
	forget := "UPDATE sales_flat_order_address SET address_type = NULL WHERE parent_id = 5 AND address_type = 'billing'"
	apptest.Execute(t, shop.DB, forget)
	ids := apptest.SelectTexts(t, shop.DB, "SELECT entity_id FROM sales_flat_order_address WHERE address_type IS NULL")
	want := []*importer.Skipped{{Reason: "no address_type that can be stored", Count: 1, Keys: []string{"orders 5, order_addresses " + ids[0]}}}
	for _, arguments := range [][]string{{"--dry-run", "all"}, {"all"}} {
		got := partOf(t, shop.Run(t, arguments...), magento1.Orders)
		if difference := cmp.Diff(want, got.LeftOut); difference != "" || got.Stored != 12 || len(got.Skipped) > 0 {
			t.Errorf("%v: %d stored, skipped %v; want -, got +:\n%s", arguments, got.Stored, got.Skipped, difference)
		}
	}
	admin := apptest.NewClient(t, shop.Target(t).BaseURL, apptest.DemoAdmin())
	addresses := func() (types string, status string) {
		t.Helper()
		var order struct {
			Status    string
			Addresses []struct {
				Type string `json:"address_type"`
			}
		}
		admin.Read(t, "/orders/5", &order)
		for _, a := range order.Addresses {
			types += a.Type + " "
		}
		return types, order.Status
	}
	if types, _ := addresses(); types != "shipping " {
		t.Errorf("the order has the addresses %q", types)
	}
	if got, err := admin.Call(t.Context(), http.MethodGet, "/orders/5/addresses/billing", ""); err != nil || got.Status != http.StatusNotFound {
		t.Errorf("%d %v", got.Status, err)
	}
	follow := func() (log string) {
		t.Helper()
		_, log, err := shop.Commands.Run(t, append([]string{"follow", "--once", "--config", shop.Config}, shop.From...)...)
		if err != nil {
			t.Fatal(err)
		}
		return log
	}
	apptest.Execute(t, shop.DB, "UPDATE sales_flat_order SET status = 'holded', updated_at = NOW() WHERE entity_id = 5")
	if log := follow(); !strings.Contains(log, "orders 5, order_addresses "+ids[0]) {
		t.Errorf("the log does not name the address:\n%s", log)
	}
	if types, status := addresses(); types != "shipping " || status != "holded" {
		t.Errorf("followed, the order has the addresses %q and the status %s", types, status)
	}
	apptest.Execute(t, shop.DB, "UPDATE sales_flat_order_address SET address_type = 'billing' WHERE entity_id = "+ids[0], "UPDATE sales_flat_order SET updated_at = NOW() + INTERVAL 1 SECOND WHERE entity_id = 5")
	follow()
	if types, _ := addresses(); !strings.Contains(types, "billing") || !strings.Contains(types, "shipping") {
		t.Errorf("with its type again, the order has the addresses %q", types)
	}
}

// TestImportLeavesOutWhatDoesNotFit imports values, entries of lists, and parts that a store of
// MariaDB cannot hold. The rest of each record is stored.
func TestImportLeavesOutWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	dsn := sqltest.MariaDB(t)
	shop := apptest.NewImported(t, magento1test.Rich, "", dsn)
	names := "attribute_id = " + productAttribute("name") + " AND entity_id = 1"
	magento1test.Break(t, shop.DB,
		"ALTER TABLE sales_flat_order_item MODIFY sku TEXT, MODIFY price DECIMAL(30,4), MODIFY item_id BIGINT NOT NULL", "ALTER TABLE catalog_product_entity_varchar MODIFY value LONGTEXT",
		"ALTER TABLE catalog_product_entity_tier_price MODIFY qty DECIMAL(30,4) NOT NULL", "ALTER TABLE sales_flat_order MODIFY coupon_code TEXT, MODIFY subtotal DECIMAL(30,4)",
		"SET @item = (SELECT MIN(item_id) FROM sales_flat_order_item WHERE order_id = 1)",
		"UPDATE sales_flat_order_item SET sku = REPEAT('s', 300), price = 99999999999999 WHERE item_id = @item",
		"INSERT INTO sales_flat_order_item (item_id, order_id, sku) VALUES (-5, 1, 'negative')",
		"UPDATE sales_flat_order SET coupon_code = REPEAT('c', 300), subtotal = 123456789012 WHERE entity_id = 1",
		"UPDATE catalog_product_entity_varchar SET value = REPEAT('n', 70000) WHERE store_id = 0 AND "+names,
		"INSERT INTO catalog_product_entity_varchar (entity_type_id, attribute_id, store_id, entity_id, value) VALUES (4, "+productAttribute("name")+", 2, 1, REPEAT('m', 70000)) ON DUPLICATE KEY UPDATE value = VALUES(value)",
		"INSERT INTO catalog_product_entity_tier_price (value_id, entity_id, all_groups, customer_group_id, qty, value, website_id) VALUES (901, 1, 1, 0, 99999999999999, 5, 0), (902, 1, 1, 0, 77, 5, 0)")
	report := shop.Run(t, "all")
	left := func(reason string, keys ...string) *importer.Skipped {
		return &importer.Skipped{Reason: reason, Count: int64(len(keys)), Keys: keys}
	}
	const value = "a value that cannot be stored"
	for part, want := range map[magento1.Part][]*importer.Skipped{
		magento1.Products: {left(value, "products 1, name"), left("no tier_price that can be stored", "products 1, tier_price 1")},
		magento1.Orders: {
			left(value, "orders 1, coupon_code", "orders 1, subtotal", "orders 1, order_items 1, sku"), left("no item_id that can be stored", "orders 1, order_items -5"),
			left("sales_flat_order_item: "+magento1.ReasonValue, "item_id 1, price"),
		},
	} {
		got := partOf(t, report, part)
		if difference := cmp.Diff(want, got.LeftOut, cmpopts.SortSlices(func(a, b *importer.Skipped) bool { return a.Reason < b.Reason })); difference != "" || len(got.Skipped) > 0 {
			t.Errorf("%s: skipped %v; want -, got +:\n%s", part, got.Skipped, difference)
		}
	}
	target := shop.Target(t)
	admin := apptest.NewClient(t, target.BaseURL, apptest.DemoAdmin())
	var product struct {
		SKU       string           `json:"sku"`
		TierPrice []map[string]any `json:"tier_price"`
	}
	if admin.Read(t, "/products/1", &product); product.SKU != "kettle-steel" || len(product.TierPrice) == 0 {
		t.Errorf("%+v, want the SKU and the tier price that fits", product)
	}
	var items []struct {
		ID string `json:"item_id"`
	}
	if admin.Read(t, "/orders/1/items", &items); len(items) != 2 {
		t.Errorf("%v, want the items without the one of a negative id", items)
	}
	if got := shop.Run(t, "--update", "products", "orders").Counts(); len(got) > 0 {
		t.Errorf("another import changes %v", got)
	}
}
