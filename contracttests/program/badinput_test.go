package program

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// bodyLimit is the setting limits.body_bytes of the servers in these tests.
const bodyLimit = 1 << 20

// A badRequest is a bad request and the reply it must get.
type badRequest struct {
	name    string
	request string // in wire format
	// cut closes the sending half of the connection after the request, as a client that goes away does.
	cut                 bool
	documented, magento expectedReply // a zero magento means the same as documented
}

// An expectedReply describes a reply. The zero value stands for any refusal: status 400 in
// the envelope or, in the dialect magento only, a crash of the original.
type expectedReply struct {
	status int
	// messages has the messages of the envelope, joined by " | ", or the whole body of a bare
	// reply. "*" stands for any.
	messages string
	bare     bool // outside the envelope
}

// expectRefusal expects a refusal with these messages.
func expectRefusal(status int, messages ...string) expectedReply {
	return expectedReply{status: status, messages: strings.Join(messages, " | ")}
}

// expectStatus expects a reply with this status and any body.
func expectStatus(status int) expectedReply {
	return expectedReply{status: status, messages: "*", bare: true}
}

// expectCrash expects the reply of the original when it crashes (wire 14).
func expectCrash() expectedReply { return expectedReply{status: 500, bare: true} }

// expectServerReply expects a reply that net/http gives before the handler runs.
func expectServerReply(status int) expectedReply {
	return expectedReply{status: status, messages: "*", bare: true}
}

// A rawRequest is a request to be written to a connection. The zero value asks for JSON as
// the administrator.
type rawRequest struct {
	method, target string
	headers        []string // more lines
	authorization  string   // "-": none
	accept         string   // "-": none
	contentType    string   // of a request with a body
	body           string
}

