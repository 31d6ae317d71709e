package magento1_test

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
)

// openShopOf opens a shop whose database the test changes.
func openShopOf(t *testing.T, content magento1test.Shop) (*magento1.Database, *sql.DB) {
	t.Helper()
	dsn, raw := magento1test.NewShop(t, content, "")
	return open(t, magento1.Options{ServerOptions: magento1.ServerOptions{DSN: dsn}, Schemas: shopSchemas(t)}), raw
}

// TestDigests checks that a change of any row from which a record is made changes the
// digest of its range and of no other one.
func TestDigests(t *testing.T) {
	d, raw := openShopOf(t, magento1test.Rich)
	digest := func(p magento1.Part, after, through adapter.Key) string {
		t.Helper()
		text, err := d.Digests(t.Context(), p, after, through)
		if err != nil || text == "" {
			t.Fatalf("%s: %q, %v", p, text, err)
		}
		return text
	}
	whole := func(p magento1.Part) bool {
		return slices.Contains([]magento1.Part{magento1.Websites, magento1.Directory, magento1.CustomerGroups, magento1.Taxes}, p)
	}
	for _, c := range []struct {
		part      magento1.Part
		key       adapter.Key // of the record that changes
		statement string
	}{
		{magento1.Websites, 1, "UPDATE core_config_data SET value = 'Europe/Paris' WHERE path = 'general/locale/timezone' AND scope = 'websites'"},
		{magento1.Websites, 1, "UPDATE core_store SET name = 'Deutsch' WHERE store_id = 3"},
		{magento1.Directory, 1, "UPDATE directory_country_region SET default_name = 'x' WHERE region_id = 12"},
		{magento1.CustomerGroups, 1, "UPDATE customer_group SET tax_class_id = 6 WHERE customer_group_id = 1"},
		{magento1.Taxes, 1, "UPDATE tax_calculation_rule SET priority = 1 WHERE tax_calculation_rule_id = 5"},
		{magento1.Categories, 8, "UPDATE catalog_category_entity SET parent_id = 7 WHERE entity_id = 8"},
		{magento1.Categories, 8, "UPDATE catalog_category_entity_varchar SET value = 'x' WHERE entity_id = 8 AND attribute_id = 43"},
		{magento1.Products, 25, "UPDATE catalog_product_entity SET sku = 'other' WHERE entity_id = 25"},
		{magento1.Products, 25, "UPDATE catalog_product_entity_varchar SET value = NULL WHERE entity_id = 25 AND attribute_id = 73 AND store_id = 2"},
		{magento1.Products, 25, "UPDATE catalog_product_entity_varchar SET value = '' WHERE entity_id = 25 AND attribute_id = 73 AND store_id = 2"},
		{magento1.Products, 25, "UPDATE catalog_product_entity_varchar SET value = 'NULL' WHERE entity_id = 25 AND attribute_id = 73 AND store_id = 2"},
		{magento1.Products, 25, "UPDATE catalog_product_entity_int SET store_id = 1 WHERE entity_id = 25 AND attribute_id = 104 AND store_id = 2"},
		{magento1.Products, 26, "UPDATE catalog_product_entity_tier_price SET value = 1 WHERE value_id = 3"},
		{magento1.Products, 26, "DELETE FROM catalog_product_entity_group_price WHERE value_id = 3"},
		{magento1.Products, 26, "INSERT INTO catalogrule_product_price (rule_date, product_id, rule_price, website_id) VALUES ('2013-06-24', 26, 1, 1)"},
		{magento1.Products, 23, "DELETE FROM catalog_product_option WHERE product_id = 23"},
		{magento1.Products, 2, "UPDATE review SET status_id = 2 WHERE review_id = 4"},
		{magento1.Products, 2, "DELETE FROM review_store WHERE review_id = 5 AND store_id = 3"},
		{magento1.Products, 2, "UPDATE cataloginventory_stock_status SET stock_status = 1 - stock_status WHERE product_id = 2 LIMIT 1"},
		{magento1.Products, 2, "DELETE FROM catalog_product_website WHERE product_id = 2 LIMIT 1"},
		{magento1.Products, 2, "UPDATE catalog_category_product SET position = 77 WHERE product_id = 2 LIMIT 1"},
		{magento1.Images, 45, "UPDATE catalog_product_entity_media_gallery SET value = '/x.png' WHERE value_id = 5"},
		{magento1.Images, 45, "UPDATE catalog_product_entity_media_gallery_value SET label = 'x' WHERE value_id = 5"},
		{magento1.Images, 45, "UPDATE catalog_product_entity_varchar SET value = '/B/a/Back.gif' WHERE entity_id = 45 AND attribute_id = 87 AND store_id = 2"},
		{magento1.Stock, 3, "UPDATE cataloginventory_stock_item SET qty = qty + 1 WHERE item_id = 3"},
		{magento1.Customers, 2, "UPDATE customer_entity SET group_id = 3 WHERE entity_id = 2"},
		{magento1.Customers, 2, "UPDATE customer_entity_varchar SET value = 'x' WHERE entity_id = 2 AND attribute_id = 5"},
		{magento1.Addresses, 1, "UPDATE customer_address_entity_text SET value = 'x' WHERE entity_id = 1"},
		{magento1.Addresses, 1, "DELETE FROM customer_entity_int WHERE attribute_id = 13 AND value = 1"},
		{magento1.Orders, 9, "UPDATE sales_flat_order SET status = 'x' WHERE entity_id = 9"},
		{magento1.Orders, 9, "UPDATE sales_flat_order_item SET qty_shipped = 7 WHERE order_id = 9 LIMIT 1"},
		{magento1.Orders, 9, "UPDATE sales_flat_order_address SET city = 'x' WHERE parent_id = 9 LIMIT 1"},
		{magento1.Orders, 9, "INSERT INTO sales_flat_order_status_history (parent_id) VALUES (9)"},
		{magento1.Orders, 9, "UPDATE sales_flat_order_payment SET method = 'x' WHERE parent_id = 9"},
		{magento1.Orders, 9, "UPDATE sales_order_tax SET percent = 1 WHERE order_id = 9"},
		{magento1.Orders, 9, "UPDATE gift_message SET sender = 'x'"},
	} {
		t.Run(string(c.part)+"/"+c.statement, func(t *testing.T) {
			same, other := digest(c.part, c.key-1, c.key), digest(c.part, c.key, c.key+magento1.RangeSize)
			if again := digest(c.part, c.key-1, c.key); again != same {
				t.Fatalf("%s and then %s without a change", same, again)
			}
			magento1test.Break(t, raw, c.statement)
			if now := digest(c.part, c.key-1, c.key); now == same {
				t.Errorf("%s before and after", now)
			}
			if now := digest(c.part, c.key, c.key+magento1.RangeSize); (now == other) == whole(c.part) {
				t.Errorf("the range after it: %s before, %s after", other, now)
			}
		})
	}
	t.Run("an attribute is read from elsewhere", func(t *testing.T) {
		before := digest(magento1.Products, 0, 1)
		magento1test.Break(t, raw, "UPDATE eav_attribute SET backend_type = 'text' WHERE attribute_code = 'meta_title'")
		if digest(magento1.Products, 0, 1) == before {
			t.Error("same before and after")
		}
	})
	if _, err := d.Digests(t.Context(), "carts", 0, 1); err == nil {
		t.Error("there are carts")
	}
}

