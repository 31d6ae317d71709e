package follow

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/importer"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/adapter/magento1/binlog"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

const (
	// leaseName is the lease of the process that follows, of which there is one at a time.
	leaseName = "follow"
	// leaseTTL is how long the others wait for a process that has crashed.
	leaseTTL = 15 * time.Second
	// standbyWait is how often the others try to get the lease.
	standbyWait = time.Second
	// resolvePeriod is the time between two looks for interrupted writes of other processes.
	resolvePeriod = time.Minute
	// maxBackoff is the longest time between two attempts.
	maxBackoff = time.Minute
)

// ErrFollowed means that another process follows the legacy store.
var ErrFollowed = errors.New("another process follows the legacy store into this store")

// Options configure a [Follower].
type Options struct {
	// Options are the options of an import with Update. DryRun, Admins and both progress functions
	// have no effect.
	importer.Options
	// Interval is the time between two polls.
	Interval time.Duration
	// Overlap is how long before the last poll a poll looks for changes again: as long as the
	// clocks of the legacy store may differ and its transactions may take.
	Overlap time.Duration
	// ComparePeriod is the time within which everything is compared once.
	ComparePeriod time.Duration
	// PollOnly polls even if the binary log of the legacy store's database could be read.
	PollOnly bool
	// Wait is how long the reply to a write may wait for its changes: see [Writes].
	Wait time.Duration
	// Holder is the unique name of this process among the processes that follow into the same
	// store.
	Holder  string
	Log     *slog.Logger
	Metrics *Metrics
}

// A Follower keeps a store equal to a legacy store that changes. It reads only as much of the
// legacy store as it needs: it polls for records with a recent change date, and compares everything
// range by range.
type Follower struct {
	o Options
	// settings are the legacy store's settings at the last comparison; nil: not yet compared.
	settings map[string]string
	standby  bool   // it was logged that another process follows
	begun    bool   // it has followed, or stood by
	polls    string // the last logged reason for polling
	ttl      time.Duration
	maxSeen  int             // see maxSeen
	turn     chan struct{}   // see importLock
	leftOut  map[string]bool // the left-out values that were logged, up to maxLeftOut
}

// New returns a follower. It connects to nothing.
func New(o Options) *Follower {
	o.Update, o.DryRun, o.Admins = true, false, true
	return &Follower{o: o, ttl: leaseTTL, maxSeen: maxSeen, turn: make(chan struct{}, 1), leftOut: map[string]bool{}}
}

// Run follows until ctx ends, whenever no other process does. It fails if it cannot begin: the
// store or the legacy store's database does not answer, or the latter is not the one that the store
// was filled from. When it has begun, it tries again instead.
func (f *Follower) Run(ctx context.Context) error {
	defer f.o.Metrics.leads(false)
	for failures := 0; ctx.Err() == nil; {
		began := time.Now()
		err := f.lead(ctx, (*session).follow)
		if time.Since(began) > maxBackoff {
			failures = 0
		}
		switch {
		case ctx.Err() != nil:
			f.o.Metrics.stands()
			return nil
		case errors.Is(err, ErrFollowed):
			failures, f.begun = 0, true
			f.o.Metrics.stands()
			if !f.standby {
				f.o.Log.Info("another process follows the legacy store: this one takes over when that one ends")
			}
			f.standby = true
		case errors.Is(err, coordination.ErrLeaseLost):
			f.o.Log.Warn("another process has taken over following the legacy store, as this one did not respond in time")
		case err != nil && !f.begun:
			return err
		case err != nil:
			f.failed(ctx, err, failures)
			failures++
			continue
		}
		wait(ctx, standbyWait)
	}
	return nil
}

// failed counts and logs a failure after some others in a row, and waits before the next attempt.
func (f *Follower) failed(ctx context.Context, err error, before int) {
	pause := min(f.o.Interval<<min(before, 16), maxBackoff)
	f.o.Metrics.failures.Inc()
	f.o.Log.Warn("following the legacy store has failed and is tried again", "error", err, "in", pause)
	wait(ctx, pause)
}

// Once polls, compares everything once, and returns a report of the changes.
func (f *Follower) Once(ctx context.Context) (*importer.Report, error) {
	var report *importer.Report
	err := f.lead(ctx, func(s *session, ctx context.Context) error {
		report = s.Report
		return s.once(ctx)
	})
	return report, err
}

