package limits

import (
	"fmt"
	"math"
	"net/netip"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

const (
	// maxCallers is the number of callers that are counted at a time.
	maxCallers = 10_000
	// longest bounds the time in which a bucket fills, so that sums do not overflow.
	longest = 100 * 365 * 24 * time.Hour
	// reportsPerBurst is how often a process reports to the others while a caller empties its bucket.
	reportsPerBurst = 16
)

// SharedRates adds up the tokens that processes take from buckets. Package cache implements it.
type SharedRates interface {
	// Add records that so many tokens were taken from the bucket with this name, or given back if
	// the number is negative. It does not wait. Later it may call full with the time at which the
	// bucket is full again, by the tokens that all processes have taken.
	Add(name string, tokens int64, interval, capacity time.Duration, full func(at time.Time))
}

// A Limiter counts the calls of callers with keys of type K. It is safe for concurrent
// use.
type Limiter[K comparable] struct {
	interval time.Duration // in which a token is added
	capacity time.Duration // in which an empty bucket fills
	now      func() time.Time

	shared SharedRates // nil: the process counts on its own
	name   string      // of this limiter, for shared
	batch  int64       // the number of tokens after which the process reports to shared

	mu sync.Mutex
	// buckets holds the buckets that are not full. It is nil where any number of calls is
	// allowed.
	buckets *simplelru.LRU[K, bucket]
}

// A bucket is the bucket of a caller.
type bucket struct {
	fullAt time.Time // when it is full again
	untold int64     // the number of tokens not yet reported to shared
}

// NewLimiter returns a limiter that allows each caller perSecond calls a second in the long run, any
// number if that is 0, and up to burst at once. now returns the current time.
func NewLimiter[K comparable](perSecond float64, burst int, now func() time.Time) (*Limiter[K], error) {
	if perSecond == 0 {
		return &Limiter[K]{}, nil
	}
	interval := min(float64(time.Second)/perSecond, float64(longest))
	l := &Limiter[K]{
		interval: time.Duration(interval), capacity: time.Duration(min(interval*float64(burst), float64(longest))),
		batch: int64(max(burst/reportsPerBurst, 1)), now: now,
	}
	var err error
	l.buckets, err = simplelru.NewLRU[K, bucket](maxCallers, nil)
	return l, err
}

// Share lets the limiter and the limiters of the same name in other processes add up their counts
// with shared, unless it is nil. It must be called before the limiter is used.
func (l *Limiter[K]) Share(name string, shared SharedRates) *Limiter[K] {
	l.name, l.shared = name, shared
	return l
}

// Active reports whether any call can be refused.
func (l *Limiter[K]) Active() bool { return l.buckets != nil }

// Take counts a call and reports whether it is allowed. If it is not, wait is the number
// of whole seconds after which another may be, at least 1. The zero key stands for
// callers that are not counted.
func (l *Limiter[K]) Take(caller K) (wait int, ok bool) {
	var uncounted K
	if !l.Active() || caller == uncounted {
		return 0, true
	}
	wait, untold := l.take(caller)
	l.tell(caller, untold)
	return wait, wait == 0
}

// take counts a call, unless it must wait. untold is the number of tokens to report to others.
func (l *Limiter[K]) take(caller K) (wait int, untold int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	b, known := l.buckets.Get(caller)
	if !known || b.fullAt.Before(now) {
		b.fullAt = now
	}
	b.fullAt = b.fullAt.Add(l.interval)
	if missing := b.fullAt.Sub(now) - l.capacity; missing > 0 {
		return max(1, int(math.Ceil(missing.Seconds()))), 0
	}
	b.untold++
	return 0, l.store(caller, b)
}

// GiveBack undoes a call that Take has counted and allowed.
func (l *Limiter[K]) GiveBack(caller K) {
	if l.Active() {
		l.tell(caller, l.giveBack(caller))
	}
}

func (l *Limiter[K]) giveBack(caller K) (untold int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b, known := l.buckets.Get(caller)
	if !known {
		return 0
	}
	b.fullAt = b.fullAt.Add(-l.interval)
	b.untold--
	return l.store(caller, b)
}

// store stores the bucket of a caller, and returns the number of tokens to report to others.
func (l *Limiter[K]) store(caller K, b bucket) (untold int64) {
	if b.untold >= l.batch || b.untold <= -l.batch {
		untold, b.untold = b.untold, 0
	}
	l.buckets.Add(caller, b)
	return untold
}

// tell reports tokens to others.
func (l *Limiter[K]) tell(caller K, tokens int64) {
	if l.shared == nil || tokens == 0 {
		return
	}
	l.shared.Add(l.name+" "+fmt.Sprint(caller), tokens, l.interval, l.capacity, func(at time.Time) { l.raise(caller, at) })
}

// raise records when the bucket of a caller is full, by the counts of all processes, if that is
// later than this process knows.
func (l *Limiter[K]) raise(caller K, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b, _ := l.buckets.Get(caller)
	if at = at.Add(time.Duration(b.untold) * l.interval); !at.After(b.fullAt) {
		return
	}
	b.fullAt = at
	if empty := l.now().Add(l.capacity); at.After(empty) {
		b.fullAt = empty
	}
	l.buckets.Add(caller, b)
}

// Network returns the network of a client's address, as which its calls are counted: an
// IPv4 address, or the /64 of an IPv6 address, all of which belongs to one connection.
// The network of a text that is no address is the zero Prefix.
func Network(client string) netip.Prefix {
	address, err := netip.ParseAddr(client)
	if err != nil {
		return netip.Prefix{}
	}
	bits := 64
	if address = address.Unmap().WithZone(""); address.Is4() {
		bits = 32
	}
	prefix, _ := address.Prefix(bits) // fails for a number of bits that no address has
	return prefix
}
