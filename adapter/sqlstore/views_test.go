package sqlstore_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// warehouseTables are the tables of a warehouse, with other names and types than
// sqlstore's, and stock by SKU and place.
const warehouseTables = `
	CREATE TABLE article (
		article_no BIGINT PRIMARY KEY,
		sku VARCHAR(64) NOT NULL UNIQUE,
		since TIMESTAMP NOT NULL
	);
	CREATE TABLE inventory (
		bin BIGINT PRIMARY KEY,
		article_sku VARCHAR(64) NOT NULL REFERENCES article(sku),
		on_hand DECIMAL(14,6) NOT NULL,
		reorder_at DECIMAL(14,6),
		counted_at TIMESTAMP
	);
	INSERT INTO article VALUES (11, 'cup', '2020-01-02 03:04:05');
	INSERT INTO article VALUES (12, 'pot', '2021-01-02 03:04:05');
	INSERT INTO inventory VALUES (501, 'pot', 12.5, 3, NULL);
	INSERT INTO inventory VALUES (502, 'cup', 0, NULL, '2022-05-06 07:08:09')`

// stockItemView shows the inventory as stock items. NUMBER, AMOUNT and TIME stand for
// the types of the engine.
const stockItemView = `
	CREATE VIEW stock_item AS SELECT
		bin AS item_id,
		(SELECT article_no FROM article WHERE sku = article_sku) AS product_id,
		CAST(1 AS NUMBER) AS stock_id,
		on_hand AS qty,
		CAST(0 AS AMOUNT) AS min_qty, CAST(1 AS NUMBER) AS use_config_min_qty,
		CAST(0 AS NUMBER) AS is_qty_decimal,
		CAST(0 AS NUMBER) AS backorders, CAST(1 AS NUMBER) AS use_config_backorders,
		CAST(1 AS AMOUNT) AS min_sale_qty, CAST(1 AS NUMBER) AS use_config_min_sale_qty,
		CAST(0 AS AMOUNT) AS max_sale_qty, CAST(1 AS NUMBER) AS use_config_max_sale_qty,
		CAST(CASE WHEN on_hand > 0 THEN 1 ELSE 0 END AS NUMBER) AS is_in_stock,
		CAST(counted_at AS TIME) AS low_stock_date,
		reorder_at AS notify_stock_qty, CAST(0 AS NUMBER) AS use_config_notify_stock_qty,
		CAST(1 AS NUMBER) AS manage_stock, CAST(1 AS NUMBER) AS use_config_manage_stock,
		CAST(0 AS NUMBER) AS stock_status_changed_auto,
		CAST(1 AS NUMBER) AS use_config_qty_increments, CAST(0 AS AMOUNT) AS qty_increments,
		CAST(1 AS NUMBER) AS use_config_enable_qty_inc, CAST(0 AS NUMBER) AS enable_qty_increments,
		CAST(0 AS NUMBER) AS is_decimal_divided
	FROM inventory;
	CREATE VIEW product AS SELECT article_no AS entity_id, CAST(since AS TIME) AS created_at, CAST(since AS TIME) AS updated_at FROM article`

// sqliteTrigger makes the view writable on SQLite, which has no updatable views.
const sqliteTrigger = `
	CREATE TRIGGER stock_item_update INSTEAD OF UPDATE ON stock_item BEGIN
		UPDATE inventory SET on_hand = NEW.qty WHERE bin = NEW.item_id;
	END`

// TestViewsOverOtherSchema reads and changes a database with another schema through
// views.
func TestViewsOverOtherSchema(t *testing.T) {
	sqltest.EachEngine(t, testViewsOverOtherSchema)
}

