package app

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/contracttests"
)

// A legacyStub stands in for a legacy system: it records requests, and answers all of them
// with "old".
type legacyStub struct {
	*httptest.Server
	mu    sync.Mutex
	asked []*http.Request
}

// newLegacyStub starts a legacyStub.
func newLegacyStub(t *testing.T) *legacyStub {
	t.Helper()
	s := &legacyStub{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked = append(s.asked, r)
		s.mu.Unlock()
		w.Header().Set("Content-Type", "text/xml")
		_, _ = io.WriteString(w, "old")
	}))
	t.Cleanup(s.Close)
	return s
}

// last returns the last request and forgets all requests. It returns nil if there was none
// since the last call.
func (s *legacyStub) last() *http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.asked) == 0 {
		return nil
	}
	r := s.asked[len(s.asked)-1]
	s.asked = nil
	return r
}

// serveFront serves a demo store in front of the legacy system at the URL old. routes are
// entries of the setting routes.
func serveFront(t *testing.T, old string, routes []string, environ ...string) *localServer {
	t.Helper()
	return serveLocal(t, false, append(environ, routesFile(t, routes...), "PORTICO_LEGACY_URL="+old)...)
}

// TestRoutesTable checks which system answers which calls.
func TestRoutesTable(t *testing.T) {
	t.Parallel()
	old := newLegacyStub(t)
	const item, order = "/api/rest/stockitems/1", "/api/rest/orders/1"
	type call struct {
		method, path string
		legacy       bool
	}
	tests := []struct {
		name   string
		routes []string
		calls  []call
	}{
		{"reads of one resource have moved", []string{allToLegacy, "resource: stock_items, calls: reads, to: portico"}, []call{
			{"GET", item, false}, {"HEAD", item, false}, {"PUT", item, true}, {"GET", order, true}, {"PATCH", item, true},
			{"GET", "/api/rest/nothing", true}, {"GET", "/api/rest/", true}, {"GET", "/skin/a.css", true}, {"POST", "/oauth/token", true}, {"GET", "/", true},
		}},
		{"writes of one resource are left", []string{"resource: stock_items, calls: writes, to: legacy"}, []call{
			{"GET", item, false}, {"PUT", item, true}, {"PUT", "/api/rest/stockitems", true}, {"PUT", order, false}, {"GET", "/skin/a.css", false}, {"POST", "/oauth/token", false},
		}},
		{"the outside is left", []string{"resource: outside, to: legacy"}, []call{
			{"GET", item, false}, {"GET", "/media/catalog/product/placeholder/image.jpg", true}, {"GET", "/api/rest/nothing", true}, {"GET", "/skin/a.css", true},
			{"POST", "/oauth/initiate", true}, {"GET", "/oauth/authorize?oauth_token=x", true}, {"POST", "/admin/oauth_authorize/index/", true},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			front := serveFront(t, old.URL, tt.routes)
			for _, c := range tt.calls {
				got := send(t, c.method, front.contract+c.path, "", "Authorization", demoAdmin(), "X-Request-Id", "mine")
				if asked := old.last() != nil; asked != c.legacy || c.legacy != (got.body == "old") {
					t.Errorf("%s %s: the legacy system was asked: %t, want %t; %d %s", c.method, c.path, asked, c.legacy, got.status, got.body)
				}
				// The reply has no headers but those of the legacy system.
				if id := got.header.Get("X-Request-Id"); (id == "mine") == c.legacy {
					t.Errorf("%s %s: X-Request-Id %q", c.method, c.path, id)
				}
			}
		})
	}
}

