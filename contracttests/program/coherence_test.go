//go:build linux

package program

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

	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
)

// A history records which prices of some products were written, and checks the prices that
// Guests read. Each write sets a higher price than the last, so a read is stale if it
// shows a lower price than was acknowledged before the read began.
type history struct {
	t        testing.TB
	products []*pricedProduct
	reads    atomic.Int64
	stale    [2]atomic.Int64 // by replica: stale reads that began in this era
	era      atomic.Int64
	logged   atomic.Int64 // number of logged stale reads
}

// A pricedProduct is a product of a history.
type pricedProduct struct {
	id, sku string
	writing sync.Mutex
	sent    atomic.Int64 // the price that was sent last
	saved   atomic.Int64 // the price that was acknowledged last
}

// newHistory returns a history of products whose displayed price depends on nothing but
// their price.
func newHistory(t testing.TB) *history {
	return &history{t: t, products: []*pricedProduct{{id: "1", sku: "kettle-steel"}, {id: "3", sku: "lamp-desk"}, {id: "9", sku: "mug-free-tax"}}}
}

// write sets the next price of a product as admin, and waits for the acknowledgment.
func (h *history) write(admin *apptest.Client, p *pricedProduct) {
	p.writing.Lock()
	defer p.writing.Unlock()
	next := p.sent.Add(1)
	got, err := admin.Call(h.t.Context(), http.MethodPut, "/products/"+p.id, fmt.Sprintf(`{"price":%d}`, next))
	if err != nil || got.Status != http.StatusOK {
		h.t.Errorf("price %d of product %s: %d %s %v", next, p.id, got.Status, got.Body, err)
		return
	}
	p.saved.Store(next)
}

// A readPath is a path under which Guests read products of a history.
type readPath struct {
	path string
	list bool
	of   []*pricedProduct
}

// readPaths returns the paths of all products: by id, by SKU and in two lists.
func (h *history) readPaths() (all []readPath) {
	for _, p := range h.products {
		all = append(all, readPath{"/products/" + p.id, false, []*pricedProduct{p}}, readPath{"/products/" + p.sku, false, []*pricedProduct{p}})
	}
	return append(all, readPath{"/products", true, h.products}, readPath{"/products?order=name&dir=desc&limit=20", true, h.products})
}

// read reads a path at a replica and counts stale prices. ok is false if the reply is
// unusable, which fails the test.
func (h *history) read(guest *apptest.Client, replica int, at readPath) (ok bool) {
	era, least := h.era.Load(), make([]int64, len(at.of))
	for i, p := range at.of {
		least[i] = p.saved.Load()
	}
	got, err := guest.Call(h.t.Context(), http.MethodGet, at.path, "")
	if err != nil || got.Status != http.StatusOK {
		h.t.Errorf("%s: %d %s %v", at.path, got.Status, got.Body, err)
		return false
	}
	h.reads.Add(1)
	type product struct {
		Price float64 `json:"regular_price_without_tax"`
	}
	shown := map[string]product{}
	if at.list {
		err = json.Unmarshal([]byte(got.Body), &shown)
	} else {
		var one product
		err = json.Unmarshal([]byte(got.Body), &one)
		shown[at.of[0].id] = one
	}
	if err != nil {
		h.t.Errorf("%s: %v in %s", at.path, err, got.Body)
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
			if h.logged.Add(1) <= 5 {
				h.t.Logf("%s at replica %d: price %d of product %s after %d was acknowledged, X-Cache %s", at.path, replica, price, p.id, least[i], got.Header.Get("X-Cache"))
			}
		}
	}
	return true
}

// readAll reads all paths at both replicas, with two Guests each, until ctx ends.
func (h *history) readAll(ctx context.Context, guests [2]*apptest.Client) *sync.WaitGroup {
	var readers sync.WaitGroup
	places := h.readPaths()
	for replica, guest := range guests {
		for reader := range 2 {
			readers.Go(func() {
				tick := pace()
				for n := reader * len(places) / 2; ctx.Err() == nil && h.read(guest, replica, places[n%len(places)]); n++ {
					<-tick
				}
			})
		}
	}
	return &readers
}

// startEra starts a new era, and returns the number of stale reads of the last one, by
// replica.
func (h *history) startEra() (stale [2]int64) {
	h.era.Add(1)
	return [2]int64{h.stale[0].Swap(0), h.stale[1].Swap(0)}
}

// A replicaPair is two running replicas that share a database and Redis.
type replicaPair struct {
	processes     [2]*apptest.Process
	guests, admin [2]*apptest.Client
}

// newReplicaPair starts two replicas with additional environment. The first one reaches
// Redis at the URL firstRedis.
func newReplicaPair(t testing.TB, dsn, firstRedis, redis string, environ ...string) *replicaPair {
	t.Helper()
	var both replicaPair
	media := t.TempDir()
	for i, url := range []string{firstRedis, redis} {
		both.processes[i] = apptest.Start(t, append([]string{"PORTICO_SQL_DSN=" + dsn, "PORTICO_SQL_MEDIA_DIR=" + media, "PORTICO_LOG_LEVEL=error",
			"PORTICO_CACHE_REDIS_URL=" + url}, environ...))
		both.guests[i], both.admin[i] = apptest.NewClient(t, both.processes[i].Contract, ""), apptest.NewClient(t, both.processes[i].Contract, apptest.DemoAdmin())
	}
	return &both
}

