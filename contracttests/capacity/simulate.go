package capacity

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Outcomes counts Guests' requests by what answered them.
type Outcomes struct {
	Memory    int // the memory of the replica
	Redis     int
	Misses    int // a fill that was stored
	Coalesced int // the fill of another request
	Bypassed  int // a fill that was not stored: a write was in progress, or Redis did not answer in time
}

// Total returns the number of requests.
func (o Outcomes) Total() int { return o.Memory + o.Redis + o.Misses + o.Coalesced + o.Bypassed }

// Fills returns how often the database was asked.
func (o Outcomes) Fills() int { return o.Misses + o.Bypassed }

// HitRatio returns the share of requests for which the database was not asked.
func (o Outcomes) HitRatio() float64 { return 1 - float64(o.Fills())/math.Max(float64(o.Total()), 1) }

// A Result is what a simulation has counted after its warm-up.
type Result struct {
	Seconds  float64
	Arrived  [trafficKinds]int
	Answered [trafficKinds]int // including those answered after the end
	Guests   [2]Outcomes       // of Products and Lists
	Times    [trafficKinds][]float32

	Commands   float64 // that Redis executed
	RoundTrips float64
	Statements float64 // that the databases executed
	Published  int
	Delivered  int     // messages to subscribers
	ReplyBytes float64 // from Redis to replicas

	// Seconds of work: of all replicas, of each shard and relay of Redis, and of the database.
	ReplicaWork, DatabaseWork, ReaderWork float64
	ShardWork                             []float64
	RelayWork                             float64
}

// A tag has the state of what replies depend on.
type tag struct {
	generation uint64
	known      bool // Redis has a generation
	leases     int
	published  [2]float64 // when its last two messages were published
}

// An entry is a reply in Redis.
type entry struct {
	until      float64
	generation uint64
}

// A copy is a reply in the memory of a replica.
type copied struct{ since, until float64 }

// A flight is a fill that others may share.
type flight struct {
	replica    int // -1: of any
	key        uint64
	generation uint64
}

// A simulation runs events in the order of their times.
type simulation struct {
	*Plan
	costs    map[Kind]Cost
	redis    RedisCosts
	random   *rand.Rand
	zipfs    [2]*zipf // of products and lists
	agenda   agenda
	now      float64
	cold     bool
	replicas []station
	shards   []station
	relays   []station
	database station
	readers  []station
	memories []*simplelru.LRU[uint64, copied]
	entries  map[uint64]entry
	tags     map[uint64]*tag
	flights  map[flight][]func(at float64)
	Result
}

// Run simulates requests. What begins in the first warm seconds is not counted. With cold, all caches
// are empty in the beginning; otherwise Redis holds what it would after a long time.
func Run(p Plan, costs *Costs, seed uint64, warm float64, cold bool, arrivals iter.Seq[Arrival]) (*Result, error) {
	if p.Replicas < 1 || p.Products < 1 || p.Lists < 1 || p.ListTags < 1 || p.MemoryReplies < 1 || costs.Engines[p.Engine] == nil {
		return nil, fmt.Errorf("the plan lacks replicas, products, lists, list tags, room in memory or the costs of the engine %q", p.Engine)
	}
	s := &simulation{
		Plan: &p, costs: costs.Engines[p.Engine], redis: costs.Redis, random: rand.New(rand.NewPCG(seed, 2)), cold: cold,
		zipfs: [2]*zipf{newZipf(p.Products, p.Skew), newZipf(p.Lists, p.Skew)}, database: p.newStation(p.DatabaseCores),
		entries: map[uint64]entry{}, tags: map[uint64]*tag{}, flights: map[flight][]func(float64){},
	}
	for range p.Replicas {
		memory, err := simplelru.NewLRU[uint64, copied](p.MemoryReplies, nil)
		if err != nil {
			return nil, err
		}
		s.replicas, s.memories = append(s.replicas, p.newStation(p.Cores)), append(s.memories, memory)
	}
	for range max(p.Shards, 1) {
		s.shards = append(s.shards, p.newStation(1))
	}
	for range p.Relays {
		s.relays = append(s.relays, p.newStation(1))
	}
	for range p.ReadReplicas {
		s.readers = append(s.readers, p.newStation(p.DatabaseCores))
	}
	s.ShardWork = make([]float64, len(s.shards))
	for a := range arrivals {
		s.runUntil(a.At)
		s.now, s.agenda.counts = a.At, a.At >= warm
		s.begin(a)
	}
	s.Seconds = s.now - warm
	s.runUntil(math.Inf(1))
	for i := range s.ShardWork {
		if !p.NoRedis {
			s.ShardWork[i] += s.Seconds * pingsPerSecond * float64(p.Replicas) * s.redis.SmallGet / 1e6
		}
	}
	return &s.Result, nil
}

// runUntil runs all events before a time.
func (s *simulation) runUntil(at float64) {
	for len(s.agenda.events) > 0 && s.agenda.events[0].at < at {
		next := s.agenda.next()
		s.now, s.agenda.counts = next.at, next.counts
		next.run()
	}
}

// counted reports whether what happens now is counted: it belongs to a request that began after the
// warm-up.
func (s *simulation) counted() bool { return s.agenda.counts }

// begin answers a request.
func (s *simulation) begin(a Arrival) {
	counts := s.counted()
	if counts {
		s.Arrived[a.Traffic]++
	}
	begun := s.now
	done := func(at float64) {
		if counts {
			s.Answered[a.Traffic]++
			s.Times[a.Traffic] = append(s.Times[a.Traffic], float32(at-begun))
		}
	}
	switch a.Traffic {
	case Products, Lists:
		s.beginGuest(a, done)
	case AdminLists:
		s.beginSigned(a, AdminList, done)
	case OrderLists:
		s.beginSigned(a, OrderList, done)
	case StockReads:
		s.beginSigned(a, StockRead, done)
	case StockWrites:
		s.beginWrite(a, StockWrite, 1, done)
	case StockBatches:
		s.beginWrite(a, StockBatch, BatchItems, done)
	case ProductWrites:
		s.beginWrite(a, ProductWrite, 1, done)
	}
}

// work returns the seconds that a request of a kind takes at a server whose mean is micros.
func (s *simulation) work(kind Kind, micros float64) float64 {
	shape := s.costs[kind].Spread
	if len(shape) == 0 {
		return micros / 1e6
	}
	return micros / 1e6 * shape[s.random.IntN(len(shape))]
}

// think has a replica compute, and then goes on.
func (s *simulation) think(replica int, kind Kind, micros float64, then func()) {
	at := s.replicas[replica].serve(s.now, s.work(kind, micros))
	s.count(&s.ReplicaWork, micros/1e6)
	s.agenda.add(at, then)
}

func (s *simulation) count(total *float64, by float64) {
	if s.counted() {
		*total += by
	}
}

// query has the database execute the statements of a request, one after the other, and then goes on.
// Reads of Guests go to a read replica in the region if there are any.
func (s *simulation) query(replica int, kind Kind, micros, statements float64, read bool, then func()) {
	server, work, rtt := &s.database, &s.DatabaseWork, s.rtt(replica)
	if read && len(s.readers) > 0 {
		server, work, rtt = &s.readers[replica%len(s.readers)], &s.ReaderWork, s.RTT.Seconds()
	}
	s.count(&s.Statements, statements)
	s.agenda.add(s.now+rtt*max(statements, 1), func() {
		s.count(work, micros/1e6)
		s.agenda.add(server.serve(s.now, s.work(kind, micros)), then)
	})
}
