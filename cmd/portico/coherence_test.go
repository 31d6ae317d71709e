//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/contracttests/nightly"
)

// A history is what is written to the prices of some products and what Guests then
// see of them. Each write of a product sets a greater price than the last, so that a
// read that shows a lower one than was acknowledged before it began is one of old.
type history struct {
	t        testing.TB
	products []*priced
	reads    atomic.Int64
	stale    [2]atomic.Int64 // by replica, of the reads that began in this era
	era      atomic.Int64
	shown    atomic.Int64 // complaints
}

// A priced is a product of a history.
type priced struct {
	id, sku string
	writing sync.Mutex
	sent    atomic.Int64 // the price that was sent last
	saved   atomic.Int64 // the one that was acknowledged last
}

// newHistory is of products whose price nothing but itself decides.
func newHistory(t testing.TB) *history {
	return &history{t: t, products: []*priced{{id: "1", sku: "kettle-steel"}, {id: "3", sku: "lamp-desk"}, {id: "9", sku: "mug-free-tax"}}}
}

// write sets the next price of a product as admin, and returns once that is
// acknowledged.
func (h *history) write(admin *client, p *priced) {
	p.writing.Lock()
	defer p.writing.Unlock()
	next := p.sent.Add(1)
	got, err := admin.call(h.t.Context(), http.MethodPut, "/products/"+p.id, fmt.Sprintf(`{"price":%d}`, next))
	if err != nil || got.status != http.StatusOK {
		h.t.Errorf("price %d of product %s: %d %s %v", next, p.id, got.status, got.body, err)
		return
	}
	p.saved.Store(next)
}

// A place is where a Guest finds products of a history: by what path, and which.
type place struct {
	path string
	list bool
	of   []*priced
}

// places are all of a history's: by number, by SKU and in two lists.
func (h *history) places() (all []place) {
	for _, p := range h.products {
		all = append(all, place{"/products/" + p.id, false, []*priced{p}}, place{"/products/" + p.sku, false, []*priced{p}})
	}
	return append(all, place{"/products", true, h.products}, place{"/products?order=name&dir=desc&limit=20", true, h.products})
}

// read looks at a place and counts what is older there, for a replica, than what was
// acknowledged before. ok is false where there was no answer of worth.
func (h *history) read(guest *client, replica int, at place) (ok bool) {
	era, least := h.era.Load(), make([]int64, len(at.of))
	for i, p := range at.of {
		least[i] = p.saved.Load()
	}
	got, err := guest.call(h.t.Context(), http.MethodGet, at.path, "")
	if err != nil || got.status != http.StatusOK {
		h.t.Errorf("%s: %d %s %v", at.path, got.status, got.body, err)
		return false
	}
	h.reads.Add(1)
	type product struct {
		Price float64 `json:"regular_price_without_tax"`
	}
	shown := map[string]product{}
	if at.list {
		err = json.Unmarshal([]byte(got.body), &shown)
	} else {
		var one product
		err = json.Unmarshal([]byte(got.body), &one)
		shown[at.of[0].id] = one
	}
	if err != nil {
		h.t.Errorf("%s: %v in %s", at.path, err, got.body)
		return false
	}
	for i, p := range at.of {
		price := int64(shown[p.id].Price)
		if price > p.sent.Load() || price == 0 {
			h.t.Errorf("%s: price %d, which was not sent", at.path, price)
			return false
		}
		if price < least[i] && era == h.era.Load() {
			h.stale[replica].Add(1)
			if h.shown.Add(1) <= 5 {
				h.t.Logf("%s at replica %d: price %d of product %s after %d was acknowledged, X-Cache %s", at.path, replica, price, p.id, least[i], got.header.Get("X-Cache"))
			}
		}
	}
	return true
}

// readAll reads every place at both replicas, by two Guests each, until ctx ends.
func (h *history) readAll(ctx context.Context, guests [2]*client) *sync.WaitGroup {
	var readers sync.WaitGroup
	places := h.places()
	for replica, guest := range guests {
		for reader := range 2 {
			readers.Go(func() {
				for n := reader * len(places) / 2; ctx.Err() == nil && h.read(guest, replica, places[n%len(places)]); n++ {
				}
			})
		}
	}
	return &readers
}

// forgive begins another era, and returns how often what was shown in the last one
// was old.
func (h *history) forgive() (stale [2]int64) {
	h.era.Add(1)
	return [2]int64{h.stale[0].Swap(0), h.stale[1].Swap(0)}
}

// A pair is two replicas of a program that share a database and Redis.
type pair struct {
	processes     [2]*process
	guests, admin [2]*client
}

// newPair starts two replicas with more environment, the first one of which may reach
// Redis by an address of its own.
func newPair(t testing.TB, dsn, firstRedis, redis string, environ ...string) *pair {
	t.Helper()
	var both pair
	media := t.TempDir()
	for i, url := range []string{firstRedis, redis} {
		both.processes[i] = start(t, append([]string{"PORTICO_SQL_DSN=" + dsn, "PORTICO_SQL_MEDIA_DIR=" + media, "PORTICO_LOG_LEVEL=error",
			"PORTICO_CACHE_REDIS_URL=" + url}, environ...))
		both.guests[i], both.admin[i] = newClient(t, both.processes[i].contract, ""), newClient(t, both.processes[i].contract, demoAdmin())
	}
	return &both
}

