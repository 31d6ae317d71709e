package cache

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"
)

// A Fill makes a value. Its ttl, at most that of the options, is how long the
// value is fresh; with 0 or less it is not kept. An error means that the upstream
// could not answer. generation stands for the generations of the tags in Redis as
// they are now; it is zero where there is none, or it is away.
type Fill = func(ctx context.Context, generation [16]byte) (value []byte, ttl time.Duration, err error)

// Get returns the value of key from memory, from Redis or from fill, and how long
// ago it was made. near is another name of key, by which GetLocal finds it; tags
// are what it depends on, and always the same for a key. The value must not be
// changed. outcome is
//
//	hit        memory or Redis had it
//	miss       fill made it, and it is kept
//	coalesced  fill made it, called by another Get
//	stale      fill failed, and the last value that no change has ended since
//	           stands in, for up to StaleTTL after it ceased to be fresh
//	bypass     fill made it, and where replicas would look for it it is not kept:
//	           because of its ttl or size, because a change was under way, or
//	           because Redis is away
//
// fill runs once for all that ask at the same time, under a context of its own
// that ends with none of them: it has to set a deadline. A Get whose ctx ends
// returns its error. Otherwise an error is that of fill.
func (c *Cache) Get(ctx context.Context, near, key [32]byte, tags []string, fill Fill) (value []byte, outcome string, age time.Duration, err error) {
	f := &flight{cache: c, near: near, id: key, tags: tags, fill: fill, watch: c.generations.watch(tags)}
	now := c.now()
	if c.memory != nil && (c.remote == nil || c.memoryTTL > 0) {
		if e := c.usable(c.memory.get(key), now); e != nil {
			c.memory.name(near, key)
			c.metrics.nearHits.Inc()
			return e.value, outcomeHit, e.age(now), nil
		}
		if c.remote != nil {
			c.metrics.lookups.WithLabelValues(tierMemory, outcomeMiss).Inc()
		}
	}
	tier := tierMemory
	if c.remote != nil {
		tier = tierRedis
		f.key = replyKey(key)
		if r := f.lookup(ctx, now); r != nil {
			c.metrics.lookups.WithLabelValues(tier, outcomeHit).Inc()
			return r.value, outcomeHit, r.age(now), nil
		}
	}
	landed, outcome, err := f.join(ctx, key)
	counted := outcome
	if f.trouble || (landed != nil && landed.trouble && outcome != outcomeCoalesced) {
		counted = outcomeError
	}
	if c.remote != nil || c.memory != nil {
		c.metrics.lookups.WithLabelValues(tier, counted).Inc()
	}
	if err != nil {
		return nil, outcome, 0, err
	}
	return landed.reply.value, outcome, landed.reply.age(c.now()), nil
}

// A flight is one look-up on its way to a value.
type flight struct {
	cache   *Cache
	near    [32]byte
	id      [32]byte // the key
	key     string   // in Redis
	tags    []string
	fill    Fill
	watch   watch // of tags, before anything was asked
	asked   bool  // Redis has told the generations
	digest  digest
	trouble bool // Redis failed, or held rubbish
}

// A landing is what came of a flight.
type landing struct {
	reply   *reply
	outcome string
	trouble bool
}

// lookup asks Redis and returns the reply if it is fresh.
func (f *flight) lookup(ctx context.Context, now time.Time) *reply {
	c := f.cache
	l, err := c.remote.lookup(ctx, f.key, f.tags)
	if err == nil && !l.known {
		f.trouble = l.rubbish
		// All that miss at the same time must see the same generations, to share
		// one fill.
		l, err = c.remote.prepare(ctx, f.key, f.tags)
	}
	f.saw(l, err)
	if l.reply == nil || !l.reply.fresh(now) {
		return nil
	}
	f.remember(l.reply, now)
	c.holding(l.reply)
	return l.reply
}

// saw notes what Redis has told.
func (f *flight) saw(l look, err error) {
	f.asked, f.digest = err == nil && l.known, l.digest
	f.trouble = f.trouble || l.rubbish || (err != nil && err != errAway)
}

