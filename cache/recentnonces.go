package cache

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// maxHeard is the number of nonces of other replicas after which the oldest half of them is
	// forgotten.
	maxHeard = 100_000
	// maxResent is the maximum number of nonces that are sent to Redis when it is back.
	maxResent = 20_000
	// resentBefore is how long before an outage nonces may have been used that Redis has
	// confirmed and then lost, because a promoted replica did not know them yet.
	resentBefore = 2 * time.Second
	// resentAtOnce is the number of nonces that are sent in one round trip.
	resentAtOnce = 500
)

// recentNonces remembers the nonces of other replicas, and this process's own nonces if Redis may
// not know them. A nil *recentNonces remembers none.
type recentNonces struct {
	now func() time.Time

	mu sync.Mutex
	// recent and older are hashes of nonces that other replicas have used. When recent has half
	// of maxHeard, it replaces older.
	recent, older map[[32]byte]struct{}
	accepted      []acceptedNonce // by this process, the oldest first
	unsent        bool            // Redis was not told of some of them
}

// An acceptedNonce is a nonce that this process has accepted.
type acceptedNonce struct {
	nonce, value string // value is the value of its key
	at           time.Time
}

func newRecentNonces(now func() time.Time) *recentNonces {
	return &recentNonces{now: now, recent: map[[32]byte]struct{}{}}
}

// hear remembers a nonce that another replica has used.
func (n *recentNonces) hear(nonce string) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.recent) >= maxHeard/2 {
		n.older, n.recent = n.recent, map[[32]byte]struct{}{}
	}
	n.recent[sha256.Sum256([]byte(nonce))] = struct{}{}
}

// heardOf reports whether another replica has used a nonce, as far as it is remembered.
func (n *recentNonces) heardOf(nonce string) bool {
	if n == nil {
		return false
	}
	hash := sha256.Sum256([]byte(nonce))
	n.mu.Lock()
	defer n.mu.Unlock()
	_, recent := n.recent[hash]
	_, older := n.older[hash]
	return recent || older
}

// accept remembers a nonce that this process has accepted, as long as Redis may not know it. sent
// reports whether Redis has confirmed it.
func (n *recentNonces) accept(nonce, value string, sent bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.unsent = n.unsent || !sent
	now, known := n.now(), 0
	for known < len(n.accepted) && (!n.unsent && now.Sub(n.accepted[known].at) > resentBefore || len(n.accepted)-known >= maxResent) {
		known++
	}
	n.accepted = append(n.accepted[known:], acceptedNonce{nonce, value, now})
}

// anyUnsent reports whether Redis was not told of a nonce.
func (n *recentNonces) anyUnsent() bool {
	if n == nil {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.unsent
}

// takePending returns the nonces that Redis may not know, which the caller sends.
func (n *recentNonces) takePending() []acceptedNonce {
	if n == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.unsent = false
	return append([]acceptedNonce{}, n.accepted...)
}

// keepPending records that the pending nonces were not sent.
func (n *recentNonces) keepPending() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.unsent = true
}

// publishNonce tells other replicas of a nonce.
func (r *remote) publishNonce(ctx context.Context, p redis.Pipeliner, nonce string) {
	p.Publish(ctx, r.keys.nonces(), r.replica+"\n"+nonce)
}

// resendNonces tells Redis and other replicas of the nonces that Redis may not know.
func (r *remote) resendNonces(ctx context.Context) error {
	recent := r.nonces.Load()
	pending := recent.takePending()
	for len(pending) > 0 {
		batch := pending[:min(len(pending), resentAtOnce)]
		pending = pending[len(batch):]
		err := r.send(ctx, opNonce, func(p redis.Pipeliner) {
			for _, one := range batch {
				p.SetNX(ctx, r.keys.nonce(one.nonce), one.value, nonceTTL)
				r.publishNonce(ctx, p, one.nonce)
			}
		})
		if err != nil {
			recent.keepPending()
			return err
		}
	}
	return nil
}
