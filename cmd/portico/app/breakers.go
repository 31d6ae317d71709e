package app

import (
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
)

// breakerMetrics holds the metrics of all circuit breakers.
type breakerMetrics struct {
	state       *prometheus.GaugeVec
	transitions *prometheus.CounterVec
}

// newBreakerMetrics returns metrics that are registered with reg.
func newBreakerMetrics(reg prometheus.Registerer) (*breakerMetrics, error) {
	b := &breakerMetrics{
		state: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "portico_breaker_state",
			Help: "State of a circuit breaker: 0 closed, 1 half-open, 2 open. It is half-open from the first call after its open time.",
		}, []string{"breaker"}),
		transitions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_breaker_transitions_total",
			Help: "State changes of a circuit breaker, by the new state.",
		}, []string{"breaker", "to"}),
	}
	for _, c := range []prometheus.Collector{b.state, b.transitions} {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// breakerStateValues maps each state of a breaker to its value in the state metric.
func breakerStateValues() map[string]float64 {
	return map[string]float64{"closed": 0, "half_open": 1, "open": 2}
}

// add initializes the metrics of the breaker name, as closed. Without it they would be
// missing until the breaker first opens, and rate functions would miss that first opening.
func (b *breakerMetrics) add(name string) {
	b.state.WithLabelValues(name).Set(0)
	for to := range breakerStateValues() {
		b.transitions.WithLabelValues(name, to)
	}
}

// setState records a change of the breaker name to the state to: "closed", "half_open" or
// "open".
func (b *breakerMetrics) setState(name, to string) {
	b.state.WithLabelValues(name).Set(breakerStateValues()[to])
	b.transitions.WithLabelValues(name, to).Inc()
}

// onUpstreamChange returns a function that records and logs a state change of an
// upstream's breaker.
func (b *breakerMetrics) onUpstreamChange(log *slog.Logger) func(name, to string) {
	return func(name, to string) {
		b.setState(name, to)
		log.Warn("breaker of the upstream", "upstream", name, "state", to)
	}
}
