package capacity

import (
	"iter"
	"math"
	"math/rand/v2"
	"time"
)

// A Traffic is a kind of request as clients send it.
type Traffic int

// The traffic that is planned for. The signed one is that of administrators.
const (
	Products      Traffic = iota // products that Guests read by their ids
	Lists                        // lists of products that Guests read
	AdminLists                   // lists of products, signed
	OrderLists                   // signed
	StockReads                   // signed
	StockWrites                  // signed
	StockBatches                 // of BatchItems items, signed
	ProductWrites                // signed
	trafficKinds
)

// String returns the name of the traffic in tables.
func (t Traffic) String() string {
	return [...]string{"products (Guests)", "product lists (Guests)", "product lists (signed)", "order lists", "stock reads", "stock writes", "stock batches", "product writes"}[t]
}

// Rates are requests per second, by traffic.
type Rates [trafficKinds]float64

// Total returns the requests per second of all traffic.
func (r Rates) Total() (total float64) {
	for _, rate := range r {
		total += rate
	}
	return total
}

// Scale returns all rates multiplied by f.
func (r Rates) Scale(f float64) Rates {
	for t := range r {
		r[t] *= f
	}
	return r
}

// A Plan is an installation and its load.
type Plan struct {
	Engine string // whose costs apply: sqlite or postgres
	Rates  Rates
	// Products and Lists are how many different ones Guests ask for. Their popularity is that of a
	// Zipf distribution with the exponent Skew, and so is that of the products that are written.
	Products, Lists int
	Skew            float64

	Replicas, Cores int // cores of each replica
	Regions         int // Redis and the database are in the first one
	// RTT and RegionRTT are the round-trip times within a region and between two.
	RTT, RegionRTT time.Duration

	TTL, MemoryTTL time.Duration // cache.ttl and cache.memory_ttl
	MemoryReplies  int           // that cache.memory_bytes has room for
	Timeout        time.Duration // cache.timeout; 0: no limit
	NoRedis        bool

	Shards          int           // masters of a Redis Cluster; 1: a single Redis
	Relays          int           // read-only replicas of Redis that Portico subscribes to instead
	DatabaseCores   int           // of the primary
	ReadReplicas    int           // of the database, with as many cores, that answer Guests' misses
	Commit          time.Duration // that a commit waits for the disk and the standby
	PoolConnections int           // of each replica to the database
	Pooler          bool          // PgBouncer is between
	MaxConnections  int           // that the database accepts
	MaxClients      int           // that Redis accepts

	// Unqueued: nothing waits for another's work, so that the work shows that the load means, even if
	// it is more than servers can do.
	Unqueued bool

	SharedFills bool    // replicas that miss the same reply wait for one of them
	EpochCopies bool    // each master of Redis has a copy of the generation of all replies
	ListTags    int     // tags of lists; 1: the tag of the catalog
	TagsOfWrite int     // list tags that the write of a product changes
	EdgeShare   float64 // of Guests' requests that a cache in front answers
}

// region returns that of a replica.
func (p *Plan) region(replica int) int { return replica % max(p.Regions, 1) }

// rtt returns the round-trip time in seconds from a replica to the first region.
func (p *Plan) rtt(replica int) float64 {
	if p.region(replica) > 0 {
		return p.RegionRTT.Seconds()
	}
	return p.RTT.Seconds()
}

// arriving returns the rates that reach Portico.
func (p *Plan) arriving() Rates {
	r := p.Rates
	r[Products] *= 1 - p.EdgeShare
	r[Lists] *= 1 - p.EdgeShare
	return r
}

// changes returns how often a second a write changes the tag of a product, and that of a list.
func (p *Plan) changes() (products, lists float64) {
	r := p.Rates
	products = r[StockWrites] + BatchItems*r[StockBatches] + r[ProductWrites]
	return products, r[ProductWrites] * float64(min(p.TagsOfWrite, p.ListTags)) / float64(p.ListTags)
}

// An Arrival is a request that reaches a replica.
type Arrival struct {
	At      float64 // in seconds
	Replica int
	Traffic Traffic
	ID      int // of the product or the list, from 1 on
}

