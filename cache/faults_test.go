package cache_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/portico-commerce/portico/cache"
)

// serve asks for a reply whatever its outcome, and returns what it got. An error
// is a failed request.
func (r *replica) serve(name string, fill cache.Fill) string {
	r.tb.Helper()
	value, outcome, _, err := r.Get(r.tb.Context(), key("near "+name), key(name), []string{"catalog", name}, fill)
	if err != nil {
		r.tb.Errorf("%s: %s, %v", name, outcome, err)
	}
	return string(value)
}

// A fault is what may happen to Redis, and what ends it.
type fault struct {
	name        string
	begin, mend func(s *server)
}

func faults() []fault {
	return []fault{
		{"killed, restarted with its data", func(s *server) { s.save(); s.kill() }, (*server).start},
		{"killed, restarted empty", func(s *server) { s.save(); s.kill(); s.empty() }, (*server).start},
		{"paused", (*server).pause, (*server).resume},
	}
}

// TestFaults breaks Redis, changes what is cached while it is away, and mends it.
// Nothing fails, and what was cached before is never handed out again, by the
// replica that wrote or by an idle one, once it has noticed.
func TestFaults(t *testing.T) {
	for _, f := range faults() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			s := startRedis(t)
			quick := func(o *cache.Options) { o.Timeout = 100 * time.Millisecond }
			writer, idle := newReplica(t, s, quick), newReplica(t, s, quick)
			writer.get("product:1", "miss", "old", makes("old"))
			idle.get("product:1", "hit", "old", fails)
			f.begin(s)
			done := writer.BeginWrite(t.Context(), []string{"product:1"})
			done()
			for range 100 {
				if got := writer.serve("product:1", makes("new")); got != "new" {
					t.Fatalf("%q while Redis is away", got)
				}
			}
			writer.await("open")
			idle.await("open") // nothing was asked of it
			f.mend(s)
			writer.await("closed")
			if got := writer.serve("product:1", makes("new")); got != "new" {
				t.Errorf("the writer hands out %q", got)
			}
			idle.await("closed")
			if got := idle.serve("product:1", makes("new")); got != "new" {
				t.Errorf("the idle replica hands out %q", got)
			}
			// All is as it was before, once each has heard of the other's epoch: until
			// then what it makes may not be kept.
			for deadline := time.Now().Add(30 * time.Second); ; {
				writer.serve("product:2", makes("two"))
				value, outcome, _, err := idle.Get(t.Context(), key("near product:2"), key("product:2"), []string{"catalog", "product:2"}, fails)
				if err == nil && outcome == "hit" && string(value) == "two" {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("%q, %s, %v; want what the other has kept", value, outcome, err)
				}
			}
			for _, r := range []*replica{writer, idle} {
				if n := r.count("portico_cache_epochs_total"); n < 1 {
					t.Errorf("%v epochs", n)
				}
			}
		})
	}
}

// TestRestartIsNoticed restarts Redis with old data as fast as it goes. A replica
// that asked nothing meanwhile, and has not heard of the change, notices it by the
// subscription that breaks.
func TestRestartIsNoticed(t *testing.T) {
	s := startRedis(t)
	writer, idle := newReplica(t, s, nil), newReplica(t, s, nil)
	writer.get("product:1", "miss", "old", makes("old"))
	idle.get("product:1", "hit", "old", fails)
	s.save()
	done := writer.BeginWrite(t.Context(), []string{"product:1"})
	done()
	s.kill()
	s.start()
	for _, r := range []*replica{idle, writer} {
		if got := r.serve("product:1", makes("new")); got != "new" {
			t.Errorf("%q is handed out", got)
		}
	}
}

// TestOldDataIsThere shows that a restart with data brings the old reply back, so
// that TestFaults can fail.
func TestOldDataIsThere(t *testing.T) {
	s := startRedis(t)
	newReplica(t, s, nil).get("product:1", "miss", "old", makes("old"))
	s.save()
	s.kill()
	s.start()
	newReplica(t, s, nil).get("product:1", "hit", "old", fails)
}

