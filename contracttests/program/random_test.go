//go:build linux

package program

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/mapping/auth"
	"github.com/portico-commerce/portico/mapping/contract"
)

var (
	randomFor     = flag.Duration("random", time.Second/2, "how long TestRandomClient sends requests in each dialect")
	randomDialect = flag.String("random.dialect", "", "the dialect TestRandomClient keeps to; empty for both")
	randomSeed    = flag.Uint64("random.seed", 0, "what TestRandomClient begins with; 0 for another each time")
)

// A randomClient makes up requests for every endpoint, role, format and state of
// credentials, most of them nearly valid.
type randomClient struct {
	*rand.Rand
	host     string
	routes   []*contract.Route
	tokens   []contracttests.Token // no token stands for a Guest
	recorded []contracttests.Step
	consumer [2]string // key and secret
}

// TestRandomClient sends random requests to a running program. It must answer all of them
// without an internal error, stay within its memory limits, log no error, and answer a
// good request at the end.
func TestRandomClient(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"documented", "magento"} {
		if *randomDialect != "" && *randomDialect != dialect {
			continue
		}
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			seed := *randomSeed
			if seed == 0 {
				seed = rand.Uint64()
			}
			p := apptest.Start(t, []string{"PORTICO_DIALECT=" + dialect, "PORTICO_LOG_LEVEL=error", "PORTICO_CACHE_MEMORY_BYTES=" + strconv.Itoa(cacheBytes)}, "--demo")
			c := newRandomClient(t, strings.TrimPrefix(p.Contract, "http://"), seed)
			statuses := map[int]int{}
			var conn *randomConn
			sent := 0
			for end := time.Now().Add(*randomFor); time.Now().Before(end) && !t.Failed(); sent++ {
				if sent%2000 == 1999 { // deletions use up the records
					if got := apptest.Send(t, "POST", p.Ops+"/demo/reset", ""); got.Status != http.StatusOK {
						t.Fatalf("reset: %d %s", got.Status, got.Body)
					}
				}
				request := c.request()
				if conn == nil {
					conn = dialRandom(t, c.host)
				}
				got, again, err := conn.exchange(request)
				if err != nil {
					t.Fatalf("-random.seed=%d, request %d: %v\n%.5000q", seed, sent, err, request)
				}
				statuses[got.Status]++
				if why := serverFault(dialect, request, got); why != "" {
					t.Errorf("-random.seed=%d, request %d: %s: %d %v %.500q\n%.5000q", seed, sent, why, got.Status, got.Header, got.Body, request)
				}
				if !again {
					_ = conn.Close()
					conn = nil
				}
			}
			if conn != nil {
				_ = conn.Close()
			}
			if got := apptest.Send(t, "POST", p.Ops+"/demo/reset", ""); got.Status != http.StatusOK {
				t.Errorf("reset: %d %s", got.Status, got.Body)
			}
			apptest.StockQty(t, p.Contract, apptest.DemoAdmin())
			if most := p.PeakResident(t); most > maxResident+cacheBytes {
				t.Errorf("%d bytes were resident, the bound is %d", most, maxResident+cacheBytes)
			}
			if log := p.Stderr.Text(); log != "" {
				t.Errorf("logged: %.5000s", log)
			}
			t.Logf("-random.seed=%d: %d requests, at most %d MiB resident; replies: %v", seed, sent, p.PeakResident(t)>>20, statuses)
		})
	}
}

// serverFault returns the fault of the reply to a request, or "". It also reports an
// internal error that the contract does not define.
func serverFault(dialect, request string, got apptest.Reply) string {
	switch {
	case got.Status < http.StatusInternalServerError:
		return ""
	case got.Status == http.StatusInternalServerError && lengthOf(got, "Service temporary unavailable") && strings.Contains(request, "\r\nAccept: "): // which is not acceptable
		return ""
	case strings.Contains(request, " /oauth/") && lengthOf(got, "oauth_problem=internal_error&message=Invalid URI supplied"): // wire 13
		return ""
	case got.Status == http.StatusServiceUnavailable && got.Header.Get("Retry-After") != "":
		return ""
	case dialect == "magento": // which has internal errors for mistakes of a client; the program's own errors are in the log
		return ""
	// The item_id of another stock item (stock_orders 2.3), perhaps in a reply of the form
	// text/plain.
	case strings.HasPrefix(request, "PUT ") && strings.Contains(request, "stockitems/") && strings.Contains(request, "item_id") && strings.Contains(strings.ReplaceAll(got.Body, "+", " "), "Resource internal error."):
		return ""
	}
	return "an internal error"
}