// Poisson returns the arrivals of a number of seconds, at random. The same seed gives the same ones.
func (p *Plan) Poisson(seed uint64, seconds float64) iter.Seq[Arrival] {
	return func(yield func(Arrival) bool) {
		random := rand.New(rand.NewPCG(seed, 1))
		products, lists := newZipf(p.Products, p.Skew), newZipf(p.Lists, p.Skew)
		rates := p.arriving()
		total := rates.Total()
		for at := random.ExpFloat64() / total; at < seconds; at += random.ExpFloat64() / total {
			a := Arrival{At: at, Replica: random.IntN(p.Replicas)}
			for u := random.Float64() * total; a.Traffic < trafficKinds-1 && u >= rates[a.Traffic]; a.Traffic++ {
				u -= rates[a.Traffic]
			}
			if a.Traffic == Lists {
				a.ID = lists.draw(random)
			} else {
				a.ID = products.draw(random)
			}
			if !yield(a) {
				return
			}
		}
	}
}

// MeanLife returns for how many seconds a reply is current that expires after ttl seconds, or with the
// first of so many changes per second, at random: ∫ e^-changes·t dt over the ttl.
func MeanLife(ttl, changes float64) float64 {
	if changes*ttl < 1e-9 {
		return ttl
	}
	return -math.Expm1(-changes*ttl) / changes
}

// HitRatio returns the share of requests that find a reply. Between two replies a first request misses;
// so do those that follow while its fill takes fill seconds, and stored is the share of fills whose
// reply is stored. Then requests find the reply for life seconds.
func HitRatio(rate, life, fill, stored float64) float64 {
	return rate * life / (rate*life + (1+rate*fill)/stored)
}

// Stored returns the share of fills whose reply can be stored: no write of its tag is in progress when
// the fill begins, and none begins before it ends. A write takes write seconds and a fill fill seconds.
func Stored(changes, write, fill float64) float64 { return math.Exp(-changes * (write + fill)) }

// An Estimate has the shares of the requests of a traffic that memory and Redis answer.
type Estimate struct{ Memory, Redis float64 }

// Misses returns the share of requests that neither answers.
func (e Estimate) Misses() float64 { return 1 - e.Memory - e.Redis }

// FillSeconds returns how long a fill takes in the first region while no queue has formed: preparing,
// the statements and storing are round trips.
func (p *Plan) FillSeconds(miss Cost) float64 {
	return p.RTT.Seconds()*(2+miss.Statements) + (miss.Portico+miss.Database+miss.Redis)/1e6
}

// WriteSeconds returns how long the tags of a write have leases: for half of its statements, the commit
// and a round trip.
func (p *Plan) WriteSeconds(write Cost) float64 {
	return p.RTT.Seconds()*(2+write.Statements/2) + p.Commit.Seconds() + write.Database/2e6
}

// EstimateProducts returns what the formulas say of products, summed over their popularity.
func (p *Plan) EstimateProducts(c *Costs) Estimate {
	changes, _ := p.changes()
	of := c.Engines[p.Engine]
	return p.estimate(newZipf(p.Products, p.Skew), p.arriving()[Products], func(share float64) float64 { return changes * share },
		p.WriteSeconds(of[StockWrite]), p.FillSeconds(of[ProductMiss]))
}

// EstimateLists returns what the formulas say of lists.
func (p *Plan) EstimateLists(c *Costs) Estimate {
	_, changes := p.changes()
	of := c.Engines[p.Engine]
	return p.estimate(newZipf(p.Lists, p.Skew), p.arriving()[Lists], func(float64) float64 { return changes },
		p.WriteSeconds(of[ProductWrite]), p.FillSeconds(of[ListMiss]))
}

func (p *Plan) estimate(z *zipf, rate float64, changes func(share float64) float64, write, fill float64) (e Estimate) {
	ttl, memoryTTL := p.TTL.Seconds(), p.MemoryTTL.Seconds()
	memory := func(share float64) float64 {
		return HitRatio(rate*share/float64(p.Replicas), MeanLife(memoryTTL, changes(share)), 0, 1)
	}
	e.Memory = z.over(func(weight float64) float64 { return memory(weight / z.sum) }) / z.sum
	e.Redis = z.over(func(weight float64) float64 {
		share := weight / z.sum
		c, asked := changes(share), 1-memory(share)
		return asked * HitRatio(rate*share*asked, MeanLife(max(ttl-fill, 0), c), fill, Stored(c, write, fill))
	}) / z.sum
	return e
}
