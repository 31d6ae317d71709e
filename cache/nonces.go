package cache

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// nonceLife is how long a nonce is remembered, as long as the stores remember theirs.
const nonceLife = 2 * time.Hour

// NonceStore is the store of nonces that forgets none before its time.
type NonceStore interface {
	// Use stores the nonce with its timestamp in Unix seconds and reports whether
	// it was new.
	Use(ctx context.Context, nonce string, timestamp int64) (fresh bool, err error)
	// Used reports whether the nonce is stored, and stores nothing.
	Used(ctx context.Context, nonce string) (bool, error)
}

// Nonces remembers which nonces were used in a store, and in Redis besides, so that
// replicas without a store in common know each other's. The store decides: Redis evicts
// what it likes when guests' replies need the memory, and may be away or lose its data.
// What it knows of a nonce is believed only when it says that the nonce was used.
//
// A request can still be replayed on a replica with a store of its own while Redis is
// away, or after it has lost the nonce. Replicas that share their store have no such
// gap.
type Nonces struct {
	cache *Cache
	store NonceStore
}

// Nonces returns the nonces kept in store, and in the Redis of c if it has one.
func (c *Cache) Nonces(store NonceStore) *Nonces { return &Nonces{cache: c, store: store} }

func nonceKey(nonce string) string { return keyPrefix + "nonce:" + nonce }

// Use stores the nonce with its timestamp, in Unix seconds, and reports whether it
// was new. Of several calls at once with one nonce, one finds it new. Errors are
// those of the store.
func (n *Nonces) Use(ctx context.Context, nonce string, timestamp int64) (fresh bool, err error) {
	var set *redis.BoolCmd
	known := n.ask(ctx, func(p redis.Pipeliner) {
		set = p.SetNX(ctx, nonceKey(nonce), timestamp, nonceLife)
	})
	if known && !set.Val() {
		return false, nil
	}
	return n.store.Use(ctx, nonce, timestamp)
}

// Used reports whether the nonce is stored, and stores nothing. Errors are those
// of the store.
func (n *Nonces) Used(ctx context.Context, nonce string) (bool, error) {
	var exists *redis.IntCmd
	known := n.ask(ctx, func(p redis.Pipeliner) { exists = p.Exists(ctx, nonceKey(nonce)) })
	if known && exists.Val() > 0 {
		return true, nil
	}
	return n.store.Used(ctx, nonce)
}

// ask makes a round trip to Redis and reports whether it has answered.
func (n *Nonces) ask(ctx context.Context, build func(redis.Pipeliner)) bool {
	if n.cache.remote == nil {
		return false
	}
	err := n.cache.remote.do(ctx, opNonce, build)
	if err != nil {
		n.cache.metrics.fallbacks.Inc()
	}
	return err == nil
}