// TestForwardedRequestsAreCounted checks that metrics and log contain forwarded requests.
func TestForwardedRequestsAreCounted(t *testing.T) {
	old := newLegacyStub(t)
	front := serveFront(t, old.URL, []string{allToLegacy})
	send(t, "GET", front.contract+"/api/rest/stockitems/1?secret", "", "Authorization", demoAdmin())
	send(t, "GET", front.contract+"/api/rest/products", "")
	send(t, "GET", front.contract+"/shop/secret", "")
	for series, want := range map[string]string{
		`portico_requests_total{call="getStockItem",cause="",format="xml",role="unknown",status="200"}`:       "1",
		`portico_requests_total{call="listProducts",cause="",format="xml",role="guest",status="200"}`:         "1",
		`portico_requests_total{call="none",cause="",format="xml",role="",status="200"}`:                      "1",
		`portico_upstream_calls_total{kind="ok",operation="legacy_read",resource="stock_items"}`:              "1",
		`portico_upstream_calls_total{kind="ok",operation="legacy_read",resource="outside"}`:                  "1",
		`portico_upstream_calls_total{kind="refused_open",operation="legacy_write",resource="customers"}`:     "0",
		`portico_upstream_calls_total{kind="refused_full",operation="legacy_read",resource="order_comments"}`: "0",
		`portico_upstream_in_flight{upstream="legacy"}`:                                                       "0",
		`portico_breaker_state{breaker="legacy"}`:                                                             "0",
		`portico_replies_cut_total{call="none"}`:                                                              "0",
		`portico_replies_cut_total{call="other"}`:                                                             "0",
	} {
		if got := front.metric(t, series); got != want {
			t.Errorf("%s is %q, want %q", series, got, want)
		}
	}
	log := front.log.text()
	if strings.Count(log, " side=legacy") != 3 || strings.Contains(log, "secret") {
		t.Errorf("logged\n%s", log)
	}
	if got := send(t, "GET", front.ops+"/readyz", ""); got.status != http.StatusOK {
		t.Errorf("/readyz answers %d", got.status)
	}
}

// TestLegacyAway checks the replies in each format while the legacy system is unavailable,
// and that it is used again afterwards.
func TestLegacyAway(t *testing.T) {
	address := freeAddress(t)
	front := serveFront(t, "http://"+address, []string{allToLegacy},
		"PORTICO_DIALECT=magento", "PORTICO_UPSTREAM_BREAKER_FAILURES=3", "PORTICO_UPSTREAM_BREAKER_OPEN=50ms")
	calls := []struct{ name, method, path, accept, body string }{
		{"JSON", "GET", "/api/rest/stockitems/1", "application/json", `{"messages":{"error":[{"code":503,"message":"Resource internal error."}]}}`},
		{"XML", "GET", "/api/rest/products", "text/xml", "<?xml version=\"1.0\"?>\n<magento_api>\n  <messages>\n    <error>\n      <data_item>\n        <code>503</code>\n        <message>Resource internal error.</message>\n      </data_item>\n    </error>\n  </messages>\n</magento_api>\n"},
		{"a write", "DELETE", "/api/rest/products/1", "application/json", `{"messages":{"error":[{"code":503,"message":"Resource internal error."}]}}`},
		{"nothing acceptable", "GET", "/api/rest/nothing", "image/png", ""},
		{"outside", "GET", "/oauth/token", "", "The store cannot answer now\n"},
	}
	for _, c := range calls {
		got := send(t, c.method, front.contract+c.path, "", "Accept", c.accept, "Authorization", demoAdmin())
		if after, err := strconv.Atoi(got.header.Get("Retry-After")); got.status != http.StatusServiceUnavailable || err != nil || after < 1 || c.body != "" && got.body != c.body {
			t.Errorf("%s: %d %q %s", c.name, got.status, got.header.Get("Retry-After"), got.body)
		}
		if len(got.header["X-Request-Id"]) != 1 {
			t.Errorf("%s: X-Request-Id %q", c.name, got.header["X-Request-Id"])
		}
	}
	if got := front.metric(t, `portico_breaker_transitions_total{breaker="legacy",to="open"}`); got != "1" {
		t.Errorf("the breaker opened %q times", got)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	old := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "back") }), ReadHeaderTimeout: waitTimeout}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = old.Serve(listener)
	}()
	t.Cleanup(func() {
		if err := old.Close(); err != nil {
			t.Error(err)
		}
		<-ended
	})
	await(t, "the legacy system to be asked again", func() bool {
		return send(t, "GET", front.contract+"/api/rest/products", "").body == "back"
	})
	if got := front.metric(t, `portico_breaker_state{breaker="legacy"}`); got != "0" {
		t.Errorf("the breaker is at %q", got)
	}
	if got := front.metric(t, `portico_breaker_transitions_total{breaker="sql",to="open"}`); got != "0" {
		t.Errorf("the store's breaker opened %q times", got)
	}
}

