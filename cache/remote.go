package cache

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/sony/gobreaker/v2"
)

// Operations, as labels of round trips.
const (
	opLookup    = "lookup"
	opPrepare   = "prepare"
	opStore     = "store"
	opChange    = "change"
	opDone      = "done"
	opMend      = "mend"
	opPurge     = "purge"
	opPing      = "ping"
	opSubscribe = "subscribe"
	opProbe     = "probe"
	opNonce     = "nonce"
)

const (
	keyPrefix = "portico:"
	channel   = keyPrefix + "changed"
)

// The braces keep the two keys of a tag on one node of a cluster.
func replyKey(key [32]byte) string    { return keyPrefix + "reply:" + hex.EncodeToString(key[:]) }
func generationKey(tag string) string { return keyPrefix + "gen:{" + tag + "}" }
func leaseKey(tag string) string      { return keyPrefix + "lease:{" + tag + "}" }

// maxTrips is how many look-ups may be on their way to Redis at once. The pool of
// [Dial] has more connections, so that a change never waits behind them.
const maxTrips = 32

var (
	// errAway: the breaker is not closed, and Redis was not asked.
	errAway = errors.New("cache: Redis is away")
	// errBusy: all places were taken for as long as a round trip may take. That
	// says nothing of Redis, and must not open the breaker.
	errBusy = errors.New("cache: too many look-ups at once")
)

// A remote is the tier in Redis. A nil remote is none.
type remote struct {
	client   redis.UniversalClient
	timeout  time.Duration
	stale    time.Duration // how long replies are kept after their ttl
	genTTL   time.Duration
	lease    time.Duration
	maxReply int
	now      func() time.Time
	log      *slog.Logger
	metrics  *metrics
	onState  func(to string)
	ended    func(tags ...string) // ends what this process remembers of tags
	replica  string               // who publishes

	trips   chan struct{} // a place each, maxTrips in all
	breaker *gobreaker.TwoStepCircuitBreaker[struct{}]
	up      atomic.Bool           // the breaker is closed, and the keeper has closed it
	lost    atomic.Bool           // what failed was an invalidation or the subscription
	cause   atomic.Pointer[error] // the last trouble, for the log
	// missed counts the invalidations that were not sent because Redis was away.
	// It and up change under mu, so that none falls between an epoch and the
	// closing of the breaker.
	missed uint64
	mu     sync.Mutex

	subscription // the keeper's
}

// send makes one round trip, whatever the breaker says, and returns what went
// wrong. That a key is missing or of another type is an answer.
func (r *remote) send(ctx context.Context, operation string, build func(redis.Pipeliner)) (err error) {
	r.metrics.commands.WithLabelValues(operation).Inc()
	// The round trip does not end with the client that caused it: that would
	// look like trouble. It is short.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.timeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil { // go-redis on lengths that are absurd
			err = fmt.Errorf("cache: Redis client: %v", p)
		}
		if err != nil {
			r.metrics.errors.WithLabelValues(operation).Inc()
			r.log.DebugContext(ctx, "redis", "operation", operation, "error", err)
		}
	}()
	pipe := r.client.Pipeline()
	build(pipe)
	commands, err := pipe.Exec(ctx)
	if answered(err) {
		err = nil
	}
	for _, command := range commands {
		if e := command.Err(); err == nil && !answered(e) {
			err = e
		}
	}
	return err
}

// answered reports whether err is an answer to the command, not trouble.
func answered(err error) bool {
	return err == nil || errors.Is(err, redis.Nil) || wrongType(err)
}

func wrongType(err error) bool { return err != nil && strings.HasPrefix(err.Error(), "WRONGTYPE") }

// do makes a round trip unless the breaker forbids it: errAway. With an
// invalidation, failure opens the breaker at once.
func (r *remote) do(ctx context.Context, operation string, build func(redis.Pipeliner)) error {
	if !r.up.Load() {
		return errAway
	}
	invalidation := operation == opChange || operation == opDone || operation == opPurge
	if !invalidation {
		if !r.enter(ctx) {
			return errBusy
		}
		defer func() { <-r.trips }()
	}
	finish, err := r.breaker.Allow()
	if err != nil {
		return errAway
	}
	if !r.up.Load() {
		// The breaker has opened, and may be half open by now: that place is the
		// keeper's.
		finish(errAway)
		return errAway
	}
	err = r.send(ctx, operation, build)
	if err != nil && invalidation {
		r.lost.Store(true)
	}
	if err != nil {
		r.failed(err)
	}
	finish(err)
	return err
}

