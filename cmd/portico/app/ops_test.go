package app

import (
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/demo"
	"github.com/portico-commerce/portico/config"
)

// A localServer is the program served in this process, with its own HTTP servers and their
// limits.
type localServer struct {
	app           *app
	contract, ops string // base URLs
	log           *output
}

// serveLocal serves the demo store with settings from environ. reset says whether the
// operators' port offers the reset of a demo.
func serveLocal(t testing.TB, reset bool, environ ...string) *localServer {
	t.Helper()
	data, err := demo.Load()
	if err != nil {
		t.Fatal(err)
	}
	db, err := openDemo(t.Context(), t.TempDir(), data, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.Sources{Sections: newProgram().sections(), Environ: environ})
	if err != nil {
		t.Fatal(err)
	}
	if !reset {
		data = nil
	}
	l := &localServer{log: newOutput()}
	log := newLogger(l.log, cfg)
	if l.app, err = newProgram().newApp(t.Context(), cfg, db, data, log); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.app.close(); err != nil {
			t.Error(err)
		}
	})
	l.contract = listen(t, newServer(cfg, l.app.contract, log))
	l.ops = listen(t, newServer(cfg, l.app.ops.handler(), log))
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// listen serves on a free port until the test ends and returns the base URL.
func listen(t testing.TB, server *http.Server) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(listener) // ends with ErrServerClosed
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-ended
	})
	return "http://" + listener.Addr().String()
}

