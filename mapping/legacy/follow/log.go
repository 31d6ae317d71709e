package follow

import (
	"context"
	"errors"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/adapter/magento1/binlog"
	"slices"
	"time"
)

const (
	// firstReopen and lastReopen are the shortest and the longest time between two attempts of
	// a session that polls to read the binary log. It doubles with each one.
	firstReopen, lastReopen = time.Second, time.Minute
	// notePosition is how often the position is stored while nothing changes.
	notePosition = 10 * time.Second
)

// A logFollower reads the binary log for a session, in the background.
type logFollower struct {
	reader  *binlog.Reader
	batches chan binlog.Batch
	failed  chan error
	stop    context.CancelFunc
	ended   chan struct{}
	noted   time.Time // when the position was last stored
}

// openLog begins to read the binary log where it was last read, if the server has one that the
// user may read. If not, the session polls, and looks again later.
func (s *session) openLog(ctx context.Context) error {
	s.reopenIn = min(max(2*s.reopenIn, firstReopen), lastReopen)
	s.reopen = time.Now().Add(s.reopenIn)
	if s.f.o.PollOnly {
		s.f.pollsSince("follow.mode is polling")
		return nil
	}
	from, err := s.storedPosition(ctx)
	if err != nil {
		return err
	}
	o := binlog.Options{DSN: s.Options.From.DSN, Prefix: s.Options.From.Prefix, OldTLS: s.Options.From.OldTLS, From: from, Heartbeat: s.f.o.Interval}
	findings, err := binlog.Check(ctx, o)
	if err != nil {
		return s.pollsWithout(ctx, err)
	}
	if at := slices.IndexFunc(findings, func(f binlog.Finding) bool { return f.Fatal }); at >= 0 {
		s.f.pollsSince(findings[at].Problem + ": " + findings[at].Remedy)
		return nil
	}
	reader, err := binlog.Open(ctx, o)
	if errors.Is(err, binlog.ErrGap) {
		s.foundGap(err)
		from, o.From = magento1.Position{}, magento1.Position{}
		reader, err = binlog.Open(ctx, o)
	}
	if err != nil {
		return s.pollsWithout(ctx, err)
	}
	if from == (magento1.Position{}) { // the log lacks the changes from before it begins
		s.comparison.round = s.comparison.newRound(time.Now(), magento1.Parts()...)
		s.behind = true
	} else if s.comparison.round.done == 0 {
		s.comparison.round.period = s.f.o.ComparePeriod // no change is missing, so the comparison may take its time
	}
	s.gap = false
	reading, stop := context.WithCancel(ctx)
	s.logged = &logFollower{reader: reader, batches: make(chan binlog.Batch), failed: make(chan error, 1), stop: stop, ended: make(chan struct{})}
	go s.logged.read(reading)
	s.f.o.Metrics.mode("log")
	s.log.Info("following the binary log of the old database", "source", s.Source.Name, "compares_within", s.f.o.ComparePeriod)
	return nil
}

// storedPosition returns where the log was last read to, or the zero Position if it does not go on
// there.
func (s *session) storedPosition(ctx context.Context) (magento1.Position, error) {
	if s.gap {
		return magento1.Position{}, nil
	}
	text, err := s.Notes.Position(ctx, s.Source.Name)
	if err != nil {
		return magento1.Position{}, err
	}
	return magento1.ParsePosition(text)
}

// foundGap notes that the log does not go on at the stored position.
func (s *session) foundGap(cause error) {
	s.gap = true
	s.log.Warn("the binary log of the old database does not go on where it was last read: everything is compared", "cause", cause)
}

// pollsSince logs why the follower polls, once for each reason.
func (f *Follower) pollsSince(reason string) {
	f.o.Metrics.mode("polling")
	if f.polls != reason {
		f.polls = reason
		f.o.Log.Info("polling the old database, as its binary log cannot be read: changes arrive later than with it", "reason", reason,
			"interval", f.o.Interval, "compares_within", f.o.ComparePeriod)
	}
}

