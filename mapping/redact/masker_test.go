package redact

import (
	"bytes"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

func table() *contract.Table { return contract.NewTable(contract.Routes(contract.StandardFields())) }

func masker(key string) *Masker { return NewMasker(table(), []byte(key)) }

func route(t testing.TB, path string) *contract.Route {
	t.Helper()
	found, _ := table().Match(path)
	if found == nil {
		t.Fatalf("no route %s", path)
	}
	return found
}

// TestValues: a mask has the form of its value, and none of its letters and digits.
func TestValues(t *testing.T) {
	m := masker("one key")
	for _, c := range []struct{ name, field, value, form string }{
		{"name", "lastname", "Byron", `[A-Z][a-z]{4}`},
		{"e-mail address", "email", "ada@example.com", `[a-z]{3}@[a-z]{7}\.com`},
		{"e-mail address of a country", "email", "a.b@x1.co.uk", `[a-z]\.[a-z]@[a-z][1-9]\.[a-z]{2}\.de`},
		{"date", "dob", "1815-12-10", `19[3-9]\d-[01]\d-[0-3]\d`},
		{"time", "dob", "1815-12-10 00:00:00", `\d{4}-\d\d-\d\d 00:00:00`},
		{"date, month first", "dob", "12/10/1815", `\d\d/\d\d/\d{4}`},
		{"choice", "gender", "1", `[12]`},
		{"no choice", "gender", "9", `[1-8]`},
		{"telephone", "telephone", "+44 (0)415-555-0100", `\+[1-9]\d \(\d\)\d{3}-\d{3}-\d{4}`},
		{"letters of other scripts", "lastname", "Weiß Éva 李", `[A-Z][a-z]{3} [A-Z][a-z]{2} [a-z]`},
		{"lines", "street", "1 Engine Way\nSuite 200", `[2-9] [A-Z][a-z]{5} [A-Z][a-z]{2}\n[A-Z][a-z]{4} \d{3}`},
		{"empty", "suffix", "", ``},
		{"not UTF-8", "suffix", "\xff1", `[a-z]\d`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := m.Field(c.field, c.value)
			if !regexp.MustCompile(`^(?:` + c.form + `)$`).MatchString(got) {
				t.Errorf("%q became %q", c.value, got)
			}
			if again := m.Field(c.field, c.value); again != got {
				t.Errorf("%q, and then %q", got, again)
			}
			if c.value != "" && c.name != "choice" && masker("another key").Field(c.field, c.value) == got && len(got) > 2 {
				t.Error("the mask does not depend on the key")
			}
		})
	}
}

