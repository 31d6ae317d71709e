package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// bodyLimit is what the servers of these tests let a body have.
const bodyLimit = 1 << 20

// A hostile is one bad request and what it is answered.
type hostile struct {
	name    string
	request string // as it goes over the wire
	// cut ends the sending side behind the request, as a client that goes away.
	cut                 bool
	documented, magento answer // magento: zero is as documented
}

// An answer is what a reply has to be. The zero value is any refusal: a 400 in
// the envelope or, in the dialect magento alone, the crash of the original.
type answer struct {
	status int
	// messages are those of the envelope, joined by " | ". Bare replies have
	// their whole body here. "*" is any.
	messages string
	bare     bool // outside the envelope
}

func refused(status int, messages ...string) answer {
	return answer{status: status, messages: strings.Join(messages, " | ")}
}

func served(status int) answer { return answer{status: status, messages: "*", bare: true} }

// crashed is what the original answers where it dies (wire 14).
func crashed() answer { return answer{status: 500, bare: true} }

// byServer is what net/http answers before there is a request to serve.
func byServer(status int) answer { return answer{status: status, messages: "*", bare: true} }

// A raw is a request being put together; the zero value asks for JSON as the
// administrator.
type raw struct {
	method, target string
	headers        []string // more lines
	authorization  string   // "-": none
	accept         string   // "-": none
	contentType    string   // of a request with a body
	body           string
}

func (r raw) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s HTTP/1.1\r\nHost: portico.test\r\n", or(r.method, "GET"), r.target)
	if authorization := or(r.authorization, demoAdmin()); authorization != "-" {
		fmt.Fprintf(&text, "Authorization: %s\r\n", authorization)
	}
	if accept := or(r.accept, "application/json"); accept != "-" {
		fmt.Fprintf(&text, "Accept: %s\r\n", accept)
	}
	if r.contentType != "" {
		fmt.Fprintf(&text, "Content-Type: %s\r\n", r.contentType)
	}
	for _, line := range r.headers {
		text.WriteString(line + "\r\n")
	}
	if r.method == "PUT" || r.method == "POST" {
		fmt.Fprintf(&text, "Content-Length: %d\r\n", len(r.body))
	}
	return text.String() + "\r\n" + r.body
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

const (
	stockList = "/api/rest/stockitems"
	stockOne  = "/api/rest/stockitems/1"

	filteringError = "Resource collection filtering error."
	orderingError  = "Resource collection ordering error."
	pagingError    = "Resource collection paging error."
	limitError     = "The paging limit exceeds the allowed number."
	decodingError  = "Decoding error."
	requestInvalid = "The request data is invalid."
	preValidation  = "Resource data pre-validation error."
	notFound       = "Resource not found."
	noRoute        = "Request does not match any route."
	invalidMethod  = "Invalid request method"
)

// oauth returns a row whose Authorization is given.
func oauth(name, authorization string, want answer) hostile {
	return hostile{name: "oauth: " + name, request: raw{target: stockOne, authorization: authorization}.String(), documented: want}
}

func problem(text string) answer { return refused(401, "oauth_problem="+text) }

