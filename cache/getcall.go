package cache

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"
)

// A Fill makes a value. ttl is how long the value is fresh, limited by the TTL of the
// options; with 0 or less it is not stored. An error means that the upstream cannot
// answer. generation is a hash of the current generations of the tags in Redis, or zero
// without Redis.
type Fill = func(ctx context.Context, generation [16]byte) (value []byte, ttl time.Duration, err error)

// Get returns the value of key from memory, from Redis or from fill, and its age.
// fingerprint identifies a request for key, so that GetLocal finds the value. tags are the
// tags of key and must always be the same for the same key. The caller must not modify the
// value. outcome is
//
//	hit        the value was in memory or Redis
//	miss       fill made the value, and it was stored
//	coalesced  the fill of a concurrent Get made the value
//	stale      fill failed; the value is the last one that was not invalidated,
//	           at most StaleTTL after it ceased to be fresh
//	bypass     fill made the value, but it was not stored where replicas would
//	           look for it: because of its ttl or size, because a write was in
//	           progress, or because Redis is unavailable
//
// Concurrent calls share one fill. Its context is canceled by none of them, so it must set a
// deadline. If ctx ends, Get returns its error. All other errors come from fill.
func (c *Cache) Get(ctx context.Context, fingerprint, key [32]byte, tags []string, fill Fill) (value []byte, outcome string, age time.Duration, err error) {
	current := c.changes == nil || c.changes.Await(ctx)
	f := &getCall{cache: c, fingerprint: fingerprint, id: key, tags: tags, fill: fill, snapshot: c.generations.snapshot(tags), distrusted: !current}
	now := c.now()
	if current && c.memory != nil && (c.remote == nil || c.memoryTTL > 0) {
		if e := c.localHit(c.memory.get(key), now); e != nil {
			c.memory.link(fingerprint, key)
			c.metrics.memoryHits.Inc()
			return e.value, outcomeHit, e.age(now), nil
		}
		if c.remote != nil {
			c.metrics.lookups.WithLabelValues(tierMemory, outcomeMiss).Inc()
		}
	}
	tier := tierMemory
	if c.remote != nil {
		tier = tierRedis
		f.entry = c.epoch.Load().entry(key) // after the snapshot: see SetStoreEpoch
		f.generations = c.remote.keys.generations(tags)
		if r := f.lookup(ctx, now); r != nil && current {
			c.metrics.redisHits.Inc()
			return r.value, outcomeHit, r.age(now), nil
		}
	}
	result, outcome, err := f.joinFill(ctx, key)
	counted := outcome
	if f.redisFailed || (result != nil && result.redisFailed && outcome != outcomeCoalesced) {
		counted = outcomeError
	}
	if c.remote != nil || c.memory != nil {
		c.metrics.lookups.WithLabelValues(tier, counted).Inc()
	}
	if err != nil {
		return nil, outcome, 0, err
	}
	return result.reply.value, outcome, result.reply.age(c.now()), nil
}

// A getCall is the state of one Get.
type getCall struct {
	cache            *Cache
	fingerprint      [32]byte
	id               [32]byte // the caller's key
	entry            entryID  // in Redis
	generations      []string // keys in Redis of the generations of tags
	tags             []string
	fill             Fill
	snapshot         snapshot // of tags, taken before the lookup
	generationsKnown bool     // all generations were read from Redis
	digest           digest
	redisFailed      bool   // Redis failed or returned corrupt data
	fillLease        string // the key of the lease that a filling call takes; "" if there is none
	// distrusted: replies may be older than changes, so that one counts only if fill fails.
	distrusted bool
}

// A fillResult is the result of a shared fill.
type fillResult struct {
	reply       *reply
	outcome     string
	redisFailed bool
}

