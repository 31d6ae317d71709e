package app

import (
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	webconsole "github.com/portico-commerce/portico/cmd/portico/app/console"
)

// maxBreakerChanges is the number of changes of each breaker that are remembered.
const maxBreakerChanges = 50

// breakerMetrics holds the metrics of all circuit breakers, and their latest changes.
type breakerMetrics struct {
	state       *prometheus.GaugeVec
	transitions *prometheus.CounterVec

	mu       sync.Mutex
	breakers map[string]*webconsole.Breaker
}

// newBreakerMetrics registers the metrics. It panics if they are registered already.
func newBreakerMetrics(registerer prometheus.Registerer) *breakerMetrics {
	register := promauto.With(registerer)
	return &breakerMetrics{
		breakers: map[string]*webconsole.Breaker{},
		state: register.NewGaugeVec(prometheus.GaugeOpts{
			Name: "portico_breaker_state",
			Help: "State of a circuit breaker: 0 closed, 1 half-open, 2 open. It is half-open from the first call after its open time.",
		}, []string{"breaker"}),
		transitions: register.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_breaker_transitions_total",
			Help: "State changes of a circuit breaker, by the new state.",
		}, []string{"breaker", "to"}),
	}
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
	b.mu.Lock()
	defer b.mu.Unlock()
	b.breakers[name] = &webconsole.Breaker{Name: name, State: "closed"}
}

// setState records a change of the breaker name to the state to: "closed", "half_open" or
// "open".
func (b *breakerMetrics) setState(name, to string) {
	b.state.WithLabelValues(name).Set(breakerStateValues()[to])
	b.transitions.WithLabelValues(name, to).Inc()
	b.mu.Lock()
	defer b.mu.Unlock()
	breaker := b.breakers[name]
	if breaker == nil { // add was not called for name
		return
	}
	breaker.State = to
	breaker.Changes = slices.Insert(breaker.Changes, 0, webconsole.BreakerChange{Time: time.Now(), To: to})
	breaker.Changes = breaker.Changes[:min(len(breaker.Changes), maxBreakerChanges)]
}

// all returns the breakers, ordered by name.
func (b *breakerMetrics) all() (all []webconsole.Breaker) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(b.breakers)) {
		breaker := *b.breakers[name]
		breaker.Changes = slices.Clone(breaker.Changes)
		all = append(all, breaker)
	}
	return all
}

// onUpstreamChange returns a function that records and logs a state change of an
// upstream's breaker.
func (b *breakerMetrics) onUpstreamChange(log *slog.Logger) func(name, to string) {
	return func(name, to string) {
		b.setState(name, to)
		log.Warn("breaker of the upstream", "upstream", name, "state", to)
	}
}
