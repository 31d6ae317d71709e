package httpapi

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/resource"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	dto "github.com/prometheus/client_model/go"
)

// consumerCounts returns the calls that are counted, by consumer and outcome, without zeros.
func consumerCounts(t *testing.T, m *consumerMetrics) map[string]float64 {
	t.Helper()
	counts := map[string]float64{}
	for _, one := range gather(t, m.requests) {
		if n := one.GetCounter().GetValue(); n > 0 {
			counts[one.Label[0].GetValue()+" "+one.Label[1].GetValue()] = n
		}
	}
	return counts
}

// gather returns the series of a collector that has one family.
func gather(t *testing.T, c prometheus.Collector) []*dto.Metric {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil || len(families) != 1 {
		t.Fatalf("%d families: %v", len(families), err)
	}
	return families[0].Metric
}

func TestConsumerMetrics(t *testing.T) {
	t.Parallel()
	const known = `OAuth oauth_consumer_key="0123456789abcdef0123456789abcdef", oauth_signature="x"`
	accepted := resource.Response{Status: 200, Role: "admin"}
	for _, tt := range []struct {
		name, authorization, target string
		response                    resource.Response
		want                        string // consumer and outcome
	}{
		{"a Guest", "", "/", resource.Response{Status: 200, Role: "guest"}, "guest ok"},
		{"a Guest with a key in the query", "", "/?oauth_consumer_key=invented", resource.Response{Status: 200, Role: "guest"}, "guest ok"},
		{"a Guest of the legacy store", "", "/", resource.Response{Status: 404, Role: mapping.UnknownRole}, "guest client_error"},
		{"a known consumer", known, "/", accepted, "01234567 ok"},
		{"its mistake", known, "/", resource.Response{Status: 400, Role: "admin"}, "01234567 client_error"},
		{"its wrong signature", known, "/", resource.Response{Status: 401, Role: "guest"}, "01234567 client_error"},
		{"its call that fails", known, "/", resource.Response{Status: 503, Role: "admin"}, "01234567 server_error"},
		{"its mistake with a status of a failure", known, "/", resource.Response{Status: 500, ClientError: true}, "01234567 client_error"},
		{"one that the legacy store accepts", `oauth oauth_consumer_key="ffff"`, "/", resource.Response{Status: 201, Role: mapping.UnknownRole}, "ffff ok"},
		{"a stranger", `OAuth oauth_consumer_key="invented"`, "/", resource.Response{Status: 401}, "other client_error"},
		{"a key that cannot be shown", `OAuth oauth_consumer_key="a<b"`, "/", accepted, "other ok"},
		{"a key that is a Guest's name", `OAuth oauth_consumer_key="guest"`, "/", accepted, "other ok"},
		{"a key that is the name of API keys", `OAuth oauth_consumer_key="api_key"`, "/", accepted, "other ok"},
		{"a key that is the name of others", `OAuth oauth_consumer_key="other"`, "/", accepted, "other ok"},
		{"an API key", "Bearer secret", "/", accepted, "api_key ok"},
		{"a wrong API key", "Bearer secret", "/", resource.Response{Status: 401, Role: "guest"}, "guest client_error"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newConsumerMetrics(promauto.With(nil))
			call := func(authorization, target string, response resource.Response) {
				r := httptest.NewRequest(http.MethodGet, target, nil)
				r.Header.Set("Authorization", authorization)
				m.observe(claimedConsumer(r), &response)
			}
			want := map[string]float64{tt.want: 1}
			if tt.authorization == known {
				call(known, "/", accepted)
				want["01234567 ok"]++
			}
			call(tt.authorization, tt.target, tt.response)
			if got := consumerCounts(t, m); !maps.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

// TestConsumersAreBounded accepts calls of more consumers than are counted by name.
func TestConsumersAreBounded(t *testing.T) {
	t.Parallel()
	m := newConsumerMetrics(promauto.With(nil))
	const all = maxConsumers + 7
	for range 2 {
		for i := range all {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.Header.Set("Authorization", fmt.Sprintf(`OAuth oauth_consumer_key="key%d"`, i))
			m.observe(claimedConsumer(r), &resource.Response{Status: 200, Role: "admin"})
		}
	}
	counts := consumerCounts(t, m)
	if counts["other ok"] != 2*7 || counts["key0 ok"] != 2 || len(counts) != maxConsumers+1 {
		t.Errorf("%v", counts)
	}
	const outcomes, fixed = 3, 3
	if n := len(gather(t, m.requests)); n != (maxConsumers+fixed)*outcomes {
		t.Errorf("%d series", n)
	}
}

// TestExemplars checks that the duration of a request refers to its trace, and has classic and
// native buckets.
func TestExemplars(t *testing.T) {
	t.Parallel()
	m := NewMetrics(prometheus.NewRegistry())
	observe := func(call, trace string) { m.observe(&resource.Response{Call: call, Status: 200}, false, 20e6, trace) }
	observe("traced", traceID)
	observe("traced", "")
	observe("untraced", "")
	for _, one := range gather(t, m.duration) {
		call, h := one.Label[0].GetValue(), one.GetHistogram()
		var traces []string
		for _, bucket := range h.Bucket {
			for _, label := range bucket.GetExemplar().GetLabel() {
				traces = append(traces, label.GetName()+"="+label.GetValue())
			}
		}
		want := map[string]string{"traced": "[trace_id=" + traceID + "]", "untraced": "[]"}[call]
		if got := fmt.Sprint(traces); got != want {
			t.Errorf("%s: exemplars %s, want %s", call, got, want)
		}
		if len(h.Bucket) != 13 || len(h.PositiveSpan) == 0 {
			t.Errorf("%s: %d classic buckets, %d spans of native ones", call, len(h.Bucket), len(h.PositiveSpan))
		}
	}
}
