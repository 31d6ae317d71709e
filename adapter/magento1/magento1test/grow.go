package magento1test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// A Size is the number of records that [Grow] adds to a shop.
type Size struct{ Products, Customers, Orders int }

// FirstGrown is the id of the first product, customer and order that Grow adds.
const FirstGrown = 1_000

// Grow adds records to the shop Demo, made of its smallest parts: products with values at
// three store views, two images, two categories and a stock item; customers with an
// address; orders with two lines, two addresses and a comment. The images share the files
// /g/r/grown_0.png to /g/r/grown_9.png. db must have the server's sequence tables, which
// MariaDB has.
func Grow(ctx context.Context, db *sql.DB, prefix string, size Size) error {
	for _, grown := range []struct {
		of    string
		count int
	}{{"products", size.Products}, {"customers", size.Customers}, {"orders", size.Orders}} {
		for first := FirstGrown; first < FirstGrown+grown.count; first += grownTogether {
			last := min(first+grownTogether, FirstGrown+grown.count) - 1
			replacer := strings.NewReplacer("{p}", prefix, "{seq}", fmt.Sprintf("seq_%d_to_%d", first, last), "{customers}", fmt.Sprint(max(size.Customers, 1)))
			for _, step := range growth() {
				if step.of != grown.of {
					continue
				}
				if _, err := db.ExecContext(ctx, replacer.Replace(step.text)); err != nil {
					return fmt.Errorf("%s: %w", step.text, err)
				}
			}
		}
	}
	return nil
}

// grownTogether is the number of records whose rows are added together. A shop that stores one
// product after the other has their rows side by side, too.
const grownTogether = 1_000

// A growthStep is a statement that adds one row, or a few, for each record. seq is its id.
type growthStep struct{ of, text string }

