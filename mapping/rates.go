package mapping

import (
	"math"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"
)

// ratedConsumers is the number of consumers whose calls are counted at a time. A
// store has a few; beyond that number, who has not called for the longest time
// begins anew.
const ratedConsumers = 10_000

// consumerRates bounds how often each consumer calls. Its counts are those of this
// process alone.
type consumerRates struct {
	rate  rate.Limit
	burst int
	now   func() time.Time
	// byConsumer is nil where any number of calls is let through.
	byConsumer *lru.Cache[int64, *rate.Limiter]
}

// newConsumerRates lets each consumer send perSecond calls a second, any number if
// that is 0, and up to burst at once.
func newConsumerRates(perSecond float64, burst int, now func() time.Time) (*consumerRates, error) {
	r := &consumerRates{rate: rate.Limit(perSecond), burst: burst, now: now}
	if perSecond == 0 {
		return r, nil
	}
	var err error
	r.byConsumer, err = lru.New[int64, *rate.Limiter](ratedConsumers)
	return r, err
}

// take counts a call of a client program, as [auth.Principal.Client] has it, and reports whether it may go on. If
// not, the call is not counted, and wait is the number of whole seconds after which
// another may, at least 1.
func (r *consumerRates) take(consumer int64) (wait int, ok bool) {
	if r.byConsumer == nil || consumer == 0 {
		return 0, true
	}
	limiter, known := r.byConsumer.Get(consumer)
	if !known {
		limiter = rate.NewLimiter(r.rate, r.burst)
		if other, found, _ := r.byConsumer.PeekOrAdd(consumer, limiter); found {
			limiter = other // of a call at the same time
		}
	}
	now := r.now()
	if limiter.AllowN(now, 1) {
		return 0, true
	}
	missing := 1 - limiter.TokensAt(now)
	return max(1, int(math.Ceil(missing/float64(r.rate)))), false
}