func testViewsOverOtherSchema(t *testing.T, e sqltest.Engine) {
	dsn := e.Empty(t)
	types := map[string]*strings.Replacer{
		"sqlite":   strings.NewReplacer("NUMBER", "INTEGER", "AMOUNT", "DECIMAL", "TIME)", "TEXT)"),
		"postgres": strings.NewReplacer("NUMBER", "BIGINT", "AMOUNT", "DECIMAL(12,4)", "TIME)", "TIMESTAMP(0))"),
		"mariadb":  strings.NewReplacer("NUMBER", "SIGNED", "AMOUNT", "DECIMAL(12,4)", "TIME)", "DATETIME)"),
	}[e.Name]
	statements := append(strings.Split(warehouseTables, ";"), strings.Split(types.Replace(stockItemView), ";")...)
	if path, ok := strings.CutPrefix(dsn, "sqlite:"); ok {
		createFile(t, path)
		statements = append(statements, sqliteTrigger)
	}
	sqltest.Exec(t, dsn, statements...)

	db := sqlstore.OpenWith(t, sqlstore.Options{DSN: dsn}) // without Migrate
	s := stock(t, db)
	item := func(key adapter.Key, want map[string]string) {
		t.Helper()
		r := adaptertest.MustGet(t, s, adapter.GetParams{Key: key})
		for name, text := range want {
			if got := r.Get(name); got.Text() != text {
				t.Errorf("item %d: %s is %q, want %q", key, name, got.Text(), text)
			}
		}
	}
	item(501, map[string]string{"product_id": "12", "qty": "12.5000", "notify_stock_qty": "3.0000", "low_stock_date": "", "is_in_stock": "1", "stock_id": "1"})
	item(502, map[string]string{"product_id": "11", "qty": "0.0000", "notify_stock_qty": "", "low_stock_date": "2022-05-06 07:08:09", "is_in_stock": "0"})

	since := func(operand string) adapter.Query {
		return adapter.Query{
			Where:   []adapter.Condition{{Any: []adapter.Test{{Attribute: "product_created_at", Op: adapter.Gt, Operands: []string{operand}}}}},
			OrderBy: "qty",
		}
	}
	for operand, want := range map[string]int{"2019-12-31 23:59:59": 2, "2020-01-02 03:04:05": 1, "2021-01-02 03:04:05": 0} {
		result, err := s.List(t.Context(), &adapter.ListParams{Query: since(operand)})
		if err != nil || result.Partial || len(result.Records) != want {
			t.Errorf("products since %s: %+v, %v; want %d", operand, result, err, want)
		}
	}

	if err := adaptertest.Update(t, s, 501, 0, attrs{"qty": "-4.2500"}); err != nil {
		t.Fatal(err)
	}
	// The SQLite trigger ignores columns that it does not know.
	if err := adaptertest.Update(t, s, 501, 0, attrs{"is_in_stock": 1}); adapter.KindOf(err) != adapter.Unsupported && e.Name != "sqlite" {
		t.Errorf("a computed column: %v, want unsupported", err)
	}
	item(501, map[string]string{"qty": "-4.2500", "is_in_stock": "0"})
	var onHand float64
	if err := sqltest.Raw(t, dsn).QueryRowContext(t.Context(), "SELECT on_hand FROM inventory WHERE bin = 501").Scan(&onHand); err != nil || onHand != -4.25 {
		t.Errorf("on hand %v, %v", onHand, err)
	}
	if err := adaptertest.Update(t, s, 9, 0, nil); adapter.KindOf(err) != adapter.NotFound {
		t.Errorf("unknown key: %v, want not found", err)
	}
	if _, err := db.Credentials().Use(t.Context(), "n", 1); err == nil {
		t.Error("a nonce was stored, and there is no table for it")
	}
}

// TestAddedAttributesInViews reads customers through a view, and added attributes
// through another view, which is used only if there are such attributes.
func TestAddedAttributesInViews(t *testing.T) {
	sqltest.EachEngine(t, testAddedAttributesInViews)
}

