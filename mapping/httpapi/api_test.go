package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/adapter/guard"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/auth"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/httpapi"
	"github.com/portico-commerce/portico/mapping/pipeline"
)

const (
	hang = 3 * time.Minute
	item = "/api/rest/stockitems/1"
)

// lines returns the log lines of requests.
func (s *served) lines(t *testing.T) (lines []map[string]any) {
	t.Helper()
	for line := range strings.Lines(s.log.String()) {
		attributes := map[string]any{}
		if err := json.Unmarshal([]byte(line), &attributes); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, attributes)
	}
	return lines
}

// A served is a running API on a demo store.
type served struct {
	address string // host:port
	log     *testenv.Log
	metrics *prometheus.Registry
	server  *httptest.Server
	folder  string // of the database and the folder media
}

// serve serves the demo store in the documented dialect until the test ends.
func serve(t *testing.T, trusted ...string) *served {
	t.Helper()
	return serveUpstream(t, httpapi.Options{TrustedProxies: prefixes(trusted...)}, unchanged)
}

func prefixes(networks ...string) (all []netip.Prefix) {
	for _, network := range networks {
		all = append(all, netip.MustParsePrefix(network))
	}
	return all
}

// serveUpstream serves the demo store wrapped by between.
func serveUpstream(t *testing.T, options httpapi.Options, between func(adapter.Adapter) adapter.Adapter) *served {
	t.Helper()
	engine := newEngine()
	s, err := mount(t, engine, options, between)
	if err != nil {
		t.Fatal(err)
	}
	s.start(t, httptest.NewServer(engine))
	return s
}

// newEngine returns an engine that does not print its routes.
func newEngine() *gin.Engine {
	gin.SetMode(gin.ReleaseMode)
	return gin.New()
}

// unchanged is an upstream that is not wrapped.
func unchanged(upstream adapter.Adapter) adapter.Adapter { return upstream }

// start records the server and the address of s.
func (s *served) start(t *testing.T, server *httptest.Server) {
	s.server = server
	t.Cleanup(server.Close)
	s.address = strings.TrimPrefix(server.URL, "http://")
}

// behind serves the handler of s, which has connections among its options, on them.
func (s *served) behind(t *testing.T, connections *httpapi.Connections) *served {
	t.Helper()
	counted := *s
	server := httptest.NewUnstartedServer(s.server.Config.Handler)
	server.Listener = connections.Listener(server.Listener)
	server.Config.ConnContext, server.Config.ConnState = connections.Context, connections.State
	server.Start()
	counted.start(t, server)
	return &counted
}

// mount mounts the demo store, wrapped by between, on an engine. The result has no server yet.
func mount(t *testing.T, engine *gin.Engine, options httpapi.Options, between func(adapter.Adapter) adapter.Adapter) (*served, error) {
	t.Helper()
	dsn := demotest.SQLite(t)
	folder := filepath.Dir(strings.TrimPrefix(dsn, "sqlite:"))
	db, err := sqlstore.Open(t.Context(), sqlstore.Options{DSN: dsn, MediaDir: filepath.Join(folder, "media")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	s := &served{log: &testenv.Log{}, folder: folder, metrics: prometheus.NewRegistry()}
	log := slog.New(httpapi.NewLogHandler(slog.NewJSONHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}), &httpapi.LogLines{To: s.log, JSON: true}))
	service, err := mapping.New(contract.Documented(), contract.StandardFields(), between(db.Adapter()), adapter.NewSchemas(), auth.New(db.Credentials(), db.Credentials(), auth.Options{}),
		mapping.Settings{Settings: pipeline.Settings{BodyBytes: 1 << 20, QueryBytes: 1 << 16, MaxRows: 100_000, Now: time.Now}, ImagePixels: 100}, log)
	if err != nil {
		t.Fatal(err)
	}
	metrics := httpapi.NewMetrics(s.metrics)
	options.Log, options.Metrics = log, metrics
	if options.OpenMedia == nil {
		options.OpenMedia = db.OpenMedia
	}
	return s, httpapi.Mount(engine, service, options)
}

// A connection sends raw requests and reads the replies.
type connection struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

func (s *served) dial(t *testing.T) *connection {
	t.Helper()
	conn, err := net.DialTimeout("tcp", s.address, hang)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(hang)); err != nil {
		t.Fatal(err)
	}
	return &connection{t: t, conn: conn, in: bufio.NewReader(conn)}
}

