// Package clock notices that the clock of the machine was set: by people, by a time server, or while
// the machine was asleep.
//
// # Principles
//
//  1. Durations within a process are measured with package time, which uses the monotonic clock. This
//     package is for times that outlive the process, or that others compare.
//  2. Readings are values, so that tests say what both clocks show.
//
// # How it is tested
//
// By the packages that use it, with clocks that are set forward and back.
package clock

import (
	"math"
	"time"
)

// A Reading is what the clock of the machine and the monotonic clock show at one moment.
type Reading struct {
	Time   time.Time
	Uptime time.Duration // since the process made the Clock
}

// A Clock reads both clocks. Now replaces that of the machine in tests.
type Clock struct {
	Now   func() time.Time
	began time.Time
}

// New returns the clocks of this process.
func New() Clock { return Clock{time.Now, time.Now()} }

// Read reads both clocks.
func (c Clock) Read() Reading { return Reading{c.Now().Round(0), time.Since(c.began)} }

// SetSince returns by how much the clock of the machine was set forward since an earlier reading of the
// process; it is negative if it was set back.
func (r Reading) SetSince(earlier Reading) time.Duration {
	return r.Time.Sub(earlier.Time) - (r.Uptime - earlier.Uptime)
}

// overlap is by how much the clocks of other machines may differ from this one's.
const overlap = 5 * time.Minute

// ChangesFrom returns the time from which to read what other machines have changed, if the last
// reading of changes began at last. It is zero, for everything, the first time, and if the
// clock was set since: the last reading may have missed changes then.
func (r Reading) ChangesFrom(last Reading) time.Time {
	if last.Time.IsZero() || r.SetSince(last).Abs() > overlap/2 {
		return time.Time{}
	}
	return last.Time.Add(-overlap)
}

// Age returns how long ago another process noted a time. A time that is more than skew in the future was
// noted before a clock was set back, and counts as very old.
func Age(now, noted time.Time, skew time.Duration) time.Duration {
	if age := now.Sub(noted); age > -skew {
		return age
	}
	return math.MaxInt64
}
