package coordination

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// Processes cache records, and imports by other processes change these records. This protocol
// ensures that no process answers with records older than a committed import:
//
//   - A transaction that imports records increments the generation in import_state, and notes the
//     changed records under it. The row of import_state stays locked until the commit, so that
//     generations become visible in their order.
//   - An importer announces itself by a row of import_process before its first transaction. While
//     there is such a row, a process that caches reads the generation before it answers from its
//     cache, and first drops the records that have changed since it last did so ([Watcher]).
//   - Without such a row it looks every lookEvery, and answers from its cache only if a look began
//     less than lookValid ago. So an importer needs to wait only announceWait, or not at all if no
//     process has registered that it caches.
//   - A program that replaces records without noting their keys, such as the restore of a backup,
//     changes the epoch of the store in the same transaction ([AnnounceReplacement]). No process
//     uses cached records of another epoch, so the protocol also covers caches that outlive all
//     processes.
//   - Rows of processes that were killed expire. The process that removes them locks
//     import_state first. A transaction that imports locks it, too, and then checks that the
//     row of its importer is still there. So an importer that was paused for a long time
//     announces itself again.
const (
	lookEvery    = time.Second
	lookValid    = 1500 * time.Millisecond
	announceWait = 2 * time.Second
	// processTTL is the time until the row of a process expires, and renewProcess the time until
	// the process renews it.
	processTTL   = 5 * time.Minute
	renewProcess = time.Minute
	// The changed records are noted for the last keptGenerations generations, and at most
	// maxChangedKeys of a resource in each. A process whose last known generation is older
	// drops everything that it has cached.
	keptGenerations = 256
	maxChangedKeys  = 256
)

// An ImportWatch coordinates imports with the processes that cache records.
type ImportWatch struct{ db *engine.DB }

// NewImportWatch returns the ImportWatch of a database.
func NewImportWatch(db *engine.DB) ImportWatch { return ImportWatch{db} }

// An Announcement announces that this process imports records, so that processes that cache records
// notice each change. It is safe for concurrent use.
type Announcement struct {
	db      *engine.DB
	id      string
	mu      sync.Mutex
	renewed time.Time
}

// Announce announces that this process is going to import records. If other processes cache
// records, it waits two seconds, until all of them have noticed the announcement. Kinds:
// Unavailable, Internal.
func (l ImportWatch) Announce(ctx context.Context) (*Announcement, error) {
	a := &Announcement{db: l.db, id: rand.Text()}
	if err := a.Repeat(ctx); err != nil {
		return nil, errors.Join(err, a.End(context.WithoutCancel(ctx)))
	}
	return a, nil
}

// An InUseError reports that processes use a store that is about to be replaced.
type InUseError struct {
	Processes int
	// Forgotten is the time until killed processes no longer count.
	Forgotten time.Duration
}

// Error returns the number of processes and the remedy.
func (e *InUseError) Error() string {
	return fmt.Sprintf("%d processes use the database, or were killed and count for %s more: stop them first", e.Processes, e.Forgotten.Round(time.Second))
}

// AnnounceAlone is Announce for a replacement of the whole store. It fails with an [*InUseError] if
// another process uses the database: one that imports, or one that serves records and caches them.
// Processes that start later notice the replacement as they notice an import. Further kinds:
// Unavailable, Internal.
func (l ImportWatch) AnnounceAlone(ctx context.Context) (*Announcement, error) {
	a := &Announcement{db: l.db, id: rand.Text()}
	const op = "look for processes"
	processes := importProcesses(l)
	err := processes.removeExpired(ctx)
	if err == nil {
		err = processes.register(ctx, a.id, true)
	}
	if err == nil {
		a.renewed = time.Now()
		err = processes.requireNone(ctx, a.id)
	}
	if inUse, ok := errors.AsType[*InUseError](err); ok {
		return nil, cmp.Or(a.End(context.WithoutCancel(ctx)), error(&adapter.Error{Kind: adapter.Conflict, Op: op, Err: inUse}))
	}
	if err != nil {
		return nil, errors.Join(l.db.WrapError(ctx, op, err), a.End(context.WithoutCancel(ctx)))
	}
	return a, nil
}