// lookup returns the reply from Redis, or nil if there is none that is fresh.
func (f *getCall) lookup(ctx context.Context, now time.Time) *reply {
	c := f.cache
	if e := c.memory.get(f.id); e != nil && e.unanswered.Swap(false) {
		f.redisFailed = true // GetLocal has just asked on behalf of this call
		return nil
	}
	l, err := c.remote.lookup(ctx, f.entry, f.generations)
	if err == nil && !l.generationsFound {
		f.redisFailed = l.corrupt
		// Concurrent misses must see the same generations to share one fill.
		l, err = c.remote.ensureGenerations(ctx, f.entry, f.tags, "")
	}
	f.recordGenerations(l, err)
	if l.reply == nil || !l.reply.fresh(now) {
		return nil
	}
	f.storeInMemory(l.reply, now, true)
	c.extendUsable(l.reply)
	return l.reply
}

// recordGenerations copies the generations and errors of a lookup.
func (f *getCall) recordGenerations(l lookupResult, err error) {
	f.generationsKnown, f.digest = err == nil && l.generationsFound, l.digest
	f.redisFailed = f.redisFailed || l.corrupt || (err != nil && err != errUnavailable)
}

// storeInMemory stores a reply that was current at since. confirmable: it remains current as long as its
// generations in Redis do not change. It reports whether memory has it.
func (f *getCall) storeInMemory(r *reply, since time.Time, confirmable bool) bool {
	c := f.cache
	if c.remote != nil && c.memoryTTL == 0 {
		// Memory is only used while the upstream cannot answer: there is no need to
		// store the same reply again.
		if e := c.memory.get(f.id); e != nil && e.made.Equal(r.made) && c.generations.current(e.snapshot) {
			if c.memory.byFingerprint(f.fingerprint) != e {
				c.memory.link(f.fingerprint, f.id)
			}
			c.extendUsable(r)
			return true
		}
	}
	e := &memoryEntry{reply: *r, snapshot: f.snapshot, validUntil: c.validUntil(r, since)}
	if confirmable {
		e.generations = f.generations
	}
	if !c.memory.put(f.fingerprint, f.id, e) {
		return false
	}
	c.extendUsable(r)
	return true
}

// extendUsable updates usableUntil for a reply that was stored or read.
func (c *Cache) extendUsable(r *reply) {
	until := r.made.Add(r.ttl + c.staleTTL).UnixNano()
	for {
		last := c.usableUntil.Load()
		if last >= until || c.usableUntil.CompareAndSwap(last, until) {
			return
		}
	}
}

// joinFill waits for the fill of the key under the generations of this call. Calls with
// other generations must not share it: their fill may have begun before a write that this
// caller knows to be done.
func (f *getCall) joinFill(ctx context.Context, key [32]byte) (*fillResult, string, error) {
	// A call that was canceled while waiting for a slot has not read the generations, so
	// no other call could share its fill.
	if err := ctx.Err(); err != nil {
		return nil, outcomeMiss, err
	}
	name := append(key[:], f.digest[:]...)
	name = binary.BigEndian.AppendUint64(name, f.snapshot.sum)
	if f.distrusted {
		name = append(name, "distrusted"...)
	}
	// Without the generations it is unknown whether another replica has written since a fill began.
	unknown := f.distrusted || f.cache.remote != nil && !f.generationsKnown
	leading := false
	results := f.cache.flights.DoChan(string(name), func() (any, error) {
		leading = true
		if unknown {
			defer f.cache.filling.lock(key)()
			f.cache.flights.Forget(string(name)) // calls from now on wait for the next fill
		}
		leader := *f // this caller may return before the fill ends
		return leader.runFill(context.WithoutCancel(ctx))
	})
	select {
	case <-ctx.Done():
		return nil, outcomeMiss, ctx.Err()
	case result := <-results:
		if result.Err != nil {
			return nil, outcomeMiss, result.Err
		}
		l := result.Val.(*fillResult)
		if !leading && l.outcome != outcomeStale {
			return l, outcomeCoalesced, nil
		}
		return l, l.outcome, nil
	}
}

