package mapping_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// newProduct returns a body that creates a product: the given members, followed by the
// required ones that are not among them.
func newProduct(sku, members string) string {
	body := `"type_id":"simple","attribute_set_id":4,"sku":"` + sku + `"`
	for _, field := range []string{`"name":"Case One"`, `"price":"12.5"`, `"weight":"1"`, `"status":1`, `"visibility":4`, `"tax_class_id":2`, `"description":"D"`, `"short_description":"S"`} {
		if name, _, _ := strings.Cut(field, ":"); !strings.Contains(members, name+":") {
			body += "," + field
		}
	}
	if members != "" {
		body += "," + members
	}
	return "{" + body + "}"
}

// send writes a JSON body as Admin.
func (s *shop) send(method, target, body string) resource.Response {
	return s.serve(contract.Admin, method, target, body, "Accept", "application/json", "Content-Type", "application/json")
}

// checkFields compares fields of a product, as JSON without braces. A field that is
// missing in the magento dialect is null in the other.
func (s *shop) checkFields(t testing.TB, path, fields, want string) {
	t.Helper()
	r := s.serve(contract.Admin, "GET", path+"?attrs="+fields, "", "Accept", "application/json")
	got := strings.NewReplacer(`\/`, "/", `"`, "").Replace(string(r.Body))
	got = strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(got, "[]"), "{"), "}")
	if s.documented() && want == "" {
		want = strings.ReplaceAll(fields, ",", ":null,") + ":null"
	}
	if r.Status != 200 || got != want {
		t.Errorf("%s has %d %s, want %s", path, r.Status, got, want)
	}
}

const saveClosing = "400 Resource data pre-validation error."

func invalid(value, field string) string {
	return fmt.Sprintf(`400 Invalid value "%s" for attribute "%s".`, value, field)
}
func notFromZero(field string) string {
	return fmt.Sprintf(`400 Please enter a number 0 or greater in the "%s" field.`, field)
}
func empty(field string) string { return fmt.Sprintf(`400 Empty value for "%s" in request.`, field) }

// A productValue is a value for a field of product 2, and either the value that is read
// afterwards or the reason why it is refused.
type productValue struct {
	field, json string
	want        string   // "" means missing
	refused     []string // the entries before the summary
	// otherType reports that the value has another type. The magento dialect stores
	// nothing of it; the documented dialect refuses it (rulings 10).
	otherType bool
	// documented is want in the documented dialect, or "" if that is the same.
	documented string
}