// lengthOf reports whether the Content-Length of the reply is the length of body. Unlike a
// comparison of bodies this works for HEAD, too.
func lengthOf(got apptest.Reply, body string) bool {
	return got.Header.Get("Content-Length") == strconv.Itoa(len(body))
}

// newRandomClient returns a client with a seed.
func newRandomClient(t *testing.T, host string, seed uint64) *randomClient {
	t.Helper()
	data := demotest.Data(t)
	c := &randomClient{Rand: rand.New(rand.NewPCG(seed, 0)), host: host, routes: contract.Routes(contract.StandardFields()), consumer: [2]string{data.Consumer.Key, data.Consumer.Secret}}
	for _, token := range data.Tokens {
		c.tokens = append(c.tokens, contracttests.Token{Token: token.Token, Secret: token.Secret})
	}
	recorded := apptest.Exchanges(t)
	for _, exchange := range recorded {
		c.recorded = append(c.recorded, exchange.Steps...)
	}
	return c
}

// A randomConn is a connection over which several requests are sent.
type randomConn struct {
	net.Conn
	reader *bufio.Reader
}

// dialRandom opens a connection to host.
func dialRandom(t *testing.T, host string) *randomConn {
	t.Helper()
	conn, err := net.DialTimeout("tcp", host, apptest.WaitTimeout)
	if err != nil {
		t.Fatal(err)
	}
	return &randomConn{conn, bufio.NewReader(conn)}
}

// exchange sends a request and reads the reply. again reports whether the connection can
// be used again.
func (c *randomConn) exchange(request string) (got apptest.Reply, again bool, err error) {
	if err := c.SetDeadline(time.Now().Add(apptest.WaitTimeout)); err != nil {
		return got, false, err
	}
	if _, err := io.WriteString(c, request); err != nil {
		return got, false, err
	}
	method, _, _ := strings.Cut(request, " ")
	response, err := http.ReadResponse(c.reader, &http.Request{Method: method})
	if err != nil {
		return got, false, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if response.Close {
		err = nil // the server may not have read all of a bad request, which resets the connection
	}
	return apptest.Reply{Status: response.StatusCode, Header: response.Header, Body: string(body)}, !response.Close, err
}

// pick returns a random one of some texts.
func (c *randomClient) pick(of ...string) string { return of[c.IntN(len(of))] }

// oneIn returns true with a probability of one in times.
func (c *randomClient) oneIn(times int) bool { return c.IntN(times) == 0 }

// request makes up a request in wire format.
func (c *randomClient) request() string {
	var method, target, contentType, body string
	if c.oneIn(3) {
		step := c.recorded[c.IntN(len(c.recorded))]
		method, target = step.Method, "/api/rest"+step.Path
		if whole, ok := strings.CutPrefix(step.Path, "!"); ok {
			target = whole
		}
		if step.ContentType != nil {
			contentType = *step.ContentType
		}
		if step.Body != nil {
			body = *step.Body
		}
		target, body = c.mutate(target, 4), c.mutate(body, 2)
	} else {
		route := c.routes[c.IntN(len(c.routes))]
		method = c.pick("GET", "GET", "GET", "PUT", "PUT", "POST", "POST", "DELETE", "HEAD", "OPTIONS", "PATCH")
		target = c.target(route)
		if method == "PUT" || method == "POST" || c.oneIn(20) {
			contentType, body = c.body(route)
		}
	}
	if c.oneIn(10) {
		contentType = c.pick("", "text/html", "application/json;charset=latin1", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "APPLICATION/JSON", ";", "application/json; charset=")
	}
	target = sendable(target)
	headers := []string{"Host: " + c.pick(c.host, c.host, c.host, "shop.example", "[::1]:80", "x:99999", "")}
	accept := c.pick("application/json", "application/json", "text/xml", "text/plain", "*/*", "")
	if c.oneIn(10) {
		accept = c.pick("image/png", "text/*;q=0", "application/xml;q=0.1, application/json;q=NaN", ",;=,", "text/html", "\xff")
	}
	if accept != "" {
		headers = append(headers, "Accept: "+accept)
	}
	if contentType != "" {
		headers = append(headers, "Content-Type: "+sendable(contentType))
	}
	if authorization := c.authorization(method, target); authorization != "" {
		headers = append(headers, "Authorization: "+authorization)
	}
	if c.oneIn(5) {
		headers = append(headers, c.pick("Version: ", "Accept-Encoding: ", "X-Forwarded-For: ", "X-Forwarded-Proto: ", "If-None-Match: ", "X-HTTP-Method-Override: ", "X-Request-Id: ", "Cookie: ", "Range: ", "Forwarded: ", "traceparent: ")+
			c.pick("1", "2", "0", "DELETE", "gzip", "*", "bytes=0-1", "\xff\xfe", "<b>", "'", strings.Repeat("9", 5000), "::1", "https"))
	}
	version := c.pick("1.1", "1.1", "1.1", "1.1", "1.0")
	if c.oneIn(20) {
		headers = append(headers, "Transfer-Encoding: chunked")
		body = fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
		if body[0] == '0' {
			body = "0\r\n\r\n"
		}
	} else {
		headers = append(headers, "Content-Length: "+strconv.Itoa(len(body)))
	}
	return method + " " + target + " HTTP/" + version + "\r\n" + strings.Join(headers, "\r\n") + "\r\n\r\n" + body
}

// sendable removes the characters from text that would end a request target or a header.
// It may remove everything.
func sendable(text string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' {
			return '+'
		}
		return r
	}, text)
}

