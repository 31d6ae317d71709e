package sqlstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"sync"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/rules"
)

// Processes cache what they have read, and imports of other processes change it. The protocol
// by which no process answers with anything older than a committed import:
//
//   - A transaction that imports records increments the generation in import_state, and notes
//     under it which records it has changed. The row of import_state stays locked until the
//     commit, so that generations become visible in their order.
//   - An importer announces itself by a row of import_process before its first transaction.
//     While there is such a row, a process that caches reads the generation before it answers
//     from its cache, and first drops what has changed since the last time ([Watch]).
//   - Without such a row it looks every lookEvery, and answers from its cache only if a look
//     began less than lookValid ago. So an importer need only wait announceWait, and not even
//     that if no process has registered that it caches.
//   - Rows of processes that were killed expire. Whoever removes them locks import_state, and a
//     transaction that imports makes sure, after it has locked it, that the row of its
//     importer is still there. So an importer that was paused for long announces itself again.
const (
	lookEvery    = time.Second
	lookValid    = 1500 * time.Millisecond
	announceWait = 2 * time.Second
	// processTTL is when the row of a process expires, and renewProcess when it is renewed.
	processTTL   = 5 * time.Minute
	renewProcess = time.Minute
	// keptGenerations is of how many generations the changed records are noted, and
	// maxChangedKeys how many of a resource in each. Whoever knows of no more than an older
	// generation drops everything.
	keptGenerations = 256
	maxChangedKeys  = 256
)

// An Announcement says that this process imports records, so that those that cache records
// notice each change. It is safe for concurrent use.
type Announcement struct {
	db      *DB
	id      string
	mu      sync.Mutex
	renewed time.Time
}

// AnnounceImports announces that this process is going to import records. If processes are
// running that cache them, it waits two seconds until these have noticed. Kinds: Unavailable,
// Internal.
func (db *DB) AnnounceImports(ctx context.Context) (*Announcement, error) {
	a := &Announcement{db: db, id: rand.Text()}
	if err := a.announce(ctx); err != nil {
		return nil, errors.Join(err, a.End(context.WithoutCancel(ctx)))
	}
	return a, nil
}

// announce inserts the row of the process and waits.
func (a *Announcement) announce(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	const op = "announce imports"
	processes := importProcesses{a.db}
	if err := processes.removeExpired(ctx); err != nil {
		return a.db.wrapError(ctx, op, err)
	}
	if err := processes.register(ctx, a.id, true); err != nil {
		return a.db.wrapError(ctx, op, err)
	}
	a.renewed = time.Now()
	caching, err := selectColumn[int](ctx, a.db.readStatements.query, "SELECT 1 FROM import_process WHERE imports = 0 AND expires_ms > "+a.db.engine.now)
	if err != nil || len(caching) == 0 {
		return a.db.wrapError(ctx, op, err)
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
	_, err := a.db.writeStatements.exec(ctx, "UPDATE import_process SET expires_ms = "+a.db.engine.now+" + ? WHERE id = ?", processTTL.Milliseconds(), a.id)
	if err != nil {
		return a.db.wrapError(ctx, "renew announcement", err)
	}
	a.renewed = time.Now()
	return nil
}

// End says that the process imports nothing more. Kinds: Unavailable, Internal.
func (a *Announcement) End(ctx context.Context) error {
	return a.db.wrapError(ctx, "end announcement", importProcesses{a.db}.unregister(ctx, a.id))
}

// Announced returns an adapter whose imports are announced. Processes that cache records
// notice them at once, and imports of other adapters within two seconds.
func (a *Adapter) Announced(to *Announcement) *Adapter {
	announced := *a
	announced.announcement = to
	return &announced
}

// errUnannounced says that the row of an importer is no longer there.
var errUnannounced = errors.New("the announcement of the import has expired")

// importAnnounced imports a batch, after announcing it again if the announcement has expired.
func (a *Adapter) importAnnounced(ctx context.Context, batch []adapter.Aggregate, o adapter.ImportOptions) ([]adapter.Imported, error) {
	if a.announcement == nil || o.DryRun {
		return rules.Import(ctx, a.rules(), batch, o)
	}
	if err := a.announcement.Renew(ctx); err != nil {
		return nil, err
	}
	outcomes, err := rules.Import(ctx, a.rules(), batch, o)
	if !errors.Is(err, errUnannounced) {
		return outcomes, err
	}
	if err := a.announcement.announce(ctx); err != nil {
		return nil, err
	}
	return rules.Import(ctx, a.rules(), batch, o)
}

// importProcesses are the rows by which processes that import records and processes that cache
// them know of each other.
type importProcesses struct{ db *DB }

// register inserts or renews the row of a process.
func (p importProcesses) register(ctx context.Context, id string, imports bool) error {
	_, err := p.db.writeStatements.exec(ctx, "INSERT INTO import_process (id, imports, expires_ms) VALUES (?, ?, "+p.db.engine.now+" + ?)"+p.db.engine.upsert("id", "expires_ms"),
		id, flag(imports), processTTL.Milliseconds())
	return err
}

// flag returns 1 for true and 0 for false.
func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// unregister removes the row of a process.
func (p importProcesses) unregister(ctx context.Context, id string) error {
	_, err := p.db.writeStatements.exec(ctx, "DELETE FROM import_process WHERE id = ?", id)
	return err
}

// removeExpired removes the rows of processes that were killed, after the imports in progress.
func (p importProcesses) removeExpired(ctx context.Context) error {
	return p.db.write(ctx, "remove expired processes", func(tx *sql.Tx) error {
		var generation int64
		if err := tx.QueryRowContext(ctx, "SELECT generation FROM import_state"+p.db.engine.lockClause).Scan(&generation); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "DELETE FROM import_process WHERE expires_ms <= "+p.db.engine.now)
		return err
	})
}

