package cache_test

import (
	"bytes"
	"context"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/portico-commerce/portico/cache"
	"github.com/portico-commerce/portico/config/testenv"
)

// TestMemoryBound stores far more replies than fit into memory. The live heap grows by at
// most a fifth more than the limit, whatever the sizes and capacities of the values are.
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
			if !testenv.Nightly() {
				replies /= 4
			}
			before := liveHeap()
			r := newReplica(t, nil, func(o *cache.Options) { o.MemoryBytes = memory })
			storeReplies(t, r, replies, tt.value)
			if counted := r.count("portico_cache_bytes"); counted > memory || (counted < memory*8/10 && testenv.Nightly()) {
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

// storeReplies stores this number of replies in the replica.
func storeReplies(tb testing.TB, r *replica, replies int, value func(i int) []byte) {
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

// liveHeap returns the number of live bytes after a collection.
func liveHeap() int64 {
	runtime.GC()
	runtime.GC() // also frees memory that finalizers and pools retained
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// TestMaxValueInMemory checks that memory does not store a value that would take a large
// part of it.
func TestMaxValueInMemory(t *testing.T) {
	r := newReplica(t, nil, func(o *cache.Options) { o.MemoryBytes = 16_000 })
	fits, over := string(make([]byte, 1000)), string(make([]byte, 1001))
	r.get("over", "bypass", over, fillWith(over))
	r.get("fits", "miss", fits, fillWith(fits))
	r.get("fits", "hit", fits, failingFill)
}

// TestGetLocalDoesNotAllocate counts allocations of GetLocal.
func TestGetLocalDoesNotAllocate(t *testing.T) {
	r := newReplica(t, nil, nil)
	r.get("a", "miss", "value", fillWith("value"))
	near := key("near a")
	if n := testing.AllocsPerRun(1000, func() { r.GetLocal(t.Context(), near) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestClose checks that Close leaves no goroutine and no connection, with and without
// Redis.
func TestClose(t *testing.T) {
	s := startRedis(t)
	for _, away := range []bool{false, true} {
		before := runtime.NumGoroutine()
		client, err := cache.Dial(s.URL(), 100*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		if away {
			s.Pause()
		}
		t.Run(map[bool]string{false: "there", true: "away"}[away], func(t *testing.T) {
			r := newReplica(t, nil, func(o *cache.Options) { o.Redis, o.Timeout = client, 100*time.Millisecond })
			r.mustGet("a", fillWith("value"))
		}) // closed
		if !testenv.Poll(t, func() bool { return runtime.NumGoroutine() <= before }) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
		if away {
			s.Resume()
		}
	}
}
