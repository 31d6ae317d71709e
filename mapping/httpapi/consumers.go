package httpapi

import (
	"maps"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/auth"
	"github.com/portico-commerce/portico/mapping/redact"
)

// maxConsumers is the maximum number of consumers that have metrics of their own.
const maxConsumers = 50

// Names in place of a consumer's, none of which can be the beginning of a consumer's key.
const (
	guestConsumer  = "guest"
	keyConsumer    = "api_key" // all callers with an API key
	otherConsumers = "other"   // beyond maxConsumers, or not known
)

// consumerMetrics count the calls of each consumer. A consumer is known, so that it is counted
// under its own name, once a call that it has signed was accepted, by Portico or by the legacy
// system: what strangers claim to be takes no place.
type consumerMetrics struct {
	requests *prometheus.CounterVec
	series   atomic.Pointer[map[string]*consumerSeries]
	adding   sync.Mutex // serializes changes of series, each of which replaces the map
}

// consumerSeries are the metrics of one consumer.
type consumerSeries struct{ ok, clientErrors, serverErrors prometheus.Counter }

func newConsumerMetrics() *consumerMetrics {
	m := &consumerMetrics{requests: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "portico_consumer_requests_total",
		Help: "Calls of the contract, by consumer and outcome: ok, or whose error the reply reports, client_error or server_error. " +
			"consumer is the beginning of its key, guest, api_key, or other beyond the first 50 consumers and for those that were never accepted.",
	}, []string{"consumer", "outcome"})}
	m.series.Store(&map[string]*consumerSeries{})
	for _, name := range []string{guestConsumer, keyConsumer, otherConsumers} {
		m.add(name)
	}
	return m
}

// add returns the metrics of a consumer, which it adds if there is room. m.adding is held, or
// nobody else uses m.
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

// observe counts the reply to a call of the contract.
func (m *consumerMetrics) observe(r *http.Request, response *mapping.Response) {
	s := m.of(r, response)
	switch cause(response) {
	case "client":
		s.clientErrors.Inc()
	case "server":
		s.serverErrors.Inc()
	default:
		s.ok.Inc()
	}
}

func (m *consumerMetrics) of(r *http.Request, response *mapping.Response) *consumerSeries {
	known := *m.series.Load()
	authorization := r.Header.Get("Authorization")
	if !auth.Signed(authorization) {
		if response.Role == "" || response.Role == mapping.UnknownRole || response.Role == guestConsumer {
			return known[guestConsumer]
		}
		return known[keyConsumer]
	}
	name := redact.Consumer(r)
	if s := known[name]; s != nil && name != guestConsumer {
		return s
	}
	if response.Status >= http.StatusBadRequest || name == redact.Unnamed || name == guestConsumer {
		return known[otherConsumers]
	}
	m.adding.Lock()
	defer m.adding.Unlock()
	return m.add(name)
}
