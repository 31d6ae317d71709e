package reststore

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics counts requests to the backend. The label operation is the operation of the
// backend interface, such as fetch, or login; outcome is ok or an error kind.
type metrics struct {
	requests          *prometheus.CounterVec
	duration          *prometheus.HistogramVec
	retries           *prometheus.CounterVec
	documents         *prometheus.CounterVec
	unknownReferences *prometheus.CounterVec
	inFlight          prometheus.Gauge
}

// newMetrics creates the metrics of a backend and registers them if reg is not nil.
func newMetrics(reg prometheus.Registerer, m *mapping) (*metrics, error) {
	all := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_backend_requests_total",
			Help: "Requests sent to the backend, including retries, by outcome.",
		}, []string{"resource", "operation", "outcome"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "portico_backend_request_duration_seconds",
			Help:    "Duration of requests to the backend, until the response or the failure.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"resource", "operation"}),
		retries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_backend_retries_total",
			Help: "Failed reads that could be retried, by decision: sent, or given up because the retry budget was exhausted (budget) or the wait would have been too long (wait).",
		}, []string{"decision"}),
		documents: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_backend_documents_total",
			Help: "Documents received from the backend (came), and documents that had changed and were decoded (read).",
		}, []string{"resource", "step"}),
		unknownReferences: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_backend_unknown_references_total",
			Help: "References in documents to backend records that have no legacy id.",
		}, []string{"resource"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "portico_backend_requests_in_flight",
			Help: "Requests to the backend in flight.",
		}),
	}
	// Create rare series with value 0: otherwise the first event would not show as an
	// increase.
	for _, decision := range []string{"sent", "budget", "wait"} {
		all.retries.WithLabelValues(decision)
	}
	for _, r := range m.resources {
		if r.root == r {
			all.documents.WithLabelValues(string(r.name), "came")
			all.documents.WithLabelValues(string(r.name), "read")
		}
		for _, to := range r.References {
			all.unknownReferences.WithLabelValues(string(to))
		}
	}
	if reg == nil {
		return all, nil
	}
	reg = prometheus.WrapRegistererWith(prometheus.Labels{"backend": m.Name}, reg)
	for _, c := range []prometheus.Collector{all.requests, all.duration, all.retries, all.documents, all.unknownReferences, all.inFlight} {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// A call names what a request is for, as used in metric labels and errors.
type call struct{ resource, operation string }

func (c call) op() string { return c.operation + " " + c.resource }

// observe records a request and its duration.
func (m *metrics) observe(c call, outcome string, took time.Duration) {
	m.requests.WithLabelValues(c.resource, c.operation, outcome).Inc()
	m.duration.WithLabelValues(c.resource, c.operation).Observe(took.Seconds())
}