// A reply is a completely read reply.
type reply struct {
	*http.Response
	body string
}

// send writes a request; lines are joined by line breaks, and an empty body
// follows.
func (c *connection) send(lines ...string) {
	c.t.Helper()
	c.write(strings.Join(lines, "\r\n") + "\r\n\r\n")
}

func (c *connection) write(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.conn, text); err != nil {
		c.t.Fatal(err)
	}
}

// receive reads the reply to a request of the given method.
func (c *connection) receive(method string) reply {
	c.t.Helper()
	response, err := http.ReadResponse(c.in, &http.Request{Method: method})
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return reply{response, string(body)}
}

// call sends one request over a new connection.
func (s *served) call(t *testing.T, lines ...string) reply {
	t.Helper()
	c := s.dial(t)
	c.send(lines...)
	method, _, _ := strings.Cut(lines[0], " ")
	return c.receive(method)
}

const admin = `Authorization: OAuth oauth_consumer_key="aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", oauth_token="cccccccccccccccccccccccccccccccc", ` +
	`oauth_signature_method="PLAINTEXT", oauth_signature="bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb%26dddddddddddddddddddddddddddddddd"`

// signed returns the Authorization header for a GET of address by the administrator, signed
// with HMAC-SHA1 (wire 12).
func signed(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	of := func(letter string) string { return strings.Repeat(letter, 32) }
	signer := auth.NewSigner(of("a"), of("b"), of("c"), of("d"))
	header, err := signer.Sign(&auth.Request{Method: "GET", Scheme: u.Scheme, Host: u.Host, Target: u.Path}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return "Authorization: " + header
}

// TestForwardedProto signs for one scheme and sends the call through a proxy that is or is
// not trusted.
func TestForwardedProto(t *testing.T) {
	tests := []struct {
		name      string
		trusted   []string
		forwarded []string
		scheme    string // that the server has to take it for
	}{
		{"no header", []string{"127.0.0.0/8"}, nil, "http"},
		{"trusted network", []string{"127.0.0.0/8"}, []string{"X-Forwarded-Proto: https"}, "https"},
		{"trusted address", []string{"10.0.0.0/8", "127.0.0.1/32"}, []string{"X-Forwarded-Proto: https"}, "https"},
		{"in capitals", []string{"127.0.0.1/32"}, []string{"X-Forwarded-Proto: HTTPS"}, "https"},
		{"plain http", []string{"127.0.0.1/32"}, []string{"X-Forwarded-Proto: http"}, "http"},
		{"nonsense", []string{"127.0.0.1/32"}, []string{"X-Forwarded-Proto: gopher"}, "http"},
		{"list that begins with https", []string{"127.0.0.1/32"}, []string{"X-Forwarded-Proto: https, http"}, "https"},
		{"list that ends with https", []string{"127.0.0.1/32"}, []string{"X-Forwarded-Proto: http,https"}, "http"},
		{"no trusted proxies", nil, []string{"X-Forwarded-Proto: https"}, "http"},
		{"another proxy is trusted", []string{"10.0.0.0/8", "::1/128"}, []string{"X-Forwarded-Proto: https"}, "http"},
		{"client that claims to be trusted", []string{"10.0.0.0/8"}, []string{"X-Forwarded-Proto: https", "X-Forwarded-For: 10.0.0.1"}, "http"},
		{"offloader header", []string{"127.0.0.1/32"}, []string{"SSL_OFFLOADED: 1"}, "https"},
		{"offloader header with a hyphen", []string{"127.0.0.1/32"}, []string{"Ssl-Offloaded: https"}, "https"},
		{"offloader header besides X-Forwarded-Proto", []string{"127.0.0.1/32"}, []string{"X-Forwarded-Proto: http", "SSL-OFFLOADED: on"}, "https"},
		{"offloader header that says http", []string{"127.0.0.1/32"}, []string{"SSL_OFFLOADED: http"}, "http"},
		{"offloader header that says 0", []string{"127.0.0.1/32"}, []string{"SSL_OFFLOADED: 0"}, "http"},
		{"empty offloader header", []string{"127.0.0.1/32"}, []string{"SSL_OFFLOADED:"}, "http"},
		{"offloader header of another proxy", []string{"10.0.0.0/8"}, []string{"SSL_OFFLOADED: 1"}, "http"},
		{"another header", []string{"127.0.0.1/32"}, []string{"Front-End-Https: on"}, "http"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serveUpstream(t, httpapi.Options{TrustedProxies: prefixes(tt.trusted...), OffloaderHeaders: httpapi.OffloaderHeaders("SSL_OFFLOADED")}, unchanged)
			for _, scheme := range []string{"http", "https"} {
				lines := append([]string{"GET " + item + " HTTP/1.1", "Host: shop.example", "Accept: application/json", signed(t, scheme+"://shop.example"+item)}, tt.forwarded...)
				want := http.StatusUnauthorized
				if scheme == tt.scheme {
					want = http.StatusOK
				}
				if got := s.call(t, lines...); got.StatusCode != want {
					t.Errorf("signed for %s: %d %s, want %d", scheme, got.StatusCode, got.body, want)
				}
			}
		})
	}
}

