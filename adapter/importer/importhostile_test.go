package importer_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
)

// hostileRows returns rows, by name, that an attacker may have put into a legacy store to harm its
// readers.
func hostileRows() map[string][]string {
	const escape = `CONCAT(CHAR(27), '[2J', CHAR(7), CHAR(10), CHAR(13), _utf8mb4 X'E280AE', CHAR(155 USING latin1))`
	name := productAttribute("name")
	return map[string][]string{
		"very long texts": {
			"ALTER TABLE catalog_product_entity_text MODIFY value LONGTEXT", "ALTER TABLE sales_flat_order_status_history MODIFY comment LONGTEXT", "ALTER TABLE catalog_product_entity MODIFY sku LONGTEXT, DROP INDEX sku",
			"UPDATE catalog_product_entity_text SET value = REPEAT('long ', 1000000) WHERE entity_id IN (1, 2, 3)", "UPDATE sales_flat_order_status_history SET comment = REPEAT('x', 5000000) WHERE parent_id = 1",
			"UPDATE catalog_product_entity SET sku = REPEAT('s', 3000000) WHERE entity_id = 40",
		},
		"bytes that are no text": {
			"ALTER TABLE catalog_product_entity_varchar MODIFY value VARBINARY(255)", "ALTER TABLE sales_flat_order_address MODIFY lastname VARBINARY(255), MODIFY address_type VARBINARY(255)", "ALTER TABLE admin_user MODIFY username VARBINARY(255)",
			"UPDATE catalog_product_entity_varchar SET value = X'C328FFFE00EDA080F4908080' WHERE entity_id = 4 AND attribute_id = " + name,
			"UPDATE sales_flat_order_address SET lastname = X'FF', address_type = X'FE' WHERE parent_id = 2", "INSERT INTO admin_user (user_id, username) VALUES (77, X'FFFE')",
		},
		"texts that disturb a terminal": {
			"INSERT INTO eav_attribute (attribute_id, entity_type_id, attribute_code, backend_type, is_user_defined) VALUES (990, 4, " + escape + ", 'varchar', 1)", "INSERT INTO catalog_eav_attribute (attribute_id) VALUES (990)",
			"INSERT INTO catalog_product_entity_varchar (entity_type_id, attribute_id, store_id, entity_id, value) VALUES (4, 990, 0, 1, 'x'), (4, 990, 99, 1, 'x')",
			"INSERT INTO catalog_product_entity_media_gallery (value_id, attribute_id, entity_id, value) VALUES (991, 88, 45, CONCAT('/', " + escape + ", '/../../etc/passwd'))",
			"INSERT INTO oauth_consumer (entity_id, name, `key`, secret, rejected_callback_url) VALUES (992, " + escape + ", REPEAT('q', 32), REPEAT('q', 32), '')",
			"UPDATE oauth_consumer SET `key` = 'short', name = " + escape + " WHERE entity_id = 2", "INSERT INTO admin_user (user_id, username) VALUES (993, " + escape + ")",
			"INSERT INTO core_config_data (scope, scope_id, path, value) VALUES ('websites', 1, 'general/locale/timezone', " + escape + ")",
		},
		"thousands of attributes of one product": {
			"INSERT INTO eav_attribute (attribute_id, entity_type_id, attribute_code, backend_type, is_user_defined) SELECT 20000 + seq, 4, CONCAT('more_', seq), 'varchar', 1 FROM seq_1_to_1500",
			"INSERT INTO catalog_eav_attribute (attribute_id) SELECT 20000 + seq FROM seq_1_to_1500",
			"INSERT INTO catalog_product_entity_varchar (entity_type_id, attribute_id, store_id, entity_id, value) SELECT 4, 20000 + seq, 0, 5, REPEAT('v', 200) FROM seq_1_to_1500",
		},
		"thousands of parts of one record": {
			"INSERT INTO sales_flat_order_item (item_id, order_id, sku) SELECT 10000 + seq, 3, CONCAT('part-', seq) FROM seq_1_to_4000",
			"INSERT INTO sales_flat_order_address (entity_id, parent_id) SELECT 10000 + seq, 3 FROM seq_1_to_4000",
			"INSERT INTO catalog_product_entity_media_gallery (value_id, attribute_id, entity_id, value) SELECT 20000 + seq, 88, 6, CONCAT('/m/a/many', seq, '.jpg') FROM seq_1_to_4000",
			"INSERT INTO catalog_product_entity_tier_price (value_id, entity_id, all_groups, customer_group_id, qty, value, website_id) SELECT 20000 + seq, 6, 1, 0, seq, 5, 0 FROM seq_1_to_4000",
		},
		"ids that refer to nothing": slices.Concat(
			withoutKeys("sales_flat_order", "sales_flat_order_item", "customer_address_entity", "customer_entity", "catalog_product_website", "catalog_category_product"), []string{
				"ALTER TABLE sales_flat_order MODIFY customer_id DECIMAL(40), MODIFY store_id DECIMAL(40)", "ALTER TABLE sales_flat_order_item MODIFY parent_item_id DECIMAL(40), MODIFY product_id DECIMAL(40), MODIFY item_id DECIMAL(40)",
				"ALTER TABLE customer_address_entity MODIFY parent_id DECIMAL(40)", "ALTER TABLE customer_entity MODIFY group_id DECIMAL(40), MODIFY website_id DECIMAL(40)",
				"ALTER TABLE catalog_product_website MODIFY website_id BIGINT", "ALTER TABLE catalog_category_product MODIFY category_id BIGINT, MODIFY position BIGINT",
				"UPDATE sales_flat_order SET customer_id = -1 WHERE entity_id = 4", "UPDATE sales_flat_order SET store_id = 99999999999999999999999999 WHERE entity_id = 5",
				"UPDATE sales_flat_order_item SET parent_item_id = -9223372036854775809, product_id = 18446744073709551616 WHERE order_id = 1", "UPDATE sales_flat_order_item SET item_id = 99999999999999999999 WHERE order_id = 2 ORDER BY item_id LIMIT 1",
				"UPDATE customer_entity SET group_id = -3, website_id = 18446744073709551616 WHERE entity_id = 2", "INSERT INTO catalog_product_website (product_id, website_id) VALUES (7, -1)",
				"INSERT INTO catalog_category_product (category_id, product_id, position) VALUES (-1, 7, 1), (9223372036854775807, 7, -9223372036854775808)",
			}),
		"dates that are none": {
			"UPDATE catalog_product_entity SET created_at = '0000-00-00', updated_at = '0000-00-00' WHERE entity_id = 8", "ALTER TABLE sales_flat_order MODIFY created_at VARCHAR(40), MODIFY updated_at VARCHAR(40)",
			"UPDATE sales_flat_order SET created_at = '2012-13-45 99:99:99', updated_at = '9999-99-99' WHERE entity_id = 6", "UPDATE sales_flat_order SET created_at = '-0001-11-30 00:00:00', updated_at = '0000-00-00 00:00:00' WHERE entity_id = 7",
			"ALTER TABLE sales_flat_order_status_history MODIFY created_at VARCHAR(40)", "UPDATE sales_flat_order_status_history SET created_at = 'yesterday' WHERE parent_id = 1",
			"ALTER TABLE catalogrule_product_price MODIFY rule_date VARCHAR(40)", "UPDATE catalogrule_product_price SET rule_date = '0000-00-00'",
		},
		"numbers that are none": {
			"ALTER TABLE catalog_product_entity_decimal MODIFY value VARCHAR(400)", "UPDATE catalog_product_entity_decimal SET value = REPEAT('9', 400) WHERE entity_id = 9", "UPDATE catalog_product_entity_decimal SET value = '1e999999999' WHERE entity_id = 10",
			"ALTER TABLE cataloginventory_stock_item MODIFY qty VARCHAR(400)", "UPDATE cataloginventory_stock_item SET qty = '-99999999999999999999.99999999' WHERE product_id = 9", "UPDATE cataloginventory_stock_item SET qty = 'NaN' WHERE product_id = 10",
			"ALTER TABLE sales_flat_order MODIFY grand_total VARCHAR(400)", "UPDATE sales_flat_order SET grand_total = '0x7fffffff' WHERE entity_id = 8",
		},
	}
}

