package coordination

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/outbox"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

var errOtherSide = errors.New("the other system has the writes of this resource now, or will have them in a moment")

// An OutboxWriter is a transaction that writes entries of the outbox for package rules.
type OutboxWriter struct {
	*engine.Tx
	Mirrors bool // whether client writes are entered
}

// Mirrored implements rules.Outbox. It locks the row of the owner, so that no write is stored
// under a former owner.
func (t OutboxWriter) Mirrored(ctx context.Context, r adapter.Resource) (bool, error) {
	if !t.Mirrors {
		return false, nil
	}
	if err := t.LockOnNodes(ctx, ownerLock+string(r), rand.Int64N(ownerLocks)); err != nil {
		return false, err
	}
	var mirrored, turning int64
	err := engine.First(t.Query(ctx, "SELECT mirrored, turning FROM write_owner WHERE resource = ?"+t.DB.Engine.ShareClause, string(r))).Scan(&mirrored, &turning)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return false, nil
	case err != nil:
		return false, err
	case mirrored == 0 || turning != 0:
		return false, &adapter.Error{Kind: adapter.Unavailable, Op: "write " + string(r), Err: errOtherSide}
	}
	return true, nil
}

// On a cluster a transaction that stores a mirrored write locks one of ownerLocks names, so that
// such transactions seldom wait for each other, and a transaction that changes the owner locks
// all.
const (
	ownerLock  = "owner "
	ownerLocks = 64
)

const entryColumns = "entry_id, resource, record_key, store_id, held, root, root_key, agreed, sent, sending, removed, gone, identity, version, reason, attempts, parked, created_ms, retry_ms"

// scanEntry reads a row of entryColumns.
func scanEntry(rows engine.Rows) (e outbox.Entry, err error) {
	var agreed, sent, identity []byte
	var sending, held, removed, gone, parked, created, retry int64
	err = rows.Scan(&e.ID, &e.Resource, &e.Key, &e.StoreID, &held, &e.Root.Resource, &e.Root.Key, &agreed, &sent, &sending, &removed, &gone, &identity, &e.Version, &e.Reason, &e.Attempts, &parked, &created, &retry)
	if err != nil {
		return e, err
	}
	e.Sending, e.Held, e.Removed, e.Gone, e.Parked = sending != 0, held != 0, removed != 0, gone != 0, parked != 0
	e.CreatedAt, e.NextRetry = time.UnixMilli(created).UTC(), time.UnixMilli(retry).UTC()
	return e, errors.Join(json.Unmarshal(agreed, &e.Agreed), json.Unmarshal(sent, &e.Sent), adapter.UnmarshalJSON(identity, &e.Identity))
}

// selectEntries returns the entries that a condition selects, in their order.
func selectEntries(ctx context.Context, query engine.QueryFunc, condition string, arguments ...any) ([]outbox.Entry, error) {
	return engine.CollectRows(ctx, query, scanEntry, "SELECT "+entryColumns+" FROM outbox_entry WHERE "+condition, arguments...)
}

