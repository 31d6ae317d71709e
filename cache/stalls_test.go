package cache

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"
)

// TestStallMeter decides of timeouts whether Redis or this process was late, on a clock of its own.
func TestStallMeter(t *testing.T) {
	const limit, beat = 100 * time.Millisecond, 10 * time.Millisecond
	start := time.Now()
	late := fmt.Errorf("read: %w", os.ErrDeadlineExceeded)
	for _, tt := range []struct {
		name  string
		beats []time.Duration // since the start of the round trip
		took  time.Duration
		err   error
		ours  bool
	}{
		{"beats are on time", every(beat, limit), limit, late, false},
		{"beats are a little late", every(15*time.Millisecond, limit), limit, late, false},
		{"no beat for most of the time", []time.Duration{0, 80 * time.Millisecond, 90 * time.Millisecond, limit}, limit, late, true},
		{"no beat for a fifth of the time", append([]time.Duration{0, 30 * time.Millisecond}, after(30*time.Millisecond, every(beat, limit))...), limit, late, false},
		{"several short stalls", []time.Duration{0, 35 * time.Millisecond, 70 * time.Millisecond, limit}, limit, late, true},
		{"no beat until now", []time.Duration{0, beat, 2 * beat}, limit, late, true},
		{"no beat before the round trip", []time.Duration{-time.Second, 0, beat, 2 * beat, 3 * beat, 4 * beat, 5 * beat, 6 * beat, 7 * beat, 8 * beat, 9 * beat, limit}, limit, late, false},
		{"the process was stopped", []time.Duration{0, 2 * time.Second}, 2 * time.Second, context.DeadlineExceeded, true},
		{"another error", []time.Duration{0, 80 * time.Millisecond, limit}, limit, errors.New("connection refused"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := &stallMeter{interval: beat, last: start.Add(tt.beats[0])}
			for _, at := range tt.beats[1:] {
				m.beat(start.Add(at))
			}
			if got := m.explain(tt.err, start, start.Add(tt.took), limit); got != tt.ours {
				t.Errorf("explained by this process: %t, want %t; stalled %s", got, tt.ours, m.within(start, start.Add(tt.took)))
			}
		})
	}
	t.Run("before it runs", func(t *testing.T) {
		m := &stallMeter{}
		if m.within(start, start.Add(time.Hour)) != 0 {
			t.Error("a stall")
		}
	})
}

// every returns the times at an interval until a time.
func every(interval, until time.Duration) (times []time.Duration) {
	for at := time.Duration(0); at <= until; at += interval {
		times = append(times, at)
	}
	return times
}

// after returns the times after one of them.
func after(one time.Duration, times []time.Duration) (later []time.Duration) {
	for _, at := range times {
		if at > one {
			later = append(later, at)
		}
	}
	return later
}
