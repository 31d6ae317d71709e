package httpapi

import (
	"maps"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/auth"
	"github.com/portico-commerce/portico/mapping/redact"
	"github.com/portico-commerce/portico/mapping/resource"
)

// maxConsumers is the maximum number of consumers that have metrics of their own.
const maxConsumers = 50

// Names used in place of a consumer's name, in addition to the name of Guests.
const (
	keyConsumer    = "api_key" // all callers with an API key
	otherConsumers = "other"   // beyond maxConsumers, or not known
)

// consumerMetrics count the calls of each consumer. A consumer is counted under its own name once
// Portico or the legacy store has accepted a call that it signed, so that made-up consumers take no
// room.
type consumerMetrics struct {
	requests *prometheus.CounterVec
	series   atomic.Pointer[map[string]*consumerSeries]
	adding   sync.Mutex // serializes changes of series, each of which replaces the map
}

// claimedConsumer returns the name of the consumer that a request claims, "" without a signature.
func claimedConsumer(r *http.Request) string {
	if !auth.Signed(r.Header.Get("Authorization")) {
		return ""
	}
	return redact.Consumer(r)
}

// consumerSeries are the metrics of one consumer.
type consumerSeries struct{ ok, clientErrors, serverErrors prometheus.Counter }

func newConsumerMetrics(register promauto.Factory) *consumerMetrics {
	m := &consumerMetrics{requests: register.NewCounterVec(prometheus.CounterOpts{
		Name: "portico_consumer_requests_total",
		Help: "Calls of the contract, by consumer and outcome: ok, or whose error the reply reports, client_error or server_error. " +
			"consumer is the beginning of its key, guest, api_key, or other beyond the first 50 consumers and for those that were never accepted.",
	}, []string{"consumer", "outcome"})}
	m.series.Store(&map[string]*consumerSeries{})
	for _, name := range []string{redact.Guest, keyConsumer, otherConsumers} {
		m.add(name)
	}
	return m
}

// add returns the metrics of a consumer, which it adds if there is room. The caller holds m.adding
// or is the only user of m.
func (m *consumerMetrics) add(name string) *consumerSeries {
	all := *m.series.Load()
	if s := all[name]; s != nil {
		return s
	}
	const fixed = 3 // the names that are no consumers
	if len(all) >= fixed+maxConsumers {
		return all[otherConsumers]
	}
	s := &consumerSeries{m.requests.WithLabelValues(name, "ok"), m.requests.WithLabelValues(name, "client_error"), m.requests.WithLabelValues(name, "server_error")}
	more := maps.Clone(all)
	more[name] = s
	m.series.Store(&more)
	return s
}

// observe counts the reply to a call of the contract. consumer is the name of the consumer that
// the call claims, "" without a signature.
func (m *consumerMetrics) observe(consumer string, response *resource.Response) {
	s := m.of(consumer, response)
	switch cause(response) {
	case "client":
		s.clientErrors.Inc()
	case "server":
		s.serverErrors.Inc()
	default:
		s.ok.Inc()
	}
}

func (m *consumerMetrics) of(name string, response *resource.Response) *consumerSeries {
	known := *m.series.Load()
	if name == "" {
		if response.Role == "" || response.Role == mapping.UnknownRole || response.Role == redact.Guest {
			return known[redact.Guest]
		}
		return known[keyConsumer]
	}
	switch name {
	case redact.Guest, redact.Unnamed, keyConsumer, otherConsumers: // a stranger can claim these, too
		return known[otherConsumers]
	}
	if s := known[name]; s != nil {
		return s
	}
	if response.Status >= http.StatusBadRequest {
		return known[otherConsumers]
	}
	m.adding.Lock()
	defer m.adding.Unlock()
	return m.add(name)
}
