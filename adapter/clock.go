package adapter

import (
	"math"
	"time"
)

// A ClockReading is what the clock of the machine and the monotonic clock show at one moment.
type ClockReading struct {
	Time   time.Time
	Uptime time.Duration // since the process made the Clock
}

// A Clock reads both clocks. Now replaces that of the machine in tests.
type Clock struct {
	Now   func() time.Time
	began time.Time
}

// NewClock returns the clocks of this process.
func NewClock() Clock { return Clock{time.Now, time.Now()} }

// Read reads both clocks.
func (c Clock) Read() ClockReading { return ClockReading{c.Now().Round(0), time.Since(c.began)} }

// SetSince returns by how much the clock of the machine was set forward since an earlier reading of the
// process; it is negative if it was set back.
func (r ClockReading) SetSince(earlier ClockReading) time.Duration {
	return r.Time.Sub(earlier.Time) - (r.Uptime - earlier.Uptime)
}

// clockOverlap is by how much the clocks of other machines may differ from this one's.
const clockOverlap = 5 * time.Minute

// ChangesFrom returns the time from which to read what other machines have changed, if the last
// reading of changes began at last. It is zero, for everything, the first time, and if the
// clock was set since: the last reading may have missed changes then.
func (r ClockReading) ChangesFrom(last ClockReading) time.Time {
	if last.Time.IsZero() || r.SetSince(last).Abs() > clockOverlap/2 {
		return time.Time{}
	}
	return last.Time.Add(-clockOverlap)
}

// Age returns how long ago another process noted a time. A time that is more than skew in the future was
// noted before a clock was set back, and counts as very old.
func Age(now, noted time.Time, skew time.Duration) time.Duration {
	if age := now.Sub(noted); age > -skew {
		return age
	}
	return math.MaxInt64
}
