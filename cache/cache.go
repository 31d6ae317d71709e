package cache

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/singleflight"
)

const (
	// maxReply is the maximum size of a stored value in bytes. Memory does not store values larger than
	// a sixteenth of its size.
	maxReply     = 1 << 20
	defaultLease = 5 * time.Second
)

// Options configure a [Cache].
type Options struct {
	// Redis is the client returned by [Dial]; nil means memory only. The Cache closes it.
	Redis redis.UniversalClient
	// Prefix begins the names of all keys and channels in Redis; "" means [DefaultPrefix].
	// Processes with the same prefix invalidate each other's replies and know each other's nonces.
	// It must not contain braces.
	Prefix string
	// Secret is the key of the checksums of replies in Redis, so that nobody can forge a reply
	// without it. It may be empty. Processes with the same secret share replies.
	Secret string
	// StoreEpoch is the initial store epoch: see [Cache.SetStoreEpoch].
	StoreEpoch string
	// TTL is the maximum time that a reply is fresh.
	TTL time.Duration
	// StaleTTL is how long after that a reply may be returned while the upstream cannot
	// answer.
	StaleTTL time.Duration
	// MemoryTTL is how long memory answers without asking Redis, if there is Redis; with 0
	// it always asks.
	MemoryTTL time.Duration
	// Timeout is the maximum time of a round trip to Redis.
	Timeout time.Duration
	// MemoryBytes is the maximum size of the memory tier; 0 disables it.
	MemoryBytes int64
	// Lease is how long a write that is never done prevents replies from being stored; 0
	// means 5 s.
	Lease time.Duration
	// Changes notices changes without BeginWrite; nil: there are none.
	Changes Changes
	// OnBreaker is called when the breaker of Redis changes to "closed", "half_open" or
	// "open". It must not call the Cache. It may be nil.
	OnBreaker  func(to string)
	Registerer prometheus.Registerer
	Log        *slog.Logger
	// Now returns the current time; nil means time.Now.
	Now func() time.Time
}

// Changes notices when other programs change the data behind replies, and invalidates the replies:
// an implementation calls [Cache.BeginWrite] and done after the fact.
type Changes interface {
	// Await returns when all replies whose data changed before the call are invalid. It reports
	// false if it cannot know that, or if ctx ends; Get then asks the upstream. Every lookup calls
	// Await, so it must be fast as long as nothing changes.
	Await(ctx context.Context) bool
}

// A Cache caches replies in memory and in Redis. It is safe for concurrent use.
type Cache struct {
	ttl, staleTTL, memoryTTL time.Duration
	now                      func() time.Time
	metrics                  *metrics
	generations              *generations
	memory                   *memory
	remote                   *remote
	flights                  singleflight.Group
	filling                  keyLocks // of fills that only callers from before their start may share
	changes                  Changes  // nil: there are none
	secret                   string
	epoch                    atomic.Pointer[storeEpoch]
	// usableUntil is when the last reply that this process has stored or read expires, in
	// Unix nanoseconds. It is 0 after all replies were invalidated.
	usableUntil atomic.Int64
	stop        func()
}

