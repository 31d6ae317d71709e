package cache_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/portico-commerce/portico/cache"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
)

// A clock is a clock that tests set.
type clock struct{ now atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.now.Store(time.Now().UnixNano())
	return c
}

func (c *clock) Now() time.Time          { return time.Unix(0, c.now.Load()) }
func (c *clock) advance(d time.Duration) { c.now.Add(int64(d)) }

// eachTier runs a test with memory only, with Redis only and with both.
func eachTier(t *testing.T, test func(t *testing.T, r *replica, now *clock)) {
	t.Helper()
	tests := []struct {
		name  string
		redis bool
		edit  func(*cache.Options)
	}{
		{"memory", false, func(*cache.Options) {}},
		{"Redis", true, func(o *cache.Options) { o.MemoryBytes = 0 }},
		{"memory before Redis", true, func(o *cache.Options) { o.MemoryTTL = time.Hour }},
		{"memory behind Redis", true, func(o *cache.Options) { o.MemoryTTL = 0 }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var s *apptest.Redis
			if tt.redis {
				s = startRedis(t)
			}
			now := newClock()
			test(t, newReplica(t, s, func(o *cache.Options) {
				o.Now = now.Now
				tt.edit(o)
			}), now)
		})
	}
}

// fillFor returns a fill with a value that is fresh for ttl.
func fillFor(value string, ttl time.Duration) cache.Fill {
	return func(context.Context, [16]byte) ([]byte, time.Duration, error) { return []byte(value), ttl, nil }
}

func TestTags(t *testing.T) {
	eachTier(t, func(t *testing.T, r *replica, _ *clock) {
		change := func(tags ...string) {
			t.Helper()
			done := r.BeginWrite(t.Context(), tags)
			done()
		}
		r.get("product:1", "miss", "old", fillWith("old"))
		r.get("product:1", "hit", "old", failingFill)
		r.get("product:2", "miss", "other", fillWith("other"))
		change("product:1")
		r.get("product:1", "miss", "new", fillWith("new"))
		r.get("product:1", "hit", "new", failingFill)
		r.get("product:2", "hit", "other", failingFill)
		change("catalog")
		r.get("product:1", "miss", "newer", fillWith("newer"))
		r.get("product:2", "miss", "another", fillWith("another"))
		change("stock")
		r.get("product:1", "hit", "newer", failingFill)
		if err := r.Purge(t.Context()); err != nil {
			t.Error(err)
		}
		r.get("product:1", "miss", "newest", fillWith("newest"))
	})
}

func TestTTL(t *testing.T) {
	eachTier(t, func(t *testing.T, r *replica, now *clock) { // TTL 1 minute, StaleTTL 1 hour
		r.get("product:1", "miss", "long", fillWith("long"))                          // limited by TTL
		r.get("product:2", "miss", "window", fillFor("window", 10*time.Second))       // a special price begins then
		r.get("product:3", "bypass", "none", fillFor("none", 0))                      // not stored
		r.get("product:3", "bypass", "none", fillFor("none", -time.Second))           // not stored
		r.get("product:4", "miss", "not found", fillFor("not found", 10*time.Second)) // negative result
		now.advance(10*time.Second - 1)
		r.get("product:2", "hit", "window", failingFill)
		r.get("product:4", "hit", "not found", failingFill)
		now.advance(1)
		r.get("product:2", "miss", "special", fillWith("special"))
		r.get("product:4", "miss", "found", fillWith("found"))
		now.advance(50*time.Second - 1)
		r.get("product:1", "hit", "long", failingFill)
		now.advance(1)
		r.get("product:1", "miss", "longer", fillWith("longer"))
	})
}

func TestStale(t *testing.T) {
	eachTier(t, func(t *testing.T, r *replica, now *clock) {
		refused := func(name string) {
			t.Helper()
			if value, _, _, err := r.Get(t.Context(), key("near "+name), key(name), []string{"catalog", name}, failingFill); !errors.Is(err, errUpstream) {
				t.Errorf("%s: %q, %v; want the error of fill", name, value, err)
			}
		}
		refused("product:1")
		r.get("product:1", "miss", "kept", fillWith("kept"))
		r.get("product:2", "miss", "changed", fillWith("changed"))
		now.advance(time.Minute + time.Hour - 1)
		r.get("product:1", "stale", "kept", failingFill)
		r.get("product:1", "stale", "kept", func(context.Context, [16]byte) ([]byte, time.Duration, error) { panic("fill") })
		_, _, age, err := r.Get(t.Context(), key("near product:1"), key("product:1"), []string{"catalog", "product:1"}, failingFill)
		if want := time.Minute + time.Hour - 1; age != want || err != nil {
			t.Errorf("age %s, %v; want %s", age, err, want)
		}
		done := r.BeginWrite(t.Context(), []string{"product:2"})
		refused("product:2")
		done()
		refused("product:2") // a write has invalidated it
		now.advance(1)
		refused("product:1") // too old
		r.get("product:1", "miss", "green", fillWith("green"))
		if err := r.Purge(t.Context()); err != nil {
			t.Error(err)
		}
		refused("product:1")
	})
}

