package capacity

import (
	"cmp"
	"slices"
)

// Sustained is the share of a station's capacity that a plan uses at most. Beyond, queues grow quickly,
// and nothing is left for a server that fails.
const Sustained = 0.7

// A Use is how much of what a part of the installation can do the load takes.
type Use struct {
	Part  string
	Share float64 // 1: all of it
	// Fixed parts do not change with the load, but with the number of replicas.
	Fixed bool
}

// Limit returns the load at which the part is used to Sustained, as a multiple of the present one.
func (u Use) Limit() float64 { return Sustained / u.Share }

// Parts of an installation.
const (
	ReplicaProcessors   = "processors of the replicas"
	RedisShard          = "the busiest master of Redis"
	RedisRelays         = "the read-only Redis of subscribers"
	RedisConnections    = "connections of Redis"
	DatabaseProcessors  = "processors of the primary database"
	ReaderProcessors    = "processors of the read replicas"
	DatabaseConnections = "connections of the database"
)

// poolerConnections is how many connections PgBouncer keeps to the database for each of its cores.
const poolerConnections = 4

// redisPool is how many connections a replica opens to each master of Redis at most, with the one for
// messages: see cache/dial.go.
const redisPool = 49

// Uses returns what the load uses, the most used part first.
func (p *Plan) Uses(r *Result) []Use {
	per := func(work, capacity float64) float64 { return work / (capacity * r.Seconds) }
	connections := p.Replicas * p.PoolConnections
	if p.Pooler {
		connections = poolerConnections * p.DatabaseCores
	}
	uses := []Use{
		{ReplicaProcessors, per(r.ReplicaWork, float64(p.Replicas*p.Cores)), false},
		{DatabaseProcessors, per(r.DatabaseWork, float64(p.DatabaseCores)), false},
		{DatabaseConnections, float64(connections) / float64(p.MaxConnections), true},
	}
	if !p.NoRedis {
		uses = append(uses,
			Use{RedisShard, per(slices.Max(r.ShardWork), 1), false},
			Use{RedisConnections, float64(p.Replicas*redisPool) / float64(p.MaxClients), true})
	}
	if p.Relays > 0 {
		uses = append(uses, Use{RedisRelays, per(r.RelayWork, float64(p.Relays)), false})
	}
	if p.ReadReplicas > 0 {
		uses = append(uses, Use{ReaderProcessors, per(r.ReaderWork, float64(p.ReadReplicas*p.DatabaseCores)), false})
	}
	slices.SortStableFunc(uses, func(a, b Use) int { return cmp.Compare(b.Share, a.Share) })
	return uses
}

// Prices are what an installation is charged for.
type Prices struct {
	CoreHour  float64 // of a virtual machine, with 2 GB of memory
	GBMemory  float64 // a month, of a Redis
	GBTraffic float64 // that leaves the cloud
}

// hoursOfMonth is the mean number of hours of a month.
const hoursOfMonth = 730

// A Bill is the cost of a month.
type Bill struct{ Replicas, Redis, Database, Traffic float64 }

// Total returns the sum.
func (b Bill) Total() float64 { return b.Replicas + b.Redis + b.Database + b.Traffic }

// Bill returns what a month of the load costs. A core of Redis and one of a database cost the same as
// others; the traffic is that of Guests, whose replies have replyBytes.
func (p *Plan) Bill(prices Prices, replyBytes float64) Bill {
	hour := prices.CoreHour * hoursOfMonth
	arriving := p.Rates[Products] + p.Rates[Lists]
	return Bill{
		Replicas: float64(p.Replicas*p.Cores) * hour,
		Redis:    float64(max(p.Shards, 1)*2+p.Relays)*hour*2 + prices.GBMemory*2*p.RedisBytes(replyBytes)/1e9,
		Database: float64(p.DatabaseCores*(2+p.ReadReplicas)) * hour,
		Traffic:  prices.GBTraffic * arriving * replyBytes * 3600 * hoursOfMonth / 1e9,
	}
}

// entryBytes is what a reply takes in Redis besides its body: key, header and overhead.
const entryBytes = 250

// RedisBytes returns the memory that the current replies about products take in Redis, which stores
// them for ttl. They stay there for staleTTL longer, as far as maxmemory has room.
func (p *Plan) RedisBytes(replyBytes float64) float64 {
	z, rate := newZipf(p.Products, p.Skew), p.arriving()[Products]
	stored := z.over(func(weight float64) float64 {
		return HitRatio(rate*weight/z.sum, p.TTL.Seconds(), 0, 1) / weight // once for each product, whatever its share
	})
	return stored * (replyBytes + entryBytes)
}
