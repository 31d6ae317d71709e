// Package ratelimit bounds how often each of many callers may call. A key identifies each
// caller, such as the number of a client program or the network it calls from.
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
)

// A Limiter counts the calls of callers with keys of type K. It is safe for concurrent
// use.
type Limiter[K comparable] struct {
	interval time.Duration // in which a token is added
	capacity time.Duration // in which an empty bucket fills
	now      func() time.Time

	mu sync.Mutex
	// fullAt is when the bucket of a caller is full again. It is nil where any number of
	// calls is allowed.
	fullAt *simplelru.LRU[K, time.Time]
}

// New returns a limiter that allows each caller perSecond calls a second in the long
// run, any number if that is 0, and up to burst at once. now tells the time.
func New[K comparable](perSecond float64, burst int, now func() time.Time) (*Limiter[K], error) {
	if perSecond == 0 {
		return &Limiter[K]{}, nil
	}
	interval := min(float64(time.Second)/perSecond, float64(longest))
	l := &Limiter[K]{interval: time.Duration(interval), capacity: time.Duration(min(interval*float64(burst), float64(longest))), now: now}
	var err error
	l.fullAt, err = simplelru.NewLRU[K, time.Time](maxCallers, nil)
	return l, err
}

// Active reports whether any call can be refused.
func (l *Limiter[K]) Active() bool { return l.fullAt != nil }

// Take counts a call and reports whether it is allowed. If it is not, wait is the number
// of whole seconds after which another may be, at least 1. The zero key stands for
// callers that are not counted.
func (l *Limiter[K]) Take(caller K) (wait int, ok bool) {
	var uncounted K
	if !l.Active() || caller == uncounted {
		return 0, true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	after := now.Add(l.interval)
	if fullAt, known := l.fullAt.Get(caller); known && fullAt.After(now) {
		after = fullAt.Add(l.interval)
	}
	if missing := after.Sub(now) - l.capacity; missing > 0 {
		return max(1, int(math.Ceil(missing.Seconds()))), false
	}
	l.fullAt.Add(caller, after)
	return 0, true
}

// GiveBack undoes a call that Take has counted and allowed.
func (l *Limiter[K]) GiveBack(caller K) {
	if !l.Active() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if fullAt, known := l.fullAt.Get(caller); known {
		l.fullAt.Add(caller, fullAt.Add(-l.interval))
	}
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