// Changed starts a generation, and notes under it which records an import has changed.
func (t *writeTx) Changed(ctx context.Context, changed map[adapter.Resource][]adapter.Key) error {
	if err := t.exec(ctx, "UPDATE import_state SET generation = generation + 1, changed_ms = "+t.db.engine.now); err != nil {
		return err
	}
	if t.announcement != nil {
		there, err := t.rowExists(ctx, "SELECT 1 FROM import_process WHERE id = ?", t.announcement.id)
		if err == nil && !there {
			err = errUnannounced
		}
		if err != nil {
			return err
		}
	}
	found, err := selectColumn[int64](ctx, t.query, "SELECT generation FROM import_state")
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
	if err := t.insertValues(ctx, "import_change", []string{"resource", "record_key", "generation"}, rows, t.db.engine.upsert("resource, record_key", "generation")); err != nil {
		return err
	}
	return t.exec(ctx, "DELETE FROM import_change WHERE generation <= ?", generation-keptGenerations)
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

// changeState is what a process reads before it answers from its cache.
type changeState struct {
	generation int64
	importers  int64         // how many have announced themselves
	age        time.Duration // of the last change
}

// readState reads the last generation, how old it is, and how many importers there are.
func (w *Watch) readState(ctx context.Context) (s changeState, err error) {
	var age int64
	rows, err := w.db.credentialStatements.query(ctx, "SELECT generation, (SELECT COUNT(*) FROM import_process WHERE imports = 1), "+w.db.engine.now+" - changed_ms FROM import_state")
	if err == nil {
		err = scanOne(rows, &s.generation, &s.importers, &age)
	}
	s.age = time.Duration(min(max(age, 0), int64(maxChangeAge/time.Millisecond))) * time.Millisecond
	return s, err
}

// maxChangeAge bounds changeState.age.
const maxChangeAge = 100 * 365 * 24 * time.Hour

// readChanges returns what was changed in later generations than since, and the last of them.
// nil stands for everything; a resource without keys, for all its records.
func (w *Watch) readChanges(ctx context.Context, since int64) (changed map[adapter.Resource][]adapter.Key, generation int64, err error) {
	changed = map[adapter.Resource][]adapter.Key{}
	all := map[adapter.Resource]bool{}
	// Both tables are read by one statement, so that no generation is removed in between.
	err = eachRow(ctx, w.db.credentialStatements.query, func(rows *sql.Rows) error {
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
