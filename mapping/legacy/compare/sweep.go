package compare

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/portico-commerce/portico/mapping/contract"
)

// A SweepCaller is a caller as which the sweep reads the systems.
type SweepCaller struct {
	Name string
	Role contract.Role
}

// SweepOptions are the routes, callers, limits and callbacks of a sweep.
type SweepOptions struct {
	Routes  *contract.Table
	Callers []SweepCaller
	// Stores are the ids or codes of the store views. If there are none, the sweep looks
	// for ids.
	Stores []string
	// Sample is the share of the records that are read one by one, 0 to 1, and of the
	// lists that depend on a record. Seed selects them: the same seed selects the same
	// records of the same keys.
	Sample float64
	Seed   uint64
	// Rate is the maximum number of requests to each system per second, 0 for no limit; Parallel is
	// the maximum number of concurrent requests.
	Rate     float64
	Parallel int
	// Pause is the time after which a difference is looked for again.
	Pause   time.Duration
	Compare *Options
	// Ask sends a request to one system: 0 is the legacy store, 1 the candidate. Answers must be
	// bounded in size and time.
	Ask func(ctx context.Context, system int, r *SweepRequest) (*Answer, error)
	// Commit receives the outcome of a step, and Snapshot returns the sum of all committed
	// outcomes. They are called one at a time.
	Commit   func(*SweepOutcome)
	Snapshot func() (json.RawMessage, error)
	// State is where to continue, see [NewState]. Save stores it; it is called at most
	// every SaveEvery, and at the end of Run.
	State     *SweepState
	Save      func(*SweepState) error
	SaveEvery time.Duration
	// Show is called after each Commit.
	Show func(SweepProgress)
	// Now and Sleep replace the clock in tests.
	Now   func() time.Time
	Sleep func(context.Context, time.Duration) error
}

// A SweepOutcome is the outcome of one step of a sweep.
type SweepOutcome struct {
	Results []sweepResult
	LeftOut []sweepLeftOut
	// Record: the results belong to one record, with its parts.
	Record bool
}

// A sweepLeftOut is a request that the sweep skipped, with the reason.
type sweepLeftOut struct {
	Reason, Request string
	// Lost: the systems have, or may have, records that were not compared.
	Lost bool
}

// A sweep compares two systems.
type sweep struct {
	options SweepOptions
	asker   *asker
	routes  *routes

	mu      sync.Mutex // guards the fields below, Commit, Snapshot and Save
	state   *SweepState
	saved   time.Time
	started time.Time
	shown   time.Time
	planned planned
	found   map[string]map[string]bool // keys of the lists that other lists depend on, by path
}

// NewSweep returns a sweep that continues from o.State.
func NewSweep(o SweepOptions) *sweep {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sleep == nil {
		o.Sleep = sleep
	}
	s := &sweep{options: o, routes: newRoutes(o.Routes), state: o.State, found: map[string]map[string]bool{}, started: o.Now()}
	s.asker = newAsker(&s.options)
	for list, keys := range o.State.Found {
		for _, key := range keys {
			s.find(list, key)
		}
	}
	return s
}

// Run reads everything that has not been read. It returns early when ctx ends, with the
// cause. The state is saved in any case.
func (s *sweep) Run(ctx context.Context) error {
	err := s.run(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(err, s.save())
}

func (s *sweep) run(ctx context.Context) error {
	if s.state.Phase == 0 && len(s.state.Lanes.Open) == 0 && s.state.Lanes.Done == 0 {
		s.leaveOutUnlisted()
	}
	for s.state.Phase < phases {
		if err := s.walkLanes(ctx); err != nil {
			return err
		}
		s.mu.Lock()
		s.state.Phase++
		s.state.Lanes = sweepLanes{}
		s.mu.Unlock()
	}
	return nil
}

// commit commits an outcome together with a change of the state.
func (s *sweep) commit(outcome *SweepOutcome, change func(*SweepState)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.options.Commit(outcome)
	change(s.state)
	s.show()
	if now := s.options.Now(); now.Sub(s.saved) >= s.options.SaveEvery {
		s.saved = now
		return s.save()
	}
	return nil
}

// save stores the state. The caller holds s.mu.
func (s *sweep) save() error {
	if s.options.Save == nil {
		return nil
	}
	report, err := s.options.Snapshot()
	if err != nil {
		return err
	}
	s.state.Report = report
	s.state.Found = sortedKeys(s.found)
	return s.options.Save(s.state)
}

// maxFound bounds the keys of one list that other lists depend on.
const maxFound = 100_000

// findAll remembers keys of lists, by path. It reports false if there are too many.
func (s *sweep) findAll(found map[string][]string) (ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ok = true
	for list, keys := range found {
		for _, key := range keys {
			ok = s.find(list, key) && ok
		}
	}
	return ok
}

// find remembers a key of a list that other lists depend on. It reports false if there are
// too many. The caller holds s.mu or is alone.
func (s *sweep) find(list, key string) bool {
	if s.found[list] == nil {
		s.found[list] = map[string]bool{}
	}
	if !s.found[list][key] && len(s.found[list]) >= maxFound {
		return false
	}
	s.found[list][key] = true
	return true
}
