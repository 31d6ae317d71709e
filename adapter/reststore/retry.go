package reststore

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/portico-commerce/portico/adapter"
)

// maxBudget is the number of retries that can accumulate in the budget.
const maxBudget = 10

// A budget limits retries to a fraction of the requests, so that a backend that is down
// does not receive a multiple of the normal load. It is safe for concurrent use.
type budget struct {
	mu         sync.Mutex
	perRequest float64
	tokens     float64
}

func (b *budget) earn() {
	b.mu.Lock()
	b.tokens = min(b.tokens+b.perRequest, maxBudget)
	b.mu.Unlock()
}

func (b *budget) spend() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.perRequest == 0 || b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}

// sendWithRetry sends a request and retries reads whose error is transient.
func (c *client) sendWithRetry(ctx context.Context, m *preparedRequest) (*response, error) {
	rules := c.connection.Retry
	c.budget.earn()
	for attempt := 1; ; attempt++ {
		r, err := c.sendAuthorized(ctx, m)
		if err == nil || m.Method != http.MethodGet || attempt >= rules.Attempts || !isTransient(err) {
			return r, err
		}
		pause := backoff(rules, attempt)
		var known *adapter.Error
		if errors.As(err, &known) && known.RetryAfter > 0 {
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
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		}
		c.metrics.retries.WithLabelValues("sent").Inc()
	}
}

// isTransient reports whether repeating a request may succeed: the backend was
// unreachable, did not send a complete response in time, or reported a temporary status.
func isTransient(err error) bool {
	var said *responseError
	if errors.As(err, &said) {
		return said.err.Kind == adapter.Unavailable && (said.status == http.StatusTooManyRequests || said.status == http.StatusTooEarly ||
			said.status == http.StatusRequestTimeout || said.status >= 500)
	}
	return adapter.KindOf(err) == adapter.Unavailable
}

// backoff returns the pause before the next attempt. It doubles with every attempt, and
// half of it is random.
func backoff(rules retry, attempt int) time.Duration {
	most := min(rules.Wait<<(attempt-1), rules.MaxWait)
	return most/2 + rand.N(most/2+1)
}