// TestBodies: in the wanted text, X, x and N stand for masked characters of that kind.
func TestBodies(t *testing.T) {
	for _, c := range []struct{ name, path, body, want string }{
		{"JSON", "/customers/1", `{ "email" :"ada@example.com","group_id": "1",  "dob":null, "gender":1, "taxvat" : 12.50}`,
			`{ "email" :"xxx@xxxxxxx.xxx","group_id": "1",  "dob":null, "gender":N, "taxvat" : NN.NN}`},
		{"JSON list", "/customers", `{"1":{"entity_id":1,"firstname":"Ada"},"2":{"firstname":""}}`, `{"1":{"entity_id":1,"firstname":"Xxx"},"2":{"firstname":""}}`},
		{"JSON escapes", "/customers/1", `{"firstname":"\u0041d\"\/","entity_id":"\u0031"}`, `{"firstname":"Xx\"/","entity_id":"\u0031"}`},
		{"names given twice", "/customers/1", `{"firstname":"Ada","firstname":"Eve","entity_id":2}`, `{"firstname":"Xxx","firstname":"Xxx","entity_id":2}`},
		{"lists of lines", "/customers/addresses/1", `{"street":["1 Engine Way",{"x":["Ada",true]}],"country_id":"US"}`, `{"street":["N Xxxxxx Xxx",{"x":["Xxx",true]}],"country_id":"US"}`},
		{"names in a private field", "/customers/1", `{"taxvat":{"Ada":{"Byron":1},"0":"x","data_item_12":2,"5550100":3}}`, `{"taxvat":{"Xxx":{"Xxxxx":N},"0":"x","data_item_12":N,"NNNNNNN":N}}`},
		{"parts", "/orders/1", `{"status":"new","addresses":[{"city":"Bath","country_id":"GB"}],"order_comments":[{"comment":"Hi","status":"new"}],"order_items":[{"sku":"a-1"}]}`,
			`{"status":"new","addresses":[{"city":"Xxxx","country_id":"GB"}],"order_comments":[{"comment":"Xx","status":"new"}],"order_items":[{"sku":"a-1"}]}`},
		{"products", "/products/1", `{"sku":"a@1","tier_price":[{"website_id":0,"any":"x"}],"stock_data":{"qty":"1.0000"},"final_price_with_tax":1}`,
			`{"sku":"a@1","tier_price":[{"website_id":0,"any":"x"}],"stock_data":{"qty":"1.0000"},"final_price_with_tax":1}`},
		{"messages", "/customers/1", `{"messages":{"error":[{"code":400,"message":"'ada' appears to be an IP address"}]}}`, `{"messages":{"error":[{"code":400,"message":"'xxx' appears to be an IP address"}]}}`},
		{"e-mail address in another field", "/customers/1", `{"group_id":"ada@example.com"}`, `{"group_id":"xxx@xxxxxxx.xxx"}`},
		{"unknown field", "/customers/1", `{"nickname":"Ada"}`, ""},
		{"unknown number", "/customers/1", `{"nickname":1}`, ""},
		{"unknown field of a product", "/products/1", `{"nickname":"Ada"}`, ""},
		{"text instead of a record", "/customers", `["Ada"]`, ""},
		{"object instead of a value", "/customers/1", `{"group_id":{"email":"ada@example.com"}}`, ""},
		{"invalid JSON", "/customers/1", `{"email":"ada`, ""},
		{"XML", "/customers/1", "<?xml version=\"1.0\"?>\n<magento_api>\n  <email>ada@example.com</email>\n  <group_id>1</group_id>\n  <suffix/>\n</magento_api>\n",
			"<?xml version=\"1.0\"?>\n<magento_api>\n  <email>xxx@xxxxxxx.xxx</email>\n  <group_id>1</group_id>\n  <suffix/>\n</magento_api>\n"},
		{"XML list", "/orders", "<a><data_item_1><addresses><data_item><company>Guest &amp; Sons</company></data_item></addresses><store_name>A &amp; B</store_name></data_item_1></a>",
			"<x><data_item_1><addresses><data_item><company>Xxxxx &amp; Xxxx</company></data_item></addresses><store_name>A &amp; B</store_name></data_item_1></x>"},
		{"XML references", "/customers/1", "<a><firstname>&#65;d&#x61;</firstname></a>", "<x><firstname>Xxx</firstname></x>"},
		{"XML section", "/customers/1", "<a><firstname><![CDATA[A<a]]></firstname></a>", "<x><firstname><![CDATA[X<x]]></firstname></x>"},
		{"XML root of a client's own", "/customers/1", "<Ada_Byron ><group_id>1</group_id></Ada_Byron >", "<Xxx_Xxxxx ><group_id>1</group_id></Xxx_Xxxxx >"},
		{"XML root alone", "/customers/1", "<Ada/>", "<Xxx/>"},
		{"XML root of the other dialect", "/customers/1", "<service_api><group_id>1</group_id></service_api>", "<service_api><group_id>1</group_id></service_api>"},
		{"XML names in a private field", "/customers/1", "<magento_api><taxvat><Ada><Byron/>1</Ada><data_item>2</data_item></taxvat></magento_api>",
			"<magento_api><taxvat><Xxx><Xxxxx/>N</Xxx><data_item>N</data_item></taxvat></magento_api>"},
		{"XML beside elements", "/customers/1", "<a>Ada<group_id>1</group_id></a>", ""},
		{"XML attribute", "/customers/1", `<a firstname="Ada"/>`, ""},
		{"XML comment", "/customers/1", "<a><!-- Ada --><group_id>1</group_id></a>", ""},
		{"XML entity", "/customers/1", `<!DOCTYPE a [<!ENTITY x "Ada">]><a><group_id>&x;</group_id></a>`, ""},
		{"XML unknown field", "/customers/1", "<a><nick>Ada</nick></a>", ""},
		{"form", "/customers/1", "email=ada%40example.com&street%5B0%5D=x&group_id=1", ""},
		{"form of a customer", "/customers/1", "em%61il=ada%40example.com&group_id=%31&dob", "em%61il=xxx%40xxxxxxx.xxx&group_id=%31&dob"},
		{"form list", "/customers", "1%5Bfirstname%5D=Ada+B&1%5Bentity_id%5D=7", "1%5Bfirstname%5D=Xxx+X&1%5Bentity_id%5D=7"},
		{"form of lines", "/customers/addresses/2", "city=London&street%5B0%5D=12+St&street%5B%5D=2&is_default_billing=0", "city=Xxxxxx&street%5B0%5D=NN+Xx&street%5B%5D=N&is_default_billing=0"},
		{"form, names in a private field", "/customers/1", "taxvat%5BAda%5D%5B0%5D=1&group_id=1", "taxvat%5BXxx%5D%5B0%5D=N&group_id=1"},
		{"form, a name behind a NUL", "/customers/1", "firstname%00Byron=Ada&group_id%00Ada=1", "firstname=Xxx&group_id=1"},
		{"form with an open bracket", "/customers/1", "firstname%5B=Ada", ""},
		{"empty", "/customers/1", " \n", " \n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := masker("key")
			f, err := BodyFormat("", []byte(c.body))
			if err != nil {
				t.Fatal(err)
			}
			got, err := m.Body(route(t, c.path), f, []byte(c.body))
			if c.want == "" {
				if err == nil {
					t.Errorf("kept %s", got)
				}
				return
			}
			if err != nil || !fits(string(got), c.want) {
				t.Errorf("%s\n%s\nwant %s (%v)", c.body, got, c.want, err)
			}
		})
	}
}

