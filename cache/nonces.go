package cache

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// nonceLife is how long a nonce is remembered, as long as the local stores
// remember theirs. A request that is replayed later is one that they would take
// too: its timestamp says nothing of its age.
const nonceLife = 2 * time.Hour

// LocalNonces is the store of nonces to fall back on.
type LocalNonces interface {
	// Use stores the nonce with its timestamp in Unix seconds and reports whether
	// it was new.
	Use(ctx context.Context, nonce string, timestamp int64) (fresh bool, err error)
	// Used reports whether the nonce is stored, and stores nothing.
	Used(ctx context.Context, nonce string) (bool, error)
}

// Nonces remembers in Redis which nonces were used, so that replicas without a
// database in common know each other's, and writes need no database. While Redis
// is away the local store decides, and is asked about each nonce for as long
// afterwards as one is remembered: those used during the outage are there alone.
// The same holds from the start of the process, which does not know what was
// before.
//
// A request can still be replayed
//
//   - while Redis is away, if its nonce was used in Redis before;
//   - after Redis has lost its data, or evicted the nonce for want of memory;
//   - on a replica that reaches Redis, if its nonce was used on one that does not,
//     unless both share the local store and the first has noticed the outage, too.
type Nonces struct {
	cache *Cache
	local LocalNonces
}

// Nonces returns the nonces kept in the Redis of c, with local to fall back on.
// Without Redis they are those of local.
func (c *Cache) Nonces(local LocalNonces) *Nonces { return &Nonces{cache: c, local: local} }

func nonceKey(nonce string) string { return keyPrefix + "nonce:" + nonce }

// Use stores the nonce with its timestamp, in Unix seconds, and reports whether it
// was new. Of several calls at once with one nonce, one finds it new. Errors are
// those of the local store.
func (n *Nonces) Use(ctx context.Context, nonce string, timestamp int64) (fresh bool, err error) {
	if n.cache.remote == nil {
		return n.local.Use(ctx, nonce, timestamp)
	}
	var set *redis.BoolCmd
	err = n.cache.remote.do(ctx, opNonce, func(p redis.Pipeliner) {
		set = p.SetNX(ctx, nonceKey(nonce), timestamp, nonceLife)
	})
	if err != nil {
		n.fallBack()
		return n.local.Use(ctx, nonce, timestamp)
	}
	if fresh = set.Val(); fresh && n.doubtful() {
		used, err := n.local.Used(ctx, nonce)
		return !used && err == nil, err
	}
	return fresh, nil
}

// Used reports whether the nonce is stored, and stores nothing. Errors are those
// of the local store.
func (n *Nonces) Used(ctx context.Context, nonce string) (bool, error) {
	if n.cache.remote == nil {
		return n.local.Used(ctx, nonce)
	}
	var exists *redis.IntCmd
	err := n.cache.remote.do(ctx, opNonce, func(p redis.Pipeliner) { exists = p.Exists(ctx, nonceKey(nonce)) })
	if err != nil {
		n.fallBack()
		return n.local.Used(ctx, nonce)
	}
	if exists.Val() == 0 && n.doubtful() {
		return n.local.Used(ctx, nonce)
	}
	return exists.Val() > 0, nil
}

func (n *Nonces) fallBack() {
	n.cache.metrics.fallbacks.Inc()
	n.cache.away.Store(n.cache.now().UnixNano())
}

// doubtful reports whether nonces may be in the local store alone.
func (n *Nonces) doubtful() bool {
	return n.cache.now().UnixNano() < n.cache.away.Load()+int64(nonceLife)
}
