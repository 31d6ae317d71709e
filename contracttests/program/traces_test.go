package program

import (
	"cmp"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
)

// The headers of a client whose request is traced.
const (
	clientTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	clientSpan  = "00f067aa0ba902b7"
	clientState = "vendor=opaque"
)

// A tracedServer is a server that sends traces of the requests whose clients trace them.
type tracedServer struct{ *apptest.Demo }

// startTraced starts a server with the demo store.
func startTraced(t *testing.T, collector *testenv.TraceReceiver, environ ...string) *tracedServer {
	t.Helper()
	return &tracedServer{apptest.StartDemo(t, "documented", append(environ, "PORTICO_TRACING_ENDPOINT="+collector.URL, "PORTICO_TRACING_SAMPLE=0")...)}
}

// ask sends a request as a client that traces it, and returns the status.
func (s *tracedServer) ask(t *testing.T, method, target, body, authorization string) int {
	t.Helper()
	return apptest.Send(t, method, s.Contract+target, body, "Accept", "application/json", "Content-Type", "application/json", "Authorization", authorization,
		"Traceparent", "00-"+clientTrace+"-"+clientSpan+"-01", "Tracestate", clientState).Status
}

// A traceTree holds spans by their parents.
type traceTree map[string][]testenv.ReceivedSpan

func newTraceTree(spans []testenv.ReceivedSpan) traceTree {
	tree := traceTree{}
	for _, s := range spans {
		tree[s.Parent] = append(tree[s.Parent], s)
	}
	return tree
}

// find returns the spans below the one with an id that are reached by spans whose names begin
// with path.
func (tree traceTree) find(id string, path ...string) []testenv.ReceivedSpan {
	var found []testenv.ReceivedSpan
	for _, s := range tree[id] {
		switch {
		case !strings.HasPrefix(s.Name, path[0]):
		case len(path) == 1:
			found = append(found, s)
		default:
			found = append(found, tree.find(s.ID, path[1:]...)...)
		}
	}
	return found
}

// list lists the tree with indentation.
func (tree traceTree) list(id, indent string) string {
	var b strings.Builder
	for _, s := range tree[id] {
		b.WriteString(indent + s.Name + "\n" + tree.list(s.ID, indent+"  "))
	}
	return b.String()
}

// TestTraces checks the spans of requests that Portico and a legacy store, another Portico,
// answer: from the client's span down to the statements of both databases.
func TestTraces(t *testing.T) {
	t.Parallel()
	collector := testenv.StartTraceReceiver(t)
	old := startTraced(t, collector)
	front := startTraced(t, collector, apptest.RoutesFile(t, "resource: customers, to: legacy"),
		"PORTICO_LEGACY_URL="+old.Contract, "PORTICO_CACHE_REDIS_URL="+apptest.NewRedis(t).URL(), "PORTICO_CACHE_TIMEOUT=10s")
	const email, searched = "grace.hopper@example.net", "searched@example.net"
	for _, r := range []struct {
		method, target, body, authorization string
		status                              int
	}{
		{"GET", "/api/rest/products/1", "", "", 200},
		{"GET", "/api/rest/products/1", "", "", 200},
		{"GET", "/api/rest/customers/1", "", apptest.DemoAdmin(), 200},
		{"GET", "/api/rest/customers?filter%5B1%5D%5Battribute%5D=email&filter%5B1%5D%5Beq%5D=" + searched, "", apptest.DemoAdmin(), 200},
		{"POST", "/api/rest/customers", `{"firstname": "Gracious", "lastname": "Hopperton", "email": "` + email + `", "website_id": 1, "group_id": 1, "password": "correct-horse"}`, apptest.DemoAdmin(), 200},
		{"PUT", "/api/rest/stockitems/1", `{"qty": 123456}`, apptest.DemoAdmin(), 200},
		{"GET", "/api/rest/unknown/" + searched, "", "", 404},
	} {
		if status := front.ask(t, r.method, r.target, r.body, r.authorization); status != r.status {
			t.Errorf("%s %s: status %d", r.method, r.target, status)
		}
	}
	front.Stop(t)
	old.Stop(t)

	tree := newTraceTree(collector.Spans())
	for _, want := range []struct {
		path      []string
		n         int    // how many there are; 0: at least one
		attribute string // of the last
		value     string
	}{
		{[]string{"GET /api/rest/products/:id"}, 2, "http.route", "/api/rest/products/:id"},
		{[]string{"GET /api/rest/products/:id"}, 2, "url.path", "/api/rest/products/1"},
		{[]string{"GET /api/rest/products/:id", "authenticate"}, 1, "portico.role", "guest"},
		{[]string{"GET /api/rest/products/:id", "reply cache"}, 1, "portico.cache", "miss"},
		{[]string{"GET /api/rest/products/:id", "reply cache", "redis lookup"}, 1, "db.system.name", "redis"},
		{[]string{"GET /api/rest/products/:id", "reply cache", "get products"}, 1, "portico.upstream", "sql"},
		{[]string{"GET /api/rest/products/:id", "reply cache", "get products", "SELECT product"}, 0, "db.system.name", "sqlite"},
		{[]string{"GET /api/rest/products/:id", "reply cache", "render"}, 1, "", ""},
		{[]string{"PUT /api/rest/stockitems/:id", "decode body"}, 1, "", ""},
		{[]string{"PUT /api/rest/stockitems/:id", "update stock_items", "BEGIN"}, 1, "db.operation.name", "BEGIN"},
		{[]string{"PUT /api/rest/stockitems/:id", "update stock_items", "UPDATE"}, 0, "", ""},
		{[]string{"PUT /api/rest/stockitems/:id", "update stock_items", "COMMIT"}, 1, "", ""},
		{[]string{"GET /api/rest/customers/:id"}, 1, "portico.side", "legacy"},
		{[]string{"GET /api/rest/customers/:id", "GET /api/rest/customers/:id"}, 1, "http.response.status_code", "200"},
		{[]string{"GET /api/rest/customers/:id", "GET /api/rest/customers/:id", "legacy_read customers"}, 1, "portico.upstream", "legacy"},
		{[]string{"GET /api/rest/customers/:id", "GET /api/rest/customers/:id", "GET /api/rest/customers/:id", "get customers", "SELECT customer"}, 0, "", ""},
		{[]string{"POST /api/rest/customers", "POST /api/rest/customers", "POST /api/rest/customers", "create customers", "INSERT"}, 0, "", ""},
	} {
		found := tree.find(clientSpan, want.path...)
		if len(found) == 0 || want.n > 0 && len(found) != want.n {
			t.Errorf("%d spans %s, want %d in\n%s", len(found), strings.Join(want.path, " › "), want.n, tree.list(clientSpan, ""))
			continue
		}
		if got := found[0].Attributes[want.attribute]; want.attribute != "" && got != want.value {
			t.Errorf("%s: %s is %q, want %q", strings.Join(want.path, " › "), want.attribute, got, want.value)
		}
	}
	for _, s := range collector.Spans() {
		if s.Trace != clientTrace || s.State != clientState || s.Failed {
			t.Errorf("a span of another trace, or a failed one: %+v", s)
		}
	}
	consumer, text := demotest.Data(t).Consumer, collector.Text()
	for _, value := range []string{email, searched, "Gracious", "Hopperton", "correct-horse", "123456", consumer.Key, consumer.Secret, "ada@", "Byron", "kettle-steel"} {
		if at := strings.Index(text, value); at >= 0 {
			t.Errorf("the traces have %q: %s", value, text[max(0, at-200):at+len(value)])
		}
	}
}

