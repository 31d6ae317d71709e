package cache

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Tiers and outcomes of lookups, as metric labels. A lookup counts once for each tier that
// it asks: memory, if it may answer without Redis, then Redis. The last tier gets the
// outcome of Get, or "error" if Redis failed, had no free slot or returned corrupt data.
const (
	tierMemory = "memory"
	tierRedis  = "redis"

	outcomeHit       = "hit"
	outcomeMiss      = "miss"
	outcomeStale     = "stale"
	outcomeCoalesced = "coalesced"
	outcomeBypass    = "bypass"
	outcomeError     = "error"
)

type metrics struct {
	lookups       *prometheus.CounterVec
	memoryHits    prometheus.Counter // hits of lookups in memory, resolved once because they are frequent
	invalidations prometheus.Counter
	epochs        prometheus.Counter
	commands      *prometheus.CounterVec
	errors        *prometheus.CounterVec
	fallbacks     prometheus.Counter
}

// newMetrics registers the metrics. It panics if they are registered already.
func newMetrics(registerer prometheus.Registerer, m *memory) *metrics {
	register := promauto.With(registerer)
	counter := func(name, help string) prometheus.Counter {
		return register.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		return register.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	all := &metrics{
		lookups:       counters("portico_cache_lookups_total", "Lookups of replies to Guests, by tier and outcome.", "tier", "outcome"),
		invalidations: counter("portico_cache_invalidations_total", "Writes of this process that invalidated cached replies."),
		epochs:        counter("portico_cache_epochs_total", "Times this process invalidated all cached replies, by a purge or after Redis was unavailable."),
		commands:      counters("portico_redis_commands_total", "Attempted round trips to Redis, by operation.", "operation"),
		errors:        counters("portico_redis_errors_total", "Failed round trips to Redis, by operation.", "operation"),
		fallbacks:     counter("portico_nonce_fallbacks_total", "Nonces that were checked in the store only because Redis was unavailable, and are not shared with replicas that have another store."),
	}
	// Create rare series with value 0: otherwise the first event would not show as an
	// increase.
	for _, operation := range []string{opLookup, opPrepare, opStore, opChange, opDone, opDeleteCorrupt, opPurge, opPing, opSubscribe, opProbe, opNonce, opLimit, opAwaitFill, opReleaseFill} {
		all.commands.WithLabelValues(operation)
		all.errors.WithLabelValues(operation)
	}
	for _, tier := range []string{tierMemory, tierRedis} {
		for _, outcome := range []string{outcomeHit, outcomeMiss, outcomeStale, outcomeCoalesced, outcomeBypass, outcomeError} {
			all.lookups.WithLabelValues(tier, outcome)
		}
	}
	all.memoryHits = all.lookups.WithLabelValues(tierMemory, outcomeHit)
	register.NewGaugeFunc(prometheus.GaugeOpts{Name: "portico_cache_bytes", Help: "Size of the memory tier in bytes, including overhead."}, m.bytes)
	register.NewGaugeFunc(prometheus.GaugeOpts{Name: "portico_cache_entries", Help: "Replies in the memory tier, including invalidated ones."}, m.len)
	return all
}