// String returns the request in wire format.
func (r rawRequest) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s HTTP/1.1\r\nHost: portico.test\r\n", orDefault(r.method, "GET"), r.target)
	if authorization := orDefault(r.authorization, apptest.DemoAdmin()); authorization != "-" {
		fmt.Fprintf(&text, "Authorization: %s\r\n", authorization)
	}
	if accept := orDefault(r.accept, "application/json"); accept != "-" {
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

// orDefault returns text, or otherwise if text is empty.
func orDefault(text, otherwise string) string {
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

// oauthCase returns a case with the given Authorization header.
func oauthCase(name, authorization string, want expectedReply) badRequest {
	return badRequest{name: "oauth: " + name, request: rawRequest{target: stockOne, authorization: authorization}.String(), documented: want}
}

// oauthProblem expects a refusal with the given oauth_problem.
func oauthProblem(text string) expectedReply { return expectRefusal(401, "oauth_problem="+text) }

// badOAuth returns cases with bad Authorization headers.
func badOAuth() []badRequest {
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
	absent := func(name string) expectedReply {
		return oauthProblem("parameter_absent&oauth_parameters_absent=" + name)
	}
	rsa := oauthCase("RSA signature", hmac("oauth_signature_method", "RSA-SHA1", "oauth_nonce", "rsa"), oauthProblem("signature_method_rejected"))
	rsa.magento = expectCrash()
	inQuery := func(name, query string, want expectedReply) badRequest {
		return badRequest{name: "oauth: " + name, request: rawRequest{target: stockOne + "?" + query, authorization: "OAuth"}.String(), documented: want}
	}
	return []badRequest{
		oauthCase("nothing behind the scheme", "OAuth", absent("oauth_consumer_key")),
		oauthCase("nothing but commas", "OAuth "+strings.Repeat(",", 100_000), absent("oauth_consumer_key")),
		oauthCase("twenty thousand parts", "OAuth "+strings.Repeat("oauth_x=1,", 20_000), absent("oauth_consumer_key")),
		oauthCase("open quote", `OAuth oauth_consumer_key="`, absent("oauth_consumer_key")),
		oauthCase("quotes alone", `OAuth oauth_consumer_key=""""`, absent("oauth_consumer_key")),
		oauthCase("bad escapes", "OAuth oauth_consumer_key=%,%%,%z,%4", absent("oauth_signature_method")),
		oauthCase("any sixth character", strings.Replace(with(), "OAuth ", "oauth\t", 1), expectStatus(200)),
		oauthCase("no quotes", strings.ReplaceAll(with(), `"`, ""), expectStatus(200)),
		oauthCase("parameters glued to the scheme", strings.Replace(with(), "OAuth ", "OAuthX", 1), expectStatus(200)),
		oauthCase("version 1.1", with("oauth_version", "1.1"), oauthProblem("version_rejected")),
		oauthCase("version in hexadecimal", with("oauth_version", "0x1"), oauthProblem("version_rejected")),
		oauthCase("version of 200 KB", with("oauth_version", strings.Repeat("1", 200_000)), oauthProblem("version_rejected")),
		oauthCase("empty version", with("oauth_version", ""), oauthProblem("version_rejected")),
		oauthCase("no key", with("oauth_consumer_key", ""), absent("oauth_consumer_key")),
		oauthCase("key zero", with("oauth_consumer_key", "0"), absent("oauth_consumer_key")),
		oauthCase("short key", with("oauth_consumer_key", key[1:]), oauthProblem("consumer_key_rejected")),
		oauthCase("unknown key", with("oauth_consumer_key", strings.Repeat("9", 32)), oauthProblem("consumer_key_rejected")),
		oauthCase("key of zero bytes", with("oauth_consumer_key", strings.Repeat("%00", 32)), oauthProblem("consumer_key_rejected")),
		oauthCase("key of no UTF-8", with("oauth_consumer_key", strings.Repeat("%FF", 32)), oauthProblem("consumer_key_rejected")),
		oauthCase("key with SQL", with("oauth_consumer_key", "'%20OR%201=1%20--%20aaaaaaaaaaaaaaaaaa"), oauthProblem("consumer_key_rejected")),
		oauthCase("method in small letters", with("oauth_signature_method", "plaintext"), oauthProblem("signature_method_rejected")),
		oauthCase("method unknown", with("oauth_signature_method", "HMAC-SHA256"), oauthProblem("signature_method_rejected")),
		rsa,
		oauthCase("no nonce", hmac("oauth_nonce", ""), absent("oauth_nonce")),
		oauthCase("no timestamp", hmac("oauth_timestamp", "0"), absent("oauth_timestamp")),
		oauthCase("negative timestamp", hmac("oauth_timestamp", "-1"), oauthProblem("timestamp_refused")),
		oauthCase("timestamp of text", hmac("oauth_timestamp", "now"), oauthProblem("timestamp_refused")),
		oauthCase("timestamp of a thousand digits", hmac("oauth_timestamp", strings.Repeat("9", 1000)), oauthProblem("timestamp_refused")),
		oauthCase("timestamp of tomorrow", hmac("oauth_timestamp", strconv.FormatInt(time.Now().Unix()+86400, 10)), oauthProblem("timestamp_refused")),
		oauthCase("nonce of zero bytes", hmac("oauth_nonce", strings.Repeat("%00", 40)), oauthProblem("signature_invalid")),
		oauthCase("nonce of no UTF-8", hmac("oauth_nonce", strings.Repeat("%FF", 20)), oauthProblem("signature_invalid")),
		oauthCase("nonce of 200 KB", hmac("oauth_nonce", strings.Repeat("n", 200_000)), oauthProblem("signature_invalid")),
		oauthCase("signature of 200 KB", hmac("oauth_signature", strings.Repeat("s", 200_000), "oauth_nonce", "long signature"), oauthProblem("signature_invalid")),
		oauthCase("plain signature of the beginning", with("oauth_signature", strings.Repeat("b", 32)+"%26"), oauthProblem("signature_invalid")),
		oauthCase("no token", with("oauth_token", ""), absent("oauth_token")),
		oauthCase("short token", with("oauth_token", "c"), oauthProblem("token_rejected")),
		oauthCase("unknown token", with("oauth_token", strings.Repeat("9", 32)), oauthProblem("token_rejected")),
		oauthCase("token of no UTF-8", with("oauth_token", strings.Repeat("%FF", 32)), oauthProblem("token_rejected")),
		oauthCase("Basic", "Basic YWRtaW46YWRtaW4=", expectRefusal(403, "Access denied")),
		oauthCase("Bearer", "Bearer "+token, expectRefusal(403, "Access denied")),
		oauthCase("four letters of the scheme", "OAut", expectRefusal(403, "Access denied")),
		oauthCase("no text at all", "\x01\x02", expectServerReply(400)),
		inQuery("list in the query", "oauth_consumer_key[]=x&oauth_signature_method=PLAINTEXT&oauth_signature=x", oauthProblem("parameter_rejected&message=oauth_consumer_key")),
		inQuery("thousands in the query", strings.Repeat("oauth_a[]=x&", 10_000), absent("oauth_consumer_key")),
		{name: "oauth: character no URI has", request: rawRequest{target: stockOne + "?a=^"}.String(), documented: oauthProblem("internal_error&message=Invalid URI supplied")},
		{name: "oauth: bad escape in the query", request: rawRequest{target: stockOne + "?a=%zz"}.String(), documented: oauthProblem("internal_error&message=Invalid URI supplied")},
		{name: "oauth: before the route", request: rawRequest{target: "/api/rest/nowhere", authorization: "OAuth x"}.String(), documented: absent("oauth_consumer_key")},
		{name: "oauth: broken form body", request: rawRequest{method: "PUT", target: stockOne, authorization: "OAuth", contentType: "application/x-www-form-urlencoded", body: strings.Repeat("%&=", 1000)}.String(),
			documented: absent("oauth_consumer_key")},
		{name: "oauth: form body over the limit", request: rawRequest{method: "PUT", target: stockOne, authorization: "OAuth", contentType: "application/x-www-form-urlencoded", body: strings.Repeat("a", bodyLimit+1)}.String()},
	}
}

// queryCase returns a case that lists stock items as the administrator.
func queryCase(name, text string, want expectedReply) badRequest {
	return badRequest{name: "query: " + name, request: rawRequest{target: stockList + "?" + text}.String(), documented: want}
}

// crashCase returns a queryCase that crashes the original.
func crashCase(name, text string, want expectedReply) badRequest {
	h := queryCase(name, text, want)
	h.magento = expectCrash()
	return h
}

// filters returns n filters that match every stock item.
func filters(n int) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, "filter[%d][attribute]=item_id&filter[%d][gt]=0&", i, i)
	}
	return all.String()
}