// lead calls do with a session as long as this process holds the lease.
func (f *Follower) lead(ctx context.Context, do func(*session, context.Context) error) error {
	defer f.o.Metrics.leads(false)
	leads, err := f.o.Store.Leases().Hold(ctx, leaseName, f.o.Holder, f.ttl, func(ctx context.Context, lease coordination.Lease, _ func() bool) (err error) {
		f.o.Metrics.leads(true)
		f.standby = false
		s, err := f.open(ctx, lease)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		return do(s, ctx)
	})
	if err == nil && !leads {
		return ErrFollowed
	}
	return err
}

// wait waits, and reports whether ctx has not ended.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// A session is the state of a follower while it holds the lease.
type session struct {
	*importer.Importer
	f   *Follower
	log *slog.Logger
	// base is the digest of the settings for parts whose records are replaced.
	base string
	// polled is the time of the last poll by the clock of the legacy store's database; "" before
	// the first one.
	polled   string
	nextPoll time.Time
	// nextResolve is when writes that were interrupted are to be resolved again.
	nextResolve time.Time
	seen        map[magento1.Part]map[adapter.Key]string
	burst       map[magento1.Part]string // when a poll has found too many changes
	created     []adapter.Key            // products that have just been created

	parked      *parkedRecords
	comparison  *comparison
	credentials *credentialFollower
	// logged reads the binary log; nil: the session polls, and looks for the log at reopen.
	logged   *logFollower
	reopen   time.Time
	reopenIn time.Duration // between the last attempt and reopen; 0: the log was read since
	gap      bool          // the log does not go on at the stored position
	// named holds the logged changes that are not yet applied; nil: none.
	named *binlog.Batch
	// position is where the log has been read to, and moved says that changes are here since
	// it was stored. behind: not before everything has been compared.
	position      magento1.Position
	moved, behind bool

	*importLock
}

// open connects to the legacy store's database, and checks that it is the one that the store was
// filled from.
func (f *Follower) open(ctx context.Context, lease coordination.Lease) (*session, error) {
	o := f.o.Options
	o.From.PauseLater = true // changes are not to wait for the comparison
	imp, err := importer.New(ctx, o)
	if err != nil {
		return nil, err
	}
	imp.LeftOut = f.nameLeftOut
	imp.Store, imp.Notes = f.o.Store.Adapter().Fenced(lease), f.o.Store.Imports().Fenced(lease)
	s := f.newSession(imp)
	s.credentials.lease = lease
	if err := s.begin(ctx); err != nil {
		return nil, errors.Join(err, imp.Close())
	}
	return s, nil
}

// newSession returns a session that has an importer.
func (f *Follower) newSession(imp *importer.Importer) *session {
	base := imp.SettingsDigest
	if f.o.Join != nil { // an import notes records stored here before the backend has them
		base = importer.ShortHash(base + " with a backend")
	}
	return &session{
		Importer: imp, f: f, log: f.o.Log, base: base, nextResolve: time.Now().Add(resolvePeriod), importLock: &importLock{imports: imp.Notes, turn: f.turn},
		seen: map[magento1.Part]map[adapter.Key]string{}, burst: map[magento1.Part]string{},
		parked:      &parkedRecords{records: map[magento1.Part]map[adapter.Key]coordination.Parked{}, notes: imp.Notes, log: f.o.Log, metrics: f.o.Metrics},
		comparison:  &comparison{imp: imp, log: f.o.Log, metrics: f.o.Metrics},
		credentials: &credentialFollower{imp: imp, log: f.o.Log, metrics: f.o.Metrics},
	}
}

// checkFilled checks that the store was filled from the legacy store's database.
func (s *session) checkFilled(ctx context.Context) error {
	if err := s.CheckSource(ctx); err != nil {
		return err
	}
	s.parked.source = s.Source.Name
	known, err := s.Notes.Sources(ctx)
	if err != nil {
		return err
	}
	imported := false
	for _, one := range known {
		imported = imported || one.Name == s.Source.Name
	}
	if !imported {
		return errors.New("nothing was imported from this legacy store yet: run portico import all with the same database first, and follow it then")
	}
	return nil
}

