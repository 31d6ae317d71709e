package httpapi

import (
	"maps"
	"math"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/limits"
	"github.com/portico-commerce/portico/mapping/resource"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Metrics counts and times requests.
type Metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	problems *prometheus.CounterVec
	cut      *prometheus.CounterVec
	streamed *prometheus.CounterVec
	limited  prometheus.Counter
	inFlight prometheus.Gauge
	// consumers counts calls by their consumers.
	consumers *consumerMetrics
	registry  prometheus.Registerer

	// found caches the series that have been used: to look one up in the vectors takes
	// longer than to count.
	found   atomic.Pointer[map[answer]*series]
	finding sync.Mutex // serializes changes of found, each of which replaces the map
}

// An answer is a combination of label values; there are few.
type answer struct {
	call, role, format string
	status             int
	cause              string
}

// series are the metrics of one answer.
type series struct {
	requests prometheus.Counter
	duration prometheus.Observer
}

// NewMetrics registers the metrics. It panics if they are registered already.
func NewMetrics(registerer prometheus.Registerer) *Metrics {
	register := promauto.With(registerer)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return register.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &Metrics{
		registry: registerer,
		requests: counter("portico_requests_total", "Requests answered, by call of the contract, role, status and format of the reply. For a status of 400 and above, cause is client or server; "+
			"the contract requires some statuses of 500 and above for client errors.", "call", "role", "status", "format", "cause"),
		duration: register.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "portico_request_duration_seconds",
			Help:    "Time from the headers of a request to the last byte of its reply, by call.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
			// For a Prometheus that takes native histograms: buckets of 10 %, as many as the bound
			// allows.
			NativeHistogramBucketFactor:     1.1,
			NativeHistogramMaxBucketNumber:  100,
			NativeHistogramMinResetDuration: time.Hour,
		}, []string{"call"}),
		problems: counter("portico_authentication_problems_total", "Calls rejected by OAuth, by problem.", "problem"),
		cut:      counter("portico_replies_cut_total", "Replies that broke off in the middle of their body because the upstream failed or the client disconnected, by call.", "call"),
		streamed: counter("portico_rows_streamed_total", "Records sent in lists that are streamed batch by batch, by call.", "call"),
		limited: register.NewCounter(prometheus.CounterOpts{
			Name: "portico_rate_limited_total",
			Help: "Requests rejected with status 429 because the consumer, or the network of a Guest, exceeded its rate limit.",
		}),
		inFlight:  register.NewGauge(prometheus.GaugeOpts{Name: "portico_requests_in_flight", Help: "Requests in progress."}),
		consumers: newConsumerMetrics(register),
	}
	m.found.Store(&map[answer]*series{})
	// Create rare series at 0: rate() and increase() do not see the first increment of a
	// series that starts at 1.
	for _, call := range mapping.Calls() {
		m.cut.WithLabelValues(call)
		m.streamed.WithLabelValues(call)
	}
	return m
}

// of returns the cached series of a.
func (m *Metrics) of(a answer) *series {
	if s, ok := (*m.found.Load())[a]; ok {
		return s
	}
	m.finding.Lock()
	defer m.finding.Unlock()
	s := &series{m.requests.WithLabelValues(a.call, a.role, strconv.Itoa(a.status), a.format, a.cause), m.duration.WithLabelValues(a.call)}
	more := maps.Clone(*m.found.Load())
	more[a] = s
	m.found.Store(&more)
	return s
}

// observe counts an answered request; cut reports that its body is incomplete. traceID is the id of
// the sampled trace that the request belongs to, or "" for none.
func (m *Metrics) observe(r *resource.Response, cut bool, took time.Duration, traceID string) {
	of := m.of(answer{r.Call, r.Role, r.Format, r.Status, cause(r)})
	of.requests.Inc()
	if exemplars, ok := of.duration.(prometheus.ExemplarObserver); ok && traceID != "" {
		exemplars.ObserveWithExemplar(took.Seconds(), prometheus.Labels{"trace_id": traceID})
	} else {
		of.duration.Observe(took.Seconds())
	}
	if cut {
		m.cut.WithLabelValues(r.Call).Inc()
	}
	if r.Status == http.StatusTooManyRequests {
		m.limited.Inc()
	}
	if r.Problem != "" {
		m.problems.WithLabelValues(r.Problem).Inc()
	}
}

// cause returns the side responsible for an error reply, "client" or "server", and "" for a status
// below 400.
func cause(r *resource.Response) string {
	switch {
	case r.Status < http.StatusBadRequest:
		return ""
	case r.Status < http.StatusInternalServerError, r.ClientError:
		return "client"
	default:
		return "server"
	}
}

// addBudgets registers the metrics of budgets. It panics if they are registered already.
func (m *Metrics) addBudgets(budgets ...*limits.Budget) {
	m.registry.MustRegister(budgetMetrics{
		budgets: budgets,
		limit: prometheus.NewDesc("portico_budget_limit",
			"What requests may hold together: bytes, or lists, by budget. One without a bound has none.", []string{"budget"}, nil),
		used:    prometheus.NewDesc("portico_budget_used", "What requests hold together at this moment, by budget.", []string{"budget"}, nil),
		refused: prometheus.NewDesc("portico_budget_refused_total", "Requests refused, or replies spooled to disk, because a budget was used up, by budget.", []string{"budget"}, nil),
	})
}

// budgetMetrics collects the metrics of budgets on each scrape.
type budgetMetrics struct {
	budgets              []*limits.Budget
	limit, used, refused *prometheus.Desc
}

// Describe sends the descriptions of the metrics.
func (b budgetMetrics) Describe(to chan<- *prometheus.Desc) {
	to <- b.limit
	to <- b.used
	to <- b.refused
}

// Collect sends the metrics.
func (b budgetMetrics) Collect(to chan<- prometheus.Metric) {
	for _, one := range b.budgets {
		state := one.State()
		if state.Limit < math.MaxInt64/2 {
			to <- prometheus.MustNewConstMetric(b.limit, prometheus.GaugeValue, float64(state.Limit), state.Name)
		}
		to <- prometheus.MustNewConstMetric(b.used, prometheus.GaugeValue, float64(state.Used), state.Name)
		to <- prometheus.MustNewConstMetric(b.refused, prometheus.CounterValue, float64(state.Refused), state.Name)
	}
}