func TestNextKeys(t *testing.T) {
	d, raw := openShopOf(t, magento1test.Rich)
	magento1test.Break(t, raw, "ALTER TABLE catalog_product_entity AUTO_INCREMENT = 101")
	magento1test.Break(t, raw, "ALTER TABLE sales_flat_order_item AUTO_INCREMENT = 5001")
	magento1test.Break(t, raw, "DROP TABLE admin_user")
	keys, err := d.NextKeys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := keys[adapter.Admins]; ok {
		t.Error("a missing table has given keys")
	}
	for resource, want := range map[adapter.Resource]adapter.Key{
		adapter.Products: 100, adapter.OrderItems: 5000, adapter.Websites: 4, adapter.Stores: 7, adapter.Customers: 9, adapter.ProductImages: 7, adapter.CustomerGroups: 5, adapter.TaxRates: 7,
	} {
		if keys[resource] != want {
			t.Errorf("%s: %d, want %d", resource, keys[resource], want)
		}
	}
}

func TestIdentity(t *testing.T) {
	dsn, raw := magento1test.NewShop(t, magento1test.Demo, "p_")
	d := open(t, magento1.Options{ServerOptions: magento1.ServerOptions{DSN: dsn, Prefix: "p_"}, Schemas: shopSchemas(t)})
	var database, version string
	if err := raw.QueryRowContext(t.Context(), "SELECT DATABASE(), VERSION()").Scan(&database, &version); err != nil {
		t.Fatal(err)
	}
	id, err := d.Identity(t.Context())
	if err != nil || id.Database != database || id.Version != version || id.Prefix != "p_" || id.Server == "" {
		t.Errorf("%+v, %v", id, err)
	}
	again, err := d.Identity(t.Context())
	if err != nil || again != id {
		t.Errorf("%+v and then %+v, %v", id, again, err)
	}
}

