package cache_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/portico-commerce/portico/cache"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
)

// A replica is a Cache with helpers for tests.
type replica struct {
	*cache.Cache
	tb       testing.TB
	registry *prometheus.Registry
	states   chan string // states of the breaker since the replica was created
	isGiven  bool        // the options have a client, which can be used once
}

// newReplica returns a replica that uses the Redis of s, or memory only if s is nil. edit changes
// its options. The tags of the tests share no counter: in one of a hundred replicas they would, and
// then invalidate each other's replies.
func newReplica(tb testing.TB, s *apptest.Redis, edit func(*cache.Options)) *replica {
	tb.Helper()
	r := openReplica(tb, s, edit)
	for !r.isGiven && r.SharesCounter("catalog", "product:1", "product:2", "product:3", "product:4", "product:12", "stock", "none", "other") {
		if err := r.Close(); err != nil {
			tb.Fatal(err)
		}
		r = openReplica(tb, s, edit)
	}
	tb.Cleanup(func() {
		if err := r.Close(); err != nil {
			tb.Error(err)
		}
	})
	return r
}

func openReplica(tb testing.TB, s *apptest.Redis, edit func(*cache.Options)) *replica {
	tb.Helper()
	r := &replica{tb: tb, registry: prometheus.NewRegistry(), states: make(chan string, 1000)}
	o := cache.Options{
		TTL: time.Minute, StaleTTL: time.Hour, MemoryTTL: 0, MemoryBytes: 16 << 20,
		Timeout:   10 * time.Second, // generous, because tests share the machine
		OnBreaker: func(to string) { r.states <- to }, Registerer: r.registry, Log: slog.New(slog.DiscardHandler),
	}
	if edit != nil {
		edit(&o)
	}
	r.isGiven = o.Redis != nil
	if s != nil {
		client, err := cache.Dial(s.URL(), o.Timeout)
		if err != nil {
			tb.Fatal(err)
		}
		o.Redis = client
	}
	var err error
	if r.Cache, err = cache.New(tb.Context(), o); err != nil {
		tb.Fatal(err)
	}
	return r
}

// awaitState waits until the breaker changes to a state.
func (r *replica) awaitState(state string) {
	r.tb.Helper()
	for testenv.Receive(r.tb, "the breaker to become "+state, r.states) != state {
	}
}

// key returns the key for a name.
func key(name string) [32]byte { return sha256.Sum256([]byte(name)) }

// get gets a name with fill and checks outcome and value.
func (r *replica) get(name, outcome, value string, fill cache.Fill) {
	r.tb.Helper()
	got, how, age, err := r.Get(r.tb.Context(), key("near "+name), key(name), []string{"catalog", name}, fill)
	if err != nil || how != outcome || string(got) != value || age < 0 {
		r.tb.Errorf("%s: %q, %s, age %s, %v; want %q, %s", name, got, how, age, err, value, outcome)
	}
}

// fillWith returns a fill with a value that is fresh for an hour.
func fillWith(value string) cache.Fill {
	return func(context.Context, [16]byte) ([]byte, time.Duration, error) { return []byte(value), time.Hour, nil }
}

var errUpstream = errors.New("the upstream is away")

// failingFill is a fill whose upstream cannot answer.
func failingFill(context.Context, [16]byte) ([]byte, time.Duration, error) {
	return nil, 0, errUpstream
}

// count returns a metric of the replica by name and label values.
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

// TestOneFill checks that concurrent calls for a missing key share one fill, even if the
// first of them is canceled.
func TestOneFill(t *testing.T) {
	eachTier(t, func(t *testing.T, r *replica, _ *clock) {
		if fills := stampede(t, r); fills != 100 {
			t.Errorf("%d fills, want 100", fills)
		}
		if n := r.count("portico_redis_errors_total"); n != 0 {
			t.Errorf("%v errors of Redis", n)
		}
	})
}

// stampede makes 20 concurrent calls for each of 100 keys, cancels the first call of each
// when its fill has begun, and returns the number of fills.
func stampede(tb testing.TB, r *replica) (fills int64) {
	const keys, requests = 100, 20
	var called atomic.Int64
	var wg sync.WaitGroup
	for i := range keys {
		name := fmt.Sprint("product:", i)
		begun, release := make(chan struct{}), make(chan struct{})
		var once sync.Once
		fill := func(context.Context, [16]byte) ([]byte, time.Duration, error) {
			called.Add(1)
			once.Do(func() { close(begun) })
			<-release
			return []byte(name), time.Hour, nil
		}
		ask := func(ctx context.Context) (string, string, error) {
			value, outcome, _, err := r.Get(ctx, key("near "+name), key(name), []string{"catalog", name}, fill)
			return string(value), outcome, err
		}
		first, leave := context.WithCancel(tb.Context())
		wg.Go(func() {
			if _, _, err := ask(first); !errors.Is(err, context.Canceled) {
				tb.Errorf("canceled call: %v", err)
			}
		})
		wg.Go(func() {
			<-begun
			leave()
			var others sync.WaitGroup
			for range requests - 1 {
				others.Go(func() {
					if value, outcome, err := ask(tb.Context()); value != name || err != nil || (outcome != "coalesced" && outcome != "hit") {
						tb.Errorf("%q, %s, %v", value, outcome, err)
					}
				})
			}
			close(release)
			others.Wait()
		})
	}
	wg.Wait()
	return called.Load()
}

func TestMain(m *testing.M) {
	cache.LogRedis(slog.New(slog.DiscardHandler))
	testenv.Main(m, nil)
}
