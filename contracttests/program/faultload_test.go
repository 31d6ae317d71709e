//go:build linux

package program

import (
	"context"
	"encoding/json"
	"fmt"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// The kinds of calls of a traffic.
const (
	cachedReads = "cached reads" // of Guests, of cachedPaths
	freshReads  = "fresh reads"  // of Guests, never asked before
	adminReads  = "admin reads"
	adminPrice  = "price writes"
	adminStock  = "stock writes"
)

// cachedPaths are the reads of a Guest that are repeated, so that the cache can answer
// them.
var cachedPaths = []string{"/products/1", "/products/2", "/products/kettle-copper", "/products/mug-catalog", "/products?limit=5",
	"/products?page=2&limit=3", "/products/category/4", "/products/1/images", "/products?filter[1][attribute]=name&filter[1][like]=%25lamp%25"}

// unavailable is the body of a refusal because the upstream cannot answer.
const unavailable = `{"messages":{"error":[{"code":503,"message":"Resource internal error."}]}}`

// An outcome classifies the reply to one call: "200 HIT" with the value of X-Cache, "200"
// without, "503" for a correct refusal, or a description of the fault.
type outcome struct{ phase, kind, result string }

// A traffic is a steady load of all kinds of calls on a program. It counts outcomes.
type traffic struct {
	t          testing.TB
	stop       context.CancelFunc
	callers    sync.WaitGroup
	freshCount atomic.Int64
	// writes is read-locked during each write. Lock it to keep writes from running.
	writes sync.RWMutex

	mu        sync.Mutex
	phase     string
	counts    map[outcome]int
	durations map[[2]string][]time.Duration // by phase and kind
}

// callInterval is the pause of each caller between two calls. It is long enough not to
// saturate the machine.
const callInterval = 4 * time.Millisecond

// newTraffic starts the load on the program at base: two callers of cached reads, and one
// of each other kind.
func newTraffic(t testing.TB, base string) *traffic {
	t.Helper()
	tr := &traffic{t: t, counts: map[outcome]int{}, durations: map[[2]string][]time.Duration{}, phase: "before"}
	ctx, stop := context.WithCancel(t.Context())
	tr.stop = stop
	guest, admin := apptest.NewClient(t, base, ""), apptest.NewClient(t, base, apptest.DemoAdmin())
	nextCached := func(n int) (string, string, string) { return http.MethodGet, cachedPaths[n%len(cachedPaths)], "" }
	tr.run(ctx, guest, cachedReads, nextCached)
	tr.run(ctx, guest, cachedReads, func(n int) (string, string, string) { return nextCached(n + len(cachedPaths)/2) })
	tr.run(ctx, guest, freshReads, func(int) (string, string, string) { return http.MethodGet, tr.freshPath(), "" })
	tr.run(ctx, admin, adminReads, func(n int) (string, string, string) {
		return http.MethodGet, []string{"/products/3", "/stockitems/1", "/products?limit=2", "/customers/1"}[n%4], ""
	})
	tr.run(ctx, admin, adminPrice, func(n int) (string, string, string) {
		return http.MethodPut, "/products/3", fmt.Sprintf(`{"price":%d}`, 1+n%1000)
	})
	tr.run(ctx, admin, adminStock, func(n int) (string, string, string) {
		return http.MethodPut, "/stockitems/4", fmt.Sprintf(`{"qty":%d}`, 1+n%1000)
	})
	t.Cleanup(tr.end)
	return tr
}

// freshPath returns a path that no Guest has read before.
func (tr *traffic) freshPath() string {
	return fmt.Sprintf("/products?limit=3&filter[1][attribute]=name&filter[1][neq]=%d", tr.freshCount.Add(1))
}

// end stops the load and waits for the calls in flight.
func (tr *traffic) end() {
	tr.stop()
	tr.callers.Wait()
}

// run starts a caller that makes the calls that next returns, one after the other.
func (tr *traffic) run(ctx context.Context, as *apptest.Client, kind string, next func(n int) (method, path, body string)) {
	tr.callers.Go(func() {
		tick := time.NewTicker(callInterval)
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			method, path, body := next(n)
			if method == http.MethodPut {
				tr.writes.RLock()
			}
			phase, start := tr.currentPhase(), time.Now()
			// The end of the load must not cancel calls in flight.
			got, err := as.Call(context.WithoutCancel(ctx), method, path, body)
			tr.record(phase, kind, describe(got, err), time.Since(start))
			if method == http.MethodPut {
				tr.writes.RUnlock()
			}
		}
	})
}