// signedHeader returns the Authorization header of the demo store's administrator for one
// call without a query, signed with HMAC-SHA1 (wire 12).
func signedHeader(method, address, nonce string) string {
	of := func(letter string) string { return strings.Repeat(letter, 32) }
	parameters := url.Values{
		"oauth_consumer_key": {of("a")}, "oauth_token": {of("c")}, "oauth_signature_method": {"HMAC-SHA1"}, "oauth_version": {"1.0"},
		"oauth_nonce": {nonce}, "oauth_timestamp": {strconv.FormatInt(time.Now().Unix(), 10)},
	}
	base := method + "&" + url.QueryEscape(address) + "&" + url.QueryEscape(parameters.Encode())
	mac := hmac.New(sha1.New, []byte(of("b")+"&"+of("d")))
	mac.Write([]byte(base))
	parameters.Set("oauth_signature", base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	return "OAuth " + strings.ReplaceAll(parameters.Encode(), "&", ", ")
}

// TestOpsPort checks all paths of the operators' port, with and without a token.
func TestOpsPort(t *testing.T) {
	t.Parallel()
	const (
		token = "0123456789abcdef"
		right = "Bearer " + token
	)
	open := serveLocal(t, true)
	guarded := serveLocal(t, true, "PORTICO_OPS_TOKEN="+token)
	noDemo := serveLocal(t, false)
	profiled := serveLocal(t, false, "PORTICO_OPS_PPROF=true")
	guardedProfiled := serveLocal(t, false, "PORTICO_OPS_PPROF=true", "PORTICO_OPS_TOKEN="+token)
	tests := []struct {
		name          string
		on            *localServer
		method, path  string
		authorization string
		want          int
	}{
		{"health", open, "GET", "/healthz", "", 200},
		{"readiness", open, "GET", "/readyz", "", 200},
		{"metrics", open, "GET", "/metrics", "", 200},
		{"reset", open, "POST", "/demo/reset", "", 200},
		{"reset by GET", open, "GET", "/demo/reset", "", 405},
		{"reset by HEAD", open, "HEAD", "/demo/reset", "", 405},
		{"reset by PUT", open, "PUT", "/demo/reset", "", 405},
		{"metrics by POST", open, "POST", "/metrics", "", 405},
		{"the console", open, "GET", "/", "", 200},
		{"nothing there", open, "GET", "/nothing", "", 404},
		{"the contract", open, "GET", "/api/rest/stockitems", "", 404},
		{"profiles", open, "GET", "/debug/pprof/", "", 404},
		{"profiles with the token", guarded, "GET", "/debug/pprof/", right, 404},
		{"heap", open, "GET", "/debug/pprof/heap", "", 404},
		{"command line", open, "GET", "/debug/pprof/cmdline", "", 404},
		{"reset of what is no demo", noDemo, "POST", "/demo/reset", "", 404},

		{"health needs no token", guarded, "GET", "/healthz", "", 200},
		{"readiness needs no token", guarded, "GET", "/readyz", "", 200},
		{"metrics with the token", guarded, "GET", "/metrics", right, 200},
		{"reset with the token", guarded, "POST", "/demo/reset", right, 200},
		{"metrics without", guarded, "GET", "/metrics", "", 401},
		{"migration", open, "GET", "/migration", "", 200},
		{"migration without", guarded, "GET", "/migration", "", 401},
		{"the interface", open, "GET", "/console/interface", "", 200},
		{"the dialects", open, "GET", "/console/dialects", "", 200},
		{"the document", open, "GET", "/openapi.json", "", 200},
		{"the document without", guarded, "GET", "/openapi.json", "", 401},
		{"reset without", guarded, "POST", "/demo/reset", "", 401},
		{"token alone", guarded, "GET", "/metrics", token, 401},
		{"another token", guarded, "GET", "/metrics", "Bearer 0123456789abcdeF", 401},
		{"beginning of the token", guarded, "GET", "/metrics", right[:len(right)-1], 401},
		{"more than the token", guarded, "GET", "/metrics", right + "0", 401},
		{"empty token", guarded, "GET", "/metrics", "Bearer ", 401},
		{"other scheme", guarded, "GET", "/metrics", "Basic " + token, 401},
		{"OAuth", guarded, "POST", "/demo/reset", demoAdmin(), 401},
		{"wanted profiles", profiled, "GET", "/debug/pprof/", "", 200},
		{"wanted heap", profiled, "GET", "/debug/pprof/heap", "", 200},
		{"wanted goroutines", profiled, "GET", "/debug/pprof/goroutine?debug=1", "", 200},
		{"wanted command line", profiled, "GET", "/debug/pprof/cmdline", "", 200},
		{"wanted symbols", profiled, "GET", "/debug/pprof/symbol?0x1", "", 200},
		{"wanted profile of the processor", profiled, "GET", "/debug/pprof/profile?seconds=1", "", 200},
		{"wanted trace", profiled, "GET", "/debug/pprof/trace?seconds=0.01", "", 200},
		{"no such profile", profiled, "GET", "/debug/pprof/nope", "", 404},
		{"profiles with the token, wanted", guardedProfiled, "GET", "/debug/pprof/", right, 200},
		{"heap with the token", guardedProfiled, "GET", "/debug/pprof/heap", right, 200},
		{"profiles without the token", guardedProfiled, "GET", "/debug/pprof/", "", 401},
		{"heap without the token", guardedProfiled, "GET", "/debug/pprof/heap", "", 401},
		{"command line without the token", guardedProfiled, "GET", "/debug/pprof/cmdline", "", 401},
		{"profile of the processor without the token", guardedProfiled, "GET", "/debug/pprof/profile", "", 401},
		{"trace without the token", guardedProfiled, "GET", "/debug/pprof/trace", "", 401},
		{"symbols without the token", guardedProfiled, "GET", "/debug/pprof/symbol", "", 401},
		{"reset of a guarded port by GET", guarded, "GET", "/demo/reset", right, 405},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var headers []string
			if tt.authorization != "" {
				headers = []string{"Authorization", tt.authorization}
			}
			got := send(t, tt.method, tt.on.ops+tt.path, "", headers...)
			if got.status != tt.want {
				t.Errorf("%d %q, want %d", got.status, got.body, tt.want)
			}
			if challenge := got.header.Get("WWW-Authenticate"); (challenge == "Bearer") != (tt.want == 401) {
				t.Errorf("WWW-Authenticate %q with %d", challenge, got.status)
			}
		})
	}
	for _, l := range []*localServer{open, profiled} {
		if got := send(t, "GET", l.contract+"/debug/pprof/", ""); got.status != http.StatusNotFound {
			t.Errorf("the contract's port answers %d to a request for profiles", got.status)
		}
	}
	if log := guarded.log.text(); strings.Contains(log, token) {
		t.Errorf("the token is logged:\n%s", log)
	}
}

