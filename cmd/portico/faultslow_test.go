//go:build linux

package main

import (
	"context"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/portico-commerce/portico/contracttests/nightly"
)

// TestSlowDatabase makes the database slow, two seconds a call, and calls the program
// as if it were not: no more calls are in flight than may be, what is kept is
// answered as ever, and afterwards the program is what it was.
func TestSlowDatabase(t *testing.T) {
	nightly.Only(t, "faults")
	t.Parallel() // much of it is waiting
	const limit, callers = 4, 24
	server, dsn := newDemoServer(t)
	line := newSlowLine(t, server.Address())
	p := start(t, []string{"PORTICO_SQL_DSN=" + through(dsn, server.Address(), line), "PORTICO_SQL_MEDIA_DIR=" + t.TempDir(), "PORTICO_LOG_LEVEL=error",
		"PORTICO_UPSTREAM_MAX_IN_FLIGHT=4", "PORTICO_UPSTREAM_MAX_WAIT=500ms", "PORTICO_OPS_PPROF=true"})
	tr := newTraffic(t, p.contract)
	tr.stay("before", 500*time.Millisecond)
	tr.writes.Lock() // which would end what is kept
	tr.warm(newClient(t, p.contract, ""))
	goroutines, heap := footprint(t, p)

	tr.enter("slow")
	line.delay(2 * time.Second)
	ctx, stop := context.WithCancel(t.Context())
	var more sync.WaitGroup
	impatient := newClient(t, p.contract, "")
	for range callers {
		more.Go(func() {
			for ctx.Err() == nil {
				path := tr.freshPath()
				start := time.Now()
				got, err := impatient.call(context.WithoutCancel(ctx), http.MethodGet, path, "")
				tr.note("slow", "more reads", describe(got, err), time.Since(start))
			}
		})
	}
	most, looks := 0.0, 0
	for over := time.Now().Add(3 * time.Second); time.Now().Before(over); looks++ {
		most = max(most, scrapeOf(t, p.ops).sum("portico_upstream_in_flight"))
	}
	during, _ := footprint(t, p)
	stop()
	tr.enter("well again")
	line.mend()
	more.Wait()
	tr.writes.Unlock()
	full := scrapeOf(t, p.ops).sum("portico_upstream_calls_total", `kind="refused_full"`)
	t.Logf("%d looks at the calls in flight: at most %.0f of %d; %.0f calls were refused for want of a place", looks, most, limit, full)
	if most != limit || full == 0 {
		t.Errorf("at most %.0f calls were in flight and %.0f refused, want %d and some", most, full, limit)
	}
	await(t, "a kept reply", func() bool { f, of := tr.failed("well again", nil, green...); return f < of })
	tr.stay("back", 500*time.Millisecond)
	tr.end()
	tr.report()
	tr.demand("slow", []string{keptReads}, "200 HIT")
	tr.demand("slow", nil, append(green, "503")...)
	tr.demand("back", nil, green...)

	impatient.http.CloseIdleConnections() // at the other end of each is a goroutine
	var goroutinesNow, heapNow float64
	for deadline := time.Now().Add(hang); ; time.Sleep(pollEvery) {
		goroutinesNow, heapNow = footprint(t, p)
		if goroutinesNow <= goroutines && heapNow <= heap*1.1+1<<20 {
			break
		}
		if time.Now().After(deadline) {
			t.Error("goroutines or memory do not go back to what they were")
			break
		}
	}
	t.Logf("goroutines %.0f before, %.0f during, %.0f after; heap without what is kept %.1f MiB before, %.1f MiB after",
		goroutines, during, goroutinesNow, heap/(1<<20), heapNow/(1<<20))
}

// footprint returns the goroutines of a program and the bytes of its heap that are in
// use after a collection, without what is kept for Guests.
func footprint(t *testing.T, p *process) (goroutines, heap float64) {
	t.Helper()
	// The profile is that of the last collection, which this asks for.
	response, err := http.Get(p.ops + "/debug/pprof/heap?gc=1")
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatal(response.Status, err)
	}
	now := scrapeOf(t, p.ops)
	return now.sum("go_goroutines"), now.sum("go_memstats_heap_alloc_bytes") - now.sum("portico_cache_bytes")
}
