package contracttests

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	jsonType = "application/json; charset=utf-8"
	xmlType  = "application/xml; charset=utf-8"
	textType = "text/plain; charset=utf-8"
)

// recordings are the responses that the tests below vary.
var recordings = map[string]Response{
	"list": {Status: 200, ContentType: ptr(jsonType), Body: `[{"id":"1","qty":5,"price":1.0,"label":"Caf\u00e9 \/ \ud83d\ude00",` +
		`"on":true,"none":null,"tags":["a","b"],"more":[],"at":"{{datetime}}","url":"{{base_url}}\/m\/a.jpg","key":"{{any}}"},{"id":"2","qty":7}]`},
	"keyed":    {Status: 200, ContentType: ptr(jsonType), Body: `{"3":{"sku":"a"},"10":{"sku":"b"}}`},
	"xml":      {Status: 200, ContentType: ptr(xmlType), Body: "<?xml version=\"1.0\"?>\n<magento_api>\n  <data_item>\n    <id>1</id>\n    <name>Wei&#xDF; &amp; &lt;b&gt;</name>\n    <none/>\n    <bad></bad>\n    <street>\n      <data_item>x</data_item>\n      <data_item>y</data_item>\n    </street>\n    <url>{{base_url}}/a.jpg</url>\n  </data_item>\n  <data_item>\n    <id>2</id>\n  </data_item>\n</magento_api>\n"},
	"numbered": {Status: 200, ContentType: ptr(xmlType), Body: "<?xml version=\"1.0\"?>\n<service_api>\n  <data_item_1>\n    <id>7</id>\n  </data_item_1>\n  <data_item_2>\n    <id>8</id>\n  </data_item_2>\n</service_api>\n"},
	"text":     {Status: 200, ContentType: ptr(textType), Body: "1%5Bemail%5D=ada%40example.com&1%5Bname%5D=A+B&2%5Bemail%5D=ben%40example.com"},
	"batch":    {Status: 207, ContentType: ptr(jsonType), Body: `{"success":[{"item_id":"1","message":"Resource updated successful.","code":200}],"error":[{"item_id":"9","message":"Resource not found.","code":404}]}`},
	"created":  {Status: 200, ContentType: ptr("text/html; charset=UTF-8"), Location: ptr("/api/rest/customers/5")},
	"refused":  {Status: 405, ContentType: ptr(jsonType), Body: `{"messages":{"error":[{"code":405,"message":"Resource method not implemented yet."}]}}`},
	"html":     {Status: 500, ContentType: ptr("text/html; charset=UTF-8"), Body: "Service temporary unavailable"},
	"crash":    {Status: 500, Body: "{{any}}"},
	"token":    {Status: 200, ContentType: ptr("application/x-www-form-urlencoded"), Body: "oauth_token={{any}}&oauth_token_secret={{any}}&oauth_callback_confirmed=true"},
}

