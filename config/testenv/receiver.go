package testenv

import (
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// A ReceivedSpan is a span that a [TraceReceiver] has received. Ids are hexadecimal; Parent is empty
// for the first span of a trace.
type ReceivedSpan struct {
	Trace, ID, Parent, State string
	Name                     string
	Kind                     string // such as SPAN_KIND_SERVER
	Failed                   bool
	Attributes               map[string]string
	Resource                 map[string]string // attributes of the process
}

// A TraceReceiver collects spans until the end of the test.
type TraceReceiver struct {
	URL string // for the setting tracing.endpoint
	tb  testing.TB

	mu      sync.Mutex
	spans   []ReceivedSpan
	text    strings.Builder
	headers []http.Header
	status  int
}

// StartTraceReceiver starts a receiver.
func StartTraceReceiver(tb testing.TB) *TraceReceiver {
	tb.Helper()
	r := &TraceReceiver{tb: tb, status: http.StatusOK}
	server := httptest.NewServer(r)
	tb.Cleanup(server.Close)
	r.URL = server.URL
	return r
}

// SetStatus sets the status of all further answers. With a status other than 200 the
// receiver takes no spans.
func (r *TraceReceiver) SetStatus(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = status
}

// Spans returns the received spans.
func (r *TraceReceiver) Spans() []ReceivedSpan {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.spans)
}

// Text returns everything received, in a readable form.
func (r *TraceReceiver) Text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

// Headers returns the headers of the received requests.
func (r *TraceReceiver) Headers() []http.Header {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.headers)
}

// ServeHTTP answers an export of spans.
func (r *TraceReceiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	data, err := decode(request)
	if err != nil {
		r.tb.Errorf("%s %s: %v", request.Method, request.URL, err)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.headers = append(r.headers, request.Header)
	if r.status == http.StatusOK {
		r.text.WriteString(data.String())
		r.add(data)
	}
	w.WriteHeader(r.status)
}

// decode reads the body of a request.
func decode(request *http.Request) (*tracepb.TracesData, error) {
	unpacked, err := gzip.NewReader(request.Body)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(unpacked)
	if err != nil {
		return nil, err
	}
	data := new(tracepb.TracesData)
	return data, proto.Unmarshal(body, data)
}

// add keeps the spans of a request.
func (r *TraceReceiver) add(data *tracepb.TracesData) {
	for _, process := range data.GetResourceSpans() {
		resource := attributes(process.GetResource().GetAttributes())
		for _, scope := range process.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				r.spans = append(r.spans, ReceivedSpan{
					Trace: hex.EncodeToString(s.GetTraceId()), ID: hex.EncodeToString(s.GetSpanId()), Parent: hex.EncodeToString(s.GetParentSpanId()),
					State: s.GetTraceState(), Name: s.GetName(), Kind: s.GetKind().String(),
					Failed:     s.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR,
					Attributes: attributes(s.GetAttributes()), Resource: resource,
				})
			}
		}
	}
}

// attributes returns attributes as text.
func attributes(list []*commonpb.KeyValue) map[string]string {
	all := make(map[string]string, len(list))
	for _, a := range list {
		switch v := a.GetValue().GetValue().(type) {
		case *commonpb.AnyValue_StringValue:
			all[a.GetKey()] = v.StringValue
		case *commonpb.AnyValue_IntValue:
			all[a.GetKey()] = strconv.FormatInt(v.IntValue, 10)
		default:
			all[a.GetKey()] = a.GetValue().String()
		}
	}
	return all
}