func hostileOAuth() []hostile {
	key, token := strings.Repeat("a", 32), strings.Repeat("c", 32)
	// with returns the parameters of a PLAINTEXT call with some of them replaced.
	with := func(pairs ...string) string {
		names := []string{"oauth_version", "oauth_consumer_key", "oauth_token", "oauth_signature_method", "oauth_signature", "oauth_nonce", "oauth_timestamp"}
		values := map[string]string{"oauth_version": "1.0", "oauth_consumer_key": key, "oauth_token": token, "oauth_signature_method": "PLAINTEXT",
			"oauth_signature": strings.Repeat("b", 32) + "%26" + strings.Repeat("d", 32), "oauth_nonce": "n", "oauth_timestamp": "1330000000"}
		for i := 0; i < len(pairs); i += 2 {
			values[pairs[i]] = pairs[i+1]
		}
		var parts []string
		for _, name := range names {
			parts = append(parts, name+`="`+values[name]+`"`)
		}
		return "OAuth " + strings.Join(parts, ", ")
	}
	hmac := func(pairs ...string) string {
		return with(append([]string{"oauth_signature_method", "HMAC-SHA1", "oauth_nonce", "bad input"}, pairs...)...)
	}
	absent := func(name string) answer { return problem("parameter_absent&oauth_parameters_absent=" + name) }
	rsa := oauth("RSA signature", hmac("oauth_signature_method", "RSA-SHA1", "oauth_nonce", "rsa"), problem("signature_method_rejected"))
	rsa.magento = crashed()
	inQuery := func(name, query string, want answer) hostile {
		return hostile{name: "oauth: " + name, request: raw{target: stockOne + "?" + query, authorization: "OAuth"}.String(), documented: want}
	}
	return []hostile{
		oauth("nothing behind the scheme", "OAuth", absent("oauth_consumer_key")),
		oauth("nothing but commas", "OAuth "+strings.Repeat(",", 100_000), absent("oauth_consumer_key")),
		oauth("twenty thousand parts", "OAuth "+strings.Repeat("oauth_x=1,", 20_000), absent("oauth_consumer_key")),
		oauth("open quote", `OAuth oauth_consumer_key="`, absent("oauth_consumer_key")),
		oauth("quotes alone", `OAuth oauth_consumer_key=""""`, absent("oauth_consumer_key")),
		oauth("bad escapes", "OAuth oauth_consumer_key=%,%%,%z,%4", absent("oauth_signature_method")),
		oauth("any sixth character", strings.Replace(with(), "OAuth ", "oauth\t", 1), served(200)),
		oauth("no quotes", strings.ReplaceAll(with(), `"`, ""), served(200)),
		oauth("parameters glued to the scheme", strings.Replace(with(), "OAuth ", "OAuthX", 1), served(200)),
		oauth("version 1.1", with("oauth_version", "1.1"), problem("version_rejected")),
		oauth("version in hexadecimal", with("oauth_version", "0x1"), problem("version_rejected")),
		oauth("version of 200 KB", with("oauth_version", strings.Repeat("1", 200_000)), problem("version_rejected")),
		oauth("empty version", with("oauth_version", ""), problem("version_rejected")),
		oauth("no key", with("oauth_consumer_key", ""), absent("oauth_consumer_key")),
		oauth("key zero", with("oauth_consumer_key", "0"), absent("oauth_consumer_key")),
		oauth("short key", with("oauth_consumer_key", key[1:]), problem("consumer_key_rejected")),
		oauth("unknown key", with("oauth_consumer_key", strings.Repeat("9", 32)), problem("consumer_key_rejected")),
		oauth("key of zero bytes", with("oauth_consumer_key", strings.Repeat("%00", 32)), problem("consumer_key_rejected")),
		oauth("key of no UTF-8", with("oauth_consumer_key", strings.Repeat("%FF", 32)), problem("consumer_key_rejected")),
		oauth("key with SQL", with("oauth_consumer_key", "'%20OR%201=1%20--%20aaaaaaaaaaaaaaaaaa"), problem("consumer_key_rejected")),
		oauth("method in small letters", with("oauth_signature_method", "plaintext"), problem("signature_method_rejected")),
		oauth("method unknown", with("oauth_signature_method", "HMAC-SHA256"), problem("signature_method_rejected")),
		rsa,
		oauth("no nonce", hmac("oauth_nonce", ""), absent("oauth_nonce")),
		oauth("no timestamp", hmac("oauth_timestamp", "0"), absent("oauth_timestamp")),
		oauth("negative timestamp", hmac("oauth_timestamp", "-1"), problem("timestamp_refused")),
		oauth("timestamp of text", hmac("oauth_timestamp", "now"), problem("timestamp_refused")),
		oauth("timestamp of a thousand digits", hmac("oauth_timestamp", strings.Repeat("9", 1000)), problem("timestamp_refused")),
		oauth("timestamp of tomorrow", hmac("oauth_timestamp", strconv.FormatInt(time.Now().Unix()+86400, 10)), problem("timestamp_refused")),
		oauth("nonce of zero bytes", hmac("oauth_nonce", strings.Repeat("%00", 40)), problem("signature_invalid")),
		oauth("nonce of no UTF-8", hmac("oauth_nonce", strings.Repeat("%FF", 20)), problem("signature_invalid")),
		oauth("nonce of 200 KB", hmac("oauth_nonce", strings.Repeat("n", 200_000)), problem("signature_invalid")),
		oauth("signature of 200 KB", hmac("oauth_signature", strings.Repeat("s", 200_000), "oauth_nonce", "long signature"), problem("signature_invalid")),
		oauth("plain signature of the beginning", with("oauth_signature", strings.Repeat("b", 32)+"%26"), problem("signature_invalid")),
		oauth("no token", with("oauth_token", ""), absent("oauth_token")),
		oauth("short token", with("oauth_token", "c"), problem("token_rejected")),
		oauth("unknown token", with("oauth_token", strings.Repeat("9", 32)), problem("token_rejected")),
		oauth("token of no UTF-8", with("oauth_token", strings.Repeat("%FF", 32)), problem("token_rejected")),
		oauth("Basic", "Basic YWRtaW46YWRtaW4=", refused(403, "Access denied")),
		oauth("Bearer", "Bearer "+token, refused(403, "Access denied")),
		oauth("four letters of the scheme", "OAut", refused(403, "Access denied")),
		oauth("no text at all", "\x01\x02", byServer(400)),
		inQuery("list in the query", "oauth_consumer_key[]=x&oauth_signature_method=PLAINTEXT&oauth_signature=x", problem("parameter_rejected&message=oauth_consumer_key")),
		inQuery("thousands in the query", strings.Repeat("oauth_a[]=x&", 10_000), absent("oauth_consumer_key")),
		{name: "oauth: character no URI has", request: raw{target: stockOne + "?a=^"}.String(), documented: problem("internal_error&message=Invalid URI supplied")},
		{name: "oauth: bad escape in the query", request: raw{target: stockOne + "?a=%zz"}.String(), documented: problem("internal_error&message=Invalid URI supplied")},
		{name: "oauth: before the route", request: raw{target: "/api/rest/nowhere", authorization: "OAuth x"}.String(), documented: absent("oauth_consumer_key")},
		{name: "oauth: broken form body", request: raw{method: "PUT", target: stockOne, authorization: "OAuth", contentType: "application/x-www-form-urlencoded", body: strings.Repeat("%&=", 1000)}.String(),
			documented: absent("oauth_consumer_key")},
		{name: "oauth: form body over the limit", request: raw{method: "PUT", target: stockOne, authorization: "OAuth", contentType: "application/x-www-form-urlencoded", body: strings.Repeat("a", bodyLimit+1)}.String()},
	}
}

