package cache

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/redis/go-redis/v9"
)

// TestBreakerOpensBeforeTheFirstFailure: calls that are refused because Redis is away
// open the breaker, though none of them has an error of Redis to tell.
func TestBreakerOpensBeforeTheFirstFailure(t *testing.T) {
	state := ""
	r := &remote{log: slog.New(slog.DiscardHandler), ended: func(...string) {}, onState: func(to string) { state = to }}
	r.newBreaker()
	for range FailuresToOpen {
		finish, err := r.breaker.Allow()
		if err != nil {
			t.Fatal(err)
		}
		finish(errAway)
	}
	if state != "open" {
		t.Errorf("the breaker is %q", state)
	}
	err := r.do(context.Background(), opChange, func(redis.Pipeliner) { t.Error("Redis was asked") })
	if !errors.Is(err, errAway) {
		t.Errorf("got %v", err)
	}
}