// New returns a Cache. With Redis it starts a goroutine that monitors the connection until
// Close, and waits for the first connection at most as long as for a round trip. It is not
// an error if Redis is unavailable.
func New(ctx context.Context, o Options) (*Cache, error) {
	c := &Cache{
		ttl: o.TTL, staleTTL: o.StaleTTL, memoryTTL: o.MemoryTTL, now: o.Now, secret: o.Secret,
		generations: newGenerations(), changes: o.Changes, stop: func() {},
	}
	if c.now == nil {
		c.now = time.Now
	}
	epoch, err := newStoreEpoch(o.Secret, o.StoreEpoch)
	if err != nil {
		return nil, err
	}
	c.epoch.Store(epoch)
	if c.memory, err = newMemory(o.MemoryBytes); err != nil {
		return nil, err
	}
	c.metrics = newMetrics(o.Registerer, c.memory)
	if o.Redis == nil {
		return c, nil
	}
	r := &remote{
		client: o.Redis, keys: keyspace(cmp.Or(o.Prefix, DefaultPrefix)), timeout: o.Timeout, staleTTL: o.StaleTTL, genTTL: o.TTL + o.StaleTTL + time.Hour, lease: o.Lease,
		now: c.now, log: o.Log, metrics: c.metrics, replica: rand.Text(), slots: make(chan struct{}, maxLookups),
		invalidate: c.invalidate,
		onState: func(to string) {
			if o.OnBreaker != nil {
				o.OnBreaker(to)
			}
		},
	}
	r.lease = cmp.Or(r.lease, defaultLease)
	r.masters, r.buckets = mastersOf(o.Redis), newBuckets(r)
	r.lookups = lookupBatch{do: r.do, timeout: r.timeout}
	r.newBreaker()
	c.remote = r
	r.start(ctx)
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var monitor sync.WaitGroup
	monitor.Go(func() { r.run(ctx) })
	monitor.Go(func() { r.stalls.run(ctx, r.timeout) })
	monitor.Go(func() { r.buckets.run(ctx) })
	c.stop = func() { cancel(); monitor.Wait() }
	return c, nil
}

// Close stops the monitor and closes the connections to Redis. It must be called only
// once.
func (c *Cache) Close() error {
	c.stop()
	if c.remote == nil {
		return nil
	}
	return c.remote.client.Close()
}

// invalidate invalidates the replies with these tags in this process.
func (c *Cache) invalidate(tags ...string) {
	c.generations.invalidate(tags...)
	for _, tag := range tags {
		if tag == allTag {
			c.usableUntil.Store(0)
		}
	}
}

// SetStoreEpoch sets the epoch of the store that replies are made from: a text that changes
// whenever the store is replaced by something that announces no writes, such as a restored backup.
// A process that knows this epoch never returns replies of other epochs again.
func (c *Cache) SetStoreEpoch(name string) error {
	if c.epoch.Load().name == name {
		return nil
	}
	next, err := newStoreEpoch(c.secret, name)
	if err != nil {
		return err
	}
	c.epoch.Store(next)
	// After the epoch: a call that has this state of the generations has the new epoch, too.
	c.invalidate(allTag)
	return nil
}

// GetLocal returns the value in memory for a request fingerprint, if it is fresh and current. With Redis, it asks
// Redis once MemoryTTL has passed, in one round trip that it may share with other lookups: for the generations of the
// value's tags only, since the value is in memory. It does not allocate unless it asks Redis, or [Changes] do. The
// caller must not modify the value. If GetLocal returns none, the caller is expected to call Get.
func (c *Cache) GetLocal(ctx context.Context, fingerprint [32]byte) (value []byte, ok bool) {
	if c.changes != nil && !c.changes.Await(ctx) {
		return nil, false
	}
	e, now := c.memory.byFingerprint(fingerprint), c.now()
	if c.localHit(e, now) != nil {
		c.metrics.memoryHits.Inc()
		return e.value, true
	}
	if e == nil || e.generations == nil || !e.fresh(now) || !c.generations.current(e.snapshot) || !c.confirm(ctx, e) {
		return nil, false
	}
	if c.memoryTTL > 0 {
		c.metrics.lookups.WithLabelValues(tierMemory, outcomeMiss).Inc()
		c.memory.renew(fingerprint, e, c.validUntil(&e.reply, now))
	}
	c.metrics.redisHits.Inc()
	return e.value, true
}

// confirm reports whether Redis still has the generations of e.
func (c *Cache) confirm(ctx context.Context, e *memoryEntry) bool {
	ok, err := c.remote.confirms(ctx, e.generations, e.digest)
	if err != nil && !errors.Is(err, errUnavailable) {
		e.unanswered.Store(true)
	}
	return ok
}

