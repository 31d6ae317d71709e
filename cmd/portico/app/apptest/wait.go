package apptest

import (
	"testing"
	"time"

	"github.com/portico-commerce/portico/config/testenv"
)

// Poll calls done until it returns true, and reports whether it did so within the test's patience.
func Poll(t testing.TB, done func() bool) bool {
	t.Helper()
	pause := 10 * time.Millisecond
	for deadline := time.Now().Add(testenv.Patience(t)); !done(); time.Sleep(pause) {
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
	if !Poll(t, done) {
		t.Fatalf("waited in vain for %s", what)
	}
}
