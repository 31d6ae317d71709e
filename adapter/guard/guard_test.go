package guard_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/guard"
)

// refusals is an error of the caller that cannot be compared with ==.
type refusals []string

func (r refusals) Error() string { return r[0] }

// How an outcome counts.
const (
	success = "success"
	failure = "failure"
	nothing = "nothing"
)

// TestOutcomes: what a call ends with decides what it is counted as, what its caller
// sees, and whether the breaker takes it for a failure.
func TestOutcomes(t *testing.T) {
	failing := func(err error) func(*guarded, context.Context) error {
		return func(g *guarded, ctx context.Context) error {
			g.behind.set(func(context.Context) error { return err })
			return g.get(ctx)
		}
	}
	ofKind := func(kind adapter.ErrorKind) error { return &adapter.Error{Kind: kind, Op: "reach"} }
	answers := []error{
		refusals{"not this one"},
		ofKind(adapter.Unavailable), // what the caller says means what the caller likes
		context.DeadlineExceeded,
	}
	mine := fmt.Errorf("mine")
	type outcome struct {
		name   string
		run    func(*guarded, context.Context) error
		kind   string // label
		counts string
		want   error // in the chain of what the caller sees
	}
	cases := []outcome{
		{"found", failing(nil), "ok", success, nil},
		{"not found", failing(ofKind(adapter.NotFound)), "not_found", success, nil},
		{"conflict", failing(ofKind(adapter.Conflict)), "conflict", success, nil},
		{"invalid", failing(ofKind(adapter.Invalid)), "invalid", success, nil},
		{"unsupported", failing(ofKind(adapter.Unsupported)), "unsupported", success, nil},
		{"internal", failing(ofKind(adapter.Internal)), "internal", nothing, nil},
		{"no kind", failing(mine), "internal", nothing, mine},
		{"unavailable", failing(ofKind(adapter.Unavailable)), "unavailable", failure, nil},
		{"no socket", failing(&adapter.Error{Kind: adapter.Unavailable, Op: "dial", Err: &net.OpError{Op: "dial", Err: syscall.ENOENT}}),
			"unavailable", failure, nil},
		{"no answer", func(g *guarded, ctx context.Context) error { g.behind.set(hang); return g.get(ctx) }, "unavailable", failure, guard.ErrTimeout},
		{"a query that asks for too much", failing(&adapter.Error{Kind: adapter.Unavailable, Op: "query", Err: adapter.ErrMatchLimit}),
			"unavailable", success, adapter.ErrMatchLimit},
		{"a deadline of the caller's own", func(g *guarded, ctx context.Context) error {
			ctx, cancel := context.WithTimeoutCause(ctx, time.Second, errors.New("mine"))
			defer cancel()
			g.behind.set(hang)
			return g.get(ctx)
		}, "canceled", nothing, context.DeadlineExceeded},
		{"a mistake, too late", func(g *guarded, ctx context.Context) error {
			g.behind.set(func(ctx context.Context) error { <-ctx.Done(); return mine })
			return g.get(ctx)
		}, "unavailable", failure, guard.ErrTimeout},
		{"a driver that takes it for a cancellation", func(g *guarded, ctx context.Context) error {
			g.behind.set(func(ctx context.Context) error { <-ctx.Done(); return context.Canceled })
			return g.get(ctx)
		}, "unavailable", failure, guard.ErrTimeout},
		{"not found, too late", func(g *guarded, ctx context.Context) error {
			g.behind.set(func(ctx context.Context) error { <-ctx.Done(); return ofKind(adapter.NotFound) })
			return g.get(ctx)
		}, "not_found", success, nil},
		{"the client goes", func(g *guarded, ctx context.Context) error {
			ctx, cancel := context.WithCancel(ctx)
			g.behind.set(func(ctx context.Context) error { cancel(); return hang(ctx) })
			return g.get(ctx)
		}, "canceled", nothing, context.Canceled},
		{"the client goes, and the connection with it", func(g *guarded, ctx context.Context) error {
			ctx, cancel := context.WithCancel(ctx)
			g.behind.set(func(ctx context.Context) error { cancel(); return unavailable(ctx) })
			return g.get(ctx)
		}, "canceled", nothing, nil},
		{"the client had gone", func(g *guarded, ctx context.Context) error {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return g.get(ctx)
		}, "canceled", nothing, context.Canceled},
		{"the client's deadline", func(g *guarded, ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			g.behind.set(hang)
			return g.get(ctx)
		}, "canceled", nothing, context.DeadlineExceeded},
		{"a panic", func(g *guarded, ctx context.Context) error {
			g.behind.set(func(context.Context) error { panic(mine) })
			defer func() {
				if p := recover(); p != mine {
					panic(fmt.Sprintf("recovered %v", p))
				}
			}()
			return g.get(ctx)
		}, "internal", nothing, nil},
		{"a goroutine that ends", func(g *guarded, ctx context.Context) error {
			g.behind.set(func(context.Context) error { runtime.Goexit(); return nil })
			var all sync.WaitGroup
			all.Go(func() { _ = g.get(ctx) })
			all.Wait()
			return nil
		}, "internal", nothing, nil},
		{"a panic of Change", func(g *guarded, ctx context.Context) error {
			g.behind.set(nil)
			defer func() { _ = recover() }()
			return g.stock.Update(ctx, &adapter.UpdateParams{Key: 1, Change: func(adapter.Record) (adapter.Record, error) { panic(mine) }})
		}, "internal", nothing, nil},
		{"no file", func(g *guarded, ctx context.Context) error {
			_, _, err := g.Media(func(context.Context, string) (*os.File, string, error) { return nil, "", fs.ErrNotExist })(ctx, "x")
			return err
		}, "not_found", success, fs.ErrNotExist},
	}
	for _, answer := range answers {
		name := fmt.Sprintf(" says %T", answer)
		cases = append(cases,
			outcome{"Change" + name, func(g *guarded, ctx context.Context) error {
				g.behind.set(nil)
				return g.stock.Update(ctx, &adapter.UpdateParams{Key: 1, Change: func(adapter.Record) (adapter.Record, error) { return adapter.Record{}, answer }})
			}, "ok", success, answer},
			outcome{"Check of Create" + name, func(g *guarded, ctx context.Context) error {
				g.behind.set(nil)
				_, err := g.products.Create(ctx, &adapter.CreateParams{Record: adapter.NewRecord(adapter.NewSchemas().Of(adapter.Products)), Check: func() error { return answer }})
				return err
			}, "ok", success, answer},
			outcome{"Check of Delete" + name, func(g *guarded, ctx context.Context) error {
				g.behind.set(nil)
				return g.products.Delete(ctx, &adapter.DeleteParams{Key: 1, Check: func(adapter.Record) error { return answer }})
			}, "ok", success, answer})
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := protect(t, guard.Options{Failures: 2, MaxInFlight: 1, OpenFor: time.Hour})
				g.fail(t, 1)
				before := g.counted(t, c.kind)
				err := c.run(g, t.Context())
				if got := g.counted(t, c.kind); got != before+1 {
					t.Errorf("%v is not counted as %s", err, c.kind)
				}
				switch {
				case c.want == nil:
				case errors.As(c.want, new(refusals)):
					if !errors.As(err, new(refusals)) {
						t.Errorf("the caller sees %v", err)
					}
				case !errors.Is(err, c.want):
					t.Errorf("the caller sees %v", err)
				}
				if errors.Is(err, guard.ErrTimeout) && (adapter.KindOf(err) != adapter.Unavailable || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)) {
					t.Errorf("no answer in time is %v", err)
				}
				got := failure
				if !g.Open() {
					g.fail(t, 1) // also: the place is free
					if got = nothing; !g.Open() {
						got = success
					}
				}
				if got != c.counts {
					t.Errorf("%v counts as %s, want %s", err, got, c.counts)
				}
				if n := g.sum(t, "portico_upstream_in_flight", ""); n != 0 {
					t.Errorf("%v calls are in flight", n)
				}
			})
		})
	}
}

