package follow

import (
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/config/testenv"
	"testing"
)

// TestFollowHostileRows puts rows and values into the binary log that an attacker may have made in
// order to harm its readers. After each, other changes arrive; in the end the store is as if the
// shop had been imported.
func TestFollowHostileRows(t *testing.T) {
	t.Parallel()
	s := newLoggedShop(t, sqltest.SQLite(t))
	f := s.follower(t, hourly)
	stop := s.startReading(t, f)
	for _, c := range testenv.Rows(t, []struct {
		name       string
		statements []string
	}{
		{"very long texts", []string{"ALTER TABLE catalog_product_entity_text MODIFY value LONGTEXT", "UPDATE catalog_product_entity_text SET value = REPEAT('long ', 1000000) WHERE entity_id IN (1, 2)",
			"ALTER TABLE catalog_product_entity MODIFY sku LONGTEXT, DROP INDEX sku", "UPDATE catalog_product_entity SET sku = REPEAT('s', 2000000) WHERE entity_id = 40"}},
		{"bytes that are no text in a column that says which rows count", []string{"ALTER TABLE core_config_data MODIFY path VARBINARY(255)", "INSERT INTO core_config_data (scope, scope_id, path, value) VALUES ('default', 0, X'FF00C328', X'FF')",
			"ALTER TABLE admin_user MODIFY username VARBINARY(255)", "INSERT INTO admin_user (user_id, username, password) VALUES (77, X'FFFE00', 'x')"}},
		{"thousands of rows at once", []string{"INSERT INTO sales_flat_order_item (item_id, order_id, sku) SELECT 10000 + seq, 3, seq FROM seq_1_to_5000", "INSERT INTO sales_flat_order_address (entity_id, parent_id) SELECT 10000 + seq, 3 FROM seq_1_to_2000"}},
		{"thousands of attributes", []string{"INSERT INTO eav_attribute (attribute_id, entity_type_id, attribute_code, backend_type) SELECT 20000 + seq, 4, CONCAT('more_', seq), 'varchar' FROM seq_1_to_3000",
			"INSERT INTO catalog_product_entity_varchar (entity_type_id, attribute_id, store_id, entity_id, value) SELECT 4, 20000 + seq, 0, 6, REPEAT('v', 200) FROM seq_1_to_3000"}},
		{"a part that loses what it needs", []string{"UPDATE sales_flat_order_address SET address_type = NULL WHERE parent_id = 1", "UPDATE sales_flat_order_address SET parent_id = NULL WHERE parent_id = 2"}},
		{"ids that no record may have", []string{
			"CREATE TABLE copied AS SELECT * FROM sales_flat_order_item", "ALTER TABLE copied MODIFY item_id DECIMAL(40), MODIFY order_id DECIMAL(40), MODIFY product_id DECIMAL(40)",
			"RENAME TABLE sales_flat_order_item TO before_item, copied TO sales_flat_order_item",
			"INSERT INTO sales_flat_order_item (item_id, order_id, product_id, created_at, updated_at) VALUES (-1, 4, -1, NOW(), NOW()), (1, -4, 1, NOW(), NOW()), (99999999999999999999, 4, 18446744073709551616, NOW(), NOW()), (9007199254740993, 99999999999999999999, 1, NOW(), NOW())",
			"UPDATE sales_flat_order_item SET product_id = -9223372036854775809 WHERE order_id = 4", "DELETE FROM sales_flat_order_item WHERE order_id < 0"}},
		{"dates that are none", []string{"SET SESSION sql_mode = ''", "UPDATE catalog_product_entity SET created_at = '0000-00-00', updated_at = '0000-00-00' WHERE entity_id = 7", "ALTER TABLE sales_flat_order MODIFY updated_at VARCHAR(40)",
			"UPDATE sales_flat_order SET updated_at = '-0001-11-30 00:00:00' WHERE entity_id = 6", "UPDATE sales_flat_order SET updated_at = '9999-99-99' WHERE entity_id = 7"}},
		{"tables and columns with such names", []string{"CREATE TABLE `catalog_product_entity\u202e` (`a b` INT, `" + string(rune(0x7f)) + "` INT)", "INSERT INTO `catalog_product_entity\u202e` VALUES (1, 2)"}},
	}, 3) {
		t.Run(c.name, func(t *testing.T) {
			for _, statement := range c.statements {
				if _, err := s.old.ExecContext(t.Context(), statement); err != nil {
					t.Fatalf("%.200s: %v", statement, err)
				}
			}
			s.execute(t, setSKU(c.name, "5"))
			testenv.Await(t, "another change", func() bool { return s.skuOf(t, 5) == c.name })
		})
	}
	s.awaitEqual(t)
	stop()
}
