package replica

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/portico-commerce/portico/adapter"
)

// metrics count what reconciling the local replica with the backend does.
type metrics struct {
	reconciled, imported, refused, unmapped counter
	intents                                 prometheus.Gauge
}

// A counter counts by resource.
type counter struct{ *prometheus.CounterVec }

func (c counter) count(r adapter.Resource) { c.WithLabelValues(string(r)).Inc() }

// newMetrics returns metrics of the resources of some plans, registered unless registerer is
// nil. It panics if they are registered already.
func newMetrics(registerer prometheus.Registerer, plans []*resourcePlan) *metrics {
	register := promauto.With(registerer)
	newCounter := func(name, help string) counter {
		c := counter{register.NewCounterVec(prometheus.CounterOpts{Name: "portico_side_" + name, Help: help}, []string{"resource"})}
		for _, plan := range plans {
			c.WithLabelValues(string(plan.Resource)) // so that the first event counts as an increase
		}
		return c
	}
	return &metrics{
		reconciled: newCounter("taken_over_total", "Records of the local replica that were updated from the backend."),
		imported:   newCounter("adopted_total", "Records imported that only the backend had."),
		refused:    newCounter("left_out_total", "Values and records of the backend that the local replica refused."),
		unmapped:   newCounter("unmapped_total", "Documents found at the backend that have no legacy id, or another record's."),
		intents: register.NewGauge(prometheus.GaugeOpts{
			Name: "portico_side_noted", Help: "Writes whose outcome was unknown at the last scan of the backend.",
		}),
	}
}
