package cache

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/sony/gobreaker/v2"
)

const (
	// FailuresToOpen is the number of consecutive failed round trips that open the breaker.
	// A single failed invalidation also opens it.
	FailuresToOpen = 3
	// OpenFor is how long the breaker is open before Redis is probed. A failing probe is one
	// round trip, so during an outage of length t at most t/OpenFor+1 are attempted.
	OpenFor = 300 * time.Millisecond
	// PingEvery is the interval of pings over the subscription, and of all masters of a cluster.
	// Redis counts as lost when maxMissedPings intervals pass without an answer.
	PingEvery = 400 * time.Millisecond

	maxMissedPings = 2
	// tick is the interval at which the monitor looks at the breaker.
	tick = 100 * time.Millisecond
	// maxReach is the maximum time in which the monitor reloads the topology of a cluster and makes
	// a round trip to each master.
	maxReach = 300 * time.Millisecond

	// noticeTime is the time within which all replicas notice that Redis, or a master of the
	// cluster, is lost: the breaker of each is open then.
	noticeTime = (maxMissedPings+1)*PingEvery + maxReach
	// settleTime is the time within which all replicas notice that Redis is back: a probe that
	// has just failed, the pause after it, and a probe that succeeds.
	settleTime = maxReach + OpenFor + tick + maxReach

	// epochAttempts limits how often a probe starts another epoch because an
	// invalidation was missed meanwhile.
	epochAttempts = 3
)

// A subscription is the connection that receives the invalidations of other replicas. Its
// loss indicates that Redis has stopped or restarted.
type subscription struct {
	pubsub      *redis.PubSub // nil if there is no subscription
	broken      *atomic.Bool
	missedPongs int          // number of intervals without an answer to the last ping
	ponged      *atomic.Bool // whether the last ping was answered
	unreached   int          // number of consecutive timeouts of the masters of a cluster
	readers     sync.WaitGroup
}

func (r *remote) newBreaker() {
	// The breaker can open before a round trip has failed, by calls during the first
	// connection attempt, so it needs an initial cause.
	r.setCause(errUnavailable)
	r.breaker = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Name:       "redis",
		Timeout:    OpenFor,
		IsExcluded: func(err error) bool { return errors.Is(err, errStarved) },
		ReadyToTrip: func(counts gobreaker.Counts) bool {
			return r.mustOpen.Load() || counts.ConsecutiveFailures >= FailuresToOpen
		},
		// Called under the breaker's lock: must not block or call the breaker.
		OnStateChange: func(_ string, from, to gobreaker.State) {
			switch to {
			case gobreaker.StateOpen:
				r.available.Store(false)
				r.invalidate(allTag)
				level := slog.LevelDebug // a probe failed
				if from == gobreaker.StateClosed {
					level = slog.LevelWarn
					r.outage.Store(newOutage())
				}
				r.log.Log(context.Background(), level, "redis is unavailable", "error", *r.cause.Load())
				r.onState("open")
			case gobreaker.StateHalfOpen:
				r.onState("half_open")
			case gobreaker.StateClosed:
				r.mustOpen.Store(false)
				r.invalidate(allTag)
				r.available.Store(true)
				r.log.Info("redis is available again")
				r.onState("closed")
			}
		},
	})
}

// start opens the first connection. It opens the breaker if that fails.
func (r *remote) start(ctx context.Context) {
	r.available.Store(true) // set before subscribing, because the loss of the subscription resets it
	if err := r.subscribe(ctx); err != nil {
		r.trip(err)
	}
}

// trip opens the breaker.
func (r *remote) trip(err error) {
	finish, refused := r.breaker.Allow()
	if refused != nil {
		return
	}
	r.mustOpen.Store(true)
	r.setCause(err)
	finish(err)
}

// run monitors the connection to Redis until ctx ends.
func (r *remote) run(ctx context.Context) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	lastPing := time.Now()
	for {
		select {
		case <-ctx.Done():
			r.available.Store(false)
			r.unsubscribe()
			return
		case <-ticker.C:
		}
		switch r.breaker.State() {
		case gobreaker.StateClosed:
			now := time.Now()
			if now.Sub(lastPing) < PingEvery {
				continue
			}
			if err := r.ping(ctx, r.stalls.within(lastPing, now)); err != nil {
				r.trip(err)
			} else if r.nonces.Load().anyUnsent() {
				_ = r.resendNonces(ctx) // again after the next ping
			}
			lastPing = now
		case gobreaker.StateHalfOpen:
			r.probe(ctx)
		case gobreaker.StateOpen:
			r.unsubscribe()
		}
	}
}

