package follow

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/importer"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
)

const (
	// maxPendingWrites bounds the writes that wait to be taken over, and maxWriteBatch those
	// that are taken over together.
	maxPendingWrites, maxWriteBatch = 256, 32
	// takeOverTimeout limits how long the old database may take for a batch or a task, which
	// others who import wait for.
	takeOverTimeout = 10 * time.Second
	// reconnectAfter is how long writes fail at once after the old database could not be
	// connected to, and failureLogEvery how often failures are logged.
	reconnectAfter  = 500 * time.Millisecond
	failureLogEvery = 10 * time.Second
	// renewEvery is how often the announcement of imports is renewed.
	renewEvery = time.Minute
	// Of writes that could not be taken over, up to maxLeftWrites are tried again, every
	// leftRetry. The process that follows finds the others.
	maxLeftWrites = 4096
	leftRetry     = time.Second
)

// A writeOutcome says what has become of a write before its reply was sent.
type writeOutcome string

const (
	writeApplied writeOutcome = "applied" // the store has what the write has changed
	writeLate    writeOutcome = "late"    // it took longer than Options.Wait
	writeFailed  writeOutcome = "failed"  // the old database is away, or a record cannot be stored
	writeUnnamed writeOutcome = "unnamed" // nobody knows which records the write has changed
	writeRefused writeOutcome = "refused" // too many other writes wait
)

// Writes takes over what clients write at the old shop through this process, before they get
// the reply, so that they read here what they have written there. It does so whether or not the
// process is the one that follows, which later finds what is missing. It is safe for concurrent
// use.
type Writes struct {
	f       *Follower
	pending chan *pendingWrite
	tasks   chan task
	stop    context.CancelFunc
	ended   chan struct{}

	// mu guards open, the number of writes of each resource that are not yet here, and left, those of
	// them that could not be taken over.
	mu   sync.Mutex
	open map[adapter.Resource]int
	left []*pendingWrite

	announcement *coordination.Announcement // nil: not yet
	session      *session                   // nil: there is no connection to the old database
	// failedAt is when w could not connect, and failure why; loggedAt when that was logged.
	failedAt, loggedAt time.Time
	failure            error
}

// A pendingWrite is a write that is to be taken over.
type pendingWrite struct {
	resource adapter.Resource
	part     magento1.Part
	keys     []adapter.Key
	ended    chan<- writeOutcome // has room for one; nil if nobody waits any longer
}

// Writes returns Writes that end with Close. It connects to the old database, by a connection
// of its own, when it is first needed.
func (f *Follower) Writes() *Writes {
	w := &Writes{f: f, pending: make(chan *pendingWrite, maxPendingWrites), tasks: make(chan task), ended: make(chan struct{}), open: map[adapter.Resource]int{}}
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	go w.run(ctx)
	return w
}

// Close ends w. Writes that are not yet taken over are left to the process that follows.
func (w *Writes) Close() error {
	w.stop()
	<-w.ended
	return errors.Join(w.disconnect(), importer.EndAnnouncement(w.announcement))
}

// Await returns when the store has the present state of the records that a write has changed
// at the old shop, and of what belongs to them, or after [Options.Wait]; if that is 0 it only
// notes that the store lacks them, for CaughtUp. Without keys it
// looks for those that the shop has dated as changed. It must be called after the shop has
// executed the write.
func (w *Writes) Await(ctx context.Context, r adapter.Resource, keys ...adapter.Key) {
	outcome := w.await(ctx, r, keys)
	if w.f.o.Wait == 0 { // nobody has asked for more
		return
	}
	w.f.o.Metrics.writes.WithLabelValues(string(outcome)).Inc()
	if outcome != writeApplied && outcome != writeFailed { // the reason of which was logged
		w.f.o.Log.WarnContext(ctx, "the reply to a write at the old shop was sent before its changes were here", "outcome", string(outcome), "resource", string(r))
	}
}

func (w *Writes) await(ctx context.Context, r adapter.Resource, keys []adapter.Key) writeOutcome {
	at := slices.IndexFunc(magento1.Parts(), func(p magento1.Part) bool { return p.Resources()[0] == r })
	if at < 0 {
		return writeUnnamed
	}
	ended := make(chan writeOutcome, 1)
	write := &pendingWrite{r, magento1.Parts()[at], keys, ended}
	w.mu.Lock()
	w.open[r]++
	w.mu.Unlock()
	select {
	case w.pending <- write:
	default:
		w.leave(write)
		return writeRefused
	}
	timer := time.NewTimer(w.f.o.Wait)
	defer timer.Stop()
	select {
	case outcome := <-ended:
		return outcome
	case <-timer.C:
	case <-ctx.Done():
	}
	return writeLate
}