// badQueries returns cases with bad query strings.
func badQueries() []badRequest {
	filtering, ordering, paging, limit := expectRefusal(400, filteringError), expectRefusal(400, orderingError), expectRefusal(400, pagingError), expectRefusal(400, limitError)
	const qty = "filter[1][attribute]=qty&filter[1]"
	return []badRequest{
		queryCase("filter[][][]", "filter[][][]", filtering),
		queryCase("filter[][][] with a value", "filter[][][]=x", filtering),
		queryCase("filter is a text", "filter=x", filtering),
		queryCase("entry is a text", "filter[]=x", filtering),
		queryCase("attribute is a list", "filter[1][attribute][]=qty&filter[1][eq]=1", filtering),
		queryCase("unknown attribute", "filter[1][attribute]=password_hash&filter[1][eq]=1", filtering),
		queryCase("attribute with SQL", "filter[1][attribute]=qty)%20OR%201=1--&filter[1][eq]=1", filtering),
		queryCase("attribute in capitals", "filter[1][attribute]=QTY&filter[1][eq]=1", filtering),
		crashCase("no operator", "filter[1][attribute]=qty", filtering),
		crashCase("is", qty+"[is]=NULL", filtering),
		crashCase("eq of several", qty+"[eq][]=1&"+qty+"[eq][]=2", filtering),
		crashCase("pattern that is none", qty+"[regexp]=(", filtering),
		crashCase("pattern too large for the matcher", qty+"[regexp]=((a%7B100%7D)%7B100%7D)%7B100%7D", filtering),
		crashCase("pattern of no UTF-8", qty+"[regexp]=%FF", filtering),
		queryCase("pattern of 2 KB", qty+"[regexp]="+strings.Repeat("a*", 1000), filtering),
		queryCase("500 filters", filters(500), expectStatus(200)),
		queryCase("10,000 filters", filters(10_000)[:250_000], filtering),
		queryCase("value list of 10,000", strings.Repeat(qty+"[in][]=1&", 6_000), filtering),
		queryCase("alternatives nested 60 deep", qty+strings.Repeat("[a]", 60)+"[eq]=1", expectStatus(200)),
		queryCase("10,000 brackets, closed", "filter"+strings.Repeat("[a]", 10_000)+"=1", expectStatus(200)),
		queryCase("10,000 brackets, open", "filter"+strings.Repeat("[", 10_000)+"=1", expectStatus(200)),
		queryCase("like of 500 wildcards", qty+"[like]="+strings.Repeat("%25", 500), expectStatus(200)),
		queryCase("like of 20,000 wildcards", qty+"[like]="+strings.Repeat("%25", 20_000), filtering),
		queryCase("value of zero bytes", "filter[1][attribute]=low_stock_date&filter[1][eq]=%00", expectStatus(200)),
		queryCase("value of no UTF-8", "filter[1][attribute]=item_id&filter[1][eq]=%FF", expectStatus(200)),
		queryCase("name of no UTF-8", "%FF[%FE]=1", expectStatus(200)),
		queryCase("values beyond every column", "filter[1][attribute]=item_id&filter[1][gt]=1e400", expectStatus(200)),
		queryCase("256 KB of one parameter", "x="+strings.Repeat("a", 256<<10), expectRefusal(400, requestInvalid)),
		queryCase("256 KB of parameters", strings.Repeat("a=b&", 64<<10)+"c", expectRefusal(400, requestInvalid)),
		queryCase("nearly 256 KB", strings.Repeat("a&", 127<<10), expectStatus(200)),
		queryCase("270 KB", "x="+strings.Repeat("a", 270_000), expectRefusal(400, requestInvalid)),
		queryCase("nothing but ampersands", strings.Repeat("&", 10_000), expectStatus(200)),
		crashCase("semicolons", "page=1;limit=-1;", paging),
		crashCase("page of text", "page=abc", paging),
		crashCase("page is empty", "page=", paging),
		crashCase("page is a list", "page[]=1", paging),
		crashCase("page in hexadecimal", "page=0x10", paging),
		crashCase("page is not a number", "page=NaN", paging),
		crashCase("page infinite", "page=INF", paging),
		queryCase("page negative", "page=-0.5", paging),
		queryCase("page beyond all", "page=1e300", expectStatus(200)),
		queryCase("page of 1,000 digits", "page="+strings.Repeat("9", 1000), expectStatus(200)),
		crashCase("limit of text", "limit=3abc", limit),
		crashCase("limit is a list", "limit[]=1", limit),
		queryCase("limit negative", "limit=-1e-9", limit),
		queryCase("limit too large", "limit=100.5", limit),
		queryCase("limit enormous", "limit=1e308", limit),
		queryCase("order unknown", "order=nope", ordering),
		queryCase("order is a list", "order[]=qty", ordering),
		queryCase("order is empty", "order=", ordering),
		queryCase("order with SQL", "order=qty;DROP%20TABLE%20stock_item", ordering),
		crashCase("dir is a list", "order=qty&dir[]=asc", ordering),
		crashCase("attrs selects nothing", "attrs=", expectStatus(200)),
		crashCase("attrs of 10,000 commas", "attrs="+strings.Repeat(",", 10_000), expectStatus(200)),
		queryCase("page before limit", "limit=-1&page=-1", paging),
		queryCase("limit before order", "order=nope&limit=-1", limit),
		queryCase("order before filter", "filter=x&order=nope", ordering),
		{name: "query: bad escape of a guest", request: rawRequest{target: stockList + "?a=%zz", authorization: "-"}.String(), documented: expectRefusal(403, "Access denied")},
		{name: "query: 270 KB of a guest", request: rawRequest{target: stockList + "?" + strings.Repeat("a", 270_000), authorization: "-"}.String(), documented: expectRefusal(400, requestInvalid)},
	}
}

