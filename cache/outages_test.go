package cache_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/portico-commerce/portico/cache"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
)

// mustGet returns the value of a name with any outcome. An error fails the test.
func (r *replica) mustGet(name string, fill cache.Fill) string {
	r.tb.Helper()
	value, outcome, _, err := r.Get(r.tb.Context(), key("near "+name), key(name), []string{"catalog", name}, fill)
	if err != nil {
		r.tb.Errorf("%s: %s, %v", name, outcome, err)
	}
	return string(value)
}

// An outage is a way in which Redis can fail and recover.
type outage struct {
	name       string
	begin, end func(s *apptest.Redis)
}

func outages() []outage {
	return []outage{
		{"killed, restarted with its data", func(s *apptest.Redis) { s.Command("SAVE"); s.Kill() }, (*apptest.Redis).Start},
		{"killed, restarted empty", func(s *apptest.Redis) { s.Command("SAVE"); s.Kill(); s.DeleteData() }, (*apptest.Redis).Start},
		{"paused", (*apptest.Redis).Pause, (*apptest.Redis).Resume},
	}
}

// TestOutages writes while Redis is unavailable. No call fails, and after they have
// noticed the outage neither the writing replica nor an idle one returns the reply cached
// before.
func TestOutages(t *testing.T) {
	for _, f := range outages() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			s := startRedis(t)
			quick := func(o *cache.Options) { o.Timeout = time.Second } // a busy machine answers later than in 100ms
			writer, idle := newReplica(t, s, quick), newReplica(t, s, quick)
			writer.get("product:1", "miss", "old", fillWith("old"))
			idle.get("product:1", "hit", "old", failingFill)
			f.begin(s)
			done := writer.BeginWrite(t.Context(), []string{"product:1"})
			done()
			for range 100 {
				if got := writer.mustGet("product:1", fillWith("new")); got != "new" {
					t.Fatalf("%q while Redis is unavailable", got)
				}
			}
			writer.awaitState("open")
			idle.awaitState("open") // without any call
			f.end(s)
			writer.awaitState("closed")
			if got := writer.mustGet("product:1", fillWith("new")); got != "new" {
				t.Errorf("the writer returns %q", got)
			}
			idle.awaitState("closed")
			if got := idle.mustGet("product:1", fillWith("new")); got != "new" {
				t.Errorf("the idle replica returns %q", got)
			}
			// Replies are stored again once each replica has received the other's epoch.
			testenv.Await(t, "the reply stored by the other replica", func() bool {
				writer.mustGet("product:2", fillWith("two"))
				value, outcome, _, err := idle.Get(t.Context(), key("near product:2"), key("product:2"), []string{"catalog", "product:2"}, failingFill)
				return err == nil && outcome == "hit" && string(value) == "two"
			})
			for _, r := range []*replica{writer, idle} {
				if n := r.count("portico_cache_epochs_total"); n < 1 {
					t.Errorf("%v epochs", n)
				}
			}
		})
	}
}

// TestRestartIsNoticed restarts Redis with old data as fast as possible. An idle replica
// that did not receive a write's message notices the restart by the loss of its
// subscription.
func TestRestartIsNoticed(t *testing.T) {
	s := startRedis(t)
	writer, idle := newReplica(t, s, nil), newReplica(t, s, nil)
	writer.get("product:1", "miss", "old", fillWith("old"))
	idle.get("product:1", "hit", "old", failingFill)
	s.Command("SAVE")
	done := writer.BeginWrite(t.Context(), []string{"product:1"})
	done()
	s.Kill()
	s.Start()
	for _, r := range []*replica{idle, writer} {
		if got := r.mustGet("product:1", fillWith("new")); got != "new" {
			t.Errorf("got %q", got)
		}
	}
}

// TestRestartRestoresOldData checks that a restart with data restores the old reply, so
// that TestOutages can fail.
func TestRestartRestoresOldData(t *testing.T) {
	s := startRedis(t)
	newReplica(t, s, nil).get("product:1", "miss", "old", fillWith("old"))
	s.Command("SAVE")
	s.Kill()
	s.Start()
	newReplica(t, s, nil).get("product:1", "hit", "old", failingFill)
}

// TestLease kills a writer between its commit and the end of the write. The other replica
// returns no old reply, and stores nothing until the lease expires.
func TestLease(t *testing.T) {
	s := startRedis(t)
	client := redisClient(t, s)
	short := func(o *cache.Options) { o.Lease = 500 * time.Millisecond }
	writer, other := newReplica(t, s, short), newReplica(t, s, short)
	writer.get("product:1", "miss", "old", fillWith("old"))
	other.get("product:1", "hit", "old", failingFill)
	writer.BeginWrite(t.Context(), []string{"product:1"}) // done is never called
	stored := writer.RedisKey(key("product:1"))
	before, err := client.Get(t.Context(), stored).Result()
	if err != nil {
		t.Fatal(err)
	}
	unkept := 0
	for {
		value, outcome, _, err := other.Get(t.Context(), key("near product:1"), key("product:1"), []string{"catalog", "product:1"}, fillWith("new"))
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
			t.Fatalf("stored while a write is in progress: %v", err)
		}
	}
	if unkept == 0 {
		t.Error("the lease did not prevent storing")
	}
	if n, err := client.Exists(t.Context(), "portico:lease:{product:1}").Result(); n != 0 || err != nil {
		t.Errorf("stored although the lease has not expired: %d, %v", n, err)
	}
	writer.get("product:1", "hit", "new", failingFill)
}

