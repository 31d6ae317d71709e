package replica

import (
	"github.com/portico-commerce/portico/adapter"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Metrics count by resource, except Intents, which is the number of unresolved write intents.
type Metrics struct {
	Reconciled, Imported, Refused, Unmapped, IncompleteScans counter
	Intents                                                  prometheus.Gauge
}

// A counter counts by resource.
type counter struct{ *prometheus.CounterVec }

// Count counts one event.
func (c counter) Count(r adapter.Resource) { c.WithLabelValues(string(r)).Inc() }

// newMetrics returns metrics of some resources, registered unless registerer is
// nil. It panics if they are registered already.
func newMetrics(registerer prometheus.Registerer, resources []adapter.Resource) *Metrics {
	register := promauto.With(registerer)
	newCounter := func(name, help string) counter {
		c := counter{register.NewCounterVec(prometheus.CounterOpts{Name: "portico_side_" + name, Help: help}, []string{"resource"})}
		for _, r := range resources {
			c.WithLabelValues(string(r)) // so that the first event counts as an increase
		}
		return c
	}
	return &Metrics{
		Reconciled:      newCounter("taken_over_total", "Records of the local replica that were updated from the backend."),
		Imported:        newCounter("adopted_total", "Records imported that only the backend had."),
		Refused:         newCounter("left_out_total", "Values and records of the backend that the local replica refused, or that do not fit."),
		Unmapped:        newCounter("unmapped_total", "Documents found at the backend that have no legacy id, or another record's."),
		IncompleteScans: newCounter("incomplete_scans_total", "Scans in which the backend listed a record twice, or another number of records than it said."),
		Intents: register.NewGauge(prometheus.GaugeOpts{
			Name: "portico_side_noted", Help: "Writes whose outcome was unknown at the last scan of the backend.",
		}),
	}
}