// TestLegacyBreaksOff checks that a reply that the legacy system breaks off is broken off
// for the client, and appears in log and metrics.
func TestLegacyBreaksOff(t *testing.T) {
	old := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(make([]byte, 1<<16))
		panic(http.ErrAbortHandler)
	}))
	defer old.Close()
	front := serveFront(t, old.URL, []string{allToLegacy})
	response, err := http.Get(front.contract + "/api/rest/products")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != io.ErrUnexpectedEOF {
		t.Errorf("the client sees %v", err)
	}
	await(t, "the request to be logged", func() bool { return strings.Contains(front.log.text(), "cut=true") })
	if got := front.metric(t, `portico_replies_cut_total{call="listProducts"}`); got != "1" {
		t.Errorf("%q replies are counted as cut", got)
	}
	if log := front.log.text(); strings.Count(log, "level=ERROR") != 1 || !strings.Contains(log, "broke off") {
		t.Errorf("logged\n%s", log)
	}
}

// TestSlowClientsAreNoFailure checks that clients who give up while sending a body do not
// open the breaker of the legacy system.
func TestSlowClientsAreNoFailure(t *testing.T) {
	t.Parallel()
	old := newLegacyStub(t)
	front := serveFront(t, old.URL, []string{allToLegacy}, "PORTICO_UPSTREAM_BREAKER_FAILURES=1", "PORTICO_SERVER_READ_TIMEOUT=50ms", "PORTICO_SERVER_READ_HEADER_TIMEOUT=50ms")
	for range 3 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(front.contract, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, "PUT /api/rest/stockitems/1 HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\nabc"); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, conn); err != nil {
			t.Fatal(err)
		}
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if got := front.metric(t, `portico_breaker_transitions_total{breaker="legacy",to="open"}`); got != "0" {
		t.Errorf("the breaker opened %q times", got)
	}
	if got := send(t, "GET", front.contract+"/api/rest/products", ""); got.body != "old" {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// TestLegacyTimeout checks the reply if the legacy system does not answer in time.
func TestLegacyTimeout(t *testing.T) {
	old := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer old.Close()
	front := serveFront(t, old.URL, []string{allToLegacy}, "PORTICO_LEGACY_TIMEOUT=20ms", "PORTICO_UPSTREAM_BREAKER_FAILURES=1")
	if got := send(t, "GET", front.contract+"/api/rest/products", ""); got.status != http.StatusServiceUnavailable {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := front.metric(t, `portico_breaker_transitions_total{breaker="legacy",to="open"}`); got != "1" {
		t.Errorf("the breaker opened %q times", got)
	}
	if got := send(t, "GET", front.ops+"/readyz", ""); got.status != http.StatusServiceUnavailable {
		t.Errorf("/readyz answers %d", got.status)
	}
}

// TestSignedAgain checks that Portico verifies calls and signs them for the legacy system,
// which verifies them, too.
func TestSignedAgain(t *testing.T) {
	t.Parallel()
	credentials, err := contracttests.DemoCredentials()
	if err != nil {
		t.Fatal(err)
	}
	real, shown := serveLocal(t, false), newLegacyStub(t)
	own := []string{"PORTICO_LEGACY_CONSUMER_KEY=" + credentials.Consumer.Key, "PORTICO_LEGACY_CONSUMER_SECRET=" + credentials.Consumer.Secret,
		"PORTICO_LEGACY_TOKEN=" + credentials.Admin.Token, "PORTICO_LEGACY_TOKEN_SECRET=" + credentials.Admin.Secret}
	as := func(caller contracttests.Token) string {
		return plaintextHeader(credentials.Consumer.Key, credentials.Consumer.Secret, caller.Token, caller.Secret)
	}
	admin, customer := as(credentials.Admin), as(credentials.Customer1)
	wrong := plaintextHeader(credentials.Consumer.Key, "wrong", credentials.Admin.Token, credentials.Admin.Secret)
	const item, me, product = "/api/rest/stockitems/1", "/api/rest/customers/1", "/api/rest/products/1?a=b+c&d=%C3%A9&e"
	tests := []struct {
		name, auth, authorization, path string
		status                          int
		role                            string
		token                           string // with which calls to the legacy system are signed, "" for none
	}{
		{"administrator", "caller", admin, item, 200, "admin", credentials.Admin.Token},
		{"customer", "caller", customer, me, 200, "customer", credentials.Customer1.Token},
		{"guest", "caller", "", product, 200, "guest", ""},
		{"odd query", "caller", admin, product, 200, "admin", credentials.Admin.Token},
		{"wrong signature", "caller", wrong, item, 401, "", ""},
		{"administrator, own", "own", admin, item, 200, "admin", credentials.Admin.Token},
		{"customer, own", "own", customer, me, 403, "", ""},
		{"guest, own", "own", "", product, 200, "guest", ""},
		{"wrong signature, own", "own", wrong, item, 401, "", ""},
	}
	fronts := map[string]*localServer{}
	for _, auth := range []string{"caller", "own"} {
		fronts[auth+" real"] = serveFront(t, real.contract, []string{allToLegacy}, append(own, "PORTICO_LEGACY_AUTH="+auth)...)
		fronts[auth+" shown"] = serveFront(t, shown.URL+"/shop", []string{allToLegacy}, append(own, "PORTICO_LEGACY_AUTH="+auth)...)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			headers := []string{"Accept", "application/json"}
			if tt.authorization != "" {
				headers = append(headers, "Authorization", tt.authorization)
			}
			front := fronts[tt.auth+" real"]
			if got := send(t, "GET", front.contract+tt.path, "", headers...); got.status != tt.status {
				t.Errorf("%d %s", got.status, got.body)
			}
			if log := front.log.text(); tt.role != "" && !strings.Contains(log[strings.LastIndex(strings.TrimSpace(log), "\n")+1:], " role="+tt.role+" ") {
				t.Errorf("logged\n%s", log)
			}
			send(t, "GET", fronts[tt.auth+" shown"].contract+tt.path, "", headers...)
			asked := shown.last()
			switch {
			case asked == nil:
				if tt.status == 200 {
					t.Error("the old system was not asked")
				}
			case asked.RequestURI != "/shop"+tt.path || "http://"+asked.Host != shown.URL:
				t.Errorf("asked %s of %s", asked.RequestURI, asked.Host)
			default:
				authorization := asked.Header.Get("Authorization")
				if tt.token == "" && authorization != "" || tt.token != "" && !strings.Contains(authorization, `oauth_token="`+tt.token+`"`) ||
					strings.Contains(authorization, credentials.Consumer.Secret) || strings.Contains(authorization, credentials.Admin.Secret) {
					t.Errorf("signed %s", authorization)
				}
			}
		})
	}
	t.Run("form", func(t *testing.T) {
		// The contract refuses the body, after it has verified the signature that covers it.
		const body = "a=1+2&b=%26"
		got := send(t, "POST", fronts["caller real"].contract+"/api/rest/customers", body,
			"Accept", "application/json", "Content-Type", "application/x-www-form-urlencoded", "Authorization", admin)
		want := send(t, "POST", real.contract+"/api/rest/customers", body,
			"Accept", "application/json", "Content-Type", "application/x-www-form-urlencoded", "Authorization", admin)
		if got.status != want.status || got.body != want.body || got.status == 401 {
			t.Errorf("%d %s, want %d %s", got.status, got.body, want.status, want.body)
		}
	})
	t.Run("refusals are counted", func(t *testing.T) {
		if got := fronts["caller real"].metric(t, `portico_authentication_problems_total{problem="signature_invalid"}`); got != "1" {
			t.Errorf("counted %q", got)
		}
	})
}

// TestAnnounceRoutes checks that the program prints the routes at start.
func TestAnnounceRoutes(t *testing.T) {
	cfg, err := config.Load(config.Sources{Sections: newProgram().sections(), Environ: []string{
		routesFile(t, allToLegacy, "resource: orders, calls: reads, to: portico, shadow: true"), "PORTICO_LEGACY_URL=https://old.example/shop",
	}})
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	newProgram().printStartup(&said, cfg, &net.TCPAddr{Port: 1}, &net.TCPAddr{Port: 2}, nil)
	want := "  old system  https://old.example/shop  (legacy.auth keep)\n  routes      all to legacy; orders reads to portico, shadowed\n"
	if !strings.Contains(said.String(), want) {
		t.Errorf("said\n%s, want\n%s", said.String(), want)
	}
}