// CaughtUp reports whether the store has everything that clients have written at the old shop
// through this process of a resource and of the records that it belongs to.
func (w *Writes) CaughtUp(r adapter.Resource) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.open[r] == 0 && w.open[w.f.o.From.Schemas.Of(r).Root] == 0
}

// leave keeps a write that could not be taken over, to try it again.
func (w *Writes) leave(write *pendingWrite) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.left) == maxLeftWrites {
		w.open[write.resource]--
		return
	}
	w.left = append(w.left, write)
}

// takeLeft returns some writes to be tried again.
func (w *Writes) takeLeft() (again []*pendingWrite) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := min(len(w.left), maxWriteBatch)
	again, w.left = slices.Clone(w.left[:n]), slices.Delete(w.left, 0, n)
	return again
}

// end ends a write with its outcome.
func (w *Writes) end(write *pendingWrite, outcome writeOutcome) {
	write.tell(outcome)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open[write.resource]--
}

// tell tells the outcome of a write to who waits for it.
func (p *pendingWrite) tell(outcome writeOutcome) {
	if p.ended != nil {
		p.ended <- outcome
		p.ended = nil
	}
}

// run takes over writes until ctx ends.
func (w *Writes) run(ctx context.Context) {
	defer close(w.ended)
	renew := time.NewTicker(renewEvery)
	retry := time.NewTicker(leftRetry)
	defer renew.Stop()
	defer retry.Stop()
	w.keepAnnounced(ctx) // which may take two seconds, and would delay the first write
	for {
		select {
		case <-ctx.Done():
			return
		case <-renew.C:
			w.keepAnnounced(ctx)
			if w.session != nil {
				w.session.Legacy.Forget()
			}
		case <-retry.C:
			if again := w.takeLeft(); len(again) > 0 {
				w.takeOver(ctx, again)
			}
		case write := <-w.pending:
			w.takeOver(ctx, w.batch(write))
		case one := <-w.tasks:
			limited, cancel := context.WithTimeout(ctx, takeOverTimeout)
			one.done <- w.locked(limited, one.run)
			cancel()
		}
	}
}

// keepAnnounced announces imports before there are any, and as long as there may be some.
func (w *Writes) keepAnnounced(ctx context.Context) {
	if err := w.announce(ctx); err != nil && ctx.Err() == nil {
		w.f.o.Log.Warn("imports cannot be announced: replies to writes at the old shop may have to wait for that", "error", err)
	}
}

// announce lets processes that cache records know that this one imports.
func (w *Writes) announce(ctx context.Context) (err error) {
	if w.announcement != nil {
		return w.announcement.Renew(ctx)
	}
	w.announcement, err = w.f.o.Store.Changes().Announce(ctx)
	return err
}

// batch returns a write with others that wait.
func (w *Writes) batch(first *pendingWrite) []*pendingWrite {
	writes := []*pendingWrite{first}
	for len(writes) < maxWriteBatch {
		select {
		case next := <-w.pending:
			writes = append(writes, next)
		default:
			return writes
		}
	}
	return writes
}

// takeOver takes over some writes, and tells those who wait.
func (w *Writes) takeOver(ctx context.Context, writes []*pendingWrite) {
	limited, cancel := context.WithTimeout(ctx, takeOverTimeout)
	defer cancel()
	outcomes, err := w.store(limited, writes)
	if err != nil && ctx.Err() == nil && time.Since(w.loggedAt) >= failureLogEvery {
		w.loggedAt = time.Now()
		w.f.o.Log.Warn("what was written at the old shop cannot be taken over now, and is left to the process that follows", "writes", len(writes), "error", err)
	}
	for i, write := range writes {
		if err != nil {
			w.leave(write)
			write.tell(writeFailed)
		} else {
			w.end(write, outcomes[i])
		}
	}
}

// store stores the present state of what some writes have changed.
func (w *Writes) store(ctx context.Context, writes []*pendingWrite) (outcomes []writeOutcome, err error) {
	err = w.locked(ctx, func(ctx context.Context, s *session) error {
		outcomes, err = s.storeWrites(ctx, writes)
		return err
	})
	return outcomes, err
}

// locked calls do with a session, while it holds the lock of imports. After an error the next call
// opens a new session: another server may have taken the place of the old database.
func (w *Writes) locked(ctx context.Context, do func(context.Context, *session) error) (err error) {
	if w.session == nil {
		if time.Since(w.failedAt) < reconnectAfter {
			return w.failure
		}
		if err := w.connect(ctx); err != nil {
			w.failedAt, w.failure = time.Now(), err
			return err
		}
	}
	s := w.session
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, s.unlock()); err != nil {
			err = errors.Join(err, w.disconnect())
		}
	}()
	s.parked.refused = changes{}
	return do(ctx, s)
}

