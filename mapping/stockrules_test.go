package mapping_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/handlers"
)

const (
	qtyRange    = `'%s' is not between '-99999999.9999' and '99999999.9999', inclusively`
	minQtyRange = `'%s' is not between '0' and '99999999.9999', inclusively`
	wholeRange  = `'%s' is not between '0' and '99999999', inclusively`
	noNumber    = `Please enter a valid number in "%s" field`
	noIncrement = `Please use numbers only in "qty_increments" field. Please avoid spaces or other characters such as dots or commas.`
	noBackorder = `The "is_qty_decimal" field must be set to 0, 1, or 2.`
	noFlag      = `The "%s" field must be set to 0 or 1.`
	qtyRequired = "400 qty: Value is required and can't be empty"
	closing     = "400 Resource data pre-validation error."
)

// A fieldValue is a value that is sent for a field, as JSON, and the stored value or the
// messages that result.
type fieldValue struct {
	json     string
	stored   string
	messages []string
}

func stores(json, stored string) fieldValue { return fieldValue{json: json, stored: stored} }
func refuses(json string, messages ...string) fieldValue {
	return fieldValue{json: json, messages: messages}
}
func shown(format string, args ...any) (message string) { return fmt.Sprintf(format, args...) }

func flags() []string {
	return []string{"manage_stock", "is_qty_decimal", "is_in_stock", "stock_status_changed_auto", "enable_qty_increments", "is_decimal_divided",
		"use_config_min_qty", "use_config_backorders", "use_config_min_sale_qty", "use_config_max_sale_qty", "use_config_notify_stock_qty",
		"use_config_manage_stock", "use_config_qty_increments", "use_config_enable_qty_inc"}
}