// query returns a row that lists stock items as the administrator.
func query(name, text string, want answer) hostile {
	return hostile{name: "query: " + name, request: raw{target: stockList + "?" + text}.String(), documented: want}
}

// crash is query for what kills the original.
func crash(name, text string, want answer) hostile {
	h := query(name, text, want)
	h.magento = crashed()
	return h
}

// filters returns n filter entries that hold for every stock item.
func filters(n int) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, "filter[%d][attribute]=item_id&filter[%d][gt]=0&", i, i)
	}
	return all.String()
}

func hostileQueries() []hostile {
	filtering, ordering, paging, limit := refused(400, filteringError), refused(400, orderingError), refused(400, pagingError), refused(400, limitError)
	const qty = "filter[1][attribute]=qty&filter[1]"
	return []hostile{
		query("filter[][][]", "filter[][][]", filtering),
		query("filter[][][] with a value", "filter[][][]=x", filtering),
		query("filter is a text", "filter=x", filtering),
		query("entry is a text", "filter[]=x", filtering),
		query("attribute is a list", "filter[1][attribute][]=qty&filter[1][eq]=1", filtering),
		query("unknown attribute", "filter[1][attribute]=password_hash&filter[1][eq]=1", filtering),
		query("attribute with SQL", "filter[1][attribute]=qty)%20OR%201=1--&filter[1][eq]=1", filtering),
		query("attribute in capitals", "filter[1][attribute]=QTY&filter[1][eq]=1", filtering),
		crash("no operator", "filter[1][attribute]=qty", filtering),
		crash("is", qty+"[is]=NULL", filtering),
		crash("eq of several", qty+"[eq][]=1&"+qty+"[eq][]=2", filtering),
		crash("pattern that is none", qty+"[regexp]=(", filtering),
		crash("pattern too large for the matcher", qty+"[regexp]=((a%7B100%7D)%7B100%7D)%7B100%7D", filtering),
		crash("pattern of no UTF-8", qty+"[regexp]=%FF", filtering),
		query("pattern of 2 KB", qty+"[regexp]="+strings.Repeat("a*", 1000), filtering),
		query("500 filters", filters(500), served(200)),
		query("10,000 filters", filters(10_000)[:250_000], filtering),
		query("value list of 10,000", strings.Repeat(qty+"[in][]=1&", 6_000), filtering),
		query("alternatives nested 60 deep", qty+strings.Repeat("[a]", 60)+"[eq]=1", served(200)),
		query("10,000 brackets, closed", "filter"+strings.Repeat("[a]", 10_000)+"=1", served(200)),
		query("10,000 brackets, open", "filter"+strings.Repeat("[", 10_000)+"=1", served(200)),
		query("like of 500 wildcards", qty+"[like]="+strings.Repeat("%25", 500), served(200)),
		query("like of 20,000 wildcards", qty+"[like]="+strings.Repeat("%25", 20_000), filtering),
		query("value of zero bytes", "filter[1][attribute]=low_stock_date&filter[1][eq]=%00", served(200)),
		query("value of no UTF-8", "filter[1][attribute]=item_id&filter[1][eq]=%FF", served(200)),
		query("name of no UTF-8", "%FF[%FE]=1", served(200)),
		query("values beyond every column", "filter[1][attribute]=item_id&filter[1][gt]=1e400", served(200)),
		query("256 KB of one parameter", "x="+strings.Repeat("a", 256<<10), refused(400, requestInvalid)),
		query("256 KB of parameters", strings.Repeat("a=b&", 64<<10)+"c", refused(400, requestInvalid)),
		query("nearly 256 KB", strings.Repeat("a&", 127<<10), served(200)),
		query("270 KB", "x="+strings.Repeat("a", 270_000), refused(400, requestInvalid)),
		query("nothing but ampersands", strings.Repeat("&", 10_000), served(200)),
		crash("semicolons", "page=1;limit=-1;", paging),
		crash("page of text", "page=abc", paging),
		crash("page is empty", "page=", paging),
		crash("page is a list", "page[]=1", paging),
		crash("page in hexadecimal", "page=0x10", paging),
		crash("page is not a number", "page=NaN", paging),
		crash("page infinite", "page=INF", paging),
		query("page negative", "page=-0.5", paging),
		query("page beyond all", "page=1e300", served(200)),
		query("page of 1,000 digits", "page="+strings.Repeat("9", 1000), served(200)),
		crash("limit of text", "limit=3abc", limit),
		crash("limit is a list", "limit[]=1", limit),
		query("limit negative", "limit=-1e-9", limit),
		query("limit too large", "limit=100.5", limit),
		query("limit enormous", "limit=1e308", limit),
		query("order unknown", "order=nope", ordering),
		query("order is a list", "order[]=qty", ordering),
		query("order is empty", "order=", ordering),
		query("order with SQL", "order=qty;DROP%20TABLE%20stock_item", ordering),
		crash("dir is a list", "order=qty&dir[]=asc", ordering),
		crash("attrs selects nothing", "attrs=", served(200)),
		crash("attrs of 10,000 commas", "attrs="+strings.Repeat(",", 10_000), served(200)),
		query("page before limit", "limit=-1&page=-1", paging),
		query("limit before order", "order=nope&limit=-1", limit),
		query("order before filter", "filter=x&order=nope", ordering),
		{name: "query: bad escape of a guest", request: raw{target: stockList + "?a=%zz", authorization: "-"}.String(), documented: refused(403, "Access denied")},
		{name: "query: 270 KB of a guest", request: raw{target: stockList + "?" + strings.Repeat("a", 270_000), authorization: "-"}.String(), documented: refused(400, requestInvalid)},
	}
}

