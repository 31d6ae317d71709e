package importer_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/importer"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
)

// partOf returns the counts of a part in a report.
func partOf(t *testing.T, r apptest.Report, p magento1.Part) *importer.Counts {
	t.Helper()
	for _, one := range r.Resources {
		if one.Resource == string(p) {
			return one
		}
	}
	t.Fatalf("the report has no %s", p)
	return nil
}

// TestImportBadRows imports a shop with rows that no shop should have. Each is counted and named,
// and everything else is imported.
func TestImportBadRows(t *testing.T) {
	t.Parallel()
	shop := apptest.NewImported(t, magento1test.Rich, "", sqltest.SQLite(t))
	const varchars = "INSERT INTO catalog_product_entity_varchar (entity_type_id, attribute_id, store_id, entity_id, value) VALUES (4, "
	magento1test.Break(t, shop.DB,
		"ALTER TABLE catalog_product_entity_text MODIFY value BLOB",
		"UPDATE catalog_product_entity_text SET value = X'C328' WHERE entity_id = 3 AND store_id = 0 AND attribute_id = "+productAttribute("description"),
		"UPDATE catalog_product_entity SET sku = (SELECT UPPER(sku) FROM (SELECT * FROM catalog_product_entity) c WHERE entity_id = 1) WHERE entity_id = 40",
		"UPDATE catalog_product_entity SET created_at = '0000-00-00', updated_at = '0000-00-00' WHERE entity_id = 2",
		varchars+"9999, 0, 1, 'of an unknown attribute')", varchars+productAttribute("name")+", 99, 1, 'of an unknown store view')", varchars+productAttribute("name")+", 0, 999, 'of no product')",
		"INSERT INTO catalog_product_entity_datetime (entity_type_id, attribute_id, store_id, entity_id, value) VALUES (4, "+productAttribute("custom_design_from")+", 0, 1, '0000-00-00')",
		"INSERT INTO catalog_product_website VALUES (1, 77), (999, 1)", "INSERT INTO catalog_product_entity_media_gallery (value_id, attribute_id, entity_id, value) VALUES (900, 88, 999, '/g/o/gone.jpg')", "INSERT INTO catalog_category_product VALUES (999, 1, 5), (11, 1, 5)",
		"UPDATE catalog_category_entity SET parent_id = 15 WHERE entity_id = 11", // 11 > 15 > 11
		"UPDATE sales_flat_order_item SET product_options = 'a:1:{s:4:\"info', weee_tax_applied = 'O:8:\"stdClass' WHERE order_id = 1",
		"UPDATE sales_flat_order_payment SET additional_information = 'a:2:{i:0;' WHERE parent_id = 1",
		"INSERT INTO sales_flat_order_item (item_id, order_id) VALUES (900, 900)")
	left := func(reason string, keys ...string) *importer.Skipped {
		return &importer.Skipped{Reason: reason, Count: int64(len(keys)), Keys: keys}
	}
	skipped := func(reason string, ids ...int64) []*importer.Skipped {
		return []*importer.Skipped{{Reason: reason, Count: int64(len(ids)), IDs: ids}}
	}
	report := shop.Run(t, "all")
	for _, want := range []*importer.Counts{
		{Resource: "categories", Read: 11, Stored: 11, LeftOut: []*importer.Skipped{left("catalog_category_entity: "+magento1.ReasonTree, "category 11", "category 15")}},
		{Resource: "products", Read: 45, Stored: 44, Skipped: skipped("another product has the SKU", 40), LeftOut: []*importer.Skipped{
			left("catalog_product_entity: "+magento1.ReasonNoTime, "product 2"),
			left("catalog_product_entity_varchar: "+magento1.ReasonNoAttribute, "product 1, attribute 9999, store 0"),
			left("catalog_product_entity_varchar: "+magento1.ReasonNoStore, "product 1, attribute name, store 99"),
			left("catalog_product_entity_varchar: "+magento1.ReasonNoRecord, "product 999, attribute name, store 0"),
			left("catalog_product_entity_text: "+magento1.ReasonEncoding, "product 3, attribute description, store 0"),
			left("catalog_product_website: "+magento1.ReasonNoWebsite, "product 1, website 77"),
			left("catalog_product_website: "+magento1.ReasonNoRecord, "product 999"),
			left("catalog_category_product: "+magento1.ReasonNoRecord, "product 1, category 11", "product 1, category 999", "product 42, category 11", "product 42, category 15"),
		}},
		{Resource: "images", Read: 45, Replaced: 44, Skipped: skipped("its product is not here", 40), LeftOut: []*importer.Skipped{
			left("catalog_product_entity_media_gallery: "+magento1.ReasonNoRecord, "product 999, image 900"),
			left("catalog_product_entity_varchar: "+magento1.ReasonNoAttribute, "product 1, attribute 9999, store 0"),
		}},
		{Resource: "stock", Read: 45, Stored: 44, Skipped: skipped("its product is not here", 40)},
		{Resource: "orders", Read: 12, Stored: 12, LeftOut: []*importer.Skipped{left("sales_flat_order_item: "+magento1.ReasonNoRecord, "item_id 900, order 900")}},
	} {
		got := partOf(t, report, magento1.Part(want.Resource))
		byReason := cmpopts.SortSlices(func(a, b *importer.Skipped) bool { return a.Reason < b.Reason })
		if difference := cmp.Diff(want, got, byReason); difference != "" {
			t.Errorf("want -, got +:\n%s", difference)
		}
	}
}

