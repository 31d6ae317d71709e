package cache_test

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/portico-commerce/portico/cache"
)

// BenchmarkGetLocal measures hits in memory.
func BenchmarkGetLocal(b *testing.B) {
	r := newReplica(b, nil, nil)
	r.get("a", "miss", "value", fillWith("value"))
	near := key("near a")
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := r.GetLocal(b.Context(), near); !ok {
			b.Fatal("a miss")
		}
	}
}

// BenchmarkNonce records nonces in Redis sequentially, as signed calls do.
func BenchmarkNonce(b *testing.B) {
	now := newClock()
	r := newReplica(b, startRedis(b), func(o *cache.Options) { o.Now = now.Now })
	nonces, n := r.Nonces(&localNonces{}, false), 0
	now.advance(nonceTTL + time.Minute) // the local store has forgotten its nonces
	for b.Loop() {
		n++
		if fresh, err := nonces.Use(b.Context(), strconv.Itoa(n), int64(n)); err != nil || !fresh {
			b.Fatal(fresh, err)
		}
	}
}

// BenchmarkRedisHit compares hits in Redis with bare round trips of the same GETs. Both
// run in short alternating slices; it reports the median over the pairs of the cache's
// throughput relative to that of the bare round trips.
func BenchmarkRedisHit(b *testing.B) {
	s := startRedis(b)
	r := newReplica(b, s, func(o *cache.Options) { o.MemoryBytes = 0 })
	value := string(make([]byte, 4096))
	r.get("product:1", "miss", value, fillWith(value))
	client, err := cache.Dial(s.URL(), time.Second)
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	keys := []string{r.RedisKey(key("product:1")), "portico:gen:{all}", "portico:gen:{catalog}", "portico:gen:{product:1}"}
	near, reply, tags := key("near product:1"), key("product:1"), []string{"catalog", "product:1"}

	comparePairs(b, func() {
		if _, outcome, _, err := r.Get(b.Context(), near, reply, tags, failingFill); outcome != "hit" {
			b.Error(outcome, err)
		}
	}, func() {
		ctx, cancel := context.WithTimeout(b.Context(), time.Second)
		defer cancel()
		pipe := client.Pipeline()
		var gets [4]*redis.StringCmd
		for i, key := range keys {
			gets[i] = pipe.Get(ctx, key)
		}
		if _, err := pipe.Exec(ctx); err != nil || len(gets[0].Val()) < len(value) {
			b.Error(err)
		}
	})
}

// comparePairs runs two functions alternately, each on four goroutines.
func comparePairs(b *testing.B, ours, floor func()) {
	b.Helper()
	const slice, pairs, goroutines = 150 * time.Millisecond, 9, 4
	run := func(do func()) (rate float64) {
		var wg sync.WaitGroup
		var done atomic.Int64
		start := time.Now()
		for range goroutines {
			wg.Go(func() {
				for time.Since(start) < slice {
					do()
					done.Add(1)
				}
			})
		}
		wg.Wait()
		return float64(done.Load()) / time.Since(start).Seconds()
	}
	run(floor)
	run(ours)
	b.ResetTimer()
	var ratios, rates []float64
	for range pairs {
		f, o := run(floor), run(ours)
		ratios, rates = append(ratios, o/f), append(rates, o)
	}
	b.StopTimer()
	slices.Sort(ratios)
	slices.Sort(rates)
	b.ReportMetric(ratios[pairs/2], "ratio")
	b.ReportMetric(rates[pairs/2], "hits/s")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkOneFill makes 20 concurrent calls for each of 100 keys that are missing in
// Redis, cancels the first call of each, and reports the number of fills.
func BenchmarkOneFill(b *testing.B) {
	s := startRedis(b)
	for b.Loop() {
		r := newReplica(b, s, func(o *cache.Options) { o.Timeout = 10 * time.Second })
		if err := r.Purge(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(stampede(b, r)), "fills")
	}
}

// BenchmarkMemory stores 100,000 replies of 4 KB in a tier of 64 MiB and reports the live
// heap as a fraction of that size.
func BenchmarkMemory(b *testing.B) {
	const memory = 64 << 20
	for b.Loop() {
		before := liveHeap()
		r := newReplica(b, nil, func(o *cache.Options) { o.MemoryBytes = memory })
		storeReplies(b, r, 100_000, func(int) []byte { return make([]byte, 4096) })
		b.ReportMetric(float64(liveHeap()-before)/memory, "of-memory-bytes")
		r.HasUsable() // keep r alive until here
	}
}
