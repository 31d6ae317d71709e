package sqlstore

import (
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"

	"github.com/google/go-cmp/cmp"
)

// A tableColumn is the database's own description of a column.
type tableColumn struct {
	kind     string // text, integer, decimal or time
	nullable bool
	// bytewise is true if values are compared byte by byte.
	bytewise bool
}

// tableColumns returns the columns of a table.
func tableColumns(t *testing.T, db *DB, name string) map[string]tableColumn {
	t.Helper()
	kinds := map[string]string{
		"TEXT": "text", "VARCHAR": "text", "MEDIUMTEXT": "text", "VARBINARY": "text", "MEDIUMBLOB": "text",
		"INTEGER": "integer", "BIGINT": "integer",
		"DECIMAL(12,4)": "decimal", "NUMERIC(12,4)": "decimal",
		"TIMESTAMP WITHOUT TIME ZONE(0)": "time", "DATETIME(0)": "time",
	}
	query := map[string]string{
		"sqlite": `SELECT name, type, "notnull" = 0 AND pk = 0, 1 FROM pragma_table_info(?)`,
		"postgresql": `SELECT column_name, UPPER(data_type) ||
			CASE WHEN data_type = 'numeric' THEN '(' || numeric_precision || ',' || numeric_scale || ')'
				WHEN data_type LIKE 'timestamp%' THEN '(' || datetime_precision || ')' ELSE '' END,
			is_nullable = 'YES', collation_name IS NOT DISTINCT FROM 'C'
			FROM information_schema.columns WHERE table_name = ?`,
		"mysql": `SELECT column_name, CONCAT(UPPER(data_type),
			CASE data_type WHEN 'decimal' THEN CONCAT('(', numeric_precision, ',', numeric_scale, ')')
				WHEN 'datetime' THEN CONCAT('(', datetime_precision, ')') ELSE '' END),
			is_nullable = 'YES', data_type IN ('varbinary', 'mediumblob')
			FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = ? AND extra NOT LIKE '%VIRTUAL GENERATED%'`,
	}
	rows, err := db.records.ReadStatements.Query(t.Context(), query[db.records.Engine.System], name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	columns := map[string]tableColumn{}
	for rows.Next() {
		var column, kind string
		var c tableColumn
		if err := rows.Scan(&column, &kind, &c.nullable, &c.bytewise); err != nil {
			t.Fatal(err)
		}
		if c.kind = kinds[kind]; c.kind == "" {
			t.Errorf("%s.%s is %s", name, column, kind)
		}
		if db.records.Engine.System == "sqlite" && isTimeAttribute(column) {
			c.kind = "time" // SQLite has no type for times
		}
		columns[column] = c
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return columns
}

// isTimeAttribute reports whether attributes of that name are times.
func isTimeAttribute(name string) bool {
	return slices.ContainsFunc(engine.Layout(adapter.NewSchemas()), func(t *engine.Table) bool { return hasTimeAttribute(t.Schema, name) })
}

// hasTimeAttribute reports whether records of s, or records nested in them, have a time of
// that name.
func hasTimeAttribute(s *adapter.Schema, name string) bool {
	return slices.ContainsFunc(s.Attributes, func(a adapter.Attribute) bool {
		return a.Name == name && a.Kind == adapter.KindTime || a.Nested != nil && hasTimeAttribute(a.Nested, name)
	})
}

// TestLayout checks that every table has exactly the columns of its schema.
func TestLayout(t *testing.T) {
	sqltest.EachSQL(t, testLayout)
}

func testLayout(t *testing.T, e sqltest.Engine) {
	db := openTest(t, e)
	kinds := map[adapter.Kind]string{
		adapter.KindText: "text", adapter.KindInteger: "integer", adapter.KindDecimal: "decimal",
		adapter.KindTime: "time", adapter.KindTexts: "text",
	}
	for _, table := range db.records.Tables {
		t.Run(table.Name, func(t *testing.T) {
			have := tableColumns(t, db, table.Name)
			var want []string
			for _, at := range table.ColumnIndexes(false) {
				a := table.Schema.Attributes[at]
				want = append(want, a.Name)
				if have[a.Name].kind != kinds[a.Kind] {
					t.Errorf("%s is of kind %q, want %q", a.Name, have[a.Name].kind, kinds[a.Kind])
				}
				if have[a.Name].nullable == a.Required && a.Name != table.Schema.Key {
					t.Errorf("%s is nullable: %t, required: %t", a.Name, have[a.Name].nullable, a.Required)
				}
				if table.Columns[at].Folded != "" {
					want = append(want, a.Name+"_folded")
					if !have[a.Name+"_folded"].bytewise {
						t.Errorf("%s_folded is not compared byte by byte", a.Name)
					}
				}
			}
			if table.Nulls {
				want = append(want, "nulls")
			}
			for _, name := range want {
				if _, ok := have[name]; !ok {
					t.Errorf("no column %s", name)
				}
			}
			for name := range have {
				if !slices.Contains(want, name) {
					t.Errorf("column %s is no attribute", name)
				}
			}
		})
	}
	for _, name := range []string{"group_price", "tier_price", "rule_price"} {
		nested := db.records.Table(adapter.Products).Schema.Attributes[must(db.records.Table(adapter.Products).Schema.Index(name))].Nested
		have := tableColumns(t, db, "product_"+name)
		for _, a := range nested.Attributes {
			if have[a.Name].kind != kinds[a.Kind] {
				t.Errorf("product_%s.%s is of kind %q, want %q", name, a.Name, have[a.Name].kind, kinds[a.Kind])
			}
		}
	}
}

// TestSchemasAgree compares the tables of the servers with SQLite's, column by column.
func TestSchemasAgree(t *testing.T) {
	tables := func(db *DB) map[string]map[string]tableColumn {
		all := map[string]map[string]tableColumn{}
		for _, c := range db.counters() {
			all[c.Table] = nil
		}
		for _, name := range []string{"product_value", "product_default_value", "customer_value", "customer_address_value", "product_image_value", "product_image_pointer", "product_listing", "media_file", "write_lock", "backend_record", "category_value", "imported_record"} {
			all[name] = nil
		}
		all["import_source"], all["import_digest"], all["lease"], all["import_position"], all["import_parked"] = nil, nil, nil, nil, nil
		all["evidence"] = nil
		all["import_state"], all["import_change"], all["import_process"], all["store_state"] = nil, nil, nil, nil
		for name := range all {
			all[name] = tableColumns(t, db, name)
			for column, c := range all[name] {
				c.bytewise = false // TestLayout checks it where it matters
				all[name][column] = c
			}
		}
		return all
	}
	want := tables(openTest(t, sqltest.Engines()[0]))
	if len(want) < 35 || len(want["stock_item"]) != 25 {
		t.Fatalf("%d tables, %d columns of stock_item", len(want), len(want["stock_item"]))
	}
	sqltest.EachServer(t, func(t *testing.T, e sqltest.Engine) {
		if diff := cmp.Diff(want, tables(openTest(t, e)), cmp.AllowUnexported(tableColumn{})); diff != "" {
			t.Errorf("tables differ (-SQLite +this):\n%s", diff)
		}
	})
}

func must(at int, ok bool) int {
	if !ok {
		panic("no such attribute")
	}
	return at
}

// TestDeleteOwners deletes records that own others and checks the records that are
// deleted, the records that remain, and that keys are not reused.
func TestDeleteOwners(t *testing.T) {
	sqltest.EachSQL(t, testDeleteOwners)
}

func testDeleteOwners(t *testing.T, e sqltest.Engine) {
	db := openTest(t, e)
	count := func(query string) (n int) {
		t.Helper()
		if err := db.records.Readers.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	setup := strings.Split(`
		INSERT INTO website (website_id, code, code_folded, name, name_folded, default_store_id) VALUES (1, 'w', 'W', 'w', 'W', 1);
		INSERT INTO store (store_id, website_id, code, name) VALUES (1, 1, 's', 'S');
		INSERT INTO category (category_id, parent_id, name, is_active) VALUES (2, 1, 'c', 1);
		INSERT INTO product (entity_id, attribute_set_id, type_id, sku, created_at, updated_at) VALUES (1, 4, 'simple', 'a', '2012-01-01', '2012-01-01');
		INSERT INTO stock_item (item_id, product_id, stock_id, qty, min_qty, use_config_min_qty, is_qty_decimal, backorders, use_config_backorders,
			min_sale_qty, use_config_min_sale_qty, max_sale_qty, use_config_max_sale_qty, is_in_stock, use_config_notify_stock_qty, manage_stock,
			use_config_manage_stock, stock_status_changed_auto, use_config_qty_increments, qty_increments, use_config_enable_qty_inc,
			enable_qty_increments, is_decimal_divided) VALUES (1, 1, 1, 0, 0, 1, 0, 0, 1, 1, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0);
		INSERT INTO product_value VALUES (1, 1, 'name', 'x', 'X');
		INSERT INTO product_listing (store_id, product_id, stock_state) VALUES (1, 1, 1);
		INSERT INTO product_group_price VALUES (1, 1, 0, 2, 95);
		INSERT INTO product_tier_price VALUES (1, 1, 0, 2, 80, 10);
		INSERT INTO product_rule_price VALUES (1, 1, 1, 2, '2013-01-01', 80);
		INSERT INTO product_website VALUES (1, 1, 1);
		INSERT INTO product_category VALUES (1, 1, 2, 1);
		INSERT INTO product_image VALUES (1, 1, 'a.png', 'image/png');
		INSERT INTO product_image_value VALUES (1, 0, 'l', 1, 0);
		INSERT INTO product_image_pointer VALUES (1, 0, 'image', 1);
		INSERT INTO customer (entity_id, website_id, email, email_folded, group_id, created_at, updated_at, disable_auto_group_change) VALUES (1, 1, 'a', 'A', 1, '2012-01-01', '2012-01-01', 0);
		INSERT INTO customer_address (entity_id, customer_id, created_at, updated_at, is_default_billing, is_default_shipping) VALUES (1, 1, '2012-01-01', '2012-01-01', 1, 1);
		INSERT INTO oauth_consumer (consumer_id, name, consumer_key, consumer_key_lower, secret, created_at) VALUES (1, 'c', 'k', 'k', 's', '2012-01-01');
		INSERT INTO oauth_token (token_id, consumer_id, type, token, token_lower, secret, customer_id, created_at) VALUES (1, 1, 'access', 't', 't', 's', 1, '2012-01-01');
		INSERT INTO sales_order (entity_id, customer_id, store_id, created_at, updated_at) VALUES (1, 1, 1, '2012-01-01', '2012-01-01');
		INSERT INTO order_item (item_id, order_id, product_id, created_at, updated_at) VALUES (1, 1, 1, '2012-01-01', '2012-01-01')`, ";")
	for _, c := range []struct {
		name, statement string
		gone, stay      []string
	}{
		{
			"product", "DELETE FROM product",
			[]string{
				"stock_item", "product_value", "product_group_price", "product_tier_price", "product_rule_price", "product_website", "product_category",
				"product_image", "product_image_value", "product_image_pointer", "product_listing",
			},
			[]string{"order_item WHERE product_id = 1", "category", "website"},
		},
		{"store view", "DELETE FROM store", []string{"product_value", "product_listing"}, []string{"product", "product_website", "website"}},
		{"website", "DELETE FROM website", []string{"store", "product_value", "product_listing", "product_website"}, []string{"product", "product_category"}},
		{"category", "DELETE FROM category", []string{"product_category"}, []string{"product", "product_website"}},
		{
			"customer", "DELETE FROM customer",
			[]string{"customer_address", "oauth_token"},
			[]string{"sales_order WHERE customer_id IS NULL", "oauth_consumer"},
		},
		{"consumer", "DELETE FROM oauth_consumer", []string{"oauth_token"}, []string{"customer"}},
		{"image", "DELETE FROM product_image", []string{"product_image_value"}, []string{"product_image_pointer WHERE image_id IS NULL"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := db.Reset(t.Context(), &adapter.Dataset{}); err != nil {
				t.Fatal(err)
			}
			execute(t, db, append(slices.Clone(setup), c.statement)...)
			for _, table := range c.gone {
				if n := count("SELECT COUNT(*) FROM " + table); n != 0 {
					t.Errorf("%d rows left in %s", n, table)
				}
			}
			for _, table := range c.stay {
				if n := count("SELECT COUNT(*) FROM " + table); n != 1 {
					t.Errorf("%d rows in %s, want 1", n, table)
				}
			}
		})
	}
	t.Run("keys", func(t *testing.T) {
		db := openTest(t, e)
		execute(t, db, setup...)
		execute(t, db, "DELETE FROM product")
		add := func() (id int64) {
			t.Helper()
			err := db.records.Write(t.Context(), "add product", func(tx *engine.Tx) (err error) {
				id, err = tx.Insert(t.Context(), "product", "entity_id", 0,
					[]string{"attribute_set_id", "type_id", "sku", "created_at", "updated_at"}, []any{4, "simple", "b", "2012-01-01", "2012-01-01"})
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return id
		}
		first := add()
		execute(t, db, "DELETE FROM product")
		if second := add(); second <= first {
			t.Errorf("product %d was added after %d", second, first)
		}
	})
}

// TestReadersOnlyRead checks that the pool of readers cannot write.
func TestReadersOnlyRead(t *testing.T) {
	sqltest.EachSQL(t, func(t *testing.T, e sqltest.Engine) {
		db := openTest(t, e)
		if _, err := db.records.Readers.ExecContext(t.Context(), "DELETE FROM product"); err == nil {
			t.Error("a reader wrote")
		}
	})
}
