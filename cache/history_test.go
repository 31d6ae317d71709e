package cache_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/portico-commerce/portico/cache"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
)

// An upstream holds a version number for each of a few products.
type upstream struct {
	mu       sync.Mutex
	versions [5]int
}

// read returns a consistent snapshot of all versions.
func (u *upstream) read() [5]int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.versions
}

func (u *upstream) commit(product int) (version int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.versions[product]++
	return u.versions[product]
}

// A query asks for some products and has tags.
type query struct {
	name     string
	products []int
	tags     []string
}

// queries returns a query for each product by id and by SKU, and one for the list of all
// products.
func queries(u *upstream) []query {
	all := []query{{"list", nil, []string{"catalog"}}}
	for i := range u.versions {
		id := strconv.Itoa(i)
		all[0].products = append(all[0].products, i)
		all = append(all, query{"product:" + id, []int{i}, []string{"product:" + id}}, query{"sku:" + id, []int{i}, []string{"catalog"}})
	}
	return all
}

// TestHistory reads and writes through replicas concurrently. It checks that a read that
// began after a write was acknowledged returns nothing older: on all replicas if memory
// always asks Redis, otherwise on the replica that wrote.
func TestHistory(t *testing.T) {
	t.Parallel()
	const readers = 4
	reads, writes := 3_000, 100 // at least
	if testenv.Nightly() {
		reads, writes = 10_000, 300
	}
	for _, tt := range testenv.Rows(t, []struct {
		name      string
		replicas  int
		memoryTTL time.Duration
		redis     bool
		own       bool // check only writes of the same replica
	}{
		{"two replicas that always ask Redis", 2, 0, true, false},
		{"two replicas with memory before Redis", 2, time.Hour, true, true},
		{"one replica without Redis", 1, 0, false, true},
	}, 3) {
		t.Run(tt.name, func(t *testing.T) {
			var s *apptest.Redis
			if tt.redis {
				s = startRedis(t)
			}
			u := &upstream{}
			all := queries(u)
			var replicas []*replica
			acknowledged := make([][5]atomic.Int64, tt.replicas) // by writing replica
			for range tt.replicas {
				replicas = append(replicas, newReplica(t, s, func(o *cache.Options) {
					o.MemoryTTL, o.Timeout = tt.memoryTTL, 10*time.Second
				}))
			}
			var wg, writers sync.WaitGroup
			stop := make(chan struct{})
			var written atomic.Int64
			for i, r := range replicas {
				// Each replica has one writer, so acknowledged versions only grow.
				writers.Go(func() {
					for {
						select {
						case <-stop:
							return
						default:
						}
						product := rand.IntN(len(u.versions))
						done := r.BeginWrite(t.Context(), []string{"catalog", "product:" + strconv.Itoa(product)})
						delay()
						version := u.commit(product)
						delay()
						done()
						acknowledged[i][product].Store(int64(version))
						written.Add(1)
						time.Sleep(time.Duration(rand.IntN(5)) * time.Millisecond) // leave time for cache hits
					}
				})
			}
			for i, r := range replicas {
				for range readers {
					wg.Go(func() {
						for n := 0; n < reads/readers/tt.replicas || written.Load() < int64(writes); n++ {
							record := all[rand.IntN(len(all))]
							var least [5]int64
							for from := range acknowledged {
								for _, product := range record.products {
									if from == i || !tt.own {
										least[product] = max(least[product], acknowledged[from][product].Load())
									}
								}
							}
							got := read(t, r, u, record)
							for _, product := range record.products {
								if int64(got[product]) < least[product] {
									t.Errorf("replica %d, %s: version %d of product %d, after %d was acknowledged",
										i, record.name, got[product], product, least[product])
								}
							}
						}
					})
				}
			}
			wg.Wait()
			close(stop)
			writers.Wait()
			hits := 0.0
			for _, r := range replicas {
				hits += r.count("portico_cache_lookups_total", "hit")
				if n := r.count("portico_redis_errors_total"); n > 0 {
					t.Errorf("%v errors of Redis", n)
				}
			}
			if hits < float64(reads)/20 {
				t.Errorf("only %v hits: the history proves nothing", hits)
			}
			t.Logf("%v hits, %d writes", hits, written.Load())
		})
	}
}

// delay yields to other goroutines, occasionally for longer.
func delay() {
	if rand.IntN(4) == 0 {
		time.Sleep(time.Duration(rand.IntN(1000)) * time.Microsecond)
	}
	runtime.Gosched()
}

// read reads a query through a replica as a server does: first with GetLocal, then with
// Get.
func read(t *testing.T, r *replica, u *upstream, record query) (versions [5]int) {
	value, ok := r.GetLocal(t.Context(), key(record.name))
	if !ok {
		var err error
		value, _, _, err = r.Get(t.Context(), key(record.name), key(record.name), record.tags, func(context.Context, [16]byte) ([]byte, time.Duration, error) {
			versions := u.read()
			delay() // simulates the network
			value, err := json.Marshal(versions)
			return value, time.Minute, err
		})
		if err != nil {
			t.Errorf("%s: %v", record.name, err)
		}
	}
	if err := json.Unmarshal(value, &versions); err != nil {
		t.Errorf("%s: %q: %v", record.name, value, err)
	}
	return versions
}

// TestHistoryThroughOutages reads and writes while Redis is killed, restarted with the
// data on its disk, and paused. No call fails, and the replica that wrote never returns
// anything older.
func TestHistoryThroughOutages(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	u := &upstream{}
	all := queries(u)
	r := newReplica(t, s, func(o *cache.Options) { o.Timeout = 100 * time.Millisecond })
	var acknowledged [5]atomic.Int64
	var wg sync.WaitGroup
	defer wg.Wait()
	stop := make(chan struct{})
	defer close(stop)
	loop := func(do func()) {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					do()
				}
			}
		})
	}
	loop(func() {
		product := rand.IntN(len(u.versions))
		done := r.BeginWrite(t.Context(), []string{"catalog", "product:" + strconv.Itoa(product)})
		delay()
		version := u.commit(product)
		delay()
		done()
		acknowledged[product].Store(int64(version))
		time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
	})
	for range 2 {
		loop(func() {
			record := all[rand.IntN(len(all))]
			var least [5]int64
			for _, product := range record.products {
				least[product] = acknowledged[product].Load()
			}
			got := read(t, r, u, record)
			for _, product := range record.products {
				if int64(got[product]) < least[product] {
					t.Errorf("%s: version %d of product %d, after %d was acknowledged", record.name, got[product], product, least[product])
				}
			}
			time.Sleep(time.Duration(rand.IntN(1000)) * time.Microsecond)
		})
	}
	rounds := outages()
	if testenv.Nightly() {
		rounds = slices.Concat(rounds, rounds)
	}
	for _, f := range rounds {
		// Make sure that Redis has data that a restart could restore.
		r.awaitHits()
		f.begin(s)
		r.awaitState("open")
		f.end(s)
		r.awaitState("closed")
	}
}

// awaitHits waits until the replica has found more replies in Redis.
func (r *replica) awaitHits() {
	r.tb.Helper()
	before := r.redisHits()
	testenv.Await(r.tb, "replies from Redis", func() bool { return r.redisHits() >= before+20 })
}

func (r *replica) redisHits() float64 { return r.count("portico_cache_lookups_total", "redis", "hit") }
