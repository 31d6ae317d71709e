package testenv

import (
	"testing"
	"time"
)

// Patience returns how long a test waits for what has to happen before it fails: a fifth of the time that
// its binary has left, or ten minutes if that time has no end. A busy machine then only delays a test.
func Patience(tb testing.TB) time.Duration {
	tb.Helper()
	if t, ok := tb.(interface{ Deadline() (time.Time, bool) }); ok {
		if end, limited := t.Deadline(); limited {
			return time.Until(end) / 5
		}
	}
	return 10 * time.Minute
}
