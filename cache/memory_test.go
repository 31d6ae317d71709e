package cache_test

import (
	"bytes"
	"context"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/portico-commerce/portico/cache"
	"github.com/portico-commerce/portico/contracttests/nightly"
)

// TestMemoryBound offers far more replies than memory may keep. What is live
// after a collection, less what was before, is at most a fifth more than that,
// whatever the sizes are, and however much room a value has behind it.
func TestMemoryBound(t *testing.T) {
	tests := []struct {
		name    string
		replies int
		value   func(i int) []byte
	}{
		{"4 KB", 100_000, func(int) []byte { return make([]byte, 4096) }},
		{"4 KB in as much again", 100_000, func(int) []byte { return make([]byte, 4096, 8192) }},
		{"100 bytes", 250_000, func(int) []byte { return make([]byte, 100) }},
		{"of all sizes", 20_000, func(i int) []byte { return bytes.Repeat([]byte{'x'}, i) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			const memory = 64 << 20
			replies := tt.replies
			if !nightly.Whole() {
				replies /= 4
			}
			before := liveHeap()
			r := newReplica(t, nil, func(o *cache.Options) { o.MemoryBytes = memory })
			offer(t, r, replies, tt.value)
			if counted := r.count("portico_cache_bytes"); counted > memory || (counted < memory*8/10 && nightly.Whole()) {
				t.Errorf("%v bytes counted", counted)
			}
			live, entries := liveHeap()-before, r.count("portico_cache_entries")
			t.Logf("%v entries, %.3f of cache.memory_bytes is live", entries, float64(live)/memory)
			if live > memory*12/10 {
				t.Errorf("%d bytes live, more than %d", live, memory*12/10)
			}
			runtime.KeepAlive(r)
		})
	}
}

// offer fills the replica with as many replies.
func offer(tb testing.TB, r *replica, replies int, value func(i int) []byte) {
	for i := range replies {
		name := strconv.Itoa(i)
		_, outcome, _, err := r.Get(tb.Context(), key(name), key(name), []string{"catalog", name}, func(context.Context, [16]byte) ([]byte, time.Duration, error) {
			return value(i), time.Hour, nil
		})
		if err != nil || outcome != "miss" {
			tb.Fatal(outcome, err)
		}
	}
}

// liveHeap returns the bytes that are live after a collection.
func liveHeap() int64 {
	runtime.GC()
	runtime.GC() // what finalizers and pools held back
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// TestLargeForMemory keeps a value out of memory that would take a good part of
// it.
func TestLargeForMemory(t *testing.T) {
	r := newReplica(t, nil, func(o *cache.Options) { o.MemoryBytes = 16_000 })
	fits, over := string(make([]byte, 1000)), string(make([]byte, 1001))
	r.get("over", "bypass", over, makes(over))
	r.get("fits", "miss", fits, makes(fits))
	r.get("fits", "hit", fits, fails)
}

// TestNearAllocates nothing.
func TestNearAllocates(t *testing.T) {
	r := newReplica(t, nil, nil)
	r.get("a", "miss", "value", makes("value"))
	near := key("near a")
	if n := testing.AllocsPerRun(1000, func() { r.GetLocal(near) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestClose leaves no goroutine and no connection behind, whether Redis is there
// or not.
func TestClose(t *testing.T) {
	s := startRedis(t)
	for _, away := range []bool{false, true} {
		before := runtime.NumGoroutine()
		client, err := cache.Dial(s.url(), 100*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		if away {
			s.pause()
		}
		t.Run(map[bool]string{false: "there", true: "away"}[away], func(t *testing.T) {
			r := newReplica(t, nil, func(o *cache.Options) { o.Redis, o.Timeout = client, 100*time.Millisecond })
			r.serve("a", makes("value"))
		}) // closed
		for deadline := time.Now().Add(30 * time.Second); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				stacks := make([]byte, 1<<20)
				t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
			}
		}
		if away {
			s.resume()
		}
	}
}