// Repeat inserts the row of the process and waits.
func (a *Announcement) Repeat(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	const op = "announce imports"
	processes := importProcesses{a.db}
	if err := processes.removeExpired(ctx); err != nil {
		return a.db.WrapError(ctx, op, err)
	}
	if err := processes.register(ctx, a.id, true); err != nil {
		return a.db.WrapError(ctx, op, err)
	}
	a.renewed = time.Now()
	caching, err := engine.SelectColumn[int](ctx, a.db.ReadStatements.Query, "SELECT 1 FROM import_process WHERE imports = 0 AND expires_ms > "+a.db.Engine.Now)
	if err != nil || len(caching) == 0 {
		return a.db.WrapError(ctx, op, err)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(announceWait):
		return nil
	}
}

// Renew keeps an announcement from expiring. Each import does so, too: only a process that
// may import nothing for minutes needs to call it, once a minute. Kinds: Unavailable, Internal.
func (a *Announcement) Renew(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if time.Since(a.renewed) < renewProcess {
		return nil
	}
	// If the row has expired and is no longer there, the next import announces it again.
	_, err := a.db.WriteStatements.Exec(ctx, "UPDATE import_process SET expires_ms = "+a.db.Engine.Now+" + ? WHERE id = ?", processTTL.Milliseconds(), a.id)
	if err != nil {
		return a.db.WrapError(ctx, "renew announcement", err)
	}
	a.renewed = time.Now()
	return nil
}

// Keep renews an announcement until stop is called, so that it does not expire during a long
// transaction.
func (a *Announcement) Keep(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var renewing sync.WaitGroup
	renewing.Go(func() {
		tick := time.NewTicker(renewProcess)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				_ = a.Renew(ctx) // or the transaction finds that the row has expired
			}
		}
	})
	return func() { cancel(); renewing.Wait() }
}

// End withdraws the announcement. Kinds: Unavailable, Internal.
func (a *Announcement) End(ctx context.Context) error {
	return a.db.WrapError(ctx, "end announcement", importProcesses{a.db}.unregister(ctx, a.id))
}

// ErrUnannounced reports that the row of an importer has been removed.
var ErrUnannounced = errors.New("the announcement of the import has expired")

// importProcesses are the rows by which processes that import records and processes that cache
// them know of each other.
type importProcesses struct{ db *engine.DB }

// register inserts or renews the row of a process. Other processes' rows that were renewed before
// the clock was set back expire as if they had been renewed now: otherwise rows of killed processes
// would stay until the clock has caught up.
func (p importProcesses) register(ctx context.Context, id string, imports bool) error {
	_, err := p.db.WriteStatements.Exec(ctx, "UPDATE import_process SET expires_ms = "+p.db.Engine.Now+" + ? WHERE expires_ms > "+p.db.Engine.Now+" + ?", processTTL.Milliseconds(), processTTL.Milliseconds())
	if err != nil {
		return err
	}
	_, err = p.db.WriteStatements.Exec(ctx, "INSERT INTO import_process (id, imports, expires_ms) VALUES (?, ?, "+p.db.Engine.Now+" + ?)"+p.db.Engine.Upsert("id", "expires_ms"),
		id, engine.Flag(imports), processTTL.Milliseconds())
	return err
}

// unregister removes the row of a process.
func (p importProcesses) unregister(ctx context.Context, id string) error {
	_, err := p.db.WriteStatements.Exec(ctx, "DELETE FROM import_process WHERE id = ?", id)
	return err
}

// requireNone fails with an [*InUseError] if there is another process.
func (p importProcesses) requireNone(ctx context.Context, id string) error {
	var others InUseError
	var last sql.NullInt64
	err := engine.First(p.db.ReadStatements.Query(ctx, "SELECT COUNT(*), MAX(expires_ms) - "+p.db.Engine.Now+" FROM import_process WHERE expires_ms > "+p.db.Engine.Now+" AND id <> ?", id)).Scan(&others.Processes, &last)
	if err != nil || others.Processes == 0 {
		return err
	}
	others.Forgotten = time.Duration(last.Int64) * time.Millisecond
	return &others
}

