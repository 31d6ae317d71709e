package tracing_test

import (
	"context"
	"net/http"
	"testing"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/portico-commerce/portico/adapter/tracing"
)

const (
	traceID     = "4bf92f3577b34da6a3ce929d0e0e4736"
	traceparent = "00-" + traceID + "-00f067aa0ba902b7-01"
)

// TestNothingIsAllocated checks that the calls of other packages for a span allocate no
// memory while nothing is recorded.
func TestNothingIsAllocated(t *testing.T) {
	unsampled := trace.ContextWithRemoteSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}}))
	header := http.Header{}
	for name, ctx := range map[string]context.Context{"off": t.Context(), "not sampled": unsampled} {
		allocs := testing.AllocsPerRun(1000, func() {
			inside, span := tracing.Start(ctx, tracing.Client, "get", "products")
			span.SetString("db.system.name", "sqlite")
			span.SetInt("db.response.returned_rows", 1000)
			span.Fail("unavailable")
			span.End()
			if inside != ctx || span.Recording() {
				t.Error("a span is recorded")
			}
		})
		if allocs != 0 {
			t.Errorf("%s: %v allocations, want none", name, allocs)
		}
	}
	if allocs := testing.AllocsPerRun(1000, func() {
		tracing.Inject(t.Context(), header)
		if tracing.ID(t.Context()) != "" || tracing.Sampled(t.Context()) {
			t.Error("there is a trace")
		}
	}); allocs != 0 {
		t.Errorf("off: %v allocations to pass on a trace, want none", allocs)
	}
}

// TestHeaders checks the trace to which the headers of a request belong, and the headers
// of the requests that are sent for it.
func TestHeaders(t *testing.T) {
	tests := []struct {
		name, parent, state string
		id, sent, sentState string
		sampled             bool
	}{
		{"sampled", traceparent, "a=1", traceID, traceparent, "a=1", true},
		{"not sampled", traceparent[:53] + "00", "", traceID, traceparent[:53] + "00", "", false},
		{"none", "", "", "", "", "", false},
		{"invalid", "00-" + traceID + "-zz", "a=1", "", "00-" + traceID + "-zz", "a=1", false},
		{"invalid state", traceparent, "a=1,,=", traceID, traceparent, "", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			received, sent := http.Header{}, http.Header{}
			for _, h := range []http.Header{received, sent} {
				if h.Set("traceparent", tt.parent); tt.state != "" {
					h.Set("tracestate", tt.state)
				}
			}
			// The tracer of package noop passes on the span of the client.
			ctx, span := tracing.StartServer(t.Context(), noop.NewTracerProvider().Tracer(""), received, "GET")
			defer span.End()
			tracing.Inject(ctx, sent)
			if id := tracing.ID(ctx); id != tt.id || tracing.Sampled(ctx) != tt.sampled {
				t.Errorf("trace %q, sampled %t; want %q, %t", id, tracing.Sampled(ctx), tt.id, tt.sampled)
			}
			if parent, state := sent.Get("traceparent"), sent.Get("tracestate"); parent != tt.sent || state != tt.sentState {
				t.Errorf("sent %q, %q; want %q, %q", parent, state, tt.sent, tt.sentState)
			}
		})
	}
}
