package cache

import "github.com/prometheus/client_golang/prometheus"

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

func newMetrics(reg prometheus.Registerer, m *memory) (*metrics, error) {
	all := &metrics{
		lookups: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_cache_lookups_total",
			Help: "Lookups of replies to Guests, by tier and outcome.",
		}, []string{"tier", "outcome"}),
		invalidations: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "portico_cache_invalidations_total",
			Help: "Writes of this process that invalidated cached replies.",
		}),
		epochs: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "portico_cache_epochs_total",
			Help: "Times this process invalidated all cached replies, by a purge or after Redis was unavailable.",
		}),
		commands: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_redis_commands_total",
			Help: "Attempted round trips to Redis, by operation.",
		}, []string{"operation"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_redis_errors_total",
			Help: "Failed round trips to Redis, by operation.",
		}, []string{"operation"}),
		fallbacks: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "portico_nonce_fallbacks_total",
			Help: "Nonces that were checked in the store only because Redis was unavailable, and are not shared with replicas that have another store.",
		}),
	}
	// Create rare series with value 0: otherwise the first event would not show as an
	// increase.
	for _, operation := range []string{opLookup, opPrepare, opStore, opChange, opDone, opDeleteCorrupt, opPurge, opPing, opSubscribe, opProbe, opNonce} {
		all.commands.WithLabelValues(operation)
		all.errors.WithLabelValues(operation)
	}
	for _, tier := range []string{tierMemory, tierRedis} {
		for _, outcome := range []string{outcomeHit, outcomeMiss, outcomeStale, outcomeCoalesced, outcomeBypass, outcomeError} {
			all.lookups.WithLabelValues(tier, outcome)
		}
	}
	all.memoryHits = all.lookups.WithLabelValues(tierMemory, outcomeHit)
	collectors := []prometheus.Collector{
		all.lookups, all.invalidations, all.epochs, all.commands, all.errors, all.fallbacks,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "portico_cache_bytes",
			Help: "Size of the memory tier in bytes, including overhead.",
		}, m.bytes),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "portico_cache_entries",
			Help: "Replies in the memory tier, including invalidated ones.",
		}, m.len),
	}
	for _, c := range collectors {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return all, nil
}
