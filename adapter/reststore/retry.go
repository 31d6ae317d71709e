package reststore

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/portico-commerce/portico/adapter"
)

// sendWithRetry sends a request and retries reads whose error is transient, and any request whose
// error a rule of the mapping allows to repeat.
func (c *client) sendWithRetry(ctx context.Context, m *preparedRequest) (*response, error) {
	rules := c.connection.Retry
	c.budget.Request()
	for attempt := 1; ; attempt++ {
		r, err := c.sendAuthorized(ctx, m)
		if err == nil || attempt >= rules.Attempts || !(m.reads() && isTransient(err) || mayRepeat(err)) {
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

// mayRepeat reports whether a rule of the mapping allows to repeat the request, be it a write.
func mayRepeat(err error) bool {
	said, ok := errors.AsType[*responseError](err)
	return ok && said.repeats
}

// backoff returns the pause before the next attempt. It doubles with every attempt, and
// half of it is random.
func backoff(rules retry, attempt int) time.Duration {
	most := min(rules.Wait<<(attempt-1), rules.MaxWait)
	return most/2 + rand.N(most/2+1)
}

// maxBudget is the number of retries that can accumulate in the budget.
const maxBudget = 10

// A budget limits retries to a fraction of the requests, so that a backend that is down
// does not receive a multiple of the normal load. It is safe for concurrent use.
type budget struct {
	limiter  *rate.Limiter // its clock counts requests: one a second
	requests atomic.Int64
}

// New returns a budget of so many retries per request, on average.
func New(perRequest float64) *budget {
	if perRequest == 0 {
		return &budget{limiter: rate.NewLimiter(0, 0)}
	}
	return &budget{limiter: rate.NewLimiter(rate.Limit(perRequest), maxBudget)}
}

// Spend reports whether a request may be retried.
func (b *budget) Spend() bool { return b.limiter.AllowN(time.Unix(b.requests.Load(), 0), 1) }

// Request counts a request.
func (b *budget) Request() { b.requests.Add(1) }

// after parses the value of a Retry-After header: seconds or a date. The result is
// rounded up to whole seconds and cut to a day. It is 0 for a time that has passed and for
// a value that is neither.
func after(value string, now time.Time) time.Duration {
	const most = 24 * time.Hour
	if seconds, err := strconv.ParseUint(strings.TrimSpace(value), 10, 32); err == nil {
		return min(time.Duration(seconds)*time.Second, most)
	}
	at, err := http.ParseTime(value)
	if err != nil || !at.After(now) {
		return 0
	}
	return min((at.Sub(now) + time.Second - 1).Truncate(time.Second), most)
}
