package cache

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/singleflight"
)

const (
	defaultMaxReply = 1 << 20
	defaultLease    = 5 * time.Second
)

// Options are what a [Cache] is made of.
type Options struct {
	// Redis is shared by the replicas, as [Dial] returns it; nil is memory alone.
	// The Cache closes it.
	Redis redis.UniversalClient
	// TTL is how long a reply is fresh at most.
	TTL time.Duration
	// StaleTTL is how long after that it may stand in for an upstream that cannot
	// answer.
	StaleTTL time.Duration
	// MemoryTTL is how long memory answers without asking Redis, if there is
	// Redis; 0 is never.
	MemoryTTL time.Duration
	// Timeout bounds a round trip to Redis.
	Timeout time.Duration
	// MemoryBytes is what the memory tier may take; 0 is no such tier.
	MemoryBytes int64
	// MaxReply is the size in bytes above which a value is not kept; 0 is 1 MiB.
	// Memory keeps none that would take more than a sixteenth of it.
	MaxReply int
	// Lease is how long a change that is never done keeps replies from being
	// stored; 0 is 5 s.
	Lease time.Duration
	// OnBreaker is told of the breaker of Redis: "closed", "half_open" or "open".
	// It must not call the Cache. nil is nobody.
	OnBreaker  func(to string)
	Registerer prometheus.Registerer
	Log        *slog.Logger
	// Now tells the time; nil is time.Now.
	Now func() time.Time
}

// A Cache keeps replies in memory and in Redis. It is safe for concurrent use.
type Cache struct {
	ttl, staleTTL, memoryTTL time.Duration
	maxReply                 int
	now                      func() time.Time
	log                      *slog.Logger
	metrics                  *metrics
	generations              *generations
	memory                   *memory
	remote                   *remote
	flights                  singleflight.Group
	// holds is when the last reply ceases to be usable that this process has kept
	// or seen, in nanoseconds since 1970, unless all have ended since.
	holds atomic.Int64
	stop  func()
}

// New returns a Cache. With Redis it starts the keeper of the connection, which
// Close ends, and waits for the first connection as long as for a round trip.
// That Redis is away is no error.
func New(ctx context.Context, o Options) (*Cache, error) {
	c := &Cache{
		ttl: o.TTL, staleTTL: o.StaleTTL, memoryTTL: o.MemoryTTL, maxReply: o.MaxReply, now: o.Now, log: o.Log,
		generations: newGenerations(), stop: func() {},
	}
	if c.maxReply == 0 {
		c.maxReply = defaultMaxReply
	}
	if c.now == nil {
		c.now = time.Now
	}
	var err error
	if c.memory, err = newMemory(o.MemoryBytes); err != nil {
		return nil, err
	}
	if c.metrics, err = newMetrics(o.Registerer, c.memory); err != nil {
		return nil, err
	}
	if o.Redis == nil {
		return c, nil
	}
	r := &remote{
		client: o.Redis, timeout: o.Timeout, stale: o.StaleTTL, genTTL: o.TTL + o.StaleTTL + time.Hour, lease: o.Lease,
		maxReply: c.maxReply, now: c.now, log: o.Log, metrics: c.metrics, replica: rand.Text(), trips: make(chan struct{}, maxTrips),
		ended: c.end,
		onState: func(to string) {
			if o.OnBreaker != nil {
				o.OnBreaker(to)
			}
		},
	}
	if r.lease == 0 {
		r.lease = defaultLease
	}
	r.newBreaker()
	c.remote = r
	r.start(ctx)
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var keeper sync.WaitGroup
	keeper.Go(func() { r.run(ctx) })
	c.stop = func() { cancel(); keeper.Wait() }
	return c, nil
}

// Close ends the keeper and the connections to Redis. It may be called once.
func (c *Cache) Close() error {
	c.stop()
	if c.remote == nil {
		return nil
	}
	return c.remote.client.Close()
}

// end ends what this process remembers of tags.
func (c *Cache) end(tags ...string) {
	c.generations.end(tags...)
	for _, tag := range tags {
		if tag == all {
			c.holds.Store(0)
		}
	}
}

// GetLocal returns what memory holds under a near key, if it is fresh. It neither
// asks Redis nor allocates. The value must not be changed.
func (c *Cache) GetLocal(near [32]byte) (value []byte, ok bool) {
	e := c.usable(c.memory.near(near), c.now())
	if e == nil {
		return nil, false
	}
	c.metrics.nearHits.Inc()
	return e.value, true
}

// usable returns e if it may be handed out without asking Redis, or else nil.
func (c *Cache) usable(e *remembered, now time.Time) *remembered {
	if e != nil && now.Before(e.until) && c.generations.current(e.watch) {
		return e
	}
	return nil
}

// BeginWrite is to be called before a write of what tags name is committed, and done
// after it, whatever became of it. After done has returned, nothing older is
// handed out here, nor by other replicas that reach Redis.
func (c *Cache) BeginWrite(ctx context.Context, tags []string) (done func()) {
	c.metrics.invalidations.Inc()
	c.generations.end(tags...)
	if c.remote == nil {
		return func() { c.generations.end(tags...) }
	}
	member := rand.Text()
	_ = c.remote.change(ctx, tags, member) // failure has opened the breaker
	return func() {
		for {
			err := c.remote.done(ctx, tags, member)
			// What failed, or is skipped, the next epoch makes up for.
			if !errors.Is(err, errAway) || c.remote.skipped() {
				break
			}
		}
		c.generations.end(tags...)
	}
}

// Purge ends every reply, on all replicas. An error means that Redis could not be
// told: then this replica's are ended, and the others' will be when it is back.
func (c *Cache) Purge(ctx context.Context) error {
	defer c.end(all)
	c.metrics.epochs.Inc()
	if c.remote == nil {
		return nil
	}
	for {
		err := c.remote.purge(ctx, opPurge, c.remote.do)
		if !errors.Is(err, errAway) || c.remote.skipped() {
			return err
		}
	}
}

// HasUsable reports whether there may be a reply that could be handed out without
// the upstream: one that this process has kept or seen, and that has not expired.
func (c *Cache) HasUsable() bool { return c.now().UnixNano() < c.holds.Load() }
