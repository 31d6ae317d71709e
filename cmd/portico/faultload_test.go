//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// What a traffic calls.
const (
	keptReads  = "kept reads"  // of Guests, asked before
	freshReads = "fresh reads" // of Guests, never asked before
	adminReads = "admin reads"
	adminPrice = "price writes"
	adminStock = "stock writes"
)

// keptPaths are the reads of a Guest that are asked again and again.
var keptPaths = []string{"/products/1", "/products/2", "/products/kettle-copper", "/products/mug-catalog", "/products?limit=5",
	"/products?page=2&limit=3", "/products/category/4", "/products/1/images", "/products?filter[1][attribute]=name&filter[1][like]=%25lamp%25"}

// unavailable is what clients are told of an upstream that cannot answer.
const unavailable = `{"messages":{"error":[{"code":503,"message":"Resource internal error."}]}}`

// An outcome is what came of one call of a traffic: "200 HIT", with what X-Cache says,
// "200", or "503", if the call is answered as the contract asks for.
type outcome struct{ phase, kind, what string }

// A traffic is a steady load on a program of all kinds of calls, which are counted by
// what comes of them.
type traffic struct {
	t       testing.TB
	stop    context.CancelFunc
	callers sync.WaitGroup
	fresh   atomic.Int64
	// writes is held by whoever writes, and by who wants no write to be under way.
	writes sync.RWMutex

	mu     sync.Mutex
	phase  string
	counts map[outcome]int
	took   map[[2]string][]time.Duration // by phase and kind
}

// pace is the pause of each caller between two calls: what a program does under
// load is seen without wearing out the machine.
const pace = 4 * time.Millisecond

// newTraffic begins to call the program with a base URL: two callers of kept reads
// and one of each other kind.
func newTraffic(t testing.TB, base string) *traffic {
	t.Helper()
	tr := &traffic{t: t, counts: map[outcome]int{}, took: map[[2]string][]time.Duration{}, phase: "before"}
	ctx, stop := context.WithCancel(t.Context())
	tr.stop = stop
	guest, admin := newClient(t, base, ""), newClient(t, base, demoAdmin())
	kept := func(n int) (string, string, string) { return http.MethodGet, keptPaths[n%len(keptPaths)], "" }
	tr.run(ctx, guest, keptReads, kept)
	tr.run(ctx, guest, keptReads, func(n int) (string, string, string) { return kept(n + len(keptPaths)/2) })
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

// freshPath returns a read of a Guest that nobody has asked before.
func (tr *traffic) freshPath() string {
	return fmt.Sprintf("/products?limit=3&filter[1][attribute]=name&filter[1][neq]=%d", tr.fresh.Add(1))
}

// end ends the load and waits until nothing is under way.
func (tr *traffic) end() {
	tr.stop()
	tr.callers.Wait()
}

// run lets one caller make one call after the other.
func (tr *traffic) run(ctx context.Context, as *client, kind string, next func(n int) (method, path, body string)) {
	tr.callers.Go(func() {
		tick := time.NewTicker(pace)
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
			phase, start := tr.now(), time.Now()
			// The end of the load breaks no call off.
			got, err := as.call(context.WithoutCancel(ctx), method, path, body)
			tr.note(phase, kind, describe(got, err), time.Since(start))
			if method == http.MethodPut {
				tr.writes.RUnlock()
			}
		}
	})
}

// describe says what an answer is.
func describe(got reply, err error) string {
	switch {
	case err != nil:
		return "no answer: " + err.Error()
	case got.status == http.StatusOK && (got.body == "" || json.Valid([]byte(got.body))):
		return strings.TrimSpace("200 " + got.header.Get("X-Cache"))
	case got.status == http.StatusServiceUnavailable && got.body == unavailable && got.header.Get("Retry-After") != "":
		return "503"
	default:
		return fmt.Sprintf("wrong: %d, Retry-After %q, %.200s", got.status, got.header.Get("Retry-After"), got.body)
	}
}

func (tr *traffic) now() (phase string) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.phase
}

// betweenPhases stands between the names of two phases.
const betweenPhases = " to "

// note counts an answer. One that was asked for in another phase than it came in
// counts as between the two.
func (tr *traffic) note(phase, kind, what string, took time.Duration) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if phase != tr.phase {
		phase += betweenPhases + tr.phase
	}
	tr.counts[outcome{phase, kind, what}]++
	of := [2]string{phase, kind}
	tr.took[of] = append(tr.took[of], took)
}

// enter begins a phase.
func (tr *traffic) enter(phase string) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.phase = phase
}

// stay begins a phase and returns when so much time is over and every kind of call
// was answered in it.
func (tr *traffic) stay(phase string, d time.Duration) {
	tr.t.Helper()
	tr.enter(phase)
	<-time.After(d)
	await(tr.t, "an answer of each kind", func() bool { return len(tr.kinds(phase)) == 5 })
}

// kinds returns the number of answers of a phase by kind.
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

// failed returns how many calls of some kinds, or of all, were made in a phase, or at
// any time, and how many of them had another answer than one of those that are fine.
func (tr *traffic) failed(phase string, kinds []string, fine ...string) (failed, of int) {
	tr.t.Helper()
	tr.mu.Lock()
	defer tr.mu.Unlock()
	for a, n := range tr.counts {
		if phase != "" && a.phase != phase || kinds != nil && !slices.Contains(kinds, a.kind) {
			continue
		}
		of += n
		if !slices.Contains(fine, a.what) {
			failed += n
			tr.t.Logf("%s, %s: %d times %s", a.phase, a.kind, n, a.what)
		}
	}
	return failed, of
}

// demand fails the test unless calls were made and all of them had an answer that
// is fine.
func (tr *traffic) demand(phase string, kinds []string, fine ...string) {
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

// green are the answers of a program that is well, from wherever it has them.
var green = []string{"200", "200 HIT", "200 MISS"}

// report logs counts and latencies.
func (tr *traffic) report() {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	for _, of := range slices.SortedFunc(maps.Keys(tr.took), func(a, b [2]string) int { return strings.Compare(a[0]+a[1], b[0]+b[1]) }) {
		if strings.Contains(of[0], betweenPhases) {
			continue // a few calls, which are counted all the same
		}
		took := slices.Sorted(slices.Values(tr.took[of]))
		whats := map[string]int{}
		for a, n := range tr.counts {
			if a.phase == of[0] && a.kind == of[1] {
				whats[a.what[:min(len(a.what), 30)]] = n
			}
		}
		tr.t.Logf("%-22s %-12s %5d calls, median %8s, p99 %8s, longest %8s %v", of[0], of[1], len(took),
			took[len(took)/2].Round(10*time.Microsecond), took[len(took)*99/100].Round(10*time.Microsecond), took[len(took)-1].Round(10*time.Microsecond), whats)
	}
}

// warm asks all kept reads until each is answered from what is kept, which no write
// may end meanwhile.
func (tr *traffic) warm(guest *client) {
	tr.t.Helper()
	for _, path := range keptPaths {
		await(tr.t, "a kept reply to "+path, func() bool { return guest.get(tr.t, path).header.Get("X-Cache") == "HIT" })
	}
}