// pollsWithout switches the session to polling, because the log cannot be opened due to err. If err
// comes from the end of ctx, it ends the session instead.
func (s *session) pollsWithout(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s.f.pollsSince(err.Error())
	return nil
}

// read passes batches on until ctx ends.
func (l *logFollower) read(ctx context.Context) {
	defer close(l.ended)
	for {
		b, err := l.reader.Next(ctx)
		if err != nil {
			l.failed <- err
			return
		}
		select {
		case l.batches <- b:
		case <-ctx.Done():
			return
		}
	}
}

// closeLog ends reading the log.
func (s *session) closeLog() error {
	if s.logged == nil {
		return nil
	}
	s.logged.stop()
	<-s.logged.ended
	err := s.logged.reader.Close()
	s.logged = nil
	return err
}

// await waits until the log has a batch, at most for a time. A batch that is not yet applied comes
// first.
func (s *session) await(ctx context.Context, pause time.Duration) {
	if s.logged == nil || s.named != nil {
		wait(ctx, pause)
		return
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case b := <-s.logged.batches:
		s.named = &b
	case err := <-s.logged.failed:
		s.lostLog(ctx, err)
	}
}

// hasBatch reports whether a batch waits to be applied.
func (s *session) hasBatch(ctx context.Context) bool {
	if s.named == nil && s.logged != nil {
		select {
		case b := <-s.logged.batches:
			s.named = &b
		case err := <-s.logged.failed:
			s.lostLog(ctx, err)
		default:
		}
	}
	return s.named != nil
}

// lostLog polls after the log could not be read any further.
func (s *session) lostLog(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	if errors.Is(err, binlog.ErrGap) {
		s.foundGap(err)
	} else {
		s.log.Warn("the binary log of the old database cannot be read any further", "error", err)
	}
	if err := s.closeLog(); err != nil {
		s.log.Warn("the connection to the binary log did not end in order", "error", err)
	}
	s.named, s.polled = nil, ""
	s.Legacy.ReadFrom(magento1.Position{}) // the log names it again, if it still has it
	if s.reopenIn == 0 {                   // it was read for a while
		s.reopen = time.Now()
	}
}

// takeBatch applies the logged changes. It stores the position once everything before it is
// applied, including a comparison that the log required.
func (s *session) takeBatch(ctx context.Context) error {
	b := s.named
	for _, f := range b.Findings {
		s.log.Warn("the binary log says less than it could", "setting", f.Name, "problem", f.Problem, "remedy", f.Remedy)
	}
	if b.Schema {
		s.Legacy.Forget()
	}
	s.Legacy.ReadFrom(b.Position)
	if b.Credentials {
		if err := s.credentials.follow(ctx); err != nil {
			return err
		}
	}
	named := changes{}
	for _, c := range b.Changes {
		if c.Key == 0 {
			s.comparison.compareSoon(c.Part)
		} else {
			named.add(c.Part, c.Key)
		}
	}
	if err := s.apply(ctx, named); err != nil {
		return err
	}
	if len(b.Settings) > 0 {
		if err := s.compareSettings(ctx); err != nil {
			return err
		}
	}
	s.position, s.moved = b.Position, s.moved || len(b.Changes) > 0
	s.named = nil
	return s.storePosition(ctx)
}

// storePosition stores the position up to which all changes are applied.
func (s *session) storePosition(ctx context.Context) error {
	pending := s.behind || s.comparison.hurries()
	if s.logged == nil || s.position == (magento1.Position{}) || pending || !s.moved && time.Since(s.logged.noted) < notePosition {
		return nil
	}
	s.moved, s.logged.noted, s.reopenIn = false, time.Now(), 0
	return s.Notes.SetPosition(ctx, s.Source.Name, s.position.String())
}