// fieldValues returns the values that each field with a rule accepts and refuses
// (stock_orders 2.3).
func fieldValues() map[string][]fieldValue {
	fields := map[string][]fieldValue{
		"qty": {
			stores(`5`, "5.0000"), stores(`"5"`, "5.0000"), stores(`-5`, "-5.0000"), stores(`"0"`, "0.0000"), stores(`"0.0"`, "0.0000"), stores(`0`, "0.0000"),
			stores(`true`, "1.0000"),
			stores(`99999999.9999`, "99999999.9999"), stores(`"-99999999.9999"`, "-99999999.9999"),
			stores(`"12abc"`, "12.0000"), stores(`"1,5"`, "1.5000"), stores(`"1.234,5"`, "1234.5000"), stores(`"1 000"`, "1000.0000"), stores(`"-abc"`, "0.0000"),
			stores(`"1,000"`, "1.0000"), stores(`"1'500"`, "1500.0000"), stores(`"1,234.5"`, "1234.5000"), stores(`"12.5e1"`, "125.0000"), stores(`" 5"`, "5.0000"), stores(`"5 "`, "5.0000"),
			stores(`"8e99x"`, "99999999.9999"), stores(`"-99e99x"`, "-99999999.9999"), stores(`"5\u0000"`, "5.0000"),
			stores(`1.23456`, "1.2346"), stores(`"1.00005"`, "1.0001"), stores(`3.00005`, "3.0000"), stores(`"0.03125"`, "0.0312"),
			refuses(`"abc"`, shown(qtyRange, "abc")), refuses(`"9x"`, shown(qtyRange, "9x")),
			refuses(`100000000`, shown(qtyRange, "100000000")), refuses(`"100000000"`, shown(qtyRange, "100000000")), refuses(`-100000000`, shown(qtyRange, "-100000000")),
			refuses(`100000000.50`, shown(qtyRange, "100000000.5")), refuses(`1e20`, shown(qtyRange, "1.0E+20")), refuses(`"1e20"`, shown(qtyRange, "1e20")),
			refuses(`1e400`, shown(qtyRange, "INF")), refuses(`-1e400`, shown(qtyRange, "-INF")), refuses(`"1e400"`, shown(qtyRange, "1e400")),
			refuses(`[5]`, shown(qtyRange, "5")), refuses(`[1,[2,{"a":3}],[],"x",null,false,true,5.50]`, shown(qtyRange, "1, 2, 3, , x, , , 1, 5.5")),
			refuses(`{"a":[[],[]]}`, shown(qtyRange, ", ")),
			refuses(`"\u00a0"`, shown(qtyRange, "\u00a0")),
		},
		"notify_stock_qty": append(floats(),
			stores(`1e9`, "99999999.9999"), stores(`"-1e300"`, "-99999999.9999"), stores(`1e400`, "99999999.9999"), stores(`-2.5`, "-2.5000"),
			refuses(`""`, shown(noNumber, "notify_stock_qty")), refuses(`null`, shown(noNumber, "notify_stock_qty")),
			refuses(`true`, shown(noNumber, "notify_stock_qty")), refuses(`false`, shown(noNumber, "notify_stock_qty")),
			refuses(`[]`, shown(noNumber, "notify_stock_qty")), refuses(`[5]`, shown(noNumber, "notify_stock_qty")), refuses(`{"a":5}`, shown(noNumber, "notify_stock_qty"))),
		"min_qty": append(floats(),
			stores(`99999999.9999`, "99999999.9999"),
			refuses(`-1`, shown(minQtyRange, "-1")), refuses(`"-1,000"`, shown(minQtyRange, "-1,000")), refuses(`100000000`, shown(minQtyRange, "100000000")),
			refuses(`1e400`, shown(minQtyRange, "INF")),
			refuses(`""`, shown(noNumber, "min_qty"), shown(minQtyRange, "")), refuses(`null`, shown(noNumber, "min_qty"), shown(minQtyRange, "")),
			refuses(`true`, shown(noNumber, "min_qty")), refuses(`false`, shown(noNumber, "min_qty")),
			refuses(`[]`, shown(noNumber, "min_qty"), shown(minQtyRange, "")), refuses(`[5,6]`, shown(noNumber, "min_qty"), shown(minQtyRange, "5, 6")),
			refuses(`"abc"`, shown(noNumber, "min_qty"), shown(minQtyRange, "abc"))),
		"qty_increments": append(integers(),
			refuses(`"abc"`, noIncrement, noIncrement), refuses(`5.5`, noIncrement), refuses(`"5.5"`, noIncrement), refuses(`-1`, noIncrement), refuses(`-1.5`, noIncrement, noIncrement),
			refuses(`100000000`, noIncrement), refuses(`"5abc"`, noIncrement), refuses(`"1,000"`, noIncrement),
			refuses(`""`, noIncrement, noIncrement), refuses(`null`, noIncrement, noIncrement), refuses(`true`, noIncrement), refuses(`false`, noIncrement),
			refuses(`[]`, noIncrement, noIncrement), refuses(`[5]`, noIncrement, noIncrement)),
		"backorders": {
			stores(`0`, "0"), stores(`1`, "1"), stores(`"2"`, "2"), stores(`2.0`, "2"), stores(`","`, "0"), stores(`"1\n"`, "1"),
			refuses(`3`, noBackorder), refuses(`"3"`, noBackorder), refuses(`"01"`, noBackorder), refuses(`-1`, noBackorder), refuses(`""`, noBackorder), refuses(`null`, noBackorder),
			refuses(`true`, noBackorder), refuses(`false`, noBackorder), refuses(`[1]`, noBackorder), refuses(`"1\n\n"`, noBackorder), refuses(`"1 "`, noBackorder), refuses(`"0,1"`, noBackorder),
		},
	}
	for _, name := range []string{"notify_stock_qty", "min_qty"} {
		for _, text := range []string{"7,25", "1,00", "1,0000", "5.", "5abc", " 5", "5 ", "1 000", "0x1A", "1e", "1_0", "5\n", "1,234,5"} {
			fields[name] = append(fields[name], refuses(fmt.Sprintf("%q", text), shown(noNumber, name)))
		}
	}
	for _, name := range []string{"min_sale_qty", "max_sale_qty"} {
		message, out := shown(noNumber, name), func(v string) string { return shown(wholeRange, v) }
		fields[name] = append(integers(),
			stores(`99999999`, "99999999.0000"),
			refuses(`100000000`, out("100000000")), refuses(`-1`, out("-1")), refuses(`"-1"`, out("-1")), refuses(`-5.0`, out("-5")), refuses(`1e400`, message, out("INF")),
			refuses(`5.5`, message), refuses(`"5.5"`, message), refuses(`"7,25"`, message), refuses(`"1,000"`, message), refuses(`"5abc"`, message), refuses(`"0x1A"`, message),
			refuses(`-0.5`, message, out("-0.5")), refuses(`"abc"`, message, out("abc")),
			refuses(`""`, message, out("")), refuses(`null`, message, out("")), refuses(`true`, message), refuses(`false`, message),
			refuses(`[]`, message, out("")), refuses(`[5]`, message, out("5")))
	}
	for _, name := range flags() {
		message := shown(noFlag, name)
		fields[name] = []fieldValue{
			stores(`0`, "0"), stores(`1`, "1"), stores(`"0"`, "0"), stores(`"1"`, "1"), stores(`1.0`, "1"), stores(`0.0`, "0"), stores(`","`, "0"), stores(`"1\n"`, "1"), stores(`"0\n"`, "0"),
			refuses(`""`, message), refuses(`null`, message), refuses(`true`, message), refuses(`false`, message), refuses(`[]`, message), refuses(`[1]`, message),
			refuses(`"01"`, message), refuses(`2`, message), refuses(`"2"`, message), refuses(`-1`, message), refuses(`"yes"`, message), refuses(`"\n"`, message), refuses(`"1\r\n"`, message),
			refuses(`-0`, message), refuses(`"10"`, message),
		}
	}
	return fields
}

