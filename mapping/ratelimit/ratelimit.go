// Package ratelimit bounds how often each of many callers may call. The callers are told
// apart by a key, such as the number of a client program or the network it calls from.
//
// # Principles
//
//  1. Each caller has a bucket of tokens: a call takes one, and time fills the bucket.
//     A refused call takes none.
//  2. Memory is bounded. When there are more callers than are counted, the one that has
//     not called for the longest time starts with a full bucket again.
//  3. The counts are those of this process alone.
//
// # How it is tested
//
// Call by call on a clock that the tests set, and with many calls at once.
package ratelimit

import (
	"math"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"
)

// maxCallers is the number of callers that are counted at a time.
const maxCallers = 10_000

// A Limiter counts the calls of callers with keys of type K. It is safe for concurrent
// use.
type Limiter[K comparable] struct {
	rate  rate.Limit
	burst int
	now   func() time.Time
	// byCaller is nil where any number of calls is allowed.
	byCaller *lru.Cache[K, *rate.Limiter]
}

// New returns a limiter that allows each caller perSecond calls a second in the long
// run, any number if that is 0, and up to burst at once. now tells the time.
func New[K comparable](perSecond float64, burst int, now func() time.Time) (*Limiter[K], error) {
	l := &Limiter[K]{rate: rate.Limit(perSecond), burst: burst, now: now}
	if perSecond == 0 {
		return l, nil
	}
	var err error
	l.byCaller, err = lru.New[K, *rate.Limiter](maxCallers)
	return l, err
}

// Active reports whether any call can be refused.
func (l *Limiter[K]) Active() bool { return l.byCaller != nil }

// Take counts a call and reports whether it is allowed. If it is not, wait is the number
// of whole seconds after which another may be, at least 1. The zero key stands for
// callers that are not counted.
func (l *Limiter[K]) Take(caller K) (wait int, ok bool) {
	var uncounted K
	if !l.Active() || caller == uncounted {
		return 0, true
	}
	limiter, known := l.byCaller.Get(caller)
	if !known {
		limiter = rate.NewLimiter(l.rate, l.burst)
		if other, found, _ := l.byCaller.PeekOrAdd(caller, limiter); found {
			limiter = other // of a call at the same time
		}
	}
	now := l.now()
	if limiter.AllowN(now, 1) {
		return 0, true
	}
	missing := 1 - limiter.TokensAt(now)
	return max(1, int(math.Ceil(missing/float64(l.rate)))), false
}
