package app

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/contracttests"
)

// serveFront serves a demo store in front of the legacy store at the URL old. routes are entries of
// the setting routes.
func serveFront(t *testing.T, old string, routes []string, environ ...string) *localServer {
	t.Helper()
	return serveLocal(t, false, append(environ, apptest.RoutesFile(t, routes...), "PORTICO_LEGACY_URL="+old)...)
}

// TestRoutesTable checks which system answers which calls.
func TestRoutesTable(t *testing.T) {
	t.Parallel()
	old := apptest.NewLegacyStub(t)
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
				got := apptest.Send(t, c.method, front.contract+c.path, "", "Authorization", apptest.DemoAdmin(), "X-Request-Id", "mine")
				if asked := old.Last() != nil; asked != c.legacy || c.legacy != (got.Body == "old") {
					t.Errorf("%s %s: the legacy store was asked: %t, want %t; %d %s", c.method, c.path, asked, c.legacy, got.Status, got.Body)
				}
				// The reply has only the headers of the legacy store.
				if id := got.Header.Get("X-Request-Id"); (id == "mine") == c.legacy {
					t.Errorf("%s %s: X-Request-Id %q", c.method, c.path, id)
				}
			}
		})
	}
}

// TestForwardedRequestsAreCounted checks that metrics and log contain forwarded requests.
func TestForwardedRequestsAreCounted(t *testing.T) {
	t.Parallel()
	old := apptest.NewLegacyStub(t)
	front := serveFront(t, old.URL, []string{allToLegacy})
	apptest.Send(t, "GET", front.contract+"/api/rest/stockitems/1?secret", "", "Authorization", apptest.DemoAdmin())
	apptest.Send(t, "GET", front.contract+"/api/rest/products", "")
	apptest.Send(t, "GET", front.contract+"/shop/secret", "")
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
	log := front.log.Text()
	if strings.Count(log, " side=legacy") != 3 || strings.Contains(log, "secret") {
		t.Errorf("logged\n%s", log)
	}
	if got := apptest.Send(t, "GET", front.ops+"/readyz", ""); got.Status != http.StatusOK {
		t.Errorf("/readyz answers %d", got.Status)
	}
}

// TestLegacyAway checks the replies in each format while the legacy store is unavailable, and that
// it is used again afterwards.
func TestLegacyAway(t *testing.T) {
	t.Parallel()
	address := testenv.FreeAddress(t)
	front := serveFront(t, "http://"+address, []string{allToLegacy},
		"PORTICO_DIALECT=magento", "PORTICO_UPSTREAM_BREAKER_FAILURES=3", "PORTICO_UPSTREAM_BREAKER_OPEN=2s")
	calls := []struct{ name, method, path, accept, body string }{
		{"JSON", "GET", "/api/rest/stockitems/1", "application/json", `{"messages":{"error":[{"code":503,"message":"Resource internal error."}]}}`},
		{"XML", "GET", "/api/rest/products", "text/xml", "<?xml version=\"1.0\"?>\n<magento_api>\n  <messages>\n    <error>\n      <data_item>\n        <code>503</code>\n        <message>Resource internal error.</message>\n      </data_item>\n    </error>\n  </messages>\n</magento_api>\n"},
		{"a write", "DELETE", "/api/rest/products/1", "application/json", `{"messages":{"error":[{"code":503,"message":"Resource internal error."}]}}`},
		{"nothing acceptable", "GET", "/api/rest/nothing", "image/png", ""},
		{"outside", "GET", "/oauth/token", "", "The store cannot answer now\n"},
	}
	for _, c := range calls {
		got := apptest.Send(t, c.method, front.contract+c.path, "", "Accept", c.accept, "Authorization", apptest.DemoAdmin())
		if after, err := strconv.Atoi(got.Header.Get("Retry-After")); got.Status != http.StatusServiceUnavailable || err != nil || after < 1 || c.body != "" && got.Body != c.body {
			t.Errorf("%s: %d %q %s", c.name, got.Status, got.Header.Get("Retry-After"), got.Body)
		}
		if len(got.Header["X-Request-Id"]) != 1 {
			t.Errorf("%s: X-Request-Id %q", c.name, got.Header["X-Request-Id"])
		}
	}
	if got := front.metric(t, `portico_breaker_transitions_total{breaker="legacy",to="open"}`); got != "1" {
		t.Errorf("the breaker opened %q times", got)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	serveOn(t, &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "back") }),
		ReadHeaderTimeout: apptest.WaitTimeout}, listener)
	testenv.Await(t, "the legacy store to be asked again", func() bool {
		return apptest.Send(t, "GET", front.contract+"/api/rest/products", "").Body == "back"
	})
	if got := front.metric(t, `portico_breaker_state{breaker="legacy"}`); got != "0" {
		t.Errorf("the breaker is at %q", got)
	}
	if got := front.metric(t, `portico_breaker_transitions_total{breaker="sql",to="open"}`); got != "0" {
		t.Errorf("the store's breaker opened %q times", got)
	}
}