// Enqueue implements rules.Outbox.
func (t OutboxWriter) Enqueue(ctx context.Context, entries ...outbox.Entry) error {
	for _, e := range entries {
		if err := t.enqueue(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

func (t OutboxWriter) enqueue(ctx context.Context, e outbox.Entry) error {
	if e.Gone {
		if err := t.removeEntriesOf(ctx, e); err != nil {
			return err
		}
	}
	stored, err := selectEntries(ctx, t.Query, "resource = ? AND record_key = ? AND store_id = ? AND held = ?"+t.DB.Engine.LockClause, string(e.Resource), int64(e.Key), e.StoreID, engine.Flag(e.Held))
	if err != nil {
		return err
	}
	now := time.Now().UnixMilli()
	if len(stored) == 0 {
		agreed, identity, err := encodeEntry(&e)
		if err != nil {
			return err
		}
		return t.Exec(ctx, "INSERT INTO outbox_entry (resource, record_key, store_id, held, root, root_key, agreed, sent, sending, removed, gone, identity, version, reason, attempts, parked, created_ms, retry_ms)"+
			" VALUES (?, ?, ?, ?, ?, ?, ?, '{}', 0, ?, ?, ?, 1, '', 0, 0, ?, ?)",
			string(e.Resource), int64(e.Key), e.StoreID, engine.Flag(e.Held), string(e.Root.Resource), int64(e.Root.Key), agreed, engine.Flag(e.Removed), engine.Flag(e.Gone), identity, now, now)
	}
	next := mergeEntries(stored[0], e)
	agreed, identity, err := encodeEntry(&next)
	if err != nil {
		return err
	}
	// A refused value may be accepted now. An entry that has waited keeps its place.
	return t.Exec(ctx, "UPDATE outbox_entry SET agreed = ?, removed = ?, gone = ?, identity = ?, version = version + 1, reason = '', attempts = 0, parked = 0, retry_ms = ? WHERE entry_id = ?",
		agreed, engine.Flag(next.Removed), engine.Flag(next.Gone), identity, min(now, stored[0].NextRetry.UnixMilli()), next.ID)
}

// mergeEntries returns a stored entry, merged with a client's later changes.
func mergeEntries(stored, e outbox.Entry) outbox.Entry {
	if e.Removed {
		e.ID = stored.ID
		return e
	}
	agreed := maps.Clone(e.Agreed)
	maps.Copy(agreed, stored.Agreed)
	stored.Agreed = agreed
	return stored
}

// removeEntriesOf removes the entries of a record that is gone, and of its parts.
func (t OutboxWriter) removeEntriesOf(ctx context.Context, e outbox.Entry) error {
	if e.Resource == e.Root.Resource {
		return t.Exec(ctx, "DELETE FROM outbox_entry WHERE root = ? AND root_key = ?", string(e.Root.Resource), int64(e.Root.Key))
	}
	return t.Exec(ctx, "DELETE FROM outbox_entry WHERE resource = ? AND record_key = ? AND (store_id <> ? OR held = 1)", string(e.Resource), int64(e.Key), e.StoreID)
}

// encodeEntry returns the JSON of an entry.
func encodeEntry(e *outbox.Entry) (agreed, identity string, err error) {
	texts := [2][]byte{}
	if texts[0], err = json.Marshal(e.Agreed); err == nil {
		texts[1], err = json.Marshal(e.Identity)
	}
	return string(texts[0]), string(texts[1]), err
}

// Entries implements rules.Outbox.
func (t OutboxWriter) Entries(ctx context.Context, root adapter.Resource, keys []adapter.Key) (all []outbox.Entry, err error) {
	err = engine.EachRowOf(ctx, t.Query, keys, func(rows engine.Rows) error {
		e, err := scanEntry(rows)
		all = append(all, e)
		return err
	}, "SELECT "+entryColumns+" FROM outbox_entry WHERE root = '"+string(root)+"' AND ", "root_key", " ORDER BY entry_id")
	return all, err
}

// Agree implements rules.Outbox. The entry then has another version, because a delivery in
// progress may be older.
func (t OutboxWriter) Agree(ctx context.Context, e outbox.Entry) error {
	agreed, _, err := encodeEntry(&e)
	if err != nil {
		return err
	}
	return t.Exec(ctx, "UPDATE outbox_entry SET agreed = ?, version = version + 1 WHERE entry_id = ?", agreed, e.ID)
}

// Drop implements rules.Outbox.
func (t OutboxWriter) Drop(ctx context.Context, e outbox.Entry) error {
	return t.Exec(ctx, "DELETE FROM outbox_entry WHERE entry_id = ?", e.ID)
}

// maxConflictText limits the text of a value in a conflict, in bytes.
const maxConflictText = 1000

// NoteConflicts implements rules.Outbox.
func (t OutboxWriter) NoteConflicts(ctx context.Context, conflicts ...outbox.Conflict) error {
	for _, c := range conflicts {
		err := t.Exec(ctx, "INSERT INTO outbox_conflict (resource, record_key, store_id, attribute, ours, theirs, outcome, noted_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
			string(c.Resource), int64(c.Key), c.StoreID, c.Attribute, engine.StorableText(c.Ours, maxConflictText), engine.StorableText(c.Theirs, maxConflictText), string(c.Outcome), time.Now().UnixMilli())
		if err != nil {
			return err
		}
	}
	last, err := engine.SelectColumn[int64](ctx, t.Query, "SELECT COALESCE(MAX(conflict_id), 0) FROM outbox_conflict")
	if err != nil || last[0] <= keptConflicts {
		return err
	}
	return t.Exec(ctx, "DELETE FROM outbox_conflict WHERE conflict_id <= ?", last[0]-keptConflicts)
}

// keptConflicts is the minimum number of conflicts that are kept.
const keptConflicts = 10_000

// An OutboxUndo undoes the changes that an import has made to the outbox.
type OutboxUndo struct{ db *engine.DB }

// NewOutboxUndo returns the undo of the outbox of a database.
func NewOutboxUndo(db *engine.DB) OutboxUndo { return OutboxUndo{db} }

// A pendingEntry is the part of an outbox entry that an import may change.
type pendingEntry struct {
	ID      int64             `json:"id"`
	Version int64             `json:"version"`
	Agreed  map[string]string `json:"agreed"`
}

// Pending implements replica.Replica.
func (s OutboxUndo) Pending(ctx context.Context, root adapter.Resource, key adapter.Key) (json.RawMessage, error) {
	entries, err := selectEntries(ctx, s.db.ReadStatements.Query, "root = ? AND root_key = ? ORDER BY entry_id", string(root), int64(key))
	if err != nil || len(entries) == 0 {
		return nil, s.db.WrapError(ctx, "read outbox", err)
	}
	pending := make([]pendingEntry, len(entries))
	for i, e := range entries {
		pending[i] = pendingEntry{e.ID, e.Version, e.Agreed}
	}
	return json.Marshal(pending)
}

// RestorePending implements replica.Replica. An entry that another writer has changed since
// the import has another version, and stays unchanged.
func (s OutboxUndo) RestorePending(ctx context.Context, before json.RawMessage) error {
	if len(before) == 0 {
		return nil
	}
	const op = "restore outbox"
	var pending []pendingEntry
	if err := json.Unmarshal(before, &pending); err != nil {
		return &adapter.Error{Kind: adapter.Internal, Op: op, Err: err}
	}
	return s.db.Write(ctx, op, func(tx *engine.Tx) error {
		for _, e := range pending {
			agreed, err := json.Marshal(e.Agreed)
			if err != nil {
				return err
			}
			if _, err := tx.Run(ctx, "UPDATE outbox_entry SET agreed = ?, version = version + 1 WHERE entry_id = ? AND version = ?", string(agreed), e.ID, e.Version+1); err != nil {
				return err
			}
		}
		return nil
	})
}
