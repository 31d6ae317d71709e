package guard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/portico-commerce/portico/adapter"
)

// Causes of errors of kind Unavailable that are the guard's own.
var (
	// ErrOpen: the breaker let no call through, so this one was not sent.
	ErrOpen = errors.New("the breaker is open")
	// ErrFull: as many calls as may be were in flight all the time the call waited
	// for a place, so it was not sent.
	ErrFull = errors.New("too many calls in flight")
	// ErrTimeout: the call was sent and not answered in time. A write may have been
	// done all the same.
	ErrTimeout = errors.New("no answer in time")
)

// Options are the settings of a [Guard]. What is 0 has its default.
type Options struct {
	// Name names the failure domain, in metrics and for OnBreaker.
	Name string
	// Timeout bounds a call that was sent, 10 s.
	Timeout time.Duration
	// MaxInFlight is how many calls may be in flight at a time, 64.
	MaxInFlight int
	// MaxWait is how long a call waits for a place among them, 1 s.
	MaxWait time.Duration
	// Failures in a row open the breaker, 5.
	Failures int
	// OpenFor is how long it is open before a call is let through to find out
	// whether the domain is well again, 2 s.
	OpenFor time.Duration
	// OnBreaker, unless nil, is told of every change of the breaker: to is "closed",
	// "half_open" or "open". It is called in turn, while other calls wait, and must
	// not call the guard. Nothing but calls changes the breaker: it is half-open
	// from the first call after OpenFor.
	OnStateChange func(name, to string)
}

// A Guard protects one failure domain. It is safe for concurrent use.
type Guard struct {
	name      string
	timeout   time.Duration
	maxWait   time.Duration
	openFor   time.Duration
	onBreaker func(name, to string)
	metrics   *Metrics
	places    chan struct{} // holds one for each call in flight
	breaker   *gobreaker.TwoStepCircuitBreaker[struct{}]
	openUntil atomic.Pointer[time.Time]
}

// New returns a guard. Guards may share metrics.
func New(metrics *Metrics, o Options) *Guard {
	g := &Guard{
		name:      o.Name,
		timeout:   cmp.Or(o.Timeout, 10*time.Second),
		maxWait:   cmp.Or(o.MaxWait, time.Second),
		openFor:   cmp.Or(o.OpenFor, 2*time.Second),
		onBreaker: o.OnStateChange,
		metrics:   metrics,
		places:    make(chan struct{}, cmp.Or(o.MaxInFlight, 64)),
	}
	metrics.inFlight.WithLabelValues(o.Name)
	failures := uint32(cmp.Or(o.Failures, 5))
	g.openUntil.Store(new(time.Time))
	g.breaker = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Name:          o.Name,
		MaxRequests:   1, // when half-open
		Timeout:       g.openFor,
		ReadyToTrip:   func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= failures },
		OnStateChange: g.changed,
		IsExcluded:    func(outcome error) bool { return outcome == errNothing }, //nolint:errorlint // of our own
	})
	return g
}

// Outcomes of a call, as the breaker is told them; nil is a success.
var (
	errFailure = errors.New("failure")
	errNothing = errors.New("nothing that counts")
)

// changed notes a change of the breaker, which waits for it.
func (g *Guard) changed(_ string, _, to gobreaker.State) {
	label := "closed"
	switch to {
	case gobreaker.StateOpen:
		label = "open"
		until := time.Now().Add(g.openFor)
		g.openUntil.Store(&until)
	case gobreaker.StateHalfOpen:
		label = "half_open"
	}
	if g.onBreaker != nil {
		g.onBreaker(g.name, label)
	}
}

// Open reports whether the breaker lets no call through now. It changes nothing.
func (g *Guard) Open() bool { return g.openLeft() > 0 }

// openLeft returns how long the breaker stays open, at most 0 when it is not.
func (g *Guard) openLeft() time.Duration { return time.Until(*g.openUntil.Load()) }

// Begin begins the metrics of a resource's calls that are not sent. Without it they
// would be missing until the first one, which then would be no increase.
func (g *Guard) InitMetrics(resource string, operations ...string) {
	g.metrics.begin(resource, operations...)
}

// Do calls f, which does the operation on the resource, with the context of a call
// that is in flight; resource and operation are labels of metrics, and stand in
// errors. It returns the error of f, that of ctx, or one of kind Unavailable whose
// cause is ErrOpen, ErrFull or ErrTimeout. What f fails with counts by its kind; an
// error without one that is fs.ErrNotExist counts as kind NotFound.
func (g *Guard) Do(ctx context.Context, resource, operation string, f func(context.Context) error) error {
	return g.do(ctx, call{resource: resource, operation: operation}, f)
}

