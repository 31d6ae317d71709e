package cache

import "github.com/prometheus/client_golang/prometheus"

// Tiers and outcomes of look-ups, as labels. A look-up counts once for each tier
// that it asked: memory if that may answer by itself, then Redis. What became of
// it counts for the last one, in the words of Get; instead of these, "error" is a
// Redis that failed, was too busy or held rubbish.
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
	nearHits      prometheus.Counter // of lookups, found once because it is counted so often
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
			Help: "Look-ups of guest replies, by tier that was asked and what came of it.",
		}, []string{"tier", "outcome"}),
		invalidations: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "portico_cache_invalidations_total",
			Help: "Writes of this process that ended cached replies.",
		}),
		epochs: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "portico_cache_epochs_total",
			Help: "Times this process ended every cached reply: because Redis had been away, or by a purge.",
		}),
		commands: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_redis_commands_total",
			Help: "Round trips to Redis that were attempted, by operation.",
		}, []string{"operation"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_redis_errors_total",
			Help: "Round trips to Redis that failed, by operation.",
		}, []string{"operation"}),
		fallbacks: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "portico_nonce_fallbacks_total",
			Help: "Nonces that Redis was not asked about because it was away, so that only replicas with the same store know each other's.",
		}),
	}
	// What is rare has to be there before the first time, which otherwise would be no
	// increase.
	for _, operation := range []string{opLookup, opPrepare, opStore, opChange, opDone, opMend, opPurge, opPing, opSubscribe, opProbe, opNonce} {
		all.commands.WithLabelValues(operation)
		all.errors.WithLabelValues(operation)
	}
	for _, tier := range []string{tierMemory, tierRedis} {
		for _, outcome := range []string{outcomeHit, outcomeMiss, outcomeStale, outcomeCoalesced, outcomeBypass, outcomeError} {
			all.lookups.WithLabelValues(tier, outcome)
		}
	}
	all.nearHits = all.lookups.WithLabelValues(tierMemory, outcomeHit)
	collectors := []prometheus.Collector{
		all.lookups, all.invalidations, all.epochs, all.commands, all.errors, all.fallbacks,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "portico_cache_bytes",
			Help: "Bytes that the memory tier takes, what is kept beside the replies included.",
		}, m.bytes),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "portico_cache_entries",
			Help: "Replies in the memory tier, those included that may no longer be handed out.",
		}, m.len),
	}
	for _, c := range collectors {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return all, nil
}
