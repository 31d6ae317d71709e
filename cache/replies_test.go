package cache_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/portico-commerce/portico/cache"
)

// A clock is what a test says it is.
type clock struct{ now atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.now.Store(time.Now().UnixNano())
	return c
}

func (c *clock) Now() time.Time          { return time.Unix(0, c.now.Load()) }
func (c *clock) advance(d time.Duration) { c.now.Add(int64(d)) }

// each runs a test with memory alone, with Redis alone and with both.
func each(t *testing.T, test func(t *testing.T, r *replica, now *clock)) {
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
			var s *server
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

// lasts is a fill of a value that is fresh for a time.
func lasts(value string, ttl time.Duration) cache.Fill {
	return func(context.Context, [16]byte) ([]byte, time.Duration, error) { return []byte(value), ttl, nil }
}

func TestTags(t *testing.T) {
	each(t, func(t *testing.T, r *replica, _ *clock) {
		change := func(tags ...string) {
			t.Helper()
			done := r.BeginWrite(t.Context(), tags)
			done()
		}
		r.get("product:1", "miss", "old", makes("old"))
		r.get("product:1", "hit", "old", fails)
		r.get("product:2", "miss", "other", makes("other"))
		change("product:1")
		r.get("product:1", "miss", "new", makes("new"))
		r.get("product:1", "hit", "new", fails)
		r.get("product:2", "hit", "other", fails)
		change("catalog")
		r.get("product:1", "miss", "newer", makes("newer"))
		r.get("product:2", "miss", "another", makes("another"))
		change("stock")
		r.get("product:1", "hit", "newer", fails)
		if err := r.Purge(t.Context()); err != nil {
			t.Error(err)
		}
		r.get("product:1", "miss", "newest", makes("newest"))
	})
}

func TestTimes(t *testing.T) {
	each(t, func(t *testing.T, r *replica, now *clock) { // TTL 1 minute, StaleTTL 1 hour
		r.get("product:1", "miss", "long", makes("long"))                           // bounded by TTL
		r.get("product:2", "miss", "window", lasts("window", 10*time.Second))       // a special price begins then
		r.get("product:3", "bypass", "none", lasts("none", 0))                      // not kept
		r.get("product:3", "bypass", "none", lasts("none", -time.Second))           // not kept
		r.get("product:4", "miss", "not found", lasts("not found", 10*time.Second)) // negative
		now.advance(10*time.Second - 1)
		r.get("product:2", "hit", "window", fails)
		r.get("product:4", "hit", "not found", fails)
		now.advance(1)
		r.get("product:2", "miss", "special", makes("special"))
		r.get("product:4", "miss", "found", makes("found"))
		now.advance(50*time.Second - 1)
		r.get("product:1", "hit", "long", fails)
		now.advance(1)
		r.get("product:1", "miss", "longer", makes("longer"))
	})
}

func TestStale(t *testing.T) {
	each(t, func(t *testing.T, r *replica, now *clock) {
		refused := func(name string) {
			t.Helper()
			if value, _, _, err := r.Get(t.Context(), key("near "+name), key(name), []string{"catalog", name}, fails); !errors.Is(err, errUpstream) {
				t.Errorf("%s: %q, %v; want the error of fill", name, value, err)
			}
		}
		refused("product:1")
		r.get("product:1", "miss", "kept", makes("kept"))
		r.get("product:2", "miss", "changed", makes("changed"))
		now.advance(time.Minute + time.Hour - 1)
		r.get("product:1", "stale", "kept", fails)
		r.get("product:1", "stale", "kept", func(context.Context, [16]byte) ([]byte, time.Duration, error) { panic("fill") })
		_, _, age, err := r.Get(t.Context(), key("near product:1"), key("product:1"), []string{"catalog", "product:1"}, fails)
		if want := time.Minute + time.Hour - 1; age != want || err != nil {
			t.Errorf("age %s, %v; want %s", age, err, want)
		}
		done := r.BeginWrite(t.Context(), []string{"product:2"})
		refused("product:2")
		done()
		refused("product:2") // a change has ended it
		now.advance(1)
		refused("product:1") // too old
		r.get("product:1", "miss", "green", makes("green"))
		if err := r.Purge(t.Context()); err != nil {
			t.Error(err)
		}
		refused("product:1")
	})
}

func TestSizes(t *testing.T) {
	const largest = 1000
	for _, redis := range []bool{false, true} {
		var s *server
		if redis {
			s = startRedis(t)
		}
		r := newReplica(t, s, func(o *cache.Options) { o.MaxReply = largest })
		fits, over := strings.Repeat("x", largest), strings.Repeat("x", largest+1)
		r.get("fits", "miss", fits, makes(fits))
		r.get("fits", "hit", fits, fails)
		r.get("over", "bypass", over, makes(over))
		r.get("over", "bypass", over, makes(over))
		r.get("empty", "miss", "", makes(""))
		r.get("empty", "hit", "", fails)
	}
}

// TestPanic turns a panic of fill into an error.
func TestPanic(t *testing.T) {
	r := newReplica(t, nil, nil)
	_, _, _, err := r.Get(t.Context(), key("a"), key("a"), nil, func(context.Context, [16]byte) ([]byte, time.Duration, error) { panic("at the disco") })
	if err == nil || !strings.Contains(err.Error(), "at the disco") {
		t.Errorf("%v, want the panic", err)
	}
	r.get("a", "miss", "calm", makes("calm"))
}

// TestNothing keeps nothing, neither in memory nor in Redis.
func TestNothing(t *testing.T) {
	r := newReplica(t, nil, func(o *cache.Options) { o.MemoryBytes = 0 })
	r.get("a", "bypass", "1", makes("1"))
	r.get("a", "bypass", "2", makes("2"))
	if _, ok := r.GetLocal(key("near a")); ok || r.HasUsable() {
		t.Error("something is kept")
	}
}

func TestNear(t *testing.T) {
	near := func(r *replica, want bool) {
		t.Helper()
		if value, ok := r.GetLocal(key("near a")); ok != want || (ok && string(value) != "value") {
			t.Errorf("Near: %q, %v; want %v", value, ok, want)
		}
	}
	t.Run("memory", func(t *testing.T) {
		now := newClock()
		r := newReplica(t, nil, func(o *cache.Options) { o.Now = now.Now })
		near(r, false)
		r.get("a", "miss", "value", makes("value"))
		now.advance(time.Minute - 1)
		near(r, true)
		now.advance(1)
		near(r, false)
		r.get("a", "miss", "value", makes("value"))
		near(r, true)
		done := r.BeginWrite(t.Context(), []string{"a"})
		near(r, false)
		r.get("a", "miss", "value", makes("value"))
		near(r, true) // what is read while a change is under way ...
		done()
		near(r, false) // ... ends with it
		if hits := r.count("portico_cache_lookups_total", "memory", "hit"); hits != 3 {
			t.Errorf("%v hits counted, want 3", hits)
		}
	})
	t.Run("Redis", func(t *testing.T) {
		now, s := newClock(), startRedis(t)
		r := newReplica(t, s, func(o *cache.Options) { o.Now, o.MemoryTTL = now.Now, time.Second })
		r.get("a", "miss", "value", makes("value"))
		now.advance(time.Second - 1)
		near(r, true)
		now.advance(1)
		near(r, false)
		r.get("a", "hit", "value", fails) // Redis says that it is still current
		near(r, true)
		never := newReplica(t, s, nil) // MemoryTTL 0
		never.get("a", "hit", "value", fails)
		near(never, false)
	})
}

// TestNearKeys lets two requests that mean the same share what Redis has.
func TestNearKeys(t *testing.T) {
	r := newReplica(t, startRedis(t), func(o *cache.Options) { o.MemoryTTL = time.Hour })
	for i, near := range []string{"a", "b"} {
		_, outcome, _, err := r.Get(t.Context(), key(near), key("the same"), []string{"catalog"}, makes("value"))
		if want := []string{"miss", "hit"}[i]; outcome != want || err != nil {
			t.Errorf("%s: %s, %v; want %s", near, outcome, err, want)
		}
		if _, ok := r.GetLocal(key(near)); !ok {
			t.Errorf("memory does not know %s", near)
		}
	}
}

func TestAnswers(t *testing.T) {
	each(t, func(t *testing.T, r *replica, now *clock) {
		answers := func(want bool) {
			t.Helper()
			if got := r.HasUsable(); got != want {
				t.Errorf("Answers: %v, want %v", got, want)
			}
		}
		answers(false)
		r.get("a", "bypass", "x", lasts("x", 0))
		answers(false)
		r.get("a", "miss", "x", makes("x"))
		answers(true)
		now.advance(time.Minute + time.Hour - 1)
		answers(true)
		now.advance(1)
		answers(false)
		r.get("a", "miss", "x", makes("x"))
		if err := r.Purge(t.Context()); err != nil {
			t.Error(err)
		}
		answers(false)
	})
}

// TestLeaving ends a Get with its context; the fill goes on for the next.
func TestLeaving(t *testing.T) {
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
	value, outcome, _, err := r.Get(t.Context(), key("near a"), key("a"), []string{"catalog", "a"}, fails)
	if string(value) != "value" || (outcome != "coalesced" && outcome != "hit") || err != nil {
		t.Errorf("%q, %s, %v; want the value", value, outcome, err)
	}
}

// TestNewReaderJoinsNoOldFill: who asks after a change is over does not get what
// a fill began to read before.
func TestNewReaderJoinsNoOldFill(t *testing.T) {
	each(t, func(t *testing.T, r *replica, _ *clock) {
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
		r.get("a", "miss", "new", makes("new"))
		close(release)
		<-finished
		r.get("a", "hit", "new", fails) // what the old fill made does not take its place
	})
}
