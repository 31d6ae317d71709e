package contracttests

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	callTimeout    = 10 * time.Second // default of Options.Timeout
	maxUnanswered  = 5                // successive requests without a reply that end a run
	cleanupTimeout = 30 * time.Second // for the cleanup of one case, and for deleting leftovers
)

// Options select the cases of a run and how they run. The zero value runs all cases one
// after the other.
type Options struct {
	Match    *regexp.Regexp // selects cases by the ID of their result; nil selects all
	Clause   *regexp.Regexp // selects cases by the name of a clause that they cover; nil selects all
	Parallel int            // number of concurrent cases; 0 means 1
	ReadOnly bool           // skip cases that send any method but GET
	// Skip returns the reason why the case with a result of this ID is skipped, or "".
	// Nil skips none.
	Skip     func(id string) string
	FailFast bool          // end the run at the first failure
	Timeout  time.Duration // of one request; 0 means 10 s
	// Done, if not nil, is called after each case. Calls do not overlap.
	Done func(r *Result, done, total int)
}

// Selects reports whether Match and Clause select the case of a result.
func (o *Options) Selects(r *Result) bool {
	return (o.Match == nil || o.Match.MatchString(r.ID())) && (o.Clause == nil || slices.ContainsFunc(r.Clauses, o.Clause.MatchString))
}

// Run runs every case of the built-in suite as a parallel subtest of t, named by the ID
// of its result.
func Run(t *testing.T, target Target) {
	t.Helper()
	s, err := NewSuite()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	r, err := s.newRun(target, Options{}, cancel)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.deleteLeftovers(ctx)
		cancel(nil)
		for _, left := range r.leftovers {
			t.Errorf("not deleted: %s", left)
		}
	})
	for _, j := range r.jobs() {
		t.Run(j.newResult().ID(), func(t *testing.T) {
			t.Parallel()
			switch got := r.runCase(ctx, j); {
			case got == nil:
				t.Error(context.Cause(ctx))
			case got.Status == Failed:
				t.Error(got.Failure)
			case got.Status == Skipped && target.Complete:
				t.Error("skipped: " + got.Reason)
			case got.Status == Skipped:
				t.Skip(got.Reason)
			}
		})
	}
}

// Run runs the cases of the target's dialect and returns a report. If ctx is canceled or
// the server stops replying, Run returns the cause as an error, together with a report of
// the cases that have ended. Created objects are deleted before Run returns.
func (s *Suite) Run(ctx context.Context, target Target, o Options) (*Report, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r, err := s.newRun(target, o, cancel)
	if err != nil {
		return nil, err
	}
	report := &Report{URL: r.server.baseURL(), Dialect: target.Dialect, Started: time.Now().UTC()}
	jobs := r.jobs()
	results := make([]*Result, len(jobs))
	var group errgroup.Group
	group.SetLimit(max(1, o.Parallel))
	for i, j := range jobs {
		group.Go(func() error {
			if ctx.Err() != nil {
				return nil
			}
			if got := r.runCase(ctx, j); got != nil {
				results[i] = got
				r.recordResult(got, len(jobs))
			}
			return nil
		})
	}
	_ = group.Wait() // the functions return nil
	r.deleteLeftovers(ctx)
	for _, got := range results {
		if got != nil {
			report.Results = append(report.Results, *got)
		}
	}
	report.Clauses = s.Coverage(report.Results)
	report.Leftovers = r.leftovers
	report.Took = time.Since(report.Started).Seconds()
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, errFailFast) {
		return report, cause
	}
	return report, nil
}

// errFailFast is the cause of a run's cancellation by Options.FailFast.
var errFailFast = errors.New("a case failed")

// A job is one case in one format.
type job struct {
	c      *Case
	format string
	index  int
}

// newResult returns a result that describes the job and has no outcome.
func (j job) newResult() *Result {
	return &Result{
		Resource: j.c.Resource, Name: j.c.Name, Format: j.format, Clauses: j.c.Clauses, Roles: j.c.callers(),
		DialectDifferences: j.c.dialectDifferences,
	}
}

// A run is one run of a suite against a target.
type run struct {
	suite   *Suite
	target  Target
	server  server
	options Options
	cancel  context.CancelCauseFunc
	id      string                 // prefix of the unique names of created objects
	locks   map[string]*sync.Mutex // by the names in Case.Exclusive; complete before cases run

	mu         sync.Mutex
	done       int
	unanswered int  // successive requests without a reply
	wrote      bool // a request other than GET was sent
	leftovers  []string
}