// describe returns the result of a call, as in outcome.
func describe(got apptest.Reply, err error) string {
	switch {
	case err != nil:
		return "no answer: " + err.Error()
	case got.Status == http.StatusOK && (got.Body == "" || json.Valid([]byte(got.Body))):
		return strings.TrimSpace("200 " + got.Header.Get("X-Cache"))
	case got.Status == http.StatusServiceUnavailable && got.Body == unavailable && got.Header.Get("Retry-After") != "":
		return "503"
	default:
		return fmt.Sprintf("wrong: %d, Retry-After %q, %.200s", got.Status, got.Header.Get("Retry-After"), got.Body)
	}
}

// currentPhase returns the name of the current phase.
func (tr *traffic) currentPhase() (phase string) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.phase
}

// phaseSeparator separates the two phases in the name under which calls are counted that
// began in one phase and ended in the next.
const phaseSeparator = " to "

// record counts a call that began in phase.
func (tr *traffic) record(phase, kind, what string, took time.Duration) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if phase != tr.phase {
		phase += phaseSeparator + tr.phase
	}
	tr.counts[outcome{phase, kind, what}]++
	of := [2]string{phase, kind}
	tr.durations[of] = append(tr.durations[of], took)
}

// startPhase starts a phase.
func (tr *traffic) startPhase(phase string) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.phase = phase
}

// runPhase starts a phase, and returns after the duration d and at least one reply of each
// kind.
func (tr *traffic) runPhase(phase string, d time.Duration) {
	tr.t.Helper()
	tr.startPhase(phase)
	<-time.After(d)
	testenv.Await(tr.t, "an answer of each kind", func() bool { return len(tr.kinds(phase)) == 5 })
}

// kinds returns the number of replies in a phase by kind.
func (tr *traffic) kinds(phase string) map[string]int {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	found := map[string]int{}
	for a, n := range tr.counts {
		if a.phase == phase {
			found[a.kind] += n
		}
	}
	return found
}

// failed returns how many calls of the given kinds were made in a phase, and how many had
// a result that is not in fine. An empty phase means all phases, nil kinds mean all kinds.
func (tr *traffic) failed(phase string, kinds []string, fine ...string) (failed, of int) {
	tr.t.Helper()
	tr.mu.Lock()
	defer tr.mu.Unlock()
	for a, n := range tr.counts {
		if phase != "" && a.phase != phase || kinds != nil && !slices.Contains(kinds, a.kind) {
			continue
		}
		of += n
		if !slices.Contains(fine, a.result) {
			failed += n
			tr.t.Logf("%s, %s: %d times %s", a.phase, a.kind, n, a.result)
		}
	}
	return failed, of
}

// require fails the test unless calls were made and all had one of the results in fine.
func (tr *traffic) require(phase string, kinds []string, fine ...string) {
	tr.t.Helper()
	failed, of := tr.failed(phase, kinds, fine...)
	if phase == "" {
		phase = "at any time"
	}
	name := "calls of all kinds"
	if kinds != nil {
		name = strings.Join(kinds, ", ")
	}
	said := fmt.Sprintf("%s: of %d %s %d had another answer than %s", phase, of, name, failed, strings.Join(fine, " or "))
	if failed > 0 || of == 0 {
		tr.t.Error(said)
		return
	}
	tr.t.Log(said)
}

// healthy are the results of a program without faults.
var healthy = []string{"200", "200 HIT", "200 MISS"}

// report logs counts and latencies by phase and kind.
func (tr *traffic) report() {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	for _, of := range slices.SortedFunc(maps.Keys(tr.durations), func(a, b [2]string) int { return strings.Compare(a[0]+a[1], b[0]+b[1]) }) {
		if strings.Contains(of[0], phaseSeparator) {
			continue // too few calls for statistics
		}
		took := slices.Sorted(slices.Values(tr.durations[of]))
		whats := map[string]int{}
		for a, n := range tr.counts {
			if a.phase == of[0] && a.kind == of[1] {
				whats[a.result[:min(len(a.result), 30)]] = n
			}
		}
		tr.t.Logf("%-22s %-12s %5d calls, median %8s, p99 %8s, longest %8s %v", of[0], of[1], len(took),
			took[len(took)/2].Round(10*time.Microsecond), took[len(took)*99/100].Round(10*time.Microsecond), took[len(took)-1].Round(10*time.Microsecond), whats)
	}
}

// warmCache reads all cachedPaths until each reply comes from the cache. No write may run
// meanwhile, because it would invalidate replies.
func (tr *traffic) warmCache(guest *apptest.Client) {
	tr.t.Helper()
	for _, path := range cachedPaths {
		testenv.Await(tr.t, "a cached reply to "+path, func() bool { return guest.Get(tr.t, path).Header.Get("X-Cache") == "HIT" })
	}
}
