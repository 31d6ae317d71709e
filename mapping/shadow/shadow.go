// Package shadow asks the other side of a migration what one side has answered,
// and counts where the two differ.
//
// # Principles
//
//  1. The client notices nothing: its reply is written before the other side is
//     asked, and nothing it waits for waits for this package.
//  2. Clients come first. While they send requests, all questions together take a
//     twentieth of one processor's time at most; when nobody does they take what
//     there is. What does not fit the queue is dropped, before anything is copied.
//  3. Only what changes nothing is asked twice.
//  4. A difference counts only if no write went by between the two answers; else
//     nobody can tell whose it is.
//  5. That the other side is away or slow is counted and is no difference.
//
// # How it is tested
//
// With sides that answer, differ, hang, fail and count what they are asked; in
// package main between two whole servers with planted differences. A benchmark
// there compares the throughput of clients with and without.
package shadow

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/portico-commerce/portico/mapping/compare"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/exchange"
	"github.com/portico-commerce/portico/mapping/passthrough"
)

// Options are what a [Shadow] is made of.
type Options struct {
	Rules passthrough.Rules
	// Ask asks the other side of an exchange for its answer: the old system, unless
	// that has answered. An error means that it cannot answer now.
	Ask func(context.Context, *exchange.Exchange) (*compare.Answer, error)
	// Compare says what is no difference, but for the base URLs, which Bases returns:
	// those that the answers of the old system and of Portico hold.
	Compare compare.Options
	Bases   func(*exchange.Exchange) [2]string
	Sample  float64 // share of the reads that are compared, 0 to 1
	// MaxInFlight is how many questions may be asked at a time, Queue how many wait,
	// Timeout how long each may take.
	MaxInFlight, Queue int
	Timeout            time.Duration
	// Samples is how many are kept of each call and field. Target returns the target
	// of a request as it may be shown: without what tells of a person.
	Samples int
	Target  func(*exchange.Exchange) string
	// Count counts what became of a read (Outcomes), Differ a difference.
	Count  func(call, outcome string)
	Differ func(call, field string)
	Log    *slog.Logger
}

// A Shadow watches exchanges. It is safe for concurrent use.
type Shadow struct {
	Options
	samples samples
	waiting chan *exchange.Exchange
	asking  atomic.Int64 // questions that wait or are being asked
	called  atomic.Int64 // when a client last sent a request, in nanoseconds since began
	began   time.Time
	writing atomic.Int64              // writes that are under way
	wrote   atomic.Pointer[time.Time] // when one last ended
	stop    context.CancelFunc
	workers sync.WaitGroup
}

// New returns a Shadow whose workers run until Close.
func New(o Options) *Shadow {
	ctx, stop := context.WithCancel(context.Background())
	s := &Shadow{
		Options: o, samples: samples{most: o.Samples}, stop: stop,
		waiting: make(chan *exchange.Exchange, o.Queue), began: time.Now(),
	}
	s.wrote.Store(new(time.Time))
	for range o.MaxInFlight {
		s.workers.Go(func() { s.work(ctx) })
	}
	return s
}

// Close ends the workers. What still waits is dropped.
func (s *Shadow) Close() error {
	s.stop()
	s.workers.Wait()
	return nil
}

// Idle reports whether no question waits or is being asked.
func (s *Shadow) Idle() bool { return s.asking.Load() == 0 }

// Noticing returns next, whose clients come first.
func (s *Shadow) Noticing(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.called.Store(int64(time.Since(s.began)))
		next.ServeHTTP(w, r)
	})
}

// Wants asks for the bodies of the reads that are compared, and to be told of
// writes.
func (s *Shadow) Wants(_ *http.Request, a *contract.Address) exchange.Want {
	if !a.ReadOnly {
		s.writing.Add(1)
		return exchange.Heads
	}
	if a.Method != contract.GET || a.Name() == "other" || !s.Rules.Of(a).Shadow || s.Sample < 1 && rand.Float64() >= s.Sample {
		return exchange.Nothing
	}
	if len(s.waiting) == cap(s.waiting) {
		s.Count(a.Name(), dropped)
		return exchange.Nothing
	}
	return exchange.Bodies
}

// Saw has the other side asked.
func (s *Shadow) Saw(e *exchange.Exchange) {
	switch {
	case !e.ReadOnly:
		now := time.Now()
		s.wrote.Store(&now)
		s.writing.Add(-1)
	case e.Broken || e.ReplyBody.Cut || e.Status == http.StatusServiceUnavailable:
		s.Count(e.Name(), incomparable)
	default:
		s.asking.Add(1)
		select {
		case s.waiting <- e:
		default:
			s.asking.Add(-1)
			s.Count(e.Name(), dropped)
		}
	}
}

// work asks one question after the other.
func (s *Shadow) work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-s.waiting:
			start := time.Now()
			s.Count(e.Name(), s.compare(ctx, e))
			s.asking.Add(-1)
			s.rest(ctx, time.Since(start))
		}
	}
}

const (
	// restFactor is how often the time of a question passes, for all workers
	// together, before the next, while clients send requests.
	restFactor  = 20
	longestRest = 10 * time.Second
	// quiet is the time without a request after which nobody has to come first.
	quiet = 100 * time.Millisecond
)

// rest waits for as long as is due after a question that took a time, or until no
// client sends anything.
func (s *Shadow) rest(ctx context.Context, took time.Duration) {
	end := time.Since(s.began) + min(took*time.Duration(restFactor*s.MaxInFlight), longestRest)
	for {
		now := time.Since(s.began)
		left := min(end, time.Duration(s.called.Load())+quiet) - now
		if left <= 0 {
			return
		}
		select {
		case <-time.After(left):
		case <-ctx.Done():
			return
		}
	}
}

// compare asks the other side and returns the outcome.
func (s *Shadow) compare(ctx context.Context, e *exchange.Exchange) (outcome string) {
	defer func() {
		if p := recover(); p != nil {
			s.Log.Error("panic", "shadow", e.Name(), "panic", p, "stack", string(debug.Stack()))
			outcome = failed
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	asked, err := s.Ask(ctx, e)
	if err != nil {
		s.Log.Debug("the other side was not asked", "call", e.Name(), "error", err)
		return failed
	}
	answered := &compare.Answer{
		Status: e.Status, ContentType: e.ReplyHeader.Get("Content-Type"), Location: e.ReplyHeader.Get("Location"), Body: e.ReplyBody.Bytes,
	}
	legacy, candidate := asked, answered
	if e.Legacy {
		legacy, candidate = answered, asked
	}
	options := s.Compare
	options.Bases = s.Bases(e)
	differences := compare.Answers(e.Route, legacy, candidate, &options)
	if len(differences) == 0 {
		return same
	}
	if s.writing.Load() > 0 || s.wrote.Load().After(e.Start) {
		return unsure
	}
	for i := range differences {
		s.Differ(e.Name(), differences[i].Field)
		s.keep(e, &differences[i])
	}
	return different
}