// TestImportBadIDs imports a shop whose tables have rows with ids that no record may have.
// They are counted and named, and a great id of 32 bits is one like any other.
func TestImportBadIDs(t *testing.T) {
	shop := apptest.NewImported(t, magento1test.Rich, "", sqltest.SQLite(t))
	tables := []struct {
		part          magento1.Part
		table, column string
		zero          bool // 0 is an id: of rows that belong to administrators, or of guests
	}{
		{magento1.Websites, "core_website", "website_id", true},
		{magento1.Directory, "directory_country_region", "region_id", false},
		{magento1.CustomerGroups, "customer_group", "customer_group_id", true},
		{magento1.Taxes, "tax_calculation", "tax_calculation_id", false},
		{magento1.Categories, "catalog_category_entity", "entity_id", false},
		{magento1.Products, "catalog_product_entity", "entity_id", false},
		{magento1.Stock, "cataloginventory_stock_item", "item_id", false},
		{magento1.Customers, "customer_entity", "entity_id", false},
		{magento1.Addresses, "customer_address_entity", "entity_id", false},
		{magento1.Orders, "sales_flat_order", "entity_id", false},
	}
	for _, c := range tables {
		statements := []string{
			"CREATE TABLE copied AS SELECT * FROM " + c.table, "ALTER TABLE copied MODIFY " + c.column + " DECIMAL(30) NOT NULL",
			"CREATE TABLE one AS SELECT * FROM copied WHERE " + c.column + " > 0 ORDER BY " + c.column + " DESC LIMIT 1",
		}
		for _, id := range []string{"-7", "0", "2147483649", "9007199254740992", "9223372036854775807", "18446744073709551615"} {
			if id != "0" || !c.zero {
				statements = append(statements, "UPDATE one SET "+c.column+" = "+id, "INSERT INTO copied SELECT * FROM one")
			}
		}
		magento1test.Break(t, shop.DB, append(statements, "DROP TABLE one", "RENAME TABLE "+c.table+" TO before_"+c.table+", copied TO "+c.table)...)
	}
	for _, report := range []apptest.Report{shop.Run(t, "--dry-run", "all"), shop.Run(t, "all")} {
		for _, c := range tables {
			want := &importer.Skipped{Reason: c.table + ": " + magento1.ReasonKey, Count: 4, Keys: []string{c.column + " -7"}}
			if !c.zero {
				want.Count, want.Keys = 5, append(want.Keys, c.column+" 0")
			}
			for _, id := range []string{"9007199254740992", "9223372036854775807", "18446744073709551615"} {
				want.Keys = append(want.Keys, c.column+" "+id)
			}
			got := partOf(t, report, c.part)
			if len(got.LeftOut) != 1 || cmp.Diff(want, got.LeftOut[0]) != "" {
				t.Errorf("%s: want -, got +:\n%s", c.part, cmp.Diff([]*importer.Skipped{want}, got.LeftOut))
			}
		}
		if categories := partOf(t, report, magento1.Categories); categories.Stored != 14 {
			t.Errorf("%+v, want the category with a great id among them", categories)
		}
	}
}