// fits reports whether got is want, with letters for x and X and digits for N.
func fits(got, want string) bool {
	pattern := regexp.QuoteMeta(want)
	pattern = regexp.MustCompile(`[xX]{2,}|\bX\b|\bx\b|N+`).ReplaceAllStringFunc(pattern, func(s string) string {
		return strings.NewReplacer("N", "[0-9]", "x", "[a-z]", "X", "[A-Z]").Replace(s)
	})
	return regexp.MustCompile(`^(?:` + pattern + `)$`).MatchString(got)
}

func TestQueries(t *testing.T) {
	for _, c := range []struct{ name, path, query, want string }{
		{"modifiers", "/customers", "page=2&limit=10&order=email&dir=DESC&attrs=email,%20group_id", "page=2&limit=10&order=email&dir=DESC&attrs=email,%20group_id"},
		{"filter", "/customers", "filter[1][attribute]=email&filter[1][eq]=ada@example.com", "filter[1][attribute]=email&filter[1][eq]=xxx%40xxxxxxx.xxx"},
		{"escaped", "/customers", "fil%74er%5B1%5D%5Battribute%5D=%65mail&filter%5B1%5D%5Blike%5D=ada%25", "fil%74er%5B1%5D%5Battribute%5D=%65mail&filter%5B1%5D%5Blike%5D=xxx%25"},
		{"nested", "/customers", "filter[1][attribute]=firstname&filter[1][0][eq]=Ada&filter[1][in][]=Eve", "filter[1][attribute]=firstname&filter[1][0][eq]=Xxx&filter[1][in][]=Xxx"},
		{"before its field", "/customers", "filter[1][eq]=Ada&filter[1][attribute]=firstname", "filter[1][eq]=Xxx&filter[1][attribute]=firstname"},
		{"public field", "/customers", "filter[1][attribute]=group_id&filter[1][gt]=%31", "filter[1][attribute]=group_id&filter[1][gt]=%31"},
		{"two fields", "/customers", "filter[1][attribute]=group_id&filter[1][eq]=Ada&filter[1][attribute]=firstname", "filter[1][attribute]=group_id&filter[1][eq]=Xxx&filter[1][attribute]=firstname"},
		{"no field", "/customers", "filter[1][eq]=Ada&filter=Eve", "filter[1][eq]=Xxx&filter=Xxx"},
		{"unknown field", "/customers", "filter[1][attribute]=nick&filter[1][eq]=Ada", "filter[1][attribute]=xxxx&filter[1][eq]=Xxx"},
		{"products", "/products", "filter[1][attribute]=name&filter[1][eq]=Mug&store=french&category_id=4", "filter[1][attribute]=name&filter[1][eq]=Mug&store=french&category_id=4"},
		{"unknown parameter", "/customers", "email=ada@example.com&Ada&page=Ada", "xxxxx=xxx%40xxxxxxx.xxx&Xxx&page=Xxx"},
		{"parameter behind a NUL", "/customers", "page%00Ada=1&limit=2", "xxxx%00Xxx=N&limit=2"},
		{"unclosed", "/customers", "filter[1][attribute]=group_id&filter[1=Ada", "filter[1][attribute]=group_id&xxxxxx%5BN=Xxx"},
		{"OAuth", "/customers", "page=1&oauth_token=abc&x%6Fauth_a=1", "page=1&xxxxxxx_x=N"},
		{"bytes", "/products", "filter[1][attribute]=name&filter[1][eq]=\xc3\xa9 b", "filter[1][attribute]=name&filter[1][eq]=%C3%A9%20b"},
		{"empty", "/products", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "OAuth" {
				c.want = "page=1"
			}
			if got := masker("key").Query(route(t, c.path), c.query); !fits(got, c.want) && !(c.want == "" && got == "") {
				t.Errorf("%s\n%s\nwant %s", c.query, got, c.want)
			}
		})
	}
	m := masker("key")
	body, err := m.Body(route(t, "/customers/1"), contract.JSON, []byte(`{"lastname":"Byron"}`))
	if err != nil {
		t.Fatal(err)
	}
	_, value, _ := strings.Cut(m.Query(route(t, "/customers"), "filter[1][attribute]=lastname&filter[1][eq]=Byron"), "[eq]=")
	if !bytes.Contains(body, []byte(`"`+value+`"`)) {
		t.Errorf("a filter asks for %s, and the record is %s", value, body)
	}
}

