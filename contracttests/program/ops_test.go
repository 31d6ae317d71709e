package program

import (
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestOpsPort checks all paths of the operators' port, with and without a token.
func TestOpsPort(t *testing.T) {
	t.Parallel()
	const (
		token = "0123456789abcdef"
		right = "Bearer " + token
	)
	open := apptest.Start(t, nil, "--demo")
	guarded := apptest.Start(t, []string{"PORTICO_OPS_TOKEN=" + token}, "--demo")
	noDemo := apptest.StartDemo(t, "documented").Process
	profiled := apptest.StartDemo(t, "documented", "PORTICO_OPS_PPROF=true").Process
	guardedProfiled := apptest.StartDemo(t, "documented", "PORTICO_OPS_PPROF=true", "PORTICO_OPS_TOKEN="+token).Process
	tests := []struct {
		name          string
		on            *apptest.Process
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
		{"differences of shadow reads that there are not", open, "GET", "/shadow", "", 404},
		{"a purge", open, "POST", "/cache/purge", "", 200},
		{"a reload", open, "POST", "/reload", "", 200},
		{"the document without", guarded, "GET", "/openapi.json", "", 401},
		{"reset without", guarded, "POST", "/demo/reset", "", 401},
		{"token alone", guarded, "GET", "/metrics", token, 401},
		{"another token", guarded, "GET", "/metrics", "Bearer 0123456789abcdeF", 401},
		{"beginning of the token", guarded, "GET", "/metrics", right[:len(right)-1], 401},
		{"more than the token", guarded, "GET", "/metrics", right + "0", 401},
		{"empty token", guarded, "GET", "/metrics", "Bearer ", 401},
		{"other scheme", guarded, "GET", "/metrics", "Basic " + token, 401},
		{"OAuth", guarded, "POST", "/demo/reset", apptest.DemoAdmin(), 401},
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
			got := apptest.Send(t, tt.method, tt.on.Ops+tt.path, "", "Authorization", tt.authorization)
			if got.Status != tt.want {
				t.Errorf("%d %q, want %d", got.Status, got.Body, tt.want)
			}
			if cached, sniffed := got.Header.Get("Cache-Control"), got.Header.Get("X-Content-Type-Options"); cached != "no-store" || sniffed != "nosniff" {
				t.Errorf("Cache-Control %q and X-Content-Type-Options %q", cached, sniffed)
			}
			if challenge := got.Header.Get("WWW-Authenticate"); (challenge == "Bearer") != (tt.want == 401) {
				t.Errorf("WWW-Authenticate %q with %d", challenge, got.Status)
			}
		})
	}
	for _, l := range []*apptest.Process{open, profiled} {
		if got := apptest.Send(t, "GET", l.Contract+"/debug/pprof/", ""); got.Status != http.StatusNotFound {
			t.Errorf("the contract's port answers %d to a request for profiles", got.Status)
		}
	}
	if log := guarded.Stderr.Text(); strings.Contains(log, token) {
		t.Errorf("the token is logged:\n%s", log)
	}
}

