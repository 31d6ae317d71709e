package compare

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/legacy/proxy"
)

// MaxShadowBody is the maximum size of a body that is compared, in bytes.
const MaxShadowBody = 1 << 20

// ShadowOptions are the settings of a [Shadow].
type ShadowOptions struct {
	Rules proxy.Rules
	// Ask sends the request of an exchange to the system that did not answer it: the legacy store,
	// unless the legacy store answered. It returns an error if that system cannot answer now.
	Ask func(context.Context, *proxy.Exchange) (*Answer, error)
	// Compare defines the differences to ignore. Bases returns the base URLs in the replies of the
	// legacy store and of Portico, which Compare lacks.
	Compare Options
	Bases   func(*proxy.Exchange) [2]string
	Sample  float64 // share of the reads that are compared, 0 to 1
	// MaxInFlight is the number of concurrent requests to the other system, Queue the
	// number that may wait, Timeout the limit for each of them.
	MaxInFlight, Queue int
	Timeout            time.Duration
	// Samples is the number of samples per call and field. Target returns the target of a
	// request without personal data.
	Samples int
	Target  func(*proxy.Exchange) string
	// Consumer returns the name of the consumer of a request; nil leaves it out.
	Consumer func(*proxy.Exchange) string
	// Count counts the outcome of a read (see Outcomes), Differ a difference.
	Count  func(call, outcome string)
	Differ func(call, field string)
	Log    *slog.Logger
}

// A Shadow compares the replies of two systems. It is an [proxy.Watcher] and safe for
// concurrent use.
type Shadow struct {
	ShadowOptions
	*history
	waiting chan *proxy.Exchange
	stop    context.CancelFunc
	workers sync.WaitGroup
}

// A history holds the samples and counters of all exchanges that a process has compared so far,
// under any options.
type history struct {
	samples          samples
	counts           counts
	inFlight         atomic.Int64 // requests to the other system that are queued or in flight
	lastRequest      atomic.Int64 // when a client last sent a request, in nanoseconds since began
	began            time.Time
	writesInProgress atomic.Int64              // writes in progress
	lastWrite        atomic.Pointer[time.Time] // end of the last write
}

// NewShadow returns a Shadow and starts its workers, which run until Close or Finish.
func NewShadow(o ShadowOptions) *Shadow {
	h := &history{began: time.Now()}
	h.lastWrite.Store(new(time.Time))
	return start(o, h)
}

// With returns a Shadow that compares under other options, and starts its workers. It shares with s
// the samples, the counts and the writes that are in progress. s continues with the exchanges that
// it has begun; end it with Finish once it has observed the last of them.
func (s *Shadow) With(o ShadowOptions) *Shadow { return start(o, s.history) }

func start(o ShadowOptions, h *history) *Shadow {
	ctx, stop := context.WithCancel(context.Background())
	h.samples.limit(o.Samples)
	s := &Shadow{ShadowOptions: o, history: h, waiting: make(chan *proxy.Exchange, o.Queue), stop: stop}
	for range o.MaxInFlight {
		s.workers.Go(func() { s.runWorker(ctx) })
	}
	return s
}

// Finish waits until the workers have compared all queued exchanges, and stops them. Call it once,
// after the last Observe. Close ends it early.
func (s *Shadow) Finish() {
	close(s.waiting)
	s.workers.Wait()
	s.stop()
}

// BeginWrite counts a write as in progress until the caller calls end, which may be called
// once. It is for writes that no Shadow is asked about.
func (s *Shadow) BeginWrite() (end func()) {
	s.writesInProgress.Add(1)
	return func() {
		now := time.Now()
		s.lastWrite.Store(&now)
		s.writesInProgress.Add(-1)
	}
}

// Close stops the workers and drops the queue.
func (s *Shadow) Close() error {
	s.stop()
	s.workers.Wait()
	return nil
}

// Idle reports whether no comparison is queued or in flight.
func (s *Shadow) Idle() bool { return s.inFlight.Load() == 0 }

// PrioritizeClients returns next, wrapped to give its clients priority over comparisons.
func (s *Shadow) PrioritizeClients(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.lastRequest.Store(int64(time.Since(s.began)))
		next.ServeHTTP(w, r)
	})
}

