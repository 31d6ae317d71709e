package httpapi

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/portico-commerce/portico/mapping"
)

// Metrics counts and times requests.
type Metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	problems *prometheus.CounterVec
	cut      *prometheus.CounterVec
	streamed *prometheus.CounterVec
	limited  prometheus.Counter
	inFlight prometheus.Gauge
}

// NewMetrics returns metrics registered with reg.
func NewMetrics(reg prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_requests_total",
			Help: "Requests answered, by call of the contract, role, status and format of the reply.",
		}, []string{"call", "role", "status", "format"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "portico_request_duration_seconds",
			Help:    "Time from the headers of a request to the last byte of its reply, by call.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"call"}),
		problems: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_authentication_problems_total",
			Help: "Calls refused by OAuth, by problem.",
		}, []string{"problem"}),
		cut: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_replies_cut_total",
			Help: "Replies that ended in the middle of their body, because the upstream failed or the client had gone, by call.",
		}, []string{"call"}),
		streamed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_rows_streamed_total",
			Help: "Records written in lists that are read and sent batch by batch, by call.",
		}, []string{"call"}),
		limited: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "portico_rate_limited_total",
			Help: "Requests refused with status 429, because their consumer had sent too many.",
		}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "portico_requests_in_flight",
			Help: "Requests being answered.",
		}),
	}
	for _, c := range []prometheus.Collector{m.requests, m.duration, m.problems, m.cut, m.streamed, m.limited, m.inFlight} {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// observe counts a request that was answered; cut tells that its body is not
// whole.
func (m *Metrics) observe(r *mapping.Response, cut bool, took time.Duration) {
	m.requests.WithLabelValues(r.Call, r.Role, strconv.Itoa(r.Status), r.Format).Inc()
	m.duration.WithLabelValues(r.Call).Observe(took.Seconds())
	if cut {
		m.cut.WithLabelValues(r.Call).Inc()
	}
	if r.Status == http.StatusTooManyRequests {
		m.limited.Inc()
	}
	if r.Problem != "" {
		m.problems.WithLabelValues(r.Problem).Inc()
	}
}
