package otlp

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// TestEncoding checks that TracesData is encoded like the ExportTraceServiceRequest of the
// protocol, whose only field has the number 1.
func TestEncoding(t *testing.T) {
	t.Parallel()
	fields := new(tracepb.TracesData).ProtoReflect().Descriptor().Fields()
	if n := fields.ByName("resource_spans").Number(); fields.Len() != 1 || n != 1 {
		t.Errorf("%d fields, number %d", fields.Len(), n)
	}
}

// TestUpload checks the client's reaction to each answer of the collector.
func TestUpload(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		statuses []int // of successive answers
		sent     int   // number of times that the spans are sent
		want     string
	}{
		{"taken", []int{200}, 1, ""},
		{"taken partly", []int{202}, 1, ""},
		{"busy", []int{429, 503, 200}, 3, ""},
		{"busy for long", []int{502, 504, 503, 200}, 3, "the collector answered 503"},
		{"refused", []int{400, 200}, 1, "the collector answered 400"},
		{"redirected", []int{307, 200}, 1, "the collector answered 307"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sent := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(tt.statuses[sent])
				sent++
			}))
			defer server.Close()
			c := newClient(server.URL, nil)
			c.pause = time.Millisecond
			got := ""
			if err := c.UploadTraces(t.Context(), []*tracepb.ResourceSpans{{}}); err != nil {
				got = err.Error()
			}
			if err := c.Stop(t.Context()); err != nil {
				t.Error(err)
			}
			if sent != tt.sent || got != tt.want {
				t.Errorf("sent %d times, %q; want %d, %q", sent, got, tt.sent, tt.want)
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]time.Duration{
		"": time.Minute, "soon": time.Minute, "-1": time.Minute, "0": time.Minute, "2": 2 * time.Second, "3600": maxPause, "99999999999999": maxPause,
	} {
		if got := retryAfter(http.Header{"Retry-After": {header}}, time.Minute); got != want {
			t.Errorf("%q: %s, want %s", header, got, want)
		}
	}
}
