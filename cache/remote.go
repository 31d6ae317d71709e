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

	"github.com/portico-commerce/portico/adapter/tracing"
)

// Operations, as metric labels of round trips.
const (
	opLookup        = "lookup"
	opPrepare       = "prepare"
	opStore         = "store"
	opChange        = "change"
	opDone          = "done"
	opDeleteCorrupt = "mend"
	opPurge         = "purge"
	opPing          = "ping"
	opSubscribe     = "subscribe"
	opProbe         = "probe"
	opNonce         = "nonce"
	opLimit         = "limit"
	opAwaitFill     = "await"
	opReleaseFill   = "release"
)

// DefaultPrefix begins the names of keys and channels unless [Options] set another prefix.
const DefaultPrefix = "portico:"

// A keyspace is the prefix of the names of one store's keys and channels.
type keyspace string

// The braces keep the two keys of a tag on one node of a cluster.
func (k keyspace) reply(id entryID) string {
	return string(k) + "reply:" + hex.EncodeToString(id.sum[:])
}
func (k keyspace) generation(tag string) string { return string(k) + "gen:{" + tag + "}" }
func (k keyspace) lease(tag string) string      { return string(k) + "lease:{" + tag + "}" }
func (k keyspace) nonce(nonce string) string    { return string(k) + "nonce:" + nonce }

// generations returns the keys of the generations on which a reply with tags depends.
func (k keyspace) generations(tags []string) []string {
	keys := append(make([]string, 0, len(tags)+1), k.generation(allTag))
	for _, tag := range tags {
		keys = append(keys, k.generation(tag))
	}
	return keys
}

// changed is the channel of invalidated tags, nonces the channel of used nonces.
func (k keyspace) changed() string { return string(k) + "changed" }
func (k keyspace) nonces() string  { return string(k) + "nonces" }

// maxLookups is the maximum number of concurrent lookups in Redis. The pool of [Dial] has
// more connections, so that invalidations never wait behind lookups.
const maxLookups = 32

var (
	// errUnavailable reports that the breaker is not closed, and Redis was not asked.
	errUnavailable = errors.New("cache: Redis is unavailable")
	// errBusy reports that no lookup slot became free within the timeout. That is not a
	// failure of Redis and must not open the breaker.
	errBusy = errors.New("cache: too many concurrent lookups")
	// errStarved reports a timeout during which this process did not run for so long that it
	// says nothing about Redis.
	errStarved = errors.New("cache: no processor time to wait for Redis")
)

const (
	// starvedAttempts limits how often a round trip that must not be lost is made while the
	// process is starved.
	starvedAttempts = 3
	// maxExcused limits how many timeouts in a row are not counted as failures of Redis because
	// the process was starved, so that a lost Redis is noticed even then.
	maxExcused = 20
)

// A remote is the Redis tier. A nil *remote means that there is none.
type remote struct {
	client     redis.UniversalClient
	keys       keyspace
	timeout    time.Duration
	staleTTL   time.Duration // how long replies are stored after their ttl
	genTTL     time.Duration
	lease      time.Duration
	now        func() time.Time
	log        *slog.Logger
	metrics    *metrics
	onState    func(to string)
	invalidate func(tags ...string) // invalidates replies in this process
	replica    string               // id of this replica, to recognize its own messages

	slots     chan struct{} // semaphore of maxLookups slots
	breaker   *gobreaker.TwoStepCircuitBreaker[struct{}]
	available atomic.Bool           // the breaker is closed
	settling  atomic.Bool           // Redis is reachable again, but not yet trusted: see settle
	mustOpen  atomic.Bool           // an invalidation or the subscription failed: open the breaker immediately
	cause     atomic.Pointer[error] // the last error, for the log
	outage    atomic.Pointer[outage]
	stalls    stallMeter
	excused   atomic.Int64                    // consecutive timeouts that did not count as failures
	nonces    atomic.Pointer[recentNonces]    // nil if replicas have a common store of nonces
	masters   func(ctx context.Context) error // asks every master for a sign of life; nil if there is one server
	// missed counts the invalidations that were not sent because Redis was unavailable.
	// missed, available and settling change under mu, so that no invalidation is missed between
	// the start of an epoch and the time from which invalidations are sent.
	missed uint64
	mu     sync.Mutex

	buckets *Buckets
	lookups lookupBatch

	subscription // used by the monitor only
}

