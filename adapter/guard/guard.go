package guard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/tracing"
)

// Causes of the guard's own errors, which have kind Unavailable.
var (
	// ErrOpen: the breaker is open, so the call was not sent.
	ErrOpen = errors.New("the breaker is open")
	// ErrFull: all slots were in use as long as the call could wait, so it was not sent.
	ErrFull = errors.New("too many calls in flight")
	// ErrTimeout: the call was sent but not answered in time. A write may have been done.
	ErrTimeout = errors.New("no answer in time")
)

// Options are the settings of a [Guard]. Zero values stand for the defaults.
type Options struct {
	// Name names the upstream, in metrics and for OnStateChange.
	Name string
	// Timeout is the deadline of a call that is sent; 10 s by default.
	Timeout time.Duration
	// MaxInFlight is the number of slots, that is, of concurrent calls; 64 by default.
	MaxInFlight int
	// MaxWait is how long a call waits for a slot; 1 s by default.
	MaxWait time.Duration
	// Failures is the number of consecutive failures that open the breaker of the reads or the breaker
	// of the writes; 5 by default.
	Failures int
	// OpenFor is how long a breaker stays open at most before it lets a probe through; 2 s by
	// default. It does so up to a quarter of the time earlier.
	OpenFor time.Duration
	// OnStateChange, unless nil, is called on every change of a breaker's state: name is the name of
	// the upstream or [WritesOf] it, and to is "closed", "half_open" or "open". The calls for one
	// breaker are serialized and block other calls, and must not call the guard. Only calls change the
	// state: the breaker becomes half-open with the first call after OpenFor.
	OnStateChange func(name, to string)
}

// A Guard protects one upstream. It is safe for concurrent use.
type Guard struct {
	name          string
	timeout       time.Duration
	maxWait       time.Duration
	onStateChange func(name, to string)
	metrics       *Metrics
	slots         chan struct{} // a semaphore: holds one element for each call in flight
	reads, writes *breaker
}

// A breaker is the circuit breaker of the reads or of the writes of an upstream.
type breaker struct {
	*gobreaker.TwoStepCircuitBreaker[struct{}]
	openFor   time.Duration
	openUntil atomic.Pointer[time.Time]
}

// openRemaining returns how long the breaker stays open; at most 0 if it is not open.
func (b *breaker) openRemaining() time.Duration { return time.Until(*b.openUntil.Load()) }

// New returns a guard of an upstream. Several guards may share metrics.
func New(metrics *Metrics, o Options) *Guard {
	g := &Guard{
		name:          o.Name,
		timeout:       cmp.Or(o.Timeout, 10*time.Second),
		maxWait:       cmp.Or(o.MaxWait, time.Second),
		onStateChange: o.OnStateChange,
		metrics:       metrics,
		slots:         make(chan struct{}, cmp.Or(o.MaxInFlight, 64)),
	}
	metrics.inFlight.WithLabelValues(o.Name)
	failures, openFor := uint32(cmp.Or(o.Failures, 5)), cmp.Or(o.OpenFor, 2*time.Second)
	openFor -= rand.N(openFor/jitter + 1)
	g.reads, g.writes = g.newBreaker(o.Name, failures, openFor), g.newBreaker(WritesOf(o.Name), failures, openFor)
	return g
}

// jitter is the divisor of the part of [Options.OpenFor] by which a breaker may be open for less. The
// part is drawn once, so that the replicas do not all probe an upstream at the same time.
const jitter = 4

// WritesOf returns the name of the breaker of the writes of an upstream. The breaker of the reads has
// the name of the upstream.
func WritesOf(name string) string { return name + "_writes" }

func (g *Guard) newBreaker(name string, failures uint32, openFor time.Duration) *breaker {
	b := &breaker{openFor: openFor}
	b.openUntil.Store(new(time.Time))
	b.TwoStepCircuitBreaker = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Name:          name,
		MaxRequests:   1, // probes when half-open
		Timeout:       openFor,
		ReadyToTrip:   func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= failures },
		OnStateChange: func(_ string, _, to gobreaker.State) { g.stateChanged(name, b, to) },
		IsExcluded:    func(outcome error) bool { return outcome == errIgnored }, //nolint:errorlint // of our own
	})
	return b
}

