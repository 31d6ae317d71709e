package magento1test

import (
	"fmt"
	"math/rand/v2"
)

// RandomChange returns a statement that changes the shop Rich.
func RandomChange() string {
	dated := []string{"", ", updated_at = NOW()"}[rand.N(2)]
	statements := []string{
		fmt.Sprintf("UPDATE catalog_product_entity SET sku = 'random-%d'%s WHERE entity_id = %d", rand.N(1<<30), dated, 1+rand.N(45)),
		fmt.Sprintf("UPDATE cataloginventory_stock_item SET qty = %d WHERE product_id = %d", rand.N(99), 1+rand.N(45)),
		fmt.Sprintf("DELETE FROM catalog_category_product ORDER BY RAND() LIMIT %d", rand.N(3)),
		fmt.Sprintf("UPDATE sales_flat_order SET grand_total = %d%s WHERE entity_id = %d", rand.N(99), dated, 1+rand.N(12)),
		fmt.Sprintf("UPDATE customer_entity SET group_id = %d%s WHERE entity_id = %d", 1+rand.N(2), dated, 1+rand.N(9)),
		fmt.Sprintf("UPDATE catalog_category_entity SET position = %d%s WHERE entity_id = %d", rand.N(9), dated, 2+rand.N(4)),
		fmt.Sprintf("UPDATE catalog_product_entity_decimal SET value = %d WHERE entity_id = %d", rand.N(99), 1+rand.N(45)),
		fmt.Sprintf("DELETE FROM catalog_product_entity WHERE entity_id = %d", 30+rand.N(300)),
		"DELETE FROM catalog_product_entity_media_gallery ORDER BY RAND() LIMIT 1",
	}
	return statements[rand.N(len(statements))]
}
