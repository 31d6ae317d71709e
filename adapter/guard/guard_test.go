package guard_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/guard"
)

// An incomparableError is an error of the caller that cannot be compared with ==.
type incomparableError []string

func (r incomparableError) Error() string { return r[0] }

// The ways in which an outcome counts.
const (
	success = "success"
	failure = "failure"
	ignored = "nothing"
)

// An outcome is a call and the way in which it counts.
type outcome struct {
	name   string
	run    func(*guarded, context.Context) error
	kind   string // label
	counts string
	want   error // in the chain of the caller's error
}

// TestOutcomes checks how the outcome of a call is counted, the error that the caller sees, and
// whether the breaker counts it as a failure.
func TestOutcomes(t *testing.T) {
	failing := func(err error) func(*guarded, context.Context) error {
		return func(g *guarded, ctx context.Context) error {
			g.upstream.set(func(context.Context) error { return err })
			return g.get(ctx)
		}
	}
	ofKind := func(kind adapter.ErrorKind) error { return &adapter.Error{Kind: kind, Op: "reach"} }
	answers := []error{
		incomparableError{"not this one"},
		ofKind(adapter.Unavailable), // the caller's functions may return any error
		context.DeadlineExceeded,
	}
	errCaller := errors.New("error of the caller")
	cases := []outcome{
		{"found", failing(nil), "ok", success, nil},
		{"not found", failing(ofKind(adapter.NotFound)), "not_found", success, nil},
		{"conflict", failing(ofKind(adapter.Conflict)), "conflict", success, nil},
		{"invalid", failing(ofKind(adapter.Invalid)), "invalid", success, nil},
		{"unsupported", failing(ofKind(adapter.Unsupported)), "unsupported", success, nil},
		{"internal", failing(ofKind(adapter.Internal)), "internal", ignored, nil},
		{"error without a kind", failing(errCaller), "internal", ignored, errCaller},
		{"unavailable", failing(ofKind(adapter.Unavailable)), "unavailable", failure, nil},
		{"missing socket", failing(&adapter.Error{Kind: adapter.Unavailable, Op: "dial", Err: &net.OpError{Op: "dial", Err: syscall.ENOENT}}),
			"unavailable", failure, nil},
		{"timeout", func(g *guarded, ctx context.Context) error { g.upstream.set(hangFault); return g.get(ctx) }, "unavailable", failure, guard.ErrTimeout},
		{"query over the match limit", failing(&adapter.Error{Kind: adapter.Unavailable, Op: "query", Err: adapter.ErrMatchLimit}),
			"unavailable", success, adapter.ErrMatchLimit},
		{"record that others keep writing", failing(&adapter.Error{Kind: adapter.Unavailable, Op: "update", Err: adapter.ErrContention}),
			"unavailable", success, adapter.ErrContention},
		{"caller's deadline with a cause", func(g *guarded, ctx context.Context) error {
			ctx, cancel := context.WithTimeoutCause(ctx, time.Second, errors.New("deadline of the caller"))
			defer cancel()
			g.upstream.set(hangFault)
			return g.get(ctx)
		}, "canceled", ignored, context.DeadlineExceeded},
		{"error after the deadline", func(g *guarded, ctx context.Context) error {
			g.upstream.set(func(ctx context.Context) error { <-ctx.Done(); return errCaller })
			return g.get(ctx)
		}, "unavailable", failure, guard.ErrTimeout},
		{"driver reports the deadline as cancellation", func(g *guarded, ctx context.Context) error {
			g.upstream.set(func(ctx context.Context) error { <-ctx.Done(); return context.Canceled })
			return g.get(ctx)
		}, "unavailable", failure, guard.ErrTimeout},
		{"not found after the deadline", func(g *guarded, ctx context.Context) error {
			g.upstream.set(func(ctx context.Context) error { <-ctx.Done(); return ofKind(adapter.NotFound) })
			return g.get(ctx)
		}, "not_found", success, nil},
		{"caller canceled", func(g *guarded, ctx context.Context) error {
			ctx, cancel := context.WithCancel(ctx)
			g.upstream.set(func(ctx context.Context) error { cancel(); return hangFault(ctx) })
			return g.get(ctx)
		}, "canceled", ignored, context.Canceled},
		{"caller canceled, connection lost", func(g *guarded, ctx context.Context) error {
			ctx, cancel := context.WithCancel(ctx)
			g.upstream.set(func(ctx context.Context) error { cancel(); return unavailableFault(ctx) })
			return g.get(ctx)
		}, "canceled", ignored, nil},
		{"caller canceled before the call", func(g *guarded, ctx context.Context) error {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return g.get(ctx)
		}, "canceled", ignored, context.Canceled},
		{"caller's deadline", func(g *guarded, ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			g.upstream.set(hangFault)
			return g.get(ctx)
		}, "canceled", ignored, context.DeadlineExceeded},
		{"panic", func(g *guarded, ctx context.Context) error {
			g.upstream.set(func(context.Context) error { panic(errCaller) })
			defer func() {
				if p := recover(); p != errCaller {
					panic(fmt.Sprintf("recovered %v", p))
				}
			}()
			return g.get(ctx)
		}, "internal", ignored, nil},
		{"runtime.Goexit", func(g *guarded, ctx context.Context) error {
			g.upstream.set(func(context.Context) error { runtime.Goexit(); return nil })
			var all sync.WaitGroup
			all.Go(func() { _ = g.get(ctx) })
			all.Wait()
			return nil
		}, "internal", ignored, nil},
		{"panic in Change", func(g *guarded, ctx context.Context) error {
			g.upstream.set(nil)
			defer func() { _ = recover() }()
			return g.stock.Update(ctx, &adapter.UpdateParams{Key: 1, Change: func(adapter.Record) (adapter.Record, error) { panic(errCaller) }})
		}, "internal", ignored, nil},
		{"missing media file", func(g *guarded, ctx context.Context) error {
			_, err := g.Media(func(context.Context, string) (*adapter.MediaFile, error) { return nil, fs.ErrNotExist })(ctx, "x")
			return err
		}, "not_found", success, fs.ErrNotExist},
		{"store of media files away", func(g *guarded, ctx context.Context) error {
			away := &adapter.Error{Kind: adapter.Unavailable, Err: adapter.ErrMediaUnavailable}
			_, err := g.Media(func(context.Context, string) (*adapter.MediaFile, error) { return nil, away })(ctx, "x")
			return err
		}, "unavailable", success, adapter.ErrMediaUnavailable},
	}
	var writes []outcome
	for _, answer := range answers {
		name := fmt.Sprintf(" returns %T", answer)
		writes = append(writes,
			outcome{"Change" + name, func(g *guarded, ctx context.Context) error {
				g.upstream.set(nil)
				return g.stock.Update(ctx, &adapter.UpdateParams{Key: 1, Change: func(adapter.Record) (adapter.Record, error) { return adapter.Record{}, answer }})
			}, "ok", success, answer},
			outcome{"Check of Create" + name, func(g *guarded, ctx context.Context) error {
				g.upstream.set(nil)
				_, err := g.products.Create(ctx, &adapter.CreateParams{Record: adapter.NewRecord(adapter.NewSchemas().Of(adapter.Products)), Check: func() error { return answer }})
				return err
			}, "ok", success, answer},
			outcome{"Check of Delete" + name, func(g *guarded, ctx context.Context) error {
				g.upstream.set(nil)
				return g.products.Delete(ctx, &adapter.DeleteParams{Key: 1, Check: func(adapter.Record) error { return answer }})
			}, "ok", success, answer})
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { c.check(t, (*guarded).get) })
		})
	}
	for _, c := range writes {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { c.check(t, (*guarded).write) })
		})
	}
}