// TestOpsPortAndBrowsers checks that web pages in a browser on this machine cannot use the
// operators' port, neither across origins nor under a host name that resolves to
// 127.0.0.1.
func TestOpsPortAndBrowsers(t *testing.T) {
	const token = "0123456789abcdef"
	open, guarded := serveLocal(t, true), serveLocal(t, true, "PORTICO_OPS_TOKEN="+token)
	port := open.ops[strings.LastIndex(open.ops, ":"):]
	tests := []struct {
		name         string
		on           *localServer
		method, path string
		headers      []string
		want         int
	}{
		{"program", open, "POST", "/cache/purge", nil, 200},
		{"page of another site", open, "POST", "/cache/purge", []string{"Sec-Fetch-Site: cross-site"}, 403},
		{"page of another site resets", open, "POST", "/demo/reset", []string{"Sec-Fetch-Site: cross-site"}, 403},
		{"page of a sibling domain", open, "POST", "/demo/reset", []string{"Sec-Fetch-Site: same-site"}, 403},
		{"page of another site, old browser", open, "POST", "/cache/purge", []string{"Origin: http://evil.example"}, 403},
		{"sandboxed page", open, "POST", "/demo/reset", []string{"Origin: null"}, 403},
		{"page of another site with the token", guarded, "POST", "/cache/purge", []string{"Sec-Fetch-Site: cross-site", "Authorization: Bearer " + token}, 403},
		{"page of this port", open, "POST", "/cache/purge", []string{"Sec-Fetch-Site: same-origin", "Origin: " + open.ops}, 200},

		{"name of another site", open, "POST", "/cache/purge", []string{"Host: evil.example"}, 403},
		{"name of another site with the port", open, "GET", "/metrics", []string{"Host: evil.example" + port}, 403},
		{"name of another site resets", open, "POST", "/demo/reset", []string{"Host: evil.example", "Origin: http://evil.example", "Sec-Fetch-Site: same-origin"}, 403},
		{"name that begins like ours", open, "GET", "/metrics", []string{"Host: localhost.evil.example"}, 403},
		{"name that begins like an address", open, "GET", "/metrics", []string{"Host: 127.0.0.1.evil.example"}, 403},
		{"another address", open, "GET", "/metrics", []string{"Host: 192.0.2.1" + port}, 403},
		{"localhost", open, "GET", "/metrics", []string{"Host: localhost" + port}, 200},
		{"localhost in capitals", open, "GET", "/metrics", []string{"Host: LOCALHOST"}, 200},
		{"another address of this machine", open, "GET", "/metrics", []string{"Host: 127.1.2.3" + port}, 200},
		{"IPv6", open, "GET", "/metrics", []string{"Host: [::1]" + port}, 200},
		{"IPv6 without a port", open, "GET", "/metrics", []string{"Host: [::1]"}, 200},
		{"any name with the token", guarded, "GET", "/metrics", []string{"Host: metrics.example", "Authorization: Bearer " + token}, 200},
		{"any name for health, where there is a token", guarded, "GET", "/healthz", []string{"Host: 10.0.0.7"}, 200},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			request, err := http.NewRequestWithContext(t.Context(), tt.method, tt.on.ops+tt.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, header := range tt.headers {
				name, value, _ := strings.Cut(header, ": ")
				if request.Header.Set(name, value); name == "Host" {
					request.Host = value
				}
			}
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			if response.StatusCode != tt.want {
				t.Errorf("%d, want %d", response.StatusCode, tt.want)
			}
		})
	}
	t.Run("no host, as in HTTP/1.0", func(t *testing.T) {
		conn, err := net.Dial("tcp", strings.TrimPrefix(open.ops, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, "GET /healthz HTTP/1.0\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if reply, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(reply), "HTTP/1.0 200 ") {
			t.Errorf("%s, %v", reply, err)
		}
	})
}