// enter takes a place among the look-ups.
func (r *remote) enter(ctx context.Context) bool {
	select {
	case r.trips <- struct{}{}:
		return true
	default:
	}
	timer := time.NewTimer(r.timeout)
	defer timer.Stop()
	select {
	case r.trips <- struct{}{}:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// failed remembers why the breaker is about to open.
func (r *remote) failed(err error) { r.cause.Store(&err) }

// A look is what Redis said of a key.
type look struct {
	known   bool   // the generations of all tags are there
	digest  digest // of them
	leased  bool   // a change is under way: nothing may be stored
	rubbish bool   // something was there that cannot be read
	reply   *reply // current, fresh or not; nil: none
}

// lookup asks for a reply and the generations of its tags.
func (r *remote) lookup(ctx context.Context, key string, tags []string) (look, error) {
	var entry *redis.StringCmd
	gens := make([]*redis.StringCmd, 0, len(tags)+1)
	err := r.do(ctx, opLookup, func(p redis.Pipeliner) {
		entry = p.Get(ctx, key)
		gens = append(gens, p.Get(ctx, generationKey(all)))
		for _, tag := range tags {
			gens = append(gens, p.Get(ctx, generationKey(tag)))
		}
	})
	if err != nil {
		return look{}, err
	}
	return r.read(entry, gens), nil
}

// read makes a look of the answers.
func (r *remote) read(entry *redis.StringCmd, gens []*redis.StringCmd) look {
	l := look{known: true}
	sum := sha256.New()
	for _, gen := range gens {
		token, err := gen.Bytes()
		l.known = l.known && err == nil
		l.rubbish = l.rubbish || wrongType(err)
		sum.Write(strconv.AppendInt(nil, int64(len(token)), 10))
		sum.Write([]byte{':'})
		sum.Write(token)
	}
	if l.known {
		copy(l.digest[:], sum.Sum(nil))
	}
	b, err := entry.Bytes()
	switch {
	case errors.Is(err, redis.Nil):
		return l
	case err != nil || len(b) > entryHeader+r.maxReply:
		l.rubbish = true
		return l
	}
	reply, ok := decode(b)
	if !ok {
		l.rubbish = true
	} else if l.known && reply.digest == l.digest {
		l.reply = reply
	}
	return l
}

// prepare makes the generations of tags that are missing, and looks whether a
// change of one of them is under way, in this order for each tag: who sees no
// lease has read a generation that a later change will end. Generations are kept
// alive for longer than what is about to be stored under them. It looks for the
// reply once more, because another call may have made it meanwhile.
func (r *remote) prepare(ctx context.Context, key string, tags []string) (look, error) {
	var entry *redis.StringCmd
	var gens []*redis.StringCmd
	var leases []*redis.IntCmd
	err := r.do(ctx, opPrepare, func(p redis.Pipeliner) {
		generation := func(key string) {
			p.SetNX(ctx, key, rand.Text(), r.genTTL)
			p.PExpire(ctx, key, r.genTTL)
			gens = append(gens, p.Get(ctx, key))
		}
		generation(generationKey(all))
		for _, tag := range tags {
			generation(generationKey(tag))
			leases = append(leases, p.ZCard(ctx, leaseKey(tag)))
		}
		entry = p.Get(ctx, key)
	})
	if err != nil {
		return look{}, err
	}
	l := r.read(entry, gens)
	var broken []string
	if wrongType(gens[0].Err()) {
		broken = append(broken, generationKey(all))
	}
	for i, tag := range tags {
		if wrongType(gens[i+1].Err()) {
			broken = append(broken, generationKey(tag))
		}
		if n, err := leases[i].Result(); err != nil || n > 0 {
			l.leased = true
			if wrongType(err) {
				broken, l.rubbish = append(broken, leaseKey(tag)), true
			}
		}
	}
	if len(broken) > 0 {
		return l, r.mend(ctx, broken)
	}
	return l, nil
}

// mend removes keys of ours that hold what we have not written.
func (r *remote) mend(ctx context.Context, keys []string) error {
	return r.do(ctx, opMend, func(p redis.Pipeliner) {
		for _, key := range keys {
			p.Del(ctx, key)
		}
	})
}

// store keeps a reply.
func (r *remote) store(ctx context.Context, key string, reply *reply) error {
	return r.do(ctx, opStore, func(p redis.Pipeliner) {
		p.Set(ctx, key, reply.encode(), reply.ttl+r.stale)
	})
}

// change says that tags are about to change: nothing that is read from now on is
// stored until done or for the time of a lease, and what is stored ends.
func (r *remote) change(ctx context.Context, tags []string, member string) error {
	for attempt := 0; ; attempt++ {
		leases := make([]*redis.IntCmd, len(tags))
		err := r.do(ctx, opChange, func(p redis.Pipeliner) {
			now := r.now()
			for i, tag := range tags {
				leases[i] = p.ZAdd(ctx, leaseKey(tag), redis.Z{Score: float64(now.Add(r.lease).UnixMilli()), Member: member})
				p.PExpire(ctx, leaseKey(tag), r.lease)
				// Those of writers that were killed, if others keep the key alive.
				// That a lease is over is left to the clock of Redis alone; this
				// one is given as much time again, should clocks differ.
				p.ZRemRangeByScore(ctx, leaseKey(tag), "-inf", strconv.FormatInt(now.Add(-r.lease).UnixMilli(), 10))
				p.Set(ctx, generationKey(tag), rand.Text(), r.genTTL)
			}
		})
		var broken []string
		for i, lease := range leases {
			if lease != nil && wrongType(lease.Err()) {
				broken = append(broken, leaseKey(tags[i]))
			}
		}
		if err != nil || len(broken) == 0 || attempt > 0 {
			return err
		}
		if err := r.mend(ctx, broken); err != nil {
			return err
		}
	}
}

// done says that a change is over.
func (r *remote) done(ctx context.Context, tags []string, member string) error {
	return r.do(ctx, opDone, func(p redis.Pipeliner) {
		for _, tag := range tags {
			p.Set(ctx, generationKey(tag), rand.Text(), r.genTTL)
			p.ZRem(ctx, leaseKey(tag), member)
		}
		p.Publish(ctx, channel, r.message(tags...))
	})
}

// purge begins a new epoch.
func (r *remote) purge(ctx context.Context, operation string, send func(context.Context, string, func(redis.Pipeliner)) error) error {
	return send(ctx, operation, func(p redis.Pipeliner) {
		p.Set(ctx, generationKey(all), rand.Text(), r.genTTL)
		p.Publish(ctx, channel, r.message(all))
	})
}

// message is what is published of tags: who says it, then the tags, a line each.
func (r *remote) message(tags ...string) string {
	return r.replica + "\n" + strings.Join(tags, "\n")
}

// skipped notes an invalidation that cannot be sent, or returns false because it
// can.
func (r *remote) skipped() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.up.Load() {
		return false
	}
	r.missed++
	return true
}
