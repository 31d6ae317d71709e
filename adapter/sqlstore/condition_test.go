package sqlstore_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// A shop is a database and the records that it reads.
type shop struct {
	*engine.DB
	*sqlstore.RecordSet
}

// openRecords opens a new database with empty tables.
func openRecords(t *testing.T, e sqltest.Engine) shop {
	t.Helper()
	db := sqltest.Open(t, e.NewDSN(t))
	return shop{db, sqlstore.NewRecordSet(db, adapter.NewSchemas())}
}

// TestPushDown fixes the conditions that SQL evaluates, so that a change cannot silently
// make lists read every record.
func TestPushDown(t *testing.T) {
	sqltest.EachSQL(t, testPushDown)
}

func testPushDown(t *testing.T, e sqltest.Engine) {
	db := openRecords(t, e)
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
		{adapter.StockItems, adapter.Test{Attribute: "low_stock_date", Op: adapter.Eq, Operands: []string{""}}, true},
		{adapter.StockItems, adapter.Test{Attribute: "low_stock_date", Op: adapter.In}, true},
		{adapter.StockItems, adapter.Test{Attribute: "low_stock_date", Op: adapter.NotIn, Operands: []string{"", "2012-03-01 10:00:00"}}, true},
		{adapter.Orders, adapter.Test{Attribute: "created_at", Op: adapter.Within, Operands: []string{"2012-03-01 10:00:01", "2012-03-01 10:00:00"}}, true},
		{adapter.StockItems, adapter.Test{Attribute: "product_created_at", Op: adapter.IsNotNull}, true},
		{adapter.Products, adapter.Test{Attribute: "name", Op: adapter.Like, Operands: []string{"%é%"}}, true},
		{adapter.Products, adapter.Test{Attribute: "sku", Op: adapter.Eq, Operands: []string{"A"}}, true},
		{adapter.Products, adapter.Test{Attribute: "sku", Op: adapter.Matches, Operands: []string{"a"}}, false},
		{adapter.Products, adapter.Test{Attribute: "sku", Op: adapter.InCommaList, Operands: []string{"a"}}, false},
		{adapter.Products, adapter.Test{Attribute: "tier_price", Op: adapter.IsNull}, false},
		{adapter.Customers, adapter.Test{Attribute: "password_hash", Op: adapter.Eq, Operands: []string{"a"}}, false},
	} {
		selected, err := sqlstore.Select(db.Engine, db.Engine.Flavor.NewSelectBuilder(), db.Table(c.resource), &adapter.Query{Where: []adapter.Condition{{Any: []adapter.Test{c.test}}}})
		if err != nil || (len(selected.Residual) == 0) != c.want {
			t.Errorf("%v: left %v, %v", c.test, selected.Residual, err)
		}
	}
}

// TestPageMarksArePushedDown starts lists after marks in every order and with values of
// every kind, so that a change cannot silently make deep pages read the whole table.
func TestPageMarksArePushedDown(t *testing.T) {
	sqltest.EachSQL(t, func(t *testing.T, e sqltest.Engine) {
		db := openRecords(t, e)
		values := map[adapter.Kind]string{
			adapter.KindText: "Weiß", adapter.KindInteger: "-3", adapter.KindDecimal: "2.5000", adapter.KindTime: "2012-03-01 10:00:00",
		}
		for _, r := range []adapter.Resource{adapter.StockItems, adapter.Products, adapter.Customers, adapter.Orders} {
			table := db.Table(r)
			for i, a := range table.Schema.Attributes {
				if table.Columns[i].SortColumn(a.Kind) == "" {
					continue
				}
				for _, value := range []adapter.Value{adapter.NullValue(), adapter.TextValue(values[a.Kind])} {
					q := &adapter.Query{OrderBy: a.Name, Desc: i%2 == 1, After: &adapter.Cursor{Value: value, Key: 7}}
					selected, err := sqlstore.Select(db.Engine, db.Engine.Flavor.NewSelectBuilder(), table, q)
					if err != nil || selected.After == "" {
						t.Errorf("%s by %s behind %v: not in SQL; %v", r, a.Name, value, err)
					}
				}
			}
		}
	})
}