// pathCase returns a case that reads a path as the administrator.
func pathCase(name, text string, want expectedReply) badRequest {
	return badRequest{name: "path: " + name, request: rawRequest{target: text}.String(), documented: want}
}

// badPaths returns cases with bad paths.
func badPaths() []badRequest {
	missing, unrouted := expectRefusal(404, notFound), expectRefusal(404, noRoute)
	outside := expectedReply{status: 404, messages: "Not found\n", bare: true}
	rows := []badRequest{
		pathCase("encoded slash joins", stockList+"%2F1", unrouted),
		pathCase("encoded slash in an id", stockList+"/1%2F2", expectStatus(200)),
		pathCase("encoded slash alone", stockList+"/%2f", missing),
		pathCase("doubled slash inside", stockList+"//1", unrouted),
		pathCase("slashes around", "/api/rest///stockitems/1///", expectStatus(200)),
		pathCase("dots", stockList+"/..", missing),
		pathCase("encoded dots", stockList+"/%2e%2e", missing),
		pathCase("climbing out", "/api/rest/../../etc/passwd", unrouted),
		pathCase("climbing back in", "/x/../api/rest/stockitems/1", outside),
		pathCase("5,000 segments", "/api/rest"+strings.Repeat("/a", 5_000), unrouted),
		pathCase("5,000 slashes", "/api/rest"+strings.Repeat("/", 5_000), unrouted),
		pathCase("nothing behind the prefix", "/api/rest", unrouted),
		pathCase("a query behind the prefix", "/api/rest?x=1", unrouted),
		pathCase("other letter case", "/api/rest/StockItems/1", unrouted),
		pathCase("another API type", "/api/restx/stockitems", expectRefusal(400, `API type "restx" is not supported`)),
		pathCase("API type with markup", "/api/rest%3Cb%3E/x", expectedReply{}),
		pathCase("prefix in capitals", "/API/REST/stockitems", outside),
		pathCase("escaped prefix", "/api/%72est/stockitems", outside),
		pathCase("doubled slash in front", "//api/rest/stockitems", outside),
		pathCase("another API", "/api/soap", outside),
		pathCase("root", "/", outside),
		pathCase("bad escape", stockList+"/%zz", expectServerReply(400)),
		pathCase("half an escape", stockList+"/%4", expectServerReply(400)),
		pathCase("absolute form", "http://portico.test/api/rest/stockitems/1", expectStatus(200)),
		pathCase("absolute form of another host", "http://other.test/api/rest/stockitems/1", expectStatus(200)),
		pathCase("absolute form without a path", "http://portico.test", outside),
		pathCase("fragment", stockOne+"#x", oauthProblem("internal_error&message=Invalid URI supplied")),
	}
	for _, id := range []string{"abc", "0", "-1", "99", "1e400", "-1e400", "NaN", "INF", "0x1", "%00", "%FF%FE", "%00" + "1", "99999999999999999999", strings.Repeat("9", 4096), "'", "1'--%20", "%C2%A01", "%F0%9F%98%80"} {
		want := missing
		if id == "1'--%20" {
			want = expectStatus(200) // the number ends before the other characters
		}
		rows = append(rows, pathCase(fmt.Sprintf("id %.20s, %d bytes", id, len(id)), stockList+"/"+id, want))
	}
	fraction := pathCase("id 1.9", stockList+"/1.9", missing)
	fraction.magento = expectStatus(200)
	rows = append(rows, fraction)
	for _, id := range []string{"01", "%201", "1%20", "1abc", "1.0", "1e0", "+1", "1" + strings.Repeat("x", 4096)} {
		rows = append(rows, pathCase(fmt.Sprintf("id %.20s, %d bytes", id, len(id)), stockList+"/"+id, expectStatus(200)))
	}
	return rows
}

