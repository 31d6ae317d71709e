package follow

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1"
)

// Metrics are the metrics of a [Follower].
type Metrics struct {
	changes      *prometheus.CounterVec
	foundLate    *prometheus.CounterVec
	parkedNow    *prometheus.GaugeVec
	heldNow      *prometheus.GaugeVec
	writes       *prometheus.CounterVec
	failures     prometheus.Counter
	credentials  prometheus.Counter
	settings     prometheus.Counter
	withoutFile  prometheus.Counter
	leader       prometheus.Gauge
	modes        *prometheus.GaugeVec
	comparedAt   prometheus.Gauge
	comparedTook prometheus.Gauge
	caughtUpAt   atomic.Int64 // Unix time in nanoseconds; 0: this process does not follow
}

// NewMetrics registers the metrics. It panics if they are registered already.
func NewMetrics(registerer prometheus.Registerer) *Metrics {
	register := promauto.With(registerer)
	name := func(n, help string) prometheus.Opts { return prometheus.Opts{Name: "portico_follow_" + n, Help: help} }
	counter := func(n, help string) prometheus.CounterOpts { return prometheus.CounterOpts(name(n, help)) }
	gauge := func(n, help string) prometheus.GaugeOpts { return prometheus.GaugeOpts(name(n, help)) }
	m := &Metrics{
		changes:      register.NewCounterVec(counter("records_total", "Records of the legacy store that were taken over, by part and outcome."), []string{"part", "outcome"}),
		foundLate:    register.NewCounterVec(counter("comparison_found_total", "Records that only the comparison of everything found changed or gone."), []string{"part"}),
		parkedNow:    register.NewGaugeVec(gauge("parked_records", "Records that cannot be stored and are tried again."), []string{"part"}),
		heldNow:      register.NewGaugeVec(gauge("removals_held", "Records that are gone from the legacy store and are not removed, as they are too many."), []string{"resource"}),
		writes:       register.NewCounterVec(counter("writes_total", "Writes at the legacy store that passed through this process, by whether their changes were here before their replies were sent."), []string{"outcome"}),
		failures:     register.NewCounter(counter("failures_total", "Attempts to follow the legacy store that failed and were repeated.")),
		credentials:  register.NewCounter(counter("credentials_total", "Consumers, tokens and administrators that were taken over or revoked.")),
		settings:     register.NewCounter(counter("setting_changes_total", "Settings of the legacy store that have changed and that nobody takes over.")),
		withoutFile:  register.NewCounter(counter("missing_files_total", "Images that were looked for and whose file is missing: they are tried again by each comparison.")),
		leader:       register.NewGauge(gauge("leader", "1 if this process follows the legacy store, 0 if another one may.")),
		modes:        register.NewGaugeVec(gauge("mode", "1 for how this process learns what has changed: from the binary log, or by polling."), []string{"mode"}),
		comparedAt:   register.NewGauge(gauge("last_comparison_timestamp_seconds", "When everything was last compared with the legacy store, as Unix time.")),
		comparedTook: register.NewGauge(gauge("comparison_seconds", "How long the last comparison of everything took: no change arrives later than that.")),
	}
	register.NewGaugeFunc(gauge("lag_seconds", "Time since all changes that the legacy store dates were taken over, or, before that, since this process began to follow. 0 where another process follows."), m.lag)
	for _, outcome := range []writeOutcome{writeApplied, writeLate, writeFailed, writeUnnamed, writeRefused} {
		m.writes.WithLabelValues(string(outcome))
	}
	for _, p := range magento1.Parts() {
		m.found(p, 0)
		m.parked(p, 0)
		for _, outcome := range []adapter.ImportOutcome{adapter.ImportCreated, adapter.ImportChanged, adapter.ImportRemoved, adapter.ImportEqual, adapter.ImportKept} {
			m.records(p, outcome, 0)
		}
		for _, resource := range p.Resources() {
			m.held(resource, 0)
		}
	}
	m.mode("")
	return m
}

// lag returns the time in seconds since this process last caught up.
func (m *Metrics) lag() float64 {
	at := m.caughtUpAt.Load()
	if at == 0 {
		return 0
	}
	return time.Since(time.Unix(0, at)).Seconds()
}

// caughtUp records that all changes up to a time have been applied.
func (m *Metrics) caughtUp(at time.Time) { m.caughtUpAt.Store(at.UnixNano()) }

// mode sets how this process learns of changes, by the log or by polling; "": it does not follow.
func (m *Metrics) mode(name string) {
	for _, one := range []string{"log", "polling"} {
		value := 0.0
		if one == name {
			value = 1
		}
		m.modes.WithLabelValues(one).Set(value)
	}
}

// leads sets whether this process follows. If a leader cannot follow, its lag keeps growing.
func (m *Metrics) leads(yes bool) {
	m.leader.Set(0)
	if !yes {
		m.mode("")
		return
	}
	m.leader.Set(1)
	m.caughtUpAt.CompareAndSwap(0, time.Now().UnixNano())
}

// stands records that another process follows, or that none has to.
func (m *Metrics) stands() { m.caughtUpAt.Store(0) }

// records counts records of a part.
func (m *Metrics) records(p magento1.Part, outcome adapter.ImportOutcome, n int) {
	name := map[adapter.ImportOutcome]string{
		adapter.ImportCreated: "created", adapter.ImportChanged: "changed", adapter.ImportRemoved: "removed", adapter.ImportEqual: "equal", adapter.ImportKept: "kept",
	}[outcome]
	m.changes.WithLabelValues(string(p), name).Add(float64(n))
}

// found counts changes that only the comparison has found.
func (m *Metrics) found(p magento1.Part, n int) {
	m.foundLate.WithLabelValues(string(p)).Add(float64(n))
}

// parked sets the number of parked records of a part.
func (m *Metrics) parked(p magento1.Part, n int) {
	m.parkedNow.WithLabelValues(string(p)).Set(float64(n))
}

// held sets the number of records whose removal is held back.
func (m *Metrics) held(r adapter.Resource, n int64) {
	m.heldNow.WithLabelValues(string(r)).Set(float64(n))
}

// compared records that a comparison of everything has ended.
func (m *Metrics) compared(at time.Time, took time.Duration) {
	m.comparedAt.Set(float64(at.Unix()))
	m.comparedTook.Set(took.Seconds())
}
