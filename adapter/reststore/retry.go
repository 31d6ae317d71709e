package reststore

import (
	"context"
	"errors"
	"github.com/portico-commerce/portico/adapter"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"
)

// sendWithRetry sends a request and retries reads whose error is transient.
func (c *client) sendWithRetry(ctx context.Context, m *preparedRequest) (*response, error) {
	rules := c.connection.Retry
	c.budget.Request()
	for attempt := 1; ; attempt++ {
		r, err := c.sendAuthorized(ctx, m)
		if err == nil || !m.reads() || attempt >= rules.Attempts || !isTransient(err) {
			return r, err
		}
		pause := backoff(rules, attempt)
		if known, ok := errors.AsType[*adapter.Error](err); ok && known.RetryAfter > 0 {
			pause = known.RetryAfter
		}
		// Return immediately if the pause is too long or would exceed the caller's deadline.
		if deadline, limited := ctx.Deadline(); pause > rules.MaxWait || limited && time.Until(deadline) <= pause {
			c.metrics.retries.WithLabelValues("wait").Inc()
			return nil, err
		}
		if !c.budget.Spend() {
			c.metrics.retries.WithLabelValues("budget").Inc()
			return nil, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		c.metrics.retries.WithLabelValues("sent").Inc()
	}
}

// isTransient reports whether repeating a request may succeed: the backend was
// unreachable, did not send a complete response in time, or reported a temporary status.
func isTransient(err error) bool {
	said, ok := errors.AsType[*responseError](err)
	return adapter.KindOf(err) == adapter.Unavailable && (!ok || said.status >= 500 ||
		slices.Contains([]int{http.StatusTooManyRequests, http.StatusTooEarly, http.StatusRequestTimeout}, said.status))
}

// backoff returns the pause before the next attempt. It doubles with every attempt, and
// half of it is random.
func backoff(rules retry, attempt int) time.Duration {
	most := min(rules.Wait<<(attempt-1), rules.MaxWait)
	return most/2 + rand.N(most/2+1)
}