// badHeaders returns cases with other bad headers.
func badHeaders() []badRequest {
	unavailable := expectedReply{status: 500, messages: "Service temporary unavailable", bare: true}
	accept := func(name, value string, documented, magento expectedReply) badRequest {
		return badRequest{name: "accept: " + name, request: rawRequest{target: stockOne, accept: value}.String(), documented: documented, magento: magento}
	}
	same := expectedReply{}
	method := func(name, method, target string, want expectedReply) badRequest {
		return badRequest{name: "method: " + name, request: rawRequest{method: method, target: target}.String(), documented: want}
	}
	version := func(name, value string, want expectedReply) badRequest {
		return badRequest{name: "version: " + name, request: rawRequest{target: stockOne, headers: []string{"Version: " + value}}.String(), documented: want}
	}
	deleted := method("DELETE", "DELETE", stockOne, expectRefusal(405, "Resource does not support method."))
	deleted.magento = expectRefusal(405, "Resource method not implemented yet.")
	return []badRequest{
		accept("image/png", "image/png", unavailable, same),
		accept("half a type", "*", unavailable, same),
		accept("capitals", "APPLICATION/JSON", unavailable, same),
		accept("100 KB of commas", strings.Repeat(",", 100_000), unavailable, same),
		accept("20,000 types", strings.Repeat("a/b;q=0.1,", 20_000)+"application/json", expectStatus(200), same),
		accept("20,000 qualities", qualities(20_000)+"application/json", expectStatus(200), same),
		accept("missing", "-", expectStatus(200), unavailable),
		{name: "accept: twice", request: rawRequest{target: stockOne, accept: "image/png", headers: []string{"Accept: application/json"}}.String(), documented: expectStatus(200)},

		method("PATCH", "PATCH", stockOne, expectRefusal(400, invalidMethod)),
		method("OPTIONS", "OPTIONS", stockOne, expectRefusal(400, invalidMethod)),
		method("TRACE", "TRACE", stockOne, expectRefusal(400, invalidMethod)),
		method("small letters", "get", stockOne, expectRefusal(400, invalidMethod)),
		method("100 KB of letters", strings.Repeat("M", 100_000), stockOne, expectRefusal(400, invalidMethod)),
		method("PATCH on no route", "PATCH", "/api/rest/nowhere", expectRefusal(404, noRoute)),
		method("CONNECT", "CONNECT", "portico.test:80", expectedReply{status: 404, messages: "Not found\n", bare: true}),
		method("no method", "", stockOne, expectStatus(200)),
		deleted,
		method("POST of one", "POST", stockOne, expectRefusal(405, "Resource method not implemented yet.")),
		{name: "method: override", request: rawRequest{method: "POST", target: stockOne + "?_method=PUT", headers: []string{"X-HTTP-Method-Override: PUT"}}.String(),
			documented: expectRefusal(405, "Resource method not implemented yet.")},

		version("zero", "0", expectRefusal(400, `Invalid version "0" requested.`)),
		version("empty", "", expectRefusal(400, `Invalid version "" requested.`)),
		version("markup", `<b a="x">&'`, expectRefusal(400, `Invalid version "&lt;b a=&quot;x&quot;&gt;&amp;&#039;" requested.`)),
		version("huge", strings.Repeat("9", 10_000), expectStatus(200)),

		{name: "server: headers of two megabytes", request: rawRequest{target: stockOne, headers: []string{"X-Large: " + strings.Repeat("x", 2<<20)}}.String(), documented: expectServerReply(431)},
		{name: "server: request line of two megabytes", request: rawRequest{target: "/" + strings.Repeat("x", 2<<20)}.String(), documented: expectServerReply(431)},
		{name: "server: no host", request: "GET " + stockOne + " HTTP/1.1\r\n\r\n", documented: expectServerReply(400)},
		{name: "server: two hosts", request: rawRequest{target: stockOne, headers: []string{"Host: other.test"}}.String(), documented: expectServerReply(400)},
		{name: "server: zero byte in a header", request: rawRequest{target: stockOne, headers: []string{"X-Zero: \x00"}}.String(), documented: expectServerReply(400)},
		{name: "server: no HTTP", request: "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", documented: expectServerReply(400)},
		{name: "server: another version", request: "GET " + stockOne + " HTTP/3.0\r\n\r\n", documented: expectServerReply(505)},
		{name: "server: two lengths", request: rawRequest{method: "PUT", target: stockOne, headers: []string{"Content-Length: 5"}, body: "{}"}.String(), documented: expectServerReply(400)},
		{name: "server: negative length", request: rawRequest{method: "DELETE", target: stockOne, headers: []string{"Content-Length: -1"}}.String(), documented: expectServerReply(400)},
		{name: "server: unknown coding", request: rawRequest{method: "DELETE", target: stockOne, headers: []string{"Transfer-Encoding: gzip"}}.String(), documented: expectServerReply(501)},
	}
}

// qualities returns a list of n media types with different quality values.
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

// bodyCase returns a case that updates stock item 1 as the administrator.
func bodyCase(name, contentType, body string, want expectedReply) badRequest {
	return badRequest{name: "body: " + name, request: rawRequest{method: "PUT", target: stockOne, contentType: contentType, body: body}.String(), documented: want}
}

