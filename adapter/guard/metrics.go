package guard

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Labels of calls in addition to the kinds of package adapter: for calls that succeeded,
// whose caller went away, or that were not sent.
const (
	kindOK       = "ok"
	kindCanceled = "canceled"
	kindOpen     = "refused_open"
	kindFull     = "refused_full"
)

// Metrics count and time the calls of all guards of a program.
type Metrics struct {
	calls    *prometheus.CounterVec
	duration *prometheus.HistogramVec
	inFlight *prometheus.GaugeVec
}

// NewMetrics registers the metrics. It panics if they are registered already.
func NewMetrics(registerer prometheus.Registerer) *Metrics {
	register := promauto.With(registerer)
	return &Metrics{
		calls: register.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_upstream_calls_total",
			Help: "Calls to the upstream, by resource, operation and kind of outcome; refused_open and refused_full were not sent.",
		}, []string{"resource", "operation", "kind"}),
		duration: register.NewHistogramVec(prometheus.HistogramOpts{
			Name:                            "portico_upstream_call_duration_seconds",
			Help:                            "Time of calls that were sent to the upstream, by resource and operation.",
			Buckets:                         []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
			NativeHistogramBucketFactor:     1.1,
			NativeHistogramMaxBucketNumber:  100,
			NativeHistogramMinResetDuration: time.Hour,
		}, []string{"resource", "operation"}),
		inFlight: register.NewGaugeVec(prometheus.GaugeOpts{
			Name: "portico_upstream_in_flight",
			Help: "Calls that were sent to the upstream and are not over.",
		}, []string{"upstream"}),
	}
}

// initialize is Guard.InitMetrics.
func (m *Metrics) initialize(resource string, operations ...string) {
	for _, operation := range operations {
		m.calls.WithLabelValues(resource, operation, kindOpen)
		m.calls.WithLabelValues(resource, operation, kindFull)
	}
}

// count counts a call.
func (m *Metrics) count(c call, kind string) {
	m.calls.WithLabelValues(c.resource, c.operation, kind).Inc()
}