// TestIgnoredForwarding checks that the log names an ignored header once, and the setting that decides.
func TestIgnoredForwarding(t *testing.T) {
	for name, tt := range map[string]struct {
		trusted []string
		sent    string
		want    string // "": nothing is logged
	}{
		"proto of a stranger":     {nil, "X-Forwarded-Proto: https", "trusted_proxies"},
		"Forwarded of a stranger": {[]string{"10.0.0.0/8"}, "Forwarded: proto=https", "trusted_proxies"},
		"Forwarded of a proxy":    {[]string{"127.0.0.1/32"}, "Forwarded: proto=https", "let the proxy send X-Forwarded-Proto"},
		"proto of a proxy":        {[]string{"127.0.0.1/32"}, "X-Forwarded-Proto: https", ""},
		"no header":               {nil, "X-Other: 1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := serveUpstream(t, httpapi.Options{TrustedProxies: prefixes(tt.trusted...)}, unchanged)
			for range 2 {
				s.call(t, "GET "+item+" HTTP/1.1", "Host: shop.example", tt.sent)
			}
			const line = "a forwarding header is ignored"
			if logged := s.log.String(); strings.Count(logged, line) != min(1, len(tt.want)) || !strings.Contains(logged, tt.want) {
				t.Errorf("want %q, and got\n%s", tt.want, logged)
			}
		})
	}
}

// TestClientAddress checks the client address in the log.
func TestClientAddress(t *testing.T) {
	for name, tt := range map[string]struct {
		trusted []string
		sent    string
		want    string
	}{
		"trusted proxy":         {[]string{"127.0.0.1/32"}, "203.0.113.9", "203.0.113.9"},
		"last that is no proxy": {[]string{"127.0.0.1/32", "10.0.0.0/8"}, "198.51.100.1, 203.0.113.9, 10.0.0.3", "203.0.113.9"},
		"no trusted proxies":    {nil, "203.0.113.9", "127.0.0.1"},
		"no address":            {[]string{"127.0.0.1/32"}, "root", "127.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, tt.trusted...)
			s.call(t, "GET / HTTP/1.1", "Host: x", "X-Forwarded-For: "+tt.sent)
			if got := s.lines(t)[0]["client"]; got != tt.want {
				t.Errorf("the client is %v, want %s", got, tt.want)
			}
		})
	}
}

func TestRequestIDs(t *testing.T) {
	s := serve(t)
	tests := []struct {
		name, id string
		kept     bool
	}{
		{"word", "order-17_a.B", true},
		{"longest", strings.Repeat("x", 64), true},
		{"UUID", "123e4567-e89b-12d3-a456-426614174000", true},
		{"too long", strings.Repeat("x", 65), false},
		{"empty", "", false},
		{"blank inside", "a b", false},
		{"injected log line", `a level=ERROR msg="forged"`, false},
		{"markup", "<script>", false},
		{"quote", `a"b`, false},
		{"not ASCII", "Bestellung-ä", false},
		{"terminal escape", "a%1b[31m", false},
	}
	seen := map[string]bool{}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := s.call(t, "GET "+item+" HTTP/1.1", "Host: x", "X-Request-Id: "+tt.id).Header["X-Request-Id"]
			if len(got) != 1 || got[0] == "" || (got[0] == tt.id) != tt.kept {
				t.Fatalf("the id is %q", got)
			}
			if seen[got[0]] {
				t.Errorf("the id %s comes twice", got[0])
			}
			seen[got[0]] = true
			lines := s.lines(t)
			if logged := lines[len(lines)-1]["request_id"]; logged != got[0] {
				t.Errorf("the log has %v, the reply %s", logged, got[0])
			}
		})
	}
}