// floats returns values that satisfy the float rule.
func floats() []fieldValue {
	return []fieldValue{
		stores(`5`, "5.0000"), stores(`5.5`, "5.5000"), stores(`1e3`, "1000.0000"), stores(`0`, "0.0000"),
		stores(`"5"`, "5.0000"), stores(`"+5"`, "5.0000"), stores(`"-0"`, "0.0000"), stores(`"05"`, "5.0000"), stores(`".5"`, "0.5000"), stores(`"5.5"`, "5.5000"),
		stores(`"1,000"`, "1.0000"), stores(`"12,345.67"`, "12345.6700"), stores(`"1e3"`, "1000.0000"), stores(`"1E+3"`, "1000.0000"), stores(`"5e-1"`, "0.5000"),
	}
}

// integers returns values that satisfy the integer rule.
func integers() []fieldValue {
	return []fieldValue{
		stores(`5`, "5.0000"), stores(`5.0`, "5.0000"), stores(`0`, "0.0000"), stores(`1e3`, "1000.0000"),
		stores(`"5"`, "5.0000"), stores(`"+5"`, "5.0000"), stores(`"05"`, "5.0000"), stores(`"5."`, "5.0000"), stores(`".0"`, "0.0000"), stores(`" 5"`, "5.0000"), stores(`"5 "`, "5.0000"),
		stores(`"1.000"`, "1.0000"), stores(`"1e3"`, "1000.0000"),
	}
}

