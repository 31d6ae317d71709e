package testenv

import (
	"testing"
	"time"
)

// TestPatience checks that a test gives up before its binary is ended.
func TestPatience(t *testing.T) {
	t.Parallel()
	end, limited := t.Deadline()
	if got := Patience(t); got <= 0 || limited && time.Now().Add(2*got).After(end) {
		t.Errorf("a test that has to end at %s waits %s", end, got)
	}
}
