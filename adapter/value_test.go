package adapter_test

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
)

// TestValue reads values of each kind, after the garbage collector has freed what they do not hold, and compares
// them.
func TestValue(t *testing.T) {
	t.Parallel()
	part := adapter.NewRecord(adapter.NewSchemas().Of(adapter.StockItems))
	part.Set("qty", adapter.TextValue("1.0000"))
	built := func(text string) string { return strings.Clone(text) } // memory of its own
	values := func() map[string]adapter.Value {
		return map[string]adapter.Value{
			"":         {},
			"null":     adapter.NullValue(),
			"unset":    adapter.UnsetValue(),
			"a text":   adapter.TextValue(built("a text")),
			"-7":       adapter.IntegerValue(-7),
			`["a" ""]`: adapter.TextsValue([]string{built("a"), ""}),
			"[]":       adapter.TextsValue(nil),
		}
	}
	all, others := values(), values()
	empty, lists := adapter.TextValue(""), adapter.RecordsValue([]adapter.Record{part})
	runtime.GC()
	for text, v := range all {
		if got := v.String(); got != text {
			t.Errorf("%d: %q, want %q", v.Kind(), got, text)
		}
		for name, other := range others {
			if v.Equal(other) != (name == text) {
				t.Errorf("%q equals %q: %t", text, name, v.Equal(other))
			}
		}
		isText, isInteger := v.Kind() == adapter.Text, v.Kind() == adapter.Integer
		if (v.Text() == text) != (isText || isInteger || text == "") || (v.Int() != 0) != isInteger || v.Records() != nil {
			t.Errorf("%q: text %q, integer %d, records %v", text, v.Text(), v.Int(), v.Records())
		}
	}
	if got := all[`["a" ""]`].Texts(); !slices.Equal(got, []string{"a", ""}) {
		t.Errorf("texts %q", got)
	}
	if empty.Text() != "" || empty.Kind() != adapter.Text || empty.Equal(all[""]) || !empty.Equal(adapter.TextValue("")) {
		t.Errorf("an empty text is %v", empty)
	}
	if got := lists.Records(); len(got) != 1 || got[0].Get("qty").Text() != "1.0000" || lists.Texts() != nil || lists.Equal(lists) {
		t.Errorf("records %v", got)
	}
}
