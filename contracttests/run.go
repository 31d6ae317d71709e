package contracttests

import (
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
	callTimeout    = 10 * time.Second // of one request, unless the options say otherwise
	brokenCalls    = 5                // calls in a row without an answer end a run
	cleanupTimeout = 30 * time.Second // for deleting what one case made, or what a run left
)

// Options say which cases are run, and how.
type Options struct {
	Match    *regexp.Regexp // of a result's ID; nil: all
	Parallel int            // cases at the same time; 0: one
	ReadOnly bool           // cases that send anything but GET are skipped
	// Skip returns why a case is not to be run, by the ID of its result, or "".
	// Nil: all are.
	Skip     func(id string) string
	FailFast bool          // the first failure ends the run
	Timeout  time.Duration // of one request; 0: 10 s
	// Done is called after every case, never twice at the same time. Nil: nothing is.
	Done func(r *Result, done, total int)
}

// Run makes every case that comes with the package a parallel subtest of t, named
// by the ID of its result.
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
		r.sweep(ctx)
		cancel(nil)
		for _, left := range r.leftovers {
			t.Errorf("left behind: %s", left)
		}
	})
	for _, j := range r.jobs() {
		t.Run(j.result().ID(), func(t *testing.T) {
			t.Parallel()
			switch got := r.do(ctx, j); {
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

// Run runs the cases of the target's dialect and returns what it found. When ctx
// ends or the server stops answering it says so in the error, and the report holds
// the cases that were through. Whatever was made is deleted before Run returns.
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
			if got := r.do(ctx, j); got != nil {
				results[i] = got
				r.finished(got, len(jobs))
			}
			return nil
		})
	}
	_ = group.Wait() // the functions return nil
	r.sweep(ctx)
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

var errFailFast = errors.New("a case failed")

// A job is a case in one format.
type job struct {
	c      *Case
	format string
	number int
}

func (j job) result() *Result {
	return &Result{
		Resource: j.c.Resource, Name: j.c.Name, Format: j.format, Clauses: j.c.Clauses, Roles: j.c.roles(),
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
	id      string                 // what everything made begins with
	locks   map[string]*sync.Mutex // by name in Exclusive; filled before the cases begin

	mu        sync.Mutex
	done      int
	broken    int // calls in a row without an answer
	wrote     bool
	leftovers []string
}

// newRun returns a run; cancel ends it before its time.
func (s *Suite) newRun(target Target, o Options, cancel context.CancelCauseFunc) (*run, error) {
	if target.Dialect != Documented && target.Dialect != Magento {
		return nil, fmt.Errorf("unknown dialect %q: it is %s or %s", target.Dialect, Documented, Magento)
	}
	srv, err := parseServer(target.BaseURL, target.TLS)
	if err != nil {
		return nil, err
	}
	if o.Timeout == 0 {
		o.Timeout = callTimeout
	}
	return &run{
		suite: s, target: target, server: srv, options: o, cancel: cancel,
		id: "contracttest-" + rand.Text()[:8], locks: map[string]*sync.Mutex{},
	}, nil
}

// jobs returns what is to be run.
func (r *run) jobs() []job {
	var all []job
	for i := range r.suite.cases {
		c := &r.suite.cases[i]
		if c.Dialect != "" && c.Dialect != r.target.Dialect {
			continue
		}
		for _, name := range c.Exclusive {
			if r.locks[name] == nil {
				r.locks[name] = new(sync.Mutex)
			}
		}
		for _, format := range c.Formats {
			j := job{c, format, len(all)}
			if r.options.Match == nil || r.options.Match.MatchString(j.result().ID()) {
				all = append(all, j)
			}
		}
	}
	return all
}

func (r *run) finished(got *Result, total int) {
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

// do runs a case and returns what became of it; nil when the run ended meanwhile.
func (r *run) do(ctx context.Context, j job) *Result {
	result := j.result()
	start := time.Now()
	defer func() { result.Took = time.Since(start) }()
	if result.Reason = r.skip(j, result); result.Reason != "" {
		result.Status = Skipped
		return result
	}
	for _, name := range slices.Sorted(slices.Values(j.c.Exclusive)) {
		r.locks[name].Lock()
		defer r.locks[name].Unlock()
	}
	p := newCaseRun(r, j, result)
	err := p.play(ctx)
	p.cleanUp(context.WithoutCancel(ctx))
	var skip skipped
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

// skip returns why a case is not run, or "".
func (r *run) skip(j job, result *Result) string {
	if r.options.Skip != nil {
		if reason := r.options.Skip(result.ID()); reason != "" {
			return reason
		}
	}
	if r.options.ReadOnly && j.c.isWrite() {
		return "the run is read-only, and the case writes"
	}
	if name := j.c.Writes; name != "" && !r.target.Fixtures.isWritable(name) {
		return fmt.Sprintf("the fixtures do not mark %s as writable", name)
	}
	return ""
}

// answered notes whether a call was answered, and ends the run when none is any
// more.
func (r *run) answered(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.broken = 0
		return
	}
	if r.broken++; r.broken == brokenCalls {
		r.cancel(fmt.Errorf("the server stopped answering: %w", err))
	}
}

// Coverage counts, clause by clause, what became of the cases and exchanges that show
// it. Recordings name no clauses.
func (s *Suite) Coverage(results []Result) []Coverage {
	all := make([]Coverage, len(s.clauses))
	place := map[string]*Coverage{}
	for i := range s.clauses {
		c := &s.clauses[i]
		all[i] = Coverage{Clause: c.Name, Section: c.Section, Says: c.Says, Rows: c.rows(), Unshown: c.Unshown}
		place[c.Name] = &all[i]
	}
	for i := range results {
		for _, name := range results[i].Clauses {
			c := place[name]
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