// path returns a row that gets a path as the administrator.
func path(name, text string, want answer) hostile {
	return hostile{name: "path: " + name, request: raw{target: text}.String(), documented: want}
}

func hostilePaths() []hostile {
	missing, unrouted := refused(404, notFound), refused(404, noRoute)
	outside := answer{status: 404, messages: "Not found\n", bare: true}
	rows := []hostile{
		path("encoded slash joins", stockList+"%2F1", unrouted),
		path("encoded slash in an id", stockList+"/1%2F2", served(200)),
		path("encoded slash alone", stockList+"/%2f", missing),
		path("doubled slash inside", stockList+"//1", unrouted),
		path("slashes around", "/api/rest///stockitems/1///", served(200)),
		path("dots", stockList+"/..", missing),
		path("encoded dots", stockList+"/%2e%2e", missing),
		path("climbing out", "/api/rest/../../etc/passwd", unrouted),
		path("climbing back in", "/x/../api/rest/stockitems/1", outside),
		path("5,000 segments", "/api/rest"+strings.Repeat("/a", 5_000), unrouted),
		path("5,000 slashes", "/api/rest"+strings.Repeat("/", 5_000), unrouted),
		path("nothing behind the prefix", "/api/rest", unrouted),
		path("a query behind the prefix", "/api/rest?x=1", unrouted),
		path("other letter case", "/api/rest/StockItems/1", unrouted),
		path("another API type", "/api/restx/stockitems", refused(400, `API type "restx" is not supported`)),
		path("API type with markup", "/api/rest%3Cb%3E/x", answer{}),
		path("prefix in capitals", "/API/REST/stockitems", outside),
		path("escaped prefix", "/api/%72est/stockitems", outside),
		path("doubled slash in front", "//api/rest/stockitems", outside),
		path("another API", "/api/soap", outside),
		path("root", "/", outside),
		path("bad escape", stockList+"/%zz", byServer(400)),
		path("half an escape", stockList+"/%4", byServer(400)),
		path("absolute form", "http://portico.test/api/rest/stockitems/1", served(200)),
		path("absolute form of another host", "http://other.test/api/rest/stockitems/1", served(200)),
		path("absolute form without a path", "http://portico.test", outside),
		path("fragment", stockOne+"#x", problem("internal_error&message=Invalid URI supplied")),
	}
	for _, id := range []string{"abc", "0", "-1", "99", "1e400", "-1e400", "NaN", "INF", "0x1", "%00", "%FF%FE", "%00" + "1", "99999999999999999999", strings.Repeat("9", 4096), "'", "1'--%20", "%C2%A01", "%F0%9F%98%80"} {
		want := missing
		if id == "1'--%20" {
			want = served(200) // the tail is no part of the number
		}
		rows = append(rows, path(fmt.Sprintf("id %.20s, %d bytes", id, len(id)), stockList+"/"+id, want))
	}
	fraction := path("id 1.9", stockList+"/1.9", missing)
	fraction.magento = served(200)
	rows = append(rows, fraction)
	for _, id := range []string{"01", "%201", "1%20", "1abc", "1.0", "1e0", "+1", "1" + strings.Repeat("x", 4096)} {
		rows = append(rows, path(fmt.Sprintf("id %.20s, %d bytes", id, len(id)), stockList+"/"+id, served(200)))
	}
	return rows
}

