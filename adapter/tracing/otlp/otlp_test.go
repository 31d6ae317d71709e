package otlp_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter/tracing"
	"github.com/portico-commerce/portico/adapter/tracing/otlp"
	"github.com/portico-commerce/portico/config/buildinfo"
	"github.com/portico-commerce/portico/config/testenv"
)

const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// longText is longer than attributes may be.
var longText = strings.Repeat("x", 4096)

// start returns a provider that sends to url, and its log.
func start(t *testing.T, url string, sample float64) (*otlp.Provider, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	p, err := otlp.New(t.Context(), otlp.Options{
		Endpoint: url, Header: http.Header{"Authorization": {"Bearer secret"}}, Sample: sample, Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return p, &log
}

// request records the spans of a request that carries a traceparent, unless that is empty.
func request(ctx context.Context, p *otlp.Provider, parent string) {
	ctx, span := tracing.StartServer(ctx, p.Tracer(), http.Header{"Traceparent": {parent}}, "GET")
	defer span.End()
	_, inside := tracing.Start(ctx, tracing.Client, "SELECT", "products")
	inside.SetString("db.query.text", longText)
	inside.SetInt("db.response.returned_rows", 3)
	inside.Fail("unavailable")
	inside.End()
}

func TestExport(t *testing.T) {
	t.Parallel()
	collector := testenv.StartTraceReceiver(t)
	p, log := start(t, collector.URL, 1)
	request(t.Context(), p, traceparent)
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	spans := collector.Spans()
	if len(spans) != 2 || log.Len() > 0 {
		t.Fatalf("%d spans, log %q", len(spans), log)
	}
	statement, server := spans[0], spans[1]
	if server.Kind != "SPAN_KIND_SERVER" || server.Trace != traceparent[3:35] || server.Parent != traceparent[36:52] || server.Failed {
		t.Errorf("the request is %+v", server)
	}
	if statement.Kind != "SPAN_KIND_CLIENT" || statement.Name != "SELECT products" || statement.Trace != server.Trace || statement.Parent != server.ID ||
		!statement.Failed || statement.Attributes["error.type"] != "unavailable" || statement.Attributes["db.response.returned_rows"] != "3" {
		t.Errorf("the statement is %+v", statement)
	}
	if n := len(statement.Attributes["db.query.text"]); n != 2048 {
		t.Errorf("an attribute has %d characters", n)
	}
	if r := server.Resource; r["service.name"] != "portico" || r["service.version"] != buildinfo.Read().Version {
		t.Errorf("the process is %v", r)
	}
	if h := collector.Headers()[0]; h.Get("Authorization") != "Bearer secret" || h.Get("User-Agent") != buildinfo.UserAgent("portico") || h.Get("Content-Type") != "application/x-protobuf" {
		t.Errorf("headers %v", h)
	}
}

// TestSampling checks the requests that are traced.
func TestSampling(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		sample float64
		parent string
		spans  int
	}{
		{"all", 1, "", 2},
		{"none", 0, "", 0},
		{"the caller traces", 0, traceparent, 2},
		{"the caller does not trace", 1, traceparent[:53] + "00", 0},
		{"an invalid caller", 1, "00-1-2-3", 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			collector := testenv.StartTraceReceiver(t)
			p, _ := start(t, collector.URL, tt.sample)
			request(t.Context(), p, tt.parent)
			if err := p.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n := len(collector.Spans()); n != tt.spans {
				t.Errorf("%d spans, want %d", n, tt.spans)
			}
		})
	}
}

// TestCollectorRefuses checks that refused spans are logged once, without the credentials.
func TestCollectorRefuses(t *testing.T) {
	t.Parallel()
	collector := testenv.StartTraceReceiver(t)
	collector.SetStatus(http.StatusUnauthorized)
	p, log := start(t, collector.URL, 1)
	for range 300 { // more than a batch
		request(t.Context(), p, "")
	}
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(collector.Headers()); n < 2 {
		t.Fatalf("%d batches", n)
	}
	if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "the collector answered 401") || strings.Contains(text, "secret") {
		t.Errorf("log %q", text)
	}
}

// TestCollectorHangs checks that nothing waits for a collector that does not answer: not the
// requests, whose spans are dropped beyond the queue, nor the end of the program.
func TestCollectorHangs(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }))
	t.Cleanup(func() { close(hang); server.Close() })
	p, _ := start(t, server.URL, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 10_000 {
			_, span := tracing.StartServer(t.Context(), p.Tracer(), nil, "GET")
			span.End()
		}
	}()
	testenv.Receive(t, "requests, which must not wait for the collector", done)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := p.Close(ctx); err == nil {
		t.Error("the spans have been sent")
	}
}

// TestNoCollector checks that an unreachable collector is logged without its address.
func TestNoCollector(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(nil)
	server.Close()
	p, log := start(t, server.URL, 1)
	request(t.Context(), p, "")
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience(t))
	defer cancel()
	if err := p.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "spans=2") {
		t.Errorf("log %q", text)
	}
}

func ExampleProvider() {
	p, err := otlp.New(context.Background(), otlp.Options{Endpoint: "http://127.0.0.1:4318/v1/traces", Sample: 1, Log: slog.New(slog.DiscardHandler)})
	fmt.Println(p != nil, err)
	// Output: true <nil>
}