// oddValue returns a value that hardly any field expects.
func (c *randomClient) oddValue() string {
	return c.pick("", "0", "-1", "1", "2", "3", "1.5", "01", " 1", "1e400", "-1e-400", "9223372036854775808", "2147483648", "99999999.99995", "NaN", "true", "null", "\x00", "a\x00b", "\xff", "\x01", "\U0001f600", "ß", "'", `"`, "\\", "%", "_", "<&>",
		"2012-02-30", "0000-00-00 00:00:00", "9999-12-31 23:59:59", "10000-01-01", "12/31/2012", "a@example.com", "jane.doe@example.com", "US", "TX", "kettle-steel", "simple", "default", "french", "admin", "{{base_url}}", "image/gif", "http://x/y.gif", "R0lGODlhAQABAAAAACw=",
		strings.Repeat("x", c.IntN(300)), strings.Repeat("9", c.IntN(400)), strconv.Itoa(c.IntN(20)), string([]byte{byte(c.IntN(256)), byte(c.IntN(256))}))
}

// target makes up the request target of a call of route.
func (c *randomClient) target(route *contract.Route) string {
	if c.oneIn(30) {
		return c.pick("/", "/api", "/api/rest", "/api/restx/products", "/api/soap", "/media/catalog/product/x.gif", "/media/../x", "/oauth/initiate", "/oauth/token", "/oauth/authorize", "/oauth/authorize/simple", "/oauth/authorize/confirm", "/oauth/authorize/reject",
			"/customer/account/loginPost/", "/admin/oauth_authorize", "/admin/oauth_authorize/confirm", "*", "http://shop.example/api/rest/products") + c.pick("", "?oauth_token="+url.QueryEscape(c.oddValue()), "?oauth_callback=oob&oauth_token="+c.tokens[0].Token)
	}
	parts := strings.Split(route.Path, "/")
	for i, part := range parts {
		if strings.HasPrefix(part, ":") {
			parts[i] = strconv.Itoa(1 + c.IntN(12))
			if c.oneIn(5) {
				parts[i] = url.QueryEscape(c.oddValue())
			}
		}
	}
	target := "/api/rest" + strings.Join(parts, "/")
	for n := c.IntN(4); n > 0; n-- {
		target += c.pick("&", "&", "&", ";", "&&")[:1] + c.parameter(route)
	}
	return strings.Replace(target, "&", "?", 1)
}

// parameter makes up a query parameter.
func (c *randomClient) parameter(route *contract.Route) string {
	field := route.Fields.Fields[c.IntN(len(route.Fields.Fields))].Name
	value := url.QueryEscape(c.oddValue())
	switch c.IntN(8) {
	case 0:
		return "limit=" + value
	case 1:
		return "page=" + value
	case 2:
		return "order=" + field + "&dir=" + c.pick("asc", "desc", "", value)
	case 3:
		return "attrs=" + field + c.pick("", ",entity_id", "&attrs[]="+value)
	case 4:
		return c.pick("store", "category_id", "type", "model", "oauth_token", "_method") + c.pick("=", "[]=", "[a]=") + value
	case 5:
		return c.mutate("filter[1][attribute]="+field+"&filter[1][eq]="+value, 3)
	}
	entry := "filter[" + c.pick("1", "2", "a", "") + "]"
	operator := c.pick("eq", "neq", "like", "nlike", "in", "nin", "in][", "gt", "lt", "gteq", "lteq", "from", "to", "null", "notnull", "finset", "is", "regexp", "seq", "sneq", "moreq", "", "0][like")
	return entry + "[attribute]=" + field + "&" + entry + "[" + operator + "]=" + value
}