func hostileHeaders() []hostile {
	unavailable := answer{status: 500, messages: "Service temporary unavailable", bare: true}
	accept := func(name, value string, documented, magento answer) hostile {
		return hostile{name: "accept: " + name, request: raw{target: stockOne, accept: value}.String(), documented: documented, magento: magento}
	}
	same := answer{}
	method := func(name, method, target string, want answer) hostile {
		return hostile{name: "method: " + name, request: raw{method: method, target: target}.String(), documented: want}
	}
	version := func(name, value string, want answer) hostile {
		return hostile{name: "version: " + name, request: raw{target: stockOne, headers: []string{"Version: " + value}}.String(), documented: want}
	}
	deleted := method("DELETE", "DELETE", stockOne, refused(405, "Resource does not support method."))
	deleted.magento = refused(405, "Resource method not implemented yet.")
	return []hostile{
		accept("image/png", "image/png", unavailable, same),
		accept("half a type", "*", unavailable, same),
		accept("capitals", "APPLICATION/JSON", unavailable, same),
		accept("100 KB of commas", strings.Repeat(",", 100_000), unavailable, same),
		accept("20,000 types", strings.Repeat("a/b;q=0.1,", 20_000)+"application/json", served(200), same),
		accept("20,000 qualities", qualities(20_000)+"application/json", served(200), same),
		accept("missing", "-", served(200), unavailable),
		{name: "accept: twice", request: raw{target: stockOne, accept: "image/png", headers: []string{"Accept: application/json"}}.String(), documented: served(200)},

		method("PATCH", "PATCH", stockOne, refused(400, invalidMethod)),
		method("OPTIONS", "OPTIONS", stockOne, refused(400, invalidMethod)),
		method("TRACE", "TRACE", stockOne, refused(400, invalidMethod)),
		method("small letters", "get", stockOne, refused(400, invalidMethod)),
		method("100 KB of letters", strings.Repeat("M", 100_000), stockOne, refused(400, invalidMethod)),
		method("PATCH on no route", "PATCH", "/api/rest/nowhere", refused(404, noRoute)),
		method("CONNECT", "CONNECT", "portico.test:80", answer{status: 404, messages: "Not found\n", bare: true}),
		method("no method", "", stockOne, served(200)),
		deleted,
		method("POST of one", "POST", stockOne, refused(405, "Resource method not implemented yet.")),
		{name: "method: override", request: raw{method: "POST", target: stockOne + "?_method=PUT", headers: []string{"X-HTTP-Method-Override: PUT"}}.String(),
			documented: refused(405, "Resource method not implemented yet.")},

		version("zero", "0", refused(400, `Invalid version "0" requested.`)),
		version("empty", "", refused(400, `Invalid version "" requested.`)),
		version("markup", `<b a="x">&'`, refused(400, `Invalid version "&lt;b a=&quot;x&quot;&gt;&amp;&#039;" requested.`)),
		version("huge", strings.Repeat("9", 10_000), served(200)),

		{name: "server: headers of two megabytes", request: raw{target: stockOne, headers: []string{"X-Large: " + strings.Repeat("x", 2<<20)}}.String(), documented: byServer(431)},
		{name: "server: request line of two megabytes", request: raw{target: "/" + strings.Repeat("x", 2<<20)}.String(), documented: byServer(431)},
		{name: "server: no host", request: "GET " + stockOne + " HTTP/1.1\r\n\r\n", documented: byServer(400)},
		{name: "server: two hosts", request: raw{target: stockOne, headers: []string{"Host: other.test"}}.String(), documented: byServer(400)},
		{name: "server: zero byte in a header", request: raw{target: stockOne, headers: []string{"X-Zero: \x00"}}.String(), documented: byServer(400)},
		{name: "server: no HTTP", request: "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", documented: byServer(400)},
		{name: "server: another version", request: "GET " + stockOne + " HTTP/3.0\r\n\r\n", documented: byServer(505)},
		{name: "server: two lengths", request: raw{method: "PUT", target: stockOne, headers: []string{"Content-Length: 5"}, body: "{}"}.String(), documented: byServer(400)},
		{name: "server: negative length", request: raw{method: "DELETE", target: stockOne, headers: []string{"Content-Length: -1"}}.String(), documented: byServer(400)},
		{name: "server: unknown coding", request: raw{method: "DELETE", target: stockOne, headers: []string{"Transfer-Encoding: gzip"}}.String(), documented: byServer(501)},
	}
}

