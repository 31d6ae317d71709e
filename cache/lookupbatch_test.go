package cache_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/portico-commerce/portico/cache"
	"github.com/portico-commerce/portico/config/testenv"
)

// TestLookupsShareRoundTrips checks that the lookups that wait behind two round trips are made in as few as
// possible, and that each has its own reply.
func TestLookupsShareRoundTrips(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	stored := newReplica(t, s, nil)
	const waiting = 40 // more than fit into one round trip
	for i := range 2 + waiting {
		stored.mustGet(fmt.Sprint("product:", i), fillWith(fmt.Sprint("value ", i)))
	}
	client, err := cache.Dial(s.URL(), 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	begun, release := make(chan struct{}, 100), make(chan struct{})
	client.AddHook(aroundLookup(func() bool {
		begun <- struct{}{}
		<-release
		return true
	}))
	r := newReplica(t, nil, func(o *cache.Options) { o.Redis = client })
	var wg sync.WaitGroup
	for i := range 2 + waiting {
		wg.Go(func() { r.get(fmt.Sprint("product:", i), "hit", fmt.Sprint("value ", i), failingFill) })
		if i < 2 {
			<-begun
		}
	}
	testenv.Await(t, "lookups that wait", func() bool { return r.WaitingLookups() == waiting })
	close(release)
	wg.Wait()
	if n := r.count("portico_redis_commands_total", "lookup"); n != 4 {
		t.Errorf("%v round trips, want 4", n)
	}
}
