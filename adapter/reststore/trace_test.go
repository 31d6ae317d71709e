package reststore

import (
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/tracing"
	"github.com/portico-commerce/portico/adapter/tracing/otlp"
	"github.com/portico-commerce/portico/config/testenv"
)

// TestTrace checks that each attempt to send a request to the backend has a span within the
// client's trace, which the backend gets, and that no span has a value.
func TestTrace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, mapping, span, template string }{
		{"HTTP", tinyMappingWith(""), "GET /c", "/c"},
		{"GraphQL", graphqlMapping, "query customers", "/{$shop}/graphql"},
	} {
		t.Run(c.name, func(t *testing.T) { testTrace(t, c.mapping, c.span, c.template) })
	}
}

func testTrace(t *testing.T, mapping, name, template string) {
	const parent, state = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "vendor=1"
	received := make(chan http.Header, 2)
	var requests atomic.Int64
	b := serve(t, mapping, groups, func(w http.ResponseWriter, r *http.Request) {
		received <- r.Header
		if requests.Add(1) == 1 {
			respond(w, http.StatusServiceUnavailable, `{}`)
			return
		}
		const list = `[{"id": "ada-lovelace", "mail": "ada@example.com"}]`
		respond(w, http.StatusOK, `{"data": {"list": `+list+`, "customers": `+list+`}}`)
	})
	collector := testenv.StartTraceReceiver(t)
	traces, err := otlp.New(t.Context(), otlp.Options{Endpoint: collector.URL, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, span := tracing.StartServer(t.Context(), traces.Tracer(), http.Header{"Traceparent": {parent}, "Tracestate": {state}}, "GET")
	if _, err := b.Fetch(ctx, adapter.Customers, []string{"ada-lovelace"}); err != nil {
		t.Error(err)
	}
	span.End()
	if err := traces.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	spans := collector.Spans()
	if len(spans) != 3 || len(received) != 2 {
		t.Fatalf("%d spans, %d requests: %+v", len(spans), len(received), spans)
	}
	server := spans[2]
	for i, want := range []struct{ status, failure string }{{"503", "unavailable"}, {"200", ""}} {
		s, header := spans[i], <-received
		if s.Kind != "SPAN_KIND_CLIENT" || s.Parent != server.ID || s.Trace != parent[3:35] || s.Attributes["http.response.status_code"] != want.status ||
			s.Failed != (want.failure != "") || s.Attributes["error.type"] != want.failure || s.Attributes["portico.resource"] != "customers" ||
			s.Name != name || s.Attributes["url.template"] != template {
			t.Errorf("attempt %d: %+v", i+1, s)
		}
		if got := header.Get("traceparent"); got != "00-"+s.Trace+"-"+s.ID+"-01" || header.Get("tracestate") != state {
			t.Errorf("attempt %d: the backend got traceparent %q, tracestate %q", i+1, got, header.Get("tracestate"))
		}
	}
	if text := collector.Text(); strings.Contains(text, "lovelace") || strings.Contains(text, "example.com") || strings.Contains(text, "hush") {
		t.Errorf("the trace has a value: %s", text)
	}
}