// qualities returns n types of which each has a quality of its own.
func qualities(n int) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, "a/b;q=0.%d,", i)
	}
	return all.String()
}

const (
	jsonType = "application/json"
	xmlType  = "application/xml"
)

// put returns a row that updates stock item 1 as the administrator.
func put(name, contentType, body string, want answer) hostile {
	return hostile{name: "body: " + name, request: raw{method: "PUT", target: stockOne, contentType: contentType, body: body}.String(), documented: want}
}

func hostileBodies() []hostile {
	undecoded, nothing := refused(400, decodingError), refused(400, requestInvalid)
	scalar := func(name, body string) hostile {
		h := put(name, jsonType, body, nothing)
		h.magento = crashed()
		return h
	}
	emptyQty := func(name, body string) hostile {
		h := put(name, xmlType, body, refused(400, "Empty value for qty in request.", preValidation))
		h.magento = refused(400, "qty: Value is required and can't be empty", "qty: '' is not between '-99999999.9999' and '99999999.9999', inclusively", preValidation)
		return h
	}
	header := func(name, contentType, message string) hostile {
		return put("Content-Type "+name, contentType, `{"qty":1}`, refused(400, message))
	}
	chunked := func(name, body string) hostile {
		return hostile{name: "body: " + name, request: raw{method: "", target: stockOne}.put("Transfer-Encoding: chunked") + body}
	}
	doctype := func(declarations, content string) string {
		return "<!DOCTYPE r [" + declarations + "]><r>" + content + "</r>"
	}
	laughs := `<!ENTITY a0 "ha">`
	for i := range 30 {
		laughs += fmt.Sprintf(`<!ENTITY a%d "&a%d;&a%d;">`, i+1, i, i)
	}
	return []hostile{
		header("missing", "", "Content-Type header is empty"),
		header("of HTML", "text/html", `Server can not understand Content-Type HTTP header media type "text/html"`),
		header("in capitals", "APPLICATION/JSON", `Server can not understand Content-Type HTTP header media type "APPLICATION/JSON"`),
		header("with a blank", "application/json ; charset=utf-8", "Invalid Content-Type header"),
		header("of two", "application/json, text/xml", "Invalid Content-Type header"),
		header("of 100 KB", strings.Repeat("a/", 50_000), `Server can not understand Content-Type HTTP header media type "`+strings.Repeat("a/", 50_000)+`"`),
		header("of another charset", "application/json; charset=latin1", "UTF-8 is the only supported charset"),

		put("empty", jsonType, "", undecoded),
		put("blanks", jsonType, " \n", undecoded),
		put("half an object", jsonType, `{"qty":`, undecoded),
		put("trailing comma", jsonType, `{"qty":5,}`, undecoded),
		put("trailing text", jsonType, `{"qty":5}x`, undecoded),
		put("two objects", jsonType, `{"qty":5}{"qty":6}`, undecoded),
		put("byte order mark", jsonType, "\ufeff{\"qty\":5}", undecoded),
		put("bad UTF-8", jsonType, "{\"qty\":\"\xff\"}", undecoded),
		put("half a surrogate pair", jsonType, `{"qty":"\ud800"}`, undecoded),
		put("raw control character", jsonType, "{\"qty\":\"\x01\"}", undecoded),
		put("UTF-16", jsonType, "{\x00}\x00", undecoded),
		put("single quotes", jsonType, "{'qty':5}", undecoded),
		put("NaN", jsonType, `{"qty":NaN}`, undecoded),
		put("10,000 open arrays", jsonType, strings.Repeat("[", 10_000), undecoded),
		put("10,000 arrays", jsonType, strings.Repeat("[", 10_000)+strings.Repeat("]", 10_000), undecoded),
		put("10,000 objects", jsonType, strings.Repeat(`{"a":`, 10_000)+"1"+strings.Repeat("}", 10_000), undecoded),
		put("half a million values", jsonType, "["+strings.Repeat("0,", bodyLimit/2-2)+"0]", undecoded),
		put("number of 100,000 digits", jsonType, `{"qty":`+strings.Repeat("9", 100_000)+"}", refused(400, "qty: 'INF' is not between '-99999999.9999' and '99999999.9999', inclusively", preValidation)),
		put("exponent of a number", jsonType, `{"qty":1e400}`, refused(400, "qty: 'INF' is not between '-99999999.9999' and '99999999.9999', inclusively", preValidation)),
		put("null", jsonType, "null", nothing),
		put("false", jsonType, "false", nothing),
		put("empty object", jsonType, "{}", nothing),
		put("empty array", jsonType, "[]", nothing),
		put("a list", jsonType, `[{"qty":5}]`, nothing),
		put("unknown fields", jsonType, `{"role":"admin","product_id":7}`, nothing),
		put("100,000 unknown fields", jsonType, unknownFields(100_000), nothing),
		scalar("true", "true"),
		scalar("a number", "1"),
		scalar("a text", `"x"`),
		put("compressed, it says", jsonType, "\x1f\x8b\x08\x00\x00\x00\x00\x00", undecoded),
		put("over the limit", jsonType, strings.Repeat(" ", bodyLimit+1), nothing),

		put("entities that double", xmlType, doctype(laughs, "<qty>&a30;</qty>"), undecoded),
		put("one entity, many times", xmlType, doctype(`<!ENTITY a "`+strings.Repeat("a", 10_000)+`">`, "<qty>"+strings.Repeat("&a;", 10_000)+"</qty>"), undecoded),
		put("entity in itself", xmlType, doctype(`<!ENTITY a "&a;">`, "<qty>&a;</qty>"), undecoded),
		put("entities in a circle", xmlType, doctype(`<!ENTITY a "&b;"><!ENTITY b "&a;">`, "<qty>&a;</qty>"), undecoded),
		put("entities in an attribute", xmlType, doctype(laughs, `<qty value="&a30;"/>`), undecoded),
		emptyQty("external entity, a file", doctype(`<!ENTITY x SYSTEM "file:///etc/passwd">`, "<qty>&x;</qty>")),
		emptyQty("external entity, a URL", doctype(`<!ENTITY x SYSTEM "http://127.0.0.1:1/x">`, "<qty>&x;</qty>")),
		put("external parameter entity", xmlType, doctype(`<!ENTITY % x SYSTEM "http://127.0.0.1:1/x"> %x;`, "<qty>9</qty>"), served(200)),
		put("external DTD", xmlType, `<!DOCTYPE r SYSTEM "http://127.0.0.1:1/x.dtd"><r><qty>9</qty></r>`, served(200)),
		put("undeclared entity", xmlType, "<r><qty>&x;</qty></r>", undecoded),
		put("10,000 elements deep", xmlType, strings.Repeat("<a>", 10_000)+strings.Repeat("</a>", 10_000), undecoded),
		put("10,000 elements left open", xmlType, strings.Repeat("<a>", 10_000), undecoded),
		put("two roots", xmlType, "<r/><r/>", undecoded),
		put("text behind the root", xmlType, "<r/>x", undecoded),
		put("attribute twice", xmlType, `<r a="1" a="2"/>`, undecoded),
		put("80,000 attributes", xmlType, "<r"+attributes(80_000)+"/>", nothing),
		put("undeclared prefix", xmlType, "<x:r/>", undecoded),
		put("control character in XML", xmlType, "<r><qty>\x01</qty></r>", undecoded),
		put("bad UTF-8 in XML", xmlType, "<r><qty>\xff</qty></r>", undecoded),
		put("UTF-16 in XML", xmlType, "\xff\xfe<\x00r\x00/\x00>\x00", undecoded),
		put("UTF-16, it says", xmlType, `<?xml version="1.0" encoding="UTF-16"?><r><qty>1</qty></r>`, undecoded),
		put("unknown encoding", xmlType, `<?xml version="1.0" encoding="EBCDIC-X"?><r><qty>1</qty></r>`, undecoded),
		put("XML 1.1", xmlType, `<?xml version="1.1"?><r><qty>1</qty></r>`, undecoded),
		put("empty root", xmlType, "<r/>", nothing),
		put("JSON as XML", xmlType, `{"qty":5}`, undecoded),

		put("raw blank in a form", "text/plain", "qty=5 6", refused(400, "Invalid data type. Check Content-Type.")),
		put("bad escape in a form", "text/plain", "qty=%zz", refused(400, "Invalid data type. Check Content-Type.")),
		put("10,000 brackets in a form", "text/plain", "qty"+strings.Repeat("[a]", 10_000)+"=1", nothing),
		put("100,000 pairs in a form", "text/plain", strings.Repeat("a[]=b&", 100_000), nothing),

		chunked("chunk of no size", "zz\r\n{}\r\n0\r\n\r\n"),
		chunked("chunk of a size beyond all", "ffffffffffffffffff\r\n{}"),
		{name: "body: client goes away", cut: true, request: raw{target: stockOne}.put("Content-Length: 1000") + `{"qty":`},
		{name: "body: client goes away inside a chunk", cut: true, request: raw{target: stockOne}.put("Transfer-Encoding: chunked") + "ff\r\n{"},

		{name: "batch: 50,000 entries of nothing", request: raw{method: "PUT", target: stockList, contentType: jsonType, body: "[" + strings.Repeat("0,", 50_000) + "0]"}.String(), documented: served(207)},
		{name: "batch: entry of no record", request: raw{method: "PUT", target: stockList, contentType: jsonType, body: `{"qty":5}`}.String(), documented: served(207)},
		{name: "batch: ids of every kind", request: raw{method: "PUT", target: stockList, contentType: jsonType,
			body: `[{"item_id":[[[]]]},{"item_id":{}},{"item_id":true},{"item_id":"1e999"},{"item_id":-0.0},{"item_id":99999999999999999999},{"item_id":"\u0000"}]`}.String(), documented: served(207)},
		{name: "batch: guest with a bomb", request: raw{method: "PUT", target: stockList, authorization: "-", contentType: xmlType, body: doctype(laughs, "&a30;")}.String(), documented: refused(403, "Access denied")},
	}
}