// newRun returns a run. cancel is called to end the run early.
func (s *Suite) newRun(target Target, o Options, cancel context.CancelCauseFunc) (*run, error) {
	if err := target.Dialect.Check(); err != nil {
		return nil, err
	}
	if err := target.checkIntegers(); err != nil {
		return nil, err
	}
	srv, err := parseServer(target.BaseURL, target.TLS)
	if err != nil {
		return nil, err
	}
	o.Timeout = cmp.Or(o.Timeout, callTimeout)
	return &run{
		suite: s, target: target, server: srv, options: o, cancel: cancel,
		id: "contracttest-" + rand.Text()[:8], locks: map[string]*sync.Mutex{},
	}, nil
}

// jobs returns the selected cases in all their formats, and fills r.locks for them.
func (r *run) jobs() []job {
	var all []job
	for i := range r.suite.cases {
		c := &r.suite.cases[i]
		if !r.target.Dialect.runs(c.Dialect) {
			continue
		}
		for _, name := range c.Exclusive {
			if r.locks[name] == nil {
				r.locks[name] = new(sync.Mutex)
			}
		}
		for _, format := range c.Formats {
			j := job{c, format, len(all)}
			if r.options.Selects(j.newResult()) {
				all = append(all, j)
			}
		}
	}
	return all
}

// recordResult reports a result to Options.Done, and ends the run if it failed and
// Options.FailFast is set. total is the number of jobs.
func (r *run) recordResult(got *Result, total int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done++
	if r.options.Done != nil {
		r.options.Done(got, r.done, total)
	}
	if got.Status == Failed && r.options.FailFast {
		r.cancel(errFailFast)
	}
}

// runCase runs one job, cleans up after it, and returns its result. It returns nil if the
// run ended before the case did.
func (r *run) runCase(ctx context.Context, j job) *Result {
	result := j.newResult()
	start := time.Now()
	defer func() { result.Took = time.Since(start) }()
	if result.Reason = r.skipReason(j, result); result.Reason != "" {
		result.Status = Skipped
		return result
	}
	for _, name := range slices.Sorted(slices.Values(j.c.Exclusive)) {
		r.locks[name].Lock()
		defer r.locks[name].Unlock()
	}
	p := newCaseRun(r, j, result)
	err := p.runSteps(ctx)
	p.cleanUp(context.WithoutCancel(ctx))
	var skip skipError
	switch {
	case ctx.Err() != nil && err != nil:
		return nil
	case errors.As(err, &skip):
		result.Status, result.Reason = Skipped, string(skip)
	case err != nil:
		result.Status = Failed
		if !errors.As(err, &result.Failure) {
			result.Failure = &Failure{Broken: err.Error(), Call: j.c.Name}
		}
	default:
		result.Status = Passed
	}
	return result
}

// skipReason returns the reason why a case is not run, or "".
func (r *run) skipReason(j job, result *Result) string {
	if r.options.Skip != nil {
		if reason := r.options.Skip(result.ID()); reason != "" {
			return reason
		}
	}
	if r.options.ReadOnly && j.c.isWrite() {
		return "the run is read-only, but the case writes"
	}
	if name := j.c.Writes; name != "" && !r.target.Fixtures.isWritable(name) {
		return fmt.Sprintf("the fixtures do not mark %s as writable", name)
	}
	return ""
}

// recordReply is called with the error of each request. After maxUnanswered successive
// requests without a reply it ends the run.
func (r *run) recordReply(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.unanswered = 0
		return
	}
	if r.unanswered++; r.unanswered == maxUnanswered {
		r.cancel(fmt.Errorf("the server stopped answering: %w", err))
	}
}

// Coverage counts for each clause the results that cover it, by status. Results that name
// no clause of the suite, such as the results of recordings, are ignored.
func (s *Suite) Coverage(results []Result) []Coverage {
	all := make([]Coverage, len(s.clauses))
	byName := map[string]*Coverage{}
	for i := range s.clauses {
		c := &s.clauses[i]
		all[i] = Coverage{Clause: c.Name, Section: c.Section, Says: c.Says, Rows: c.rows(), Untestable: c.Untestable}
		byName[c.Name] = &all[i]
	}
	for i := range results {
		for _, name := range results[i].Clauses {
			c := byName[name]
			if c == nil {
				continue
			}
			switch results[i].Status {
			case Passed:
				c.Passed++
			case Failed:
				c.Failed++
			default:
				c.Skipped++
			}
		}
	}
	return all
}