// body makes up a body with a record or a list of records, and its media type.
func (c *randomClient) body(route *contract.Route) (contentType, body string) {
	record := map[string]any{}
	for n := 1 + c.IntN(6); n > 0; n-- {
		field := route.Fields.Fields[c.IntN(len(route.Fields.Fields))]
		record[field.Name] = c.value(field.Part, 3)
	}
	contentType = c.pick("application/json", "text/xml", "text/plain")
	switch contentType {
	case "application/json":
		var sent any = record
		if c.oneIn(5) {
			sent = []any{record, c.value(route.Fields, 2)}
		}
		text, err := json.Marshal(sent)
		if err != nil {
			panic(err) // of nothing but texts, numbers, lists and maps
		}
		body = string(text)
	case "text/xml":
		body = "<r>" + asXML(record) + "</r>"
	default:
		body = strings.Join(formPairs("", record), "&")
	}
	return contentType, c.mutate(body, 8)
}

// value makes up a value. fields are the fields of the records that it may contain.
func (c *randomClient) value(fields *contract.FieldTable, depth int) any {
	switch c.IntN(10) {
	case 0:
		return c.oneIn(2)
	case 1:
		return nil
	case 2:
		return c.IntN(10)
	case 3:
		return (c.Float64() - 0.5) * float64(uint64(1)<<c.IntN(64))
	case 4, 5:
		list := []any{}
		for n := c.IntN(3); n > 0 && depth > 0; n-- {
			list = append(list, c.value(fields, depth-1))
		}
		return list
	case 6, 7:
		record := map[string]any{}
		for n := c.IntN(3); n > 0 && depth > 0; n-- {
			name := c.pick("0", "1", "a", "attribute", "value", "website_id", "qty")
			if fields != nil {
				name = fields.Fields[c.IntN(len(fields.Fields))].Name
			}
			record[name] = c.value(nil, depth-1)
		}
		return record
	}
	return c.oddValue()
}

// asXML formats a record as XML.
func asXML(v any) string {
	var text strings.Builder
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			tag := name
			if name[0] <= '9' {
				tag = "data_item"
			}
			text.WriteString("<" + tag + ">" + asXML(v[name]) + "</" + tag + ">")
		}
	case []any:
		for _, item := range v {
			text.WriteString("<data_item>" + asXML(item) + "</data_item>")
		}
	default:
		return strings.NewReplacer("&", "&amp;", "<", "&lt;").Replace(fmt.Sprint(v))
	}
	return text.String()
}

// formPairs formats a record as the pairs of a form.
func formPairs(name string, v any) []string {
	var all []string
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			inner := name + "[" + key + "]"
			if name == "" {
				inner = key
			}
			all = append(all, formPairs(inner, v[key])...)
		}
	case []any:
		for _, item := range v {
			all = append(all, formPairs(name+"[]", item)...)
		}
	default:
		all = append(all, name+"="+url.QueryEscape(fmt.Sprint(v)))
	}
	return all
}

// mutate changes a text in a random place, with a probability of one in times.
func (c *randomClient) mutate(text string, times int) string {
	if !c.oneIn(times) || text == "" {
		return text
	}
	from := c.IntN(len(text))
	to := min(from+c.IntN(8), len(text))
	return text[:from] + c.pick("", c.oddValue(), text[from:to]+text[from:to], "[", "]", "\"", "{}", "<", "&", "%00", "0") + text[to:]
}

// authorization makes up an Authorization header, or "" for none.
func (c *randomClient) authorization(method, target string) string {
	token := c.tokens[c.IntN(len(c.tokens))]
	plain := apptest.PlaintextHeader(c.consumer[0], c.consumer[1], token.Token, token.Secret)
	switch c.IntN(20) {
	case 0:
		return ""
	case 1:
		return sendableHeader(c.mutate(plain, 1))
	case 2:
		return c.pick("OAuth", "Basic eDp5", "Bearer "+token.Token, "OAuth realm=\"x\"", "oauth,,,=", "OAuth oauth_token=%")
	case 3, 4:
		r := &auth.Request{Method: method, Scheme: "http", Host: c.host, Target: target}
		signed, err := auth.NewSigner(c.consumer[0], c.consumer[1], token.Token, token.Secret).Sign(r, time.Now())
		if err != nil {
			return ""
		}
		return sendableHeader(c.mutate(signed, 5))
	case 5, 6, 7, 8, 9, 10, 11, 12:
		return apptest.DemoAdmin()
	}
	return plain
}

// sendableHeader is sendable for header values.
func sendableHeader(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return '.'
		}
		return r
	}, text)
}
