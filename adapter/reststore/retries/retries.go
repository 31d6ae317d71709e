// Package retries decides how often and when requests are sent again.
//
// # How it is tested
//
// The parser by a table, the budget with package reststore, whose tests count requests.
package retries

import (
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// MaxBudget is the number of retries that can accumulate in the budget.
const MaxBudget = 10

// A Budget limits retries to a fraction of the requests, so that a backend that is down
// does not receive a multiple of the normal load. It is safe for concurrent use.
type Budget struct {
	limiter  *rate.Limiter // its clock counts requests: one a second
	requests atomic.Int64
}

// New returns a budget of so many retries per request, on average.
func New(perRequest float64) *Budget {
	if perRequest == 0 {
		return &Budget{limiter: rate.NewLimiter(0, 0)}
	}
	return &Budget{limiter: rate.NewLimiter(rate.Limit(perRequest), MaxBudget)}
}

// Spend reports whether a request may be retried.
func (b *Budget) Spend() bool { return b.limiter.AllowN(time.Unix(b.requests.Load(), 0), 1) }

// Request counts a request.
func (b *Budget) Request() { b.requests.Add(1) }

// After parses the value of a Retry-After header: seconds or a date. The result is
// rounded up to whole seconds and cut to a day. It is 0 for a time that has passed and for
// a value that is neither.
func After(value string, now time.Time) time.Duration {
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
