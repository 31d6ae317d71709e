package cache_test

import (
	"testing"
	"time"

	"github.com/portico-commerce/portico/cache"
	"github.com/portico-commerce/portico/config/testenv"
)

// take takes tokens from a bucket that fills in ten seconds, and returns when it is full again.
func take(t *testing.T, r *replica, now time.Time, tokens int64) (full time.Duration) {
	t.Helper()
	sums := make(chan time.Time, 1)
	r.Buckets().Add("guest 192.0.2.1", tokens, time.Second, 10*time.Second, func(at time.Time) { sums <- at })
	return testenv.Receive(t, "the sum", sums).Sub(now).Round(time.Millisecond)
}

// TestBuckets takes tokens on two replicas, which learn of the sum.
func TestBuckets(t *testing.T) {
	t.Parallel()
	now, s := newClock(), startRedis(t)
	edit := func(o *cache.Options) { o.Now, o.Timeout = now.Now, time.Second }
	one, other := newReplica(t, s, edit), newReplica(t, s, edit)
	start := now.Now()
	for i, step := range []struct {
		after  time.Duration
		r      *replica
		tokens int64
		full   time.Duration // since the start
	}{
		{0, one, 3, 3 * time.Second},
		{0, other, 2, 5 * time.Second},
		{time.Second, one, 1, 6 * time.Second},
		{0, one, -1, 5 * time.Second},
		{10 * time.Second, other, 1, 12 * time.Second}, // it was full after 5 s
		{0, one, 1, 13 * time.Second},
	} {
		now.advance(step.after)
		if full := take(t, step.r, start, step.tokens); full != step.full {
			t.Errorf("step %d: full after %s, want %s", i, full, step.full)
		}
	}
	if n := one.count("portico_redis_commands_total", "limit"); n < 4 || n > 5 {
		t.Errorf("%v round trips", n)
	}
	for _, key := range redisClient(t, s).Keys(t.Context(), "portico:bucket:*").Val() {
		if ttl := redisClient(t, s).PTTL(t.Context(), key).Val(); ttl <= 0 || ttl > 11*time.Second {
			t.Errorf("ttl %s", ttl)
		}
	}
}

// TestBucketsBound reports many calls in few round trips.
func TestBucketsBound(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	r := newReplica(t, s, nil)
	sums := make(chan time.Time, 10_000)
	for range 10_000 {
		r.Buckets().Add("consumer 1", 1, time.Millisecond, time.Hour, func(at time.Time) { sums <- at })
	}
	var last time.Time
	for last.Before(time.Now().Add(time.Second)) { // 10 s from the first
		last = <-sums
	}
	if n := r.count("portico_redis_commands_total", "limit"); n > 100 {
		t.Errorf("%v round trips for 10,000 calls", n)
	}
	if newReplica(t, nil, nil).Buckets() != nil {
		t.Error("there are buckets without Redis")
	}
}
