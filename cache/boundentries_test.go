//go:build linux

package cache_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/portico-commerce/portico/cache"
)

// getList gets a name as lists are got, which all have the same tag, and checks outcome and value.
func (r *replica) getList(name, outcome, value string, fill cache.Fill) {
	r.tb.Helper()
	got, how, _, err := r.Get(r.tb.Context(), key("near "+name), key(name), []string{"catalog"}, fill)
	if err != nil || how != outcome || string(got) != value {
		r.tb.Errorf("%s: %q, %s, %v; want %q, %s", name, got, how, err, value, outcome)
	}
}

// TestSwappedReplies swaps the values of two lists in Redis, and checks that none goes to the other's
// readers.
func TestSwappedReplies(t *testing.T) {
	s := startRedis(t)
	keyed := func(o *cache.Options) { o.Secret = "secret" }
	one, other := newReplica(t, s, keyed), newReplica(t, s, keyed)
	for _, name := range []string{"page 1", "page 2"} {
		one.getList(name, "miss", name, fillWith(name))
		other.getList(name, "hit", name, failingFill)
	}
	client, keys := redisClient(t, s), [2]string{one.RedisKey(key("page 1")), one.RedisKey(key("page 2"))}
	first, second := client.Get(t.Context(), keys[0]).Val(), client.Get(t.Context(), keys[1]).Val()
	if err := client.MSet(t.Context(), keys[0], second, keys[1], first).Err(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"page 1", "page 2"} {
		other.getList(name, "miss", "again "+name, fillWith("again "+name))
		one.getList(name, "hit", "again "+name, failingFill)
	}
}

// TestOtherSecrets checks that replicas with different secrets neither share replies nor disturb each
// other, as while the secret is being replaced.
func TestOtherSecrets(t *testing.T) {
	s := startRedis(t)
	for _, secret := range []string{"", "one", "other"} {
		r := newReplica(t, s, func(o *cache.Options) { o.Secret = secret })
		r.getList("page", "miss", "of "+secret, fillWith("of "+secret))
	}
	for _, secret := range []string{"", "one", "other"} {
		r := newReplica(t, s, func(o *cache.Options) { o.Secret = secret })
		r.getList("page", "hit", "of "+secret, failingFill)
	}
}

// TestStoreEpoch replaces the store, and checks that no reply from before is returned: not by the
// process that learns of it, not by one that starts later, and not while the upstream is away.
func TestStoreEpoch(t *testing.T) {
	eachTier(t, func(t *testing.T, r *replica, now *clock) {
		r.getList("page", "miss", "old", fillWith("old"))
		r.getList("page", "hit", "old", failingFill)
		if err := r.SetStoreEpoch("second"); err != nil {
			t.Fatal(err)
		}
		if r.HasUsable() {
			t.Error("there is a reply that could be returned")
		}
		for range 2 { // fresh, and then stale
			if value, how, _, err := r.Get(t.Context(), key("near page"), key("page"), []string{"catalog"}, failingFill); !errors.Is(err, errUpstream) {
				t.Errorf("%q, %s, %v; want the error of fill", value, how, err)
			}
			now.advance(time.Minute)
		}
		r.getList("page", "miss", "new", fillWith("new"))
		if err := r.SetStoreEpoch("second"); err != nil { // again
			t.Fatal(err)
		}
		r.getList("page", "hit", "new", failingFill)
	})
}

// TestFillAcrossEpochs checks that a fill that began before the store was replaced is neither
// stored nor shared with later callers.
func TestFillAcrossEpochs(t *testing.T) {
	eachTier(t, func(t *testing.T, r *replica, _ *clock) {
		entered, release := make(chan struct{}), make(chan struct{})
		var first sync.WaitGroup
		first.Go(func() {
			r.getList("page", "bypass", "old", func(context.Context, [16]byte) ([]byte, time.Duration, error) {
				close(entered)
				<-release
				return []byte("old"), time.Hour, nil
			})
		})
		<-entered
		if err := r.SetStoreEpoch("second"); err != nil {
			t.Fatal(err)
		}
		r.getList("page", "miss", "new", fillWith("new"))
		close(release)
		first.Wait()
		r.getList("page", "hit", "new", failingFill)
	})
}

// TestStoreEpochOfReplicas checks that replicas share the replies of an epoch of the store alone.
func TestStoreEpochOfReplicas(t *testing.T) {
	s := startRedis(t)
	open := func(epoch string) *replica {
		return newReplica(t, s, func(o *cache.Options) { o.StoreEpoch = epoch })
	}
	open("first").getList("page", "miss", "old", fillWith("old"))
	open("second").getList("page", "miss", "new", fillWith("new"))
	open("second").getList("page", "hit", "new", failingFill)
	later := open("first")
	if err := later.SetStoreEpoch("second"); err != nil {
		t.Fatal(err)
	}
	later.getList("page", "hit", "new", failingFill)
}
