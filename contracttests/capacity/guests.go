package capacity

import (
	"math"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// A guest is a Guest's request on its way.
type guest struct {
	*simulation
	Arrival
	key, tag       uint64
	hit, miss      Kind
	since          float64 // when the look-up began
	generation     uint64
	storable       bool // Redis has answered
	done           func(at float64)
	outcome        func(*Outcomes) *int
	rate           float64 // of such requests, and of changes of the tag, per second
	changes        float64
	crossedReplica bool // has waited for the fill of another replica
}

// Tags and keys of products are even, those of lists odd.
func productTag(id int) uint64 { return 2 * uint64(id) }
func (p *Plan) listTag(id int) uint64 {
	return 2*uint64(id%p.ListTags) + 1
}

func (s *simulation) beginGuest(a Arrival, done func(at float64)) {
	g := &guest{simulation: s, Arrival: a, done: done, storable: !s.NoRedis}
	products, lists := s.changes()
	if a.Traffic == Products {
		g.key, g.tag, g.hit, g.miss = productTag(a.ID), productTag(a.ID), ProductRedisHit, ProductMiss
		g.changes = products * s.zipfs[0].share(a.ID)
		g.rate = s.arriving()[Products] * s.zipfs[0].share(a.ID)
	} else {
		g.key, g.tag, g.hit, g.miss = 2*uint64(a.ID)+1, s.listTag(a.ID), ListRedisHit, ListMiss
		g.changes = lists
		g.rate = s.arriving()[Lists] * s.zipfs[1].share(a.ID)
	}
	counts := s.counted()
	outcomes := &s.Guests[a.Traffic]
	g.done = func(at float64) {
		if counts {
			*g.outcome(outcomes)++
		}
		done(at)
	}
	if g.copyIsCurrent() {
		kind := ProductMemoryHit
		if a.Traffic == Lists {
			kind = ListMemoryHit
		}
		g.finish(func(o *Outcomes) *int { return &o.Memory }, kind)
		return
	}
	s.think(a.Replica, g.hit, s.costs[g.hit].Portico, g.lookUp)
}

// finish has the replica answer.
func (g *guest) finish(outcome func(*Outcomes) *int, kind Kind) {
	g.outcome = outcome
	g.think(g.Replica, kind, g.costs[kind].Portico, func() { g.done(g.now) })
}

// end answers the request without more work of the replica.
func (g *guest) end(outcome func(*Outcomes) *int) {
	g.outcome = outcome
	g.done(g.now)
}

// memory returns the memory of the replica.
func (g *guest) memory() *simplelru.LRU[uint64, copied] { return g.memories[g.Replica] }

// copyIsCurrent reports whether the memory of the replica has a reply that it may still return, and
// for which no message has arrived.
func (g *guest) copyIsCurrent() bool {
	if g.NoRedis && g.TTL == 0 || !g.NoRedis && g.MemoryTTL == 0 {
		return false
	}
	c, ok := g.memory().Get(g.key)
	return ok && g.now < c.until && !g.changedSince(c.since)
}

// changedSince reports whether the replica has received a message of the tag since a time.
func (g *guest) changedSince(since float64) bool {
	t := g.tags[g.tag]
	if t == nil {
		return false
	}
	for _, published := range t.published {
		if arrived := published + g.rtt(g.Replica)/2; published > 0 && since < arrived && arrived <= g.now {
			return true
		}
	}
	return false
}

// tagOf returns the state of a tag.
func (s *simulation) tagOf(name uint64) *tag {
	t := s.tags[name]
	if t == nil {
		t = &tag{known: !s.cold}
		s.tags[name] = t
	}
	return t
}

// current returns the reply in Redis, if it is current. The first time that anyone asks for a reply,
// chance decides whether it is there, as after a long time with the same load.
func (g *guest) current() (found entry, ok bool) {
	e, known := g.entries[g.key]
	if !known && !g.cold {
		life := MeanLife(g.TTL.Seconds(), g.changes)
		asked := g.rate * (1 - HitRatio(g.rate/float64(g.Replicas), MeanLife(g.MemoryTTL.Seconds(), g.changes), 0, 1))
		if g.random.Float64() < HitRatio(asked, life, 0, 1) {
			age := g.random.Float64() * g.TTL.Seconds()
			if g.changes > 0 { // the younger, the more likely
				age = -math.Log1p(g.random.Float64()*math.Expm1(-g.changes*g.TTL.Seconds())) / g.changes
			}
			e = entry{until: g.TTL.Seconds() - age}
		}
		g.entries[g.key] = e
	}
	return e, e.until > g.now && e.generation == g.tagOf(g.tag).generation
}

// lookUp asks Redis for the reply.
func (g *guest) lookUp() {
	g.since = g.now
	if g.NoRedis {
		g.generation = g.tagOf(g.tag).generation
		g.joinFill()
		return
	}
	cost := g.costs[g.hit]
	g.ask(g.Replica, g.parts(g.key, g.tag, g.redis.Lookup, 1), cost.Commands, func() func() {
		e, ok := g.current()
		g.generation = g.tagOf(g.tag).generation
		if ok {
			g.count(&g.ReplyBytes, cost.ReplyBytes)
			g.copy(e.until)
			return func() { g.end(g.foundOutcome()) }
		}
		if !g.tagOf(g.tag).known {
			return g.makeGeneration
		}
		return g.joinFill
	}, g.fillUnstored)
}

// fillUnstored makes the reply without Redis.
func (g *guest) fillUnstored() {
	g.storable = false
	g.joinFill()
}

// makeGeneration has Redis make the generation of the tag, so that requests can share a fill.
func (g *guest) makeGeneration() {
	g.ask(g.Replica, g.parts(g.key, g.tag, g.redis.Prepare, 3), g.prepareCommands()-leaseCommands, func() func() {
		t := g.tagOf(g.tag)
		t.known = true
		g.generation = t.generation
		return g.joinFill
	}, g.fillUnstored)
}

// A fill takes a lease with leaseCommands while it prepares, and its reply is stored with storeCommands,
// of which one releases the lease.
const leaseCommands, storeCommands = 2, 2

// prepareCommands returns the commands of a miss besides those of the look-up and the storing.
func (g *guest) prepareCommands() float64 {
	return g.costs[g.miss].Commands - g.costs[g.hit].Commands - storeCommands
}

// foundOutcome returns the outcome of a request that Redis answers.
func (g *guest) foundOutcome() func(*Outcomes) *int {
	if g.crossedReplica {
		return func(o *Outcomes) *int { return &o.Coalesced }
	}
	return func(o *Outcomes) *int { return &o.Redis }
}

// copy stores a reply that expires at a time in the memory of the replica.
func (g *guest) copy(until float64) {
	if !g.NoRedis {
		until = min(until, g.since+g.MemoryTTL.Seconds())
	}
	g.memory().Add(g.key, copied{g.since, until})
}

// joinFill waits for the fill of another request for the same reply, or begins one.
func (g *guest) joinFill() {
	name := flight{g.Replica, g.key, g.generation}
	shared := flight{-1, g.key, g.generation}
	if waiting, ok := g.flights[name]; ok {
		g.flights[name] = append(waiting, func(float64) { g.end(func(o *Outcomes) *int { return &o.Coalesced }) })
		return
	}
	if waiting, ok := g.flights[shared]; ok && g.SharedFills && g.storable {
		g.crossedReplica = true
		g.flights[shared] = append(waiting, func(at float64) { g.agenda.add(at+g.rtt(g.Replica)/2, g.lookUp) })
		return
	}
	g.flights[name] = nil
	if g.SharedFills && g.storable {
		g.flights[shared] = nil
	} else {
		shared.replica = -2 // has no waiters
	}
	g.fill(func() {
		for _, at := range []flight{name, shared} {
			waiting := g.flights[at]
			delete(g.flights, at)
			for _, then := range waiting {
				then(g.now)
			}
		}
	})
}

// fill makes the reply, and stores it unless a write is in progress.
func (g *guest) fill(landed func()) {
	read := func(leased bool) {
		more := g.costs[g.miss].Portico - g.costs[g.hit].Portico
		g.think(g.Replica, g.miss, max(more, 0), func() {
			cost := g.costs[g.miss]
			g.query(g.Replica, g.miss, cost.Database, cost.Statements, true, func() { g.store(leased, landed) })
		})
	}
	if !g.storable {
		read(false)
		return
	}
	g.since = g.now
	g.ask(g.Replica, g.parts(g.key, g.tag, g.redis.Prepare, 3), g.prepareCommands(), func() func() {
		t := g.tagOf(g.tag)
		if _, ok := g.current(); ok { // another replica has stored it meanwhile
			return func() {
				landed()
				g.end(g.foundOutcome())
			}
		}
		g.generation = t.generation
		leased := t.leases > 0
		return func() { read(leased) }
	}, func() {
		g.storable = false
		read(false)
	})
}

// store stores a reply in Redis and in memory.
func (g *guest) store(leased bool, landed func()) {
	end := func(outcome func(*Outcomes) *int) {
		landed()
		g.end(outcome)
	}
	bypass := func(o *Outcomes) *int { return &o.Bypassed }
	stored := func(o *Outcomes) *int { return &o.Misses }
	switch {
	case g.NoRedis && g.generation == g.tagOf(g.tag).generation && g.tagOf(g.tag).leases == 0:
		g.copy(g.since + g.TTL.Seconds())
		end(stored)
	case leased || !g.storable:
		end(bypass)
	default:
		until := g.since + g.TTL.Seconds()
		g.ask(g.Replica, []part{{g.shardOf(g.key), g.redis.Store}}, storeCommands, func() func() {
			g.entries[g.key] = entry{until, g.generation}
			if !g.changedSince(g.since) {
				g.copy(until)
			}
			return func() { end(stored) }
		}, func() { end(bypass) })
	}
}