// check makes the call of an outcome after one failure of another call of the same breaker, whose
// second failure opens it.
func (c outcome) check(t *testing.T, another func(*guarded, context.Context) error) {
	t.Helper()
	g := newGuarded(t, guard.Options{Failures: 2, MaxInFlight: 1, OpenFor: time.Hour})
	fail := func() { g.failBy(t, 1, func(ctx context.Context) error { return another(g, ctx) }) }
	opened := func() bool { return slices.Contains(*g.states, "open") }
	fail()
	before := g.counted(t, c.kind)
	err := c.run(g, t.Context())
	if got := g.counted(t, c.kind); got != before+1 {
		t.Errorf("%v is not counted as %s", err, c.kind)
	}
	switch {
	case c.want == nil:
	case errors.As(c.want, new(incomparableError)):
		if !errors.As(err, new(incomparableError)) {
			t.Errorf("the caller sees %v", err)
		}
	case !errors.Is(err, c.want):
		t.Errorf("the caller sees %v", err)
	}
	if errors.Is(err, guard.ErrTimeout) && (adapter.KindOf(err) != adapter.Unavailable || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)) {
		t.Errorf("the timeout is reported as %v", err)
	}
	got := failure
	if !opened() {
		fail() // this also shows that the slot is free
		if got = ignored; !opened() {
			got = success
		}
	}
	if got != c.counts {
		t.Errorf("%v counts as %s, want %s", err, got, c.counts)
	}
	if n := g.sum(t, "portico_upstream_in_flight", ""); n != 0 {
		t.Errorf("%v calls are in flight", n)
	}
}

// checkRejected checks the error of a call that was not sent.
func checkRejected(t *testing.T, err, cause error, after time.Duration) {
	t.Helper()
	var refused *adapter.Error
	if !errors.As(err, &refused) || refused.Kind != adapter.Unavailable || !errors.Is(err, cause) || refused.RetryAfter != after {
		t.Errorf("%v, want %v and %s", err, cause, after)
	}
}