// TestCompareFindsDifferences checks that a changed reply differs in the expected places,
// and that permitted variations do not differ.
func TestCompareFindsDifferences(t *testing.T) {
	contentLength := regexp.MustCompile(`Content-Length: \d+`)
	for _, tt := range []struct {
		name, recording, old, new string
		want                      []string // places of the differences; nil if the reply is as recorded
	}{
		// Head of the reply.
		{"Status", "list", "HTTP/1.1 200", "HTTP/1.1 201", []string{"status"}},
		{"ContentType", "list", "application/json", "text/json", []string{"Content-Type"}},
		{"Charset", "list", "charset=utf-8", "charset=latin1", []string{"Content-Type"}},
		{"ContentTypeMissing", "list", "Content-Type: " + jsonType + "\r\n", "", []string{"Content-Type"}},
		{"ContentTypeTwice", "list", "Content-Type", "Content-Type: text/html\r\nContent-Type", []string{"Content-Type"}},
		{"ContentTypeOfNoBody", "created", "text/html", "text/plain", nil},
		{"ContentTypeFolded", "list", jsonType, "Application/JSON;charset=UTF-8", nil},
		{"ContentTypeNotRecorded", "crash", "Content-Length", "Content-Type: text/html\r\nContent-Length", nil},
		{"Location", "created", "customers/5", "customers/6", []string{"Location"}},
		{"LocationWithHost", "created", "/api/rest", "http://store.example/api/rest", []string{"Location"}},
		{"LocationMissing", "created", "Location", "X-Location", []string{"Location"}},
		{"LocationExtra", "list", "Content-Length", "Location: /x\r\nContent-Length", []string{"Location"}},
		{"WWWAuthenticateExtra", "refused", "Content-Length", "WWW-Authenticate: OAuth\r\nContent-Length", []string{"WWW-Authenticate"}},
		{"AllowExtra", "refused", "Content-Length", "Allow: GET\r\nContent-Length", []string{"Allow"}},
		{"OtherHeaderExtra", "list", "Content-Length", "Cache-Control: no-store\r\nContent-Length", nil},

		// JSON.
		{"FieldMissing", "list", `"qty":5,`, ``, []string{"$[0]"}},
		{"FieldExtra", "list", `"qty":5`, `"qty":5,"extra":1`, []string{"$[0]"}},
		{"FieldRenamed", "list", `"qty":5`, `"Qty":5`, []string{"$[0]"}},
		{"FieldTwice", "list", `"qty":5`, `"qty":5,"qty":5`, []string{"$[0]"}},
		{"Value", "list", `"id":"1"`, `"id":"3"`, []string{"$[0].id"}},
		{"TextForNumber", "list", `"qty":5`, `"qty":"5"`, []string{"$[0].qty"}},
		{"NumberForText", "list", `"id":"1"`, `"id":1`, []string{"$[0].id"}},
		{"OtherNumberText", "list", `"price":1.0`, `"price":1`, []string{"$[0].price"}},
		{"NumberWithExponent", "list", `"qty":5`, `"qty":5e0`, []string{"$[0].qty"}},
		{"OneForTrue", "list", `"on":true`, `"on":1`, []string{"$[0].on"}},
		{"FalseForTrue", "list", `"on":true`, `"on":false`, []string{"$[0].on"}},
		{"EmptyForNull", "list", `"none":null`, `"none":""`, []string{"$[0].none"}},
		{"RecordForList", "list", `"more":[]`, `"more":{}`, []string{"$[0].more"}},
		{"ListReordered", "list", `["a","b"]`, `["b","a"]`, []string{"$[0].tags[0]", "$[0].tags[1]"}},
		{"EntryMissing", "list", `["a","b"]`, `["a"]`, []string{"$[0].tags"}},
		{"EntryExtra", "list", `,{"id":"2","qty":7}`, `,{"id":"2","qty":7},{"id":"2","qty":7}`, []string{"$"}},
		{"DatetimeForm", "list", "2012-01-02 03", "2012-1-2 03", []string{"$[0].at"}},
		{"DatetimeTail", "list", "03:04:05", "03:04:05Z", []string{"$[0].at"}},
		{"DatetimeNull", "list", `"2012-01-02 03:04:05"`, "null", []string{"$[0].at"}},
		{"DatetimeWithZone", "list", "2012-01-02 03:04:05", "2020-10-12T23:14:15+00:00", nil},
		{"BaseURLMissing", "list", `http:\/\/store.example`, "", []string{"$[0].url"}},
		{"BaseURLWithPath", "list", `store.example`, `store.example\/shop`, []string{"$[0].url"}},
		{"BaseURLOther", "list", `http:\/\/store.example`, `https:\/\/other:8443`, nil},
		{"AnyNull", "list", `"key":"x"`, `"key":null`, nil},
		{"Blank", "list", `"qty":5`, `"qty": 5`, []string{"rendering of the body"}},
		{"FinalLineFeed", "list", `"qty":7}]`, "\"qty\":7}]\n", []string{"rendering of the body"}},
		{"SlashNotEscaped", "list", `\/ `, `/ `, []string{"rendering of the body"}},
		{"SlashOfURLNotEscaped", "list", `\/a.jpg`, `/a.jpg`, []string{"rendering of the body"}},
		{"RawNonASCII", "list", `\u00e9`, `é`, []string{"rendering of the body"}},
		{"UpperCaseHex", "list", `\u00e9`, `\u00E9`, []string{"rendering of the body"}},
		{"RawAstral", "list", `\ud83d\ude00`, `😀`, []string{"rendering of the body"}},
		{"ASCIIEscaped", "list", `"id"`, `"\u0069d"`, []string{"rendering of the body"}},
		{"NotJSON", "list", `[{"id"`, `{{"id"`, []string{"body", "body"}},
		{"TrailingText", "list", `"qty":7}]`, `"qty":7}]x`, []string{"body", "body"}},
		{"BodyMissing", "refused", recordings["refused"].Body, "", []string{"body", "body"}},
		{"FieldsReordered", "list", `"id":"1","qty":5`, `"qty":5,"id":"1"`, nil},
		{"LastFieldsReordered", "list", `{"id":"2","qty":7}`, `{"qty":7,"id":"2"}`, nil},
		{"KeyedReordered", "keyed", `"3":{"sku":"a"},"10":{"sku":"b"}`, `"10":{"sku":"b"},"3":{"sku":"a"}`, []string{"$"}},
		{"KeyedAsList", "keyed", recordings["keyed"].Body, `[{"sku":"a"},{"sku":"b"}]`, []string{"$"}},
		{"Key", "keyed", `"10"`, `"11"`, []string{"$"}},
		{"BatchListsReordered", "batch", recordings["batch"].Body, `{"error":[{"item_id":"9","message":"Resource not found.","code":404}],"success":[{"item_id":"1","message":"Resource updated successful.","code":200}]}`, []string{"$"}},
		{"BatchFieldsReordered", "batch", `"item_id":"9","message":"Resource not found."`, `"message":"Resource not found.","item_id":"9"`, nil},
		{"Message", "refused", "yet.", "yet", []string{"$.messages.error[0].message"}},

		// XML.
		{"XMLRoot", "numbered", recordings["numbered"].Body, strings.ReplaceAll(recordings["numbered"].Body, "service_api", "magento_api"), []string{"$"}},
		{"XMLIndentation", "xml", "\n    <id>1", "\n   <id>1", []string{"rendering of the body"}},
		{"XMLTabs", "xml", "\n    <id>1", "\n\t<id>1", []string{"rendering of the body"}},
		{"XMLNoFinalLineFeed", "xml", "</magento_api>\n", "</magento_api>", []string{"rendering of the body"}},
		{"XMLNoDeclaration", "xml", "<?xml version=\"1.0\"?>\n", "", []string{"rendering of the body"}},
		{"XMLEncodingDeclared", "xml", `"1.0"?>`, `"1.0" encoding="UTF-8"?>`, []string{"rendering of the body"}},
		{"XMLRawNonASCII", "xml", "&#xDF;", "ß", []string{"rendering of the body"}},
		{"XMLDecimalEntity", "xml", "&#xDF;", "&#223;", []string{"rendering of the body"}},
		{"XMLRawGreater", "xml", "&gt;", ">", []string{"rendering of the body"}},
		{"XMLQuotEntity", "xml", "<id>1</id>", "<id>1&quot;</id>", []string{"$.magento_api[0].id", "rendering of the body"}},
		{"XMLCarriageReturn", "xml", "?>\n", "?>\r\n", []string{"rendering of the body"}},
		{"XMLEmptyWithEndTag", "xml", "<none/>", "<none></none>", []string{"$.magento_api[0].none"}},
		{"XMLEmptyClosingItself", "xml", "<bad></bad>", "<bad/>", []string{"$.magento_api[0].bad"}},
		{"XMLEmptyWithBlank", "xml", "<none/>", "<none />", []string{"rendering of the body"}},
		{"XMLAttribute", "xml", "<id>1", "<id a=\"b\">1", []string{"body", "body"}},
		{"XMLComment", "xml", "<id>1", "<!-- --><id>1", []string{"body", "body"}},
		{"XMLTextBesideElements", "xml", "<id>1", "x<id>1", []string{"body", "body"}},
		{"XMLAnyBesideElements", "xml", "\n    <none/>", "{{any}}<none/>", []string{"rendering of the body"}},
		{"XMLTrailingText", "xml", "</magento_api>\n", "</magento_api>\nx", []string{"body", "body"}},
		{"XMLSecondRoot", "xml", "</magento_api>\n", "</magento_api>\n<a/>\n", []string{"body", "body"}},
		{"XMLValue", "xml", "Wei", "Vei", []string{"$.magento_api[0].name"}},
		{"XMLFieldRenamed", "xml", "<none/>", "<nope/>", []string{"$.magento_api[0]"}},
		{"XMLEntriesReordered", "xml", "<data_item>x</data_item>\n      <data_item>y<", "<data_item>y</data_item>\n      <data_item>x<", []string{"$.magento_api[0].street[0]", "$.magento_api[0].street[1]"}},
		{"XMLEntryRenamed", "xml", "<data_item>x</data_item>", "<data_item_1>x</data_item_1>", []string{"$.magento_api[0].street[0]"}},
		{"XMLEntryMissing", "xml", "      <data_item>y</data_item>\n", "", []string{"$.magento_api[0].street"}},
		{"XMLFieldsReordered", "xml", "    <none/>\n    <bad></bad>\n", "    <bad></bad>\n    <none/>\n", nil},
		{"NumberedReordered", "numbered", "<id>7</id>\n  </data_item_1>\n  <data_item_2>\n    <id>8</id>\n  </data_item_2>", "<id>8</id>\n  </data_item_1>\n  <data_item_2>\n    <id>7</id>\n  </data_item_2>", []string{"$.service_api[0].id", "$.service_api[1].id"}},
		{"NumberedPlain", "numbered", recordings["numbered"].Body, strings.ReplaceAll(recordings["numbered"].Body, "data_item_1", "data_item"), []string{"$.service_api[0]"}},

		// Form-encoded and other text.
		{"TextValue", "text", "ada", "bob", []string{"$.1.email"}},
		{"TextBlankAsPercent", "text", "A+B", "A%20B", []string{"rendering of the body"}},
		{"TextRawBracket", "text", "1%5Bname%5D", "1[name]", []string{"rendering of the body"}},
		{"TextLowerCaseHex", "text", "%5B", "%5b", []string{"rendering of the body"}},
		{"TextPairMissing", "text", "&1%5Bname%5D=A+B", "", []string{"$.1"}},
		{"TextPairTwice", "text", "&1%5Bname%5D=A+B", "&1%5Bname%5D=A+B&1%5Bname%5D=A+B", []string{"$.1"}},
		{"TextRecordsMixed", "text", "1%5Bname%5D=A+B&2%5Bemail%5D=ben%40example.com", "2%5Bemail%5D=ben%40example.com&1%5Bname%5D=A+B", []string{"$"}},
		{"TextNoForm", "text", "=A+B", "", []string{"body", "body"}},
		{"TextTrailingAmpersand", "text", "ben%40example.com", "ben%40example.com&", []string{"body", "body"}},
		{"TextPairsReordered", "text", "1%5Bemail%5D=ada%40example.com&1%5Bname%5D=A+B", "1%5Bname%5D=A+B&1%5Bemail%5D=ada%40example.com", nil},
		{"TokenPairExtra", "token", "&oauth_callback", "&x=y&oauth_callback", []string{"$"}},
		{"TokenPairsReordered", "token", "oauth_token=x&oauth_token_secret=x", "oauth_token_secret=y&oauth_token=z", nil},
		{"BodyWhereNone", "created", "\r\n\r\n", "\r\n\r\n{}", []string{"body"}},
		{"HTMLText", "html", "temporary", "temporarily", []string{"body"}},
		{"HTMLTextTail", "html", "unavailable", "unavailable\n", []string{"body"}},
		{"CrashBody", "crash", "\r\n\r\nx", "\r\n\r\n<html>\n", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := recordings[tt.recording]
			recorded := renderRecording(t, want)
			changed := strings.Replace(recorded, tt.old, tt.new, 1)
			if changed == recorded {
				t.Fatalf("%q is not in the reply:\n%s", tt.old, recorded)
			}
			head, body, _ := strings.Cut(changed, "\r\n\r\n")
			head = contentLength.ReplaceAllString(head, "Content-Length: "+contentLengthOf(body))
			reply := head + "\r\n\r\n" + body
			if diff := cmp.Diff(tt.want, differingPlaces(compareReply(&want, rawExchange(t, "GET", reply), false))); diff != "" {
				t.Errorf("places (-want +got):\n%s\nreply:\n%s", diff, reply)
			}
		})
	}
}

