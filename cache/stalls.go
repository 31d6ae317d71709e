package cache

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

const (
	// minBeat and maxBeat bound the interval at which a stallMeter looks at the clock.
	minBeat, maxBeat = 5 * time.Millisecond, 50 * time.Millisecond
	// beatsPerTimeout is how many beats there are in the time that a round trip may take.
	beatsPerTimeout = 10
	// rememberedStalls is the number of stalls that a stallMeter remembers.
	rememberedStalls = 64
)

// A stallMeter measures when this process did not run, because other processes or its own
// goroutines took the processors or because it was stopped. It wakes up at an interval: if it
// wakes up late, then whatever waited for a reply meanwhile would have been late, too.
type stallMeter struct {
	mu       sync.Mutex
	interval time.Duration // 0 until the meter runs
	last     time.Time     // the last beat
	stalls   [rememberedStalls]stall
	next     int
}

// A stall is a time during which the process did not run.
type stall struct{ from, to time.Time }

// run measures until ctx ends.
func (m *stallMeter) run(ctx context.Context, timeout time.Duration) {
	interval := min(max(timeout/beatsPerTimeout, minBeat), maxBeat)
	m.mu.Lock()
	m.interval, m.last = interval, time.Now()
	m.mu.Unlock()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			m.beat(time.Now())
		}
	}
}

// beat records that the process runs.
func (m *stallMeter) beat(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if due := m.last.Add(m.interval); now.Sub(due) > m.interval { // twice the interval: late
		m.stalls[m.next] = stall{due, now}
		m.next = (m.next + 1) % rememberedStalls
	}
	m.last = now
}

// within returns for how long the process did not run between two times.
func (m *stallMeter) within(from, to time.Time) (total time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.interval == 0 {
		return 0
	}
	overlap := func(s stall) {
		if s.from.Before(from) {
			s.from = from
		}
		if s.to.After(to) {
			s.to = to
		}
		total += max(s.to.Sub(s.from), 0)
	}
	for _, s := range m.stalls {
		overlap(s)
	}
	if due := m.last.Add(m.interval); to.Sub(due) > m.interval { // the next beat is late
		overlap(stall{due, to})
	}
	return total
}

// explain reports whether err, of a round trip that may have taken the time limit, is a timeout of
// this process instead of Redis: the process did not run for half of the limit, or its clock
// struck so late.
func (m *stallMeter) explain(err error, start, end time.Time, limit time.Duration) bool {
	if !isTimeout(err) {
		return false
	}
	return end.Sub(start)-limit >= limit/2 || m.within(start, end) >= limit/2
}

// isTimeout reports whether err says that there was no reply in time.
func isTimeout(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return true
	}
	timeout := net.Error(nil)
	return errors.As(err, &timeout) && timeout.Timeout()
}