// TestFieldRules sends every value in a single update and in a batch, alone except for
// the qty that the magento dialect requires.
func TestFieldRules(t *testing.T) {
	t.Parallel()
	inBothDialects(t, func(t *testing.T, s *shop) {
		for field, values := range fieldValues() {
			for _, v := range values {
				t.Run(field+" "+v.json, func(t *testing.T) {
					var want []string
					for _, message := range v.messages {
						want = append(want, "400 "+field+": "+message)
					}
					if s.documented() && len(want) > 0 && (v.json == `""` || v.json == `null`) {
						want = []string{"400 Empty value for " + field + " in request."}
					}
					body := fmt.Sprintf(`{"qty":"100","%s":%s}`, field, v.json)
					s.storeItem(t, 1, nil)
					r := s.put("/stockitems/1", "application/json", body)
					if len(want) > 0 {
						before := s.item(t, 1)
						checkRefused(t, r, append(want[:len(want):len(want)], closing)...)
						if got := batchErrors(t, s, strings.Replace(body, "{", `{"item_id":1,`, 1)); strings.Join(got, "\n") != strings.Join(want, "\n") {
							t.Errorf("in a batch: got %q, want %q", got, want)
						}
						if after := s.item(t, 1); fmt.Sprint(after) != fmt.Sprint(before) || after["qty"] != "100.0000" {
							t.Errorf("the refused item changed from %v to %v", before, after)
						}
						return
					}
					checkSaved(t, r)
					stored := v.stored
					if field == "stock_status_changed_auto" {
						stored = "0" // validated, but never stored
					}
					if field != "is_in_stock" || stored == "1" {
						s.checkItem(t, 1, field, stored)
					}
					if got := batchErrors(t, s, strings.Replace(body, "{", `{"item_id":1,`, 1)); len(got) > 0 {
						t.Errorf("in a batch: got %q", got)
					}
				})
			}
		}
	})
}

// TestItemIDInSingleUpdate checks the table in stock_orders 2.3; each body also sets the
// stock to 7.
func TestItemIDInSingleUpdate(t *testing.T) {
	const saved, ignored, refused = "saved", "ignored", "500 Resource internal error."
	const otherKind = `400 Invalid value for "item_id" in request.`
	both := func(s string) [2]string { return [2]string{s, s} }
	tests := []struct {
		json string
		want [2]string // documented, magento
	}{
		{`1`, both(saved)}, {`"1"`, both(saved)}, {`"01"`, both(saved)}, {`" 1"`, both(saved)}, {`"1abc"`, both(saved)}, {`"1.0"`, both(saved)},
		{`1.0`, both(saved)}, {`"1e0"`, both(saved)}, {`1e0`, both(saved)}, {`true`, both(saved)},
		{`2`, both(refused)}, {`"2"`, both(refused)}, {`"2abc"`, both(refused)},
		{`1.4`, both(refused)}, {`"1.4"`, both(refused)}, {`2.9`, both(refused)}, {`"2.5x"`, both(refused)},
		{`99`, both(ignored)}, {`99.5`, both(ignored)}, {`0`, both(ignored)}, {`0.0`, both(ignored)}, {`0.5`, both(ignored)}, {`-1`, both(ignored)}, {`"-1.5"`, both(ignored)},
		{`false`, both(ignored)}, {`"abc"`, both(ignored)}, {`" "`, both(ignored)}, {`1e400`, both(ignored)}, {`9223372036854775808`, both(ignored)}, {`"0x1"`, both(ignored)},
		{`""`, [2]string{"400 Empty value for item_id in request.", ignored}},
		{`null`, [2]string{"400 Empty value for item_id in request.", refused}},
		{`[]`, [2]string{otherKind, refused}}, {`{}`, [2]string{otherKind, refused}},
		{`[1]`, [2]string{otherKind, saved}}, {`[2]`, [2]string{otherKind, saved}}, {`{"a":null}`, [2]string{otherKind, saved}},
	}
	inBothDialects(t, func(t *testing.T, s *shop) {
		for _, test := range tests {
			t.Run(test.json, func(t *testing.T) {
				s.storeItem(t, 1, nil)
				r := s.put("/stockitems/1", "application/json", fmt.Sprintf(`{"item_id":%s,"qty":"7"}`, test.json))
				qty := "100.0000"
				switch want := s.text(test.want[0], test.want[1]); {
				case want == saved:
					checkSaved(t, r)
					qty = "7.0000"
				case want == ignored:
					checkSaved(t, r)
				case want == refused:
					checkRefused(t, r, want)
				default:
					checkRefused(t, r, want, closing)
				}
				s.checkItem(t, 1, "qty", qty, "item_id", "1")

				// Validation comes first, whatever the id.
				r = s.put("/stockitems/1", "application/json", fmt.Sprintf(`{"item_id":%s,"qty":"abc"}`, test.json))
				if got := faults(t, r); got[len(got)-1] != closing {
					t.Errorf("with a wrong qty: got %q", got)
				}
			})
		}
		t.Run("alone", func(t *testing.T) {
			r := s.put("/stockitems/1", "application/json", `{"item_id":1}`)
			if s.documented() {
				checkSaved(t, r)
			} else {
				checkRefused(t, r, qtyRequired, closing)
			}
		})
		t.Run("of an unknown item", func(t *testing.T) {
			checkRefused(t, s.put("/stockitems/99", "application/json", `{"item_id":1,"qty":7}`), "404 Resource not found.")
		})
	})
}

