package adapter

import (
	"math"
	"time"
)

// A ClockReading holds the times of the machine's clock and the monotonic clock at one moment.
type ClockReading struct {
	Time   time.Time
	Uptime time.Duration // since the process made the Clock
}

// A Clock reads both clocks. Tests replace Now, which reads the machine's clock.
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

// clockOverlap is the greatest difference between this machine's clock and the clocks of others.
const clockOverlap = 5 * time.Minute

// ChangesFrom returns the time from which to read the changes of other machines, if the last
// reading of changes began at last. It returns the zero time, which stands for all changes, for the
// first reading and if the clock was set since last: that reading may have missed changes.
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
