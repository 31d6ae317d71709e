package replica

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/portico-commerce/portico/adapter"
)

// metrics count what happens between a backend and its side.
type metrics struct {
	took, adopts, leaves, unmapped *prometheus.CounterVec
	noted                          prometheus.Gauge
}

// newMetrics returns metrics, registered unless registerer is nil.
func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "portico_side_" + name, Help: help}, []string{"resource"})
	}
	m := &metrics{
		took:     counter("taken_over_total", "Records brought up to date with what the backend says."),
		adopts:   counter("adopted_total", "Records taken over that only the backend had."),
		leaves:   counter("left_out_total", "Values and records of the backend that the side refused."),
		unmapped: counter("unmapped_total", "Documents met that have no legacy id, or another's."),
		noted: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "portico_side_noted", Help: "Writes whose outcome was not known when the backend was scanned last.",
		}),
	}
	if registerer == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.took, m.adopts, m.leaves, m.unmapped, m.noted} {
		if err := registerer.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *metrics) takenOver(r adapter.Resource) { m.took.WithLabelValues(string(r)).Inc() }
func (m *metrics) adopted(r adapter.Resource)   { m.adopts.WithLabelValues(string(r)).Inc() }
func (m *metrics) left(r adapter.Resource)      { m.leaves.WithLabelValues(string(r)).Inc() }