// TestReadinessFollowsTheUpstream checks that /readyz fails after the database is closed.
func TestReadinessFollowsTheUpstream(t *testing.T) {
	l := serveLocal(t, true)
	if err := l.app.db.Close(); err != nil {
		t.Fatal(err)
	}
	if got := send(t, "GET", l.ops+"/readyz", ""); got.status != http.StatusServiceUnavailable || got.body != "upstream unavailable\n" {
		t.Errorf("/readyz answers %d %q", got.status, got.body)
	}
	if got := send(t, "GET", l.ops+"/healthz", ""); got.status != http.StatusOK {
		t.Errorf("/healthz answers %d", got.status)
	}
	if got := send(t, "POST", l.ops+"/demo/reset", ""); got.status != http.StatusInternalServerError || strings.Contains(got.body, "sql") {
		t.Errorf("/demo/reset answers %d %q", got.status, got.body)
	}
	got := send(t, "GET", l.contract+"/api/rest/stockitems/1", "", "Authorization", demoAdmin(), "Accept", "application/json")
	if want := `{"messages":{"error":[{"code":503,"message":"Resource internal error."}]}}`; got.status != http.StatusServiceUnavailable || got.body != want {
		t.Errorf("a call is answered %d %q", got.status, got.body)
	}
}

// TestDemoReset checks that a reset reverts every kind of change.
func TestDemoReset(t *testing.T) {
	t.Parallel()
	l := serveLocal(t, true)
	address := l.contract + "/api/rest/stockitems/1"
	call := func(authorization string) reply {
		return send(t, "GET", address, "", "Authorization", authorization, "Accept", "application/json")
	}
	reset := func() {
		t.Helper()
		if got := send(t, "POST", l.ops+"/demo/reset", ""); got.status != http.StatusOK || !strings.HasPrefix(got.body, "reset in ") {
			t.Fatalf("reset: %d %q", got.status, got.body)
		}
	}
	original := call(demoAdmin())
	if original.status != http.StatusOK {
		t.Fatalf("%d %s", original.status, original.body)
	}

	t.Run("records", func(t *testing.T) {
		if got := send(t, "PUT", address, `{"qty":"3"}`, "Authorization", demoAdmin(), "Content-Type", "application/json"); got.status != http.StatusOK {
			t.Fatalf("update: %d %s", got.status, got.body)
		}
		if got := call(demoAdmin()); got.body == original.body {
			t.Fatal("the update changes nothing")
		}
		reset()
		if got := call(demoAdmin()); got.status != http.StatusOK || got.body != original.body {
			t.Errorf("after the reset: %d %s, want %s", got.status, got.body, original.body)
		}
	})
	t.Run("places in lists", func(t *testing.T) {
		page := func(number string) string {
			t.Helper()
			list := l.contract + "/api/rest/stockitems?attrs=item_id&order=qty&dir=desc&limit=1&page=" + number
			return send(t, "GET", list, "", "Authorization", demoAdmin(), "Accept", "application/json").body
		}
		second := page("2")
		if got := send(t, "PUT", address, `{"qty":"90000"}`, "Authorization", demoAdmin(), "Content-Type", "application/json"); got.status != http.StatusOK {
			t.Fatalf("update: %d %s", got.status, got.body)
		}
		if got := page("1"); got != `[{"item_id":"1"}]` { // behind which everything else stands
			t.Fatalf("first page: %s", got)
		}
		reset()
		if got := page("2"); got != second {
			t.Errorf("second page after the reset: %s, want %s", got, second)
		}
	})
	t.Run("nonces", func(t *testing.T) {
		authorization := signedHeader("GET", address, "once")
		if got := call(authorization); got.status != http.StatusOK {
			t.Fatalf("signed call: %d %s", got.status, got.body)
		}
		if got := call(authorization); got.status != http.StatusUnauthorized || !strings.Contains(got.body, "oauth_problem=nonce_used") {
			t.Errorf("repeated: %d %s", got.status, got.body)
		}
		reset()
		if got := call(authorization); got.status != http.StatusOK {
			t.Errorf("after the reset: %d %s", got.status, got.body)
		}
	})
	t.Run("credentials that were added", func(t *testing.T) {
		consumer, token := addCredentials(t, l)
		authorization := plaintextHeader(consumer.Key, consumer.Secret, token.Token, token.Secret)
		if got := call(authorization); got.status != http.StatusOK {
			t.Fatalf("before: %d %s", got.status, got.body)
		}
		reset()
		if got := call(authorization); got.status != http.StatusUnauthorized || !strings.Contains(got.body, "oauth_problem=consumer_key_rejected") {
			t.Errorf("after the reset: %d %s", got.status, got.body)
		}
	})
	t.Run("a revoked token", func(t *testing.T) {
		if err := l.app.db.Credentials().Revoke(t.Context(), strings.Repeat("c", 32)); err != nil {
			t.Fatal(err)
		}
		reset()
		if got := call(demoAdmin()); got.status != http.StatusOK {
			t.Errorf("after the reset: %d %s", got.status, got.body)
		}
	})
	t.Run("while calls run", func(t *testing.T) {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for range 5 {
				_ = l.app.ops.reset(context.Background())
			}
		}()
		for running := true; running; {
			select {
			case <-ended:
				running = false
			default:
				if got := call(demoAdmin()); got.status != http.StatusOK || got.body != original.body {
					t.Errorf("%d %s", got.status, got.body)
				}
			}
		}
	})
}