const trace = "4bf92f3577b34da6a3ce929d0e0e4736"

// TestLogs sends secrets in every part of a request.
func TestLogs(t *testing.T) {
	s := serve(t)
	const body = `{"qty":"3","note":"hush-body"}`
	tests := []struct {
		lines []string
		body  string
		want  map[string]any
	}{
		{[]string{"GET /api/rest/stockitems/1?limit=0hush&hush=hush-query&filter[1][hush]=hush HTTP/1.1", admin, "Accept: application/json", "Traceparent: 00-" + trace + "-00f067aa0ba902b7-01"}, "",
			map[string]any{"call": "getStockItem", "method": "GET", "status": 200.0, "role": "admin", "problem": nil, "resource": "stock_items", "path": "/api/rest/stockitems/1",
				"parameters": "limit,other,filter", "consumer": "aaaaaaaa", "trace_id": trace, "cache": nil, "side": nil, "cut": nil}},
		{[]string{"PUT " + item + " HTTP/1.1", admin, "Content-Type: application/json", "Content-Length: " + strconv.Itoa(len(body))}, body,
			map[string]any{"call": "updateStockItem", "method": "PUT", "status": 200.0, "role": "admin", "bytes": 0.0}},
		{[]string{"GET /api/rest/stockitems/hush-path HTTP/1.1", "Authorization: Basic hush-basic", "Cookie: hush-cookie", "User-Agent: hush-agent", "Referer: hush-referer"}, "",
			map[string]any{"call": "getStockItem", "status": 403.0, "role": "guest", "path": "/api/rest/stockitems/*", "problem": "Access denied", "consumer": nil, "parameters": nil, "trace_id": nil}},
		{[]string{"GET " + item + " HTTP/1.1", strings.Replace(admin, "dddd", "hush", 1)}, "",
			map[string]any{"call": "getStockItem", "status": 401.0, "problem": "signature_invalid"}},
		{[]string{"GET " + item + " HTTP/1.1", `Authorization: OAuth oauth_consumer_key="visible-hush-key"`}, "",
			map[string]any{"status": 401.0, "problem": "parameter_absent", "consumer": "visible-"}},
		{[]string{"PUT " + item + " HTTP/1.1", admin, "Content-Type: hush/x", "Content-Length: 0"}, "",
			map[string]any{"status": 400.0, "problem": "Server can not understand Content-Type HTTP header media type \"…\""}},
		{[]string{"GET /hush-outside HTTP/1.1"}, "", map[string]any{"call": "none", "status": 404.0, "role": "", "client": "127.0.0.1", "path": "/*", "resource": nil}},
		{[]string{strings.Repeat("LONG", 1000) + " " + item + " HTTP/1.1", admin, "Accept: application/json"}, "",
			map[string]any{"call": "other", "method": "OTHER", "status": 400.0}},
	}
	for i, tt := range tests {
		c := s.dial(t)
		c.send(append(tt.lines, "Host: x")...)
		c.write(tt.body)
		got := c.receive("GET")
		lines := s.lines(t)
		if len(lines) != i+1 {
			t.Fatalf("%d log lines after %d requests:\n%s", len(lines), i+1, s.log.String())
		}
		line := lines[i]
		if line["msg"] != "request" || line["request_id"] != got.Header.Get("X-Request-Id") || line["took"] == nil || line["bytes"] != float64(len(got.body)) {
			t.Errorf("the line %v does not fit the reply %v", line, got.Header)
		}
		for name, want := range tt.want {
			if line[name] != want {
				t.Errorf("%s is %v, want %v in %v", name, line[name], want, line)
			}
		}
	}
	for _, secret := range []string{"hush", "OAuth", strings.Repeat("a", 32), strings.Repeat("b", 32), strings.Repeat("c", 32), strings.Repeat("d", 32), "aaaaaaaaa", "qty"} {
		if strings.Contains(s.log.String(), secret) {
			t.Errorf("%s is logged:\n%s", secret, s.log.String())
		}
	}
}

