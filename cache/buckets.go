package cache

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// reportEvery is the least time between two round trips of [Buckets].
	reportEvery = 50 * time.Millisecond
	// maxReports is the number of buckets that are reported in one round trip, and that may wait
	// for it. Tokens taken from further buckets are not reported.
	maxReports = 512
	// bucketGrace is how long the key of a bucket outlives it.
	bucketGrace = time.Second
)

// Buckets add up, over all replicas, the tokens that are taken from buckets that refill over time,
// such as the buckets of rate limits. They do so after the fact, in at most twenty round trips a
// second whatever the number of calls.
//
// In Redis, a bucket is the time of the first token since it was full and the number of tokens
// taken since then. While Redis is unavailable, the tokens are not added up, so each replica counts
// only its own.
type Buckets struct {
	remote *remote
	now    func() time.Time
	wake   chan struct{}

	mu      sync.Mutex
	pending map[string]*bucketReport
}

// A bucketReport counts the tokens that were taken from a bucket and not reported yet.
type bucketReport struct {
	taken              int64
	interval, capacity time.Duration
	full               func(at time.Time)
}

// Buckets returns the buckets of the Redis of c, or nil if it has none.
func (c *Cache) Buckets() *Buckets {
	if c.remote == nil {
		return nil
	}
	return c.remote.buckets
}

func newBuckets(r *remote) *Buckets {
	return &Buckets{remote: r, now: r.now, wake: make(chan struct{}, 1), pending: map[string]*bucketReport{}}
}

// Add records that so many tokens were taken from the bucket with this name, or given back if the
// number is negative. A token is added to the bucket in each interval until it is full, which takes
// capacity if it is empty. Add does not wait. When Redis has added up the tokens of all replicas,
// full is called with the time at which the bucket is full again.
func (b *Buckets) Add(name string, tokens int64, interval, capacity time.Duration, full func(at time.Time)) {
	if !b.remote.available.Load() {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	report := b.pending[name]
	if report == nil {
		if len(b.pending) >= maxReports {
			return
		}
		report = &bucketReport{}
		b.pending[name] = report
	}
	report.taken += tokens
	report.interval, report.capacity, report.full = interval, capacity, full
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// run reports added tokens until ctx ends.
func (b *Buckets) run(ctx context.Context) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.wake:
		}
		b.report(ctx)
		pause.Reset(reportEvery)
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
	}
}

// report makes a round trip with all pending reports, and another one for buckets that were full
// again before.
func (b *Buckets) report(ctx context.Context) {
	b.mu.Lock()
	reports := b.pending
	b.pending = map[string]*bucketReport{}
	b.mu.Unlock()
	if refilled := b.send(ctx, reports, false); len(refilled) > 0 {
		b.send(ctx, refilled, true)
	}
}

// send makes a round trip with reports, and returns the reports about buckets that were full before
// the tokens were taken. With restart, all buckets count as full before.
func (b *Buckets) send(ctx context.Context, reports map[string]*bucketReport, restart bool) (refilled map[string]*bucketReport) {
	now := b.now()
	taken, since := map[string]*redis.IntCmd{}, map[string]*redis.StringCmd{}
	err := b.remote.do(ctx, opLimit, func(p redis.Pipeliner) {
		for name, report := range reports {
			key := b.remote.keys.bucket(name)
			if restart {
				p.Del(ctx, key)
			}
			p.HSetNX(ctx, key, "since", now.UnixMicro())
			taken[name] = p.HIncrBy(ctx, key, "taken", report.taken)
			since[name] = p.HGet(ctx, key, "since")
			p.PExpire(ctx, key, report.capacity+bucketGrace)
		}
	})
	if err != nil {
		return nil
	}
	refilled = map[string]*bucketReport{}
	for name, report := range reports {
		first, err := since[name].Int64()
		if err != nil || taken[name].Err() != nil {
			continue
		}
		before := time.Duration(taken[name].Val()-report.taken) * report.interval
		fullAt := time.UnixMicro(first).Add(before) // by the tokens taken before
		if isFull := before > 0 && !fullAt.After(now); isFull && report.taken > 0 && !restart {
			refilled[name] = report
			continue
		}
		report.full(fullAt.Add(time.Duration(report.taken) * report.interval))
	}
	return refilled
}

// bucket is the key of a bucket. Names have addresses and accounts in them, so it has a hash.
func (k keyspace) bucket(name string) string {
	sum := sha256.Sum256([]byte(name))
	return string(k) + "bucket:" + hex.EncodeToString(sum[:16])
}
