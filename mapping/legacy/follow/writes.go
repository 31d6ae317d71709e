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
	// maxPendingWrites bounds the writes that wait to be applied, and maxWriteBatch the writes
	// applied together.
	maxPendingWrites, maxWriteBatch = 256, 32
	// takeOverTimeout limits the time of the legacy store's database for a batch or a task, since
	// other importers wait for it.
	takeOverTimeout = 10 * time.Second
	// reconnectAfter is how long writes fail at once after the legacy store's database could not be
	// connected to, and failureLogEvery how often failures are logged.
	reconnectAfter  = 500 * time.Millisecond
	failureLogEvery = 10 * time.Second
	// renewEvery is how often the announcement of imports is renewed.
	renewEvery = time.Minute
	// Up to maxLeftWrites writes that could not be applied are retried, every leftRetry. The
	// follower finds the others.
	maxLeftWrites = 4096
	leftRetry     = time.Second
)

// A writeOutcome is the state of a write when its reply is sent.
type writeOutcome string

const (
	writeApplied writeOutcome = "applied" // the store has the records that the write has changed
	writeLate    writeOutcome = "late"    // it took longer than Options.Wait
	writeFailed  writeOutcome = "failed"  // the legacy store's database is away, or a record cannot be stored
	writeUnnamed writeOutcome = "unnamed" // the records that the write has changed are unknown
	writeRefused writeOutcome = "refused" // too many other writes wait
)

// Writes applies the writes that clients send to the legacy store through this process, before they
// get the reply, so that they read their own writes here. It does so in every process; the follower
// later finds any missed change. It is safe for concurrent use.
type Writes struct {
	f       *Follower
	pending chan *pendingWrite
	tasks   chan task
	stop    context.CancelFunc
	ended   chan struct{}

	// mu guards open, the number of writes of each resource that are not yet applied, and left, the
	// writes among them that could not be applied.
	mu   sync.Mutex
	open map[adapter.Resource]int
	left []*pendingWrite

	announcement *coordination.Announcement // nil: not yet
	session      *session                   // nil: there is no connection to the legacy store's database
	// failedAt is when w could not connect, and failure why; loggedAt when that was logged.
	failedAt, loggedAt time.Time
	failure            error
}

// A pendingWrite is a write that waits to be applied.
type pendingWrite struct {
	resource adapter.Resource
	part     magento1.Part
	keys     []adapter.Key
	ended    chan<- writeOutcome // has room for one; nil without a waiter
}

// Writes returns Writes that end with Close. It connects to the legacy store's database, by a
// connection of its own, when it is first needed.
func (f *Follower) Writes() *Writes {
	w := &Writes{f: f, pending: make(chan *pendingWrite, maxPendingWrites), tasks: make(chan task), ended: make(chan struct{}), open: map[adapter.Resource]int{}}
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	go w.run(ctx)
	return w
}

// Close ends w. Writes that are not yet applied are left to the follower.
func (w *Writes) Close() error {
	w.stop()
	<-w.ended
	return errors.Join(w.disconnect(), importer.EndAnnouncement(w.announcement))
}

// Await returns when the store has the present state of the records that a write has changed in the
// legacy store, with their parts, or after [Options.Wait]; if that is 0 it only notes for CaughtUp
// that the store lacks them. Without keys it looks for records with a recent change date. Call it
// after the legacy store has executed the write.
func (w *Writes) Await(ctx context.Context, r adapter.Resource, keys ...adapter.Key) {
	outcome := w.await(ctx, r, keys)
	if w.f.o.Wait == 0 { // the caller has not asked to wait
		return
	}
	w.f.o.Metrics.writes.WithLabelValues(string(outcome)).Inc()
	if outcome != writeApplied && outcome != writeFailed { // the reason of which was logged
		w.f.o.Log.WarnContext(ctx, "the reply to a write at the legacy store was sent before its changes were here", "outcome", string(outcome), "resource", string(r))
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

// CaughtUp reports whether the store has all writes of a resource, and of the records that it
// belongs to, that clients have sent to the legacy store through this process.
func (w *Writes) CaughtUp(r adapter.Resource) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.open[r] == 0 && w.open[w.f.o.From.Schemas.Of(r).Root] == 0
}

// leave keeps a write that could not be applied, to retry it.
func (w *Writes) leave(write *pendingWrite) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.left) == maxLeftWrites {
		w.open[write.resource]--
		return
	}
	w.left = append(w.left, write)
}

// takeLeft returns some writes to retry.
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

// tell sends the outcome of a write to its waiter.
func (p *pendingWrite) tell(outcome writeOutcome) {
	if p.ended != nil {
		p.ended <- outcome
		p.ended = nil
	}
}

// run applies writes until ctx ends.
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

// keepAnnounced announces imports before the first one, and as long as more may follow.
func (w *Writes) keepAnnounced(ctx context.Context) {
	if err := w.announce(ctx); err != nil && ctx.Err() == nil {
		w.f.o.Log.Warn("imports cannot be announced: replies to writes at the legacy store may have to wait for that", "error", err)
	}
}

// announce notifies processes that cache records that this process imports.
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

// takeOver applies some writes, and notifies their waiters.
func (w *Writes) takeOver(ctx context.Context, writes []*pendingWrite) {
	limited, cancel := context.WithTimeout(ctx, takeOverTimeout)
	defer cancel()
	outcomes, err := w.store(limited, writes)
	if err != nil && ctx.Err() == nil && time.Since(w.loggedAt) >= failureLogEvery {
		w.loggedAt = time.Now()
		w.f.o.Log.Warn("what was written at the legacy store cannot be taken over now, and is left to the process that follows", "writes", len(writes), "error", err)
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

// store stores the present state of the records that some writes have changed.
func (w *Writes) store(ctx context.Context, writes []*pendingWrite) (outcomes []writeOutcome, err error) {
	err = w.locked(ctx, func(ctx context.Context, s *session) error {
		outcomes, err = s.storeWrites(ctx, writes)
		return err
	})
	return outcomes, err
}

// locked calls do with a session, while it holds the lock of imports. After an error the next call
// opens a new session: another server may have taken the place of the legacy store's database.
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

// stored returns the outcome of a write after everything but the refused records was stored.
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

// disconnect closes the connection to the legacy store's database.
func (w *Writes) disconnect() error {
	if w.session == nil {
		return nil
	}
	s := w.session
	w.session = nil
	return s.Close()
}

// changedOf returns the records of a part that the legacy store has dated as changed just now, or
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

// ownersOf returns the present and former customers of addresses.
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
