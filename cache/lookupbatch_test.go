package cache_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/portico-commerce/portico/cache"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
)

// blockLookups stores replies, and returns a replica two of whose lookups are under way until release is closed. The
// lookups after them wait. wg waits for the two.
func blockLookups(t *testing.T, s *apptest.Redis, replies int) (r *replica, release chan struct{}, wg *sync.WaitGroup) {
	t.Helper()
	stored := newReplica(t, s, nil)
	for i := range replies {
		stored.mustGet(fmt.Sprint("product:", i), fillWith(fmt.Sprint("value ", i)))
	}
	client, err := cache.Dial(s.URL(), 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	begun, wg := make(chan struct{}, 1000), new(sync.WaitGroup)
	release = make(chan struct{})
	client.AddHook(aroundLookup(func() bool {
		begun <- struct{}{}
		<-release
		return true
	}))
	r = newReplica(t, nil, func(o *cache.Options) { o.Redis = client })
	for i := range 2 {
		wg.Go(func() { r.mustGet(fmt.Sprint("product:", i), fillWith(fmt.Sprint("value ", i))) })
		<-begun
	}
	return r, release, wg
}

// awaitKeys waits until so many keys wait for each of the next round trips.
func (r *replica) awaitKeys(keys ...int) {
	r.tb.Helper()
	testenv.Await(r.tb, "lookups that wait", func() bool { return slices.Equal(r.WaitingKeys(), keys) })
}

// TestLookupsShareRoundTrips checks that the lookups that wait behind two round trips are made in as few as
// possible, that each has its own reply, that none of them reads a key twice, and that a round trip has a bound.
func TestLookupsShareRoundTrips(t *testing.T) {
	t.Parallel()
	// Each lookup has a reply and a generation of its own, and two generations in common with the others.
	const waiting = 100
	r, release, wg := blockLookups(t, startRedis(t), waiting)
	for i := range waiting {
		wg.Go(func() { r.get(fmt.Sprint("product:", i), "hit", fmt.Sprint("value ", i), failingFill) })
	}
	r.awaitKeys(128, 2+2*(waiting-63))
	close(release)
	wg.Wait()
	if n := r.count("portico_redis_commands_total", "lookup"); n != 4 {
		t.Errorf("%v round trips, want 4", n)
	}
}

// TestLeavingASharedRoundTrip checks that callers who leave do not take the replies of the others with them, though
// the first of them has begun the round trip.
func TestLeavingASharedRoundTrip(t *testing.T) {
	t.Parallel()
	const waiting = 20
	r, release, wg := blockLookups(t, startRedis(t), waiting)
	ctx, leave := context.WithCancel(t.Context())
	var left sync.WaitGroup
	for i := range waiting {
		name := fmt.Sprint("product:", i)
		if i%2 == 1 {
			wg.Go(func() { r.get(name, "hit", fmt.Sprint("value ", i), failingFill) })
		} else {
			left.Go(func() {
				_, _, _, err := r.Get(ctx, key("near "+name), key(name), []string{"catalog", name}, failingFill)
				if !errors.Is(err, context.Canceled) {
					t.Errorf("%s, whose caller has left: %v", name, err)
				}
			})
		}
		r.awaitKeys(2 + 2*(i+1))
	}
	leave()
	left.Wait()
	close(release)
	wg.Wait()
	if n := r.count("portico_redis_errors_total"); n > 0 {
		t.Errorf("%v round trips failed", n)
	}
}

// TestKilledDuringSharedRoundTrip kills Redis while lookups share a round trip. Each of them is a miss.
func TestKilledDuringSharedRoundTrip(t *testing.T) {
	t.Parallel()
	const waiting = 20
	s := startRedis(t)
	r, release, wg := blockLookups(t, s, waiting)
	for i := range waiting {
		name, value := fmt.Sprint("other:", i), fmt.Sprint("new ", i)
		wg.Go(func() {
			got, outcome, _, err := r.Get(t.Context(), key("near "+name), key(name), []string{"catalog", name}, fillWith(value))
			if string(got) != value || err != nil {
				t.Errorf("%s: %q, %s, %v", name, got, outcome, err)
			}
		})
	}
	r.awaitKeys(2 + 2*waiting)
	s.Kill()
	close(release)
	wg.Wait()
	s.Start()
	r.awaitState("closed")
	r.get("product:0", "miss", "newest", fillWith("newest"))
	r.get("product:0", "hit", "newest", failingFill)
}