// runFill makes the value for all calls that share the fill.
func (f *getCall) runFill(ctx context.Context) (*fillResult, error) {
	c := f.cache
	start := c.now()
	// Another fill may have completed since this call's lookup.
	if e := c.localHit(c.memory.get(f.id), start); e != nil && !f.distrusted {
		return &fillResult{reply: &e.reply, outcome: outcomeHit}, nil
	}
	f.snapshot = c.generations.snapshot(f.tags) // other replicas may have invalidated tags since
	var l lookupResult
	if f.generationsKnown {
		found := f.prepareFill(ctx, start, &l)
		if l.filler == thisFills {
			defer func() {
				if f.fillLease != "" { // nothing was stored
					c.remote.releaseFill(ctx, f.fillLease)
				}
			}()
		}
		if found != nil {
			return found, nil
		}
	}
	value, ttl, err := f.callFill(ctx)
	if err != nil {
		if r := f.staleReply(l.reply, c.now()); r != nil {
			return &fillResult{reply: r, outcome: outcomeStale, redisFailed: f.redisFailed}, nil
		}
		return nil, err
	}
	result := &fillResult{outcome: outcomeBypass, redisFailed: f.redisFailed, reply: &reply{value: value, made: start, ttl: min(ttl, c.ttl)}}
	if result.reply.ttl <= 0 || len(value) > maxReply || !c.generations.current(f.snapshot) {
		return result, nil // storing it would replace a reply that may still be usable
	}
	if f.generationsKnown {
		result.reply.digest = f.digest
	}
	stored := f.storeInMemory(result.reply, start, f.generationsKnown && !l.leased)
	if c.remote != nil {
		stored = f.generationsKnown && !l.leased && f.storeInRedis(ctx, result.reply, l.filler)
	}
	if stored {
		c.extendUsable(result.reply)
		result.outcome = outcomeMiss
	}
	return result, nil
}

// prepareFill reads the generations before a fill. It returns a reply that makes the fill unnecessary:
// one that was stored meanwhile, or that another replica fills and stores soon.
func (f *getCall) prepareFill(ctx context.Context, start time.Time, l *lookupResult) *fillResult {
	c, before := f.cache, f.digest
	if !f.distrusted { // another one's reply would not do
		f.fillLease = c.remote.keys.fill(f.entry, before)
	}
	var err error
	*l, err = c.remote.ensureGenerations(ctx, f.entry, f.tags, f.fillLease)
	f.recordGenerations(*l, err)
	switch {
	case f.distrusted:
		return nil
	case l.reply != nil && l.reply.fresh(start):
		return &fillResult{reply: l.reply, outcome: outcomeHit}
	case l.filler != anotherFills || l.leased || !f.generationsKnown || f.digest != before:
		return nil
	}
	other := c.remote.awaitFill(ctx, f.entry, f.fillLease, f.digest)
	if other == nil || !other.fresh(c.now()) {
		return nil
	}
	f.storeInMemory(other, start, true)
	return &fillResult{reply: other, outcome: outcomeCoalesced}
}

// storeInRedis stores a reply and, if this call holds the lease of the fill, releases that.
func (f *getCall) storeInRedis(ctx context.Context, r *reply, filler fillHolder) bool {
	lease := ""
	if filler == thisFills {
		lease = f.fillLease
	}
	if f.cache.remote.store(ctx, f.entry, r, lease) != nil {
		return false
	}
	f.fillLease = "" // released
	return true
}

// callFill calls fill and converts a panic to an error.
func (f *getCall) callFill(ctx context.Context) (value []byte, ttl time.Duration, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("cache: fill: panic: %v", p)
		}
	}()
	var generation digest
	if f.generationsKnown {
		generation = f.digest
	}
	return f.fill(ctx, generation)
}

// staleReply returns the newest reply that was not invalidated and is not too old: inRedis, or the
// one in memory. The latter is validated with the generations in Redis, or with this process's own
// while Redis is unavailable.
func (f *getCall) staleReply(inRedis *reply, now time.Time) *reply {
	c := f.cache
	if inRedis != nil && !inRedis.usable(now, c.staleTTL) {
		inRedis = nil
	}
	e := c.memory.get(f.id)
	if e == nil || !e.usable(now, c.staleTTL) || !c.generations.current(e.snapshot) || (f.generationsKnown && e.digest != f.digest) {
		return inRedis
	}
	if inRedis != nil && inRedis.made.After(e.made) {
		return inRedis
	}
	return &e.reply
}