// ping asks all masters of a cluster for a sign of life, and sends a ping over the subscription's
// connection if the last one was answered. It fails if a server is lost, the subscription is lost
// or too many pings are unanswered. A ping is not taken for unanswered if this process did not run
// for half of the time since.
func (r *remote) ping(ctx context.Context, stalled time.Duration) error {
	if r.broken.Load() {
		return errors.New("the subscription was lost")
	}
	if err := r.pingMasters(ctx); err != nil {
		return err
	}
	if !r.ponged.Load() {
		if stalled >= PingEvery/2 {
			return nil
		}
		if r.missedPongs++; r.missedPongs >= maxMissedPings {
			return fmt.Errorf("no answer to a ping within %s", maxMissedPings*PingEvery)
		}
		return nil
	}
	r.missedPongs = 0
	r.ponged.Store(false)
	r.metrics.commands.WithLabelValues(opPing).Inc()
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	err := r.pubsub.Ping(ctx)
	if err != nil {
		r.metrics.errors.WithLabelValues(opPing).Inc()
	}
	return err
}

// pingMasters asks all masters of a cluster for a sign of life while the breaker is closed. It fails
// if one refuses, or if some do not answer in time several times in a row.
func (r *remote) pingMasters(ctx context.Context) error {
	err, starved := r.reach(ctx)
	switch {
	case err == nil:
		r.unreached = 0
		return nil
	case starved:
		return nil
	case isTimeout(err):
		if r.unreached++; r.unreached < maxMissedPings {
			return nil
		}
	}
	r.unreached = 0
	return fmt.Errorf("a master of the cluster is lost: %w", err)
}

// reach makes a round trip to every master of a cluster. It first reads the list of masters, so
// that later calls go to promoted replicas. starved reports that Redis did not cause the error.
func (r *remote) reach(ctx context.Context) (err error, starved bool) { //nolint:revive // the error decides whether starved counts
	if r.masters == nil {
		return nil, false
	}
	r.metrics.commands.WithLabelValues(opPing).Inc()
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, maxReach)
	defer cancel()
	if err = r.masters(ctx); err != nil {
		r.metrics.errors.WithLabelValues(opPing).Inc()
		starved = r.stalls.explain(err, start, time.Now(), min(r.timeout, maxReach))
	}
	return err, starved
}

// mastersOf returns a function that pings every master of a cluster, or nil for other clients.
func mastersOf(client redis.UniversalClient) func(context.Context) error {
	cluster, ok := client.(*redis.ClusterClient)
	if !ok {
		return nil
	}
	return func(ctx context.Context) error {
		return cluster.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error { return master.Ping(ctx).Err() })
	}
}

// An outage is a time during which the breaker is not closed.
type outage struct {
	noticed time.Time     // when all replicas must have noticed it
	over    chan struct{} // closed when invalidations are sent again
}

func newOutage() *outage { return &outage{time.Now().Add(noticeTime), make(chan struct{})} }

// awaitNoticed returns when all replicas must have noticed that Redis is lost, if it was just lost,
// or when invalidations are sent again: until then others might return replies of a Redis that
// they can reach, or of the masters of a cluster that are left. It also returns if ctx ends,
// because then nobody waits for the acknowledgment of the write.
func (r *remote) awaitNoticed(ctx context.Context) {
	current := r.outage.Load()
	if current == nil {
		return
	}
	timer := time.NewTimer(time.Until(current.noticed))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-current.over:
	case <-ctx.Done():
	}
}

// probe checks whether Redis is available again. It starts a new epoch before any other
// round trip, because invalidations may have been missed, or lost by a Redis that
// restarted with old data.
func (r *remote) probe(ctx context.Context) {
	finish, err := r.breaker.Allow()
	if err != nil {
		return
	}
	r.unsubscribe()
	err, _ = r.reach(ctx)
	if err == nil {
		err = r.subscribe(ctx)
	}
	if err != nil {
		r.setCause(err)
		finish(err)
		return
	}
	for range epochAttempts {
		r.mu.Lock()
		missed := r.missed
		r.mu.Unlock()
		if err = r.startEpoch(ctx, opProbe, r.send); err != nil {
			break
		}
		r.metrics.epochs.Inc()
		if err = r.resendNonces(ctx); err != nil {
			break
		}
		if r.beginSettling(missed) {
			err = r.settle(ctx, finish)
			break
		}
		err = errors.New("invalidations were missed or the subscription was lost during the probe")
	}
	if err != nil {
		r.setCause(err)
		finish(err)
	}
}

