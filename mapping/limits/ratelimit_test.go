package limits

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A clock is a settable clock.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func newLimiter(t *testing.T, perSecond float64, burst int) (*Limiter[int64], *clock) {
	t.Helper()
	c := &clock{time.Unix(1_800_000_000, 0)}
	r, err := NewLimiter[int64](perSecond, burst, c.now)
	if err != nil {
		t.Fatal(err)
	}
	return r, c
}

// TestTake makes calls at given times; a wait of 0 means allowed.
func TestTake(t *testing.T) {
	type call struct {
		after  time.Duration // since the call before
		caller int64
		wait   int
	}
	const ms = time.Millisecond
	tests := []struct {
		name  string
		rate  float64
		burst int
		calls []call
	}{
		{"off", 0, 1, []call{{0, 1, 0}, {0, 1, 0}, {0, 1, 0}}},
		{"burst", 10, 3, []call{{0, 1, 0}, {0, 1, 0}, {0, 1, 0}, {0, 1, 1}}},
		{"a refused call is not counted", 1, 1, []call{{0, 1, 0}, {500 * ms, 1, 1}, {500 * ms, 1, 0}}},
		{"whole seconds, never too few", 0.25, 1, []call{{0, 1, 0}, {0, 1, 4}, {1 * ms, 1, 4}, {999 * ms, 1, 3}, {2999 * ms, 1, 1}, {1 * ms, 1, 0}}},
		{"slowest", 0.0001, 1, []call{{0, 1, 0}, {0, 1, 10_000}}},
		{"no more than a burst is saved", 2, 2, []call{{0, 1, 0}, {time.Hour, 1, 0}, {0, 1, 0}, {0, 1, 1}}},
		{"each caller by itself", 1, 1, []call{{0, 1, 0}, {0, 2, 0}, {0, 1, 1}, {0, 2, 1}, {0, 3, 0}}},
		{"callers that are not counted", 1, 1, []call{{0, 0, 0}, {0, 0, 0}, {0, 1, 0}, {0, 0, 0}, {0, 1, 1}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r, c := newLimiter(t, test.rate, test.burst)
			for i, call := range test.calls {
				c.at = c.at.Add(call.after)
				if wait, ok := r.Take(call.caller); wait != call.wait || ok != (call.wait == 0) {
					t.Errorf("call %d: wait %d, goes on %t, want %d", i+1, wait, ok, call.wait)
				}
			}
		})
	}
}

// TestTakeConcurrently checks that callers that make their first calls concurrently get no more
// than their burst.
func TestTakeConcurrently(t *testing.T) {
	const callers, burst, calls = 20, 5, 50
	r, _ := newLimiter(t, 1, burst)
	var allowed [callers + 1]atomic.Int64
	var sending sync.WaitGroup
	for caller := range int64(callers) {
		for range calls {
			sending.Go(func() {
				if _, ok := r.Take(caller + 1); ok {
					allowed[caller+1].Add(1)
				}
			})
		}
	}
	sending.Wait()
	for caller := 1; caller <= callers; caller++ {
		if got := allowed[caller].Load(); got != burst {
			t.Errorf("caller %d: %d calls went on, want %d", caller, got, burst)
		}
	}
}

// TestGiveBack checks that a call that is undone leaves the bucket as it was before.
func TestGiveBack(t *testing.T) {
	r, c := newLimiter(t, 1, 2)
	r.GiveBack(1) // has never called
	for i := range 5 {
		if _, ok := r.Take(1); !ok {
			t.Fatalf("call %d is refused", i+1)
		}
		r.GiveBack(1)
	}
	for i, want := range []bool{true, true, false} {
		if _, ok := r.Take(1); ok != want {
			t.Errorf("call %d goes on: %t", i+1, ok)
		}
	}
	r.GiveBack(1)
	for i, want := range []bool{true, false} {
		if _, ok := r.Take(1); ok != want {
			t.Errorf("call %d after one was undone goes on: %t", i+1, ok)
		}
	}
	c.at = c.at.Add(time.Hour)
	r.Take(1)
	for range 5 {
		r.GiveBack(1)
	}
	for i, want := range []bool{true, true, false} {
		if _, ok := r.Take(1); ok != want {
			t.Errorf("call %d after more were undone than taken goes on: %t", i+1, ok)
		}
	}
	unlimited, _ := newLimiter(t, 0, 1)
	unlimited.GiveBack(1)
}

func TestNetwork(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.1": "192.0.2.1/32", "::ffff:192.0.2.1": "192.0.2.1/32", "2001:db8:1:2:3::4": "2001:db8:1:2::/64", "fe80::1%eth0": "fe80::/64", "": "invalid Prefix", "x": "invalid Prefix",
	} {
		if got := Network(address).String(); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}

func TestBoundedMemory(t *testing.T) {
	r, _ := newLimiter(t, 1, 1)
	for caller := range int64(maxCallers + 100) {
		if _, ok := r.Take(caller + 1); !ok {
			t.Fatalf("the first call of caller %d is refused", caller+1)
		}
	}
	if got := r.buckets.Len(); got != maxCallers {
		t.Errorf("%d callers are counted, want %d", got, maxCallers)
	}
	if _, ok := r.Take(maxCallers + 100); ok {
		t.Error("the latest is not")
	}
}