func TestRulesEvaluated(t *testing.T) {
	for _, c := range []struct{ name, change, want string }{
		{"no rules", "DO 0", ""},
		{"three days", "INSERT INTO catalogrule_product_price (rule_date, product_id, website_id) VALUES ('2013-06-24', 1, 1), ('2013-06-25', 1, 1), ('2013-06-23', 1, 1)", "2013-06-25"},
		{"old version", "DROP TABLE catalogrule_product_price", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, raw := openShopOf(t, magento1test.Demo)
			magento1test.Break(t, raw, c.change)
			if day, err := d.RulesEvaluated(t.Context()); err != nil || day != c.want {
				t.Errorf("%q, %v", day, err)
			}
		})
	}
}

// TestCharset reads tables that claim to hold latin1 and hold UTF-8, and latin2 where they
// claim latin1.
func TestCharset(t *testing.T) {
	const table = "catalog_product_entity_varchar"
	dsn, raw := magento1test.NewShop(t, magento1test.Rich, "")
	open := func(charset string) *magento1.Database {
		return open(t, magento1.Options{ServerOptions: magento1.ServerOptions{DSN: dsn, Charset: charset}, Schemas: shopSchemas(t)})
	}
	nameOf := func(d *magento1.Database, id, store int64) string {
		for a, err := range d.RecordsBetween(t.Context(), magento1.Products, adapter.Key(id-1), math.MaxInt64) {
			if err != nil {
				t.Fatal(err)
			}
			if store == 0 {
				return a.Record.Get("name").Text()
			}
			return level(a, store, 0).Get("name").Text()
		}
		return ""
	}
	if twice, err := open("").DoublyEncoded(t.Context()); err != nil || len(twice) != 0 {
		t.Errorf("%v, %v in a good shop", twice, err)
	}
	magento1test.Break(t, raw, "ALTER TABLE "+table+" MODIFY value VARBINARY(255)")
	magento1test.Break(t, raw, "ALTER TABLE "+table+" MODIFY value VARCHAR(255) CHARACTER SET latin1")
	if got := nameOf(open(""), 25, 2); got != "Table en chÃªne" {
		t.Errorf("as the table claims: %q", got)
	}
	twice, err := open("").DoublyEncoded(t.Context())
	want := magento1.EncodedTwice{Part: magento1.Products, Table: table, Key: "product 25, attribute name, store 2"}
	if err != nil || !slices.Contains(twice, want) || len(twice) > 20 {
		t.Errorf("%v, %v", twice, err)
	}
	for store, want := range map[int64]string{2: "Table en chêne", 7: "オーク材のテーブル"} {
		if got := nameOf(open("UTF-8"), 25, store); got != want {
			t.Errorf("UTF-8 at store view %d: %q, want %q", store, got, want)
		}
	}
	magento1test.Break(t, raw, "UPDATE "+table+" SET value = X'A3F364BC' WHERE entity_id = 1 AND attribute_id = 73")
	if got := nameOf(open("iso-8859-2"), 1, 0); got != "Łódź" {
		t.Errorf("iso-8859-2: %q", got)
	}
	for _, wrong := range []string{"klingon", "utf-16", "iso-2022-jp", "replacement"} {
		if d, err := magento1.Open(t.Context(), magento1.Options{ServerOptions: magento1.ServerOptions{DSN: dsn, Charset: wrong}}); err == nil {
			t.Errorf("%s was accepted: %v", wrong, d.Close())
		}
	}
}

// TestMissingRight checks that an error names the table or column that the user may not read, and
// the right to ask for.
func TestMissingRight(t *testing.T) {
	dsn, raw := magento1test.NewShop(t, magento1test.Demo, "")
	config, err := mysql.ParseDSN(strings.TrimPrefix(dsn, "mysql:"))
	if err != nil {
		t.Fatal(err)
	}
	magento1test.Break(t, raw, "CREATE USER reader_"+config.DBName+"@'%' IDENTIFIED BY 'pw'")
	t.Cleanup(func() { _, _ = raw.ExecContext(context.Background(), "DROP USER reader_"+config.DBName+"@'%'") })
	for _, table := range []string{"customer_group", "core_website"} {
		magento1test.Break(t, raw, "GRANT SELECT ON "+config.DBName+"."+table+" TO reader_"+config.DBName+"@'%'")
	}
	config.User, config.Passwd = "reader_"+config.DBName, "pw"
	d := open(t, magento1.Options{ServerOptions: magento1.ServerOptions{DSN: "mysql:" + config.FormatDSN()}, Schemas: shopSchemas(t)})
	if err := lastError(d.Records(t.Context(), magento1.CustomerGroups)); err != nil {
		t.Error(err)
	}
	columns := func(table, list string) {
		magento1test.Break(t, raw, "GRANT SELECT ("+list+") ON "+config.DBName+"."+table+" TO reader_"+config.DBName+"@'%'")
	}
	columns("core_store", "store_id, website_id")
	columns("core_store_group", "group_id, default_store_id")
	columns("cataloginventory_stock_item", "item_id, product_id")
	for _, table := range []string{"core_config_data", "directory_currency_rate"} {
		magento1test.Break(t, raw, "GRANT SELECT ON "+config.DBName+"."+table+" TO reader_"+config.DBName+"@'%'")
	}
	for _, c := range []struct {
		name        string
		part        magento1.Part
		what, table string
	}{
		{"a column", magento1.Websites, "the column `website_id` of the table `core_store_group`", "core_store_group"},
		{"a table of which some columns may be read", magento1.Stock, "the table `cataloginventory_stock_item`", "cataloginventory_stock_item"},
		{"a table", magento1.Orders, "the table `sales_flat_order`", "sales_flat_order"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := lastError(d.Records(t.Context(), c.part))
			for _, want := range []string{"the user may not read " + c.what + ":", "GRANT SELECT ON `" + config.DBName + "`.`" + c.table + "` TO"} {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v, want %q", err, want)
				}
			}
		})
	}
}