// put returns the head of an update in JSON with one more header, which has to
// say how long the body is.
func (r raw) put(header string) string {
	return fmt.Sprintf("PUT %s HTTP/1.1\r\nHost: portico.test\r\nAccept: application/json\r\nContent-Type: application/json\r\nAuthorization: %s\r\n%s\r\n\r\n", r.target, demoAdmin(), header)
}

func unknownFields(n int) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, `,"%d":1`, i)
	}
	return "{" + all.String()[1:] + "}"
}

func attributes(n int) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, ` a%d=""`, i)
	}
	return all.String()
}

// TestBadInput sends every hostile request over a connection of its own to a
// server of each dialect. Afterwards a good request is served, and the log holds
// no error.
func TestBadInput(t *testing.T) {
	var rows []hostile
	for _, list := range [][]hostile{hostileOAuth(), hostileQueries(), hostilePaths(), hostileHeaders(), hostileBodies()} {
		rows = append(rows, list...)
	}
	for _, dialect := range []string{"documented", "magento"} {
		t.Run(dialect, func(t *testing.T) {
			l := serveLocal(t, true, "PORTICO_DIALECT="+dialect, "PORTICO_LIMITS_BODY_BYTES="+strconv.Itoa(bodyLimit))
			names := map[string]bool{}
			for _, row := range rows {
				if names[row.name] {
					t.Errorf("two rows are called %s", row.name)
				}
				names[row.name] = true
				want := row.documented
				if dialect == "magento" && row.magento != (answer{}) {
					want = row.magento
				}
				t.Run(row.name, func(t *testing.T) {
					got := sendHostile(t, strings.TrimPrefix(l.contract, "http://"), row)
					want.check(t, got, dialect)
				})
			}
			stockQty(t, l.contract, demoAdmin())
			for line := range strings.Lines(l.log.text()) {
				if strings.Contains(line, "panic") || strings.Contains(line, "level=ERROR") {
					t.Errorf("logged: %.2000s", line)
				}
			}
		})
	}
}

