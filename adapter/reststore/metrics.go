package reststore

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics count what is sent. The label operation is that of the backend's method, as
// fetch, or login; outcome is ok or a kind of error.
type metrics struct {
	requests          *prometheus.CounterVec
	duration          *prometheus.HistogramVec
	retries           *prometheus.CounterVec
	documents         *prometheus.CounterVec
	unknownReferences *prometheus.CounterVec
	inFlight          prometheus.Gauge
}

// newMetrics registers the metrics of a backend.
func newMetrics(reg prometheus.Registerer, m *mapping) (*metrics, error) {
	all := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_backend_requests_total",
			Help: "Requests that were sent to the backend, retries included, by what came of them.",
		}, []string{"resource", "operation", "outcome"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "portico_backend_request_duration_seconds",
			Help:    "Time until a request to the backend was answered or given up.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"resource", "operation"}),
		retries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_backend_retries_total",
			Help: "Reads that failed and might be sent again: sent, or left because the budget was used up or the backend asked for a longer pause.",
		}, []string{"decision"}),
		documents: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_backend_documents_total",
			Help: "Documents that came from the backend, and those of them that were not known and looked into.",
		}, []string{"resource", "step"}),
		unknownReferences: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_backend_unknown_references_total",
			Help: "References in documents to records of the backend that have no legacy id.",
		}, []string{"resource"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "portico_backend_requests_in_flight",
			Help: "Requests to the backend that are being answered.",
		}),
	}
	// What is rare has to be there before the first time, which otherwise would be no
	// increase.
	for _, decision := range []string{"sent", "budget", "wait"} {
		all.retries.WithLabelValues(decision)
	}
	for _, r := range m.resources {
		if r.root == r {
			all.documents.WithLabelValues(string(r.name), "came")
			all.documents.WithLabelValues(string(r.name), "read")
		}
		for _, to := range r.references {
			all.unknownReferences.WithLabelValues(string(to))
		}
	}
	if reg == nil {
		return all, nil
	}
	reg = prometheus.WrapRegistererWith(prometheus.Labels{"backend": m.name}, reg)
	for _, c := range []prometheus.Collector{all.requests, all.duration, all.retries, all.documents, all.unknownReferences, all.inFlight} {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// A call says what a request is for, as labels of metrics.
type call struct{ resource, operation string }

func (c call) op() string { return c.operation + " " + c.resource }

// sent counts a request.
func (m *metrics) observe(c call, outcome string, took time.Duration) {
	m.requests.WithLabelValues(c.resource, c.operation, outcome).Inc()
	m.duration.WithLabelValues(c.resource, c.operation).Observe(took.Seconds())
}