func TestPaths(t *testing.T) {
	m := masker("key")
	for _, c := range []struct {
		name, route, path, want string
	}{
		{"ids", "/customers/1", "/api/rest/customers/1", "/api/rest/customers/1"},
		{"name in the place of an id", "/customers/x", "/api/rest/customers/Ada", "/api/rest/customers/Xxx"},
		{"SKU", "/products/x", "/api/rest/products/mug%2Fred", "/api/rest/products/mug%2Fred"},
		{"kind of address", "/orders/1/addresses/Billing", "/api/rest/orders/1/addresses/Billing", "/api/rest/orders/1/addresses/Billing"},
		{"no route", "", "/api/rest/nobody/products", "/api/rest/xxxxxx/products"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var r *contract.Route
			if c.route != "" {
				r = route(t, c.route)
			}
			if got := m.Path(r, c.path); !fits(got, c.want) {
				t.Errorf("%s became %s", c.path, got)
			}
		})
	}
}

// TestHeaders: in the wanted text, X, x and N stand for masked characters of that kind.
func TestHeaders(t *testing.T) {
	const accept, agent = "Accept", "User-Agent"
	for _, tt := range []struct{ name, header, value, want string }{
		{"media types", accept, "application/xml, */*;q=0.1", "application/xml, */*;q=0.1"},
		{"media types of a browser", accept, "text/html,application/xhtml+xml,image/avif,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7", "text/html,application/xhtml+xml,image/avif,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7"},
		{"media types in capitals", accept, "TEXT/HTML", "TEXT/HTML"},
		{"charset", accept, "text/plain;charset=UTF-8", "text/plain;charset=UTF-8"},
		{"unknown media type", accept, "application/json, application/vnd.ada-byron+json", "application/json, xxxxxxxxxxx/xxx.xxx-xxxxx+xxxx"},
		{"e-mail address in a parameter", accept, `text/xml;for="ada@example.com"`, `text/xml;xxx="xxx@xxxxxxx.xxx"`},
		{"parameter that is a key", accept, "application/json;key=0123456789abcdef", "application/json;xxx=NNNNNNNNNNxxxxxx"},
		{"telephone as a quality", accept, "text/xml;q=5550100", "text/xml;q=NNNNNNN"},
		{"other spelling", accept, "<ada>", "<xxx>"},
		{"not UTF-8", accept, "ada\xff", "xxxx"},
		{"empty", accept, "", ""},
		{"languages", "Accept-Language", "de-AT, en;q=0.7, *;q=0.5", "de-AT, en;q=0.7, *;q=0.5"},
		{"name as a language", "Accept-Language", "ada, ada@example.com", "xxx, xxx@xxxxxxx.xxx"},
		{"content type", "Content-Type", "application/json; charset=utf-8", "application/json; charset=utf-8"},
		{"boundary", "Content-Type", "multipart/form-data; boundary=Ada", "multipart/form-data; boundary=Xxx"},
		{"entity tags", "If-None-Match", `W/"0ab", "Ada", *`, `W/"Nxx", "Xxx", *`},
		{"version", "Version", "1", "1"},
		{"name as a version", "Version", "Ada 1815", "Xxx NNNN"},
		{"method", "X-Http-Method-Override", "PUT", "PUT"},
		{"unknown method", "X-Http-Method-Override", "ADA", "OTHER"},
		{"program", agent, "curl/8.1 (ada@example.com)", "curl"},
		{"program of the shop", agent, "AdaByron1815/1.0", "XxxXxxxxNNNN"},
		{"program in another spelling", agent, "ada@example.com", "other"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := masker("key").Headers(http.Header{tt.header: {tt.value}})
			if len(got) != 1 || !fits(got[tt.header], tt.want) {
				t.Errorf("%q became %q, want %s", tt.value, got, tt.want)
			}
		})
	}
	dropped := http.Header{
		"Authorization": {"OAuth x"}, "Cookie": {"a"}, "X-Forwarded-For": {"192.0.2.1"}, "Forwarded": {"for=192.0.2.1"}, "X-Anything": {"a"},
		"Accept": {strings.Repeat("a", 257)},
	}
	if got := masker("key").Headers(dropped); len(got) > 0 {
		t.Errorf("got %v", got)
	}
}

