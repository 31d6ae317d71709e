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

// fullBudget is how many retries there may be at once after a time without any.
const maxBudget = 10

// A budget bounds retries to a part of the requests, so that a backend that is down
// does not get a multiple of them. It is safe for concurrent use.
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

// deliver sends a message. Reads are sent again when that may help.
func (c *client) sendWithRetry(ctx context.Context, m *preparedRequest) (*response, error) {
	rules := c.connection.retry
	c.budget.earn()
	for attempt := 1; ; attempt++ {
		r, err := c.sendAuthorized(ctx, m)
		if err == nil || m.method != http.MethodGet || attempt >= rules.attempts || !isTransient(err) {
			return r, err
		}
		pause := backoff(rules, attempt)
		var known *adapter.Error
		if errors.As(err, &known) && known.RetryAfter > 0 {
			pause = known.RetryAfter
		}
		// A pause that is too long, or longer than the caller has time, is left to the
		// caller, who is told of it at once.
		if deadline, limited := ctx.Deadline(); pause > rules.maxWait || limited && time.Until(deadline) <= pause {
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

// passing reports whether an error may be gone the next time: the backend was not
// reached, did not answer whole or in time, or said that it is busy.
func isTransient(err error) bool {
	var said *responseError
	if errors.As(err, &said) {
		return said.err.Kind == adapter.Unavailable && (said.status == http.StatusTooManyRequests || said.status == http.StatusTooEarly ||
			said.status == http.StatusRequestTimeout || said.status >= 500)
	}
	return adapter.KindOf(err) == adapter.Unavailable
}

// backoff returns a pause that doubles with every attempt, of which a half is random.
func backoff(rules retry, attempt int) time.Duration {
	most := min(rules.wait<<(attempt-1), rules.maxWait)
	return most/2 + rand.N(most/2+1)
}
