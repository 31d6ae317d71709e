package sqlstore

import (
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
)

// TestPushDown says which conditions SQL does, so that a list does not become
// Partial unseen.
func TestPushDown(t *testing.T) {
	EachEngine(t, testPushDown)
}

func testPushDown(t *testing.T, e Engine) {
	db := openTest(t, e)
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
		selected, err := selectRecords(db.engine, db.engine.flavor.NewSelectBuilder(), db.table(c.resource), &adapter.Query{Where: []adapter.Condition{{Any: []adapter.Test{c.test}}}})
		if err != nil || selected.partial == c.want {
			t.Errorf("%v: partial %v, %v", c.test, selected.partial, err)
		}
	}
}

// TestTextConditions compares text conditions and orders with adapter.Apply on
// the products, until their store can be tested as a whole.
func TestTextConditions(t *testing.T) {
	EachEngine(t, testTextConditions)
}

func testTextConditions(t *testing.T, e Engine) {
	db := openTest(t, e)
	table := db.table(adapter.Products)
	row := newRow(table)
	var records []adapter.Record
	for i, name := range []string{"Weiß", "weis ", "Éclair", "eclair_1", "100%", `back\slash`, "", " lead", "中文", "a,b", "eclairx1", "ECLAIR", `end\`, "weis\n", "weis\ta", "weis!", "Zebra", "_", strings.Repeat("x", 255)} {
		r := adapter.NewRecord(table.schema)
		r.Set("entity_id", adapter.IntegerValue(int64(i+1)))
		r.Set("attribute_set_id", adapter.IntegerValue(4))
		for _, attribute := range []string{"type_id", "sku", "name"} {
			r.Set(attribute, adapter.TextValue(name))
		}
		// Longer than what a database compares of a text when it is not told to.
		r.Set("description", adapter.TextValue(strings.Repeat("é", 5000)+name))
		for _, attribute := range []string{"created_at", "updated_at"} {
			r.Set(attribute, adapter.TextValue("2012-01-01 00:00:00"))
		}
		records = append(records, r)
		arguments, err := row.arguments(db.engine, r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.writer.ExecContext(t.Context(), row.insert(db.engine), arguments...); err != nil {
			t.Fatal(err)
		}
	}
	s := newStore(db, table)
	check := func(q *adapter.Query) {
		t.Helper()
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
	check(&adapter.Query{OrderBy: "description"})
	check(&adapter.Query{OrderBy: "description", Desc: true, Limit: 3})
	for _, op := range []adapter.Op{adapter.Eq, adapter.NotEq, adapter.Gt, adapter.Lt, adapter.GtEq, adapter.LtEq, adapter.In, adapter.NotIn, adapter.Like, adapter.NotLike} {
		for _, operand := range []string{
			"", " ", "weiss", "WEIS", "weiß  ", "éclair", "%clair%", `eclair\_1`, "eclair_1", `100\%`, `back\\slash`, `%\`, `\`, "中_", "%e%", "_", "%1", "a,b", "% ",
		} {
			for _, desc := range []bool{false, true} {
				check(&adapter.Query{Where: []adapter.Condition{{Any: []adapter.Test{{Attribute: "name", Op: op, Operands: []string{operand}}}}}, OrderBy: "name", Desc: desc})
			}
		}
	}
}
