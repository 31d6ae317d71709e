package cache

import (
	"context"
	"encoding/hex"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// fillLease is how long a replica that fills a key holds the others off at most, if it ends
	// before the fill does.
	fillLease = 2 * time.Second
	// maxFillWait is how long a replica waits for the fill of another one before it fills itself.
	maxFillWait = 250 * time.Millisecond
	// firstFillPoll is the pause before the first look for the other's reply; each further one is
	// twice as long.
	firstFillPoll = 5 * time.Millisecond
)

// A fillHolder identifies the holder of the lease for filling a key under the generations that were
// read.
type fillHolder uint8

const (
	nobodyFills  fillHolder = iota // or it is unknown
	thisFills                      // this call holds the lease
	anotherFills                   // another replica does
)

// fill is the key of the lease for filling a reply under generations. It is on the node of the
// reply.
func (k keyspace) fill(id entryID, generations digest) string {
	return string(k) + "fill:{" + k.reply(id) + "}" + hex.EncodeToString(generations[:])
}

// takeFillLease adds commands to a pipeline that take the lease for a call, unless another call
// holds it. The result is the token of the holder.
func takeFillLease(ctx context.Context, p redis.Pipeliner, lease, token string) *redis.StringCmd {
	p.SetNX(ctx, lease, token, fillLease)
	return p.Get(ctx, lease)
}

// awaitFill waits for the reply that another replica fills under the same generations. It returns nil
// if that takes too long, if the other one does not store it, or if Redis fails.
func (r *remote) awaitFill(ctx context.Context, id entryID, lease string, generations digest) *reply {
	deadline := time.NewTimer(maxFillWait)
	defer deadline.Stop()
	for pause := firstFillPoll; ; pause *= 2 {
		poll := time.NewTimer(pause)
		select {
		case <-poll.C:
		case <-deadline.C:
			poll.Stop()
			return nil
		}
		var entry *redis.StringCmd
		var held *redis.IntCmd
		err := r.do(ctx, opAwaitFill, func(p redis.Pipeliner) {
			held = p.Exists(ctx, lease) // first, as the other one stores the reply before it releases the lease
			entry = p.Get(ctx, r.keys.reply(id))
		})
		if err != nil {
			return nil
		}
		if b, err := entry.Bytes(); err == nil && len(b) <= entryHeader+maxReply {
			// It has the same generations, so it includes every write from before this call read
			// them.
			if found, ok := decode(b, id); ok && found.digest == generations {
				return found
			}
		}
		if held.Val() == 0 {
			return nil
		}
	}
}

// releaseFill releases the lease so that others can fill, because this call did not store the reply
// that they wait for.
func (r *remote) releaseFill(ctx context.Context, lease string) {
	_ = r.do(ctx, opReleaseFill, func(p redis.Pipeliner) { p.Del(ctx, lease) }) // or it expires
}