// send makes one round trip regardless of the breaker. It is not an error if a key is
// missing or has another type.
func (r *remote) send(ctx context.Context, operation string, build func(redis.Pipeliner)) (err error) {
	r.metrics.commands.WithLabelValues(operation).Inc()
	// A canceled caller must not look like a failure of Redis; round trips are short.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.timeout)
	defer cancel()
	start := time.Now()
	ctx, span := tracing.Start(ctx, tracing.Client, "redis", operation)
	defer span.End()
	defer func() {
		if p := recover(); p != nil { // go-redis panics on absurd lengths
			err = fmt.Errorf("cache: Redis client: %v", p)
		}
		if err != nil && r.stalls.explain(err, start, time.Now(), r.timeout) {
			err = fmt.Errorf("%w: %w", errStarved, err)
		}
		if err != nil {
			span.Fail("unavailable")
			r.metrics.errors.WithLabelValues(operation).Inc()
			r.log.DebugContext(ctx, "redis", "operation", operation, "error", err)
		}
	}()
	pipe := r.client.Pipeline()
	build(pipe)
	span.SetString("db.system.name", "redis")
	span.SetString("db.operation.name", "PIPELINE")
	span.SetInt("db.operation.batch.size", pipe.Len())
	commands, err := pipe.Exec(ctx)
	if isAnswer(err) {
		err = nil
	}
	for _, command := range commands {
		if e := command.Err(); err == nil && !isAnswer(e) {
			err = e
		}
	}
	return err
}

// isAnswer reports whether err is a valid answer to a command instead of a failure.
func isAnswer(err error) bool {
	return err == nil || errors.Is(err, redis.Nil) || wrongType(err)
}

func wrongType(err error) bool { return err != nil && strings.HasPrefix(err.Error(), "WRONGTYPE") }

// do makes a round trip if the breaker allows it, and returns errUnavailable otherwise. A
// failed invalidation opens the breaker immediately.
func (r *remote) do(ctx context.Context, operation string, build func(redis.Pipeliner)) error {
	invalidation := operation == opChange || operation == opDone || operation == opPurge
	if !r.available.Load() {
		if invalidation && r.settling.Load() {
			return r.doSettling(ctx, operation, build)
		}
		return errUnavailable
	}
	if !invalidation {
		if !r.acquireSlot(ctx) {
			return errBusy
		}
		defer func() { <-r.slots }()
	}
	finish, err := r.breaker.Allow()
	if err != nil {
		return errUnavailable
	}
	if !r.available.Load() {
		// The breaker has opened and may be half open by now. Only the monitor may make
		// calls in that state.
		finish(errUnavailable)
		return errUnavailable
	}
	err = r.sendStarved(ctx, operation, build)
	switch {
	case err == nil:
		r.excused.Store(0)
	case invalidation:
		r.mustOpen.Store(true)
		err = notStarved(err)
	case errors.Is(err, errStarved) && r.excused.Add(1) > maxExcused:
		err = notStarved(err)
	}
	if err != nil {
		r.setCause(err)
	}
	finish(err)
	return err
}

// sendStarved is send, and repeats operations that must not be lost while this process is starved.
func (r *remote) sendStarved(ctx context.Context, operation string, build func(redis.Pipeliner)) (err error) {
	attempts := 1
	switch operation {
	case opChange, opDone, opPurge, opNonce:
		attempts = starvedAttempts
	}
	for range attempts {
		if err = r.send(ctx, operation, build); !errors.Is(err, errStarved) {
			break
		}
	}
	return err
}

// notStarved returns an error with the text of err that counts as a failure of Redis.
func notStarved(err error) error { return errors.New(err.Error()) }

