//go:build linux

package program

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
)

// TestRedisClusterFailover kills masters of a Redis Cluster while Guests read and an
// administrator writes at two replicas. No request fails, and no reply is older than an
// acknowledged write.
func TestRedisClusterFailover(t *testing.T) {
	testenv.OnlyNightly(t, "rediscluster")
	c := testenv.NewRedisCluster(t, 2*time.Second)
	both := newReplicaPair(t, demotest.Postgres(t), c.URL(), c.URL(), "PORTICO_CACHE_MEMORY_TTL=0s")
	h := newHistory(t)
	for _, p := range h.products {
		h.write(both.admin[0], p)
	}
	cached := func() bool {
		return !slices.ContainsFunc(both.guests[:], func(guest *apptest.Client) bool {
			return guest.Get(t, "/products/1").Header.Get("X-Cache") != "HIT"
		})
	}
	breakers := func(state float64) func() bool {
		return func() bool {
			return !slices.ContainsFunc(both.processes[:], func(p *apptest.Process) bool {
				got := apptest.ScrapeMetrics(t, p.Ops).Sum("portico_breaker_state", `breaker="redis"`)
				return (got == 0) != (state == 0)
			})
		}
	}
	for _, key := range []string{"portico:gen:{catalog}", "portico:gen:{all}"} {
		testenv.Await(t, "replies to be cached", cached)
		ctx, stop := context.WithCancel(t.Context())
		readers := h.readAll(ctx, both.guests)
		for replica, admin := range both.admin {
			readers.Go(func() {
				for n := replica; ctx.Err() == nil; n++ {
					h.write(admin, h.products[n%len(h.products)])
					select {
					case <-time.After(20 * time.Millisecond):
					case <-ctx.Done():
					}
				}
			})
		}
		before := h.reads.Load()
		lost := c.Master(key)
		lost.Kill()
		testenv.Await(t, "both breakers to open", breakers(2))
		c.AwaitPromotion(key, lost)
		promoted := time.Now()
		testenv.Await(t, "both breakers to close", breakers(0))
		t.Logf("back %s after the promotion", time.Since(promoted).Round(time.Millisecond))
		lost.Start()
		c.AwaitReplicas()
		stop()
		readers.Wait()
		stale := h.startEra()
		t.Logf("%d reads, stale: %v", h.reads.Load()-before, stale)
		if stale != [2]int64{} {
			t.Errorf("%v reads showed an older price than was acknowledged", stale)
		}
	}
}