// checkRefused finds the error of a call that was not sent.
func checkRefused(t *testing.T, err, cause error, after time.Duration) {
	t.Helper()
	var refused *adapter.Error
	if !errors.As(err, &refused) || refused.Kind != adapter.Unavailable || !errors.Is(err, cause) || refused.RetryAfter != after {
		t.Errorf("%v, want %v and %s", err, cause, after)
	}
}

// TestBreaker goes through the states: an upstream that is down gets the calls that
// open the breaker, then one for each time it was open, and recovers by itself.
func TestBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := protect(t, guard.Options{})
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
				checkRefused(t, g.get(ctx), guard.ErrOpen, 2*time.Second)
			}
			checkRefused(t, g.adapter.Ping(ctx), guard.ErrOpen, 2*time.Second)
			time.Sleep(500 * time.Millisecond)
			checkRefused(t, g.get(ctx), guard.ErrOpen, 2*time.Second)
			time.Sleep(600 * time.Millisecond)
			checkRefused(t, g.get(ctx), guard.ErrOpen, time.Second)
			if got := g.behind.calls.Load(); got != sent {
				t.Errorf("%d calls reached the upstream, want %d", got, sent)
			}
			time.Sleep(901 * time.Millisecond)
			if g.Open() {
				t.Error("open after its time")
			}
			if err := g.get(ctx); adapter.KindOf(err) != adapter.Unavailable || errors.Is(err, guard.ErrOpen) {
				t.Errorf("the call that finds out: %v", err)
			}
			sent++
		}
		g.behind.set(nil)
		time.Sleep(2001 * time.Millisecond)
		for range 3 {
			if err := g.get(ctx); err != nil {
				t.Errorf("a call to an upstream that is well again: %v", err)
			}
		}
		if got := g.behind.calls.Load(); got != sent+3 {
			t.Errorf("%d calls reached the upstream, want %d", got, sent+3)
		}
		want := []string{"open", "half_open", "open", "half_open", "open", "half_open", "open", "half_open", "closed"}
		if !slices.Equal(*g.breaker, want) {
			t.Errorf("the breaker went %v, want %v", *g.breaker, want)
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

// TestOneFindsOut: while the breaker is half-open one call is in flight, and others
// are refused; when it ends without an outcome, whatever the reason, the next is it.
func TestOneFindsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := protect(t, guard.Options{Failures: 1})
		g.fail(t, 1)
		time.Sleep(2001 * time.Millisecond)
		g.behind.set(hang)
		for range 3 {
			ctx, leave := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() { ended <- g.get(ctx) }()
			synctest.Wait()
			before := g.behind.calls.Load()
			for range 20 {
				checkRefused(t, g.get(t.Context()), guard.ErrOpen, time.Second)
			}
			if got := g.behind.calls.Load(); got != before {
				t.Errorf("%d calls beside the one", got-before)
			}
			leave()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("its client went: %v", err)
			}
		}
		g.behind.set(func(context.Context) error { panic("a mistake") })
		func() {
			defer func() { _ = recover() }()
			_ = g.get(t.Context())
		}()
		g.behind.set(nil)
		if err := g.get(t.Context()); err != nil {
			t.Errorf("a call to an upstream that is well again: %v", err)
		}
		if want := []string{"open", "half_open", "closed"}; !slices.Equal(*g.breaker, want) {
			t.Errorf("the breaker went %v, want %v", *g.breaker, want)
		}
	})
}

