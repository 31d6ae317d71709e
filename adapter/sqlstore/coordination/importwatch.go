package coordination

import (
	"context"
	"crypto/rand"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

const (
	// lookTimeout limits a look while no importer has announced itself. Together with lookEvery it
	// is less than lookValid, so that no caller waits for a look then. importTimeout limits the
	// others.
	lookTimeout   = 400 * time.Millisecond
	importTimeout = 2 * time.Second
	// registerTimeout limits how long a process waits to register.
	registerTimeout = 5 * time.Second
)

// A Watcher notices the changes of imports, by this process and by others, so that a process that
// caches records never answers with records older than a committed import. While no process
// imports, it reads one row each second. It is safe for concurrent use.
//
// While the database cannot be read, changes remain unknown. A Watcher then trusts the cache if no
// importer had announced itself before, so that the process goes on answering without its database.
type Watcher struct {
	db    *engine.DB
	id    string
	apply func(ctx context.Context, changed map[adapter.Resource][]adapter.Key)
	// setEpoch is called with the epoch of the store; nil: it is not needed.
	setEpoch func(epoch string)
	hasEpoch bool // the database has one
	began    time.Time
	// knownUntil is the time until which the process knows of all changes without looking, and
	// registeredUntil the time until which importers know of the process. Both count from began.
	knownUntil, registeredUntil atomic.Int64
	failed                      atomic.Bool // the last look did

	looks      singleflight.Group
	turn       chan struct{} // holds a value during a look
	generation int64         // the last one that was applied; -1 before the first look
	epoch      string        // the last one that was set
	importing  bool          // an importer had announced itself at the last successful look
	cached     time.Duration // the maximum age of cached replies at the start

	stop context.CancelFunc
	done sync.WaitGroup
}

// NewWatch returns a Watcher that knows nothing until Start is called.
func (l ImportWatch) NewWatch() *Watcher {
	return &Watcher{db: l.db, id: rand.Text(), began: time.Now(), turn: make(chan struct{}, 1), generation: -1, stop: func() {}}
}

// Start begins to watch, until Close is called. apply drops cached records, given by their keys, or
// by the keys of their roots for parts. A resource without keys stands for all its records, and nil
// for the records of all resources. apply must not call the Watcher. cached is the maximum age of
// replies that are already cached, as in a cache that processes share: if there was an import
// within that time, everything is dropped.
//
// Unless nil, setEpoch is called with the epoch of the store as soon as it is known, and before
// everything is dropped when it changes. The cache must not use replies of any other epoch.
func (w *Watcher) Start(ctx context.Context, cached time.Duration, setEpoch func(epoch string), apply func(ctx context.Context, changed map[adapter.Resource][]adapter.Key)) {
	w.apply, w.cached, w.setEpoch = apply, cached, setEpoch
	if w.setEpoch == nil {
		w.setEpoch = func(string) {}
	}
	exists, err := w.db.IsTable(ctx, engine.StateTable)
	if w.hasEpoch = exists || err != nil; !w.hasEpoch { // Portico did not create the tables
		w.setEpoch("")
	}
	ctx, w.stop = context.WithCancel(context.WithoutCancel(ctx))
	w.register(ctx)
	w.share(ctx)
	w.done.Go(func() { w.run(ctx) })
}

// Close ends the watch.
func (w *Watcher) Close() error {
	w.stop()
	w.done.Wait()
	if w.registeredUntil.Load() == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), registerTimeout)
	defer cancel()
	_ = importProcesses{w.db}.unregister(ctx, w.id) // otherwise the row expires
	return nil
}

// run looks from time to time, and keeps the process registered.
func (w *Watcher) run(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	registered := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if time.Since(registered) >= renewProcess && !w.failed.Load() {
			registered = time.Now()
			w.done.Go(func() { w.register(ctx) }) // which may wait for a long transaction
		}
		w.share(ctx)
	}
}

// register makes the process known to importers, and removes the rows of killed processes.
func (w *Watcher) register(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, registerTimeout)
	defer cancel()
	until := time.Since(w.began) + processTTL
	processes := importProcesses{w.db}
	if processes.register(ctx, w.id, false) == nil {
		w.registeredUntil.Store(int64(until))
		_ = processes.removeExpired(ctx) // the next time, or the next importer does it
	}
}

// known reports whether the process knows of all changes without looking.
func (w *Watcher) known() bool { return int64(time.Since(w.began)) < w.knownUntil.Load() }

