package engine_test

import (
	"runtime"
	"testing"
	"weak"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// TestScannerForgets checks that a scanner in a pool keeps no records and no destinations of callers alive.
func TestScannerForgets(t *testing.T) {
	t.Parallel()
	db := openWith(t, "sqlite:"+t.TempDir()+"/shop.db", false)
	schema := adapter.NewSchema("things", "id", []adapter.Attribute{{Name: "id", Kind: adapter.KindInteger}, {Name: "name", Kind: adapter.KindText}})
	table := &engine.Table{Name: "things", Schema: schema, Columns: make([]engine.Column, 2)}
	var sc engine.Scanner
	sc.SetColumns(table, []int{0, 1})
	also := new(string)
	sc.Also(also)
	records, err := engine.CollectRows(t.Context(), db.ReadStatements.Query, func(rows engine.Rows) (adapter.Record, error) { return sc.Record(schema, rows) },
		"SELECT 1, 'a', 'c' UNION ALL SELECT 2, 'b', 'd' UNION ALL SELECT 3, 'c', 'e'")
	if err != nil || len(records) != 3 || records[2].Get("name").Text() != "c" || *also != "e" {
		t.Fatalf("%v %q: %v", records, *also, err)
	}
	last, destination := weak.Make(&records[2].Values[0]), weak.Make(also)
	records, also = nil, nil
	sc.Forget()
	runtime.GC()
	if last.Value() != nil || destination.Value() != nil {
		t.Errorf("values %v and the destination %v are kept", last.Value(), destination.Value())
	}
	runtime.KeepAlive(&sc)
}