// TestBreaker checks the states of the breaker: a failing upstream gets the calls that open
// the breaker, then one probe each time the breaker's time is over, and the breaker closes
// after a successful probe.
func TestBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuarded(t, guard.Options{})
		ctx := t.Context()
		g.fail(t, 4)
		if g.Open() {
			t.Error("open after 4 failures")
		}
		g.fail(t, 1)
		sent := int64(5)
		for range 3 {
			if !g.Open() {
				t.Fatal("not open")
			}
			for range 100 {
				checkRejected(t, g.get(ctx), guard.ErrOpen, 2*time.Second)
			}
			checkRejected(t, g.adapter.Ping(ctx), guard.ErrOpen, 2*time.Second)
			time.Sleep(400 * time.Millisecond)
			checkRejected(t, g.get(ctx), guard.ErrOpen, 2*time.Second)
			time.Sleep(650 * time.Millisecond)
			checkRejected(t, g.get(ctx), guard.ErrOpen, time.Second)
			if got := g.upstream.calls.Load(); got != sent {
				t.Errorf("%d calls reached the upstream, want %d", got, sent)
			}
			time.Sleep(951 * time.Millisecond)
			if g.Open() {
				t.Error("open after its time")
			}
			if err := g.get(ctx); adapter.KindOf(err) != adapter.Unavailable || errors.Is(err, guard.ErrOpen) {
				t.Errorf("probe: %v", err)
			}
			sent++
		}
		g.upstream.set(nil)
		time.Sleep(2001 * time.Millisecond)
		for range 3 {
			if err := g.get(ctx); err != nil {
				t.Errorf("a call after recovery: %v", err)
			}
		}
		if got := g.upstream.calls.Load(); got != sent+3 {
			t.Errorf("%d calls reached the upstream, want %d", got, sent+3)
		}
		want := []string{"open", "half_open", "open", "half_open", "open", "half_open", "open", "half_open", "closed"}
		if !slices.Equal(*g.states, want) {
			t.Errorf("the breaker went %v, want %v", *g.states, want)
		}
		for kind, want := range map[string]float64{"unavailable": 8, "refused_open": 309, "ok": 3} {
			if got := g.counted(t, kind); got != want {
				t.Errorf("%v calls are counted as %s, want %v", got, kind, want)
			}
		}
		if got := g.sum(t, "portico_upstream_call_duration_seconds", ""); got != 11 {
			t.Errorf("%v calls are timed, want those that were sent", got)
		}
	})
}

// TestBreakersApart checks that failing writes do not keep reads from the upstream, and the reverse.
func TestBreakersApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuarded(t, guard.Options{})
		ctx := t.Context()
		g.failBy(t, 5, g.write)
		checkRejected(t, g.write(ctx), guard.ErrOpen, 2*time.Second)
		g.upstream.set(nil)
		if err := g.get(ctx); err != nil || g.Open() {
			t.Errorf("a read while writes fail: %v", err)
		}
		g.fail(t, 5)
		checkRejected(t, g.get(ctx), guard.ErrOpen, 2*time.Second)
		g.upstream.set(nil)
		time.Sleep(2001 * time.Millisecond)
		for name, call := range map[string]func(context.Context) error{"write": g.write, "read": g.get} {
			if err := call(ctx); err != nil {
				t.Errorf("a %s after recovery: %v", name, err)
			}
		}
		if want := []string{"open", "open", "half_open", "closed", "half_open", "closed"}; !slices.Equal(*g.states, want) {
			t.Errorf("the breakers went %v, want %v", *g.states, want)
		}
	})
}

// TestSingleProbe checks that a half-open breaker lets one probe through and rejects other
// calls, and that the next call is the probe if one ends without an outcome.
func TestSingleProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuarded(t, guard.Options{Failures: 1})
		g.fail(t, 1)
		time.Sleep(2001 * time.Millisecond)
		g.upstream.set(hangFault)
		for range 3 {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() { ended <- g.get(ctx) }()
			synctest.Wait()
			before := g.upstream.calls.Load()
			for range 20 {
				checkRejected(t, g.get(t.Context()), guard.ErrOpen, time.Second)
			}
			if got := g.upstream.calls.Load(); got != before {
				t.Errorf("%d calls besides the probe", got-before)
			}
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("canceled probe: %v", err)
			}
		}
		g.upstream.set(func(context.Context) error { panic("bug") })
		func() {
			defer func() { _ = recover() }()
			_ = g.get(t.Context())
		}()
		g.upstream.set(nil)
		if err := g.get(t.Context()); err != nil {
			t.Errorf("a call after recovery: %v", err)
		}
		if want := []string{"open", "half_open", "closed"}; !slices.Equal(*g.states, want) {
			t.Errorf("the breaker went %v, want %v", *g.states, want)
		}
	})
}