// TestSlowCommit commits after the lease has expired. The end of the write invalidates old
// replies that another replica has stored since.
func TestSlowCommit(t *testing.T) {
	s := startRedis(t)
	short := func(o *cache.Options) { o.Lease = 50 * time.Millisecond }
	writer, other := newReplica(t, s, short), newReplica(t, s, short)
	done := writer.BeginWrite(t.Context(), []string{"product:1"})
	for outcome := ""; outcome != "miss"; {
		var err error
		_, outcome, _, err = other.Get(t.Context(), key("near product:1"), key("product:1"), []string{"catalog", "product:1"}, fillWith("old"))
		if err != nil || (outcome != "miss" && outcome != "bypass") {
			t.Fatal(outcome, err)
		}
	}
	writer.get("product:1", "hit", "old", failingFill)
	done()
	for _, r := range []*replica{other, writer} {
		if got := r.mustGet("product:1", fillWith("new")); got != "new" {
			t.Errorf("got %q", got)
		}
	}
}

// TestStaleAfterOthersWrite checks that memory returns no stale reply that another replica
// has invalidated, even if the message about the write was lost.
func TestStaleAfterOthersWrite(t *testing.T) {
	s := startRedis(t)
	r, client := newReplica(t, s, nil), redisClient(t, s)
	r.get("product:1", "miss", "old", fillWith("old"))
	// Only memory has the reply.
	if err := client.Del(t.Context(), r.RedisKey(key("product:1"))).Err(); err != nil {
		t.Fatal(err)
	}
	r.get("product:1", "stale", "old", failingFill)
	if err := client.Set(t.Context(), "portico:gen:{product:1}", "another", 0).Err(); err != nil {
		t.Fatal(err)
	}
	value, outcome, _, err := r.Get(t.Context(), key("near product:1"), key("product:1"), []string{"catalog", "product:1"}, failingFill)
	if !errors.Is(err, errUpstream) {
		t.Errorf("%q, %s, %v; want the error of fill", value, outcome, err)
	}
}

// TestMemoryWithoutRedis checks that memory is invalidated when Redis is lost and when it
// is back, and is used in between.
func TestMemoryWithoutRedis(t *testing.T) {
	t.Parallel()
	now, s := newClock(), startRedis(t)
	r := newReplica(t, s, func(o *cache.Options) { o.Now, o.MemoryTTL = now.Now, time.Second })
	near := func(want bool) {
		t.Helper()
		if _, ok := r.GetLocal(t.Context(), key("near product:1")); ok != want {
			t.Errorf("in memory: %v, want %v", ok, want)
		}
	}
	r.get("product:1", "miss", "1", fillWith("1"))
	near(true)
	if !r.HasUsable() {
		t.Error("nothing to answer with")
	}
	s.Kill()
	r.awaitState("open")
	near(false)
	if r.HasUsable() {
		t.Error("something to answer with, with Redis away and memory empty")
	}
	r.get("product:1", "bypass", "2", fillWith("2"))
	near(true)
	now.advance(time.Second)
	near(false)
	r.get("product:1", "stale", "2", failingFill)
	if !r.HasUsable() {
		t.Error("nothing to answer with")
	}
	r.get("product:1", "bypass", "3", fillWith("3"))
	s.Start()
	r.awaitState("closed")
	near(false)
	r.get("product:1", "miss", "4", fillWith("4"))
}

// TestPubSub checks that a write invalidates the memory of another replica.
func TestPubSub(t *testing.T) {
	s := startRedis(t)
	hour := func(o *cache.Options) { o.MemoryTTL = time.Hour }
	a, b := newReplica(t, s, hour), newReplica(t, s, hour)
	gone := func(name string) {
		t.Helper()
		testenv.Await(t, "memory to forget it", func() bool { _, ok := b.GetLocal(t.Context(), key("near "+name)); return !ok })
	}
	for _, name := range []string{"product:1", "product:2"} {
		a.get(name, "miss", "old", fillWith("old"))
		b.get(name, "hit", "old", failingFill)
	}
	done := a.BeginWrite(t.Context(), []string{"product:1"})
	done()
	gone("product:1")
	if _, ok := b.GetLocal(t.Context(), key("near product:2")); !ok {
		t.Error("another product was forgotten, too")
	}
	if err := a.Purge(t.Context()); err != nil {
		t.Error(err)
	}
	gone("product:2")
}

// TestStartWithoutRedis starts a replica before Redis.
func TestStartWithoutRedis(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	s.Kill()
	r := newReplica(t, s, nil)
	r.awaitState("open")
	r.get("product:1", "bypass", "1", fillWith("1"))
	if err := r.Purge(t.Context()); err == nil {
		t.Error("Purge without Redis returned no error")
	}
	s.Start()
	r.awaitState("closed")
	r.get("product:1", "miss", "2", fillWith("2"))
	r.get("product:1", "hit", "2", failingFill)
}

// TestMissedDuringProbe begins a write between the epoch of a probe and the closing of the
// breaker. The probe starts another epoch.
func TestMissedDuringProbe(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	client, err := cache.Dial(s.URL(), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	var r *replica
	probes := 0
	client.AddHook(afterPipeline(func(commands []redis.Cmder) {
		if len(commands) == 2 && commands[0].Args()[1] == "portico:gen:{all}" && commands[1].Err() == nil { // a new epoch
			if probes++; probes == 1 {
				done := r.BeginWrite(context.Background(), []string{"product:1"})
				done()
			}
		}
	}))
	r = newReplica(t, nil, func(o *cache.Options) { o.Redis = client })
	s.Kill()
	r.awaitState("open")
	s.Start()
	r.awaitState("closed")
	if n := r.count("portico_cache_epochs_total"); n != 2 || probes != 2 {
		t.Errorf("%v epochs, and %d that Redis has confirmed, want 2", n, probes)
	}
}

// afterPipeline is a hook that is called after each pipeline.
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
