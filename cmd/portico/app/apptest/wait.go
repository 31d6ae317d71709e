package apptest

import (
	"testing"
	"time"
)

// Poll calls done until it returns true, and reports whether it did so in time.
func Poll(done func() bool) bool {
	pause := 10 * time.Millisecond
	for deadline := time.Now().Add(2 * WaitTimeout); !done(); time.Sleep(pause) {
		if time.Now().After(deadline) {
			return false
		}
		pause = min(2*pause, 200*time.Millisecond)
	}
	return true
}

// Await fails the test unless done returns true in time. what describes the condition.
func Await(t testing.TB, what string, done func() bool) {
	t.Helper()
	if !Poll(done) {
		t.Fatalf("waited %s for %s", 2*WaitTimeout, what)
	}
}
