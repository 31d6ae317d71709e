package cache_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/portico-commerce/portico/cache"
)

// A replica is a Cache with what a test asks of it.
type replica struct {
	*cache.Cache
	tb       testing.TB
	registry *prometheus.Registry
	states   chan string // of the breaker, since the replica was made
}

// newReplica returns a Cache; edit changes its options. With a server it shares
// that Redis.
func newReplica(tb testing.TB, s *server, edit func(*cache.Options)) *replica {
	tb.Helper()
	r := &replica{tb: tb, registry: prometheus.NewRegistry(), states: make(chan string, 1000)}
	o := cache.Options{
		TTL: time.Minute, StaleTTL: time.Hour, MemoryTTL: 0, MemoryBytes: 16 << 20,
		Timeout:   time.Second, // far more than it takes, because tests share the machine
		OnBreaker: func(to string) { r.states <- to }, Registerer: r.registry, Log: slog.New(slog.DiscardHandler),
	}
	if edit != nil {
		edit(&o)
	}
	if s != nil {
		client, err := cache.Dial(s.url(), o.Timeout)
		if err != nil {
			tb.Fatal(err)
		}
		o.Redis = client
	}
	var err error
	if r.Cache, err = cache.New(tb.Context(), o); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := r.Close(); err != nil {
			tb.Error(err)
		}
	})
	return r
}

// await waits until the breaker changes to a state.
func (r *replica) await(state string) {
	r.tb.Helper()
	timeout := time.After(30 * time.Second)
	for {
		select {
		case to := <-r.states:
			if to == state {
				return
			}
		case <-timeout:
			r.tb.Fatalf("the breaker does not become %s", state)
		}
	}
}

// key returns the key of a name.
func key(name string) [32]byte { return sha256.Sum256([]byte(name)) }

// get asks for a name with what fill makes of it, and checks the outcome.
func (r *replica) get(name, outcome, value string, fill cache.Fill) {
	r.tb.Helper()
	got, how, age, err := r.Get(r.tb.Context(), key("near "+name), key(name), []string{"catalog", name}, fill)
	if err != nil || how != outcome || string(got) != value || age < 0 {
		r.tb.Errorf("%s: %q, %s, age %s, %v; want %q, %s", name, got, how, age, err, value, outcome)
	}
}

// makes is a fill of a value that is fresh for an hour.
func makes(value string) cache.Fill {
	return func(context.Context, [16]byte) ([]byte, time.Duration, error) { return []byte(value), time.Hour, nil }
}

var errUpstream = errors.New("the upstream is away")

// fails is a fill without an upstream.
func fails(context.Context, [16]byte) ([]byte, time.Duration, error) { return nil, 0, errUpstream }

// count returns a metric of the replica: its name, then its labels' values.
func (r *replica) count(name string, labels ...string) float64 {
	r.tb.Helper()
	families, err := r.registry.Gather()
	if err != nil {
		r.tb.Fatal(err)
	}
	var sum float64
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
	metrics:
		for _, m := range family.GetMetric() {
			for _, want := range labels {
				found := false
				for _, label := range m.GetLabel() {
					found = found || label.GetValue() == want
				}
				if !found {
					continue metrics
				}
			}
			sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return sum
}

func TestHitMissChange(t *testing.T) {
	tests := []struct {
		name string
		with func(t *testing.T) *replica
	}{
		{"memory", func(t *testing.T) *replica { return newReplica(t, nil, nil) }},
		{"Redis", func(t *testing.T) *replica { return newReplica(t, startRedis(t), nil) }},
		{"Redis, no memory", func(t *testing.T) *replica {
			return newReplica(t, startRedis(t), func(o *cache.Options) { o.MemoryBytes = 0 })
		}},
		{"Redis and memory", func(t *testing.T) *replica {
			return newReplica(t, startRedis(t), func(o *cache.Options) { o.MemoryTTL = time.Minute })
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := tt.with(t)
			r.get("product:1", "miss", "old", makes("old"))
			r.get("product:1", "hit", "old", fails)
			r.get("product:2", "miss", "other", makes("other"))
			done := r.Change(t.Context(), []string{"product:1"})
			done()
			r.get("product:1", "miss", "new", makes("new"))
			r.get("product:1", "hit", "new", fails)
			r.get("product:2", "hit", "other", fails)
			done = r.Change(t.Context(), []string{"catalog"})
			done()
			r.get("product:1", "miss", "newer", makes("newer"))
			r.get("product:2", "miss", "another", makes("another"))
			if err := r.Purge(t.Context()); err != nil {
				t.Error(err)
			}
			r.get("product:1", "miss", "newest", makes("newest"))
		})
	}
}

// TestOneFill lets many ask at once for keys that are missing. The first of each
// leaves.
func TestOneFill(t *testing.T) {
	const keys, requests = 100, 20
	for _, redis := range []bool{true, false} {
		t.Run(map[bool]string{true: "Redis", false: "memory"}[redis], func(t *testing.T) {
			var s *server
			if redis {
				s = startRedis(t)
			}
			r := newReplica(t, s, nil)
			var fills atomic.Int64
			var wg sync.WaitGroup
			for i := range keys {
				name := "product:" + string(rune('a'+i))
				begun, release := make(chan struct{}), make(chan struct{})
				fill := func(context.Context, [16]byte) ([]byte, time.Duration, error) {
					fills.Add(1)
					close(begun)
					<-release
					return []byte(name), time.Hour, nil
				}
				first, leave := context.WithCancel(t.Context())
				wg.Go(func() {
					_, _, _, err := r.Get(first, key("near "+name), key(name), []string{"catalog", name}, fill)
					if !errors.Is(err, context.Canceled) {
						t.Errorf("who leaves gets %v", err)
					}
				})
				wg.Go(func() {
					<-begun
					leave()
					var others sync.WaitGroup
					for range requests - 1 {
						others.Go(func() {
							value, outcome, _, err := r.Get(t.Context(), key("near "+name), key(name), []string{"catalog", name}, fill)
							if string(value) != name || err != nil || (outcome != "coalesced" && outcome != "hit") {
								t.Errorf("%q, %s, %v", value, outcome, err)
							}
						})
					}
					close(release)
					others.Wait()
				})
			}
			wg.Wait()
			if fills.Load() != keys {
				t.Errorf("%d fills, want %d", fills.Load(), keys)
			}
			if n := r.count("portico_redis_errors_total"); n != 0 {
				t.Errorf("%v errors of Redis", n)
			}
		})
	}
}
