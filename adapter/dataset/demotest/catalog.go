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
	"github.com/portico-commerce/portico/adapter/dataset"
	"github.com/portico-commerce/portico/adapter/sqlstore"
)

// NewCatalog creates a SQLite database in dir with the demo store and the given number of generated
// products, and returns it open. [AddProducts] describes them.
func NewCatalog(tb testing.TB, dir string, products int) (*sqlstore.DB, *adapter.Dataset) {
	tb.Helper()
	data, err := dataset.Load()
	if err != nil {
		tb.Fatal(err)
	}
	db, err := openDemo(tb.Context(), dir, data)
	if err != nil {
		tb.Fatal(err)
	}
	if err := addToSQLite(tb.Context(), filepath.Join(dir, "demo.db"), products); err != nil {
		tb.Fatal(err)
	}
	return db, data
}

// FirstGeneratedID is the id of the first generated product. The products of the demo
// store have lower ids.
const FirstGeneratedID = 101

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

// AddProducts generates products in a database that has the demo store. The database
// generates them itself, by one statement for each table, so that a million takes about a
// minute. Their properties are:
//
//   - descriptions of some hundred bytes, and names whose order differs from the order of ids;
//   - of a hundred, three are disabled, five are not visible on their own, one is in no
//     website, and thirty are in both;
//   - of a hundred, two have their own name in a store view, and one is disabled in a
//     website;
//   - one or two categories and a stock item; of a hundred, five have a special price, four
//     a group price, and two have two tier prices.
//
// The product listing has the rows that the program would store.
func AddProducts(ctx context.Context, dsn string, products int) error {
	if path, ok := strings.CutPrefix(dsn, "sqlite:"); ok {
		return addToSQLite(ctx, path, products)
	}
	if name, ok := strings.CutPrefix(dsn, "mysql:"); ok {
		return addToMariaDB(ctx, name, products)
	}
	return addToPostgres(ctx, dsn, products)
}

// recursiveIDs is the table made of the ids of products in the statements of generatedTable.
const recursiveIDs = "WITH RECURSIVE made(id) AS (SELECT ? UNION ALL SELECT id + 1 FROM made WHERE id < ?) "