// TestSideEffects checks the side effects of a save (stock_orders 2.3). Each row stores
// the item, then updates it once.
func TestSideEffects(t *testing.T) {
	own := func(name string, v any) itemValues { return itemValues{name: v, "use_config_" + name: 0} }
	tests := []struct {
		name               string
		placed             itemValues
		body               string
		inStock, auto, low string // low is dated or null
		inMagento          [3]string
	}{
		{name: "plenty", body: `{"qty":25}`, inStock: "1", auto: "0", low: "null"},
		{name: "none left", body: `{"qty":0}`, inStock: "0", auto: "1", low: now},
		{name: "none left, sent as in stock", body: `{"qty":0,"is_in_stock":1}`, inStock: "0", auto: "1", low: now},
		{name: "negative", body: `{"qty":-5}`, inStock: "0", auto: "1", low: now},
		{name: "never raised", placed: itemValues{"qty": "0.0000", "is_in_stock": 0, "stock_status_changed_auto": 1, "low_stock_date": "2012-01-01 00:00:00"}, body: `{"qty":25}`, inStock: "0", auto: "0", low: "null"},
		{name: "raised when sent", placed: itemValues{"qty": "0.0000", "is_in_stock": 0}, body: `{"qty":25,"is_in_stock":1}`, inStock: "1", auto: "0", low: "null"},
		{name: "sent as out of stock", body: `{"qty":25,"is_in_stock":0}`, inStock: "0", auto: "0", low: "null"},
		{name: "auto sent is not stored", body: `{"qty":25,"stock_status_changed_auto":1}`, inStock: "1", auto: "0", low: "null"},
		{name: "auto sent as 0 is not stored", body: `{"qty":0,"stock_status_changed_auto":0}`, inStock: "0", auto: "1", low: now},
		{name: "one left is not below one", body: `{"qty":1}`, inStock: "1", auto: "0", low: "null"},
		{name: "below one", body: `{"qty":"0.5"}`, inStock: "1", auto: "0", low: now},

		{name: "own backorders, sent", body: `{"qty":0,"backorders":1,"use_config_backorders":0}`, inStock: "1", auto: "0", low: now},
		{name: "own backorders, stored", placed: own("backorders", 2), body: `{"qty":-3}`, inStock: "1", auto: "0", low: now},
		{name: "own backorders, but the shop's apply", placed: itemValues{"backorders": 1}, body: `{"qty":0}`, inStock: "0", auto: "1", low: now},
		{name: "a comma means no backorders", body: `{"qty":0,"backorders":",","use_config_backorders":0}`, inStock: "0", auto: "1", low: now},
		{name: "the shop's backorders again", placed: own("backorders", 1), body: `{"qty":0,"use_config_backorders":1}`, inStock: "0", auto: "1", low: now},

		{name: "at its own min_qty, sent", body: `{"qty":5,"min_qty":5,"use_config_min_qty":0}`, inStock: "0", auto: "1", low: "null"},
		{name: "above its own min_qty", body: `{"qty":"5.0001","min_qty":5,"use_config_min_qty":0}`, inStock: "1", auto: "0", low: "null"},
		{name: "own min_qty, stored", placed: own("min_qty", "8.0000"), body: `{"qty":7}`, inStock: "0", auto: "1", low: "null"},
		{name: "own min_qty, but the shop's applies", placed: itemValues{"min_qty": "8.0000"}, body: `{"qty":7}`, inStock: "1", auto: "0", low: "null"},

		{name: "own notify_stock_qty, sent", body: `{"qty":5,"notify_stock_qty":6,"use_config_notify_stock_qty":0}`, inStock: "1", auto: "0", low: now},
		{name: "own notify_stock_qty, stored", placed: own("notify_stock_qty", "6.0000"), body: `{"qty":5}`, inStock: "1", auto: "0", low: now},
		{name: "own notify_stock_qty, null", placed: own("notify_stock_qty", nil), body: `{"qty":"0.5"}`, inStock: "1", auto: "0", low: "null"},
		{name: "own notify_stock_qty, but the shop's applies", placed: itemValues{"notify_stock_qty": "6.0000"}, body: `{"qty":5}`, inStock: "1", auto: "0", low: "null"},
		{name: "a date is renewed", placed: itemValues{"qty": "0.5000", "low_stock_date": "2012-01-01 00:00:00"}, body: `{"qty":"0.5"}`, inStock: "1", auto: "0", low: now},

		{name: "not managed, with the same side effects", placed: own("manage_stock", 0), body: `{"qty":0}`, inStock: "0", auto: "1", low: now},

		{name: "before rounding: in stock", body: `{"qty":"0.00004"}`, inStock: "1", auto: "0", low: now},
		{name: "before rounding: a date", body: `{"qty":"0.99999"}`, inStock: "1", auto: "0", low: now},
		{name: "before rounding: number", body: `{"qty":0.99999}`, inStock: "1", auto: "0", low: now},

		{name: "text against min_qty: comma", body: `{"qty":"2,5","min_qty":"2.4","use_config_min_qty":0}`, inStock: "1", auto: "0", low: "null", inMagento: [3]string{"0", "1", "null"}},
		{name: "text against min_qty: tail", body: `{"qty":"12abc","min_qty":5,"use_config_min_qty":0}`, inStock: "1", auto: "0", low: "null", inMagento: [3]string{"0", "1", "null"}},
		{name: "text against min_qty: apostrophe", body: `{"qty":"1'500","min_qty":12,"use_config_min_qty":0}`, inStock: "1", auto: "0", low: "null", inMagento: [3]string{"0", "1", "null"}},
		{name: "text against min_qty: zero", body: `{"qty":"0,5"}`, inStock: "1", auto: "0", low: now},
		{name: "text against min_qty stored", placed: own("min_qty", "5.0000"), body: `{"qty":"12abc"}`, inStock: "1", auto: "0", low: "null", inMagento: [3]string{"0", "1", "null"}},
		{name: "leading number of min_qty", body: `{"qty":"2","min_qty":"1,234.5","use_config_min_qty":0}`, inStock: "0", auto: "1", low: "null", inMagento: [3]string{"1", "0", "null"}},
		{name: "leading number against notify", body: `{"qty":"2,5","notify_stock_qty":"2.2","use_config_notify_stock_qty":0}`, inStock: "1", auto: "0", low: "null", inMagento: [3]string{"1", "0", now}},
		{name: "leading number of notify", body: `{"qty":"2","notify_stock_qty":"1,234.5","use_config_notify_stock_qty":0}`, inStock: "1", auto: "0", low: now, inMagento: [3]string{"1", "0", "null"}},
		{name: "numeric text is a number", body: `{"qty":" 12","min_qty":5,"use_config_min_qty":0}`, inStock: "1", auto: "0", low: "null"},
		{name: "true is one", body: `{"qty":true}`, inStock: "1", auto: "0", low: "null"},
	}
	inBothDialects(t, func(t *testing.T, s *shop) {
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				want := [3]string{test.inStock, test.auto, test.low}
				if !s.documented() && test.inMagento != [3]string{} {
					want = test.inMagento
				}
				for _, batch := range []bool{false, true} {
					s.storeItem(t, 1, test.placed)
					if batch {
						if got := batchErrors(t, s, strings.Replace(test.body, "{", `{"item_id":1,`, 1)); len(got) > 0 {
							t.Fatalf("batch refused: %q", got)
						}
					} else {
						checkSaved(t, s.put("/stockitems/1", "application/json", test.body))
					}
					s.checkItem(t, 1, "is_in_stock", want[0], "stock_status_changed_auto", want[1], "low_stock_date", want[2])
				}
			})
		}
	})
}