// A call is what the guard knows of a call.
type call struct {
	resource, operation string
	// refused tells that a function of the caller has failed the call; nil where
	// there is none.
	refused *bool
}

func (c call) op() string { return c.operation + " " + c.resource }

func (g *Guard) do(ctx context.Context, c call, f func(context.Context) error) (err error) {
	if err := ctx.Err(); err != nil {
		g.metrics.count(c, kindCanceled)
		return err
	}
	if err := g.take(ctx, c); err != nil {
		return err
	}
	defer func() { <-g.places }()
	settle, err := g.breaker.Allow()
	if err != nil { // open; or half-open, and another call is finding out
		return g.refuse(c, kindOpen, ErrOpen, g.openLeft())
	}
	limited, cancel := context.WithTimeoutCause(ctx, g.timeout, ErrTimeout)
	g.metrics.inFlight.WithLabelValues(g.name).Inc()
	start := time.Now()
	// In case f does not return.
	kind, outcome := adapter.Internal.String(), errNothing
	defer func() {
		settle(outcome)
		cancel()
		g.metrics.inFlight.WithLabelValues(g.name).Dec()
		g.metrics.sent(c, kind, time.Since(start))
	}()
	err = f(limited)
	if limited.Err() != nil && context.Cause(limited) == ErrTimeout && !c.answered(err) { //nolint:errorlint // set above
		err = &adapter.Error{Kind: adapter.Unavailable, Op: c.op(), Err: g.late(err)}
		kind, outcome = adapter.Unavailable.String(), errFailure
		return err
	}
	kind, outcome = c.judge(limited, err)
	return err
}

// take takes a place, for which it waits.
func (g *Guard) take(ctx context.Context, c call) error {
	select {
	case g.places <- struct{}{}:
		return nil
	default:
	}
	timer := time.NewTimer(g.maxWait)
	defer timer.Stop()
	select {
	case g.places <- struct{}{}:
		return nil
	case <-ctx.Done():
		g.metrics.count(c, kindCanceled)
		return ctx.Err()
	case <-timer.C:
		return g.refuse(c, kindFull, ErrFull, 0)
	}
}

// refuse counts a call that is not sent, and returns its error. It may be tried
// again after the time given, in whole seconds and at least one.
func (g *Guard) refuse(c call, kind string, cause error, after time.Duration) error {
	g.metrics.count(c, kind)
	seconds := max(1, (after+time.Second-1)/time.Second)
	return &adapter.Error{Kind: adapter.Unavailable, Op: c.op(), Err: cause, RetryAfter: seconds * time.Second}
}

// late returns the cause of a call's error that was over its deadline, and what it
// then failed with if that tells more.
func (g *Guard) late(err error) error {
	late := fmt.Errorf("%w, %s", ErrTimeout, g.timeout)
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return late
	}
	return fmt.Errorf("%w: %w", late, err)
}

// answered reports whether err, of a call that was sent, is the answer of the
// domain, or of the caller to what the domain said.
func (c call) answered(err error) bool {
	if err == nil || c.refused != nil && *c.refused {
		return true
	}
	switch kindOf(err) {
	case adapter.NotFound, adapter.Conflict, adapter.Invalid, adapter.Unsupported:
		return true
	default:
		return errors.Is(err, adapter.ErrMatchLimit) // the caller asked for too much
	}
}

// judge returns the label of a call that was sent and was not late, and its outcome
// for the breaker.
func (c call) judge(ctx context.Context, err error) (kind string, outcome error) {
	switch {
	case err == nil || c.refused != nil && *c.refused:
		return kindOK, nil
	case c.answered(err):
		return kindOf(err).String(), nil
	case ctx.Err() != nil:
		return kindCanceled, errNothing
	case kindOf(err) == adapter.Unavailable:
		return adapter.Unavailable.String(), errFailure
	default:
		return adapter.Internal.String(), errNothing
	}
}

// kindOf returns the kind of an error. A file that does not exist may lie behind an
// error of any kind, as the socket of a server that is down.
func kindOf(err error) adapter.ErrorKind {
	var known *adapter.Error
	if !errors.As(err, &known) && errors.Is(err, fs.ErrNotExist) {
		return adapter.NotFound
	}
	return adapter.KindOf(err)
}
