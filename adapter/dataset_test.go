package adapter

import "testing"

func TestDeriveStockStatus(t *testing.T) {
	const now = "2026-01-02 03:04:05"
	schema := NewSchemas().Of(StockItems)
	for _, c := range []struct {
		name      string
		qty       string
		set       map[string]Value
		inStock   int64
		automatic int64
		low       string
	}{
		{"enough stock", "100.0000", nil, 1, 0, ""},
		{"nothing left", "0.0000", nil, 0, 1, now},
		{"below the notify quantity", "0.9999", nil, 1, 0, now},
		{"at the notify quantity", "1.0000", nil, 1, 0, ""},
		{"own backorders", "-5.0000", map[string]Value{"backorders": IntegerValue(1), "use_config_backorders": IntegerValue(0)}, 1, 0, now},
		{"backorders overridden by the store's", "0.0000", map[string]Value{"backorders": IntegerValue(1)}, 0, 1, now},
		{"own min_qty", "5.0000", map[string]Value{"min_qty": TextValue("5.0000"), "use_config_min_qty": IntegerValue(0)}, 0, 1, ""},
		{"own notify_stock_qty, not set", "0.5000", map[string]Value{"use_config_notify_stock_qty": IntegerValue(0)}, 1, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			item := NewRecord(schema)
			item.Set("qty", TextValue(c.qty))
			item.Set("is_in_stock", IntegerValue(1))
			for _, flag := range []string{"min_qty", "backorders", "notify_stock_qty"} {
				item.Set("use_config_"+flag, IntegerValue(1))
			}
			for name, v := range c.set {
				item.Set(name, v)
			}
			got := DeriveStockStatus(item, DefaultStock(), now)
			if v := got.Get("is_in_stock").Int(); v != c.inStock {
				t.Errorf("is_in_stock = %d, want %d", v, c.inStock)
			}
			if v := got.Get("stock_status_changed_auto").Int(); v != c.automatic {
				t.Errorf("stock_status_changed_auto = %d, want %d", v, c.automatic)
			}
			if v := got.Get("low_stock_date").Text(); v != c.low {
				t.Errorf("low_stock_date = %q, want %q", v, c.low)
			}
			if item.Get("low_stock_date").Kind() != Absent {
				t.Error("the argument was changed")
			}
		})
	}
}