// Wants asks for the bodies of reads selected for comparison, and for the heads of writes. It
// counts a write as in progress until Observe gets it.
func (s *Shadow) Wants(_ *http.Request, a *contract.Address) proxy.CopyWant {
	if !a.ReadOnly {
		s.writesInProgress.Add(1)
		return proxy.Heads
	}
	if a.Method != contract.GET || a.Name() == "other" || !s.Rules.For(a).Shadow || s.Sample < 1 && rand.Float64() >= s.Sample {
		return proxy.WantNothing
	}
	if len(s.waiting) == cap(s.waiting) {
		s.count(a.Name(), dropped)
		return proxy.WantNothing
	}
	return proxy.Bodies
}

// Observe queues a read for comparison and notes the end of a write.
func (s *Shadow) Observe(e *proxy.Exchange) {
	switch {
	case !e.ReadOnly:
		now := time.Now()
		s.lastWrite.Store(&now)
		s.writesInProgress.Add(-1)
	case e.Broken || e.ReplyBody.Cut || e.Status == http.StatusServiceUnavailable || e.Status == http.StatusNotModified || e.Status == http.StatusPartialContent:
		s.count(e.Name(), incomparable)
	default:
		s.inFlight.Add(1)
		select {
		case s.waiting <- e:
		default:
			s.inFlight.Add(-1)
			s.count(e.Name(), dropped)
		}
	}
}

// runWorker runs one comparison after the other.
func (s *Shadow) runWorker(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case e, ok := <-s.waiting:
			if !ok { // finished
				return
			}
			start := time.Now()
			s.count(e.Name(), s.compare(ctx, e))
			s.inFlight.Add(-1)
			s.pause(ctx, time.Since(start))
		}
	}
}

const (
	// pauseFactor is the pause after a comparison while clients send requests, as a
	// multiple of the time that the comparison took. The pause applies to all workers.
	pauseFactor = 20
	longestRest = 10 * time.Second
	// idleAfter is the time without a client request after which comparisons do not pause.
	idleAfter = 100 * time.Millisecond
)

// pause pauses after a comparison that took the given time, until the pause is over or no
// client sends requests.
func (s *Shadow) pause(ctx context.Context, took time.Duration) {
	end := time.Since(s.began) + min(took*time.Duration(pauseFactor*s.MaxInFlight), longestRest)
	for {
		now := time.Since(s.began)
		left := min(end, time.Duration(s.lastRequest.Load())+idleAfter) - now
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

// compare asks the other system, compares the replies and returns the outcome.
func (s *Shadow) compare(ctx context.Context, e *proxy.Exchange) (outcome string) {
	defer func() {
		if p := recover(); p != nil {
			s.Log.Error("panic", "shadow", e.Name(), "panic", p, "stack", string(debug.Stack()))
			outcome = failed
		}
	}()
	body, err := e.PlainReply(MaxShadowBody)
	if err != nil {
		s.Log.Debug("the reply to the client cannot be compared", "call", e.Name(), "error", err)
		return incomparable
	}
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	asked, err := s.Ask(ctx, e)
	if err != nil {
		s.Log.Debug("the other system did not answer", "call", e.Name(), "error", err)
		return failed
	}
	answered := &Answer{
		Status: e.Status, ContentType: e.ReplyHeader.Get("Content-Type"), Location: e.ReplyHeader.Get("Location"), Body: body,
	}
	legacy, candidate := asked, answered
	if e.Legacy {
		legacy, candidate = answered, asked
	}
	options := s.Compare
	options.Bases = s.Bases(e)
	differences := Answers(e.Route, legacy, candidate, &options)
	if len(differences) == 0 {
		return ShadowSame
	}
	if s.writesInProgress.Load() > 0 || s.lastWrite.Load().After(e.Start) {
		return Inconclusive
	}
	for i := range differences {
		s.counts.addField(e.Name(), differences[i].Field)
		s.Differ(e.Name(), differences[i].Field)
		s.keep(e, &differences[i])
	}
	return Different
}
