package cache

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/redis/go-redis/v9"
)

// TestBreakerOpensBeforeFirstFailure checks that calls that are rejected because Redis is
// unavailable can open the breaker, although no round trip has failed yet.
func TestBreakerOpensBeforeFirstFailure(t *testing.T) {
	state := ""
	r := &remote{log: slog.New(slog.DiscardHandler), invalidate: func(...string) {}, onState: func(to string) { state = to }}
	r.newBreaker()
	for range FailuresToOpen {
		finish, err := r.breaker.Allow()
		if err != nil {
			t.Fatal(err)
		}
		finish(errUnavailable)
	}
	if state != "open" {
		t.Errorf("the breaker is %q", state)
	}
	err := r.do(context.Background(), opChange, func(redis.Pipeliner) { t.Error("a round trip was made") })
	if !errors.Is(err, errUnavailable) {
		t.Errorf("got %v", err)
	}
}