// TestLateOutcomes: calls that were sent before the breaker opened change nothing
// when they end after it.
func TestLateOutcomes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := protect(t, guard.Options{Failures: 2})
		release := make(chan error)
		g.behind.set(func(context.Context) error { return <-release })
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() { _ = g.get(t.Context()) })
		}
		synctest.Wait()
		down := unavailable(t.Context())
		for _, err := range []error{down, down, nil, down, down, nil} {
			release <- err
			synctest.Wait()
		}
		all.Wait()
		if want := []string{"open"}; !g.Open() || !slices.Equal(*g.breaker, want) {
			t.Errorf("the breaker went %v, want %v", *g.breaker, want)
		}
	})
}

// TestLimit lets many callers call at once.
func TestLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit, callers = 4, 50
		g := protect(t, guard.Options{MaxInFlight: limit, MaxWait: time.Minute})
		g.behind.set(func(context.Context) error { time.Sleep(time.Second); return nil })
		var all sync.WaitGroup
		for range callers {
			all.Go(func() {
				if err := g.get(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if most, calls := g.behind.most.Load(), g.behind.calls.Load(); most != limit || calls != callers {
			t.Errorf("%d of %d calls at a time, want %d of %d", most, calls, limit, callers)
		}
	})
}

// TestWaiting: a call waits for a place as long as it may, and not beyond its own
// context; while the breaker is open it does not wait.
func TestWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := protect(t, guard.Options{MaxInFlight: 2, Failures: 1})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var hung sync.WaitGroup
		g.behind.set(hang)
		for range 2 {
			hung.Go(func() { _ = g.get(ctx) })
		}
		synctest.Wait()
		start := time.Now()
		checkRefused(t, g.get(t.Context()), guard.ErrFull, time.Second)
		if waited := time.Since(start); waited != time.Second {
			t.Errorf("waited %s, want 1s of this clock", waited)
		}
		impatient, leave := context.WithTimeout(t.Context(), time.Millisecond)
		defer leave()
		if err := g.get(impatient); !errors.Is(err, context.DeadlineExceeded) || adapter.KindOf(err) == adapter.Unavailable {
			t.Errorf("a caller whose time is over while it waits: %v", err)
		}
		if g.counted(t, "refused_full") != 1 || g.counted(t, "canceled") != 1 || g.behind.calls.Load() != 2 || g.Open() {
			t.Error("calls that were not sent are counted as if they were")
		}
		cancel()
		hung.Wait()
	})
}

// TestWaitingEndsWithTheUpstream: those who wait for a place are refused once the
// breaker opens, although another call still holds one.
func TestWaitingEndsWithTheUpstream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := protect(t, guard.Options{MaxInFlight: 2, Failures: 1, MaxWait: time.Hour})
		release := make(chan error)
		g.behind.set(func(context.Context) error { return <-release })
		var sent, waiting sync.WaitGroup
		for range 2 {
			sent.Go(func() { _ = g.get(t.Context()) })
		}
		synctest.Wait()
		for range 5 {
			waiting.Go(func() { checkRefused(t, g.get(t.Context()), guard.ErrOpen, 2*time.Second) })
		}
		synctest.Wait()
		start := time.Now()
		release <- unavailable(t.Context())
		waiting.Wait()
		if waited := time.Since(start); waited != 0 {
			t.Errorf("they waited another %s", waited)
		}
		release <- nil
		sent.Wait()
		if got := g.behind.calls.Load(); got != 2 {
			t.Errorf("%d calls reached the upstream, want 2", got)
		}
	})
}