// growth returns the statements of Grow.
func growth() []growthStep {
	const created = "'2013-05-06 07:08:09'"
	steps := []growthStep{
		{"products", "INSERT INTO {p}catalog_product_entity (entity_id, entity_type_id, attribute_set_id, type_id, sku, created_at, updated_at)" +
			" SELECT seq, 4, 4, 'simple', CONCAT('grown-', seq), " + created + ", " + created + " FROM {seq}"},
		{"products", "INSERT INTO {p}catalog_product_website (product_id, website_id) SELECT seq, w.website_id FROM {seq} JOIN {p}core_website w ON w.website_id IN (1, 2)"},
		{"products", "INSERT INTO {p}catalog_category_product (category_id, product_id, position) SELECT c.entity_id, seq, seq MOD 100 FROM {seq} JOIN {p}catalog_category_entity c ON c.entity_id IN (3, 6)"},
		{"products", "INSERT INTO {p}cataloginventory_stock_item (product_id, stock_id, qty, is_in_stock) SELECT seq, 1, seq MOD 500, 1 FROM {seq}"},
		{"products", "INSERT INTO {p}cataloginventory_stock_status (product_id, website_id, stock_id, qty, stock_status) SELECT seq, w.website_id, 1, seq MOD 500, 1 FROM {seq} JOIN {p}core_website w ON w.website_id IN (1, 2)"},
		{"products", "INSERT INTO {p}catalog_product_entity_media_gallery (value_id, attribute_id, entity_id, value)" +
			" SELECT 2 * s.seq + n.seq, a.attribute_id, s.seq, CONCAT('/g/r/grown_', s.seq MOD 10, '.png') FROM {seq} s JOIN seq_0_to_1 n JOIN {p}eav_attribute a ON a.attribute_code = 'media_gallery' AND a.entity_type_id = 4"},
		{"products", "INSERT INTO {p}catalog_product_entity_media_gallery_value (value_id, store_id, label, position) SELECT 2 * s.seq + n.seq, 0, CONCAT('Image ', 2 * s.seq + n.seq), n.seq + 1 FROM {seq} s JOIN seq_0_to_1 n"},
		{"customers", "INSERT INTO {p}customer_entity (entity_id, entity_type_id, website_id, email, group_id, store_id, created_at, updated_at) SELECT seq, 1, 1, CONCAT('grown', seq, '@example.com'), 1, 1, " + created + ", " + created + " FROM {seq}"},
		{"customers", "INSERT INTO {p}customer_address_entity (entity_id, entity_type_id, parent_id, created_at, updated_at) SELECT seq, 2, seq, " + created + ", " + created + " FROM {seq}"},
		{"orders", "INSERT INTO {p}sales_flat_order (entity_id, state, status, store_id, customer_id, base_grand_total, grand_total, subtotal, total_qty_ordered, increment_id, base_currency_code, order_currency_code, customer_email, created_at, updated_at)" +
			" SELECT seq, 'complete', 'complete', 1, IF({customers} > 1, " + fmt.Sprint(FirstGrown) + " + seq MOD {customers}, NULL), 40, 40, 35, 2, CONCAT('G', seq), 'USD', 'USD', 'grown@example.com', " + created + ", " + created + " FROM {seq}"},
		{"orders", "INSERT INTO {p}sales_flat_order_item (order_id, store_id, created_at, updated_at, product_id, product_type, sku, name, qty_ordered, price, base_price)" +
			" SELECT s.seq, 1, " + created + ", " + created + ", 1, 'simple', 'grown', CONCAT('Line ', n.seq), 1, 17.5, 17.5 FROM {seq} s JOIN seq_1_to_2 n"},
		{"orders", "INSERT INTO {p}sales_flat_order_address (parent_id, address_type, firstname, lastname, street, city, country_id, postcode, telephone)" +
			" SELECT s.seq, IF(n.seq = 1, 'billing', 'shipping'), 'Ada', 'Byron', '1 Engine Way', 'San Francisco', 'US', '94105', '555' FROM {seq} s JOIN seq_1_to_2 n"},
		{"orders", "INSERT INTO {p}sales_flat_order_payment (parent_id, method) SELECT seq, 'checkmo' FROM {seq}"},
		{"orders", "INSERT INTO {p}sales_flat_order_status_history (parent_id, is_visible_on_front, comment, status, created_at, entity_name) SELECT seq, 1, 'Packed', 'complete', " + created + ", 'order' FROM {seq}"},
	}
	value := func(of, table, kind, entityType, code string, level bool, expression string) {
		text := "INSERT INTO {p}" + table + "_" + kind + " (entity_type_id, attribute_id, entity_id, value%s) SELECT a.entity_type_id, a.attribute_id, s.seq, " + expression +
			"%s FROM {seq} s JOIN {p}eav_attribute a ON a.attribute_code = '" + code + "' JOIN {p}eav_entity_type t ON t.entity_type_id = a.entity_type_id AND t.entity_type_code = '" + entityType + "'%s"
		switch {
		case entityType != "catalog_product":
			text = fmt.Sprintf(text, "", "", "")
		case level:
			text = fmt.Sprintf(text, ", store_id", ", v.store_id", " JOIN {p}core_store v")
		default:
			text = fmt.Sprintf(text, ", store_id", ", 0", "")
		}
		steps = append(steps, growthStep{of, text})
	}
	product := func(kind, code, expression string, level bool) {
		value("products", "catalog_product_entity", kind, "catalog_product", code, level, expression)
	}
	product("varchar", "name", "CONCAT('Product ', s.seq, ' at ', v.store_id)", true)
	product("varchar", "url_key", "CONCAT('product-', s.seq)", false)
	product("varchar", "meta_title", "CONCAT('Buy product ', s.seq, ' at ', v.store_id)", true)
	product("text", "description", "REPEAT(CONCAT('All about product ', s.seq, '. '), 10)", true)
	product("text", "short_description", "CONCAT('About product ', s.seq)", true)
	product("decimal", "price", "s.seq MOD 90 + 9.99", false)
	product("decimal", "weight", "1", false)
	product("int", "status", "1", false)
	product("int", "visibility", "4", false)
	product("int", "tax_class_id", "2", false)
	for _, role := range []string{"image", "small_image", "thumbnail"} {
		product("varchar", role, "CONCAT('/g/r/grown_', s.seq MOD 10, '.png')", false)
	}
	for code, expression := range map[string]string{"firstname": "'Ada'", "lastname": "'Byron'", "created_in": "'English'", "password_hash": "'c895aee09110d7f48c106ff77d8709ef:at'"} {
		value("customers", "customer_entity", "varchar", "customer", code, false, expression)
	}
	for code, expression := range map[string]string{"firstname": "'Ada'", "lastname": "'Byron'", "city": "'London'", "country_id": "'GB'", "postcode": "'SW1Y'", "telephone": "CONCAT('555-', s.seq)"} {
		value("customers", "customer_address_entity", "varchar", "customer_address", code, false, expression)
	}
	value("customers", "customer_address_entity", "text", "customer_address", "street", false, "CONCAT(s.seq, ' St James Sq')")
	return steps
}