// sendHostile sends one hostile request and reads the reply.
func sendHostile(t *testing.T, address string, h hostile) reply {
	t.Helper()
	conn, err := net.DialTimeout("tcp", address, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	sent := make(chan struct{})
	go func() { // a server that has seen enough answers before all is sent
		defer close(sent)
		_, _ = io.WriteString(conn, h.request)
		if h.cut {
			_ = conn.(*net.TCPConn).CloseWrite()
		}
	}()
	defer func() { <-sent }()
	method, _, _ := strings.Cut(h.request, " ")
	response, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Fatal(err)
	}
	return readReply(t, response)
}

// check compares a reply with what it has to be.
func (want answer) check(t *testing.T, got reply, dialect string) {
	t.Helper()
	messages, err := envelopeOf(got)
	switch {
	case want == (answer{}):
		crash := dialect == "magento" && got.status == 500 && got.body == ""
		if !crash && (got.status != 400 || err != nil) {
			t.Errorf("%d %.300q, want a 400 in the envelope (%v)", got.status, got.body, err)
		}
	case got.status != want.status:
		t.Errorf("%d %.300q, want %d", got.status, got.body, want.status)
	case want.messages == "*":
	case want.bare && got.body != want.messages:
		t.Errorf("the body is %.300q, want %q", got.body, want.messages)
	case !want.bare && err != nil:
		t.Errorf("%.300q: %v", got.body, err)
	case !want.bare && messages != want.messages:
		t.Errorf("%.300q, want %.300q", messages, want.messages)
	}
}

// envelopeOf returns the messages of an error reply in JSON, joined, or why it
// is none.
func envelopeOf(r reply) (string, error) {
	var envelope struct {
		Messages struct {
			Error []struct {
				Code    int    `json:"code"`
				Message string `json:"message"`
			} `json:"error"`
		} `json:"messages"`
	}
	if err := json.Unmarshal([]byte(r.body), &envelope); err != nil {
		return "", err
	}
	if contentType := r.header.Get("Content-Type"); contentType != "application/json; charset=utf-8" {
		return "", fmt.Errorf("Content-Type %q", contentType)
	}
	var messages []string
	for i, entry := range envelope.Messages.Error {
		messages = append(messages, entry.Message)
		if i == len(envelope.Messages.Error)-1 && entry.Code != r.status {
			return "", fmt.Errorf("the last code is %d", entry.Code)
		}
	}
	if len(messages) == 0 {
		return "", errors.New("no message")
	}
	return strings.Join(messages, " | "), nil
}