// TestOpsPortAndBrowsers checks that web pages in a browser on this machine cannot use the
// operators' port, neither across origins nor under a host name that resolves to
// 127.0.0.1.
func TestOpsPortAndBrowsers(t *testing.T) {
	const token = "0123456789abcdef"
	open, guarded := apptest.Start(t, nil, "--demo"), apptest.Start(t, []string{"PORTICO_OPS_TOKEN=" + token}, "--demo")
	port := open.Ops[strings.LastIndex(open.Ops, ":"):]
	tests := []struct {
		name         string
		on           *apptest.Process
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
		{"page of this port", open, "POST", "/cache/purge", []string{"Sec-Fetch-Site: same-origin", "Origin: " + open.Ops}, 200},

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
			var headers []string
			for _, header := range tt.headers {
				name, value, _ := strings.Cut(header, ": ")
				headers = append(headers, name, value)
			}
			if got := apptest.Send(t, tt.method, tt.on.Ops+tt.path, "", headers...); got.Status != tt.want {
				t.Errorf("%d, want %d", got.Status, tt.want)
			}
		})
	}
	t.Run("no host, as in HTTP/1.0", func(t *testing.T) {
		conn, err := net.Dial("tcp", strings.TrimPrefix(open.Ops, "http://"))
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

// TestDemoReset checks that a reset reverts every kind of change.
func TestDemoReset(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, nil, "--demo")
	address := l.Contract + "/api/rest/stockitems/1"
	call := func(authorization string) apptest.Reply {
		return apptest.Send(t, "GET", address, "", "Authorization", authorization, "Accept", "application/json")
	}
	reset := func() {
		t.Helper()
		if got := apptest.Send(t, "POST", l.Ops+"/demo/reset", ""); got.Status != http.StatusOK || !strings.HasPrefix(got.Body, "reset in ") {
			t.Fatalf("reset: %d %q", got.Status, got.Body)
		}
	}
	databases, err := filepath.Glob(filepath.Join(l.Temporary, "*", "demo.db"))
	if err != nil || len(databases) != 1 {
		t.Fatalf("databases %q (%v)", databases, err)
	}
	store := apptest.Environment{"PORTICO_SQL_DSN=sqlite:" + databases[0]}
	original := call(apptest.DemoAdmin())
	if original.Status != http.StatusOK {
		t.Fatalf("%d %s", original.Status, original.Body)
	}

	t.Run("records", func(t *testing.T) {
		if got := apptest.Send(t, "PUT", address, `{"qty":"3"}`, "Authorization", apptest.DemoAdmin(), "Content-Type", "application/json"); got.Status != http.StatusOK {
			t.Fatalf("update: %d %s", got.Status, got.Body)
		}
		if got := call(apptest.DemoAdmin()); got.Body == original.Body {
			t.Fatal("the update changes nothing")
		}
		reset()
		if got := call(apptest.DemoAdmin()); got.Status != http.StatusOK || got.Body != original.Body {
			t.Errorf("after the reset: %d %s, want %s", got.Status, got.Body, original.Body)
		}
	})
	t.Run("places in lists", func(t *testing.T) {
		page := func(number string) string {
			t.Helper()
			list := l.Contract + "/api/rest/stockitems?attrs=item_id&order=qty&dir=desc&limit=1&page=" + number
			return apptest.Send(t, "GET", list, "", "Authorization", apptest.DemoAdmin(), "Accept", "application/json").Body
		}
		second := page("2")
		if got := apptest.Send(t, "PUT", address, `{"qty":"90000"}`, "Authorization", apptest.DemoAdmin(), "Content-Type", "application/json"); got.Status != http.StatusOK {
			t.Fatalf("update: %d %s", got.Status, got.Body)
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
		authorization := apptest.SignedHeader("GET", address, "once")
		if got := call(authorization); got.Status != http.StatusOK {
			t.Fatalf("signed call: %d %s", got.Status, got.Body)
		}
		if got := call(authorization); got.Status != http.StatusUnauthorized || !strings.Contains(got.Body, "oauth_problem=nonce_used") {
			t.Errorf("repeated: %d %s", got.Status, got.Body)
		}
		reset()
		if got := call(authorization); got.Status != http.StatusOK {
			t.Errorf("after the reset: %d %s", got.Status, got.Body)
		}
	})
	t.Run("credentials that were added", func(t *testing.T) {
		consumer := store.AddConsumer(t, "added")
		token := store.AddToken(t, consumer.Key, "--admin", "1")
		authorization := apptest.PlaintextHeader(consumer.Key, consumer.Secret, token.Token, token.Secret)
		if got := call(authorization); got.Status != http.StatusOK {
			t.Fatalf("before: %d %s", got.Status, got.Body)
		}
		reset()
		if got := call(authorization); got.Status != http.StatusUnauthorized || !strings.Contains(got.Body, "oauth_problem=consumer_key_rejected") {
			t.Errorf("after the reset: %d %s", got.Status, got.Body)
		}
	})
	t.Run("a revoked token", func(t *testing.T) {
		store.MustRun(t, "credentials", "revoke", strings.Repeat("c", 32))
		reset()
		if got := call(apptest.DemoAdmin()); got.Status != http.StatusOK {
			t.Errorf("after the reset: %d %s", got.Status, got.Body)
		}
	})
	t.Run("while calls run", func(t *testing.T) {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for range 5 {
				apptest.Send(t, "POST", l.Ops+"/demo/reset", "")
			}
		}()
		for running := true; running; {
			select {
			case <-ended:
				running = false
			default:
				if got := call(apptest.DemoAdmin()); got.Status != http.StatusOK || got.Body != original.Body {
					t.Errorf("%d %s", got.Status, got.Body)
				}
			}
		}
	})
}

// TestMetrics checks counts and labels after known calls.
func TestMetrics(t *testing.T) {
	l := apptest.Start(t, nil, "--demo")
	calls := []struct {
		method, path, authorization, accept string
	}{
		{"GET", "/api/rest/stockitems/1", apptest.DemoAdmin(), "application/json"},
		{"GET", "/api/rest/stockitems/2", apptest.DemoAdmin(), "application/json"},
		{"GET", "/api/rest/stockitems/99", apptest.DemoAdmin(), "text/xml"},
		{"GET", "/api/rest/stockitems", "", "text/plain"},
		{"GET", "/api/rest/stockitems", apptest.SignedHeader("GET", l.Contract+"/other", "n1"), "application/json"},
		{"GET", "/api/rest/no-such-path-secret", apptest.DemoAdmin(), "application/json"},
		{"PURGE", "/api/rest/stockitems", apptest.DemoAdmin(), "application/json"},
		{"GET", "/outside-secret", "", "application/json"},
		{"GET", "/api/rest/customers", apptest.DemoAdmin(), "image/secret"},
	}
	for _, c := range calls {
		apptest.Send(t, c.method, l.Contract+c.path, "", "Authorization", c.authorization, "Accept", c.accept)
	}
	metrics := apptest.Send(t, "GET", l.Ops+"/metrics", "").Body
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
	if log := l.Stderr.Text(); strings.Contains(log, "secret") || strings.Contains(log, slog.LevelError.String()) {
		t.Errorf("logged:\n%s", log)
	}
}