// TestReadsAfterWrites checks that no Guest reads an older price than was acknowledged
// before, at two replicas that share Redis. With cache.memory_ttl this holds for the
// replica that wrote; the other one must show the new price eventually.
func TestReadsAfterWrites(t *testing.T) {
	testenv.OnlyNightly(t, "faults")
	t.Parallel() // others mostly wait
	reads := int64(10_000)
	if !testenv.Nightly() {
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
			dsn := demotest.Postgres(t)
			redis := apptest.NewRedis(t)
			both := newReplicaPair(t, dsn, redis.URL(), redis.URL(), "PORTICO_CACHE_MEMORY_TTL="+tt.memoryTTL,
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
						select { // let each price be read a few times
						case <-time.After(50 * time.Millisecond):
						case <-ctx.Done():
						}
					}
				})
			}
			testenv.Await(t, "so many reads", func() bool { return h.reads.Load() >= reads })
			stop()
			readers.Wait()
			writers.Wait()
			for _, p := range h.products {
				writes += int(p.saved.Load())
			}
			stale := h.startEra()
			var hits float64
			for _, p := range both.processes {
				s := apptest.ScrapeMetrics(t, p.Ops)
				hits += s.Sum("portico_cache_lookups_total", `outcome="hit"`)
			}
			t.Logf("%d reads during %d writes, %.0f of them cache hits; stale: %d at the first replica, %d at the second",
				h.reads.Load(), writes, hits, stale[0], stale[1])
			for replica, strict := range tt.strict {
				if strict && stale[replica] > 0 {
					t.Errorf("%d reads of replica %d showed an older price than was acknowledged", stale[replica], replica)
				}
			}
			if hits == 0 {
				t.Error("no read was a cache hit")
			}
			// A replica that learned of the last writes late must show them eventually.
			for _, at := range h.readPaths() {
				testenv.Await(t, "the last price at the other replica", func() bool {
					h.startEra()
					h.read(both.guests[1], 1, at)
					return h.startEra() == [2]int64{}
				})
			}
		})
	}
}

// TestWriteWhileRedisIsAway writes while Redis is unreachable, and then lets Redis return
// with its old data. The replica that wrote must never show the old price. The other one
// may show it only while its memory entries are valid or to a read that joined an earlier
// fill, and never after that.
func TestWriteWhileRedisIsAway(t *testing.T) {
	t.Parallel() // much of it is waiting
	for _, memoryTTL := range []time.Duration{0, time.Second} {
		if memoryTTL > 0 && !testenv.Nightly() {
			continue
		}
		t.Run("memory "+memoryTTL.String(), func(t *testing.T) {
			dsn := demotest.Postgres(t)
			redis := apptest.NewRedis(t)
			both := newReplicaPair(t, dsn, redis.URL(), redis.URL(), "PORTICO_CACHE_MEMORY_TTL="+memoryTTL.String())
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
				{"killed", redis.Kill, redis.Start},
				{"paused", redis.Pause, redis.Resume},
			} {
				if writer > 0 && !testenv.Nightly() {
					continue
				}
				cached := func() bool { // by both replicas
					return !slices.ContainsFunc(both.guests[:], func(guest *apptest.Client) bool {
						return slices.ContainsFunc(h.readPaths(), func(at readPath) bool { return guest.Get(t, at.path).Header.Get("X-Cache") != "HIT" })
					})
				}
				breakers := func(state float64) func() bool {
					return func() bool {
						return !slices.ContainsFunc(both.processes[:], func(p *apptest.Process) bool {
							return apptest.ScrapeMetrics(t, p.Ops).Sum("portico_breaker_state", `breaker="redis"`) != state
						})
					}
				}
				testenv.Await(t, "replies to be cached", cached)
				ctx, stop := context.WithCancel(t.Context())
				readers := h.readAll(ctx, both.guests)
				fault.begin()
				write(writer)
				testenv.Await(t, "both breakers to open", breakers(2))
				write(writer)

				<-time.After(memoryTTL)
				for range 2 { // a second read cannot join an earlier fill
					for _, at := range h.readPaths() {
						h.read(both.guests[1-writer], 1-writer, at)
					}
				}
				stale, before := h.startEra(), h.reads.Load()
				t.Logf("%s: while Redis was away %d reads of the writer and %d of the other replica showed an old price", fault.name, stale[writer], stale[1-writer])
				if stale[writer] > 0 {
					t.Errorf("%s: %d reads of the writer showed an older price than was acknowledged", fault.name, stale[writer])
				}
				fault.end()
				testenv.Await(t, "both breakers to close", breakers(0))
				testenv.Await(t, "replies to be cached again", cached)
				stop()
				readers.Wait()
				stale = h.startEra()
				t.Logf("%s: of %d reads since Redis came back %v showed an old price", fault.name, h.reads.Load()-before, stale)
				if stale != [2]int64{} {
					t.Errorf("%s: %v reads showed an older price than was acknowledged", fault.name, stale)
				}
			}
		})
	}
}
