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

// Poll calls done until it returns true, and reports whether it did so within [Patience].
func Poll(tb testing.TB, done func() bool) bool {
	tb.Helper()
	pause := time.Millisecond
	for deadline := time.Now().Add(Patience(tb)); !done(); time.Sleep(pause) {
		if time.Now().After(deadline) {
			return false
		}
		pause = min(2*pause, 100*time.Millisecond)
	}
	return true
}

// Await fails the test unless done returns true within [Patience]. what describes the condition.
func Await(tb testing.TB, what string, done func() bool) {
	tb.Helper()
	if !Poll(tb, done) {
		tb.Fatalf("waited in vain for %s", what)
	}
}

// Receive returns the next value of a channel, which is the zero value if the channel is closed. It fails the
// test unless there is one within [Patience]. what describes the value.
func Receive[T any](tb testing.TB, what string, values <-chan T) T {
	tb.Helper()
	timer := time.NewTimer(Patience(tb))
	defer timer.Stop()
	select {
	case value := <-values:
		return value
	case <-timer.C:
		tb.Fatalf("waited in vain for %s", what)
		panic("unreachable") // Fatalf ends the goroutine
	}
}