// badBodies returns cases with bad bodies.
func badBodies() []badRequest {
	undecoded, nothing := expectRefusal(400, decodingError), expectRefusal(400, requestInvalid)
	scalar := func(name, body string) badRequest {
		h := bodyCase(name, jsonType, body, nothing)
		h.magento = expectCrash()
		return h
	}
	emptyQty := func(name, body string) badRequest {
		h := bodyCase(name, xmlType, body, expectRefusal(400, "Empty value for qty in request.", preValidation))
		h.magento = expectRefusal(400, "qty: Value is required and can't be empty", "qty: '' is not between '-99999999.9999' and '99999999.9999', inclusively", preValidation)
		return h
	}
	header := func(name, contentType, message string) badRequest {
		return bodyCase("Content-Type "+name, contentType, `{"qty":1}`, expectRefusal(400, message))
	}
	chunked := func(name, body string) badRequest {
		return badRequest{name: "body: " + name, request: rawRequest{method: "", target: stockOne}.put("Transfer-Encoding: chunked") + body}
	}
	doctype := func(declarations, content string) string {
		return "<!DOCTYPE r [" + declarations + "]><r>" + content + "</r>"
	}
	laughs := `<!ENTITY a0 "ha">`
	for i := range 30 {
		laughs += fmt.Sprintf(`<!ENTITY a%d "&a%d;&a%d;">`, i+1, i, i)
	}
	return []badRequest{
		header("missing", "", "Content-Type header is empty"),
		header("of HTML", "text/html", `Server can not understand Content-Type HTTP header media type "text/html"`),
		header("in capitals", "APPLICATION/JSON", `Server can not understand Content-Type HTTP header media type "APPLICATION/JSON"`),
		header("with a blank", "application/json ; charset=utf-8", "Invalid Content-Type header"),
		header("of two", "application/json, text/xml", "Invalid Content-Type header"),
		header("of 100 KB", strings.Repeat("a/", 50_000), `Server can not understand Content-Type HTTP header media type "`+strings.Repeat("a/", 50_000)+`"`),
		header("of another charset", "application/json; charset=latin1", "UTF-8 is the only supported charset"),

		bodyCase("empty", jsonType, "", undecoded),
		bodyCase("blanks", jsonType, " \n", undecoded),
		bodyCase("half an object", jsonType, `{"qty":`, undecoded),
		bodyCase("trailing comma", jsonType, `{"qty":5,}`, undecoded),
		bodyCase("trailing text", jsonType, `{"qty":5}x`, undecoded),
		bodyCase("two objects", jsonType, `{"qty":5}{"qty":6}`, undecoded),
		bodyCase("byte order mark", jsonType, "\ufeff{\"qty\":5}", undecoded),
		bodyCase("bad UTF-8", jsonType, "{\"qty\":\"\xff\"}", undecoded),
		bodyCase("half a surrogate pair", jsonType, `{"qty":"\ud800"}`, undecoded),
		bodyCase("raw control character", jsonType, "{\"qty\":\"\x01\"}", undecoded),
		bodyCase("UTF-16", jsonType, "{\x00}\x00", undecoded),
		bodyCase("single quotes", jsonType, "{'qty':5}", undecoded),
		bodyCase("NaN", jsonType, `{"qty":NaN}`, undecoded),
		bodyCase("10,000 open arrays", jsonType, strings.Repeat("[", 10_000), undecoded),
		bodyCase("10,000 arrays", jsonType, strings.Repeat("[", 10_000)+strings.Repeat("]", 10_000), undecoded),
		bodyCase("10,000 objects", jsonType, strings.Repeat(`{"a":`, 10_000)+"1"+strings.Repeat("}", 10_000), undecoded),
		bodyCase("half a million values", jsonType, "["+strings.Repeat("0,", bodyLimit/2-2)+"0]", undecoded),
		bodyCase("number of 100,000 digits", jsonType, `{"qty":`+strings.Repeat("9", 100_000)+"}", expectRefusal(400, "qty: 'INF' is not between '-99999999.9999' and '99999999.9999', inclusively", preValidation)),
		bodyCase("exponent of a number", jsonType, `{"qty":1e400}`, expectRefusal(400, "qty: 'INF' is not between '-99999999.9999' and '99999999.9999', inclusively", preValidation)),
		bodyCase("null", jsonType, "null", nothing),
		bodyCase("false", jsonType, "false", nothing),
		bodyCase("empty object", jsonType, "{}", nothing),
		bodyCase("empty array", jsonType, "[]", nothing),
		bodyCase("a list", jsonType, `[{"qty":5}]`, nothing),
		bodyCase("unknown fields", jsonType, `{"role":"admin","product_id":7}`, nothing),
		bodyCase("100,000 unknown fields", jsonType, unknownFields(100_000), nothing),
		scalar("true", "true"),
		scalar("a number", "1"),
		scalar("a text", `"x"`),
		bodyCase("compressed, it says", jsonType, "\x1f\x8b\x08\x00\x00\x00\x00\x00", undecoded),
		bodyCase("over the limit", jsonType, strings.Repeat(" ", bodyLimit+1), nothing),

		bodyCase("entities that double", xmlType, doctype(laughs, "<qty>&a30;</qty>"), undecoded),
		bodyCase("one entity, many times", xmlType, doctype(`<!ENTITY a "`+strings.Repeat("a", 10_000)+`">`, "<qty>"+strings.Repeat("&a;", 10_000)+"</qty>"), undecoded),
		bodyCase("entity in itself", xmlType, doctype(`<!ENTITY a "&a;">`, "<qty>&a;</qty>"), undecoded),
		bodyCase("entities in a circle", xmlType, doctype(`<!ENTITY a "&b;"><!ENTITY b "&a;">`, "<qty>&a;</qty>"), undecoded),
		bodyCase("entities in an attribute", xmlType, doctype(laughs, `<qty value="&a30;"/>`), undecoded),
		emptyQty("external entity, a file", doctype(`<!ENTITY x SYSTEM "file:///etc/passwd">`, "<qty>&x;</qty>")),
		emptyQty("external entity, a URL", doctype(`<!ENTITY x SYSTEM "http://127.0.0.1:1/x">`, "<qty>&x;</qty>")),
		bodyCase("external parameter entity", xmlType, doctype(`<!ENTITY % x SYSTEM "http://127.0.0.1:1/x"> %x;`, "<qty>9</qty>"), expectStatus(200)),
		bodyCase("external DTD", xmlType, `<!DOCTYPE r SYSTEM "http://127.0.0.1:1/x.dtd"><r><qty>9</qty></r>`, expectStatus(200)),
		bodyCase("undeclared entity", xmlType, "<r><qty>&x;</qty></r>", undecoded),
		bodyCase("10,000 elements deep", xmlType, strings.Repeat("<a>", 10_000)+strings.Repeat("</a>", 10_000), undecoded),
		bodyCase("10,000 elements left open", xmlType, strings.Repeat("<a>", 10_000), undecoded),
		bodyCase("two roots", xmlType, "<r/><r/>", undecoded),
		bodyCase("text behind the root", xmlType, "<r/>x", undecoded),
		bodyCase("attribute twice", xmlType, `<r a="1" a="2"/>`, undecoded),
		bodyCase("80,000 attributes", xmlType, "<r"+attributes(80_000)+"/>", nothing),
		bodyCase("undeclared prefix", xmlType, "<x:r/>", undecoded),
		bodyCase("control character in XML", xmlType, "<r><qty>\x01</qty></r>", undecoded),
		bodyCase("bad UTF-8 in XML", xmlType, "<r><qty>\xff</qty></r>", undecoded),
		bodyCase("UTF-16 in XML", xmlType, "\xff\xfe<\x00r\x00/\x00>\x00", undecoded),
		bodyCase("UTF-16, it says", xmlType, `<?xml version="1.0" encoding="UTF-16"?><r><qty>1</qty></r>`, undecoded),
		bodyCase("unknown encoding", xmlType, `<?xml version="1.0" encoding="EBCDIC-X"?><r><qty>1</qty></r>`, undecoded),
		bodyCase("XML 1.1", xmlType, `<?xml version="1.1"?><r><qty>1</qty></r>`, undecoded),
		bodyCase("empty root", xmlType, "<r/>", nothing),
		bodyCase("JSON as XML", xmlType, `{"qty":5}`, undecoded),

		bodyCase("raw blank in a form", "text/plain", "qty=5 6", expectRefusal(400, "Invalid data type. Check Content-Type.")),
		bodyCase("bad escape in a form", "text/plain", "qty=%zz", expectRefusal(400, "Invalid data type. Check Content-Type.")),
		bodyCase("10,000 brackets in a form", "text/plain", "qty"+strings.Repeat("[a]", 10_000)+"=1", nothing),
		bodyCase("100,000 pairs in a form", "text/plain", strings.Repeat("a[]=b&", 100_000), nothing),

		chunked("chunk of no size", "zz\r\n{}\r\n0\r\n\r\n"),
		chunked("chunk of a size beyond all", "ffffffffffffffffff\r\n{}"),
		{name: "body: client goes away", cut: true, request: rawRequest{target: stockOne}.put("Content-Length: 1000") + `{"qty":`},
		{name: "body: client goes away inside a chunk", cut: true, request: rawRequest{target: stockOne}.put("Transfer-Encoding: chunked") + "ff\r\n{"},

		{name: "batch: 50,000 entries of nothing", request: rawRequest{method: "PUT", target: stockList, contentType: jsonType, body: "[" + strings.Repeat("0,", 50_000) + "0]"}.String(), documented: expectStatus(207)},
		{name: "batch: entry of no record", request: rawRequest{method: "PUT", target: stockList, contentType: jsonType, body: `{"qty":5}`}.String(), documented: expectStatus(207)},
		{name: "batch: ids of every kind", request: rawRequest{method: "PUT", target: stockList, contentType: jsonType,
			body: `[{"item_id":[[[]]]},{"item_id":{}},{"item_id":true},{"item_id":"1e999"},{"item_id":-0.0},{"item_id":99999999999999999999},{"item_id":"\u0000"}]`}.String(), documented: expectStatus(207)},
		{name: "batch: guest with a bomb", request: rawRequest{method: "PUT", target: stockList, authorization: "-", contentType: xmlType, body: doctype(laughs, "&a30;")}.String(), documented: expectRefusal(403, "Access denied")},
	}
}