// begin checks the source, and reads the parked records.
func (s *session) begin(ctx context.Context) error {
	if err := s.checkFilled(ctx); err != nil {
		return err
	}
	if err := s.NoteSource(ctx); err != nil {
		return err
	}
	all, err := s.Notes.Parked(ctx, s.Source.Name, coordination.ParkedFilter{Limit: coordination.MaxParked})
	if err != nil {
		return err
	}
	for _, p := range all {
		if p.Key != 0 {
			s.parked.set(p)
			continue
		}
		// It stands for many, which the comparison finds again.
		if err := s.Notes.Unpark(ctx, s.Source.Name, p.Part, 0); err != nil {
			return err
		}
		s.comparison.compareSoon(magento1.Part(p.Part))
	}
	s.comparison.round = s.comparison.newRound(time.Now(), magento1.Parts()...)
	return s.Announce(ctx)
}

// follow polls and compares until ctx ends.
func (s *session) follow(ctx context.Context) (err error) {
	s.f.begun = true
	defer func() { err = errors.Join(err, s.closeLog()) }()
	importing := false // an import has kept the last cycle from working
	for failures := 0; ctx.Err() == nil; {
		pause, err := s.cycle(ctx)
		waits := importing
		importing = errors.Is(err, engine.ErrImporting)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, coordination.ErrLeaseLost), errors.Is(err, magento1.ErrOtherServer): // which the next session checks
			return err
		case importing:
			if !waits {
				s.log.Info("an import into this store is running: following goes on when it has ended")
			}
			pause = s.f.o.Interval
		case err != nil:
			s.f.failed(ctx, err, failures) // and waits, whatever the log has
			s.Legacy.Forget()              // a table may have changed meanwhile
			failures++
			continue
		default:
			failures = 0
		}
		s.await(ctx, pause)
	}
	return nil
}

// cycle runs the due tasks, and returns the pause until the next one is due.
func (s *session) cycle(ctx context.Context) (pause time.Duration, err error) {
	if err := s.lock(ctx); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.unlock()) }()
	if err := s.Announcement.Renew(ctx); err != nil {
		return 0, err
	}
	if now := time.Now(); !now.Before(s.nextResolve) {
		if joined, ok := s.Target().(importer.Joined); ok {
			joined.ResolveIntents(ctx) // a process that ended just before this one began was given a minute
		}
		s.nextResolve = now.Add(resolvePeriod)
	}
	if s.logged == nil && !time.Now().Before(s.reopen) {
		if err := s.openLog(ctx); err != nil {
			return 0, err
		}
	}
	for ctx.Err() == nil {
		if err := s.takeChanges(ctx); err != nil {
			return 0, err
		}
		due := later(s.comparison.next().due(), s.Legacy.Free())
		if !due.Before(s.nextPoll) || due.After(time.Now()) {
			return max(0, time.Until(earlier(due, s.nextPoll))), nil
		}
		if err := s.compareStep(ctx); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// takeChanges applies the changes found by the log or a poll, and retries the records that are due.
func (s *session) takeChanges(ctx context.Context) error {
	if s.hasBatch(ctx) {
		began := time.Now()
		if err := s.takeBatch(ctx); err != nil {
			return err
		}
		s.f.o.Metrics.caughtUp(began)
	}
	now := time.Now()
	if now.Before(s.nextPoll) {
		return nil
	}
	s.nextPoll = now.Add(s.f.o.Interval)
	if s.logged != nil { // the log reports credentials only after it has begun
		var err error
		if s.credentials.digest == "" || s.credentials.withoutOwner {
			err = s.credentials.follow(ctx)
		}
		return errors.Join(err, s.apply(ctx, s.parked.due(now)), s.storePosition(ctx))
	}
	if err := s.pollAll(ctx); err != nil {
		s.nextPoll = now
		return err
	}
	s.f.o.Metrics.caughtUp(now)
	return nil
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// once polls once and compares everything once.
func (s *session) once(ctx context.Context) (err error) {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.unlock()) }()
	if err := s.pollAll(ctx); err != nil {
		return err
	}
	for first := s.comparison.round; (s.comparison.round == first || s.comparison.urgent != nil) && wait(ctx, time.Until(s.Legacy.Free())); {
		if err := s.compareStep(ctx); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return s.credentials.follow(ctx) // whose owners may be here now
}

// pollAll applies the changes that the legacy store reports, and retries the records that are due.
func (s *session) pollAll(ctx context.Context) error {
	// Revocations come first.
	if err := s.credentials.follow(ctx); err != nil {
		return fmt.Errorf("credentials: %w", err)
	}
	if err := s.poll(ctx); err != nil {
		return err
	}
	if err := s.apply(ctx, s.parked.due(time.Now())); err != nil {
		return err
	}
	if s.credentials.withoutOwner {
		return s.credentials.follow(ctx)
	}
	return nil
}