// TestReadsAfterWrites writes prices while many Guests read them at two replicas that
// share Redis: nobody is shown an older price than was acknowledged before; with
// cache.memory_ttl that holds for the replica that wrote, and for the other as soon
// as its memory is told.
func TestReadsAfterWrites(t *testing.T) {
	nightly.Only(t, "faults")
	t.Parallel() // others mostly wait
	reads := int64(10_000)
	if !nightly.Whole() {
		reads = 2_000
	}
	for _, tt := range []struct {
		name, memoryTTL string
		writers         []int
		strict          [2]bool
	}{
		{"without memory", "0s", []int{0, 1}, [2]bool{true, true}},
		{"with memory", "1s", []int{0}, [2]bool{true, false}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dsn := sqltest.Postgres(t)
			loadDemo(t, dsn)
			redis := newRedis(t)
			both := newPair(t, dsn, redis.url(), redis.url(), "PORTICO_CACHE_MEMORY_TTL="+tt.memoryTTL,
				"PORTICO_CACHE_TIMEOUT=5s") // Redis is there, however busy the machine
			h := newHistory(t)
			for _, p := range h.products {
				h.write(both.admin[0], p)
			}
			ctx, stop := context.WithCancel(t.Context())
			readers := h.readAll(ctx, both.guests)
			var writers sync.WaitGroup
			writes := 0
			for _, p := range h.products {
				writers.Go(func() {
					for n := 0; ctx.Err() == nil; n++ {
						h.write(both.admin[tt.writers[n%len(tt.writers)]], p)
						select { // what was written is read a few times
						case <-time.After(50 * time.Millisecond):
						case <-ctx.Done():
						}
					}
				})
			}
			await(t, "so many reads", func() bool { return h.reads.Load() >= reads })
			stop()
			readers.Wait()
			writers.Wait()
			for _, p := range h.products {
				writes += int(p.saved.Load())
			}
			stale := h.forgive()
			var hits float64
			for _, p := range both.processes {
				s := scrapeOf(t, p.ops)
				hits += s.sum("portico_cache_lookups_total", `outcome="hit"`)
			}
			t.Logf("%d reads during %d writes, %.0f of them from what was kept: older than acknowledged were %d at the first replica, %d at the second",
				h.reads.Load(), writes, hits, stale[0], stale[1])
			for replica, strict := range tt.strict {
				if strict && stale[replica] > 0 {
					t.Errorf("%d reads of replica %d showed an older price than was acknowledged", stale[replica], replica)
				}
			}
			if hits == 0 {
				t.Error("nothing was kept")
			}
			// Whoever was told late knows by now, or will.
			for _, at := range h.places() {
				await(t, "the last price at the other replica", func() bool {
					h.forgive()
					h.read(both.guests[1], 1, at)
					return h.forgive() == [2]int64{}
				})
			}
		})
	}
}

// TestWriteWhileRedisIsAway writes while Redis is away, which then comes back with
// what it had. The replica that wrote never shows the old price; the other one, which
// cannot be told, shows it at most to those who ask while its memory may answer or
// who join a fill that was under way, and nobody shows it again afterwards.
func TestWriteWhileRedisIsAway(t *testing.T) {
	t.Parallel() // much of it is waiting
	for _, memoryTTL := range []time.Duration{0, time.Second} {
		if memoryTTL > 0 && !nightly.Whole() {
			continue
		}
		t.Run("memory "+memoryTTL.String(), func(t *testing.T) {
			dsn := sqltest.Postgres(t)
			loadDemo(t, dsn)
			redis := newRedis(t)
			both := newPair(t, dsn, redis.url(), redis.url(), "PORTICO_CACHE_MEMORY_TTL="+memoryTTL.String())
			h := newHistory(t)
			write := func(replica int) {
				for _, p := range h.products {
					h.write(both.admin[replica], p)
				}
			}
			write(0)
			for writer, fault := range []struct {
				name       string
				begin, end func()
			}{
				{"killed", redis.kill, redis.start},
				{"paused", redis.pause, redis.resume},
			} {
				if writer > 0 && !nightly.Whole() {
					continue
				}
				kept := func() bool { // by both replicas
					return !slices.ContainsFunc(both.guests[:], func(guest *client) bool {
						return slices.ContainsFunc(h.places(), func(at place) bool { return guest.get(t, at.path).header.Get("X-Cache") != "HIT" })
					})
				}
				breakers := func(state float64) func() bool {
					return func() bool {
						return !slices.ContainsFunc(both.processes[:], func(p *process) bool {
							return scrapeOf(t, p.ops).sum("portico_breaker_state", `breaker="redis"`) != state
						})
					}
				}
				await(t, "replies to be kept", kept)
				ctx, stop := context.WithCancel(t.Context())
				readers := h.readAll(ctx, both.guests)
				fault.begin()
				write(writer)
				await(t, "both breakers to open", breakers(2))
				write(writer)

				<-time.After(memoryTTL)
				for range 2 { // who reads a second time joins no fill of before
					for _, at := range h.places() {
						h.read(both.guests[1-writer], 1-writer, at)
					}
				}
				stale, before := h.forgive(), h.reads.Load()
				t.Logf("%s: while Redis was away %d reads of the writer and %d of the other replica showed an old price", fault.name, stale[writer], stale[1-writer])
				if stale[writer] > 0 {
					t.Errorf("%s: %d reads of the writer showed an older price than was acknowledged", fault.name, stale[writer])
				}
				fault.end()
				await(t, "both breakers to close", breakers(0))
				await(t, "replies to be kept again", kept)
				stop()
				readers.Wait()
				stale = h.forgive()
				t.Logf("%s: of %d reads since Redis came back %v showed an old price", fault.name, h.reads.Load()-before, stale)
				if stale != [2]int64{} {
					t.Errorf("%s: %v reads showed an older price than was acknowledged", fault.name, stale)
				}
			}
		})
	}
}