// beginSettling lets invalidations be sent again, unless one was missed since the epoch started or
// the subscription was lost. It reports whether it did.
func (r *remote) beginSettling(missed uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.missed != missed || r.broken.Load() {
		return false
	}
	r.settling.Store(true)
	if current := r.outage.Load(); current != nil {
		close(current.over)
	}
	return true
}

// endSettling stops sending invalidations, as one has failed.
func (r *remote) endSettling() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.settling.Swap(false) {
		r.outage.Store(newOutage())
	}
}

// settle waits until all replicas must have noticed that Redis is back, and closes the breaker.
// Until then, others may still write without telling anyone, so replies in Redis are not used.
func (r *remote) settle(ctx context.Context, finish func(error)) error {
	settled := time.NewTimer(settleTime)
	defer settled.Stop()
	select {
	case <-settled.C:
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	settling := r.settling.Swap(false)
	if ctx.Err() == nil && settling && !r.broken.Load() {
		finish(nil)
		return nil
	}
	if settling {
		r.outage.Store(newOutage())
	}
	return errors.New("redis was lost again")
}

// doSettling makes the round trip of an invalidation while Redis is not trusted yet. A failure is
// reported as errUnavailable, and leads to another epoch.
func (r *remote) doSettling(ctx context.Context, operation string, build func(redis.Pipeliner)) error {
	if r.sendStarved(ctx, operation, build) != nil {
		r.endSettling()
		return errUnavailable
	}
	return nil
}

// subscribe opens the subscription and waits for its confirmation.
func (r *remote) subscribe(ctx context.Context) (err error) {
	r.metrics.commands.WithLabelValues(opSubscribe).Inc()
	defer func() {
		if err != nil {
			r.metrics.errors.WithLabelValues(opSubscribe).Inc()
		}
	}()
	confirm, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	pubsub := r.client.Subscribe(confirm)
	if err := pubsub.Subscribe(confirm, r.keys.changed(), r.keys.nonces()); err != nil {
		return errors.Join(err, pubsub.Close())
	}
	first, err := receiveSafely(func() (any, error) { return pubsub.ReceiveTimeout(confirm, r.timeout) })
	if _, ok := first.(*redis.Subscription); err == nil && !ok {
		err = fmt.Errorf("redis: not a subscription: %v", first)
	}
	if err != nil {
		return errors.Join(err, pubsub.Close())
	}
	broken, ponged := &atomic.Bool{}, &atomic.Bool{}
	ponged.Store(true)
	r.pubsub, r.broken, r.ponged, r.missedPongs = pubsub, broken, ponged, 0
	r.readers.Go(func() { r.listen(context.WithoutCancel(ctx), pubsub, broken, ponged) })
	return nil
}

// receiveSafely converts panics of go-redis on malformed messages to errors.
func receiveSafely(next func() (any, error)) (message any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("redis: unreadable message: %v", p)
		}
	}()
	return next()
}

// listen processes messages until the subscription breaks or is closed.
func (r *remote) listen(ctx context.Context, pubsub *redis.PubSub, broken, ponged *atomic.Bool) {
	for {
		message, err := receiveSafely(func() (any, error) { return pubsub.Receive(ctx) })
		if err != nil {
			if !broken.Swap(true) {
				r.trip(fmt.Errorf("the subscription was lost: %w", err))
			}
			return
		}
		switch m := message.(type) {
		case *redis.Pong:
			ponged.Store(true)
		case *redis.Message:
			replica, text, _ := strings.Cut(m.Payload, "\n")
			switch {
			case replica == r.replica || text == "":
			case m.Channel == r.keys.nonces():
				r.nonces.Load().hear(text)
			default:
				r.invalidate(strings.Split(text, "\n")...)
			}
		}
	}
}

// unsubscribe closes the subscription and waits until listen has returned.
func (r *remote) unsubscribe() {
	if r.pubsub == nil {
		return
	}
	r.broken.Store(true) // closed on purpose, so listen must not report a loss
	_ = r.pubsub.Close()
	r.pubsub = nil
	r.readers.Wait()
}