// TestSideEffectsUseStoredValues checks that fields that were not sent count with their
// stored values. Only the documented dialect allows leaving out qty.
func TestSideEffectsUseStoredValues(t *testing.T) {
	s := openShop(t, contract.Documented())
	tests := []struct {
		name   string
		placed itemValues
		body   string
		want   []string
	}{
		{"min_qty rises to the stored qty", itemValues{"qty": "7.0000"}, `{"min_qty":7,"use_config_min_qty":0}`, []string{"qty", "7.0000", "is_in_stock", "0", "stock_status_changed_auto", "1", "low_stock_date", "null"}},
		{"the shop's notify_stock_qty applies again", itemValues{"qty": "0.5000", "use_config_notify_stock_qty": 0}, `{"use_config_notify_stock_qty":1}`, []string{"qty", "0.5000", "is_in_stock", "1", "low_stock_date", now}},
		{"a field without side effects", itemValues{"qty": "0.0000", "is_in_stock": 1}, `{"max_sale_qty":9}`, []string{"max_sale_qty", "9.0000", "is_in_stock", "0", "stock_status_changed_auto", "1"}},
		{"other fields keep their values", itemValues{"min_sale_qty": "3.0000", "is_qty_decimal": 1}, `{"max_sale_qty":9}`, []string{"min_sale_qty", "3.0000", "is_qty_decimal", "1", "qty", "100.0000"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s.storeItem(t, 1, test.placed)
			checkSaved(t, s.put("/stockitems/1", "application/json", test.body))
			s.checkItem(t, 1, test.want...)
		})
	}
}

