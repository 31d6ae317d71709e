package mapping_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/portico-commerce/portico/contracttests/nightly"
	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/contract"
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
func (s *shop) send(method, target, body string) mapping.Response {
	return s.serve(contract.Admin, method, target, body, "Accept", "application/json", "Content-Type", "application/json")
}

// create creates a product and returns its path.
func (s *shop) create(t testing.TB, body string) string {
	t.Helper()
	r := s.send("POST", "/products", body)
	path, ok := strings.CutPrefix(r.Location, "/api/rest")
	if !ok || r.Status != 200 || len(r.Body) != 0 {
		t.Fatalf("%s: %d %s, location %q", body, r.Status, r.Body, r.Location)
	}
	return path
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

// A productValue is a value for a field of product 2, and either what is read afterwards
// or why it is refused.
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
	sample := nightly.NewSample(t)
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

// TestProductDialects checks where the dialects differ on a write (products 5.3 and 9).
func TestProductDialects(t *testing.T) {
	inBothDialects(t, func(t *testing.T, s *shop) {
		for _, c := range []struct {
			name, body string
			documented []string
			magento    string // what is read after a save; "" for a crash of the original
			field      string
		}{
			{"status 0", `{"status":0}`, []string{invalid("0", "status"), saveClosing}, "status:0", "status"},
			{"visibility 0", `{"visibility":"0"}`, []string{invalid("0", "visibility"), saveClosing}, "visibility:0", "visibility"},
			{"stray digit", `{"news_to_date":"x1"}`, []string{`400 Invalid date in the "news_to_date" field.`, saveClosing}, "", ""},
			{"stray digit among others", `{"price":"x","news_to_date":-1}`, []string{notFromZero("price"), `400 Invalid date in the "news_to_date" field.`, saveClosing}, "", ""},
			{"list for the SKU", `{"sku":["x"],"price":"x"}`, []string{"400 The request data is invalid."}, "", ""},
			{"list for the url_key", `{"url_key":{"a":1}}`, []string{"400 The request data is invalid."}, "", ""},
			{"list for the layout", `{"custom_layout_update":["x"]}`, []string{"400 The request data is invalid."}, "", ""},
			{"list for a date", `{"news_to_date":["2012"]}`, []string{"400 The request data is invalid."}, "", ""},
			{"empty list for the url_key", `{"url_key":[]}`, []string{"400 The request data is invalid."}, "", ""},
			{"true for an option", `{"msrp_display_actual_price_type":true}`, []string{invalid("1", "msrp_display_actual_price_type"), saveClosing}, "msrp_display_actual_price_type:1", "msrp_display_actual_price_type"},
			{"list for a switch", `{"url_key_create_redirect":[1]}`, []string{`400 Invalid value for "url_key_create_redirect" in request.`, saveClosing}, "sku:kettle-steel", "sku"},
			{"false for the stock", `{"stock_data":false}`, []string{"400 The request data is invalid."}, "sku:kettle-steel", "sku"},
			{"values of another type in stock_data", `{"stock_data":{"use_config_min_qty":[],"qty":[5],"min_sale_qty":2,"backorders":true}}`, []string{
				`400 Please enter a valid number in the "qty" field in the "stock_data" set.`, `400 Invalid "backorders" value in the "stock_data" set.`,
				`400 Invalid value for "use_config_min_qty" in request.`, saveClosing}, "sku:kettle-steel", "sku"},
			{"text for the stock", `{"stock_data":""}`, []string{"400 The request data is invalid."}, "", ""},
			{"list for the name that the url_key is generated from", `{"url_key":"","name":["x"]}`, []string{"400 The request data is invalid."}, "", ""},
		} {
			t.Run(c.name, func(t *testing.T) {
				s.reset(t)
				r := s.send("PUT", "/products/1", c.body)
				switch {
				case s.documented():
					checkRefused(t, r, c.documented...)
				case c.magento == "":
					checkReply(t, r, 500, typeHTML, "")
				default:
					checkSaved(t, r)
					s.checkFields(t, "/products/1", c.field, c.magento)
				}
			})
		}
	})
}

func TestCreateProductRefused(t *testing.T) {
	const missingType, missingSet = `400 Missing "type_id" in request.`, `400 Missing "attribute_set_id" in request.`
	const unknownType, unknownSet = `400 Invalid product type.`, `400 Invalid attribute set.`
	const taken = `400 Invalid attribute "sku": The value of attribute "SKU" must be unique`
	without := func(change, to string) string { return strings.Replace(newProduct("new", ""), change, to, 1) }
	inBothDialects(t, func(t *testing.T, s *shop) {
		for _, c := range []struct {
			name, body string
			want       []string
		}{
			{"no type", `{"sku":"x","price":"x"}`, []string{missingType, saveClosing}},
			{"empty type", without(`"simple"`, `[]`), []string{missingType, saveClosing}},
			{"type in upper case", without(`"simple"`, `"Simple"`), []string{unknownType, saveClosing}},
			{"no attribute set", without(`"attribute_set_id":4,`, ``), []string{missingSet, saveClosing}},
			{"attribute set 0", without(`"attribute_set_id":4`, `"attribute_set_id":0`), []string{missingSet, saveClosing}},
			{"attribute set as a text", without(`"attribute_set_id":4`, `"attribute_set_id":"abc"`), []string{unknownSet, saveClosing}},
			{"attribute set true", without(`"attribute_set_id":4`, `"attribute_set_id":true`), []string{unknownSet, saveClosing}},
			{"everything missing", `{"type_id":"simple","attribute_set_id":4}`, []string{
				`400 Missing "name" in request.`, `400 Missing "price" in request.`, `400 Missing "description" in request.`, `400 Missing "short_description" in request.`,
				`400 Missing "sku" in request.`, `400 Missing "weight" in request.`, `400 Missing "status" in request.`, `400 Missing "tax_class_id" in request.`, `400 Missing "visibility" in request.`, saveClosing}},
			{"virtual", strings.Replace(without(`"simple"`, `"virtual"`), `"weight":"1",`, ``, 1), []string{"405 Creation of products with type 'virtual' is not implemented"}},
			{"virtual with a weight", without(`"simple"`, `"virtual"`), []string{`400 Attribute "weight" is not applicable for product type "Virtual Product"`, saveClosing}},
			{"downloadable", strings.Replace(without(`"simple"`, `"downloadable"`), `"weight":"1",`, ``, 1), []string{"405 Creation of products with type 'downloadable' is not implemented"}},
			{"grouped", without(`"simple"`, `"grouped"`), []string{
				`400 Attribute "price" is not applicable for product type "Grouped Product"`, `400 Attribute "weight" is not applicable for product type "Grouped Product"`,
				`400 Attribute "tax_class_id" is not applicable for product type "Grouped Product"`, saveClosing}},
			{"bundle", without(`"simple"`, `"bundle"`), []string{`400 Missing "price_view" in request.`, saveClosing}},
			{"cost", newProduct("new", `"cost":5`), []string{`400 Attribute "cost" is not applicable for product type "Simple Product"`, saveClosing}},
			{"SKU in use", newProduct(" Kettle-STEEL\t", ""), []string{taken}},
			{"SKU in use, and an invalid field", newProduct("kettle-steel", `"price":"x"`), []string{notFromZero("price"), saveClosing}},
			{"ignored fields alone", `{"entity_id":9,"enable_externalcheckout":1,"foo":2}`, []string{"400 The request data is invalid."}},
			{"a list", `[` + newProduct("new", "") + `]`, []string{"405 Resource method not implemented yet."}},
		} {
			t.Run(c.name, func(t *testing.T) {
				body := strings.ReplaceAll(c.body, "\t", `\t`)
				checkRefused(t, s.send("POST", "/products", body), c.want...)
			})
		}
		if r := s.send("GET", "/products/13", ""); r.Status != 404 {
			t.Errorf("a product was created: %s", r.Body)
		}
	})
}

func TestCreateProduct(t *testing.T) {
	inBothDialects(t, func(t *testing.T, s *shop) {
		for _, c := range []struct {
			name, target, members, fields, want string
		}{
			{"fields that were not sent", "/products", ``, "url_key,options_container", "url_key:case-one,options_container:container1"},
			{"the attribute set by its leading digits", "/products", `"attribute_set_id":"4abc"`, "attribute_set_id", "attribute_set_id:4"},
			{"store view and category are ignored", "/products/store/99/category/99", ``, "name", "name:Case One"},
			{"special price begins now", "/products", `"special_price":9`, "special_from_date", "special_from_date:2013-02-03 04:05:00"},
			{"special price of 0 does not begin", "/products", `"special_price":"0"`, "special_from_date", "special_from_date:null"},
			{"special price with a start", "/products", `"special_price":9,"special_from_date":"2012-01-01"`, "special_from_date", "special_from_date:2012-01-01 00:00:00"},
			{"gift message by the shop's setting", "/products", `"use_config_gift_message_available":1,"gift_message_available":9`, "gift_message_available", "gift_message_available:null"},
			{"gift message by the product", "/products", `"use_config_gift_message_available":0`, "gift_message_available", "gift_message_available:0"},
			{"false stores nothing", "/products", `"meta_title":false`, "meta_title", ""},
		} {
			t.Run(c.name, func(t *testing.T) {
				body := newProduct("new", c.members)
				if strings.Contains(c.members, "attribute_set_id") {
					body = strings.Replace(body, `"attribute_set_id":4,`, "", 1)
				}
				s.reset(t)
				r := s.send("POST", c.target, body)
				if r.Location != "/api/rest/products/13" || r.Status != 200 || len(r.Body) != 0 {
					t.Fatalf("%d %s, location %q", r.Status, r.Body, r.Location)
				}
				s.checkFields(t, "/products/13", c.fields, c.want)
			})
		}
	})
}

// TestProductPriceLists checks the entries of group_price and tier_price (products 5.3,
// steps 4 and 5, and 5.6).
func TestProductPriceLists(t *testing.T) {
	const (
		required = `400 The "%s" value in the "%s" set is a required field.`
		website  = `400 Invalid "website_id" value in the "%s" set.`
		group    = `400 Invalid "cust_group" value in the "%s" set`
		fromZero = `400 Please enter a number 0 or greater in the "price" field in the "%s" set.`
		above    = `400 Please enter a number greater than 0 in the "%s" field in the "%s" set.`
	)
	tiers := func(entries string) string { return `{"tier_price":` + entries + `}` }
	groups := func(entries string) string { return `{"group_price":` + entries + `}` }
	inBothDialects(t, func(t *testing.T, s *shop) {
		for _, c := range []struct {
			name, body string
			want       []string // the entries of a refusal
		}{
			{"empty entry", groups(`[{}]`), []string{fmt.Sprintf(required, "website_id", "group_price:0"), fmt.Sprintf(required, "cust_group", "group_price:0"), fmt.Sprintf(required, "price", "group_price:0"), saveClosing}},
			{"second entry", groups(`[{"website_id":0,"cust_group":1,"price":0},{"website_id":"0","cust_group":"1.5","price":"-1"}]`),
				[]string{fmt.Sprintf(group, "group_price:1"), fmt.Sprintf(fromZero, "group_price:1"), saveClosing}},
			{"texts", groups(`[{"website_id":"","cust_group":"","price":""}]`),
				[]string{fmt.Sprintf(website, "group_price:0"), fmt.Sprintf(group, "group_price:0"), fmt.Sprintf(fromZero, "group_price:0"), saveClosing}},
			{"literals", groups(`[{"website_id":false,"cust_group":true,"price":true}]`),
				[]string{fmt.Sprintf(website, "group_price:0"), fmt.Sprintf(group, "group_price:0"), fmt.Sprintf(fromZero, "group_price:0"), saveClosing}},
			{"an object", groups(`{"a":7,"b":{"website_id":0,"cust_group":1,"price":1}}`),
				[]string{fmt.Sprintf(required, "website_id", "group_price:a"), fmt.Sprintf(required, "cust_group", "group_price:a"), fmt.Sprintf(required, "price", "group_price:a"), saveClosing}},
			{"all customer groups", tiers(`[{"website_id":0,"cust_group":32000,"price":1,"price_qty":1}]`), []string{fmt.Sprintf(group, "tier_price:0"), saveClosing}},
			{"zero quantity", tiers(`[{"website_id":1,"cust_group":1,"price":0,"price_qty":null}]`),
				[]string{fmt.Sprintf(website, "tier_price:0"), fmt.Sprintf(required, "price_qty", "tier_price:0"), fmt.Sprintf(above, "price", "tier_price:0"), saveClosing}},
			{"one group twice", groups(`[{"website_id":0,"cust_group":1,"price":1},{"website_id":"0.0","cust_group":"01","price":2}]`),
				[]string{`400 Invalid attribute "group_price": Duplicate website group price customer group.`}},
			{"one quantity twice", tiers(`[{"website_id":0,"cust_group":1,"price":1,"price_qty":"2"},{"website_id":0,"cust_group":1,"price":2,"price_qty":2.00001}]`),
				[]string{`400 Invalid attribute "tier_price": Duplicate website tier price customer group and quantity.`}},
		} {
			t.Run(c.name, func(t *testing.T) {
				checkRefused(t, s.send("PUT", "/products/2", c.body), c.want...)
			})
		}
		var many strings.Builder
		for i := range 1001 {
			fmt.Fprintf(&many, `,{"website_id":0,"cust_group":1,"price":1,"price_qty":%d}`, i+1)
		}
		checkRefused(t, s.send("PUT", "/products/2", tiers("["+many.String()[1:]+"]")), "400 The request data is invalid.")
		flags := s.text("", `,is_percent:true`)
		percent := s.text("", `,is_percent:0`)
		checkSaved(t, s.send("PUT", "/products/2", groups(`[{"website_id":0,"cust_group":3,"price":1.55555,"x":1},{"website_id":0,"cust_group":1,"price":" 7 ","delete":0},{"website_id":0,"cust_group":1,"price":1,"delete":1}]`)))
		s.checkFields(t, "/products/2", "group_price", "group_price:[{website_id:0,cust_group:3,price:1.5555"+flags+"},{website_id:0,cust_group:1,price:7.0000"+flags+"}]")
		checkSaved(t, s.send("PUT", "/products/2", tiers(`[{"website_id":0,"cust_group":1,"price":5,"price_qty":9},{"website_id":0,"cust_group":0,"price":6,"price_qty":1e9}]`)))
		s.checkFields(t, "/products/2", "tier_price", "tier_price:[{website_id:0,cust_group:1,price:5.0000,price_qty:9.0000"+percent+"},{website_id:0,cust_group:0,price:6.0000,price_qty:99999999.9999"+percent+"}]")
		for _, nothing := range []string{`[]`, `""`, `null`, `"x"`, `7`} {
			checkSaved(t, s.send("PUT", "/products/2", groups(`[{"website_id":0,"cust_group":1,"price":1}]`)))
			checkSaved(t, s.send("PUT", "/products/2", groups(nothing)))
			s.checkFields(t, "/products/2", "group_price", "group_price:[]")
		}
		checkSaved(t, s.send("PUT", "/products/2", groups(`[{"website_id":0,"cust_group":1,"price":1}]`)))
		if r := s.send("PUT", "/products/2", groups(`false`)); s.documented() {
			checkRefused(t, r, `400 Invalid value for "group_price" in request.`, saveClosing)
		} else {
			checkSaved(t, r)
		}
		s.checkFields(t, "/products/2", "group_price", "group_price:[{website_id:0,cust_group:1,price:1.0000"+flags+"}]")
	})
}

// TestProductSideEffects checks what a save changes besides the fields that were sent
// (products 5.6 and 8). Each step writes and then reads a field.
func TestProductSideEffects(t *testing.T) {
	type write struct{ target, body, read, want string }
	const stored, renewed = "special_from_date:2012-01-01 00:00:00", "special_from_date:2013-02-03 04:05:00"
	inBothDialects(t, func(t *testing.T, s *shop) {
		for name, steps := range map[string][]write{
			"a special price begins with any save": {
				{"/products/2", `{"special_from_date":null}`, "/products/2?special_from_date", renewed},
				{"/products/2", `{"special_from_date":"2012-01-01"}`, "/products/2?special_from_date", stored},
				{"/products/2", `{"special_price":""}`, "/products/2?special_from_date", stored},
				{"/products/2", `{"special_from_date":""}`, "/products/2?special_from_date", "special_from_date:null"},
				{"/products/2", `{"special_price":0}`, "/products/2?special_from_date", "special_from_date:null"},
				{"/products/2", `{"name":"A stored 0 counts"}`, "/products/2?special_from_date", renewed},
			},
			"at a store view a special price begins only when its start is removed": {
				{"/products/2/store/2", `{"name":"x"}`, "/products/2/store/2?special_from_date", stored},
				{"/products/2/store/2", `{"special_from_date":""}`, "/products/2/store/2?special_from_date", renewed},
				{"/products/2/store/2", `{"name":"y"}`, "/products/2/store/1?special_from_date", renewed},
				{"/products/2/store/2", `{"name":"z"}`, "/products/2/store/3?special_from_date", stored},
				{"/products/2/store/2", `{"special_from_date":false}`, "/products/2/store/2?special_from_date", stored},
			},
			"an empty url_key is generated again": {
				{"/products/1", `{"name":"Other Name"}`, "/products/1?url_key", "url_key:steel-kettle"},
				{"/products/1", `{"url_key":"中"}`, "/products/1?url_key", "url_key:other-name"},
				{"/products/1/store/2", `{"url_key":"","name":"Le nom"}`, "/products/1/store/2?url_key", "url_key:le-nom"},
				{"/products/1/store/2", `{"name":"Autre"}`, "/products/1?url_key", "url_key:other-name"},
				{"/products/1/store/2", `{"url_key":false}`, "/products/1/store/2?url_key", "url_key:autre"},
			},
			"the gift message": {
				{"/products/11", `{"use_config_gift_message_available":true,"gift_message_available":9}`, "/products/11?gift_message_available", "gift_message_available:null"},
				{"/products/11", `{"use_config_gift_message_available":null}`, "/products/11?gift_message_available", "gift_message_available:null"},
				{"/products/11", `{"use_config_gift_message_available":"0"}`, "/products/11?gift_message_available", "gift_message_available:0"},
				{"/products/11/store/1", `{"use_config_gift_message_available":0,"gift_message_available":1}`, "/products/11?gift_message_available", "gift_message_available:1"},
			},
			"type and attribute set do not change": {
				{"/products/1", `{"type_id":["x"],"attribute_set_id":null}`, "/products/1?type_id,attribute_set_id", "attribute_set_id:4,type_id:simple"},
			},
			"values of a store view": {
				{"/products/1/store/2", `{"meta_title":null}`, "/products/1/store/2?meta_title", "meta_title:null"},
				{"/products/1/store/2", `{"meta_title":false}`, "/products/1/store/2?meta_title", "meta_title:Steel kettle"},
				{"/products/1/store/2", `{"status":2}`, "/products/1/store/1?status", "status:2"},
				{"/products/1/store/2", `{"price":3}`, "/products/1?status,price", "status:1,price:3.0000"},
				{"/products/1?store=french", `{"name":"By the query"}`, "/products/1/store/2?name", "name:By the query"},
			},
		} {
			t.Run(name, func(t *testing.T) {
				s.reset(t)
				for _, step := range steps {
					checkSaved(t, s.send("PUT", step.target, step.body))
					path, fields, _ := strings.Cut(step.read, "?")
					s.checkFields(t, path, fields, step.want)
				}
			})
		}
	})
}

// TestProductWriteCheckOrder checks the order of the checks (products 1 and 2): store
// view, product, fields.
func TestProductWriteCheckOrder(t *testing.T) {
	inBothDialects(t, func(t *testing.T, s *shop) {
		for _, c := range []struct{ name, method, target, body, want string }{
			{"nothing to write, unknown product", "PUT", "/products/99", `{"foo":1}`, "400 The request data is invalid."},
			{"unknown product", "PUT", "/products/99", `{"price":"x"}`, "404 Resource not found."},
			{"unknown store view, unknown product", "PUT", "/products/99/store/99", `{"price":"x"}`, "400 Requested store is invalid"},
			{"not sold in the store view", "PUT", "/products/1/store/3", `{"price":"x"}`, "404 Resource not found."},
			{"a list", "PUT", "/products/1", `[{"name":"x"}]`, "400 The request data is invalid."},
			{"delete an unknown product", "DELETE", "/products/99", ``, "404 Resource not found."},
			{"delete at a store view that does not sell it", "DELETE", "/products/1/store/german", ``, "404 Resource not found."},
			{"delete at an unknown store view", "DELETE", "/products/1/store/99", ``, "400 Requested store is invalid"},
		} {
			t.Run(c.name, func(t *testing.T) {
				checkRefused(t, s.send(c.method, c.target, c.body), c.want)
			})
		}
		checkSaved(t, s.send("DELETE", "/products/kettle-steel/store/french", "not looked at"))
		checkRefused(t, s.send("DELETE", "/products/1", ""), "404 Resource not found.")
		if path := s.create(t, newProduct("kettle-steel", "")); path != "/products/13" {
			t.Errorf("created %s: the SKU can be used again, the id cannot", path)
		}
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
	answers := make([]mapping.Response, clients)
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