// remember puts a reply in memory, which relies on it since asked.
func (f *flight) remember(r *reply, asked time.Time) bool {
	c := f.cache
	if c.remote != nil && c.memoryTTL == 0 {
		// Memory only stands in for an upstream that cannot answer: what it has of
		// the same reply will do.
		if e := c.memory.get(f.id); e != nil && e.made.Equal(r.made) && c.generations.current(e.watch) {
			c.holding(r)
			return true
		}
	}
	until := r.made.Add(r.ttl)
	if c.remote != nil && asked.Add(c.memoryTTL).Before(until) {
		until = asked.Add(c.memoryTTL)
	}
	if !c.memory.put(f.near, f.id, &remembered{reply: *r, watch: f.watch, until: until}) {
		return false
	}
	c.holding(r)
	return true
}

// holding notes that there is a reply to answer with.
func (c *Cache) holding(r *reply) {
	until := r.made.Add(r.ttl + c.staleTTL).UnixNano()
	for {
		last := c.holds.Load()
		if last >= until || c.holds.CompareAndSwap(last, until) {
			return
		}
	}
}

// join waits for the one flight to the key under the generations that this one
// saw. One that saw others must not join: its fill may have begun before a change
// that this caller knows to be over.
func (f *flight) join(ctx context.Context, key [32]byte) (*landing, string, error) {
	// Who has left while waiting for a place at Redis has not seen the generations:
	// nobody would join this flight.
	if err := ctx.Err(); err != nil {
		return nil, outcomeMiss, err
	}
	name := append(key[:], f.digest[:]...)
	name = binary.BigEndian.AppendUint64(name, f.watch.sum)
	led := false
	landed := f.cache.flights.DoChan(string(name), func() (any, error) {
		led = true
		leader := *f // this caller may leave
		return leader.lead(context.WithoutCancel(ctx))
	})
	select {
	case <-ctx.Done():
		return nil, outcomeMiss, ctx.Err()
	case result := <-landed:
		if result.Err != nil {
			return nil, outcomeMiss, result.Err
		}
		l := result.Val.(*landing)
		if !led && l.outcome != outcomeStale {
			return l, outcomeCoalesced, nil
		}
		return l, l.outcome, nil
	}
}

// lead makes the value for all who wait.
func (f *flight) lead(ctx context.Context) (*landing, error) {
	c := f.cache
	asked := c.now()
	// Another flight may have landed since this caller looked.
	if e := c.usable(c.memory.get(f.id), asked); e != nil {
		return &landing{reply: &e.reply, outcome: outcomeHit}, nil
	}
	f.watch = c.generations.watch(f.tags) // messages of others may have come since
	var l look
	if f.asked {
		var err error
		l, err = c.remote.prepare(ctx, f.key, f.tags)
		f.saw(l, err)
		if l.reply != nil && l.reply.fresh(asked) {
			return &landing{reply: l.reply, outcome: outcomeHit}, nil
		}
	}
	value, ttl, err := f.call(ctx)
	if err != nil {
		if r := f.standIn(l.reply, c.now()); r != nil {
			return &landing{reply: r, outcome: outcomeStale, trouble: f.trouble}, nil
		}
		return nil, err
	}
	made := &landing{outcome: outcomeBypass, trouble: f.trouble, reply: &reply{value: value, made: asked, ttl: min(ttl, c.ttl)}}
	if made.reply.ttl <= 0 || len(value) > c.maxReply || !c.generations.current(f.watch) {
		return made, nil // it would take the place of one that can be handed out
	}
	if f.asked {
		made.reply.digest = f.digest
	}
	kept := f.remember(made.reply, asked)
	if c.remote != nil {
		kept = f.asked && !l.leased && c.remote.store(ctx, f.key, made.reply) == nil
	}
	if kept {
		c.holding(made.reply)
		made.outcome = outcomeMiss
	}
	return made, nil
}

// call calls fill. A panic there must not end the process.
func (f *flight) call(ctx context.Context) (value []byte, ttl time.Duration, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("cache: fill: panic: %v", p)
		}
	}()
	var generation digest
	if f.asked {
		generation = f.digest
	}
	return f.fill(ctx, generation)
}

// standIn returns the last reply that no change has ended, if it is young enough:
// held, which Redis has, or that of memory. What memory has is judged by the
// generations in Redis, or by this process's own while Redis is away.
func (f *flight) standIn(held *reply, now time.Time) *reply {
	c := f.cache
	if held != nil && !held.usable(now, c.staleTTL) {
		held = nil
	}
	e := c.memory.get(f.id)
	if e == nil || !e.usable(now, c.staleTTL) || !c.generations.current(e.watch) || (f.asked && e.digest != f.digest) {
		return held
	}
	if held != nil && held.made.After(e.made) {
		return held
	}
	return &e.reply
}
