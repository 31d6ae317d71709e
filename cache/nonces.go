package cache

import (
	"context"
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

// Nonces records used nonces in a store and also in Redis, so that replicas with separate
// stores know each other's nonces. The store is authoritative, because Redis may evict
// nonces, lose its data or be unavailable: its answer counts only if it says that a nonce
// was used.
//
// If replicas have separate stores, a request can be replayed on another replica while
// Redis is unavailable or after it has lost the nonce. Replicas with a common store are
// not affected.
type Nonces struct {
	cache *Cache
	store NonceStore
}

// Nonces returns nonces recorded in store, and in the Redis of c if it has one.
func (c *Cache) Nonces(store NonceStore) *Nonces { return &Nonces{cache: c, store: store} }

func nonceKey(nonce string) string { return keyPrefix + "nonce:" + nonce }

// Use records the nonce with its timestamp in Unix seconds and reports whether it was new.
// Of several concurrent calls with the same nonce, exactly one reports true. Errors are
// those of the store.
func (n *Nonces) Use(ctx context.Context, nonce string, timestamp int64) (fresh bool, err error) {
	var set *redis.BoolCmd
	answered := n.queryRedis(ctx, func(p redis.Pipeliner) {
		set = p.SetNX(ctx, nonceKey(nonce), timestamp, nonceTTL)
	})
	if answered && !set.Val() {
		return false, nil
	}
	return n.store.Use(ctx, nonce, timestamp)
}

// Used reports whether the nonce is recorded. Errors are those of the store.
func (n *Nonces) Used(ctx context.Context, nonce string) (bool, error) {
	var exists *redis.IntCmd
	answered := n.queryRedis(ctx, func(p redis.Pipeliner) { exists = p.Exists(ctx, nonceKey(nonce)) })
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
