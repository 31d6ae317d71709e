//go:build linux

package program

import (
	"context"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
	"net/http"
	"sync"
	"testing"
	"time"
)

// TestSlowDatabase delays the database by two seconds a call under load: calls in flight
// stay within the limit, cached replies are as fast as ever, and the program recovers
// completely.
func TestSlowDatabase(t *testing.T) {
	testenv.OnlyNightly(t, "faults")
	t.Parallel() // much of it is waiting
	const limit, callers = 4, 24
	server, dsn := apptest.PostgresDemo(t)
	line := apptest.NewSlowProxy(t, server.Address())
	p := apptest.Start(t, []string{"PORTICO_SQL_DSN=" + apptest.DSNThrough(dsn, server.Address(), line), "PORTICO_SQL_MEDIA_DIR=" + t.TempDir(), "PORTICO_LOG_LEVEL=error",
		"PORTICO_UPSTREAM_MAX_IN_FLIGHT=4", "PORTICO_UPSTREAM_MAX_WAIT=500ms", "PORTICO_OPS_PPROF=true"})
	tr := newTraffic(t, p.Contract)
	tr.runPhase("before", 500*time.Millisecond)
	tr.writes.Lock() // a write would invalidate cached replies
	tr.warmCache(apptest.NewClient(t, p.Contract, ""))
	goroutines, heap := memoryUse(t, p)

	tr.startPhase("slow")
	line.Delay(2 * time.Second)
	ctx, stop := context.WithCancel(t.Context())
	var more sync.WaitGroup
	impatient := apptest.NewClient(t, p.Contract, "")
	for range callers {
		more.Go(func() {
			for ctx.Err() == nil {
				path := tr.freshPath()
				start := time.Now()
				got, err := impatient.Call(context.WithoutCancel(ctx), http.MethodGet, path, "")
				tr.record("slow", "more reads", describe(got, err), time.Since(start))
			}
		})
	}
	most, looks := 0.0, 0
	for over := time.Now().Add(3 * time.Second); time.Now().Before(over); looks++ {
		most = max(most, apptest.ScrapeMetrics(t, p.Ops).Sum("portico_upstream_in_flight"))
	}
	during, _ := memoryUse(t, p)
	stop()
	tr.startPhase("well again")
	line.Reset()
	more.Wait()
	tr.writes.Unlock()
	full := apptest.ScrapeMetrics(t, p.Ops).Sum("portico_upstream_calls_total", `kind="refused_full"`)
	t.Logf("%d looks at the calls in flight: at most %.0f of %d; %.0f calls were refused for want of a place", looks, most, limit, full)
	if most != limit || full == 0 {
		t.Errorf("at most %.0f calls were in flight and %.0f refused, want %d and some", most, full, limit)
	}
	testenv.Await(t, "a cached reply", func() bool { f, of := tr.failed("well again", nil, healthy...); return f < of })
	tr.runPhase("back", 500*time.Millisecond)
	tr.end()
	tr.report()
	tr.require("slow", []string{cachedReads}, "200 HIT")
	tr.require("slow", nil, append(healthy, "503")...)
	tr.require("back", nil, healthy...)

	impatient.HTTP.CloseIdleConnections() // each has a goroutine in the program
	var goroutinesNow, heapNow float64
	if !testenv.Poll(t, func() bool {
		goroutinesNow, heapNow = memoryUse(t, p)
		return goroutinesNow <= goroutines && heapNow <= heap*1.1+1<<20
	}) {
		t.Error("goroutines or memory do not go back to what they were")
	}
	t.Logf("goroutines %.0f before, %.0f during, %.0f after; heap without the cache %.1f MiB before, %.1f MiB after",
		goroutines, during, goroutinesNow, heap/(1<<20), heapNow/(1<<20))
}

// memoryUse returns the number of goroutines of a program, and the bytes of its heap in
// use after a garbage collection, without the cache.
func memoryUse(t *testing.T, p *apptest.Process) (goroutines, heap float64) {
	t.Helper()
	// The heap profile shows the state after the last collection, so run one first.
	if got := apptest.Send(t, http.MethodGet, p.Ops+"/debug/pprof/heap?gc=1", ""); got.Status != http.StatusOK {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	now := apptest.ScrapeMetrics(t, p.Ops)
	return now.Sum("go_goroutines"), now.Sum("go_memstats_heap_alloc_bytes") - now.Sum("portico_cache_bytes")
}