// TestLease lets a writer die between its commit and the end of the change. The
// other replica hands out nothing old, and stores nothing for as long as the
// lease lasts.
func TestLease(t *testing.T) {
	s := startRedis(t)
	client := s.client()
	short := func(o *cache.Options) { o.Lease = 500 * time.Millisecond }
	writer, other := newReplica(t, s, short), newReplica(t, s, short)
	writer.get("product:1", "miss", "old", makes("old"))
	other.get("product:1", "hit", "old", fails)
	writer.BeginWrite(t.Context(), []string{"product:1"}) // never done
	stored := fmt.Sprintf("portico:reply:%x", key("product:1"))
	before, err := client.Get(t.Context(), stored).Result()
	if err != nil {
		t.Fatal(err)
	}
	unkept := 0
	for {
		value, outcome, _, err := other.Get(t.Context(), key("near product:1"), key("product:1"), []string{"catalog", "product:1"}, makes("new"))
		if err != nil || string(value) != "new" {
			t.Fatalf("%q, %s, %v", value, outcome, err)
		}
		if outcome != "bypass" {
			if outcome != "miss" {
				t.Errorf("outcome %s", outcome)
			}
			break
		}
		unkept++
		after, err := client.Get(t.Context(), stored).Result()
		if err != nil || after != before {
			t.Fatalf("stored while a change is under way: %v", err)
		}
	}
	if unkept == 0 {
		t.Error("the lease kept nothing from being stored")
	}
	if n, err := client.Exists(t.Context(), "portico:lease:{product:1}").Result(); n != 0 || err != nil {
		t.Errorf("stored although the lease is alive: %d, %v", n, err)
	}
	writer.get("product:1", "hit", "new", fails)
}

// TestSlowCommit commits when the lease is long over, and what another replica has
// stored since is old: it ends when the change is done.
func TestSlowCommit(t *testing.T) {
	s := startRedis(t)
	short := func(o *cache.Options) { o.Lease = 50 * time.Millisecond }
	writer, other := newReplica(t, s, short), newReplica(t, s, short)
	done := writer.BeginWrite(t.Context(), []string{"product:1"})
	for outcome := ""; outcome != "miss"; {
		var err error
		_, outcome, _, err = other.Get(t.Context(), key("near product:1"), key("product:1"), []string{"catalog", "product:1"}, makes("old"))
		if err != nil || (outcome != "miss" && outcome != "bypass") {
			t.Fatal(outcome, err)
		}
	}
	writer.get("product:1", "hit", "old", fails)
	done()
	for _, r := range []*replica{other, writer} {
		if got := r.serve("product:1", makes("new")); got != "new" {
			t.Errorf("%q is handed out", got)
		}
	}
}

// TestStaleOfOthers shows that memory does not stand in with what another replica
// has changed, even if the message about it was lost.
func TestStaleOfOthers(t *testing.T) {
	s := startRedis(t)
	r, client := newReplica(t, s, nil), s.client()
	r.get("product:1", "miss", "old", makes("old"))
	// Memory alone has it.
	if err := client.Del(t.Context(), fmt.Sprintf("portico:reply:%x", key("product:1"))).Err(); err != nil {
		t.Fatal(err)
	}
	r.get("product:1", "stale", "old", fails)
	if err := client.Set(t.Context(), "portico:gen:{product:1}", "another", 0).Err(); err != nil {
		t.Fatal(err)
	}
	value, outcome, _, err := r.Get(t.Context(), key("near product:1"), key("product:1"), []string{"catalog", "product:1"}, fails)
	if !errors.Is(err, errUpstream) {
		t.Errorf("%q, %s, %v; want the error of fill", value, outcome, err)
	}
}

