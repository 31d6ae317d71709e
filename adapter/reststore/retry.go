package reststore

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/portico-commerce/portico/adapter"
)

// maxBudget is the number of retries that can accumulate in the budget.
const maxBudget = 10

// A budget limits retries to a fraction of the requests, so that a backend that is down
// does not receive a multiple of the normal load. It is safe for concurrent use.
type budget struct {
	limiter  *rate.Limiter // its clock counts requests: one a second
	requests atomic.Int64
}

func newBudget(perRequest float64) *budget {
	if perRequest == 0 {
		return &budget{limiter: rate.NewLimiter(0, 0)}
	}
	return &budget{limiter: rate.NewLimiter(rate.Limit(perRequest), maxBudget)}
}

// spend reports whether a request may be retried.
func (b *budget) spend() bool { return b.limiter.AllowN(time.Unix(b.requests.Load(), 0), 1) }

// sendWithRetry sends a request and retries reads whose error is transient.
func (c *client) sendWithRetry(ctx context.Context, m *preparedRequest) (*response, error) {
	rules := c.connection.Retry
	c.budget.requests.Add(1)
	for attempt := 1; ; attempt++ {
		r, err := c.sendAuthorized(ctx, m)
		if err == nil || m.Method != http.MethodGet || attempt >= rules.Attempts || !isTransient(err) {
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
		if !c.budget.spend() {
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