// TestErrorLines checks that lines about a failure have the ids of its request, in packages
// below this one, too, and that the line of the request has the time of the upstream.
func TestErrorLines(t *testing.T) {
	metrics := guard.NewMetrics(prometheus.NewRegistry())
	failing := guard.New(metrics, guard.Options{Name: "store"})
	s := serveUpstream(t, httpapi.Options{}, func(upstream adapter.Adapter) adapter.Adapter {
		return failing.Adapter(brokenUpstream{upstream})
	})
	s.call(t, "GET "+item+" HTTP/1.1", "Host: x", admin, "X-Request-Id: order-17", "Traceparent: 00-"+trace+"-00f067aa0ba902b7-01")
	lines := s.lines(t)
	if len(lines) != 2 || lines[0]["msg"] != "call failed" || lines[1]["msg"] != "request" {
		t.Fatal(s.log.String())
	}
	for _, line := range lines {
		if line["request_id"] != "order-17" || line["trace_id"] != trace {
			t.Errorf("%v", line)
		}
	}
	if took, _ := lines[1]["upstream"].(float64); took <= 0 || took > lines[1]["took"].(float64) || lines[1]["problem"] != "internal" {
		t.Errorf("%v", lines[1])
	}
}

// A brokenUpstream has stores that fail.
type brokenUpstream struct{ adapter.Adapter }

// Store returns a store whose records cannot be read.
func (b brokenUpstream) Store(r adapter.Resource) (adapter.Store, error) {
	store, err := b.Adapter.Store(r)
	return brokenStore{store}, err
}

type brokenStore struct{ adapter.Store }

// Get fails.
func (brokenStore) Get(context.Context, *adapter.GetParams) (adapter.Record, error) {
	return adapter.Record{}, errors.New("no such table")
}

// TestRecovery checks that a panic outside the calls of the contract is answered, logged and
// counted, and that http.ErrAbortHandler breaks the connection.
func TestRecovery(t *testing.T) {
	const image = "GET /media/catalog/product/x.png HTTP/1.1"
	var failure any
	s := serveUpstream(t, httpapi.Options{OpenMedia: func(context.Context, string) (*adapter.MediaFile, error) { panic(failure) }}, unchanged)

	failure = "no picture today"
	c := s.dial(t)
	for range 2 { // the connection stays usable
		c.send(image, "Host: x")
		got := c.receive("GET")
		if got.StatusCode != 500 || got.body != "Internal error\n" || got.Close || got.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%d %q %v", got.StatusCode, got.body, got.Header)
		}
	}
	panics, request := s.lines(t)[0], s.lines(t)[1]
	if panics["msg"] != "panic" || panics["panic"] != failure || panics["request_id"] != request["request_id"] || panics["call"] != "none" || !strings.Contains(fmt.Sprint(panics["stack"]), "TestRecovery") || request["status"] != 500.0 {
		t.Errorf("logged:\n%s", s.log.String())
	}
	if n := s.count(t, "portico_requests_total"); n != 2 {
		t.Errorf("%v requests are counted, want 2", n)
	}

	failure = http.ErrAbortHandler
	c.send(image, "Host: x")
	if rest, err := io.ReadAll(c.in); err != nil || len(rest) > 0 {
		t.Errorf("%q, %v, want the end of the connection", rest, err)
	}
	s.end()
	if lines := s.lines(t); len(lines) != 5 || lines[4]["cut"] != true {
		t.Errorf("logged:\n%s", s.log.String())
	}
}