// productAttribute selects the id of an attribute of products.
func productAttribute(code string) string {
	return "(SELECT attribute_id FROM eav_attribute WHERE attribute_code = '" + code + "' AND entity_type_id = 4)"
}

// TestImportMakesURLKeys imports products that other programs have stored without a url_key. They
// get the url_key that the legacy store would make from the name (products 6), if there is one.
func TestImportMakesURLKeys(t *testing.T) {
	dsn := sqltest.SQLite(t)
	shop := apptest.NewImported(t, magento1test.Rich, "", dsn)
	names, keys := "attribute_id = "+productAttribute("name"), "attribute_id = "+productAttribute("url_key")
	apptest.Execute(t, shop.DB,
		"DELETE FROM catalog_product_entity_varchar WHERE entity_id IN (1, 4) AND "+keys,
		"UPDATE catalog_product_entity_varchar SET value = NULL WHERE entity_id = 2 AND "+keys,
		"UPDATE catalog_product_entity_varchar SET value = '' WHERE entity_id = 3 AND "+keys,
		"UPDATE catalog_product_entity_varchar SET value = 'Some Key/With.dots' WHERE entity_id = 2 AND store_id = 0 AND "+names,
		"UPDATE catalog_product_entity_varchar SET value = '中' WHERE entity_id = 4 AND "+names)
	want := []*importer.Skipped{{Reason: "it has no url_key, which is made from its name", Count: 3, Keys: []string{"product 1", "product 2", "product 3"}}}
	if got := partOf(t, shop.Run(t, "websites", "customer-groups", "categories", "products"), magento1.Products); cmp.Diff(want, got.LeftOut) != "" {
		t.Errorf("want -, got +:\n%s", cmp.Diff(want, got.LeftOut))
	}
	for key, want := range map[int64]string{1: "steel-kettle", 2: "some-key-with-dots", 4: ""} {
		if got := productOf(t, dsn, key).Get("url_key").Text(); got != want {
			t.Errorf("product %d has the url_key %q, want %q", key, got, want)
		}
	}
	if got := shop.Run(t, "--update", "products").Counts(); len(got) > 0 {
		t.Errorf("another import changes %v", got)
	}
}