// acquireSlot waits for a lookup slot for at most the timeout.
func (r *remote) acquireSlot(ctx context.Context) bool {
	select {
	case r.slots <- struct{}{}:
		return true
	default:
	}
	timer := time.NewTimer(r.timeout)
	defer timer.Stop()
	select {
	case r.slots <- struct{}{}:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// setCause records the error that may open the breaker, for the log.
func (r *remote) setCause(err error) { r.cause.Store(&err) }

// A lookupResult is the state of a key in Redis.
type lookupResult struct {
	generationsFound bool   // the generations of all tags exist
	digest           digest // of the generations
	leased           bool   // a write is in progress: replies must not be stored
	corrupt          bool   // a key has unexpected contents
	reply            *reply // a reply that was not invalidated, fresh or not; nil if there is none
	filler           fillHolder
}

// lookup reads a reply and its generations, whose keys are given.
func (r *remote) lookup(ctx context.Context, id entryID, generations []string) (lookupResult, error) {
	values, err := r.lookups.lookup(ctx, append([]string{r.keys.reply(id)}, generations...))
	if err != nil {
		return lookupResult{}, err
	}
	return r.parseLookup(id, values[0], values[1:]), nil
}

// confirms reports whether Redis has the generations of a digest under these keys.
func (r *remote) confirms(ctx context.Context, generations []string, want digest) (bool, error) {
	values, err := r.lookups.lookup(ctx, generations)
	if err != nil {
		return false, err
	}
	var l lookupResult
	l.readGenerations(values)
	return l.generationsFound && l.digest == want, nil
}

// readGenerations records the answers to reads of generations.
func (l *lookupResult) readGenerations(values []*redis.StringCmd) {
	var room [128]byte
	l.generationsFound = true
	text := room[:0]
	for _, value := range values {
		token, err := value.Result()
		l.generationsFound = l.generationsFound && err == nil
		l.corrupt = l.corrupt || wrongType(err)
		text = append(strconv.AppendInt(text, int64(len(token)), 10), ':')
		text = append(text, token...)
	}
	if l.generationsFound {
		sum := sha256.Sum256(text)
		copy(l.digest[:], sum[:])
	}
}

// parseLookup returns the result of the commands of a lookup.
func (r *remote) parseLookup(id entryID, entry *redis.StringCmd, gens []*redis.StringCmd) lookupResult {
	var l lookupResult
	l.readGenerations(gens)
	b, err := entry.Bytes()
	switch {
	case errors.Is(err, redis.Nil):
		return l
	case err != nil || len(b) > entryHeader+maxReply:
		l.corrupt = true
		return l
	}
	reply, ok := decode(b, id)
	if !ok {
		l.corrupt = true
	} else if l.generationsFound && reply.digest == l.digest {
		l.reply = reply
	}
	return l
}

// ensureGenerations creates missing generations of tags, and then checks for leases, in this order
// for each tag: a caller that sees no lease has read a generation that a later write will change.
// It extends the lifetime of generations beyond the lifetime of replies about to be stored. It also
// reads the reply again, because another call may have stored it meanwhile. Unless fill is empty,
// it takes this lease for the caller.
func (r *remote) ensureGenerations(ctx context.Context, id entryID, tags []string, fill string) (lookupResult, error) {
	var entry, filler *redis.StringCmd
	token := rand.Text()
	var gens []*redis.StringCmd
	var leases []*redis.IntCmd
	err := r.do(ctx, opPrepare, func(p redis.Pipeliner) {
		generation := func(key string) {
			p.SetNX(ctx, key, rand.Text(), r.genTTL)
			p.PExpire(ctx, key, r.genTTL)
			gens = append(gens, p.Get(ctx, key))
		}
		generation(r.keys.generation(allTag))
		for _, tag := range tags {
			generation(r.keys.generation(tag))
			leases = append(leases, p.ZCard(ctx, r.keys.lease(tag)))
		}
		entry = p.Get(ctx, r.keys.reply(id))
		if fill != "" {
			filler = takeFillLease(ctx, p, fill, token)
		}
	})
	if err != nil {
		return lookupResult{}, err
	}
	l := r.parseLookup(id, entry, gens)
	if filler != nil && filler.Err() == nil {
		l.filler = anotherFills
		if filler.Val() == token {
			l.filler = thisFills
		}
	}
	var corrupt []string
	if wrongType(gens[0].Err()) {
		corrupt = append(corrupt, r.keys.generation(allTag))
	}
	for i, tag := range tags {
		if wrongType(gens[i+1].Err()) {
			corrupt = append(corrupt, r.keys.generation(tag))
		}
		if n, err := leases[i].Result(); err != nil || n > 0 {
			l.leased = true
			if wrongType(err) {
				corrupt, l.corrupt = append(corrupt, r.keys.lease(tag)), true
			}
		}
	}
	if len(corrupt) > 0 {
		return l, r.deleteKeys(ctx, corrupt)
	}
	return l, nil
}

// deleteKeys deletes keys whose type is wrong because another program wrote them.
func (r *remote) deleteKeys(ctx context.Context, keys []string) error {
	return r.do(ctx, opDeleteCorrupt, func(p redis.Pipeliner) {
		for _, key := range keys {
			p.Del(ctx, key)
		}
	})
}

// store stores a reply, and releases the lease of its fill, if there is one.
func (r *remote) store(ctx context.Context, id entryID, reply *reply, fill string) error {
	return r.do(ctx, opStore, func(p redis.Pipeliner) {
		p.Set(ctx, r.keys.reply(id), reply.encode(id), reply.ttl+r.staleTTL)
		if fill != "" {
			p.Del(ctx, fill)
		}
	})
}

// beginWrite creates a lease for each tag and changes its generation.
func (r *remote) beginWrite(ctx context.Context, tags []string, member string) error {
	for attempt := 0; ; attempt++ {
		leases := make([]*redis.IntCmd, len(tags))
		err := r.do(ctx, opChange, func(p redis.Pipeliner) {
			now := r.now()
			for i, tag := range tags {
				leases[i] = p.ZAdd(ctx, r.keys.lease(tag), redis.Z{Score: float64(now.Add(r.lease).UnixMilli()), Member: member})
				p.PExpire(ctx, r.keys.lease(tag), r.lease)
				// Remove leases of killed writers, in case other writers keep the key
				// alive. Normally leases expire by Redis's clock; this cleanup waits
				// for twice the time, because clocks may differ.
				p.ZRemRangeByScore(ctx, r.keys.lease(tag), "-inf", strconv.FormatInt(now.Add(-r.lease).UnixMilli(), 10))
				p.Set(ctx, r.keys.generation(tag), rand.Text(), r.genTTL)
			}
		})
		var corrupt []string
		for i, lease := range leases {
			if lease != nil && wrongType(lease.Err()) {
				corrupt = append(corrupt, r.keys.lease(tags[i]))
			}
		}
		if err != nil || len(corrupt) == 0 || attempt > 0 {
			return err
		}
		if err := r.deleteKeys(ctx, corrupt); err != nil {
			return err
		}
	}
}

// endWrite changes the generations again, removes the leases, and publishes the tags.
func (r *remote) endWrite(ctx context.Context, tags []string, member string) error {
	return r.do(ctx, opDone, func(p redis.Pipeliner) {
		for _, tag := range tags {
			p.Set(ctx, r.keys.generation(tag), rand.Text(), r.genTTL)
			p.ZRem(ctx, r.keys.lease(tag), member)
		}
		p.Publish(ctx, r.keys.changed(), r.invalidationMessage(tags...))
	})
}

// startEpoch invalidates all replies on all replicas.
func (r *remote) startEpoch(ctx context.Context, operation string, send func(context.Context, string, func(redis.Pipeliner)) error) error {
	return send(ctx, operation, func(p redis.Pipeliner) {
		p.Set(ctx, r.keys.generation(allTag), rand.Text(), r.genTTL)
		p.Publish(ctx, r.keys.changed(), r.invalidationMessage(allTag))
	})
}

// invalidationMessage returns the message to publish: the replica's id, then one tag per
// line.
func (r *remote) invalidationMessage(tags ...string) string {
	return r.replica + "\n" + strings.Join(tags, "\n")
}

// recordMissed counts an invalidation that could not be sent. It returns false if Redis is
// reachable again, so that the caller can send it.
func (r *remote) recordMissed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.available.Load() || r.settling.Load() {
		return false
	}
	r.missed++
	return true
}