// TestHeaders checks the headers of replies of every kind.
func TestHeaders(t *testing.T) {
	const asJSON = "application/json; charset=utf-8"
	s := serve(t)
	tests := []struct {
		name        string
		lines       []string
		status      int
		contentType string
	}{
		{"a record", []string{"GET " + item + " HTTP/1.1", admin, "Accept: application/json"}, 200, asJSON},
		{"XML", []string{"GET " + item + " HTTP/1.1", admin, "Accept: text/xml"}, 200, "application/xml; charset=utf-8"},
		{"text", []string{"GET " + item + " HTTP/1.1", admin, "Accept: text/plain"}, 200, "text/plain; charset=utf-8"},
		{"the endpoint's own format", []string{"GET " + item + " HTTP/1.1", admin}, 200, asJSON},
		{"format of no route", []string{"GET /api/rest/nowhere HTTP/1.1"}, 404, "application/xml; charset=utf-8"},
		{"nothing acceptable", []string{"GET " + item + " HTTP/1.1", "Accept: image/png"}, 500, "text/html; charset=UTF-8"},
		{"401", []string{"GET " + item + " HTTP/1.1", "Authorization: OAuth x"}, 401, asJSON},
		{"403", []string{"GET " + item + " HTTP/1.1"}, 403, asJSON},
		{"405", []string{"DELETE " + item + " HTTP/1.1", admin}, 405, asJSON},
		{"unknown method", []string{"PATCH " + item + " HTTP/1.1", admin}, 400, asJSON},
		{"HEAD of a record", []string{"HEAD " + item + " HTTP/1.1", admin, "Accept: text/xml"}, 400, "application/xml; charset=utf-8"},
		{"HEAD by a guest", []string{"HEAD " + item + " HTTP/1.1"}, 400, asJSON},
		{"HEAD of no route", []string{"HEAD /api/rest/nowhere HTTP/1.1", "Accept: application/json"}, 404, asJSON},
		{"HEAD with bad credentials", []string{"HEAD " + item + " HTTP/1.1", "Authorization: OAuth x"}, 401, asJSON},
		{"HEAD outside", []string{"HEAD / HTTP/1.1"}, 404, "text/plain; charset=utf-8"},
		{"outside", []string{"GET / HTTP/1.1"}, 404, "text/plain; charset=utf-8"},
		{"outside by an unknown method", []string{"PATCH / HTTP/1.1"}, 404, "text/plain; charset=utf-8"},
		{"doubled slash", []string{"GET //api/rest/stockitems HTTP/1.1"}, 404, "text/plain; charset=utf-8"},
		{"escaped prefix", []string{"GET /api/%72est/stockitems HTTP/1.1"}, 404, "text/plain; charset=utf-8"},
		{"prefix in capitals", []string{"GET /API/rest/stockitems HTTP/1.1"}, 404, "text/plain; charset=utf-8"},
		{"another API", []string{"GET /api/v2_soap HTTP/1.1"}, 404, "text/plain; charset=utf-8"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := s.call(t, append(tt.lines, "Host: x")...)
			if got.StatusCode != tt.status || got.Header.Get("Content-Type") != tt.contentType {
				t.Errorf("%d %s %s, want %d %s", got.StatusCode, got.Header.Get("Content-Type"), got.body, tt.status, tt.contentType)
			}
			head := strings.HasPrefix(tt.lines[0], "HEAD ")
			if (got.body == "") != head || got.ContentLength <= 0 {
				t.Errorf("the body is %q, its length %d", got.body, got.ContentLength)
			}
			if got.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("Cache-Control is %q", got.Header.Get("Cache-Control"))
			}
			for _, name := range []string{"Allow", "WWW-Authenticate", "Location", "Server"} {
				if value, sent := got.Header[name]; sent {
					t.Errorf("%s is sent: %q", name, value)
				}
			}
		})
	}
}

// TestAbsoluteTargets: in an absolute target, its host counts instead of the Host header.
func TestAbsoluteTargets(t *testing.T) {
	s := serve(t)
	for _, tt := range []struct {
		target, host, signed string
		want                 int
	}{
		{"http://shop.example" + item, "other.example", "http://shop.example" + item, 200},
		{"http://shop.example" + item, "other.example", "http://other.example" + item, 401},
		{"HTTP://SHOP.example:8080" + item, "other.example", "http://shop.example:8080" + item, 200},
		{"https://shop.example" + item, "shop.example", "https://shop.example" + item, 401}, // the connection is not
		{item, "SHOP.example", "http://shop.example" + item, 200},
		{"http://shop.example/elsewhere" + item, "shop.example", "http://shop.example/elsewhere" + item, 404},
	} {
		got := s.call(t, "GET "+tt.target+" HTTP/1.1", "Host: "+tt.host, "Accept: application/json", signed(t, tt.signed))
		if got.StatusCode != tt.want {
			t.Errorf("%s for %s: %d %s, want %d", tt.target, tt.signed, got.StatusCode, got.body, tt.want)
		}
	}
}

