package resource

import (
	"maps"
	"testing"

	"github.com/portico-commerce/portico/adapter"
)

// TestOptions checks the places and the labels of options at store views.
func TestOptions(t *testing.T) {
	schema := adapter.NewSchemas().Of(adapter.AttributeOptions)
	var records []adapter.Record
	for id, labels := range [][]string{{"One", "2:Zwei", "3:un"}, {"two"}, {"Three", "2:drei", "x:y", "no label"}, {"TWO", "2:"}} {
		r := adapter.NewRecord(schema)
		r.Set("option_id", adapter.IntegerValue(int64(id+1)))
		r.Set("resource", adapter.TextValue("products"))
		r.Set("attribute", adapter.TextValue("size"))
		r.Set("label", adapter.TextValue(labels[0]))
		r.Set("labels", adapter.TextsValue(labels[1:]))
		records = append(records, r)
	}
	o := newOptions(records)
	for _, c := range []struct {
		attribute string
		view      int64
		want      map[int64]int
	}{
		{"size", 0, map[int64]int{1: 0, 3: 1, 2: 2, 4: 2}},
		{"size", 2, map[int64]int{4: 0, 3: 1, 2: 2, 1: 3}},
		{"size", 3, map[int64]int{3: 0, 2: 1, 4: 1, 1: 2}},
		{"color", 0, map[int64]int{}},
	} {
		for range 2 { // the second time from memory
			if got := o.Ranks(adapter.Products, c.attribute, c.view); !maps.Equal(got, c.want) {
				t.Errorf("%s at store view %d: %v, want %v", c.attribute, c.view, got, c.want)
			}
		}
	}
	for _, c := range []struct {
		value adapter.Value
		view  int64
		want  string
		ok    bool
	}{
		{adapter.IntegerValue(1), 2, "Zwei", true},
		{adapter.TextValue("3,1"), 3, "Three", true},
		{adapter.TextValue("x"), 0, "", false},
		{adapter.IntegerValue(9), 0, "", false},
		{adapter.NullValue(), 0, "", false},
	} {
		if got, ok := o.Label(adapter.Products, "size", c.value, c.view); got != c.want || ok != c.ok {
			t.Errorf("%v at store view %d: %q, %t, want %q, %t", c.value, c.view, got, ok, c.want, c.ok)
		}
	}
	if o.Has(adapter.Customers, "size", 1) || !o.Has(adapter.Products, "size", 1) {
		t.Error("options of another resource")
	}
}
