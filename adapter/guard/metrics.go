package guard

import (
	"context"
	"sync/atomic"
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

// A Meter sums the time of the calls that guards send to their upstreams with one context. The
// zero value is ready for use, also by several calls at once.
type Meter struct{ nanoseconds atomic.Int64 }

// Time returns the sum of the calls that have returned. Concurrent calls all count.
func (m *Meter) Time() time.Duration { return time.Duration(m.nanoseconds.Load()) }

type meterKey struct{}

// WithMeter returns a context whose calls are timed by m.
func WithMeter(ctx context.Context, m *Meter) context.Context {
	return context.WithValue(ctx, meterKey{}, m)
}

// measure adds the time of a call to the meter of ctx, if it has one.
func measure(ctx context.Context, took time.Duration) {
	if m, ok := ctx.Value(meterKey{}).(*Meter); ok {
		m.nanoseconds.Add(int64(took))
	}
}
