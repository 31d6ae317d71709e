package compare

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/mapping/contract"
)

const (
	jsonType = "application/json; charset=utf-8"
	xmlType  = "application/xml; charset=utf-8"
	formType = "text/plain; charset=utf-8"
)

func table() *contract.Table { return contract.NewTable(contract.Routes(contract.StandardFields())) }

func routeOf(t testing.TB, path string) *contract.Route {
	t.Helper()
	route, _ := table().Match(path)
	if route == nil {
		t.Fatalf("no route for %s", path)
	}
	return route
}

func ok(contentType, body string) *Answer {
	return &Answer{Status: http.StatusOK, ContentType: contentType, Body: []byte(body)}
}

// summaries returns differences in short form: field, record in brackets, and both values.
func summaries(ds []Difference) []string {
	var all []string
	value := func(v *string) string {
		if v == nil {
			return "-"
		}
		return *v
	}
	for _, d := range ds {
		at := d.Field
		if d.Record != "" {
			at += "[" + d.Record + "]"
		}
		all = append(all, fmt.Sprintf("%s %s %s", at, value(d.Legacy), value(d.Candidate)))
	}
	return all
}

func envelope(message string) string {
	return `{"messages":{"error":[{"code":404,"message":"` + message + `"}]}}`
}

func xmlBody(root, inner string) string {
	return "<?xml version=\"1.0\"?>\n<" + root + ">\n" + inner + "</" + root + ">\n"
}