// TestLegacyBreaksOff checks that a reply that the legacy store breaks off is broken off for the
// client, and appears in log and metrics.
func TestLegacyBreaksOff(t *testing.T) {
	t.Parallel()
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
	testenv.Await(t, "the request to be logged", func() bool { return strings.Contains(front.log.Text(), "cut=true") })
	if got := front.metric(t, `portico_replies_cut_total{call="listProducts"}`); got != "1" {
		t.Errorf("%q replies are counted as cut", got)
	}
	if log := front.log.Text(); strings.Count(log, "level=ERROR") != 1 || !strings.Contains(log, "broke off") {
		t.Errorf("logged\n%s", log)
	}
}

// TestSlowClientsAreNoFailure checks that clients that give up while sending a body do not open the
// breaker of the legacy store.
func TestSlowClientsAreNoFailure(t *testing.T) {
	t.Parallel()
	old := apptest.NewLegacyStub(t)
	front := serveFront(t, old.URL, []string{allToLegacy}, "PORTICO_UPSTREAM_BREAKER_FAILURES=1", "PORTICO_SERVER_READ_TIMEOUT=50ms", "PORTICO_SERVER_READ_HEADER_TIMEOUT=50ms")
	for range 3 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(front.contract, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.WriteString(conn, "PUT /api/rest/stockitems/1 HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\nabc")
		if err == nil {
			_, err = io.Copy(io.Discard, conn)
		}
		// On a busy machine the server may be late itself, and end the connection before it has read anything.
		if err != nil && !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
			t.Fatal(err)
		}
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if got := front.metric(t, `portico_breaker_transitions_total{breaker="legacy",to="open"}`); got != "0" {
		t.Errorf("the breaker opened %q times", got)
	}
	if got := apptest.Send(t, "GET", front.contract+"/api/rest/products", ""); got.Body != "old" {
		t.Errorf("%d %s", got.Status, got.Body)
	}
}