// TestImportOldVersion imports a shop without the tables and columns that came after 1.4. The
// report names them, and all records are imported.
func TestImportOldVersion(t *testing.T) {
	shop := apptest.NewImported(t, magento1test.Rich, "", sqltest.SQLite(t))
	magento1test.Break(t, shop.DB,
		"DROP TABLE api2_acl_attribute, api2_acl_role, api2_acl_rule, api2_acl_user, oauth_token, oauth_consumer, customer_eav_attribute, catalog_product_entity_group_price",
		"ALTER TABLE customer_entity DROP COLUMN disable_auto_group_change", "ALTER TABLE core_config_data DROP COLUMN updated_at",
		"ALTER TABLE admin_user DROP COLUMN rp_token, DROP COLUMN rp_token_created_at", "ALTER TABLE tax_calculation_rule DROP COLUMN calculate_subtotal",
		"ALTER TABLE cataloginventory_stock_item DROP COLUMN is_decimal_divided, CHANGE use_config_enable_qty_inc use_config_enable_qty_increments SMALLINT UNSIGNED NOT NULL DEFAULT 1, "+
			"CHANGE stock_status_changed_auto stock_status_changed_automatically SMALLINT UNSIGNED NOT NULL DEFAULT 0",
		"ALTER TABLE sales_flat_order DROP COLUMN coupon_rule_name, DROP COLUMN gift_message_id", "ALTER TABLE sales_flat_order_address DROP COLUMN vat_id",
		"ALTER TABLE sales_flat_order_status_history DROP COLUMN entity_name, DROP COLUMN is_visible_on_front")
	shop.Commands.MustRun(t, append([]string{"import", "config"}, shop.From...)...)
	report := shop.Run(t, "--media", shop.Media, "all")
	for part, want := range map[magento1.Part]int64{
		magento1.Websites: 9, magento1.CustomerGroups: 5, magento1.Taxes: 5, magento1.Categories: 13, magento1.Products: 45,
		magento1.Stock: 45, magento1.Customers: 8, magento1.Addresses: 9, magento1.Orders: 12,
	} {
		if got := partOf(t, report, part); got.Stored != want || len(got.Skipped)+len(got.LeftOut) > 0 {
			t.Errorf("%+v, want %d stored", got, want)
		}
	}
	if images := partOf(t, report, magento1.Images); images.Replaced != 45 || report.Credentials.Admins.Added != 1 {
		t.Errorf("%+v, %+v", images, report.Credentials)
	}
	table := func(name string) string {
		return "the legacy store's version does not have the table " + name + ": nothing of it was imported"
	}
	column := func(name, of string) string {
		return "the legacy store's version does not have the column " + name + " of " + of + ": the records have none of its values"
	}
	want := []string{
		table("catalog_product_entity_group_price"), column("is_decimal_divided", "cataloginventory_stock_item"),
		column("gift_message_id", "sales_flat_order"), column("is_visible_on_front", "sales_flat_order_status_history"), table("oauth_consumer"), table("oauth_token"),
	}
	var notes []string
	for _, note := range report.Notes {
		if strings.HasPrefix(note, "the legacy store's version") {
			notes = append(notes, note)
		}
	}
	slices.Sort(want)
	slices.Sort(notes)
	if difference := cmp.Diff(want, notes); difference != "" {
		t.Errorf("want -, got +:\n%s", difference)
	}
	t.Run("before 1.4.1, whose orders are in other tables", func(t *testing.T) {
		magento1test.Break(t, shop.DB, "DROP TABLE sales_flat_order")
		_, _, err := shop.Commands.Run(t, append([]string{"import", "--config", shop.Config, "orders"}, shop.From...)...)
		if err == nil || !strings.Contains(err.Error(), "check that it is a database of Magento 1.4.1 or later") {
			t.Errorf("%v", err)
		}
	})
}

