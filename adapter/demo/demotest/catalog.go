//go:build linux

package demotest

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/demo"
	"github.com/portico-commerce/portico/adapter/sqlstore"
)

// NewCatalog creates a database in dir with the demo store and the given number of
// generated products, and returns it open. The products are generated inside the database,
// by one statement for each table, so that a million takes about a minute. Their
// properties are:
//
//   - descriptions of some hundred bytes, and names whose order differs from that of ids;
//   - of a hundred, three are disabled, five are not visible on their own, one is in no
//     website, and thirty are in both;
//   - of a hundred, two have their own name in a store view, and one is disabled in a
//     website;
//   - one or two categories and a stock item; of a hundred, five have a special price, four
//     a group price, and two have two tier prices.
func NewCatalog(tb testing.TB, dir string, products int) (*sqlstore.DB, *adapter.Dataset) {
	tb.Helper()
	data, err := demo.Load()
	if err != nil {
		tb.Fatal(err)
	}
	db, err := openDemo(tb.Context(), dir, data)
	if err != nil {
		tb.Fatal(err)
	}
	if err := addProducts(tb.Context(), filepath.Join(dir, "demo.db"), products); err != nil {
		tb.Fatal(err)
	}
	if err := db.RebuildListing(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return db, data
}

// FirstGeneratedID is the id of the first generated product. The products of the demo
// store have lower ids.
const FirstGeneratedID = 101

// generatedSKU is the SQL expression for the SKU of the generated product id.
const generatedSKU = "'made-' || id"

// openDemo creates a database with the demo store in dir.
func openDemo(ctx context.Context, dir string, data *adapter.Dataset) (*sqlstore.DB, error) {
	db, err := sqlstore.Open(ctx, sqlstore.Options{DSN: "sqlite:" + filepath.Join(dir, "demo.db"), MediaDir: filepath.Join(dir, "media"), Migrate: true})
	if err != nil {
		return nil, err
	}
	if err := db.Load(ctx, data, nil); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// addProducts generates the products in the database file at path. In its statements, made
// is the table of their ids.
func addProducts(ctx context.Context, path string, products int) error {
	pool, err := sql.Open("sqlite", "file:"+path+"?_pragma=synchronous(OFF)&_pragma=cache_size(-200000)")
	if err != nil {
		return err
	}
	defer func() { _ = pool.Close() }()
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	const made = "WITH RECURSIVE made(id) AS (SELECT ?1 UNION ALL SELECT id + 1 FROM made WHERE id < ?2) "
	for _, statement := range generatedTables {
		if _, err := tx.ExecContext(ctx, made+statement, FirstGeneratedID, FirstGeneratedID+products-1); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// generatedTables are the tables that addProducts fills, with the statements that do it.
var generatedTables = []string{
	`INSERT INTO product (entity_id, attribute_set_id, type_id, type_id_folded, sku, sku_folded, created_at, updated_at,
		name, name_folded, url_key, url_key_folded, meta_title, meta_title_folded, meta_description, meta_description_folded,
		description, description_folded, short_description, short_description_folded, meta_keyword, meta_keyword_folded,
		price, weight, special_price, special_from_date, special_to_date, status, visibility, tax_class_id)
	SELECT id, 4, 'simple', 'SIMPLE', sku, UPPER(sku), moment, moment,
		name, UPPER(name), 'product-' || id, 'PRODUCT-' || id, name, UPPER(name), about, UPPER(about),
		long, UPPER(long), about, UPPER(about), 'made, product', 'MADE, PRODUCT',
		(id * 7919 % 50000) / 100.0, 1.5, CASE WHEN id % 20 = 0 THEN 4.99 END, CASE WHEN id % 20 = 0 THEN '2012-01-01 00:00:00' END, NULL,
		CASE WHEN id % 100 < 3 THEN 2 ELSE 1 END, CASE WHEN id % 100 IN (10, 30, 50, 70, 90) THEN 1 ELSE 2 + id % 3 END, CASE WHEN id % 10 = 0 THEN 4 ELSE 2 END
	FROM (SELECT id, ` + generatedSKU + ` AS sku, 'Product ' || (id * 104729 % 1000003) || ' of many' AS name,
		DATETIME('2012-01-01', '+' || id || ' minutes') AS moment, 'Short text of product ' || id || '.' AS about,
		'` + strings.Repeat("A text of some length that says what there is to know about it. ", 4) + `' || id AS long FROM made)`,
	`INSERT INTO product_website (product_id, website_id)
		SELECT id, 1 FROM made WHERE id % 100 <> 60 UNION ALL SELECT id, 2 FROM made WHERE id % 100 > 69`,
	`INSERT INTO product_category (product_id, category_id, position)
		SELECT id, 3 + id % 3, id % 1000 FROM made UNION ALL SELECT id, 6, id % 500 FROM made WHERE id % 4 = 0`,
	`INSERT INTO product_value (product_id, store_id, attribute, value, value_folded)
		SELECT id, 2, 'name', 'Article ' || id, 'ARTICLE ' || id FROM made WHERE id % 50 = 1
		UNION ALL SELECT id, 1, 'status', '2', '2' FROM made WHERE id % 100 = 40
		UNION ALL SELECT id, 2, 'status', '2', '2' FROM made WHERE id % 100 = 40`,
	`INSERT INTO product_group_price (product_id, website_id, cust_group, price)
		SELECT id, 0, id % 4, 3.5 FROM made WHERE id % 25 = 5`,
	`INSERT INTO product_tier_price (product_id, website_id, cust_group, price, price_qty)
		SELECT id, 0, 32000, 2.25, 10 FROM made WHERE id % 50 = 7 UNION ALL SELECT id, 0, 0, 2.75, 5 FROM made WHERE id % 50 = 7`,
	`INSERT INTO stock_item (product_id, stock_id, qty, min_qty, use_config_min_qty, is_qty_decimal, backorders, use_config_backorders,
		min_sale_qty, use_config_min_sale_qty, max_sale_qty, use_config_max_sale_qty, is_in_stock, use_config_notify_stock_qty, manage_stock,
		use_config_manage_stock, stock_status_changed_auto, use_config_qty_increments, qty_increments, use_config_enable_qty_inc,
		enable_qty_increments, is_decimal_divided)
	SELECT id, 1, id % 200, 0, 1, 0, 0, 1, 1, 1, 0, 1, id % 200 <> 0, 1, 0, 1, 0, 1, 0, 1, 0, 0 FROM made`,
}
