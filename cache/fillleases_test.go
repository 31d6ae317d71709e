package cache_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/portico-commerce/portico/cache"
)

// TestFillsCoalesceAcrossReplicas misses a key on three replicas while one of them fills it.
func TestFillsCoalesceAcrossReplicas(t *testing.T) {
	s := startRedis(t)
	replicas := []*replica{newReplica(t, s, nil), newReplica(t, s, nil), newReplica(t, s, nil)}
	var fills atomic.Int64
	fill := func(ctx context.Context, _ [16]byte) ([]byte, time.Duration, error) {
		fills.Add(1)
		time.Sleep(60 * time.Millisecond) // the database
		return []byte("value"), time.Hour, nil
	}
	const keys = 20
	for i := range keys {
		name := fmt.Sprint("product:", 100+i)
		var all sync.WaitGroup
		for _, r := range replicas {
			for range 3 {
				all.Go(func() {
					if got := r.mustGet(name, fill); got != "value" {
						t.Errorf("%q", got)
					}
				})
			}
		}
		all.Wait()
	}
	t.Logf("%d fills of %d keys on %d replicas", fills.Load(), keys, len(replicas))
	if n := fills.Load(); n > keys*3/2 { // on a busy machine a replica may give up waiting
		t.Errorf("%d fills of %d keys", n, keys)
	}
}

// TestFillOfAnother misses a key that another replica fills, or seemed to.
func TestFillOfAnother(t *testing.T) {
	for _, tt := range []struct {
		name    string
		ttl     time.Duration // of the other one's reply
		err     error
		write   bool // between the other one's fill and the call
		takes   time.Duration
		own     bool // the call fills itself
		outcome string
	}{
		{name: "is shared", ttl: time.Hour, takes: 50 * time.Millisecond, outcome: "coalesced"},
		{name: "is not stored", ttl: 0, takes: 50 * time.Millisecond, own: true, outcome: "miss"},
		{name: "fails", err: errUpstream, takes: 50 * time.Millisecond, own: true, outcome: "miss"},
		{name: "takes too long", ttl: time.Hour, takes: 2 * time.Second, own: true, outcome: "miss"},
		{name: "began before a write", ttl: time.Hour, takes: time.Second, write: true, own: true, outcome: "miss"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := startRedis(t)
			one, other := newReplica(t, s, nil), newReplica(t, s, nil)
			began, ended := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(ended)
				_, _, _, _ = one.Get(t.Context(), key("near product:1"), key("product:1"), []string{"catalog", "product:1"}, func(context.Context, [16]byte) ([]byte, time.Duration, error) {
					close(began)
					time.Sleep(tt.takes)
					return []byte("old"), tt.ttl, tt.err
				})
			}()
			<-began
			if tt.write {
				other.BeginWrite(t.Context(), []string{"product:1"})()
			}
			value, outcome, _, err := other.Get(t.Context(), key("near product:1"), key("product:1"), []string{"catalog", "product:1"}, fillWith("new"))
			want := "old"
			if tt.own {
				want = "new"
			}
			if string(value) != want || outcome != tt.outcome || err != nil {
				t.Errorf("%q, %s, %v; want %q, %s", value, outcome, err, want, tt.outcome)
			}
			<-ended
		})
	}
}

// TestFillerIsKilled misses keys of which a replica that has ended holds the lease.
func TestFillerIsKilled(t *testing.T) {
	s := startRedis(t)
	dead, r := newReplica(t, s, nil), newReplica(t, s, func(o *cache.Options) { o.MemoryBytes = 0 })
	release := make(chan struct{})
	began := make(chan struct{})
	go func() {
		_, _, _, _ = dead.Get(t.Context(), key("near product:1"), key("product:1"), []string{"catalog", "product:1"}, func(context.Context, [16]byte) ([]byte, time.Duration, error) {
			close(began)
			<-release
			return nil, 0, errUpstream
		})
	}()
	<-began
	r.get("product:1", "miss", "value", fillWith("value"))
	r.get("product:1", "hit", "value", failingFill)
	close(release)
}