// validUntil returns the end of the time in which memory may return r without asking Redis. r was current at since.
func (c *Cache) validUntil(r *reply, since time.Time) time.Time {
	until := r.made.Add(r.ttl)
	if c.remote != nil && since.Add(c.memoryTTL).Before(until) {
		return since.Add(c.memoryTTL)
	}
	return until
}

// localHit returns e if it may be returned without asking Redis, or else nil.
func (c *Cache) localHit(e *memoryEntry, now time.Time) *memoryEntry {
	if e != nil && now.Before(e.validUntil) && c.generations.current(e.snapshot) {
		return e
	}
	return nil
}

// BeginWrite announces a write that may change the data that tags name. It must be called before
// the commit, and done after it, whether or not it succeeded. After done has returned, neither this
// replica nor other replicas that reach Redis return older replies.
func (c *Cache) BeginWrite(ctx context.Context, tags []string) (done func()) {
	c.metrics.invalidations.Inc()
	c.generations.invalidate(tags...)
	if c.remote == nil {
		return func() { c.generations.invalidate(tags...) }
	}
	member := rand.Text()
	_ = c.remote.beginWrite(ctx, tags, member) // an error has opened the breaker
	return func() {
		for c.remote.endWrite(ctx, tags, member) != nil {
			// If this fails or is skipped, the next epoch invalidates the replies.
			if c.remote.recordMissed() {
				c.remote.awaitNoticed(ctx)
				break
			}
		}
		c.generations.invalidate(tags...)
	}
}

// Purge invalidates all replies on all replicas. An error means that Redis is unavailable: then the
// replies of this replica are invalidated immediately, and the replies of other replicas as soon as
// Redis is back.
func (c *Cache) Purge(ctx context.Context) error {
	defer c.invalidate(allTag)
	c.metrics.epochs.Inc()
	if c.remote == nil {
		return nil
	}
	for {
		err := c.remote.startEpoch(ctx, opPurge, c.remote.do)
		if !errors.Is(err, errUnavailable) || c.remote.recordMissed() {
			return err
		}
	}
}

// HasUsable reports whether there may be a reply that could be returned without the
// upstream: one that this process has stored or read and that has not expired.
func (c *Cache) HasUsable() bool { return c.now().UnixNano() < c.usableUntil.Load() }

// Contents counts the replies in the memory tier.
type Contents struct {
	Entries int     // replies, including expired and invalidated ones
	Fresh   int     // replies that may be returned
	Bytes   float64 // size of the tier
	// ByTag counts the fresh replies with each of the tags asked for. A few tags share a counter, and
	// then count for each other.
	ByTag []int
}

// Contents looks at every reply in memory, which takes milliseconds for a full tier.
func (c *Cache) Contents(tags ...string) Contents {
	slots := make([]uint16, len(tags))
	for i, tag := range tags {
		slots[i] = c.generations.slot(tag)
	}
	now := c.now()
	contents := Contents{Entries: int(c.memory.len()), Bytes: c.memory.bytes()}
	contents.Fresh, contents.ByTag = c.memory.count(func(e *memoryEntry) bool { return e.fresh(now) && c.generations.current(e.snapshot) }, slots)
	return contents
}

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
	redisHits     prometheus.Counter // hits of lookups in Redis
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
	all.memoryHits, all.redisHits = all.lookups.WithLabelValues(tierMemory, outcomeHit), all.lookups.WithLabelValues(tierRedis, outcomeHit)
	register.NewGaugeFunc(prometheus.GaugeOpts{Name: "portico_cache_bytes", Help: "Size of the memory tier in bytes, including overhead."}, m.bytes)
	register.NewGaugeFunc(prometheus.GaugeOpts{Name: "portico_cache_entries", Help: "Replies in the memory tier, including invalidated ones."}, m.len)
	return all
}