// TestReplyHeaders: in the wanted text, X, x and N stand for masked characters of that kind.
func TestReplyHeaders(t *testing.T) {
	m := masker("key")
	for _, tt := range []struct {
		name        string
		mask        func(string) string
		value, want string
	}{
		{"content type", m.MediaTypes, "text/html; charset=UTF-8", "text/html; charset=UTF-8"},
		{"unknown content type", m.MediaTypes, "text/ada", "xxxx/xxx"},
		{"challenge", m.Challenge, `Basic realm="Ada's shop", charset="UTF-8"`, `Basic realm="Xxx'x xxxx", charset="UTF-8"`},
		{"methods", Methods, "GET,POST, ADA", "GET, POST, OTHER"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.mask(tt.value); !fits(got, tt.want) {
				t.Errorf("%q became %q, want %s", tt.value, got, tt.want)
			}
		})
	}
}

func TestAgent(t *testing.T) {
	for agent, want := range map[string]string{"": "", "PHP SoapClient/1": "PHP", "ada@example.com": "other", "/": "other"} {
		header := http.Header{}
		if agent != "" {
			header.Set("User-Agent", agent)
		}
		if got := Agent(header); got != want {
			t.Errorf("%q is %q, want %q", agent, got, want)
		}
	}
}

func TestPlain(t *testing.T) {
	m := masker("key")
	for body, want := range map[string]bool{"Service temporary unavailable": true, "": true, "Fatal error for Ada": false, strings.Repeat("a", 400): false} {
		if _, err := m.Plain([]byte(body)); (err == nil) != want {
			t.Errorf("%q: %v", body, err)
		}
	}
}