// TestLegacyTimeout checks the reply if the legacy store does not answer in time.
func TestLegacyTimeout(t *testing.T) {
	t.Parallel()
	old := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer old.Close()
	front := serveFront(t, old.URL, []string{allToLegacy}, "PORTICO_LEGACY_TIMEOUT=20ms", "PORTICO_UPSTREAM_BREAKER_FAILURES=1")
	if got := apptest.Send(t, "GET", front.contract+"/api/rest/products", ""); got.Status != http.StatusServiceUnavailable {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	if got := front.metric(t, `portico_breaker_transitions_total{breaker="legacy",to="open"}`); got != "1" {
		t.Errorf("the breaker opened %q times", got)
	}
	if got := apptest.Send(t, "GET", front.ops+"/readyz", ""); got.Status != http.StatusServiceUnavailable {
		t.Errorf("/readyz answers %d", got.Status)
	}
}

// TestLegacyIsToldPublicScheme checks that the legacy store gets the scheme of public_url behind a proxy that
// is not trusted, with forwarded requests and with shadow reads.
func TestLegacyIsToldPublicScheme(t *testing.T) {
	t.Parallel()
	for _, route := range []string{allToLegacy, "resource: products, to: portico, shadow: true"} {
		for publicURL, want := range map[string]string{"": "http", "https://shop.example": "https", "http://shop.example": "http"} {
			shown := apptest.NewLegacyStub(t)
			front := serveFront(t, shown.URL, []string{route}, "PORTICO_PUBLIC_URL="+publicURL)
			apptest.Send(t, "GET", front.contract+"/api/rest/products", "", "X-Forwarded-Proto", "https")
			var asked *http.Request
			testenv.Await(t, "a request to the legacy store", func() bool { asked = shown.Last(); return asked != nil })
			if got := asked.Header["X-Forwarded-Proto"]; len(got) != 1 || got[0] != want {
				t.Errorf("%s, public_url %q: the legacy store gets the scheme %q, want %s", route, publicURL, got, want)
			}
		}
	}
}

// TestSignedAgain checks that Portico verifies calls and signs them for the legacy store, which
// verifies them, too.
func TestSignedAgain(t *testing.T) {
	t.Parallel()
	credentials := apptest.Credentials(t)
	real, shown := serveLocal(t, false), apptest.NewLegacyStub(t)
	own := []string{"PORTICO_LEGACY_CONSUMER_KEY=" + credentials.Consumer.Key, "PORTICO_LEGACY_CONSUMER_SECRET=" + credentials.Consumer.Secret,
		"PORTICO_LEGACY_TOKEN=" + credentials.Admin.Token, "PORTICO_LEGACY_TOKEN_SECRET=" + credentials.Admin.Secret}
	as := func(caller contracttests.Token) string {
		return apptest.PlaintextHeader(credentials.Consumer.Key, credentials.Consumer.Secret, caller.Token, caller.Secret)
	}
	admin, customer := as(credentials.Admin), as(credentials.Customer1)
	wrong := apptest.PlaintextHeader(credentials.Consumer.Key, "wrong", credentials.Admin.Token, credentials.Admin.Secret)
	const item, me, product = "/api/rest/stockitems/1", "/api/rest/customers/1", "/api/rest/products/1?a=b+c&d=%C3%A9&e"
	tests := []struct {
		name, auth, authorization, path string
		status                          int
		role                            string
		token                           string // signs calls to the legacy store; "": unsigned
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
			headers := []string{"Accept", "application/json", "Authorization", tt.authorization}
			front := fronts[tt.auth+" real"]
			if got := apptest.Send(t, "GET", front.contract+tt.path, "", headers...); got.Status != tt.status {
				t.Errorf("%d %s", got.Status, got.Body)
			}
			if log := front.log.Text(); tt.role != "" && !strings.Contains(log[strings.LastIndex(strings.TrimSpace(log), "\n")+1:], " role="+tt.role+" ") {
				t.Errorf("logged\n%s", log)
			}
			apptest.Send(t, "GET", fronts[tt.auth+" shown"].contract+tt.path, "", headers...)
			asked := shown.Last()
			switch {
			case asked == nil:
				if tt.status == 200 {
					t.Error("the legacy store was not asked")
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
		got := apptest.Send(t, "POST", fronts["caller real"].contract+"/api/rest/customers", body,
			"Accept", "application/json", "Content-Type", "application/x-www-form-urlencoded", "Authorization", admin)
		want := apptest.Send(t, "POST", real.contract+"/api/rest/customers", body,
			"Accept", "application/json", "Content-Type", "application/x-www-form-urlencoded", "Authorization", admin)
		if got.Status != want.Status || got.Body != want.Body || got.Status == 401 {
			t.Errorf("%d %s, want %d %s", got.Status, got.Body, want.Status, want.Body)
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
	t.Parallel()
	cfg, err := config.Load(config.Sources{Sections: newProgram().Sections(), Environ: []string{
		apptest.RoutesFile(t, allToLegacy, "resource: orders, calls: reads, to: portico, shadow: true"), "PORTICO_LEGACY_URL=https://old.example/shop",
	}})
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	printStartup(newProgram(), &said, cfg, &net.TCPAddr{Port: 1}, &net.TCPAddr{Port: 2}, nil)
	want := "  legacy store  https://old.example/shop  (legacy.auth keep)\n  routes      all to legacy; orders reads to portico, shadowed\n"
	if !strings.Contains(said.String(), want) {
		t.Errorf("said\n%s, want\n%s", said.String(), want)
	}
}