// storeWrites is Writes.store.
func (s *session) storeWrites(ctx context.Context, writes []*pendingWrite) (outcomes []writeOutcome, err error) {
	named := changes{}
	for _, write := range writes {
		if len(write.keys) == 0 {
			if write.keys, err = s.changedOf(ctx, write.part); err != nil {
				return nil, err
			}
		}
		for keys := range slices.Chunk(write.keys, magento1.MaxKeys) {
			reached, err := s.reachedBy(ctx, write.part, keys)
			if err != nil {
				return nil, err
			}
			for p, keys := range reached {
				named.add(p, slices.Collect(maps.Keys(keys))...)
			}
		}
	}
	if err := s.apply(ctx, named); err != nil {
		return nil, err
	}
	for _, write := range writes {
		outcomes = append(outcomes, write.stored(s.parked.refused))
	}
	return outcomes, nil
}

// stored returns what has become of a write after all was stored but what was refused.
func (p *pendingWrite) stored(refused changes) writeOutcome {
	switch {
	case len(p.keys) == 0:
		return writeUnnamed
	case slices.ContainsFunc(p.keys, func(key adapter.Key) bool { return refused[p.part][key] }):
		return writeFailed
	default:
		return writeApplied
	}
}

// connect opens a session that parks nothing.
func (w *Writes) connect(ctx context.Context) error {
	if err := w.announce(ctx); err != nil {
		return err
	}
	o := w.f.o.Options
	o.From.Rate = 0
	imp, err := importer.New(ctx, o)
	if err != nil {
		return err
	}
	s := w.f.newSession(imp)
	if err = s.checkFilled(ctx); err == nil {
		err = imp.Join(ctx, w.announcement)
	}
	if err != nil {
		return errors.Join(err, imp.Close())
	}
	w.session = s
	return nil
}

// disconnect closes the connection to the old database.
func (w *Writes) disconnect() error {
	if w.session == nil {
		return nil
	}
	s := w.session
	w.session = nil
	return s.Close()
}

// changedOf returns the records of a part that the old shop has dated as changed just now, or
// none if it does not date them or there are too many.
func (s *session) changedOf(ctx context.Context, p magento1.Part) (keys []adapter.Key, err error) {
	if !magento1.HasChangeTimes(p) {
		return nil, nil
	}
	now, err := s.Legacy.Now(ctx)
	if err != nil {
		return nil, err
	}
	since, err := before(now, s.f.o.Overlap)
	if err != nil {
		return nil, err
	}
	changed, err := s.Legacy.ChangedSince(ctx, p, since, -1)
	if err != nil || len(changed) > magento1.MaxKeys {
		return nil, err
	}
	for _, one := range changed {
		keys = append(keys, one.Key)
	}
	return keys, nil
}

// reachedBy returns the records that writes of some records change.
func (s *session) reachedBy(ctx context.Context, p magento1.Part, keys []adapter.Key) (changes, error) {
	switch p {
	case magento1.Stock: // whose product shows whether it is in stock
		named := changes{}
		named.add(p, keys...)
		found, err := s.Legacy.KeysOf(ctx, magento1.Products, p, keys...)
		named.add(magento1.Products, found...)
		return named, err
	case magento1.Addresses: // one may be the default address in place of another one
		owners, err := s.ownersOf(ctx, keys)
		if err != nil {
			return nil, err
		}
		named, err := s.withRelated(ctx, magento1.Customers, owners)
		if err != nil {
			return nil, err
		}
		named.add(p, keys...)
		return named, nil
	default:
		return s.withRelated(ctx, p, keys)
	}
}

// ownersOf returns the customers who have or had addresses.
func (s *session) ownersOf(ctx context.Context, addresses []adapter.Key) (owners []adapter.Key, err error) {
	owners, err = s.Legacy.KeysOf(ctx, magento1.Customers, magento1.Addresses, addresses...)
	if err != nil {
		return nil, err
	}
	here, err := s.Store.Store(adapter.CustomerAddresses)
	if err != nil {
		return nil, err
	}
	for _, key := range addresses {
		address, err := here.Get(ctx, &adapter.GetParams{Key: key, Only: []string{"customer_id"}})
		switch {
		case adapter.KindOf(err) == adapter.NotFound:
		case err != nil:
			return nil, err
		default:
			owners = append(owners, adapter.Key(address.Get("customer_id").Int()))
		}
	}
	slices.Sort(owners)
	return slices.Compact(owners), nil
}