func TestSizes(t *testing.T) {
	const largest = 1 << 20
	for _, redis := range []bool{false, true} {
		var s *apptest.Redis
		if redis {
			s = startRedis(t)
		}
		r := newReplica(t, s, func(o *cache.Options) { o.MemoryBytes = 64 * largest })
		fits, over := strings.Repeat("x", largest), strings.Repeat("x", largest+1)
		r.get("fits", "miss", fits, fillWith(fits))
		r.get("fits", "hit", fits, failingFill)
		r.get("over", "bypass", over, fillWith(over))
		r.get("over", "bypass", over, fillWith(over))
		r.get("empty", "miss", "", fillWith(""))
		r.get("empty", "hit", "", failingFill)
	}
}

// TestPanic checks that a panic of fill becomes an error.
func TestPanic(t *testing.T) {
	r := newReplica(t, nil, nil)
	_, _, _, err := r.Get(t.Context(), key("a"), key("a"), nil, func(context.Context, [16]byte) ([]byte, time.Duration, error) { panic("at the disco") })
	if err == nil || !strings.Contains(err.Error(), "at the disco") {
		t.Errorf("%v, want the panic", err)
	}
	r.get("a", "miss", "calm", fillWith("calm"))
}

// TestNoTier runs without memory and without Redis.
func TestNoTier(t *testing.T) {
	r := newReplica(t, nil, func(o *cache.Options) { o.MemoryBytes = 0 })
	r.get("a", "bypass", "1", fillWith("1"))
	r.get("a", "bypass", "2", fillWith("2"))
	if _, ok := r.GetLocal(t.Context(), key("near a")); ok || r.HasUsable() {
		t.Error("a reply was stored")
	}
}

func TestGetLocal(t *testing.T) {
	now := newClock()
	r := newReplica(t, nil, func(o *cache.Options) { o.Now = now.Now })
	r.local("a", "")
	r.get("a", "miss", "value", fillWith("value"))
	now.advance(time.Minute - 1)
	r.local("a", "value")
	now.advance(1)
	r.local("a", "")
	r.get("a", "miss", "value", fillWith("value"))
	r.local("a", "value")
	done := r.BeginWrite(t.Context(), []string{"a"})
	r.local("a", "")
	r.get("a", "miss", "value", fillWith("value"))
	r.local("a", "value") // a reply that is read during a write ...
	done()
	r.local("a", "") // ... is invalidated at its end
	if hits := r.count("portico_cache_lookups_total", "memory", "hit"); hits != 3 {
		t.Errorf("%v hits counted, want 3", hits)
	}
}

// TestFingerprints checks that two equivalent requests share the reply in Redis.
func TestFingerprints(t *testing.T) {
	r := newReplica(t, startRedis(t), func(o *cache.Options) { o.MemoryTTL = time.Hour })
	for i, near := range []string{"a", "b"} {
		_, outcome, _, err := r.Get(t.Context(), key(near), key("the same"), []string{"catalog"}, fillWith("value"))
		if want := []string{"miss", "hit"}[i]; outcome != want || err != nil {
			t.Errorf("%s: %s, %v; want %s", near, outcome, err, want)
		}
		if _, ok := r.GetLocal(t.Context(), key(near)); !ok {
			t.Errorf("memory does not know %s", near)
		}
	}
}

func TestHasUsable(t *testing.T) {
	eachTier(t, func(t *testing.T, r *replica, now *clock) {
		answers := func(want bool) {
			t.Helper()
			if got := r.HasUsable(); got != want {
				t.Errorf("Answers: %v, want %v", got, want)
			}
		}
		answers(false)
		r.get("a", "bypass", "x", fillFor("x", 0))
		answers(false)
		r.get("a", "miss", "x", fillWith("x"))
		answers(true)
		now.advance(time.Minute + time.Hour - 1)
		answers(true)
		now.advance(1)
		answers(false)
		r.get("a", "miss", "x", fillWith("x"))
		if err := r.Purge(t.Context()); err != nil {
			t.Error(err)
		}
		answers(false)
	})
}

// TestCanceledCaller cancels the context of a Get. Its fill continues for the next call.
func TestCanceledCaller(t *testing.T) {
	r := newReplica(t, nil, nil)
	begun, release := make(chan struct{}), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-begun
		cancel()
	}()
	_, _, _, err := r.Get(ctx, key("near a"), key("a"), []string{"catalog", "a"}, func(ctx context.Context, _ [16]byte) ([]byte, time.Duration, error) {
		close(begun)
		<-release
		return []byte("value"), time.Hour, ctx.Err()
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want canceled", err)
	}
	close(release)
	value, outcome, _, err := r.Get(t.Context(), key("near a"), key("a"), []string{"catalog", "a"}, failingFill)
	if string(value) != "value" || (outcome != "coalesced" && outcome != "hit") || err != nil {
		t.Errorf("%q, %s, %v; want the value", value, outcome, err)
	}
}

// TestReaderAfterWriteDoesNotJoinOldFill checks that a call after a write does not get the
// result of a fill that began before it.
func TestReaderAfterWriteDoesNotJoinOldFill(t *testing.T) {
	eachTier(t, func(t *testing.T, r *replica, _ *clock) {
		begun, release, finished := make(chan struct{}), make(chan struct{}), make(chan struct{})
		go func() {
			defer close(finished)
			r.get("a", "bypass", "old", func(context.Context, [16]byte) ([]byte, time.Duration, error) {
				close(begun)
				<-release
				return []byte("old"), time.Hour, nil
			})
		}()
		<-begun
		done := r.BeginWrite(t.Context(), []string{"a"})
		done()
		r.get("a", "miss", "new", fillWith("new"))
		close(release)
		<-finished
		r.get("a", "hit", "new", failingFill) // the result of the old fill does not replace it
	})
}
