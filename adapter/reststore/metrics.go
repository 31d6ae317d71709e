package reststore

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
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

// newMetrics creates the metrics of a backend and registers them if reg is not nil. It panics if
// they are registered already.
func newMetrics(reg prometheus.Registerer, m *mapping) *metrics {
	if reg != nil {
		reg = prometheus.WrapRegistererWith(prometheus.Labels{"backend": m.Name}, reg)
	}
	register := promauto.With(reg)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return register.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	all := &metrics{
		requests: counter("portico_backend_requests_total", "Requests sent to the backend, including retries, by outcome.", "resource", "operation", "outcome"),
		duration: register.NewHistogramVec(prometheus.HistogramOpts{
			Name:                            "portico_backend_request_duration_seconds",
			Help:                            "Duration of requests to the backend, until the response or the failure.",
			Buckets:                         []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
			NativeHistogramBucketFactor:     1.1,
			NativeHistogramMaxBucketNumber:  100,
			NativeHistogramMinResetDuration: time.Hour,
		}, []string{"resource", "operation"}),
		retries: counter("portico_backend_retries_total",
			"Failed reads that could be retried, by decision: sent, or given up because the retry budget was exhausted (budget) or the wait would have been too long (wait).", "decision"),
		documents:         counter("portico_backend_documents_total", "Documents received from the backend (came), and documents that had changed and were decoded (read).", "resource", "step"),
		unknownReferences: counter("portico_backend_unknown_references_total", "References in documents to backend records that have no legacy id.", "resource"),
		inFlight:          register.NewGauge(prometheus.GaugeOpts{Name: "portico_backend_requests_in_flight", Help: "Requests to the backend in flight."}),
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
	return all
}

// A call names the purpose of a request, as used in metric labels and errors.
type call struct{ resource, operation string }

func (c call) op() string { return c.operation + " " + c.resource }
