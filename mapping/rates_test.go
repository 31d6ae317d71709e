package mapping

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A clock shows what it was set to.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func newRates(t *testing.T, perSecond float64, burst int) (*consumerRates, *clock) {
	t.Helper()
	c := &clock{time.Unix(1_800_000_000, 0)}
	r, err := newConsumerRates(perSecond, burst, c.now)
	if err != nil {
		t.Fatal(err)
	}
	return r, c
}

// TestConsumerRates sends calls at given times; the wait of one that goes on is 0.
func TestConsumerRates(t *testing.T) {
	type call struct {
		after    time.Duration // since the call before
		consumer int64
		wait     int
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
		{"each consumer for itself", 1, 1, []call{{0, 1, 0}, {0, 2, 0}, {0, 1, 1}, {0, 2, 1}, {0, 3, 0}}},
		{"guests", 1, 1, []call{{0, 0, 0}, {0, 0, 0}, {0, 1, 0}, {0, 0, 0}, {0, 1, 1}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r, c := newRates(t, test.rate, test.burst)
			for i, call := range test.calls {
				c.at = c.at.Add(call.after)
				if wait, ok := r.take(call.consumer); wait != call.wait || ok != (call.wait == 0) {
					t.Errorf("call %d: wait %d, goes on %t, want %d", i+1, wait, ok, call.wait)
				}
			}
		})
	}
}

// TestConsumerRatesAtOnce: consumers that call for the first time, many times at
// once, get no more than their burst.
func TestConsumerRatesAtOnce(t *testing.T) {
	const consumers, burst, calls = 20, 5, 50
	r, _ := newRates(t, 1, burst)
	var allowed [consumers + 1]atomic.Int64
	var sending sync.WaitGroup
	for consumer := range int64(consumers) {
		for range calls {
			sending.Go(func() {
				if _, ok := r.take(consumer + 1); ok {
					allowed[consumer+1].Add(1)
				}
			})
		}
	}
	sending.Wait()
	for consumer := 1; consumer <= consumers; consumer++ {
		if got := allowed[consumer].Load(); got != burst {
			t.Errorf("consumer %d: %d calls went on, want %d", consumer, got, burst)
		}
	}
}

func TestConsumerRatesAreBounded(t *testing.T) {
	r, _ := newRates(t, 1, 1)
	for consumer := range int64(ratedConsumers + 100) {
		if _, ok := r.take(consumer + 1); !ok {
			t.Fatalf("the first call of consumer %d is refused", consumer+1)
		}
	}
	if got := r.byConsumer.Len(); got != ratedConsumers {
		t.Errorf("%d consumers are counted, want %d", got, ratedConsumers)
	}
	if _, ok := r.take(ratedConsumers + 100); ok {
		t.Error("the latest is not")
	}
}