func TestBodies(t *testing.T) {
	const two = `{"1":{"entity_id":"1","sku":"a"},"2":{"entity_id":"2","sku":"b"}}`
	unordered, clock := Options{Unordered: true}, Options{Clock: time.Minute}
	ignore := func(fields ...string) Options { return Options{Ignore: fields} }
	for _, tt := range []struct {
		name, path, contentType, legacy, candidate string
		options                                    Options
		want                                       []string
	}{
		{"the same", "/products", jsonType, two, two, Options{}, nil},
		{"value", "/products/1", jsonType, `{"sku":"a"}`, `{"sku":"b"}`, Options{}, []string{`sku "a" "b"`}},
		{"number for a text", "/products/1", jsonType, `{"price":"1"}`, `{"price":1}`, Options{}, []string{`price "1" 1`}},
		{"integers as numbers", "/products", jsonType, `{"1":{"entity_id":1,"status":2,"price":"1"}}`, `{"1":{"entity_id":"1","status":"2","price":"1"}}`, Options{},
			[]string{"integers[1] numbers, such as entity_id texts: set store.integers to number"}},
		{"integers as texts", "/products/1/websites", jsonType, `[{"website_id":"1"}]`, `[{"website_id":1}]`, Options{},
			[]string{"integers[1] texts, such as website_id numbers: set store.integers to text"}},
		{"integers as numbers, also below a field", "/products/1", jsonType, `{"entity_id":1,"tier_price":[{"cust_group":2}]}`, `{"entity_id":"1","tier_price":[{"cust_group":"2"}]}`,
			Options{Ignore: []string{"entity_id"}}, []string{"integers[1] numbers, such as tier_price texts: set store.integers to number"}},
		{"one integer as a number", "/products/1", jsonType, `{"entity_id":"1","status":2}`, `{"entity_id":"1","status":"2"}`, Options{}, []string{`status 2 "2"`}},
		{"integers that differ", "/products/1", jsonType, `{"entity_id":1,"status":2}`, `{"entity_id":"1","status":"1"}`, Options{},
			[]string{`status 2 "1"`, "integers numbers, such as entity_id texts: set store.integers to number"}},
		{"integers in both forms", "/products/1", jsonType, `{"entity_id":1,"status":"2"}`, `{"entity_id":"1","status":2}`, Options{},
			[]string{`entity_id 1 "1"`, `status "2" 2`}},
		{"integers as expected", "/products/1", jsonType, `{"entity_id":1}`, `{"entity_id":"1"}`, ignore("integers"), nil},
		{"number of another form", "/products/1", jsonType, `{"price":1.0}`, `{"price":1}`, Options{}, []string{`price 1.0 1`}},
		{"null for an empty text", "/products/1", jsonType, `{"msrp":null}`, `{"msrp":""}`, Options{}, []string{`msrp null ""`}},
		{"true for a text", "/products/1", jsonType, `{"stock_data":{"is_in_stock":true}}`, `{"stock_data":{"is_in_stock":"1"}}`, Options{}, []string{`stock_data.is_in_stock true "1"`}},
		{"field missing", "/products/1", jsonType, `{"sku":"a","name":"b"}`, `{"sku":"a"}`, Options{}, []string{`name "b" -`}},
		{"field added", "/products/1", jsonType, `{"sku":"a"}`, `{"cost":null,"sku":"a"}`, Options{}, []string{`cost - null`}},
		{"field that only Guests see", "/products/1", jsonType, `{"final_price_with_tax":1}`, `{"final_price_with_tax":2}`, Options{}, []string{`final_price_with_tax 1 2`}},
		{"unknown field", "/products/1", jsonType, `{"sku":"a","fa\u0007ke":"b"}`, `{"sku":"a"}`, Options{}, []string{`other fa\ake: "b" -`}},
		{"order of fields", "/products/1", jsonType, `{"sku":"a","name":"b"}`, `{"name":"b","sku":"a"}`, Options{}, []string{`rendering order sku name order name sku`}},
		{"order of fields beside another difference", "/products/1", jsonType, `{"sku":"a","name":"b","cost":1}`, `{"name":"b","sku":"a","cost":2}`, Options{}, []string{`cost 1 2`, `rendering order sku name cost order name sku cost`}},
		{"order of fields ignored", "/products/1", jsonType, `{"sku":"a","name":"b"}`, `{"name":"b","sku":"a"}`, unordered, nil},
		{"blanks beside an order ignored", "/products/1", jsonType, `{"sku":"a","name":"b"}`, `{"name": "b","sku":"a"}`, unordered, []string{`rendering byte 2: "{\"sku\":\"a\",\"name\":\"b\"}" byte 2: "{\"name\": \"b\",\"sku\":\"a\"}"`}},
		{"record missing", "/products", jsonType, two, `{"2":{"entity_id":"2","sku":"b"}}`, Options{}, []string{`records[1] "1" -`}},
		{"record added, later records still match", "/stockitems", jsonType, `[{"item_id":"2","qty":"5"}]`, `[{"item_id":"1","qty":"7"},{"item_id":"2","qty":"5"}]`, Options{}, []string{`records[1] - "1"`}},
		{"all records missing", "/products", jsonType, `{"1":{"entity_id":"1"}}`, `[]`, Options{}, []string{`records[1] "1" -`}},
		{"order of records", "/stockitems", jsonType, `[{"item_id":"1"},{"item_id":"2"}]`, `[{"item_id":"2"},{"item_id":"1"}]`, Options{}, []string{`order order 1 2 order 2 1`}},
		{"order of keys", "/products", jsonType, two, `{"2":{"entity_id":"2","sku":"b"},"1":{"entity_id":"1","sku":"a"}}`, Options{}, []string{`order order 1 2 order 2 1`}},
		{"order of records ignored", "/stockitems", jsonType, `[{"item_id":"1"},{"item_id":"2"}]`, `[{"item_id":"2"},{"item_id":"1"}]`, unordered, nil},
		{"value in a record elsewhere", "/stockitems", jsonType, `[{"item_id":"1","qty":"1"},{"item_id":"2","qty":"2"}]`, `[{"item_id":"2","qty":"3"},{"item_id":"1","qty":"1"}]`, unordered, []string{`qty[2] "2" "3"`}},
		{"entries without a key", "/products/1", jsonType, `{"tier_price":[{"price":"1"},{"price":"2"}]}`, `{"tier_price":[{"price":"2"},{"price":"1"}]}`, Options{}, []string{`tier_price order 1 2 order 2 1`}},
		{"entries without a key, order ignored", "/products/1", jsonType, `{"tier_price":[{"price":"1","qty":1},{"price":"2"},{"price":"3"}]}`, `{"tier_price":[{"price":"3"},{"price":"4"},{"qty":1,"price":"1"},{"price":"5"}]}`, unordered, []string{`tier_price[2] price: "2" price: "4"`, `tier_price[4] - record of 1`}},
		{"entry without a key missing before others", "/orders/1", jsonType, `{"order_comments":[{"comment":"a"},{"comment":"b"},{"comment":"b"}]}`, `{"order_comments":[{"comment":"b"},{"comment":"b"}]}`, Options{}, []string{`order_comments[1] record of 1 -`}},
		{"value in an entry without a key", "/orders/1", jsonType, `{"order_comments":[{"status":"a"},{"status":"b"}]}`, `{"order_comments":[{"status":"a"},{"status":"c"}]}`, Options{}, []string{`order_comments.status[2] "b" "c"`}},
		{"entry of prices missing", "/products/1", jsonType, `{"tier_price":[{"price":"1"}]}`, `{"tier_price":[]}`, Options{}, []string{`tier_price[1] record of 1 -`}},
		{"deep in an unknown field", "/products/1", jsonType, `{"fake":{"a":[{"b":1}]}}`, `{"fake":{"a":[{"b":2}]}}`, Options{}, []string{`other[1] fake.a.b: 1 fake.a.b: 2`}},
		{"list for a record", "/products/1", jsonType, `{"stock_data":[1]}`, `{"stock_data":{"qty":1}}`, Options{}, []string{`stock_data list of 1 record of 1`}},
		{"record for a list at the top", "/products", jsonType, two, `{"sku":"a"}`, Options{}, []string{`body list of 2 record of 1`}},
		{"lines of an order", "/orders/1", jsonType, `{"order_items":[{"item_id":"4","sku":"a"},{"item_id":"5","sku":"b"}]}`, `{"order_items":[{"item_id":"5","sku":"c"},{"item_id":"4","sku":"a"}]}`, unordered, []string{`order_items.sku[5] "b" "c"`}},
		{"addresses of orders in a list", "/orders", jsonType, `{"7":{"addresses":[{"address_type":"billing","city":"a"}]}}`, `{"7":{"addresses":[{"address_type":"billing","city":"b"}]}}`, Options{}, []string{`addresses.city[7/billing] "a" "b"`}},
		{"blanks", "/products/1", jsonType, `{"sku":"a"}`, `{"sku": "a"}`, Options{}, []string{`rendering byte 7: "{\"sku\":\"a\"}" byte 7: "{\"sku\": \"a\"}"`}},
		{"escapes", "/products/1", jsonType, `{"sku":"\/"}`, `{"sku":"/"}`, Options{}, []string{`rendering byte 8: "{\"sku\":\"\\/\"}" byte 8: "{\"sku\":\"/\"}"`}},
		{"object for an empty array", "/products", jsonType, `[]`, `{}`, Options{}, []string{`rendering byte 0: "[]" byte 0: "{}"`}},
		{"a name twice", "/products/1", jsonType, `{"sku":"b"}`, `{"sku":"a","sku":"b"}`, Options{}, []string{`rendering byte 8: "{\"sku\":\"b\"}" byte 8: "{\"sku\":\"a\",\"sku\":\"b\"}"`}},
		{"times within the clock", "/products/1", jsonType, `{"updated_at":"2026-01-02 03:04:05"}`, `{"updated_at":"2026-01-02 03:05:05"}`, clock, nil},
		{"times beyond the clock", "/products/1", jsonType, `{"updated_at":"2026-01-02 03:04:05"}`, `{"updated_at":"2026-01-02 03:05:06"}`, clock, []string{`updated_at "2026-01-02 03:04:05" "2026-01-02 03:05:06"`}},
		{"times in other forms", "/products/1", jsonType, `{"created_at":"2026-01-02 03:04:05"}`, `{"created_at":"2026-01-02T03:04:05+00:00"}`, clock, []string{`created_at "2026-01-02 03:04:05" "2026-01-02T03:04:05+00:00"`}},
		{"ISO times within the clock", "/products/1", jsonType, `{"created_at":"2026-01-02T03:04:05+00:00"}`, `{"created_at":"2026-01-02T05:04:06+02:00"}`, clock, nil},
		{"blanks beside a time within the clock", "/products/1", jsonType, `{"updated_at":"2026-01-02 03:04:05"}`, `{ "updated_at":"2026-01-02 03:04:06"}`, clock, []string{`rendering byte 1: "{\"updated_at\":\"2026-01-02 03:04:05\"}" byte 1: "{ \"updated_at\":\"2026-01-02 03:04:06\"}"`}},
		{"ignored", "/products/1", jsonType, `{"stock_data":{"qty":1,"min_qty":1}}`, `{"stock_data":{"qty":2,"min_qty":2}}`, ignore("stock_data.qty"), []string{`stock_data.min_qty 1 2`}},
		{"ignored with nested fields", "/products/1", jsonType, `{"stock_data":{"qty":1}}`, `{"stock_data":{"qty":2}}`, ignore("stock_data"), nil},
		{"prefix of a field name ignored", "/products/1", jsonType, `{"price":"1"}`, `{"price":"2"}`, ignore("pric"), []string{`price "1" "2"`}},
		{"rendering ignored", "/products/1", jsonType, `{"sku":"a"}`, `{"sku": "a"}`, ignore("rendering"), nil},
		{"error texts", "/products/1", jsonType, envelope("Not found"), envelope("Gone"), Options{}, []string{`messages[1] "Not found" "Gone"`}},
		{"error for a record", "/products/1", jsonType, `{"sku":"a"}`, envelope("Gone"), Options{}, []string{`messages record of 1 ` + envelope("Gone")}},
		{"invalid JSON", "/products/1", jsonType, `{"sku":"a"}`, `{"sku":`, Options{}, []string{`body json 7 bytes of invalid json`}},
		{"both invalid JSON", "/products/1", jsonType, `{1`, `{2`, Options{}, []string{`body byte 1: "{1" byte 1: "{2"`}},
		{"empty body", "/products/1", jsonType, `{"sku":"a"}`, ``, Options{}, []string{`body json 0 bytes of invalid json`}},
		{"HTML", "/products/1", "text/html", `<p>a`, `<p>b`, Options{}, []string{`body byte 3: "<p>a" byte 3: "<p>b"`}},
		{"excessive depth", "/products/1", jsonType, `[]`, strings.Repeat("[", 600) + strings.Repeat("]", 600), Options{}, []string{`body json 1200 bytes of invalid json`}},
		{"no route", "/nothing", jsonType, `{"sku":"a"}`, `{"sku":"b"}`, Options{}, []string{`other sku: "a" sku: "b"`}},

		{"XML value", "/customers", xmlType, xmlBody("magento_api", "<data_item><entity_id>3</entity_id><email>a</email></data_item>"), xmlBody("magento_api", "<data_item><entity_id>3</entity_id><email>b</email></data_item>"), Options{}, []string{`email[3] "a" "b"`}},
		{"XML root", "/customers", xmlType, xmlBody("magento_api", "<data_item><entity_id>3</entity_id></data_item>"), xmlBody("service_api", "<data_item><entity_id>3</entity_id></data_item>"), Options{}, []string{`root "magento_api" "service_api"`}},
		{"XML root and value", "/customers/1", xmlType, xmlBody("magento_api", "  <email>a</email>\n"), xmlBody("service_api", "  <email>b</email>\n"), Options{}, []string{`root "magento_api" "service_api"`, `email "a" "b"`}},
		{"XML root and rendering", "/customers/1", xmlType, xmlBody("magento_api", "  <email>a</email>\n"), xmlBody("service_api", "<email>a</email>\n"), Options{}, []string{`root "magento_api" "service_api"`, `rendering byte 23: "ersion=\"1.0\"?>\n<magento_api>\n  <email>a</email>\n</magento_api>\n" byte 23: "ersion=\"1.0\"?>\n<service_api>\n<email>a</email>\n</service_api>\n"`}},
		{"XML element that closes itself", "/customers/1", xmlType, xmlBody("magento_api", "  <email/>\n"), xmlBody("magento_api", "  <email></email>\n"), Options{}, []string{`rendering byte 44: "to_api>\n  <email/>\n</magento_api>\n" byte 44: "to_api>\n  <email></email>\n</magento_api>\n"`}},
		{"XML numbered", "/orders", xmlType, xmlBody("service_api", "<data_item_1><entity_id>3</entity_id><status>a</status></data_item_1>"), xmlBody("service_api", "<data_item_1><entity_id>3</entity_id><status>b</status></data_item_1>"), Options{}, []string{`status[3] "a" "b"`}},
		{"XML order of fields", "/customers/1", xmlType, xmlBody("magento_api", "<email>a</email><dob>b</dob>"), xmlBody("magento_api", "<dob>b</dob><email>a</email>"), Options{}, []string{`rendering order email dob order dob email`}},
		{"XML error texts", "/products/1", xmlType, xmlBody("magento_api", "<messages><error><data_item><code>404</code><message>a</message></data_item></error></messages>"), xmlBody("magento_api", "<messages><error><data_item><code>404</code><message>b</message></data_item></error></messages>"), Options{}, []string{`messages[1] "a" "b"`}},
		{"form value", "/products", formType, "1[entity_id]=1&1[sku]=a", "1[entity_id]=1&1[sku]=b", Options{}, []string{`sku[1] "a" "b"`}},
		{"form escapes", "/products/1", formType, "sku=%2f", "sku=%2F", Options{}, []string{`rendering byte 6: "sku=%2f" byte 6: "sku=%2F"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			route, _ := table().Match(tt.path)
			if got := summaries(Answers(route, ok(tt.contentType, tt.legacy), ok(tt.contentType, tt.candidate), &tt.options)); !slices.Equal(got, tt.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

func TestHeads(t *testing.T) {
	bases := Options{Bases: [2]string{"http://old.example:80/", "https://new.example"}}
	for _, tt := range []struct {
		name              string
		legacy, candidate Answer
		options           Options
		want              []string
	}{
		{"status", Answer{Status: 200}, Answer{Status: 404}, Options{}, []string{"status-code 200 404"}},
		{"status ignored", Answer{Status: 200}, Answer{Status: 404}, Options{Ignore: []string{"status-code"}}, nil},
		{"type", Answer{ContentType: jsonType, Body: []byte("[]")}, Answer{ContentType: "application/json", Body: []byte("[]")}, Options{}, []string{`content-type "application/json; charset=utf-8" "application/json"`}},
		{"type in another spelling", Answer{ContentType: jsonType, Body: []byte("[]")}, Answer{ContentType: "Application/JSON;charset=UTF-8", Body: []byte("[]")}, Options{}, nil},
		{"type of an empty body", Answer{ContentType: jsonType}, Answer{}, Options{}, nil},
		{"type and body", Answer{ContentType: jsonType, Body: []byte("[]")}, Answer{ContentType: "text/html", Body: []byte("<p>")}, Options{},
			[]string{`content-type "application/json; charset=utf-8" "text/html"`, `body byte 0: "[]" byte 0: "<p>"`}},
		{"no such header", Answer{Location: "/a"}, Answer{}, Options{}, []string{`location "/a" -`}},
		{"base", Answer{Location: "http://old.example:80/a"}, Answer{Location: "https://new.example/a"}, bases, nil},
		{"base of the other system", Answer{Location: "http://old.example:80/a"}, Answer{Location: "http://old.example:80/a"}, bases, []string{`location "BASE_URL/a" "http://old.example:80/a"`}},
		{"base that is a prefix of another host", Answer{Location: "http://old.example:8080/a"}, Answer{Location: "https://new.example/a"}, bases, []string{`location "http://old.example:8080/a" "BASE_URL/a"`}},
		{"base in JSON", *ok(jsonType, `{"url":"http:\/\/old.example:80\/a"}`), *ok(jsonType, `{"url":"https:\/\/new.example\/a"}`), bases, nil},
		{"base in XML", *ok(xmlType, xmlBody("magento_api", "<url>http://old.example:80/a</url>")), *ok(xmlType, xmlBody("magento_api", "<url>https://new.example/a</url>")), bases, nil},
		{"base in a form", *ok(formType, "url=http%3A%2F%2Fold.example%3A80%2Fa"), *ok(formType, "url=https%3A%2F%2Fnew.example%2Fa"), bases, nil},
		{"base in a body that differs", *ok(jsonType, `{"url":"http:\/\/old.example:80\/a"}`), *ok(jsonType, `{"url":"https:\/\/inside.example\/a"}`), bases, []string{`url "BASE_URL/a" "https://inside.example/a"`}},
		{"key and return URL", *ok(jsonType, `{"buy_now_url":"http:\/\/old.example:80\/uenc\/aHR0cDovL29sZC5leGFtcGxlOjgwL2FwaS9yZXN0L3Byb2R1Y3RzLzE,\/form_key\/ABCDEFGHIJKLMNOP\/"}`),
			*ok(jsonType, `{"buy_now_url":"https:\/\/new.example\/uenc\/aHR0cHM6Ly9uZXcuZXhhbXBsZS9hcGkvcmVzdC9wcm9kdWN0cy8x\/form_key\/QRSTUVWXYZ234567\/"}`), bases, nil},
		{"return URL elsewhere", *ok(jsonType, `{"buy_now_url":"http:\/\/old.example:80\/uenc\/aHR0cDovL29sZC5leGFtcGxlOjgwL2FwaS9yZXN0L3Byb2R1Y3RzLzE,\/"}`),
			*ok(jsonType, `{"buy_now_url":"https:\/\/new.example\/uenc\/aHR0cHM6Ly9uZXcuZXhhbXBsZS9hcGkvcmVzdC9wcm9kdWN0cy8y\/"}`), bases,
			[]string{`buy_now_url "BASE_URL/uenc/QkFTRV9VUkwvYXBpL3Jlc3QvcHJvZHVjdHMvMQ/" "BASE_URL/uenc/QkFTRV9VUkwvYXBpL3Jlc3QvcHJvZHVjdHMvMg/"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := summaries(Answers(routeOf(t, "/products/1"), &tt.legacy, &tt.candidate, &tt.options)); !slices.Equal(got, tt.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

// TestMasked: values that are or may be personal are described by their kind only.
func TestMasked(t *testing.T) {
	for _, tt := range []struct {
		name, path, contentType, legacy, candidate string
		want                                       []string
	}{
		{"public", "/customers/1", jsonType, `{"group_id":"1"}`, `{"group_id":"2"}`, []string{`group_id "1" "2"`}},
		{"text", "/customers/1", jsonType, `{"email":"zoë@example.com"}`, `{"email":null}`, []string{`email text of 15, masked null`}},
		{"number", "/customers/1", jsonType, `{"taxvat":123}`, `{"taxvat":""}`, []string{`taxvat masked ""`}},
		{"unknown field", "/customers/1", jsonType, `{"group_id":"1","shoe":"9"}`, `{"group_id":"1"}`, []string{`other masked -`}},
		{"rendering", "/customers/1", jsonType, `{"email":"a"}`, `{"email": "a"}`, []string{`rendering masked masked`}},
		{"within", "/orders", jsonType, `{"1":{"addresses":[{"address_type":"billing","city":"Ulm","telephone":"1"}],"status":"a"}}`,
			`{"1":{"addresses":[{"address_type":"billing","city":"Bonn"}],"status":"b"}}`, []string{`addresses.city[1/billing] text of 3, masked text of 4, masked`, `addresses.telephone[1/billing] text of 1, masked -`, `status[1] "a" "b"`}},
		{"record", "/customers", jsonType, `[{"entity_id":"7","email":"a"}]`, `[]`, []string{`records[7] "7" -`}},
		{"no resource", "/nothing", "text/html", `a`, `b`, []string{`body masked masked`}},
		{"other of a product", "/products/1", jsonType, `{"sku":"a","shoe":"9"}`, `{"sku":"a"}`, []string{`other shoe: "9" -`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			route, _ := table().Match(tt.path)
			var got []Difference
			for _, d := range Answers(route, ok(tt.contentType, tt.legacy), ok(tt.contentType, tt.candidate), &Options{}) {
				got = append(got, d.Masked())
			}
			if got := summaries(got); !slices.Equal(got, tt.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

// TestBounds: the report on hostile replies is bounded.
func TestBounds(t *testing.T) {
	var legacy, candidate strings.Builder
	for i := range 500 {
		fmt.Fprintf(&legacy, `,"%d":{"sku":"%s","name":1}`, i+1, strings.Repeat("é", 500))
		fmt.Fprintf(&candidate, `,"%d":{"sku":"%s","name":2}`, i+1, strings.Repeat("è", 500))
	}
	one := func(s string) *Answer { return ok(jsonType, "{"+s[1:]+"}") }
	got := Answers(routeOf(t, "/products"), one(legacy.String()), one(candidate.String()), &Options{})
	if len(got) != 2*maxOfField {
		t.Errorf("%d differences, want %d", len(got), 2*maxOfField)
	}
	for _, d := range got {
		if d.Field == "sku" && len(*d.Legacy) > 2*maxValue {
			t.Errorf("a value of %d bytes", len(*d.Legacy))
		}
	}
}

// FuzzAnswers: a body equals itself, and two different bodies have a difference, in either
// order.
func FuzzAnswers(f *testing.F) {
	f.Add("/products", uint8(0), `{"1":{"entity_id":"1"}}`, `[{"entity_id":1}]`)
	f.Add("/orders/1", uint8(1), xmlBody("magento_api", "<addresses><data_item/></addresses>"), xmlBody("service_api", "<addresses/>"))
	f.Add("/products/1", uint8(2), "a[b]=c", "a[]=c&a[]=d")
	f.Add("/products/1", uint8(0), envelope("a"), `{"messages":1}`)
	f.Add("/products/1", uint8(0), `{"url":"http:\/\/h\/uenc\/aHR0cDovL2g\/form_key\/ABCDEFGHIJKLMNOP"}`, `{"tier_price":[{"a":1},{"a":1}]}`)
	routes := table()
	f.Fuzz(func(t *testing.T, path string, format uint8, legacy, candidate string) {
		route, _ := routes.Match(path)
		contentType := []string{jsonType, xmlType, formType, "text/html"}[format%4]
		a, b := ok(contentType, legacy), ok(contentType, candidate)
		for _, o := range []Options{{}, {Unordered: true, Clock: time.Hour, Bases: [2]string{"http://h", "http://h"}}} {
			if got := Answers(route, a, a, &o); len(got) > 0 {
				t.Fatalf("not like itself: %q", summaries(got))
			}
			forth, back := Answers(route, a, b, &o), Answers(route, b, a, &o)
			if (len(forth) == 0) != (len(back) == 0) {
				t.Fatalf("one way %q, the other %q", summaries(forth), summaries(back))
			}
			if len(forth) == 0 && o.Clock == 0 && legacy != candidate && !strings.Contains(legacy, "form_key") {
				t.Fatal("no difference of bodies that differ")
			}
			for _, d := range forth {
				if d.Field == "" || len(d.Record) > 8*maxKey {
					t.Fatalf("a difference at %q[%q]", d.Field, d.Record)
				}
			}
		}
	})
}