// unreadableKey is the record whose key the hostile rows replace by one that no record can have.
const unreadableKey = "order_items 3"

// withoutKeys returns statements that replace tables by copies without keys, which other columns can
// be given.
func withoutKeys(tables ...string) (statements []string) {
	for _, name := range tables {
		statements = append(statements, "CREATE TABLE copied AS SELECT * FROM "+name, "RENAME TABLE "+name+" TO before_"+name+", copied TO "+name)
	}
	return statements
}

// TestImportHostileRows imports a shop with hostile rows, outside nightly runs of one kind in four, whose
// settings it prints before. Imports end well, the records that were there without the rows are here and
// are answered, and nothing that is printed can disturb a terminal.
func TestImportHostileRows(t *testing.T) {
	t.Parallel()
	first := apptest.NewImported(t, magento1test.Rich, "", sqltest.SQLite(t))
	before, path := first.WithStore(t)
	before.Run(t, "all")
	records := recordsOf(t, "sqlite:"+path)
	hostile := hostileRows()
	for _, name := range testenv.Rows(t, slices.Sorted(maps.Keys(hostile)), 4) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			statements := hostile[name]
			from, old := magento1test.NewShop(t, magento1test.Rich, "")
			magento1test.Break(t, old, statements...)
			dsn := sqltest.SQLite(t)
			shop := apptest.NewImportedAt(t, from, old, "", dsn)
			arguments := append([]string{"import", "--config", shop.Config}, shop.From...)
			stdout, stderr, err := shop.Commands.Run(t, append(arguments, "all")...)
			if err != nil {
				t.Errorf("%v\n%s", err, stderr)
			}
			printed := stdout + stderr + apptest.ReadFile(t, shop.Config)
			if at := strings.IndexFunc(printed, func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }); at >= 0 {
				t.Errorf("a text gets out of its line: %q", printed[max(0, at-100):min(len(printed), at+20)])
			}
			here := recordsOf(t, dsn)
			for record := range records {
				if _, ok := here[record]; !ok && record != unreadableKey {
					t.Errorf("%s is not here", record)
				}
			}
			if got := shop.Run(t, "--update", "all").Counts(); len(got) > 0 {
				t.Errorf("another import changes %v", got)
			}
			admin := apptest.NewClient(t, shop.Target(t).BaseURL, apptest.DemoAdmin())
			for _, path := range []string{"/products?limit=100", "/products/1", "/products/45/images", "/customers?limit=100", "/orders?limit=100", "/orders/3", "/stockitems?limit=100"} {
				if got := admin.Get(t, path); got.Status != http.StatusOK {
					t.Errorf("%s: %d %.200s", path, got.Status, got.Body)
				}
			}
		})
	}
}
