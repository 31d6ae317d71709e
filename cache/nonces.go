package cache

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// nonceTTL is how long a nonce is remembered, the same as in the stores.
const nonceTTL = 2 * time.Hour

// A NonceStore stores nonces durably. It must not forget a nonce before its time.
type NonceStore interface {
	// Use stores the nonce with its timestamp in Unix seconds and reports whether
	// it was new.
	Use(ctx context.Context, nonce string, timestamp int64) (fresh bool, err error)
	// Used reports whether the nonce is stored.
	Used(ctx context.Context, nonce string) (bool, error)
}

// Nonces records used nonces in a store and also in Redis, so that replicas with separate stores
// know each other's nonces. The store is authoritative, because Redis may evict nonces, lose its
// data or be unavailable: an answer of Redis counts only if it says that a nonce was used. So a
// replica never accepts a nonce twice, nor do replicas with a common store.
//
// Replicas with separate stores also publish nonces to each other when they use them, remember the
// latest published nonces, and, when Redis is back, resend the nonces that it may have lost. So a
// nonce that was used on one replica is refused by all
//
//   - while Redis is available,
//   - while it is not, if it was available when the nonce was used, and it is one of the last
//     50,000 that the other replica has heard of since it started,
//   - when it is back, if it is one of the last 20,000 that the replica has used in the outage or
//     in the two seconds before it.
//
// While Redis is unavailable, a replica accepts nonces that were used on another replica during the
// outage.
type Nonces struct {
	cache  *Cache
	store  NonceStore
	recent *recentNonces // nil if replicas have a common store
}

// Nonces returns nonces recorded in store, and in the Redis of c if it has one. common means that
// all replicas have this store. It must be called at most once.
func (c *Cache) Nonces(store NonceStore, common bool) *Nonces {
	n := &Nonces{cache: c, store: store}
	if c.remote != nil && !common {
		n.recent = newRecentNonces(c.now)
		c.remote.nonces.Store(n.recent)
	}
	return n
}

// Use records the nonce with its timestamp in Unix seconds and reports whether it was new. Of
// several concurrent calls with the same nonce, exactly one reports true. All errors come from the
// store.
func (n *Nonces) Use(ctx context.Context, nonce string, timestamp int64) (fresh bool, err error) {
	if n.recent.heardOf(nonce) {
		return false, nil
	}
	// A round trip whose reply is lost may be repeated, so the value identifies the first call.
	value := strconv.FormatInt(timestamp, 10) + " " + rand.Text()
	var first *redis.StringCmd
	answered := n.queryRedis(ctx, func(p redis.Pipeliner) {
		key := n.cache.remote.keys.nonce(nonce)
		p.SetNX(ctx, key, value, nonceTTL)
		first = p.Get(ctx, key)
		if n.recent != nil {
			n.cache.remote.publishNonce(ctx, p, nonce)
		}
	})
	if answered && first.Val() != value && first.Err() == nil {
		return false, nil
	}
	fresh, err = n.store.Use(ctx, nonce, timestamp)
	if fresh && n.recent != nil {
		n.recent.accept(nonce, value, answered)
	}
	return fresh, err
}

// Used reports whether the nonce is recorded. All errors come from the store.
func (n *Nonces) Used(ctx context.Context, nonce string) (bool, error) {
	if n.recent.heardOf(nonce) {
		return true, nil
	}
	var exists *redis.IntCmd
	answered := n.queryRedis(ctx, func(p redis.Pipeliner) { exists = p.Exists(ctx, n.cache.remote.keys.nonce(nonce)) })
	if answered && exists.Val() > 0 {
		return true, nil
	}
	return n.store.Used(ctx, nonce)
}

// queryRedis makes a round trip to Redis and reports whether it succeeded.
func (n *Nonces) queryRedis(ctx context.Context, build func(redis.Pipeliner)) bool {
	if n.cache.remote == nil {
		return false
	}
	err := n.cache.remote.do(ctx, opNonce, build)
	if err != nil {
		n.cache.metrics.fallbacks.Inc()
	}
	return err == nil
}

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