// A cutConn ends after a number of bytes were read from it.
type cutConn struct {
	net.Conn
	left *atomic.Int64
}

func (c cutConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.left.Add(-int64(n)) < 0 && c.left.Load() > -1<<40 {
		c.left.Store(-1 << 50) // the next connections stay
		_ = c.Close()
		return 0, errors.New("the connection was cut")
	}
	return n, err
}

// TestLostConnection loses the connection at many places.
func TestLostConnection(t *testing.T) {
	dsn, _ := magento1test.NewShop(t, magento1test.Rich, "")
	var left atomic.Int64
	var always atomic.Bool
	mysql.RegisterDialContext("cut", func(ctx context.Context, address string) (net.Conn, error) {
		if always.Load() {
			left.Store(20_000)
		}
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		return cutConn{conn, &left}, err
	})
	t.Cleanup(func() { mysql.DeregisterDialContext("cut") })
	read := func(t *testing.T) (all []map[string]any, skipped int, err error) {
		d := open(t, magento1.Options{ServerOptions: magento1.ServerOptions{DSN: strings.Replace(dsn, "@tcp(", "@cut(", 1)}, Schemas: shopSchemas(t), Skipped: func(magento1.Skipped) { skipped++ }})
		for a, err := range d.Records(t.Context(), magento1.Products) {
			if err != nil {
				return all, skipped, err
			}
			all = append(all, valuesOf(a.Record))
		}
		return all, skipped, nil
	}
	plain := func(values []map[string]any) (texts []any) {
		for _, v := range values {
			texts = append(texts, v["sku"], v["name"], v["price"])
		}
		return texts
	}
	left.Store(1 << 60)
	whole, skipped, err := read(t)
	if err != nil || len(whole) != 45 {
		t.Fatalf("%d products, %v", len(whole), err)
	}
	for _, bytes := range []int64{2_000, 5_000, 10_000, 20_000, 40_000} {
		left.Store(bytes)
		again, skippedAgain, err := read(t)
		if err != nil || skippedAgain != skipped {
			t.Errorf("cut after %d bytes: %d skipped, want %d, %v", bytes, skippedAgain, skipped, err)
		}
		if left.Load() > 0 {
			t.Errorf("not cut after %d bytes", bytes)
		}
		if difference := cmp.Diff(plain(whole), plain(again)); difference != "" {
			t.Errorf("cut after %d bytes: want -, got +:\n%s", bytes, difference)
		}
	}
	always.Store(true)
	if _, _, err := read(t); err == nil || !strings.Contains(err.Error(), "lost twice") {
		t.Errorf("%v, want an error", err)
	}
}

// TestForget changes the columns of a table that has been read.
func TestForget(t *testing.T) {
	d, raw := openShopOf(t, magento1test.Demo)
	before := collect(t, d.Records(t.Context(), magento1.Stock))
	if _, err := d.Digests(t.Context(), magento1.Stock, 0, magento1.RangeSize); err != nil {
		t.Fatal(err)
	}
	magento1test.Break(t, raw, "ALTER TABLE cataloginventory_stock_item DROP COLUMN is_decimal_divided")
	d.Forget()
	if after := collect(t, d.Records(t.Context(), magento1.Stock)); len(after) != len(before) || len(before) == 0 {
		t.Errorf("%d stock items, then %d", len(before), len(after))
	}
	if _, err := d.Digests(t.Context(), magento1.Stock, 0, magento1.RangeSize); err != nil {
		t.Error(err)
	}
}