// TestKeepAlive sends several requests over one connection: replies of all kinds leave it
// usable.
func TestKeepAlive(t *testing.T) {
	s := serve(t)
	unread := strings.Repeat("x", 100<<10)
	c := s.dial(t)
	for _, tt := range []struct {
		lines []string
		body  string
		want  int
	}{
		{[]string{"GET / HTTP/1.1"}, "", 404},
		{[]string{"POST / HTTP/1.1"}, unread, 404},
		{[]string{"GET " + item + " HTTP/1.1", "Accept: image/png"}, "", 500},
		{[]string{"PUT " + item + " HTTP/1.1", "Authorization: OAuth x"}, unread, 401},
		{[]string{"PUT " + item + " HTTP/1.1"}, unread, 403},
		{[]string{"POST " + item + " HTTP/1.1", admin}, unread, 405},
		{[]string{"PATCH " + item + " HTTP/1.1", admin}, unread, 400},
		{[]string{"HEAD " + item + " HTTP/1.1", admin}, "", 400},
		{[]string{"GET " + item + " HTTP/1.1", admin}, unread, 200},
		{[]string{"DELETE " + item + " HTTP/1.1", admin}, unread, 405},
		{[]string{"PUT " + item + " HTTP/1.1", admin}, unread, 400},
		{[]string{"PUT " + item + " HTTP/1.1", admin, "Content-Type: text/xml"}, "<r><qty>", 400},
		{[]string{"PUT " + item + " HTTP/1.1", admin, "Content-Type: text/xml"}, "<r><qty>8</qty></r>", 200},
		{[]string{"GET " + item + " HTTP/1.1", admin}, "", 200},
	} {
		lines := append(tt.lines, "Host: x")
		if tt.body != "" {
			lines = append(lines, "Content-Length: "+strconv.Itoa(len(tt.body)))
		}
		c.send(lines...)
		c.write(tt.body)
		method, _, _ := strings.Cut(tt.lines[0], " ")
		if got := c.receive(method); got.StatusCode != tt.want || got.Close {
			t.Fatalf("%s: %d %s, want %d (closed: %t)", tt.lines[0], got.StatusCode, got.body, tt.want, got.Close)
		}
	}

	t.Run("two at once", func(t *testing.T) {
		c := s.dial(t)
		second := fmt.Sprintf("GET %s HTTP/1.1\r\nHost: x\r\n%s\r\n\r\n", item, admin)
		c.write("GET /api/rest/nowhere HTTP/1.1\r\nHost: x\r\n\r\n" + second)
		if first, then := c.receive("GET"), c.receive("GET"); first.StatusCode != 404 || then.StatusCode != 200 {
			t.Errorf("%d and %d, want 404 and 200", first.StatusCode, then.StatusCode)
		}
	})
	t.Run("a body too large to read past", func(t *testing.T) {
		c := s.dial(t)
		c.send("PUT "+item+" HTTP/1.1", "Host: x", "Content-Length: 1000000000")
		if got := c.receive("PUT"); got.StatusCode != 403 || !got.Close {
			t.Errorf("%d (closed: %t), want 403 and the end", got.StatusCode, got.Close)
		}
	})
	t.Run("nothing is asked for that will not be read", func(t *testing.T) {
		c := s.dial(t)
		c.send("PUT "+item+" HTTP/1.1", "Host: x", "Content-Length: 1000000", "Expect: 100-continue")
		if got := c.receive("PUT"); got.StatusCode != 403 {
			t.Errorf("%d, want 403 in place of 100", got.StatusCode)
		}
	})
	t.Run("HTTP/1.0", func(t *testing.T) {
		if got := s.call(t, "GET "+item+" HTTP/1.0", admin); got.StatusCode != 200 || !got.Close {
			t.Errorf("%d (closed: %t), want 200 and the end", got.StatusCode, got.Close)
		}
	})
}

// TestConcurrentReplies: many connections share the pool of reply buffers.
func TestConcurrentReplies(t *testing.T) {
	s := serve(t)
	ids := []string{"1", "2", "3", "4", "5", "6", "7", "8"}
	want := map[string]string{}
	for _, id := range ids {
		want[id] = s.call(t, "GET /api/rest/stockitems/"+id+" HTTP/1.1", "Host: x", admin).body
		if !strings.HasPrefix(want[id], `{"item_id":"`+id+`"`) {
			t.Fatalf("item %s is %s", id, want[id])
		}
	}
	var group sync.WaitGroup
	for _, id := range ids {
		c := s.dial(t)
		group.Go(func() {
			for range 50 {
				request := "GET /api/rest/stockitems/" + id + " HTTP/1.1\r\nHost: x\r\n" + admin + "\r\n\r\n"
				if _, err := io.WriteString(c.conn, request); err != nil {
					t.Error(err)
					return
				}
				response, err := http.ReadResponse(c.in, nil)
				if err != nil {
					t.Error(err)
					return
				}
				body, err := io.ReadAll(response.Body)
				if err != nil || string(body) != want[id] {
					t.Errorf("item %s is %s (%v)", id, body, err)
					return
				}
			}
		})
	}
	group.Wait()
}
