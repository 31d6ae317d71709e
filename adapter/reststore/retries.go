package reststore

import (
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

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