// TestRecordingsMatchThemselves checks that no recording differs from its own reply.
func TestRecordingsMatchThemselves(t *testing.T) {
	for name, want := range recordings {
		if ds := compareReply(&want, rawExchange(t, "GET", renderRecording(t, want)), false); len(ds) > 0 {
			t.Errorf("%s:\n%s", name, formatDifferences(ds))
		}
	}
}

// TestRecordedHeadersAreRequired checks that a reply without a recorded header differs.
func TestRecordedHeadersAreRequired(t *testing.T) {
	want := Response{Status: 401, WWWAuthenticate: ptr("OAuth"), Allow: ptr("GET")}
	if ds := compareReply(&want, rawExchange(t, "GET", httpReply(401, "", "WWW-Authenticate: OAuth", "Allow: GET")), false); len(ds) > 0 {
		t.Errorf("as recorded:\n%s", formatDifferences(ds))
	}
	got := differingPlaces(compareReply(&want, rawExchange(t, "GET", httpReply(401, "", "WWW-Authenticate: Basic")), false))
	if diff := cmp.Diff([]string{"WWW-Authenticate", "Allow"}, got); diff != "" {
		t.Errorf("places (-want +got):\n%s", diff)
	}
}

// TestHeadHasNoBody checks that the reply to HEAD is read without a body in spite of its
// length.
func TestHeadHasNoBody(t *testing.T) {
	want := Response{Status: 400, ContentType: ptr(jsonType)}
	const head = "HTTP/1.1 400 X\r\nContent-Type: " + jsonType + "\r\nContent-Length: 9\r\n\r\n"
	if ds := compareReply(&want, rawExchange(t, "HEAD", head), false); len(ds) > 0 {
		t.Errorf("differences:\n%s", formatDifferences(ds))
	}
}