// productValues returns the values that each field accepts and refuses (products 4 and
// 5.2 to 5.4).
func productValues() []productValue {
	takes := func(field, json, want string) productValue { return productValue{field: field, json: json, want: want} }
	refuses := func(field, json string, faults ...string) productValue {
		return productValue{field: field, json: json, refused: faults}
	}
	ignores := func(field, json, want string) productValue {
		return productValue{field: field, json: json, want: want, otherType: true}
	}
	const weightRange = `400 The "weight" value is not within the specified range.`
	values := []productValue{
		takes("name", `"  "`, "  "), takes("name", `true`, "1"), takes("name", `12.50`, "12.5"), takes("name", `0`, "0"), takes("name", `"a\u0000b"`, "ab"),
		refuses("name", `""`, empty("name")), refuses("name", `null`, empty("name")), refuses("name", `false`, empty("name")), refuses("name", `[]`, empty("name")), refuses("name", `"\u0000"`, empty("name")),
		ignores("name", `["x"]`, "Copper Kettle"), ignores("description", `{"a":1}`, "Copper Kettle description"), ignores("meta_title", `{}`, ""),
		takes("meta_title", `"`+strings.Repeat("m", 256)+`"`, strings.Repeat("m", 255)), ignores("meta_title", `["x"]`, ""), takes("meta_title", `false`, ""),
		takes("meta_title", `null`, "null"), takes("meta_title", `""`, "null"), ignores("meta_title", `[]`, ""),
		takes("description", `"`+strings.Repeat("d", 65536)+`"`, strings.Repeat("d", 65535)),

		takes("sku", `" spaced "`, " spaced "), takes("sku", `" "`, " "), takes("sku", `7`, "7"), takes("sku", `"`+strings.Repeat("x", 64)+`"`, strings.Repeat("x", 64)),
		refuses("sku", `"`+strings.Repeat("y", 65)+`"`, "400 SKU length should be 64 characters maximum."), refuses("sku", `""`, empty("sku")), refuses("sku", `[]`, empty("sku")),

		takes("price", `1.23456`, "1.2346"), takes("price", `1.55555`, "1.5555"), takes("price", `2.00005`, "2.0000"), takes("price", `"0.00005"`, "0.0001"),
		takes("price", `" 5 "`, "5.0000"), takes("price", `"1e3"`, "1000.0000"), takes("price", `"1."`, "1.0000"), takes("price", `0`, "0.0000"), takes("price", `"0"`, "0.0000"),
		takes("price", `100000000`, "99999999.9999"), takes("price", `1e400`, "99999999.9999"),
		refuses("price", `"1,5"`, notFromZero("price")), refuses("price", `"0x1A"`, notFromZero("price")), refuses("price", `true`, notFromZero("price")),
		refuses("price", `[1]`, notFromZero("price")), refuses("price", `-1`, notFromZero("price")), refuses("price", `" "`, notFromZero("price")),
		refuses("price", `false`, empty("price")), refuses("price", `""`, empty("price")), refuses("price", `null`, empty("price")), refuses("price", `[]`, empty("price")),
		takes("special_price", `null`, "null"), takes("special_price", `false`, ""), takes("special_price", `0`, "0.0000"), refuses("special_price", `"-2"`, notFromZero("special_price")),
		takes("msrp", `"7"`, "7.0000"), takes("msrp", `""`, "null"), ignores("msrp", `[]`, ""), ignores("special_price", `{}`, "99.0000"), refuses("special_price", `[1]`, notFromZero("special_price")), refuses("msrp", `true`, notFromZero("msrp")),

		takes("weight", `99999999.9999`, "99999999.9999"), refuses("weight", `100000000`, weightRange), refuses("weight", `"1e400"`, weightRange),
		refuses("weight", `"abc"`, weightRange, notFromZero("weight")), refuses("weight", `"éa"`, weightRange, notFromZero("weight")),
		refuses("weight", `"1,5"`, notFromZero("weight")), refuses("weight", `-1`, notFromZero("weight")), refuses("weight", `true`, notFromZero("weight")),

		takes("status", `"1.0"`, "1"), takes("status", `"02"`, "2"), takes("status", `2.0`, "2"),
		refuses("status", `3`, invalid("3", "status")), refuses("status", `true`, invalid("1", "status")), refuses("status", `"abc"`, invalid("abc", "status")),
		ignores("status", `[1]`, "1"), ignores("status", `{"k":"2"}`, "1"), refuses("status", `["a",1,["1"],null]`, invalid("a", "status"), invalid("Array", "status"), invalid("", "status")),
		refuses("status", `"00"`, invalid("00", "status")), refuses("visibility", `" 0"`, invalid(" 0", "visibility")), takes("tax_class_id", `"00"`, "0"), refuses("status", `""`, empty("status")), refuses("status", `false`, empty("status")), refuses("status", `[]`, empty("status")),
		takes("visibility", `1`, "1"), refuses("visibility", `5`, invalid("5", "visibility")), refuses("visibility", `null`, empty("visibility")),
		takes("tax_class_id", `0`, "0"), takes("tax_class_id", `"4"`, "4"), refuses("tax_class_id", `1`, invalid("1", "tax_class_id")),

		takes("custom_design", `"default/default"`, "default/default"), takes("custom_design", `""`, "null"), refuses("custom_design", `false`, invalid("", "custom_design")), ignores("custom_design", `[""]`, ""), refuses("custom_design", `["x"]`, invalid("x", "custom_design")),
		refuses("custom_design", `"Default/default"`, invalid("Default/default", "custom_design")), refuses("custom_design", `0`, invalid("0", "custom_design")),
		takes("page_layout", `"empty"`, "empty"), takes("page_layout", `null`, "null"), refuses("page_layout", `"foo"`, invalid("foo", "page_layout")),
		takes("options_container", `"container2"`, "container2"), takes("options_container", `null`, "null"), refuses("options_container", `false`, invalid("", "options_container")), refuses("options_container", `[""]`, invalid("", "options_container")),
		refuses("options_container", `""`, invalid("", "options_container")), refuses("options_container", `"container3"`, invalid("container3", "options_container")),
		takes("country_of_manufacture", `"DE"`, "DE"), takes("country_of_manufacture", `""`, "null"), refuses("country_of_manufacture", `"de"`, invalid("de", "country_of_manufacture")),
		refuses("country_of_manufacture", `"XX"`, invalid("XX", "country_of_manufacture")), refuses("country_of_manufacture", `"DE "`, invalid("DE ", "country_of_manufacture")),
		takes("msrp_enabled", `2`, "2"), productValue{field: "msrp_enabled", json: `"01"`, want: "01", documented: "1"}, productValue{field: "gift_message_available", json: `" 1"`, want: " 1", documented: "1"},
		ignores("country_of_manufacture", `["DE"]`, "FR"), refuses("country_of_manufacture", `["DE","XX"]`, invalid("XX", "country_of_manufacture")), takes("msrp_enabled", `null`, "null"), refuses("msrp_enabled", `3`, invalid("3", "msrp_enabled")), refuses("msrp_enabled", `""`, invalid("", "msrp_enabled")),
		takes("msrp_display_actual_price_type", `4`, "4"), refuses("msrp_display_actual_price_type", `0`, invalid("0", "msrp_display_actual_price_type")),
		refuses("msrp_display_actual_price_type", `[]`, invalid("Array", "msrp_display_actual_price_type")), refuses("msrp_display_actual_price_type", `[1]`, invalid("Array", "msrp_display_actual_price_type")),
		takes("gift_message_available", `0`, "0"), takes("gift_message_available", `null`, "null"), refuses("gift_message_available", `2`, invalid("2", "gift_message_available")), refuses("gift_message_available", `""`, invalid("", "gift_message_available")),

		takes("url_key", `1.5`, "1-5"), takes("url_key", `"中"`, "copper-kettle"), takes("url_key", `true`, "1"), takes("url_key", `""`, "copper-kettle"), takes("url_key", `null`, "copper-kettle"), takes("url_key", `false`, "copper-kettle"),
		takes("url_key", `"`+strings.Repeat("k", 300)+`"`, strings.Repeat("k", 255)),
		takes("custom_layout_update", `"text"`, "text"), takes("custom_layout_update", `""`, "null"), takes("custom_layout_update", `true`, "1"),
	}
	stored := map[string]string{"special_to_date": "2038-01-01 00:00:00"}
	for _, field := range []string{"special_to_date", "news_from_date", "news_to_date", "custom_design_from", "custom_design_to"} {
		values = append(values,
			takes(field, `"2012-02-30"`, "2012-03-01 00:00:00"), takes(field, `true`, "1970-01-01 00:00:01"),
			takes(field, `null`, "null"), takes(field, `""`, "null"), takes(field, `0`, "null"), takes(field, `"0"`, "null"), ignores(field, `[]`, stored[field]), takes(field, `false`, ""),
			refuses(field, `"x"`, fmt.Sprintf(`400 Invalid date in the "%s" field.`, field)))
	}
	return values
}

