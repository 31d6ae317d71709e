//go:build linux

package program

import (
	"context"
	"fmt"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
)

// TestConcurrentMisses asks for each of ten uncached replies twenty times at the
// same time while the database hangs, and lets the first client of each leave. The
// database must get one query for each reply. At night it asks for a hundred.
func TestConcurrentMisses(t *testing.T) {
	t.Parallel()
	const others = 19
	keys := 10
	if testenv.Nightly() {
		keys = 100
	}
	server, dsn := apptest.PostgresDemo(t)
	redis := apptest.NewRedis(t)
	for name, url := range map[string]string{"memory": "", "redis": redis.URL()} {
		t.Run(name, func(t *testing.T) {
			p := apptest.Start(t, []string{"PORTICO_SQL_DSN=" + dsn, "PORTICO_SQL_MEDIA_DIR=" + t.TempDir(), "PORTICO_LOG_LEVEL=error", "PORTICO_CACHE_REDIS_URL=" + url,
				"PORTICO_UPSTREAM_MAX_IN_FLIGHT=256", "PORTICO_UPSTREAM_TIMEOUT=20s", "PORTICO_UPSTREAM_MAX_WAIT=5s",
				// On a busy machine this many requests can delay each other.
				"PORTICO_CACHE_TIMEOUT=5s"})
			guest := apptest.NewClient(t, p.Contract, "")
			guest.Get(t, "/products?page=2") // loads the data that all lists need
			inFlight := func() float64 { return apptest.ScrapeMetrics(t, p.Ops).Sum("portico_requests_in_flight") }
			sent := func() float64 { return apptest.ScrapeMetrics(t, p.Ops).Sent() }
			before := sent()

			server.Pause()
			resume := sync.OnceFunc(server.Resume)
			defer resume()
			ask := func(ctx context.Context, key int) (apptest.Reply, error) {
				return guest.Call(ctx, http.MethodGet, fmt.Sprintf("/products?limit=%d", key+1), "")
			}
			first, leave := context.WithCancel(t.Context())
			var left, waiting sync.WaitGroup
			for key := range keys {
				left.Go(func() {
					if got, err := ask(first, key); err == nil {
						t.Errorf("the first of key %d is answered %d", key, got.Status)
					}
				})
			}
			testenv.Await(t, "the first of each", func() bool { return inFlight() == float64(keys) })
			leave()
			left.Wait()
			testenv.Await(t, "the first of each to be gone", func() bool { return inFlight() == 0 })
			var answered, failed atomic.Int64
			for key := range keys {
				for range others {
					waiting.Go(func() {
						got, err := ask(t.Context(), key)
						if err != nil || got.Status != http.StatusOK {
							t.Errorf("key %d: %d %s %v", key, got.Status, got.Body, err)
							failed.Add(1)
						}
						answered.Add(1)
					})
				}
			}
			testenv.Await(t, "all others", func() bool { return inFlight() == float64(keys*others) })
			resume()
			waiting.Wait()
			calls := sent() - before
			t.Logf("%d requests for %d keys, of which %d left: %d answered, %d failed, %.0f calls to the database", keys*(1+others), keys, keys, answered.Load(), failed.Load(), calls)
			if calls != float64(keys) {
				t.Errorf("%.0f calls to the database, want %d", calls, keys)
			}
		})
	}
}
