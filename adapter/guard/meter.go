package guard

import (
	"context"
	"sync/atomic"
	"time"
)

// A Meter sums the time of the calls that guards send to their upstreams with one context. The
// zero value is ready for use, also by several calls at once.
type Meter struct{ nanoseconds atomic.Int64 }

// Time returns the sum of the calls that have returned. Concurrent calls all count.
func (m *Meter) Time() time.Duration { return time.Duration(m.nanoseconds.Load()) }

type meterKey struct{}

// WithMeter returns a context whose calls are timed by m.
func WithMeter(ctx context.Context, m *Meter) context.Context {
	return context.WithValue(ctx, meterKey{}, m)
}

// measure adds the time of a call to the meter of ctx, if it has one.
func measure(ctx context.Context, took time.Duration) {
	if m, ok := ctx.Value(meterKey{}).(*Meter); ok {
		m.nanoseconds.Add(int64(took))
	}
}
