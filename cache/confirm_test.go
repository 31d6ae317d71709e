package cache_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/portico-commerce/portico/cache"
)

// local checks the value that GetLocal returns for a name, "" for none.
func (r *replica) local(name, want string) {
	r.tb.Helper()
	if got, _ := r.GetLocal(r.tb.Context(), key("near "+name)); string(got) != want {
		r.tb.Errorf("%s in memory: %q, want %q", name, got, want)
	}
}

// TestGetLocalAsksRedis checks that memory returns a reply as long as Redis has the generations of its tags, and that
// what ends a reply in Redis ends it in memory at the same time.
func TestGetLocalAsksRedis(t *testing.T) {
	s := startRedis(t)
	client := redisClient(t, s)
	delete := func(keys ...string) func(*replica) {
		return func(*replica) {
			if err := client.Del(t.Context(), keys...).Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
	tests := []struct {
		name string
		end  func(other *replica)
	}{
		{"write", func(other *replica) { other.BeginWrite(t.Context(), []string{"catalog"})() }},
		{"write in progress", func(other *replica) { other.BeginWrite(t.Context(), []string{"product:1"}) }},
		{"purge", func(other *replica) {
			if err := other.Purge(t.Context()); err != nil {
				t.Fatal(err)
			}
		}},
		{"lost generation", delete("portico:gen:{product:1}")},
		{"lost epoch", delete("portico:gen:{all}")},
		{"generation of another type", func(*replica) {
			delete("portico:gen:{catalog}")(nil)
			if err := client.RPush(t.Context(), "portico:gen:{catalog}", "x").Err(); err != nil {
				t.Fatal(err)
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := client.FlushAll(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			r, other := newReplica(t, s, nil), newReplica(t, s, nil)
			r.get("product:1", "miss", "old", fillWith("old"))
			r.local("product:1", "old")
			other.get("product:1", "hit", "old", failingFill)
			other.local("product:1", "old")
			before := r.count("portico_redis_commands_total")
			r.local("product:1", "old")
			if asked := r.count("portico_redis_commands_total") - before; asked != 1 {
				t.Errorf("%v round trips", asked)
			}
			tt.end(other)
			r.local("product:1", "")
		})
	}
}

// TestGetLocalEnds checks the last moment at which memory returns a reply, and how often it asks Redis before.
func TestGetLocalEnds(t *testing.T) {
	for _, memoryTTL := range []time.Duration{0, time.Second} {
		t.Run(memoryTTL.String(), func(t *testing.T) {
			now := newClock()
			r := newReplica(t, startRedis(t), func(o *cache.Options) { o.Now, o.MemoryTTL = now.Now, memoryTTL })
			lookups := func() float64 { return r.count("portico_redis_commands_total", "lookup") }
			r.get("product:1", "miss", "value", fillFor("value", 10*time.Second))
			age := time.Duration(0)
			for _, step := range []struct {
				age    time.Duration
				within float64 // lookups of two calls, if memory answers for a second without Redis
			}{
				{0, 0}, {time.Second - 1, 0}, {time.Second, 1}, {2*time.Second - 1, 0}, {2 * time.Second, 1}, {10*time.Second - 1, 1},
			} {
				now.advance(step.age - age)
				age = step.age
				want := step.within
				if memoryTTL == 0 {
					want = 2
				}
				before := lookups()
				r.local("product:1", "value")
				r.local("product:1", "value")
				if asked := lookups() - before; asked != want {
					t.Errorf("after %s: %v lookups, want %v", age, asked, want)
				}
			}
			now.advance(1)
			r.local("product:1", "")
		})
	}
}

// TestGetLocalDuringWrite checks that memory does not return a reply that was made while a write was in progress, even
// if the writer is killed after its commit, so that the generations do not change again.
func TestGetLocalDuringWrite(t *testing.T) {
	s := startRedis(t)
	r, writer := newReplica(t, s, nil), newReplica(t, s, nil)
	writer.BeginWrite(t.Context(), []string{"product:1"}) // never done
	r.get("product:1", "bypass", "before the commit", fillWith("before the commit"))
	r.local("product:1", "")
	r.get("product:1", "bypass", "after the commit", fillWith("after the commit"))
}

// TestGetLocalWithoutRedis checks that a call asks Redis once if that does not answer, and not at all while Redis is
// known to be unavailable.
func TestGetLocalWithoutRedis(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	client, err := cache.Dial(s.URL(), 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	r := newReplica(t, nil, func(o *cache.Options) { o.Redis = client })
	r.get("product:1", "miss", "value", fillWith("value"))
	client.AddHook(failingLookups{aroundLookup(func() bool { return true })})
	lookups := func() float64 { return r.count("portico_redis_commands_total", "lookup") }
	before := lookups()
	r.local("product:1", "")
	r.get("product:1", "bypass", "filled", fillWith("filled"))
	if asked := lookups() - before; asked != 1 {
		t.Errorf("%v lookups for one call", asked)
	}
	r.get("product:1", "bypass", "again", fillWith("again"))
	if asked := lookups() - before; asked != 2 {
		t.Errorf("%v lookups for two calls", asked)
	}
	s.Kill()
	r.awaitState("open")
	before = lookups()
	r.get("product:1", "bypass", "alone", fillWith("alone"))
	r.local("product:1", "")
	if asked := lookups() - before; asked != 0 {
		t.Errorf("%v lookups while Redis is unavailable", asked)
	}
}

// failingLookups is a hook that lets lookups fail.
type failingLookups struct{ redis.Hook }

// ProcessPipelineHook lets pipelines fail that begin with a GET.
func (failingLookups) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		if commands[0].Name() == "get" {
			return errors.New("lost")
		}
		return next(ctx, commands)
	}
}