// rawExchange sends a request with the given method to a server that replies with the
// bytes of raw.
func rawExchange(t *testing.T, method, raw string) *reply {
	t.Helper()
	srv := mustServer(t, serve(t, func(string) string { return raw }))
	got, err := srv.roundTrip(t.Context(), &request{method: method, target: "/", host: srv.host})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// differingPlaces returns the places of the differences.
func differingPlaces(ds []Difference) []string {
	var places []string
	for _, d := range ds {
		places = append(places, d.Where)
	}
	return places
}

// TestMatches checks the texts that placeholders match.
func TestMatches(t *testing.T) {
	for _, tt := range []struct {
		name, want, got string
		ok              bool
	}{
		{"Equal", "a", "a", true},
		{"Other", "a", "b", false},
		{"AnyEmpty", "{{any}}", "", true},
		{"AnyLines", "a{{any}}b", "a\n\nb", true},
		{"AnyBetween", "a{{any}}b", "ab c", false},
		{"Datetime", "{{datetime}}", "2012-01-02 03:04:05", true},
		{"DatetimeInText", "at {{datetime}}.", "at 2012-01-02T03:04:05+01:00.", true},
		{"DatetimeAlone", "{{datetime}}", "x2012-01-02 03:04:05", false},
		{"DatetimeLineFeed", "{{datetime}}", "2012-01-02 03:04:05\n", false},
		{"BaseURL", "{{base_url}}/a", "https://h:1/a", true},
		{"BaseURLScheme", "{{base_url}}/a", "ftp://h/a", false},
		{"PatternIsText", "a.c{{any}}", "abc", false},
		{"UnknownPlaceholder", "{{name}}", "x", false},
		{"BadUTF8", "\xff{{any}}", "\xffx", false},
		{"BadUTF8Equal", "\xff{{any}}", "\xff{{any}}", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := matches(tt.want, tt.got); got != tt.ok {
				t.Errorf("matches(%q, %q) = %v, want %v", tt.want, tt.got, got, tt.ok)
			}
		})
	}
}

