package reststore

import (
	"testing"
	"time"
)

// TestAfter parses values of Retry-After.
func TestAfter(t *testing.T) {
	now := time.Date(2026, 11, 22, 10, 0, 0, 5, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "3": 3 * time.Second, " 3 ": 3 * time.Second, "-3": 0, "1e3": 0, "99999999": 24 * time.Hour,
		"Sun, 22 Nov 2026 10:00:30 GMT": 30 * time.Second, "Sun, 22 Nov 2026 09:00:00 GMT": 0, "Sun, 22 Nov 2027 09:00:00 GMT": 24 * time.Hour,
	} {
		if got := after(value, now); got != want {
			t.Errorf("%q: %s, want %s", value, got, want)
		}
	}
}