// TestLateOutcomes checks that calls sent before the breaker opened do not change it when
// they end afterwards.
func TestLateOutcomes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuarded(t, guard.Options{Failures: 2})
		release := make(chan error)
		g.upstream.set(func(context.Context) error { return <-release })
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() { _ = g.get(t.Context()) })
		}
		synctest.Wait()
		down := unavailableFault(t.Context())
		for _, err := range []error{down, down, nil, down, down, nil} {
			release <- err
			synctest.Wait()
		}
		all.Wait()
		if want := []string{"open"}; !g.Open() || !slices.Equal(*g.states, want) {
			t.Errorf("the breaker went %v, want %v", *g.states, want)
		}
	})
}

// TestLimit makes many concurrent calls.
func TestLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit, callers = 4, 50
		g := newGuarded(t, guard.Options{MaxInFlight: limit, MaxWait: time.Minute})
		g.upstream.set(func(context.Context) error { time.Sleep(time.Second); return nil })
		var all sync.WaitGroup
		for range callers {
			all.Go(func() {
				if err := g.get(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if most, calls := g.upstream.most.Load(), g.upstream.calls.Load(); most != limit || calls != callers {
			t.Errorf("%d of %d calls at a time, want %d of %d", most, calls, limit, callers)
		}
	})
}

// TestWaiting checks that a call waits for a slot no longer than MaxWait and its context
// allow.
func TestWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuarded(t, guard.Options{MaxInFlight: 2, Failures: 1})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var hung sync.WaitGroup
		g.upstream.set(hangFault)
		for range 2 {
			hung.Go(func() { _ = g.get(ctx) })
		}
		synctest.Wait()
		start := time.Now()
		checkRejected(t, g.get(t.Context()), guard.ErrFull, time.Second)
		if waited := time.Since(start); waited != time.Second {
			t.Errorf("waited %s, want 1s of this clock", waited)
		}
		impatient, leave := context.WithTimeout(t.Context(), time.Millisecond)
		defer leave()
		if err := g.get(impatient); !errors.Is(err, context.DeadlineExceeded) || adapter.KindOf(err) == adapter.Unavailable {
			t.Errorf("a caller whose deadline passes while it waits: %v", err)
		}
		if g.counted(t, "refused_full") != 1 || g.counted(t, "canceled") != 1 || g.upstream.calls.Load() != 2 || g.Open() {
			t.Error("calls that were not sent are counted as sent")
		}
		cancel()
		hung.Wait()
	})
}

// TestWaitingEndsWhenBreakerOpens checks that waiting calls are rejected once the breaker
// opens, although another call still holds a slot.
func TestWaitingEndsWhenBreakerOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuarded(t, guard.Options{MaxInFlight: 2, Failures: 1, MaxWait: time.Hour})
		release := make(chan error)
		g.upstream.set(func(context.Context) error { return <-release })
		var sent, waiting sync.WaitGroup
		for range 2 {
			sent.Go(func() { _ = g.get(t.Context()) })
		}
		synctest.Wait()
		for range 5 {
			waiting.Go(func() { checkRejected(t, g.get(t.Context()), guard.ErrOpen, 2*time.Second) })
		}
		synctest.Wait()
		start := time.Now()
		release <- unavailableFault(t.Context())
		waiting.Wait()
		if waited := time.Since(start); waited != 0 {
			t.Errorf("they waited another %s after the breaker opened", waited)
		}
		release <- nil
		sent.Wait()
		if got := g.upstream.calls.Load(); got != 2 {
			t.Errorf("%d calls reached the upstream, want 2", got)
		}
	})
}

// TestMeter checks that a context sums the time of the calls that were sent with it.
func TestMeter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		metrics := guard.NewMetrics(prometheus.NewRegistry())
		g := guard.New(metrics, guard.Options{Name: "store", Failures: 2, OpenFor: time.Hour})
		call := func(ctx context.Context, took time.Duration, err error) {
			_ = g.Do(ctx, "products", "get", func(context.Context) error { time.Sleep(took); return err })
		}
		var meter, other guard.Meter
		ctx := guard.WithMeter(t.Context(), &meter)
		down := &adapter.Error{Kind: adapter.Unavailable, Op: "reach"}
		call(ctx, 2*time.Second, nil)
		call(t.Context(), time.Second, nil)
		call(guard.WithMeter(ctx, &other), time.Second, nil)
		call(ctx, time.Second, down)
		call(ctx, time.Second, down)
		call(ctx, time.Second, nil) // not sent: the breaker is open
		if meter.Time() != 4*time.Second || other.Time() != time.Second {
			t.Errorf("%s and %s, want 4s and 1s", meter.Time(), other.Time())
		}
	})
}
