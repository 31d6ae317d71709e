package replica

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/portico-commerce/portico/adapter"
)

// metrics count what happens between a backend and its side.
type metrics struct {
	reconciled, imported, refused, unmapped *prometheus.CounterVec
	intents                                 prometheus.Gauge
}

// newMetrics returns metrics, registered unless registerer is nil.
func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "portico_side_" + name, Help: help}, []string{"resource"})
	}
	m := &metrics{
		reconciled: counter("taken_over_total", "Records brought up to date with what the backend says."),
		imported:   counter("adopted_total", "Records taken over that only the backend had."),
		refused:    counter("left_out_total", "Values and records of the backend that the side refused."),
		unmapped:   counter("unmapped_total", "Documents met that have no legacy id, or another's."),
		intents: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "portico_side_noted", Help: "Writes whose outcome was not known when the backend was scanned last.",
		}),
	}
	if registerer == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.reconciled, m.imported, m.refused, m.unmapped, m.intents} {
		if err := registerer.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *metrics) countReconciled(r adapter.Resource) { m.reconciled.WithLabelValues(string(r)).Inc() }
func (m *metrics) countImported(r adapter.Resource)   { m.imported.WithLabelValues(string(r)).Inc() }
func (m *metrics) countRefused(r adapter.Resource)    { m.refused.WithLabelValues(string(r)).Inc() }