// removeExpired removes the rows of processes that were killed, after the imports in progress.
func (p importProcesses) removeExpired(ctx context.Context) error {
	expired, err := engine.SelectColumn[int](ctx, p.db.ReadStatements.Query, "SELECT 1 FROM import_process WHERE expires_ms <= "+p.db.Engine.Now)
	if err != nil || len(expired) == 0 {
		return p.db.WrapError(ctx, "look for expired processes", err)
	}
	return p.db.Write(ctx, "remove expired processes", func(tx *engine.Tx) error {
		// The new generation excludes other nodes of a cluster: they exclude each other only by the
		// rows that they write.
		if err := tx.Exec(ctx, "UPDATE import_state SET generation = generation + 1"); err != nil {
			return err
		}
		_, err := tx.Run(ctx, "DELETE FROM import_process WHERE expires_ms <= "+p.db.Engine.Now)
		return err
	})
}

// Changed notes the records of a backend that are about to be read in their current state, parts by
// the keys of their roots. Processes that cache records drop them within two seconds. Kinds:
// Unavailable, Internal.
func (l ImportWatch) Changed(ctx context.Context, changed map[adapter.Resource][]adapter.Key) error {
	return l.db.Write(ctx, "note changes", func(tx *engine.Tx) error { return NoteImport(ctx, tx, nil, changed) })
}

// NoteImport starts a generation, and notes the records that an import has changed under it.
// announcement belongs to the import; nil: it was not announced.
func NoteImport(ctx context.Context, t *engine.Tx, announcement *Announcement, changed map[adapter.Resource][]adapter.Key) error {
	// The time is for processes that start later and share a cache with others.
	if err := startGeneration(ctx, t, announcement, ", changed_ms = "+t.DB.Engine.Now); err != nil {
		return err
	}
	found, err := engine.SelectColumn[int64](ctx, t.Query, "SELECT generation FROM import_state")
	if err != nil {
		return err
	}
	generation := found[0]
	var rows [][]any
	for r, keys := range changed {
		for key := range changedKeys(keys) {
			rows = append(rows, []any{string(r), int64(key), generation})
		}
	}
	if err := t.InsertValues(ctx, "import_change", []string{"resource", "record_key", "generation"}, rows, t.DB.Engine.Upsert("resource, record_key", "generation")); err != nil {
		return err
	}
	return t.Exec(ctx, "DELETE FROM import_change WHERE generation <= ?", generation-keptGenerations)
}

// AnnounceReplacement starts a generation, and notes that everything may have changed: it renews
// the epoch of the store. announcement belongs to the replacement; nil: it was not announced.
func AnnounceReplacement(ctx context.Context, t *engine.Tx, announcement *Announcement) error {
	if err := startGeneration(ctx, t, announcement, ""); err != nil {
		return err
	}
	return t.Exec(ctx, engine.RenewEpoch, rand.Text())
}

// Around runs change, which changes records, or the set of records that clients see, without noting
// their keys. It announces the change, and processes drop all cached records before the change
// begins and when it has ended. Kinds: the kinds of change; Unavailable, Internal.
func (l ImportWatch) Around(ctx context.Context, change func() error) (err error) {
	a, err := l.Announce(ctx)
	if err != nil {
		return err
	}
	ended := context.WithoutCancel(ctx)
	defer func() { err = errors.Join(err, a.End(ended)) }()
	defer a.Keep(ctx)()
	renew := func(ctx context.Context) error {
		return l.db.Write(ctx, "renew epoch", func(tx *engine.Tx) error { return AnnounceReplacement(ctx, tx, nil) })
	}
	if err := renew(ctx); err != nil { // in case this process is killed
		return err
	}
	return errors.Join(change(), renew(ended))
}

// startGeneration locks import_state, and makes further assignments in its row, and fails with
// [ErrUnannounced] if the announcement, unless nil, is no longer there.
func startGeneration(ctx context.Context, t *engine.Tx, announcement *Announcement, further string) error {
	if err := t.Exec(ctx, "UPDATE import_state SET generation = generation + 1"+further); err != nil {
		return err
	}
	if announcement == nil {
		return nil
	}
	there, err := t.RowExists(ctx, "SELECT 1 FROM import_process WHERE id = ?", announcement.id)
	if err == nil && !there {
		err = ErrUnannounced
	}
	return err
}

// changedKeys returns the keys that are noted: 0 in place of too many.
func changedKeys(keys []adapter.Key) map[adapter.Key]bool {
	distinct := make(map[adapter.Key]bool, len(keys))
	for _, key := range keys {
		distinct[key] = true
	}
	if len(distinct) > maxChangedKeys {
		return map[adapter.Key]bool{0: true}
	}
	return distinct
}
