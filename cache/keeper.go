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
	// FailuresToOpen is how many round trips in a row have to fail before Redis is
	// left alone. One that should have ended replies suffices.
	FailuresToOpen = 3
	// OpenFor is how long Redis is then left alone before it is probed. While it
	// does not answer, a probe is one round trip: in a time t of that, at most
	// t/OpenFor+1 are attempted.
	OpenFor = time.Second
	// PingEvery is how often Redis is asked for a sign of life, whether there are
	// calls or not. None for pingsMissed times as long is a lost Redis.
	PingEvery = 500 * time.Millisecond

	pingsMissed = 2

	// epochAttempts is how often a probe begins anew because a change could not
	// be sent meanwhile.
	epochAttempts = 3
)

// A subscription is the connection over which other replicas tell what they have
// changed. That it breaks is the sign of a Redis that has ended.
type subscription struct {
	pubsub  *redis.PubSub // nil: none
	broken  *atomic.Bool
	silent  int          // how often there was no answer to the last ping
	ponged  *atomic.Bool // the last ping was answered
	readers sync.WaitGroup
}

func (r *remote) newBreaker() {
	// The breaker can open before any call has failed: of calls that find Redis away
	// while the first connection is made.
	r.failed(errAway)
	r.breaker = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Name:    "redis",
		Timeout: OpenFor,
		ReadyToTrip: func(counts gobreaker.Counts) bool {
			return r.lost.Load() || counts.ConsecutiveFailures >= FailuresToOpen
		},
		// Under the breaker's lock: nothing here may wait or ask the breaker.
		OnStateChange: func(_ string, _, to gobreaker.State) {
			switch to {
			case gobreaker.StateOpen:
				r.up.Store(false)
				r.ended(all)
				r.log.Warn("redis is left alone", "for", OpenFor, "error", *r.cause.Load())
				r.onState("open")
			case gobreaker.StateHalfOpen:
				r.onState("half_open")
			case gobreaker.StateClosed:
				r.lost.Store(false)
				r.ended(all)
				r.up.Store(true)
				r.log.Info("redis is back")
				r.onState("closed")
			}
		},
	})
}

// start makes the first connection. The breaker opens if that fails.
func (r *remote) start(ctx context.Context) {
	r.up.Store(true) // before the subscription, whose end takes it back
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
	r.lost.Store(true)
	r.failed(err)
	finish(err)
}

// run is the keeper: it looks after Redis until ctx ends.
func (r *remote) run(ctx context.Context) {
	ticker := time.NewTicker(PingEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			r.up.Store(false)
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

// ping asks the subscription's connection for a sign of life, if it has answered
// the last time.
func (r *remote) ping(ctx context.Context) error {
	if r.broken.Load() {
		return errors.New("the subscription was lost")
	}
	if !r.ponged.Load() {
		if r.silent++; r.silent >= pingsMissed {
			return fmt.Errorf("no answer to a ping within %s", pingsMissed*PingEvery)
		}
		return nil
	}
	r.silent = 0
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

// probe looks whether Redis is back. It begins a new epoch before anything else is
// asked or told there, because changes may have been missed, or forgotten by a
// Redis that was restarted with old data.
func (r *remote) probe(ctx context.Context) {
	finish, err := r.breaker.Allow()
	if err != nil {
		return
	}
	r.unsubscribe()
	if err := r.subscribe(ctx); err != nil {
		r.failed(err)
		finish(err)
		return
	}
	for range epochAttempts {
		r.mu.Lock()
		missed := r.missed
		r.mu.Unlock()
		if err = r.purge(ctx, opProbe, r.send); err != nil {
			break
		}
		r.metrics.epochs.Inc()
		if r.close(missed, finish) {
			return
		}
		err = errors.New("changes were missed, or the subscription lost, meanwhile")
	}
	r.failed(err)
	finish(err)
}

// close closes the breaker unless more changes were missed than the epoch ends.
func (r *remote) close(missed uint64, finish func(error)) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.missed != missed || r.broken.Load() {
		return false
	}
	finish(nil)
	return true
}

// subscribe opens the subscription and returns when Redis has confirmed it.
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
	first, err := receive(func() (any, error) { return pubsub.ReceiveTimeout(confirm, r.timeout) })
	if _, ok := first.(*redis.Subscription); err == nil && !ok {
		err = fmt.Errorf("redis: not a subscription: %v", first)
	}
	if err != nil {
		return errors.Join(err, pubsub.Close())
	}
	broken, ponged := &atomic.Bool{}, &atomic.Bool{}
	ponged.Store(true)
	r.pubsub, r.broken, r.ponged, r.silent = pubsub, broken, ponged, 0
	r.readers.Go(func() { r.listen(context.WithoutCancel(ctx), pubsub, broken, ponged) })
	return nil
}

// receive keeps go-redis from panicking over messages that are none.
func receive(next func() (any, error)) (message any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("redis: unreadable message: %v", p)
		}
	}()
	return next()
}

// listen reads a subscription until it breaks or is closed.
func (r *remote) listen(ctx context.Context, pubsub *redis.PubSub, broken, ponged *atomic.Bool) {
	for {
		message, err := receive(func() (any, error) { return pubsub.Receive(ctx) })
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
				r.ended(strings.Split(tags, "\n")...)
			}
		}
	}
}

// unsubscribe closes the subscription and waits until it is no longer read.
func (r *remote) unsubscribe() {
	if r.pubsub == nil {
		return
	}
	r.broken.Store(true) // not lost: given up
	_ = r.pubsub.Close()
	r.pubsub = nil
	r.readers.Wait()
}