// addCredentials adds a consumer with an administrator's token to the store.
func addCredentials(t *testing.T, l *localServer) (adapter.Consumer, adapter.Token) {
	t.Helper()
	credentials := l.app.db.Credentials()
	consumer, err := credentials.AddConsumer(t.Context(), adapter.Consumer{Name: "added"})
	if err != nil {
		t.Fatal(err)
	}
	token, err := credentials.AddToken(t.Context(), adapter.Token{ConsumerID: consumer.ID, AdminID: 1})
	if err != nil {
		t.Fatal(err)
	}
	return consumer, token
}

// TestMetrics checks counts and labels after known calls.
func TestMetrics(t *testing.T) {
	l := serveLocal(t, true)
	calls := []struct {
		method, path, authorization, accept string
	}{
		{"GET", "/api/rest/stockitems/1", demoAdmin(), "application/json"},
		{"GET", "/api/rest/stockitems/2", demoAdmin(), "application/json"},
		{"GET", "/api/rest/stockitems/99", demoAdmin(), "text/xml"},
		{"GET", "/api/rest/stockitems", "", "text/plain"},
		{"GET", "/api/rest/stockitems", signedHeader("GET", l.contract+"/other", "n1"), "application/json"},
		{"GET", "/api/rest/no-such-path-secret", demoAdmin(), "application/json"},
		{"PURGE", "/api/rest/stockitems", demoAdmin(), "application/json"},
		{"GET", "/outside-secret", "", "application/json"},
		{"GET", "/api/rest/customers", demoAdmin(), "image/secret"},
	}
	for _, c := range calls {
		send(t, c.method, l.contract+c.path, "", "Authorization", c.authorization, "Accept", c.accept)
	}
	metrics := send(t, "GET", l.ops+"/metrics", "").body
	lines := strings.Split(metrics, "\n")
	for _, want := range []string{
		`portico_requests_total{call="getStockItem",cause="",format="json",role="admin",status="200"} 2`,
		`portico_requests_total{call="getStockItem",cause="client",format="xml",role="admin",status="404"} 1`,
		`portico_requests_total{call="listStockItems",cause="client",format="text",role="guest",status="403"} 1`,
		`portico_requests_total{call="listStockItems",cause="client",format="json",role="guest",status="401"} 1`,
		`portico_requests_total{call="other",cause="client",format="json",role="admin",status="404"} 1`,
		`portico_requests_total{call="other",cause="client",format="json",role="admin",status="400"} 1`,
		`portico_requests_total{call="none",cause="client",format="",role="",status="404"} 1`,
		`portico_requests_total{call="listCustomers",cause="client",format="xml",role="guest",status="500"} 1`,
		`portico_request_duration_seconds_count{call="getStockItem"} 3`,
		`portico_authentication_problems_total{problem="signature_invalid"} 1`,
		`portico_requests_in_flight 0`,
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("no line %s", want)
		}
	}
	if strings.Contains(metrics, "secret") {
		t.Error("a path is among the labels")
	}
	for _, name := range []string{"go_goroutines", "process_resident_memory_bytes"} {
		if !regexp.MustCompile(`(?m)^` + name + ` `).MatchString(metrics) {
			t.Errorf("no %s", name)
		}
	}
	if log := l.log.text(); strings.Contains(log, "secret") || strings.Contains(log, slog.LevelError.String()) {
		t.Errorf("logged:\n%s", log)
	}
}
