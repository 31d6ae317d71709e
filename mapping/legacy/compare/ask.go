package compare

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/portico-commerce/portico/mapping/contract"
	"golang.org/x/time/rate"
)

// A SweepRequest is a read that is sent to both systems.
type SweepRequest struct {
	Caller string // name of the caller
	Target string // path below /api/rest, and query
	Accept string
	Route  *contract.Route
	// Record has the keys of the record to which the path leads, with slashes between
	// them, or "" for a list of the store.
	Record string
	// Finds: the reads of records depend on this list.
	Finds bool
}

// A sweepResult is a request with the differences between the answers.
type sweepResult struct {
	Request     SweepRequest
	Differences []Difference
}

// attempts is the number of times that a request is sent which a system does not answer, or
// for which it has no time.
const attempts = 3

// An asker sends requests to both systems within the limits on rate and concurrency. It is
// safe for concurrent use.
type asker struct {
	options *SweepOptions
	slots   [2]chan struct{}
	pace    [2]*rate.Limiter
	// records limits the reads of records whose answers are in memory: one system may answer
	// many before the other one answers the first.
	records chan struct{}

	mu    sync.Mutex
	asked [2]int64
}

func newAsker(o *SweepOptions) *asker {
	a := &asker{options: o, records: make(chan struct{}, o.Parallel)}
	for i := range a.slots {
		a.slots[i] = make(chan struct{}, o.Parallel)
		a.pace[i] = rate.NewLimiter(rate.Limit(o.Rate), 1)
	}
	return a
}

// A pair has the answers of both systems to one request, legacy first: an answer or an
// error each.
type pair struct {
	answers [2]*Answer
	errs    [2]error
}

// both sends r to both systems at the same time. It fails only when ctx ends.
func (a *asker) both(ctx context.Context, r *SweepRequest) (p pair, err error) {
	var other sync.WaitGroup
	other.Go(func() { p.answers[0], p.errs[0] = a.one(ctx, 0, r) })
	p.answers[1], p.errs[1] = a.one(ctx, 1, r) // here, as the stack of a new goroutine grows with each request
	other.Wait()
	return p, ctx.Err()
}

// one sends r to one system. If the system is busy or does not answer, it asks again after a pause.
// A system that is still busy has not answered: two busy systems are not equal.
func (a *asker) one(ctx context.Context, system int, r *SweepRequest) (answer *Answer, err error) {
	for i := range attempts {
		if i > 0 && a.options.Sleep(ctx, a.options.Pause<<i) != nil {
			break
		}
		if answer, err = a.send(ctx, system, r); err != nil {
			continue
		}
		if answer.Status != http.StatusServiceUnavailable && answer.Status != http.StatusTooManyRequests {
			return answer, nil
		}
		answer, err = nil, fmt.Errorf("the system is busy, status %d", answer.Status)
	}
	return nil, err
}

// send sends r once, when its turn comes.
func (a *asker) send(ctx context.Context, system int, r *SweepRequest) (*Answer, error) {
	select {
	case a.slots[system] <- struct{}{}:
		defer func() { <-a.slots[system] }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if a.options.Rate > 0 {
		now := a.options.Now()
		if err := a.options.Sleep(ctx, a.pace[system].ReserveN(now, 1).DelayFrom(now)); err != nil {
			return nil, err
		}
	}
	a.mu.Lock()
	a.asked[system]++
	a.mu.Unlock()
	return a.options.Ask(ctx, system, r)
}

// count returns the number of requests that the busier system got.
func (a *asker) count() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return max(a.asked[0], a.asked[1])
}

// compareRecord sends the read of a record to both systems, and returns the differences between the
// answers. use, unless it is nil, gets the answers, which must not be kept. It fails only when ctx
// ends.
func (a *asker) compareRecord(ctx context.Context, r *SweepRequest, use func(answers [2]*Answer)) ([]Difference, error) {
	select {
	case a.records <- struct{}{}:
		defer func() { <-a.records }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	p, err := a.both(ctx, r)
	if err != nil {
		return nil, err
	}
	if use != nil {
		use(p.answers)
	}
	return a.differences(r, &p), nil
}

// differences compares the answers of a pair.
func (a *asker) differences(r *SweepRequest, p *pair) []Difference {
	return Replies(r.Route, p.answers, p.errs, a.options.Compare)
}

// sleep waits for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