// Await returns when all records that were changed by imports committed before the call have been
// dropped. It reports false if it cannot know that. While no process imports it takes a few
// nanoseconds.
func (w *Watcher) Await(ctx context.Context) bool {
	if w.known() {
		return true
	}
	if w.failed.Load() { // until a look of run succeeds
		return false
	}
	return w.share(ctx)
}

// share waits for a look that begins after the call. Callers that wait at the same time share the
// look.
func (w *Watcher) share(ctx context.Context) bool {
	result := w.looks.DoChan("", func() (any, error) {
		w.turn <- struct{}{}
		defer func() { <-w.turn }()
		w.looks.Forget("") // later callers need a later look
		return w.look(), nil
	})
	select {
	case <-ctx.Done():
		return false
	case r := <-result:
		return r.Val.(bool)
	}
}

// look drops the records that have changed since the last look. It reports whether the cache can be
// trusted.
func (w *Watcher) look() bool {
	begun := int64(time.Since(w.began))
	registeredUntil := w.registeredUntil.Load()
	timeout := lookTimeout
	if w.importing {
		timeout = importTimeout
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	state, err := w.readState(ctx)
	if err == nil && (state.generation != w.generation || state.epoch != w.epoch) {
		err = w.takeOver(ctx, state)
	}
	if err != nil {
		w.failed.Store(true)
		w.knownUntil.Store(0)
		if !w.importing {
			w.knownUntil.Store(math.MaxInt64)
		}
		return !w.importing
	}
	if w.importing = state.importers > 0; w.importing {
		w.knownUntil.Store(0)
	} else {
		w.knownUntil.Store(min(begun+int64(lookValid), registeredUntil))
	}
	w.failed.Store(false)
	return true
}

// takeOver drops the records that have changed since the last look, and remembers the new state.
func (w *Watcher) takeOver(ctx context.Context, state changeState) error {
	first, replaced := w.generation < 0, state.epoch != w.epoch
	if replaced {
		w.setEpoch(state.epoch)
	}
	if first || replaced {
		if !first || state.age < w.cached {
			w.apply(context.WithoutCancel(ctx), nil)
		}
		w.generation, w.epoch = state.generation, state.epoch
		return nil
	}
	changed, generation, err := w.readChanges(ctx, w.generation)
	if err != nil {
		return err
	}
	w.apply(context.WithoutCancel(ctx), changed)
	w.generation = generation
	return nil
}

// changeState is the state of imports that a process reads before it answers from its cache.
type changeState struct {
	generation int64
	epoch      string        // of the store; it has another one after everything was replaced
	importers  int64         // how many have announced themselves
	age        time.Duration // of the last change
}

// readState reads the last generation, how old it is, and how many importers there are.
func (w *Watcher) readState(ctx context.Context) (s changeState, err error) {
	epoch := "''"
	if w.hasEpoch {
		epoch = "(SELECT epoch FROM " + engine.StateTable + ")"
	}
	var age int64
	err = engine.First(w.db.CredentialStatements.Query(ctx, "SELECT generation, "+epoch+", (SELECT COUNT(*) FROM import_process WHERE imports = 1), "+w.db.Engine.Now+" - changed_ms FROM import_state")).Scan(&s.generation, &s.epoch, &s.importers, &age)
	s.age = time.Duration(min(max(age, 0), int64(maxChangeAge/time.Millisecond))) * time.Millisecond
	return s, err
}

// maxChangeAge bounds changeState.age.
const maxChangeAge = 100 * 365 * 24 * time.Hour

// readChanges returns the records that were changed in generations later than since, and the last
// generation. nil stands for everything; a resource without keys, for all its records.
func (w *Watcher) readChanges(ctx context.Context, since int64) (changed map[adapter.Resource][]adapter.Key, generation int64, err error) {
	changed = map[adapter.Resource][]adapter.Key{}
	all := map[adapter.Resource]bool{}
	// Both tables are read by one statement, so that no generation is removed in between.
	err = engine.EachRow(ctx, w.db.CredentialStatements.Query, func(rows engine.Rows) error {
		var resource adapter.Resource
		var key adapter.Key
		var in int64
		err := rows.Scan(&resource, &key, &in)
		switch generation = max(generation, in); {
		case resource == "":
		case key == 0:
			all[resource] = true
		default:
			changed[resource] = append(changed[resource], key)
		}
		return err
	}, "SELECT '' AS resource, 0 AS record_key, generation FROM import_state UNION ALL SELECT resource, record_key, generation FROM import_change WHERE generation > ?", since)
	if err != nil {
		return nil, since, err
	}
	for r := range all {
		changed[r] = nil
	}
	if generation-since > keptGenerations || generation < since { // or the database was restored from a backup
		changed = nil
	}
	return changed, generation, nil
}