// TestMemoryWithoutRedis empties memory when Redis is lost and when it is back,
// and lets it stand in for the upstream in between.
func TestMemoryWithoutRedis(t *testing.T) {
	t.Parallel()
	now, s := newClock(), startRedis(t)
	r := newReplica(t, s, func(o *cache.Options) {
		o.Now, o.MemoryTTL, o.Timeout = now.Now, time.Second, 100*time.Millisecond
	})
	near := func(want bool) {
		t.Helper()
		if _, ok := r.GetLocal(key("near product:1")); ok != want {
			t.Errorf("in memory: %v, want %v", ok, want)
		}
	}
	r.get("product:1", "miss", "1", makes("1"))
	near(true)
	if !r.HasUsable() {
		t.Error("nothing to answer with")
	}
	s.kill()
	r.await("open")
	near(false)
	if r.HasUsable() {
		t.Error("something to answer with, with Redis away and memory empty")
	}
	r.get("product:1", "bypass", "2", makes("2"))
	near(true)
	now.advance(time.Second)
	near(false)
	r.get("product:1", "stale", "2", fails)
	if !r.HasUsable() {
		t.Error("nothing to answer with")
	}
	r.get("product:1", "bypass", "3", makes("3"))
	s.start()
	r.await("closed")
	near(false)
	r.get("product:1", "miss", "4", makes("4"))
}

// TestPubSub ends what the memory of another replica holds.
func TestPubSub(t *testing.T) {
	s := startRedis(t)
	hour := func(o *cache.Options) { o.MemoryTTL = time.Hour }
	a, b := newReplica(t, s, hour), newReplica(t, s, hour)
	gone := func(name string) {
		t.Helper()
		for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
			if _, ok := b.GetLocal(key("near " + name)); !ok {
				return
			}
			if time.Now().After(deadline) {
				t.Fatal("memory does not forget it")
			}
		}
	}
	for _, name := range []string{"product:1", "product:2"} {
		a.get(name, "miss", "old", makes("old"))
		b.get(name, "hit", "old", fails)
	}
	done := a.BeginWrite(t.Context(), []string{"product:1"})
	done()
	gone("product:1")
	if _, ok := b.GetLocal(key("near product:2")); !ok {
		t.Error("another product was forgotten, too")
	}
	if err := a.Purge(t.Context()); err != nil {
		t.Error(err)
	}
	gone("product:2")
}

// TestStart begins without Redis, which comes later.
func TestStart(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	s.kill()
	r := newReplica(t, s, func(o *cache.Options) { o.Timeout = 100 * time.Millisecond })
	r.await("open")
	r.get("product:1", "bypass", "1", makes("1"))
	if err := r.Purge(t.Context()); err == nil {
		t.Error("a purge that reaches nobody is no error")
	}
	s.start()
	r.await("closed")
	r.get("product:1", "miss", "2", makes("2"))
	r.get("product:1", "hit", "2", fails)
}

// TestMissedDuringProbe changes something between the epoch that a probe begins
// and the closing of the breaker: the probe begins another.
func TestMissedDuringProbe(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	client, err := cache.Dial(s.url(), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	var r *replica
	probes := 0
	client.AddHook(afterPipeline(func(commands []redis.Cmder) {
		if len(commands) == 2 && commands[0].Args()[1] == "portico:gen:{all}" { // a new epoch
			if probes++; probes == 1 {
				done := r.BeginWrite(context.Background(), []string{"product:1"})
				done()
			}
		}
	}))
	r = newReplica(t, nil, func(o *cache.Options) { o.Redis = client })
	s.kill()
	r.await("open")
	s.start()
	r.await("closed")
	if n := r.count("portico_cache_epochs_total"); n != 2 || probes != 2 {
		t.Errorf("%v epochs, want 2", n)
	}
}

// afterPipeline is called after a pipeline was answered.
type afterPipeline func([]redis.Cmder)

func (afterPipeline) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (afterPipeline) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (after afterPipeline) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		err := next(ctx, commands)
		after(commands)
		return err
	}
}