// TestImportBadTexts imports texts that only some stores can hold into each of them. A product whose
// SKU a store cannot hold is skipped and named, and another value is left out and named.
func TestImportBadTexts(t *testing.T) {
	t.Parallel()
	type engine struct {
		name          string
		newDSN        func(testing.TB) string
		want, leftOut []*importer.Skipped
	}
	for _, c := range testenv.Rows(t, []engine{
		{"sqlite", sqltest.SQLite, []*importer.Skipped{
			{Reason: "no sku that can be stored", Count: 1, IDs: []int64{3001}},
		}, nil},
		{"postgres", sqltest.Postgres, []*importer.Skipped{
			{Reason: "no sku that can be stored", Count: 1, IDs: []int64{3001}},
			{Reason: "a value that cannot be stored", Count: 1, IDs: []int64{3003}}, // too long for an index
		}, nil},
		{"mariadb", sqltest.MariaDB, []*importer.Skipped{
			{Reason: "no sku that can be stored", Count: 1, IDs: []int64{3001}},
			{Reason: "a value that cannot be stored", Count: 2, IDs: []int64{3002, 3003}},
		}, []*importer.Skipped{{Reason: "a value that cannot be stored", Count: 1, Keys: []string{"products 3004, name"}}}},
	}, 3) {
		t.Run(c.name, func(t *testing.T) {
			dsn := c.newDSN(t)
			shop := apptest.NewImported(t, magento1test.Rich, "", dsn)
			const names = "catalog_product_entity_varchar"
			apptest.Execute(t, shop.DB,
				"ALTER TABLE catalog_product_entity MODIFY sku TEXT CHARACTER SET utf8mb4", "ALTER TABLE "+names+" MODIFY value LONGTEXT CHARACTER SET utf8mb4",
				"INSERT INTO catalog_product_entity (entity_id, entity_type_id, attribute_set_id, type_id, sku, created_at, updated_at) "+
					"SELECT seq, 4, 4, 'simple', CONCAT('bad-', seq), '2012-01-01', '2012-01-01' FROM seq_3001_to_3006",
				"INSERT INTO "+names+" (entity_type_id, attribute_id, store_id, entity_id, value) SELECT 4, "+productAttribute("name")+", 0, seq, CONCAT('Name ', seq) FROM seq_3001_to_3006",
				"INSERT INTO "+names+" (entity_type_id, attribute_id, store_id, entity_id, value) SELECT 4, "+productAttribute("url_key")+", 0, seq, seq FROM seq_3001_to_3006",
				"UPDATE catalog_product_entity SET sku = NULL WHERE entity_id = 3001",
				"UPDATE catalog_product_entity SET sku = REPEAT('s', 300) WHERE entity_id = 3002",
				"UPDATE catalog_product_entity SET sku = (SELECT GROUP_CONCAT(MD5(seq)) FROM seq_1_to_200) WHERE entity_id = 3003", // which no index compresses
				"UPDATE "+names+" SET value = REPEAT('n', 70000) WHERE entity_id = 3004 AND attribute_id = "+productAttribute("name"),
				"UPDATE "+names+" SET value = CONCAT('zero', CHAR(0)) WHERE entity_id = 3005 AND attribute_id = "+productAttribute("name"),
				"UPDATE "+names+" SET value = CONCAT('smile ', _utf8mb4 X'F09F9880') WHERE entity_id = 3006 AND attribute_id = "+productAttribute("name"))
			got := partOf(t, shop.Run(t, "websites", "categories", "products"), magento1.Products)
			if difference := cmp.Diff(c.want, got.Skipped); difference != "" {
				t.Errorf("skipped: want -, got +:\n%s", difference)
			}
			leftOut := append([]*importer.Skipped{{Reason: names + ": " + magento1.ReasonEncoding, Count: 1, Keys: []string{"product 3005, attribute name, store 0"}}}, c.leftOut...)
			if difference := cmp.Diff(leftOut, got.LeftOut); difference != "" {
				t.Errorf("left out: want -, got +:\n%s", difference)
			}
			for key, want := range map[int64]string{3005: "zero\uFFFD", 3006: "smile \U0001F600"} {
				if got := productOf(t, dsn, key).Get("name").Text(); got != want {
					t.Errorf("product %d has the name %q, want %q", key, got, want)
				}
			}
		})
	}
}

// productOf returns a product of a store.
func productOf(t *testing.T, dsn string, key int64) adapter.Record {
	t.Helper()
	db := apptest.OpenRecords(t, sqlstore.Options{DSN: dsn})
	defer func() { _ = db.Close() }()
	store, err := db.Adapter().Store(adapter.Products)
	if err != nil {
		t.Fatal(err)
	}
	product, err := store.Get(t.Context(), &adapter.GetParams{Key: adapter.Key(key)})
	if err != nil {
		t.Fatal(err)
	}
	return product
}