// put returns the head of an update in JSON with one more header, which must describe the
// length of the body.
func (r rawRequest) put(header string) string {
	return fmt.Sprintf("PUT %s HTTP/1.1\r\nHost: portico.test\r\nAccept: application/json\r\nContent-Type: application/json\r\nAuthorization: %s\r\n%s\r\n\r\n", r.target, apptest.DemoAdmin(), header)
}

// unknownFields returns a JSON object with n fields that do not exist.
func unknownFields(n int) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, `,"%d":1`, i)
	}
	return "{" + all.String()[1:] + "}"
}

// attributes returns an XML element with n attributes.
func attributes(n int) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, ` a%d=""`, i)
	}
	return all.String()
}

// TestBadInput sends bad requests over connections of their own to a server of each
// dialect, and compares the replies. Afterwards a good request must succeed, and the log
// must contain no error. Outside nightly runs it sends one in four to each.
func TestBadInput(t *testing.T) {
	t.Parallel()
	var rows []badRequest
	for _, list := range [][]badRequest{badOAuth(), badQueries(), badPaths(), badHeaders(), badBodies()} {
		rows = append(rows, list...)
	}
	names := map[string]bool{}
	for _, row := range rows {
		if names[row.name] {
			t.Errorf("two rows are called %s", row.name)
		}
		names[row.name] = true
	}
	for _, dialect := range []string{"documented", "magento"} {
		t.Run(dialect, func(t *testing.T) {
			l := apptest.Start(t, []string{"PORTICO_DIALECT=" + dialect, "PORTICO_LIMITS_BODY_BYTES=" + strconv.Itoa(bodyLimit)}, "--demo")
			for _, row := range testenv.Rows(t, rows, 4) {
				want := row.documented
				if dialect == "magento" && row.magento != (expectedReply{}) {
					want = row.magento
				}
				t.Run(row.name, func(t *testing.T) {
					got := sendBadRequest(t, strings.TrimPrefix(l.Contract, "http://"), row)
					want.check(t, got, dialect)
				})
			}
			apptest.StockQty(t, l.Contract, apptest.DemoAdmin())
			for line := range strings.Lines(l.Stderr.Text()) {
				if strings.Contains(line, "panic") || strings.Contains(line, "level=ERROR") {
					t.Errorf("logged: %.2000s", line)
				}
			}
		})
	}
}