// TestShopStockSettings checks that the shop's stock settings replace the settings of an
// item.
func TestShopStockSettings(t *testing.T) {
	for _, d := range contract.Dialects() {
		t.Run(d.Name, func(t *testing.T) {
			with := settings()
			with.Stock = handlers.StockSettings{MinQty: 10, NotifyQty: 20.5, Backorders: 0}
			s := openShopWith(t, d, with, nil)
			s.storeItem(t, 1, nil)
			checkSaved(t, s.put("/stockitems/1", "application/json", `{"qty":20}`))
			s.checkItem(t, 1, "is_in_stock", "1", "low_stock_date", now)
			checkSaved(t, s.put("/stockitems/1", "application/json", `{"qty":10}`))
			s.checkItem(t, 1, "is_in_stock", "0", "stock_status_changed_auto", "1")

			with.Stock = handlers.StockSettings{Backorders: 2}
			s = openShopWith(t, d, with, nil)
			s.storeItem(t, 1, nil)
			checkSaved(t, s.put("/stockitems/1", "application/json", `{"qty":"-0.5"}`))
			s.checkItem(t, 1, "is_in_stock", "1", "stock_status_changed_auto", "0", "low_stock_date", now)
			checkSaved(t, s.put("/stockitems/1", "application/json", `{"qty":"-0.5","use_config_backorders":0}`))
			s.checkItem(t, 1, "is_in_stock", "0", "stock_status_changed_auto", "1")
		})
	}
}
