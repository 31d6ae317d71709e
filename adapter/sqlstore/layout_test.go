package sqlstore

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/portico-commerce/portico/adapter"
)

func openTest(t *testing.T) *DB {
	t.Helper()
	db, err := Open(t.Context(), Options{DSN: filepath.Join(t.TempDir(), "shop.db"), Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// tableColumns returns the columns of a table with their declared types.
func tableColumns(t *testing.T, db *DB, name string) map[string]string {
	t.Helper()
	rows, err := db.readers.QueryContext(t.Context(), "SELECT name, type FROM pragma_table_info(?)", name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	columns := map[string]string{}
	for rows.Next() {
		var column, kind string
		if err := rows.Scan(&column, &kind); err != nil {
			t.Fatal(err)
		}
		columns[column] = kind
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return columns
}

// TestLayout compares every table with its schema: nothing missing, nothing more.
func TestLayout(t *testing.T) {
	db := openTest(t)
	types := map[adapter.Kind]string{
		adapter.KindText: "TEXT", adapter.KindInteger: "INTEGER", adapter.KindDecimal: "DECIMAL(12,4)",
		adapter.KindTime: "TEXT", adapter.KindTexts: "TEXT",
	}
	for _, table := range db.tables {
		t.Run(table.name, func(t *testing.T) {
			have := tableColumns(t, db, table.name)
			var want []string
			for _, at := range table.places(false) {
				a := table.schema.Attributes[at]
				want = append(want, a.Name)
				if have[a.Name] != types[a.Kind] {
					t.Errorf("%s is %q, want %q", a.Name, have[a.Name], types[a.Kind])
				}
				if table.columns[at].folded != "" {
					want = append(want, a.Name+"_folded")
				}
			}
			if table.nulls {
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
	for _, name := range []string{"group_price", "tier_price"} {
		nested := db.table(adapter.Products).schema.Attributes[must(db.table(adapter.Products).schema.Index(name))].Nested
		have := tableColumns(t, db, "product_"+name)
		for _, a := range nested.Attributes {
			if have[a.Name] != types[a.Kind] {
				t.Errorf("product_%s.%s is %q, want %q", name, a.Name, have[a.Name], types[a.Kind])
			}
		}
	}
}

func must(at int, ok bool) int {
	if !ok {
		panic("no such attribute")
	}
	return at
}

// TestOwnership deletes owners and looks at what goes, what stays, and that ids
// are not used again.
func TestOwnership(t *testing.T) {
	count := func(db *DB, query string) (n int) {
		t.Helper()
		if err := db.readers.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	const setup = `
		INSERT INTO website VALUES (1, 'w', 'W', 'w', 'W', 1);
		INSERT INTO store (store_id, website_id, code, name) VALUES (1, 1, 's', 'S');
		INSERT INTO category (category_id, parent_id, name, is_active) VALUES (2, 1, 'c', 1);
		INSERT INTO product (entity_id, attribute_set_id, type_id, sku, created_at, updated_at) VALUES (1, 4, 'simple', 'a', 't', 't');
		INSERT INTO stock_item (item_id, product_id, stock_id, qty, min_qty, use_config_min_qty, is_qty_decimal, backorders, use_config_backorders,
			min_sale_qty, use_config_min_sale_qty, max_sale_qty, use_config_max_sale_qty, is_in_stock, use_config_notify_stock_qty, manage_stock,
			use_config_manage_stock, stock_status_changed_auto, use_config_qty_increments, qty_increments, use_config_enable_qty_inc,
			enable_qty_increments, is_decimal_divided) VALUES (1, 1, 1, 0, 0, 1, 0, 0, 1, 1, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0);
		INSERT INTO product_value VALUES (1, 1, 'name', 'x', 'X');
		INSERT INTO product_group_price VALUES (1, 1, 0, 2, 95);
		INSERT INTO product_tier_price VALUES (1, 1, 0, 2, 80, 10);
		INSERT INTO product_website VALUES (1, 1, 1);
		INSERT INTO product_category VALUES (1, 1, 2, 1);
		INSERT INTO product_image VALUES (1, 1, 'a.png', 'image/png');
		INSERT INTO product_image_value VALUES (1, 0, 'l', 1, 0);
		INSERT INTO product_image_pointer VALUES (1, 0, 'image', 1);
		INSERT INTO customer (entity_id, website_id, email, email_folded, group_id, created_at, updated_at, disable_auto_group_change) VALUES (1, 1, 'a', 'A', 1, 't', 't', 0);
		INSERT INTO customer_address (entity_id, customer_id, created_at, updated_at, is_default_billing, is_default_shipping) VALUES (1, 1, 't', 't', 1, 1);
		INSERT INTO oauth_consumer VALUES (1, 'c', 'k', 'k', 's', 't');
		INSERT INTO oauth_token (token_id, consumer_id, type, token, token_lower, secret, customer_id, created_at) VALUES (1, 1, 'access', 't', 't', 's', 1, 't');
		INSERT INTO sales_order (entity_id, customer_id, store_id, created_at, updated_at) VALUES (1, 1, 1, 't', 't');
		INSERT INTO order_item (item_id, order_id, product_id, created_at, updated_at) VALUES (1, 1, 1, 't', 't');`
	for _, c := range []struct {
		name, statement string
		gone, stay      []string
	}{
		{
			"product", "DELETE FROM product",
			[]string{
				"stock_item", "product_value", "product_group_price", "product_tier_price", "product_website", "product_category",
				"product_image", "product_image_value", "product_image_pointer",
			},
			[]string{"order_item WHERE product_id = 1", "category", "website"},
		},
		{
			"customer", "DELETE FROM customer",
			[]string{"customer_address", "oauth_token"},
			[]string{"sales_order WHERE customer_id IS NULL", "oauth_consumer"},
		},
		{"consumer", "DELETE FROM oauth_consumer", []string{"oauth_token"}, []string{"customer"}},
		{"image", "DELETE FROM product_image", []string{"product_image_value"}, []string{"product_image_pointer WHERE image_id IS NULL"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			db := openTest(t)
			for _, statement := range []string{setup, c.statement} {
				if _, err := db.writer.ExecContext(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
			for _, table := range c.gone {
				if n := count(db, "SELECT COUNT(*) FROM "+table); n != 0 {
					t.Errorf("%d rows left in %s", n, table)
				}
			}
			for _, table := range c.stay {
				if n := count(db, "SELECT COUNT(*) FROM "+table); n != 1 {
					t.Errorf("%d rows in %s, want 1", n, table)
				}
			}
		})
	}
	t.Run("keys", func(t *testing.T) {
		db := openTest(t)
		for _, statement := range []string{setup, "DELETE FROM product", "INSERT INTO product (attribute_set_id, type_id, sku, created_at, updated_at) VALUES (4, 'simple', 'b', 't', 't')"} {
			if _, err := db.writer.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		if id := count(db, "SELECT entity_id FROM product"); id != 2 {
			t.Errorf("the next product is %d, want 2", id)
		}
	})
}

// TestReadersOnlyRead holds the pool of readers to its name.
func TestReadersOnlyRead(t *testing.T) {
	db := openTest(t)
	if _, err := db.readers.ExecContext(t.Context(), "DELETE FROM product"); err == nil {
		t.Error("a reader wrote")
	}
	var mode string
	if err := db.readers.QueryRowContext(t.Context(), "PRAGMA journal_mode").Scan(&mode); err != nil || mode != "wal" {
		t.Errorf("journal mode %q, %v", mode, err)
	}
}

// TestPushDown says which conditions SQL does, so that a list does not become
// Partial unseen.
func TestPushDown(t *testing.T) {
	db := openTest(t)
	for _, c := range []struct {
		resource adapter.Resource
		test     adapter.Test
		want     bool
	}{
		{adapter.StockItems, adapter.Test{Attribute: "qty", Op: adapter.Gt, Operands: []string{"0.00001"}}, true},
		{adapter.StockItems, adapter.Test{Attribute: "qty", Op: adapter.In, Operands: []string{"1", "2.5"}}, true},
		{adapter.StockItems, adapter.Test{Attribute: "qty", Op: adapter.Eq, Operands: []string{"1e3"}}, false},
		{adapter.StockItems, adapter.Test{Attribute: "qty", Op: adapter.Like, Operands: []string{"1%"}}, false},
		{adapter.StockItems, adapter.Test{Attribute: "low_stock_date", Op: adapter.GtEq, Operands: []string{""}}, true},
		{adapter.StockItems, adapter.Test{Attribute: "product_created_at", Op: adapter.IsNotNull}, true},
		{adapter.Products, adapter.Test{Attribute: "name", Op: adapter.Like, Operands: []string{"%é%"}}, true},
		{adapter.Products, adapter.Test{Attribute: "sku", Op: adapter.Eq, Operands: []string{"A"}}, true},
		{adapter.Products, adapter.Test{Attribute: "sku", Op: adapter.Matches, Operands: []string{"a"}}, false},
		{adapter.Products, adapter.Test{Attribute: "sku", Op: adapter.InCommaList, Operands: []string{"a"}}, false},
		{adapter.Products, adapter.Test{Attribute: "tier_price", Op: adapter.IsNull}, false},
		{adapter.Customers, adapter.Test{Attribute: "password_hash", Op: adapter.Eq, Operands: []string{"a"}}, false},
	} {
		selected, err := selectRecords(flavor.NewSelectBuilder(), db.table(c.resource), &adapter.Query{Where: []adapter.Condition{{Any: []adapter.Test{c.test}}}})
		if err != nil || selected.partial == c.want {
			t.Errorf("%v: partial %v, %v", c.test, selected.partial, err)
		}
	}
}

// TestTextConditions compares text conditions and orders with adapter.Apply on
// the products, until their store can be tested as a whole.
func TestTextConditions(t *testing.T) {
	db := openTest(t)
	table := db.table(adapter.Products)
	row := newRow(table)
	var records []adapter.Record
	for i, name := range []string{"Weiß", "weis ", "Éclair", "eclair_1", "100%", `back\slash`, "", " lead", "中文", "a,b", "eclairx1", "ECLAIR", `end\`} {
		r := adapter.NewRecord(table.schema)
		r.Set("entity_id", adapter.IntegerValue(int64(i+1)))
		r.Set("attribute_set_id", adapter.IntegerValue(4))
		for _, attribute := range []string{"type_id", "sku", "name"} {
			r.Set(attribute, adapter.TextValue(name))
		}
		for _, attribute := range []string{"created_at", "updated_at"} {
			r.Set(attribute, adapter.TextValue("2012-01-01 00:00:00"))
		}
		records = append(records, r)
		arguments, err := row.arguments(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.writer.ExecContext(t.Context(), row.insert(), arguments...); err != nil {
			t.Fatal(err)
		}
	}
	s := newStore(db, table)
	for _, op := range []adapter.Op{adapter.Eq, adapter.NotEq, adapter.Gt, adapter.Lt, adapter.GtEq, adapter.LtEq, adapter.In, adapter.NotIn, adapter.Like, adapter.NotLike} {
		for _, operand := range []string{
			"", " ", "weiss", "WEIS", "weiß  ", "éclair", "%clair%", `eclair\_1`, "eclair_1", `100\%`, `back\\slash`, `%\`, `\`, "中_", "%e%", "_", "%1", "a,b", "% ",
		} {
			for _, desc := range []bool{false, true} {
				q := &adapter.Query{Where: []adapter.Condition{{Any: []adapter.Test{{Attribute: "name", Op: op, Operands: []string{operand}}}}}, OrderBy: "name", Desc: desc}
				want, _, err := adapter.Apply(table.schema, records, q)
				if err != nil {
					t.Fatal(err)
				}
				got, err := s.List(t.Context(), &adapter.ListParams{Query: *q})
				if err != nil || got.Partial {
					t.Fatalf("%+v: partial, or %v", q, err)
				}
				if !slices.EqualFunc(got.Records, want, func(a, b adapter.Record) bool { return a.Get("entity_id") == b.Get("entity_id") }) {
					t.Errorf("%+v: %d records, want %d", q, len(got.Records), len(want))
				}
			}
		}
	}
}
