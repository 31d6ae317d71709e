package cache

import (
	"context"
	"errors"
	"fmt"
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
	OpenFor = time.Second
	// PingEvery is the interval of pings over the subscription. Redis counts as lost when
	// maxMissedPings intervals pass without an answer.
	PingEvery = 500 * time.Millisecond

	maxMissedPings = 2

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
	readers     sync.WaitGroup
}

func (r *remote) newBreaker() {
	// The breaker can open before a round trip has failed, by calls during the first
	// connection attempt, so it needs an initial cause.
	r.setCause(errUnavailable)
	r.breaker = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Name:    "redis",
		Timeout: OpenFor,
		ReadyToTrip: func(counts gobreaker.Counts) bool {
			return r.mustOpen.Load() || counts.ConsecutiveFailures >= FailuresToOpen
		},
		// Called under the breaker's lock: must not block or call the breaker.
		OnStateChange: func(_ string, _, to gobreaker.State) {
			switch to {
			case gobreaker.StateOpen:
				r.available.Store(false)
				r.invalidate(allTag)
				r.log.Warn("redis is unavailable", "for", OpenFor, "error", *r.cause.Load())
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
	ticker := time.NewTicker(PingEvery)
	defer ticker.Stop()
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
			if err := r.ping(ctx); err != nil {
				r.trip(err)
			}
		case gobreaker.StateHalfOpen:
			r.probe(ctx)
		case gobreaker.StateOpen:
			r.unsubscribe()
		}
	}
}

// ping sends a ping over the subscription's connection if the last one was answered. It
// fails if the subscription is lost or too many pings are unanswered.
func (r *remote) ping(ctx context.Context) error {
	if r.broken.Load() {
		return errors.New("the subscription was lost")
	}
	if !r.ponged.Load() {
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

// probe checks whether Redis is available again. It starts a new epoch before any other
// round trip, because invalidations may have been missed, or lost by a Redis that
// restarted with old data.
func (r *remote) probe(ctx context.Context) {
	finish, err := r.breaker.Allow()
	if err != nil {
		return
	}
	r.unsubscribe()
	if err := r.subscribe(ctx); err != nil {
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
		if r.closeBreaker(missed, finish) {
			return
		}
		err = errors.New("invalidations were missed or the subscription was lost during the probe")
	}
	r.setCause(err)
	finish(err)
}

// closeBreaker closes the breaker, unless an invalidation was missed since the epoch
// started or the subscription was lost. It reports whether it did.
func (r *remote) closeBreaker(missed uint64, finish func(error)) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.missed != missed || r.broken.Load() {
		return false
	}
	finish(nil)
	return true
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
	if err := pubsub.Subscribe(confirm, channel); err != nil {
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
			replica, tags, _ := strings.Cut(m.Payload, "\n")
			if replica != r.replica && tags != "" {
				r.invalidate(strings.Split(tags, "\n")...)
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