// TestTracesOfFailures checks the spans of a request that the legacy store does not answer.
func TestTracesOfFailures(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(nil)
	gone.Close()
	collector := testenv.StartTraceReceiver(t)
	front := startTraced(t, collector, apptest.RoutesFile(t, "resource: all, to: legacy"), "PORTICO_LEGACY_URL="+gone.URL)
	if status := front.ask(t, "GET", "/api/rest/customers/1", "", apptest.DemoAdmin()); status != http.StatusServiceUnavailable {
		t.Errorf("status %d", status)
	}
	front.Stop(t)
	var failures []string
	for _, s := range collector.Spans() {
		failures = append(failures, s.Name+": "+cmp.Or(s.Attributes["error.type"], "none"))
		if s.Failed != (s.Attributes["error.type"] != "") {
			t.Errorf("the status of %+v", s)
		}
	}
	slices.Sort(failures)
	if want := []string{"GET /api/rest/customers/:id: 503", "GET /api/rest/customers/:id: unavailable", "legacy_read customers: unavailable"}; !slices.Equal(failures, want) {
		t.Errorf("spans %q, want %q", failures, want)
	}
}

// TestTraceIsForwardedUnchanged checks that without tracing the legacy store gets the trace of
// the client.
func TestTraceIsForwardedUnchanged(t *testing.T) {
	t.Parallel()
	received := make(chan http.Header, 1)
	old := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { received <- r.Header }))
	t.Cleanup(old.Close)
	front := &tracedServer{apptest.StartDemo(t, "documented", apptest.RoutesFile(t, "resource: all, to: legacy"), "PORTICO_LEGACY_URL="+old.URL)}
	front.ask(t, "GET", "/api/rest/customers/1", "", "")
	header := <-received
	if parent, state := header.Get("traceparent"), header.Get("tracestate"); parent != "00-"+clientTrace+"-"+clientSpan+"-01" || state != clientState {
		t.Errorf("traceparent %q, tracestate %q", parent, state)
	}
}

// TestLastTraces checks that the program sends the traces of its last requests before it ends,
// and ends without them if the collector does not answer.
func TestLastTraces(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	hanging := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }))
	t.Cleanup(func() { close(hang); hanging.Close() })
	collector := testenv.StartTraceReceiver(t)
	for name, tt := range map[string]struct{ endpoint, timeout, logged string }{
		"sent": {collector.URL, "10s", ""},
		"lost": {hanging.URL, "200ms", "the last traces could not be sent in time"},
	} {
		t.Run(name, func(t *testing.T) {
			p := apptest.Start(t, []string{"PORTICO_TRACING_ENDPOINT=" + tt.endpoint, "PORTICO_TRACING_SAMPLE=1", "PORTICO_SERVER_SHUTDOWN_TIMEOUT=" + tt.timeout, "OTEL_SERVICE_NAME=shop"}, "--demo")
			apptest.StockQty(t, p.Contract, apptest.DemoAdmin())
			p.Stop(t)
			if said := p.Stderr.Text(); !strings.Contains(said, tt.logged) || tt.logged == "" && strings.Contains(said, "level=WARN") {
				t.Errorf("logged:\n%s", said)
			}
		})
	}
	servers := newTraceTree(collector.Spans())[""]
	if len(servers) != 1 || servers[0].Name != "GET /api/rest/stockitems/:id" || servers[0].Resource["service.name"] != "shop" {
		t.Fatalf("requests %+v", servers)
	}
	if tree := newTraceTree(collector.Spans()); len(tree.find("", "GET", "get stock_items", "SELECT")) == 0 {
		t.Errorf("no statement in\n%s", tree.list("", ""))
	}
}