// TestDeepBodiesAreRefused checks that no parser accepts a body that is nested too
// deeply.
func TestDeepBodiesAreRefused(t *testing.T) {
	const deep = 100_000
	for contentType, body := range map[string]string{
		jsonType: strings.Repeat("[", deep),
		xmlType:  strings.Repeat("<a>", deep),
		textType: "a" + strings.Repeat("%5Bb%5D", deep) + "=c",
	} {
		f, _ := formatOfMediaType(contentType)
		if _, err := f.parse(body); err != errDepth {
			t.Errorf("%s: %v, want %v", f.name, err, errDepth)
		}
	}
}

// FuzzCompare checks that no bodies make the comparison panic, that a body and a tree do
// not differ from themselves, and that rendering a parsed body again does not change it.
func FuzzCompare(f *testing.F) {
	contentTypes := []string{jsonType, xmlType, textType, "text/html; charset=UTF-8"}
	for _, r := range recordings {
		if r.ContentType != nil {
			at := max(0, slices.Index(contentTypes, *r.ContentType))
			f.Add(uint8(at), r.Body, strings.ToLower(r.Body))
		}
	}
	f.Fuzz(func(t *testing.T, format uint8, want, got string) {
		contentType := contentTypes[int(format)%len(contentTypes)]
		recorded := Response{Status: 200, ContentType: &contentType, Body: want}
		ds := compareReply(&recorded, &reply{status: 200, header: http.Header{"Content-Type": {contentType}}, body: got}, false)
		if want == got && len(ds) > 0 {
			t.Errorf("a body differs from itself: %v", ds)
		}
		formatDifferences(ds)
		fm, ok := formatOfMediaType(contentType)
		if !ok {
			return
		}
		tree, err := fm.parse(got)
		if err != nil {
			return
		}
		if ds := diffNodes(nil, "$", &tree, &tree); len(ds) > 0 {
			t.Errorf("a tree differs from itself: %v", ds)
		}
		text := fm.canonical(&tree)
		again, err := fm.parse(text)
		if err != nil {
			t.Fatalf("the rendering of %q, %q, cannot be parsed: %v", got, text, err)
		}
		if ds := diffNodes(nil, "$", &tree, &again); len(ds) > 0 {
			t.Errorf("%q and its rendering %q differ: %v", got, text, ds)
		}
		if second := fm.canonical(&again); second != text {
			t.Errorf("rendered twice: %q, then %q", text, second)
		}
	})
}

// TestIsRecent checks which datetimes {{recent}} matches.
func TestIsRecent(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for _, test := range []struct {
		name, text string
		want       bool
	}{
		{"now", "2026-03-04 05:06:07", true},
		{"the other form", "2026-03-04T05:06:07+00:00", true},
		{"clocks differ", "2026-03-04 05:01:00", true},
		{"another time zone", "2026-03-04 06:06:07", false},
		{"yesterday", "2026-03-03 05:06:07", false},
		{"another offset", "2026-03-04T05:06:07+01:00", false},
		{"another time zone with its offset", "2026-03-04T06:06:07+01:00", true},
		{"no datetime", "now", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := isRecent(test.text, now); got != test.want {
				t.Errorf("%s is recent: %t", test.text, got)
			}
		})
	}
}