// TestPageMarksUseAnIndex checks that a list after a mark reads nothing before the
// mark, in both directions.
func TestPageMarksUseAnIndex(t *testing.T) {
	db := openRecords(t, sqltest.Engines()[0])
	table := db.Table(adapter.Products)
	for _, c := range []struct {
		query adapter.Query
		want  string
	}{
		{adapter.Query{}, "SEARCH product USING INTEGER PRIMARY KEY (rowid>?)"},
		{adapter.Query{OrderBy: "entity_id", Desc: true}, "SEARCH product USING INTEGER PRIMARY KEY (rowid<?)"},
		{adapter.Query{OrderBy: "name"}, "SEARCH product USING INDEX product_name_folded (name_folded>?)"},
		{adapter.Query{OrderBy: "name", Desc: true}, "SEARCH product USING INDEX product_name_folded (name_folded<?)"},
	} {
		c.query.After = &adapter.Cursor{Value: adapter.TextValue("kettle"), Key: 5}
		sb := db.Engine.Flavor.NewSelectBuilder()
		selected, err := sqlstore.Select(db.Engine, sb, table, &c.query)
		if err != nil {
			t.Fatal(err)
		}
		text, arguments := sb.Select("*").From(table.Name).Where(selected.After).OrderBy(selected.Order...).Build()
		var id, parent, unused int
		var plan string
		err = engine.First(db.Writer.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+text, arguments...)).Scan(&id, &parent, &unused, &plan)
		if err != nil || plan != c.want {
			t.Errorf("%+v: %s, want %s; %v", c.query, plan, c.want, err)
		}
	}
}

// TestTextConditions compares text conditions and orders on products with
// adapter.Apply.
func TestTextConditions(t *testing.T) {
	sqltest.EachSQL(t, testTextConditions)
}

func testTextConditions(t *testing.T, e sqltest.Engine) {
	db := openRecords(t, e)
	table := db.Table(adapter.Products)
	row := db.Records[adapter.Products].Row
	var records []adapter.Record
	for i, name := range []string{"Weiß", "weis ", "Éclair", "eclair_1", "100%", `back\slash`, "", " lead", "中文", "a,b", "eclairx1", "ECLAIR", `end\`, "weis\n", "weis\ta", "weis!", "Zebra", "_", "two  ", "two%", strings.Repeat("x", 255)} {
		r := adapter.NewRecord(table.Schema)
		r.Set("entity_id", adapter.IntegerValue(int64(i+1)))
		r.Set("attribute_set_id", adapter.IntegerValue(4))
		for _, attribute := range []string{"type_id", "sku", "name"} {
			r.Set(attribute, adapter.TextValue(name))
		}
		// Longer than the prefix that some databases compare by default.
		r.Set("description", adapter.TextValue(strings.Repeat("é", 5000)+name))
		for _, attribute := range []string{"created_at", "updated_at"} {
			r.Set(attribute, adapter.TextValue("2012-01-01 00:00:00"))
		}
		records = append(records, r)
		arguments, err := row.Arguments(db.Engine, r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Writer.ExecContext(t.Context(), db.Records[adapter.Products].InsertWithKeySQL, arguments...); err != nil {
			t.Fatal(err)
		}
	}
	s := db.Records[adapter.Products]
	check := func(q *adapter.Query) {
		t.Helper()
		want, _, err := adapter.Apply(t.Context(), table.Schema, records, q)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.List(t.Context(), &adapter.ListParams{Query: *q})
		if err != nil || got.Partial {
			t.Fatalf("%+v: partial, or %v", q, err)
		}
		if !slices.EqualFunc(got.Records, want, func(a, b adapter.Record) bool { return a.Get("entity_id").Equal(b.Get("entity_id")) }) {
			t.Errorf("%+v: %d records, want %d", q, len(got.Records), len(want))
		}
	}
	check(&adapter.Query{OrderBy: "description"})
	check(&adapter.Query{OrderBy: "description", Desc: true, Limit: 3})
	for _, op := range []adapter.Op{adapter.Eq, adapter.NotEq, adapter.Gt, adapter.Lt, adapter.GtEq, adapter.LtEq, adapter.In, adapter.NotIn, adapter.Like, adapter.NotLike} {
		for _, operand := range []string{
			"", " ", "weiss", "WEIS", "weiß  ", "éclair", "%clair%", `eclair\_1`, "eclair_1", `100\%`, `back\\slash`, `%\`, `\`, "中_", "%e%", "_", "%1", "a,b", "% ",
			"weis ", "weis_", "weis%", "weis _", "weis_%", "weis %", "two _", "two__%", `two\%`, `two\ %`, `two \_%`, "two %%", "%o",
		} {
			for _, desc := range []bool{false, true} {
				check(&adapter.Query{Where: []adapter.Condition{{Any: []adapter.Test{{Attribute: "name", Op: op, Operands: []string{operand}}}}}, OrderBy: "name", Desc: desc})
			}
		}
	}
}