// sendBadRequest sends one request and reads the reply.
func sendBadRequest(t *testing.T, address string, h badRequest) apptest.Reply {
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
	go func() { // the server may answer before it has read everything
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
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil && !errors.Is(err, syscall.ECONNRESET) { // a request that is not read whole may end in a reset
		t.Fatal(err)
	}
	return apptest.Reply{Status: response.StatusCode, Header: response.Header, Body: string(body), Closes: response.Close}
}

// check compares a reply with the expected one.
func (want expectedReply) check(t *testing.T, got apptest.Reply, dialect string) {
	t.Helper()
	messages, err := envelopeOf(got)
	switch {
	case want == (expectedReply{}):
		crash := dialect == "magento" && got.Status == 500 && got.Body == ""
		if !crash && (got.Status != 400 || err != nil) {
			t.Errorf("%d %.300q, want a 400 in the envelope (%v)", got.Status, got.Body, err)
		}
	case got.Status != want.status:
		t.Errorf("%d %.300q, want %d", got.Status, got.Body, want.status)
	case want.messages == "*":
	case want.bare && got.Body != want.messages:
		t.Errorf("the body is %.300q, want %q", got.Body, want.messages)
	case !want.bare && err != nil:
		t.Errorf("%.300q: %v", got.Body, err)
	case !want.bare && messages != want.messages:
		t.Errorf("%.300q, want %.300q", messages, want.messages)
	}
}

// envelopeOf returns the messages of an error envelope in JSON, joined, or an error if the
// reply has no envelope.
func envelopeOf(r apptest.Reply) (string, error) {
	var envelope struct {
		Messages struct {
			Error []struct {
				Code    int    `json:"code"`
				Message string `json:"message"`
			} `json:"error"`
		} `json:"messages"`
	}
	if err := json.Unmarshal([]byte(r.Body), &envelope); err != nil {
		return "", err
	}
	if contentType := r.Header.Get("Content-Type"); contentType != "application/json; charset=utf-8" {
		return "", fmt.Errorf("Content-Type %q", contentType)
	}
	var messages []string
	for i, entry := range envelope.Messages.Error {
		messages = append(messages, entry.Message)
		if i == len(envelope.Messages.Error)-1 && entry.Code != r.Status {
			return "", fmt.Errorf("the last code is %d", entry.Code)
		}
	}
	if len(messages) == 0 {
		return "", errors.New("no message")
	}
	return strings.Join(messages, " | "), nil
}
