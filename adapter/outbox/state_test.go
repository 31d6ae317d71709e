package outbox_test

import (
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/outbox"
)

// TestState checks the values that have the same state.
func TestState(t *testing.T) {
	schemas := adapter.NewSchemas()
	attribute := func(r adapter.Resource, name string) *adapter.Attribute {
		s := schemas.Of(r)
		at, ok := s.Index(name)
		if !ok {
			t.Fatalf("%s have no %s", r, name)
		}
		return &s.Attributes[at]
	}
	price := func(key int64, website int64, amount string) adapter.Record {
		r := adapter.NewRecord(attribute(adapter.Products, "group_price").Nested)
		r.Set(r.Schema.Key, adapter.IntegerValue(key))
		r.Set("website_id", adapter.IntegerValue(website))
		r.Set("price", adapter.TextValue(amount))
		return r
	}
	name, qty, prices := attribute(adapter.Products, "name"), attribute(adapter.StockItems, "qty"), attribute(adapter.Products, "group_price")
	for _, c := range []struct {
		name string
		of   *adapter.Attribute
		a, b adapter.Value
		same bool
	}{
		{"equal texts", name, adapter.TextValue("a"), adapter.TextValue("a"), true},
		{"different texts", name, adapter.TextValue("a"), adapter.TextValue("A"), false},
		{"no text and null", name, adapter.TextValue(""), adapter.NullValue(), false},
		{"null and never set", name, adapter.NullValue(), adapter.Value{}, false},
		{"unset and never set", name, adapter.UnsetValue(), adapter.Value{}, true},
		{"equal numbers", qty, adapter.TextValue("1.5000"), adapter.TextValue("1.5000"), true},
		{"no prices and null", prices, adapter.RecordsValue(nil), adapter.NullValue(), true},
		{"prices in another order under other keys", prices, adapter.RecordsValue([]adapter.Record{price(1, 0, "1.0000"), price(2, 1, "2.0000")}), adapter.RecordsValue([]adapter.Record{price(7, 1, "2.0000"), price(8, 0, "1.0000")}), true},
		{"another price", prices, adapter.RecordsValue([]adapter.Record{price(1, 0, "1.0000")}), adapter.RecordsValue([]adapter.Record{price(1, 0, "1.0001")}), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := outbox.State(c.of, c.a), outbox.State(c.of, c.b)
			if (a == b) != c.same {
				t.Errorf("%q and %q, want the same: %t", a, b, c.same)
			}
		})
	}
	if state := outbox.State(name, adapter.TextValue("Secret")); strings.Contains(state, "Secret") {
		t.Errorf("%q has the text itself", state)
	}
	if n, ok := outbox.Number(outbox.State(qty, adapter.TextValue("-1.5000"))); !ok || n != -15000 {
		t.Errorf("%d, %t", n, ok)
	}
	for _, none := range []string{outbox.State(qty, adapter.NullValue()), outbox.State(qty, adapter.Value{}), outbox.State(name, adapter.TextValue("1")), ""} {
		if n, ok := outbox.Number(none); ok {
			t.Errorf("%q is the number %d", none, n)
		}
	}
}