// addToSQLite is AddProducts for the file at path.
func addToSQLite(ctx context.Context, path string, products int) error {
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
	for _, g := range generatedTables() {
		text := g.statement(recursiveIDs, "DATETIME('2012-01-01', '+' || (id % 5000000) || ' minutes')")
		if _, err := tx.ExecContext(ctx, text, FirstGeneratedID, FirstGeneratedID+products-1); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// addToMariaDB is AddProducts for MariaDB. name is the DSN of its driver.
func addToMariaDB(ctx context.Context, name string, products int) error {
	pool, err := sql.Open("mysql", name)
	if err != nil {
		return err
	}
	defer func() { _ = pool.Close() }()
	pool.SetMaxOpenConns(1) // all statements need the settings
	_, err = pool.ExecContext(ctx, "SET SESSION sql_mode = CONCAT(@@sql_mode, ',PIPES_AS_CONCAT'), max_recursive_iterations = 4294967295, foreign_key_checks = 0")
	for _, g := range generatedTables() {
		if err == nil {
			text := g.statement(recursiveIDs, "TIMESTAMP '2012-01-01 00:00:00' + INTERVAL (id % 5000000) MINUTE")
			_, err = pool.ExecContext(ctx, text, FirstGeneratedID, FirstGeneratedID+products-1)
		}
		if err == nil {
			_, err = pool.ExecContext(ctx, "ANALYZE TABLE "+g.table)
		}
	}
	return err
}

// addToPostgres is AddProducts for PostgreSQL. It creates the indexes of a table when the
// table is full, and checks no foreign keys and runs no triggers, which takes the rights of a superuser. It counts the
// products afterwards.
func addToPostgres(ctx context.Context, dsn string, products int) error {
	pool, err := sql.Open("pgx", dsn)
	if err != nil {
		return err
	}
	defer func() { _ = pool.Close() }()
	pool.SetMaxOpenConns(1) // all statements need the settings
	run := func(text string, arguments ...any) {
		if err == nil {
			_, err = pool.ExecContext(ctx, text, arguments...)
		}
	}
	run("SET session_replication_role = replica")
	run("SET maintenance_work_mem = '512MB'")
	for _, g := range generatedTables() {
		if err != nil {
			return err
		}
		var drop, create sql.NullString
		err = pool.QueryRowContext(ctx, `SELECT string_agg('DROP INDEX ' || indexname, ';'), string_agg(indexdef, ';') FROM pg_indexes
			WHERE tablename = $1 AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conname = indexname)`, g.table).Scan(&drop, &create)
		run(drop.String)
		run(g.statement("WITH made(id) AS (SELECT generate_series($1::bigint, $2::bigint)) ", "TIMESTAMP '2012-01-01' + (id % 5000000) * INTERVAL '1 minute'"),
			FirstGeneratedID, FirstGeneratedID+products-1)
		run(create.String)
		run("VACUUM (ANALYZE) " + g.table)
	}
	run("SELECT setval(pg_get_serial_sequence('product', 'entity_id'), MAX(entity_id)) FROM product")
	run("RESET session_replication_role")
	run("SELECT recount_products()")
	run("VACUUM (ANALYZE) product_count")
	return err
}

// A generatedTable is a table that AddProducts fills. In rows, which selects its columns, made
// is the table of the ids of products, and MOMENT the time of a product.
type generatedTable struct{ table, columns, rows string }

// statement returns the statement that fills the table. made begins it with the table of that
// name, and moment is an expression for a time of the product id.
func (g generatedTable) statement(made, moment string) string {
	return "INSERT INTO " + g.table + " (" + g.columns + ") " + made + strings.ReplaceAll(g.rows, "MOMENT", moment)
}

// generatedTables returns the tables that AddProducts fills.
func generatedTables() []generatedTable {
	return []generatedTable{
		{"product", `entity_id, attribute_set_id, type_id, type_id_folded, sku, sku_folded, created_at, updated_at,
			name, name_folded, url_key, url_key_folded, meta_title, meta_title_folded, meta_description, meta_description_folded,
			description, description_folded, short_description, short_description_folded, meta_keyword, meta_keyword_folded,
			price, weight, special_price, special_from_date, special_to_date, status, visibility, tax_class_id`,
			`SELECT id, 4, 'simple', 'SIMPLE', sku, UPPER(sku), moment, moment,
			name, UPPER(name), 'product-' || id, 'PRODUCT-' || id, name, UPPER(name), about, UPPER(about),
			much, UPPER(much), about, UPPER(about), 'made, product', 'MADE, PRODUCT',
			(id * 7919 % 50000) / 100.0, 1.5, CASE WHEN id % 20 = 0 THEN 4.99 END, CASE WHEN id % 20 = 0 THEN moment END, NULL,
			CASE WHEN id % 100 < 3 THEN 2 ELSE 1 END, CASE WHEN id % 100 IN (10, 30, 50, 70, 90) THEN 1 ELSE 2 + id % 3 END, CASE WHEN id % 10 = 0 THEN 4 ELSE 2 END
			FROM (SELECT id, 'made-' || id AS sku, 'Product ' || (id * 104729 % 1000003) || ' of many' AS name,
				MOMENT AS moment, 'Short text of product ' || id || '.' AS about,
				'` + strings.Repeat("A text of some length that says what there is to know about it. ", 4) + `' || id AS much FROM made) AS texts`},
		{"product_website", "product_id, website_id",
			"SELECT id, 1 FROM made WHERE id % 100 <> 60 UNION ALL SELECT id, 2 FROM made WHERE id % 100 > 69"},
		{"product_category", "product_id, category_id, position",
			"SELECT id, 3 + id % 3, id % 1000 FROM made UNION ALL SELECT id, 6, id % 500 FROM made WHERE id % 4 = 0"},
		{"product_value", "product_id, store_id, attribute, value, value_folded",
			`SELECT id, 2, 'name', 'Article ' || id, 'ARTICLE ' || id FROM made WHERE id % 50 = 1
			UNION ALL SELECT id, 1, 'status', '2', '2' FROM made WHERE id % 100 = 40
			UNION ALL SELECT id, 2, 'status', '2', '2' FROM made WHERE id % 100 = 40`},
		{"product_group_price", "product_id, website_id, cust_group, price",
			"SELECT id, 0, id % 4, 3.5 FROM made WHERE id % 25 = 5"},
		{"product_tier_price", "product_id, website_id, cust_group, price, price_qty",
			"SELECT id, 0, 32000, 2.25, 10 FROM made WHERE id % 50 = 7 UNION ALL SELECT id, 0, 0, 2.75, 5 FROM made WHERE id % 50 = 7"},
		{"stock_item", `product_id, stock_id, qty, min_qty, use_config_min_qty, is_qty_decimal, backorders, use_config_backorders,
			min_sale_qty, use_config_min_sale_qty, max_sale_qty, use_config_max_sale_qty, is_in_stock, use_config_notify_stock_qty, manage_stock,
			use_config_manage_stock, stock_status_changed_auto, use_config_qty_increments, qty_increments, use_config_enable_qty_inc,
			enable_qty_increments, is_decimal_divided`,
			`SELECT id, 1, id % 200, 0, 1, 0, 0, 1, 1, 1, 0, 1, CASE WHEN id % 200 = 0 THEN 0 ELSE 1 END, 1, 0, 1, 0, 1, 0, 1, 0, 0 FROM made`},
		// Two store views are of the first website, and one of the second.
		{"product_listing", "store_id, product_id",
			`SELECT store_id, id FROM store CROSS JOIN made
			WHERE id % 100 > 2 AND id % 100 NOT IN (10, 30, 50, 70, 90)
				AND (website_id = 1 AND id % 100 NOT IN (40, 60) OR website_id = 2 AND id % 100 > 69)
			ORDER BY store_id, id`},
	}
}