// FuzzBody masks any body: the result has the structure of the body, differs in
// every value below the name of a private field, and in none below a public one.
func FuzzBody(f *testing.F) {
	for _, seed := range []string{
		`{"email":"ada"}`, `{"firstname":["ada",{"a":"ada"}],"group_id":1}`, `[{"street":{"ada":"ada"}}]`, `{"messages":{"error":[{"message":"ada"}]}}`,
		"<a><email>ada</email></a>", "<a><email><![CDATA[ada]]></email></a>", "<a>ada<email/></a>", "<a><data_item><street><x>ada</x></street></data_item></a>",
		"<a><email>a</email><email>b</email></a>", "email=ada", "1[email]=ada", "street[ada]=ada", "a&ada", "email[]=1&email[]=2",
		`{"addresses":[{"city":"ada"}],"order_comments":{"0":{"comment":"ada"}}}`,
	} {
		for form := range uint8(3) {
			f.Add(form, uint8(0), seed)
			f.Add(form, uint8(1), seed)
		}
	}
	m := masker("key")
	paths := []string{"/customers/1", "/orders/1", "/customers/addresses/1", "/orders/1/comments", "/orders/1/addresses"}
	f.Fuzz(func(t *testing.T, form, path uint8, body string) {
		r, format := route(t, paths[int(path)%len(paths)]), contract.Formats()[form%3]
		got, err := m.Body(r, format, []byte(body))
		if err != nil || strings.TrimSpace(body) == "" {
			return
		}
		before, err := codec.Decode(format, []byte(body))
		if err != nil {
			t.Fatal("kept although it cannot be read")
		}
		after, err := codec.Decode(format, got)
		if err != nil {
			t.Fatalf("%q became %q, which cannot be read", body, got)
		}
		checkMask(t, r, &before, &after, "")
	})
}

// checkMask compares the tree of a body with the tree of its masked copy, below a field.
func checkMask(t *testing.T, r *contract.Route, before, after *codec.Node, field string) {
	if field != "" && len(before.Members) > 0 && len(before.Members) != len(after.Members) {
		return // two names have the same mask
	}
	if before.Kind != after.Kind || len(before.Members) != len(after.Members) {
		t.Fatalf("%s: %v became %v", field, before, after)
	}
	for i := range before.Members {
		key := before.Members[i].Key
		switch kept := after.Members[i].Key == key; {
		case !kept && field == "":
			t.Fatalf("%q became %q", key, after.Members[i].Key)
		case kept && field != "" && !isEntry(key) && strings.ContainsAny(key, "abcdefghijklmnopqrstuvwxyz"):
			t.Fatalf("%q is kept in %s", key, field)
		}
		below := field
		if field == "" && isPrivateName(key) {
			below = key
		}
		checkMask(t, r, &before.Members[i].Value, &after.Members[i].Value, below)
	}
	same := before.Text == after.Text
	if telling := strings.ContainsAny(before.Text, "abcdefghijklmnopqrstuvwxyz0123456789"); field != "" && field != "gender" && telling && same {
		t.Errorf("%s: %q is kept", field, before.Text)
	}
}

// isPrivateName reports whether any table has a private field of a name.
func isPrivateName(name string) bool {
	for _, r := range table().Routes() {
		if field, known := r.Field(name); known && field.Private() {
			return true
		}
	}
	return false
}

// FuzzQuery plants a value in operands of filters on private fields and in unknown
// parameters, and searches the masked query for it.
func FuzzQuery(f *testing.F) {
	const planted = "Zyxwvut9876"
	for _, seed := range []string{"", "page=1", "filter[1][attribute]=group_id", "filter[2][attribute]=entity_id", "&&=&", "filter[1][eq]=%31", "attrs=email", "filter[1"} {
		for place := range uint8(6) {
			f.Add(place, seed)
		}
	}
	m := masker("key")
	r := route(f, "/customers")
	places := []string{"filter[1][attribute]=email&filter[1][eq]=%s", "filter%%5B1%%5D[eq]=%s&filter[1][attribute]=firstname", "filter[][attribute]=email&filter[][like]=%s", "%s", "a=%s",
		"filter[1][attribute]=taxvat&filter[1][0][1][eq]=%s"}
	f.Fuzz(func(t *testing.T, place uint8, query string) {
		query += "&" + fmt.Sprintf(places[int(place)%len(places)], planted)
		got := m.Query(r, query)
		if strings.Contains(contract.FormDecode(got), planted) {
			t.Errorf("%s\nis kept as\n%s", query, got)
		}
		if strings.IndexFunc(got, func(r rune) bool { return r <= ' ' || r > '~' }) >= 0 {
			t.Errorf("%q cannot stand in a request line", got)
		}
	})
}