func TestProductValues(t *testing.T) {
	t.Parallel()
	sample := testenv.NewSample(t)
	inBothDialects(t, func(t *testing.T, s *shop) {
		for _, v := range productValues() {
			if !sample.Takes(3) {
				continue
			}
			t.Run(v.field+" "+v.json[:min(len(v.json), 20)], func(t *testing.T) {
				s.reset(t)
				r := s.send("PUT", "/products/2", `{"`+v.field+`":`+v.json+`}`)
				if v.otherType && s.documented() {
					checkRefused(t, r, fmt.Sprintf(`400 Invalid value for "%s" in request.`, v.field), saveClosing)
					return
				}
				if v.refused != nil {
					checkRefused(t, r, append(v.refused, saveClosing)...)
					return
				}
				checkSaved(t, r)
				want := v.want
				if s.documented() && v.documented != "" {
					want = v.documented
				}
				if want != "" {
					want = v.field + ":" + want
				}
				s.checkFields(t, "/products/2", v.field, want)
			})
		}
	})
}

// TestTooManyPrices checks that a list of more than 1000 prices is refused.
func TestTooManyPrices(t *testing.T) {
	inBothDialects(t, func(t *testing.T, s *shop) {
		var many strings.Builder
		for i := range 1001 {
			fmt.Fprintf(&many, `,{"website_id":0,"cust_group":1,"price":1,"price_qty":%d}`, i+1)
		}
		checkRefused(t, s.send("PUT", "/products/2", `{"tier_price":[`+many.String()[1:]+`]}`), "400 The request data is invalid.")
	})
}

// TestSpecialPriceTimeZone checks that a special price begins at the current time in the
// shop's time zone.
func TestSpecialPriceTimeZone(t *testing.T) {
	with := settings()
	with.Prices.TimeZone = time.FixedZone("", -5*3600)
	s := openShopWith(t, contract.Documented(), with, nil)
	checkSaved(t, s.send("PUT", "/products/1", `{"special_price":1}`))
	s.checkFields(t, "/products/1", "special_from_date", "special_from_date:2013-02-02 23:05:00")
}

// TestConcurrentProductsWithOneSKU checks that only one of many products created at the
// same time with the same SKU is stored, and that the others are refused because the SKU
// is taken. (A SKU stored with leading blanks would not conflict with the next: products
// 4, sku.)
func TestConcurrentProductsWithOneSKU(t *testing.T) {
	const clients = 20
	s := openSQLiteShop(t, contract.Documented())
	answers := make([]resource.Response, clients)
	var running sync.WaitGroup
	for i := range clients {
		running.Go(func() {
			answers[i] = s.send("POST", "/products", newProduct([]string{"one", "ONE", "óne "}[i%3], ""))
		})
	}
	running.Wait()
	created := 0
	for _, r := range answers {
		if r.Status == 200 {
			created++
			continue
		}
		checkRefused(t, r, `400 Invalid attribute "sku": The value of attribute "SKU" must be unique`)
	}
	if created != 1 {
		t.Errorf("%d products created", created)
	}
	if log := s.log.String(); log != "" {
		t.Error(log)
	}
}