func testAddedAttributesInViews(t *testing.T, e sqltest.Engine) {
	dsn := e.Empty(t)
	if path, ok := strings.CutPrefix(dsn, "sqlite:"); ok {
		createFile(t, path)
	}
	types := map[string][]string{ // text, integer, time
		"sqlite": {"TEXT", "INTEGER", "TEXT"}, "postgres": {"TEXT", "BIGINT", "TIMESTAMP(0)"}, "mariadb": {"CHAR", "SIGNED", "DATETIME"},
	}[e.Name]
	kept := map[string]string{"entity_id": "no", "email": "mail", "email_folded": "UPPER(mail)", "website_id": "CAST(1 AS " + types[1] + ")"}
	var columns []string
	column := func(name, kind string) {
		expression, ok := kept[name]
		if !ok {
			expression = "CAST(NULL AS " + kind + ")"
		}
		columns = append(columns, expression+" AS "+name)
	}
	for _, a := range adapter.NewSchemas().Of(adapter.Customers).Attributes {
		switch a.Kind {
		case adapter.KindInteger:
			column(a.Name, types[1])
		case adapter.KindTime:
			column(a.Name, types[2])
		default:
			column(a.Name, types[0])
			column(a.Name+"_folded", types[0])
		}
	}
	sqltest.Exec(t, dsn,
		"CREATE TABLE person (no BIGINT PRIMARY KEY, mail VARCHAR(64), points BIGINT, discount DECIMAL(5,1))",
		"INSERT INTO person VALUES (7, 'a@example.com', 12, 2.5), (8, 'b@example.com', 3, NULL), (9, 'c@example.com', NULL, 10)",
		"CREATE VIEW customer AS SELECT "+strings.Join(columns, ", ")+", '' AS nulls FROM person")

	customers := func(schemas *adapter.Schemas) adapter.Store {
		t.Helper()
		db := sqlstore.OpenWith(t, sqlstore.Options{DSN: dsn, Schemas: schemas}) // without Migrate
		s := adaptertest.StoreOf(t, db.Adapter(), adapter.Customers)
		return s
	}
	if r, err := customers(nil).Get(t.Context(), &adapter.GetParams{Key: 8}); err != nil || r.Get("email").Text() != "b@example.com" {
		t.Fatalf("without added attributes: %v, %v", r, err)
	}

	sqltest.Exec(t, dsn, "CREATE VIEW customer_value AS SELECT no AS customer_id, 'loyalty_points' AS attribute, CAST(points AS "+types[0]+") AS value, CAST(NULL AS "+types[0]+") AS value_folded FROM person"+
		" UNION ALL SELECT no, 'discount', CAST(discount AS "+types[0]+"), NULL FROM person WHERE discount IS NOT NULL")
	extended, err := adapter.NewSchemas().With(
		adapter.AddedAttribute{Resource: adapter.Customers, Name: "loyalty_points", Kind: adapter.KindInteger},
		adapter.AddedAttribute{Resource: adapter.Customers, Name: "discount", Kind: adapter.KindDecimal},
	)
	if err != nil {
		t.Fatal(err)
	}
	result, err := customers(extended).List(t.Context(), &adapter.ListParams{Query: adapter.Query{OrderBy: "discount", Desc: true}})
	if err != nil || result.Partial {
		t.Fatalf("%+v, %v", result, err)
	}
	var got []string
	for _, r := range result.Records {
		points, discount := r.Get("loyalty_points"), r.Get("discount")
		got = append(got, fmt.Sprintf("%s: %d %q, %d %q", r.Get("entity_id").Text(), points.Kind(), points.Text(), discount.Kind(), discount.Text()))
	}
	want := []string{
		fmt.Sprintf(`9: %d "", %d "10.0000"`, adapter.Null, adapter.Text),
		fmt.Sprintf(`7: %d "12", %d "2.5000"`, adapter.Integer, adapter.Text),
		fmt.Sprintf(`8: %d "3", %d ""`, adapter.Integer, adapter.Absent),
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// createFile makes an empty file.
func createFile(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}
