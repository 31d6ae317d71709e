package main

import (
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
)

// breakers are the metrics of every circuit breaker of the program.
type breakers struct {
	state       *prometheus.GaugeVec
	transitions *prometheus.CounterVec
}

// newBreakers returns metrics registered with reg.
func newBreakers(reg prometheus.Registerer) (*breakers, error) {
	b := &breakers{
		state: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "portico_breaker_state",
			Help: "State of a circuit breaker: 0 closed, 1 half-open, 2 open. It is half-open from the first call after its open time.",
		}, []string{"breaker"}),
		transitions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_breaker_transitions_total",
			Help: "Changes of a circuit breaker's state, by the new state.",
		}, []string{"breaker", "to"}),
	}
	for _, c := range []prometheus.Collector{b.state, b.transitions} {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// stateNumbers are the values of the state metric.
func stateNumbers() map[string]float64 {
	return map[string]float64{"closed": 0, "half_open": 1, "open": 2}
}

// add begins the metrics of a breaker, which is closed. Without it they would be
// missing until the breaker first opens, and its first opening would be no increase.
func (b *breakers) add(name string) {
	b.state.WithLabelValues(name).Set(0)
	for to := range stateNumbers() {
		b.transitions.WithLabelValues(name, to)
	}
}

// changed notes the new state of a breaker: "closed", "half_open" or "open".
func (b *breakers) changed(name, to string) {
	b.state.WithLabelValues(name).Set(stateNumbers()[to])
	b.transitions.WithLabelValues(name, to).Inc()
}

// telling returns what notes and logs the new state of an upstream's breaker.
func (b *breakers) telling(log *slog.Logger) func(name, to string) {
	return func(name, to string) {
		b.changed(name, to)
		log.Warn("breaker of the upstream", "upstream", name, "state", to)
	}
}