// Outcomes of a call as reported to the breaker; nil is a success.
var (
	errFailure = errors.New("failure")
	errIgnored = errors.New("ignored outcome")
)

// stateChanged handles a change of a breaker's state. The breaker waits for it.
func (g *Guard) stateChanged(name string, b *breaker, to gobreaker.State) {
	label := "closed"
	switch to {
	case gobreaker.StateOpen:
		label = "open"
		until := time.Now().Add(b.openFor)
		b.openUntil.Store(&until)
	case gobreaker.StateHalfOpen:
		label = "half_open"
	}
	if g.onStateChange != nil {
		g.onStateChange(name, label)
	}
}

// Open reports whether the breaker of the reads is open, that is, lets no call through. It does not
// change the breaker.
func (g *Guard) Open() bool { return g.reads.openRemaining() > 0 }

// InitMetrics creates the counters of a resource's rejected calls with value 0. Without it
// a counter would first appear with value 1, which queries do not see as an increase.
func (g *Guard) InitMetrics(resource string, operations ...string) {
	g.metrics.initialize(resource, operations...)
}

// Do calls f, which does an operation on a resource, with a slot, the permission of the breaker of the
// reads, and a deadline. resource and operation label the metrics and appear in errors. Do returns the
// error of f or of ctx, or an error of kind Unavailable with the cause ErrOpen, ErrFull or ErrTimeout.
// The breaker counts an error of f by its kind; fs.ErrNotExist counts as kind NotFound if the error has
// no kind.
func (g *Guard) Do(ctx context.Context, resource, operation string, f func(context.Context) error) error {
	return g.do(ctx, call{resource: resource, operation: operation}, f)
}

// A call describes a call to the guard.
type call struct {
	resource, operation string
	// write: the call counts for the breaker of the writes. A failing write is no sign that reads fail,
	// as a database may be read-only for a while.
	write bool
	// times is the number of timeouts that the call has, as it does the work of several; 0 is 1.
	times int
}

func (c call) op() string { return c.operation + " " + c.resource }

func (g *Guard) do(ctx context.Context, c call, f func(context.Context) error) (err error) {
	ctx, span := tracing.Start(ctx, tracing.Internal, c.operation, c.resource)
	defer func() { g.endSpan(ctx, span, err) }()
	if err := ctx.Err(); err != nil {
		g.metrics.count(c, kindCanceled)
		return err
	}
	if err := g.acquireSlot(ctx, c); err != nil {
		return err
	}
	defer func() { <-g.slots }()
	breaker := g.reads
	if c.write {
		breaker = g.writes
	}
	report, err := breaker.Allow()
	if err != nil { // open, or half-open while another call is the probe
		return g.reject(c, kindOpen, ErrOpen, breaker.openRemaining())
	}
	timeout := g.timeout * time.Duration(max(1, c.times))
	limited, cancel := context.WithTimeoutCause(ctx, timeout, ErrTimeout)
	g.metrics.inFlight.WithLabelValues(g.name).Inc()
	start := time.Now()
	// These hold if f panics or ends its goroutine.
	kind, outcome := adapter.Internal.String(), errIgnored
	defer func() {
		report(outcome)
		cancel()
		g.metrics.inFlight.WithLabelValues(g.name).Dec()
		took := time.Since(start)
		g.metrics.count(c, kind)
		g.metrics.duration.WithLabelValues(c.resource, c.operation).Observe(took.Seconds())
		measure(ctx, took)
	}()
	err = f(limited)
	if limited.Err() != nil && context.Cause(limited) == ErrTimeout && !answered(err) { //nolint:errorlint // set above
		err = &adapter.Error{Kind: adapter.Unavailable, Op: c.op(), Err: timeoutError(timeout, err)}
		kind, outcome = adapter.Unavailable.String(), errFailure
		return err
	}
	kind, outcome = classify(limited, err)
	return err
}

// endSpan ends the span of a call, which includes the wait for a slot.
func (g *Guard) endSpan(ctx context.Context, span tracing.Span, err error) {
	if span.Recording() {
		span.SetString("portico.upstream", g.name)
		if reason := failure(ctx, err); reason != "" {
			span.Fail(reason)
		}
	}
	span.End()
}

// failure returns in one word why a call failed, or "" if it did not or the caller no longer waits for
// it.
func failure(ctx context.Context, err error) string {
	switch {
	case answered(err), ctx.Err() != nil:
		return ""
	case errors.Is(err, ErrOpen):
		return kindOpen
	case errors.Is(err, ErrFull):
		return kindFull
	}
	kind, _ := classify(ctx, err)
	return kind
}

// acquireSlot waits for a slot.
func (g *Guard) acquireSlot(ctx context.Context, c call) error {
	select {
	case g.slots <- struct{}{}:
		return nil
	default:
	}
	timer := time.NewTimer(g.maxWait)
	defer timer.Stop()
	select {
	case g.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		g.metrics.count(c, kindCanceled)
		return ctx.Err()
	case <-timer.C:
		return g.reject(c, kindFull, ErrFull, 0)
	}
}

// reject counts a call that is not sent, and returns its error. after is the time to wait before a
// retry; the error rounds it up to whole seconds, at least one.
func (g *Guard) reject(c call, kind string, cause error, after time.Duration) error {
	g.metrics.count(c, kind)
	seconds := max(1, (after+time.Second-1)/time.Second)
	return &adapter.Error{Kind: adapter.Unavailable, Op: c.op(), Err: cause, RetryAfter: seconds * time.Second}
}

// timeoutError returns the cause of the error of a call that exceeded its deadline. It includes err if
// that has more information.
func timeoutError(timeout time.Duration, err error) error {
	late := fmt.Errorf("%w, %s", ErrTimeout, timeout)
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return late
	}
	return fmt.Errorf("%w: %w", late, err)
}

// answered reports whether err, the error of a call that was sent, is an answer of the
// upstream, or of a caller's function that ran on the answer.
func answered(err error) bool {
	if err == nil || isCallers(err) {
		return true
	}
	switch kindOf(err) {
	case adapter.NotFound, adapter.Conflict, adapter.Invalid, adapter.Unsupported:
		return true
	default:
		// The query asked for too much, others wrote the same records, or only images cannot be
		// stored or read: the upstream is healthy.
		return errors.Is(err, adapter.ErrMatchLimit) || errors.Is(err, adapter.ErrContention) || errors.Is(err, adapter.ErrMediaUnavailable)
	}
}

// isCallers reports whether a function of the caller, which ran on an answer of the upstream,
// has refused a write with err.
func isCallers(err error) bool {
	_, ok := errors.AsType[*adapter.RefusedError](err)
	return ok
}

// classify returns the metric label and the breaker's outcome of a call that was sent and
// met its deadline.
func classify(ctx context.Context, err error) (kind string, outcome error) {
	switch {
	case err == nil || isCallers(err):
		return kindOK, nil
	case answered(err):
		return kindOf(err).String(), nil
	case ctx.Err() != nil:
		return kindCanceled, errIgnored
	case kindOf(err) == adapter.Unavailable:
		return adapter.Unavailable.String(), errFailure
	default:
		return adapter.Internal.String(), errIgnored
	}
}

// kindOf returns the kind of an error. fs.ErrNotExist only counts for errors without a
// kind: the cause of kind Unavailable may be a missing socket.
func kindOf(err error) adapter.ErrorKind {
	if _, ok := errors.AsType[*adapter.Error](err); !ok && errors.Is(err, fs.ErrNotExist) {
		return adapter.NotFound
	}
	return adapter.KindOf(err)
}
