package coordination

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/outbox"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// An Outboxes holds the client writes that another system has not received yet.
type Outboxes struct {
	db    *engine.DB
	lease *Lease // required for deliveries; nil: none
}

// NewOutboxes returns the outbox of a database.
func NewOutboxes(db *engine.DB) Outboxes { return Outboxes{db: db} }

// Fenced returns the outbox, except that each transaction of a delivery fails with ErrLeaseLost,
// and stores nothing, if the holder of a lease has lost it.
func (o Outboxes) Fenced(lease Lease) Outboxes { return Outboxes{o.db, &lease} }

// maxReason is the length of the longest stored reason, in bytes.
const maxReason = 255

// maxParkedDue bounds the number of dead-letter entries that are due at a time.
const maxParkedDue = 16

// Due returns the entries that are to be delivered now, at most limit, and some dead-letter ones that
// are to be tried again: for each root at most its first regular entry, and none while that one waits
// for its next attempt. The entries that have been due for longest come first. Kinds: Unavailable,
// Internal.
func (o Outboxes) Due(ctx context.Context, limit int) ([]outbox.Entry, error) {
	var due []outbox.Entry
	for _, kind := range []struct {
		parked  bool
		limit   int
		maxWait time.Duration
	}{{false, limit, outbox.MaxWait}, {true, maxParkedDue, outbox.MaxParkedWait}} {
		now := time.Now()
		all, err := o.dueIn(ctx, "retry_ms <= ?", now, kind.parked, kind.limit)
		if err == nil && len(all) < kind.limit {
			var ahead []outbox.Entry
			ahead, err = o.dueIn(ctx, "retry_ms > ?", now.Add(kind.maxWait), kind.parked, kind.limit-len(all))
			all = append(all, ahead...)
		}
		if err != nil {
			return nil, o.db.WrapError(ctx, "read outbox", err)
		}
		due = append(due, all...)
	}
	return due, nil
}

// dueIn returns the entries whose next attempt is before or after a time, as a condition on retry_ms
// says. The index outbox_entry_retry has the entries in the
// order in which they are due, so that only a few are read, regardless of the number of waiting or
// dead-letter entries. With NOT EXISTS, the condition on earlier entries would make servers join all.
func (o Outboxes) dueIn(ctx context.Context, condition string, moment time.Time, parked bool, limit int) ([]outbox.Entry, error) {
	return selectEntries(ctx, o.db.ReadStatements.Query, "held = 0 AND parked = ? AND "+condition+
		" AND COALESCE((SELECT MIN(earlier.entry_id) FROM outbox_entry earlier WHERE earlier.root = outbox_entry.root AND earlier.root_key = outbox_entry.root_key"+
		" AND earlier.held = 0 AND earlier.parked = 0), outbox_entry.entry_id) >= outbox_entry.entry_id AND "+isReleased+" ORDER BY retry_ms, entry_id LIMIT ?", engine.Flag(parked), moment.UnixMilli(), limit)
}

// isReleased selects the entries whose root has no write intent: a write that is still in progress at a
// backend may be refused there, and is then undone here.
const isReleased = "COALESCE((SELECT 1 FROM backend_record WHERE backend_record.resource = outbox_entry.root AND backend_record.legacy_id = outbox_entry.root_key AND backend_record.note IS NOT NULL), 0) = 0"

// ByID returns the entries with some ids, in their order, except entries that Due leaves out because a
// write of the root is in progress at a backend. Kinds: Unavailable, Internal.
func (o Outboxes) ByID(ctx context.Context, ids ...int64) ([]outbox.Entry, error) {
	arguments := idArguments(ids)
	all, err := selectEntries(ctx, o.db.ReadStatements.Query, engine.InList("entry_id", arguments)+" AND "+isReleased+" ORDER BY entry_id", arguments...)
	return all, o.db.WrapError(ctx, "read outbox", err)
}

// An EntryFilter selects entries.
type EntryFilter struct {
	Parked bool  // only dead-letter entries
	Held   bool  // only held entries, in place of the others
	After  int64 // only entries with greater ids
	Limit  int   // maximum number of entries
}

// Entries returns the entries that a filter selects, in their order. Kinds: Unavailable,
// Internal.
func (o Outboxes) Entries(ctx context.Context, f EntryFilter) ([]outbox.Entry, error) {
	condition, arguments := "entry_id > ? AND held = ?", []any{f.After, engine.Flag(f.Held)}
	if f.Parked {
		condition += " AND parked = 1"
	}
	all, err := selectEntries(ctx, o.db.ReadStatements.Query, condition+" ORDER BY entry_id LIMIT ?", append(arguments, f.Limit)...)
	return all, o.db.WrapError(ctx, "list outbox", err)
}

// idArguments returns ids as the arguments of a list, which is never empty.
func idArguments(ids []int64) []any {
	arguments := make([]any, 0, len(ids))
	for _, id := range ids {
		arguments = append(arguments, id)
	}
	if len(arguments) == 0 {
		return []any{int64(-1)}
	}
	return engine.PadToPowerOfTwo(arguments)
}

// Begin notes that some states of an entry are going to be sent. ok is false if the entry has changed
// since it was read, or is gone: it must be read again then. Kinds: Unavailable, Internal.
func (o Outboxes) Begin(ctx context.Context, e outbox.Entry, states map[string]string) (ok bool, err error) {
	sent := maps.Clone(e.Sent)
	if sent == nil {
		sent = map[string][]string{}
	}
	for name, state := range states {
		if !slices.Contains(sent[name], state) {
			sent[name] = append(slices.Clone(sent[name][max(0, len(sent[name])-maxSent+1):]), state)
		}
	}
	err = WriteLease(ctx, o.db, "begin delivery", o.lease, func(tx *engine.Tx) error {
		text, err := json.Marshal(sent)
		if err != nil {
			return err
		}
		n, err := tx.Affect(ctx, "UPDATE outbox_entry SET sent = ?, sending = 1 WHERE entry_id = ? AND version = ?", string(text), e.ID, e.Version)
		ok = n > 0
		return err
	})
	return ok, err
}

// maxSent is the number of sent states of an attribute that are noted.
const maxSent = 8

// EndAll notes that no delivery is in progress, since the deliverer has ended. Kinds: Unavailable,
// Internal.
func (o Outboxes) EndAll(ctx context.Context) error {
	return WriteLease(ctx, o.db, "end deliveries", o.lease, func(tx *engine.Tx) error {
		_, err := tx.Run(ctx, "UPDATE outbox_entry SET sending = 0 WHERE sending = 1")
		return err
	})
}

// Delivered removes an entry that was delivered and has not changed since. If a client has changed the
// record since, the entry stays, with the sent states as the states on which both systems have agreed.
// Attributes that could not be sent are held. Kinds: Unavailable, Internal.
func (o Outboxes) Delivered(ctx context.Context, e outbox.Entry, sent map[string]string, held []string) error {
	return WriteLease(ctx, o.db, "complete delivery", o.lease, func(tx *engine.Tx) error {
		t := OutboxWriter{Tx: tx}
		if len(held) > 0 {
			kept := outbox.Entry{Record: e.Record, Root: e.Root, Held: true, Agreed: map[string]string{}}
			for _, name := range held {
				kept.Agreed[name] = e.Agreed[name]
			}
			if err := t.Enqueue(ctx, kept); err != nil {
				return err
			}
		}
		stored, err := selectEntries(ctx, t.Query, "entry_id = ?"+o.db.Engine.LockClause, e.ID)
		switch {
		case err != nil || len(stored) == 0:
			return err
		case stored[0].Version == e.Version:
			return t.Drop(ctx, e)
		}
		for name, state := range sent {
			if _, pending := stored[0].Agreed[name]; pending {
				stored[0].Agreed[name] = state
			}
		}
		agreed, _, err := encodeEntry(&stored[0])
		if err != nil {
			return err
		}
		return t.Exec(ctx, "UPDATE outbox_entry SET agreed = ?, sent = '{}', sending = 0, version = version + 1, reason = '', attempts = 0, created_ms = ? WHERE entry_id = ?", agreed, time.Now().UnixMilli(), e.ID)
	})
}

// Failed notes that an attempt to deliver an entry, as it was read before Begin, has failed. If the
// entry has changed since, it is due again immediately. Kinds: Unavailable, Internal.
func (o Outboxes) Failed(ctx context.Context, e outbox.Entry, f outbox.Failure) error {
	return WriteLease(ctx, o.db, "note failed delivery", o.lease, func(tx *engine.Tx) error {
		if _, err := tx.Run(ctx, "UPDATE outbox_entry SET sending = 0 WHERE entry_id = ?", e.ID); err != nil {
			return err
		}
		if f.Unstored {
			before, err := json.Marshal(e.Sent)
			if err != nil {
				return err
			}
			if _, err := tx.Run(ctx, "UPDATE outbox_entry SET sent = ? WHERE entry_id = ?", string(before), e.ID); err != nil {
				return err
			}
		}
		_, err := tx.Run(ctx, "UPDATE outbox_entry SET reason = ?, retry_ms = ?, parked = ?, attempts = attempts + ? WHERE entry_id = ? AND version = ?",
			engine.StorableText(f.Reason, maxReason), f.Retry.UnixMilli(), engine.Flag(f.Parked), engine.Flag(!f.Away), e.ID, e.Version)
		return err
	})
}

// Retry makes dead-letter entries due again immediately, all of them if no id is given. It returns
// their number. Kinds: Unavailable, Internal.
func (o Outboxes) Retry(ctx context.Context, ids ...int64) (int64, error) {
	return o.change(ctx, "retry deliveries", "UPDATE outbox_entry SET parked = 0, attempts = 0, retry_ms = 0 WHERE parked = 1", ids)
}

// Discard removes entries: the other system does not receive them, and following it then imports its
// values. It returns the number of removed entries. Kinds: Unavailable, Internal.
func (o Outboxes) Discard(ctx context.Context, ids ...int64) (int64, error) {
	if len(ids) == 0 {
		return 0, nil
	}
	return o.change(ctx, "skip deliveries", "DELETE FROM outbox_entry WHERE 1 = 1", ids)
}

// change runs a statement on some entries, on all if no id is given.
func (o Outboxes) change(ctx context.Context, op, text string, ids []int64) (n int64, err error) {
	var arguments []any
	if len(ids) > 0 {
		arguments = idArguments(ids)
		text += " AND " + engine.InList("entry_id", arguments)
	}
	err = o.db.Write(ctx, op, func(tx *engine.Tx) (err error) {
		n, err = tx.Affect(ctx, text, arguments...)
		return err
	})
	return n, err
}

// An OutboxCount counts the contents of the outbox of a resource.
type OutboxCount struct {
	Waiting, Parked, Held int64
	Unknown               int64     // creates with an unknown outcome
	Oldest                time.Time // when the oldest waiting entry was stored; zero if there is none
}

// Count counts by resource. Kinds: Unavailable, Internal.
func (o Outboxes) Count(ctx context.Context) (map[adapter.Resource]OutboxCount, error) {
	counts := map[adapter.Resource]OutboxCount{}
	from, to := inProgress()
	err := engine.EachRow(ctx, o.db.ReadStatements.Query, func(rows engine.Rows) error {
		var r adapter.Resource
		var kind, n, oldest int64
		err := rows.Scan(&r, &kind, &n, &oldest)
		c := counts[r]
		switch kind {
		case 0:
			c.Waiting, c.Oldest = n, time.UnixMilli(oldest).UTC()
		case 1:
			c.Parked = n
		case 2:
			c.Held = n
		default:
			c.Unknown = n
		}
		counts[r] = c
		return err
	}, "SELECT resource, parked + 2 * held, COUNT(*), MIN(created_ms) FROM outbox_entry GROUP BY resource, parked + 2 * held UNION ALL SELECT resource, 4, COUNT(*), 0 FROM outbox_create WHERE "+isUnknownCreate+" GROUP BY resource",
		from, to)
	return counts, o.db.WrapError(ctx, "count outbox", err)
}

// Conflicts returns the latest conflicts, at most limit, and the number of all. Kinds: Unavailable,
// Internal.
func (o Outboxes) Conflicts(ctx context.Context, limit int) (latest []outbox.Conflict, total int64, err error) {
	const op = "list conflicts"
	counted, err := engine.SelectColumn[int64](ctx, o.db.ReadStatements.Query, "SELECT COUNT(*) FROM outbox_conflict")
	if err != nil {
		return nil, 0, o.db.WrapError(ctx, op, err)
	}
	latest, err = engine.CollectRows(ctx, o.db.ReadStatements.Query, func(rows engine.Rows) (c outbox.Conflict, err error) {
		var noted int64
		err = rows.Scan(&c.Resource, &c.Key, &c.StoreID, &c.Attribute, &c.Ours, &c.Theirs, &c.Outcome, &noted)
		c.At = time.UnixMilli(noted).UTC()
		return c, err
	}, "SELECT resource, record_key, store_id, attribute, ours, theirs, outcome, noted_ms FROM outbox_conflict ORDER BY conflict_id DESC LIMIT ?", limit)
	return latest, counted[0], o.db.WrapError(ctx, op, err)
}

// CountConflicts counts conflicts by outcome. Kinds: Unavailable, Internal.
func (o Outboxes) CountConflicts(ctx context.Context) (map[outbox.ConflictOutcome]int64, error) {
	counts := map[outbox.ConflictOutcome]int64{}
	err := engine.EachRow(ctx, o.db.ReadStatements.Query, func(rows engine.Rows) error {
		var outcome outbox.ConflictOutcome
		var n int64
		err := rows.Scan(&outcome, &n)
		counts[outcome] = n
		return err
	}, "SELECT outcome, COUNT(*) FROM outbox_conflict GROUP BY outcome")
	return counts, o.db.WrapError(ctx, "count conflicts", err)
}

// Waiting reports whether entries of a root wait to be delivered. Kinds: Unavailable, Internal.
func (o Outboxes) Waiting(ctx context.Context, root outbox.Root) (bool, error) {
	found, err := engine.SelectColumn[int64](ctx, o.db.ReadStatements.Query, "SELECT entry_id FROM outbox_entry WHERE root = ? AND root_key = ? AND held = 0 AND parked = 0 LIMIT 1", string(root.Resource), int64(root.Key))
	return len(found) > 0, o.db.WrapError(ctx, "read outbox", err)
}

// createTimeout is the age from which a create without an outcome counts as unknown: the process that
// has sent it no longer waits for the reply.
const createTimeout = 10 * time.Minute

// isUnknownCreate is the condition of creates with an unknown outcome, with the arguments that
// inProgress returns.
const isUnknownCreate = "(reason <> '' OR created_ms < ? OR created_ms > ?)"

// inProgress returns the first and the last time, in milliseconds since 1970, at which a create without
// an outcome was begun if it may still be in progress. A create from the future was begun before the
// clock was set back.
func inProgress() (from, to int64) {
	now := time.Now()
	return now.Add(-createTimeout).UnixMilli(), now.Add(createTimeout).UnixMilli()
}

// BeginCreate notes a create before it is sent, and returns its id. Kinds: Unavailable, Internal.
func (o Outboxes) BeginCreate(ctx context.Context, c outbox.Create) (id int64, err error) {
	err = o.db.Write(ctx, "note create", func(tx *engine.Tx) error {
		text := "INSERT INTO outbox_create (resource, root, root_key, natural_key, reason, created_ms) VALUES (?, ?, ?, ?, '', ?)"
		if o.db.Engine.UseReturning {
			text += " RETURNING create_id"
		}
		id, err = tx.InsertRow(ctx, text, []any{string(c.Resource), string(c.Root.Resource), int64(c.Root.Key), engine.StorableText(c.NaturalKey, maxReason), time.Now().UnixMilli()})
		return err
	})
	return id, err
}

// EndCreate removes a create whose outcome is known. Kinds: Unavailable, Internal.
func (o Outboxes) EndCreate(ctx context.Context, id int64) error {
	_, err := o.DiscardCreates(ctx, id)
	return err
}

// UnknownCreate notes the reason why the outcome of a create is unknown. Kinds: Unavailable,
// Internal.
func (o Outboxes) UnknownCreate(ctx context.Context, id int64, reason string) error {
	return o.db.Write(ctx, "note unknown create", func(tx *engine.Tx) error {
		_, err := tx.Run(ctx, "UPDATE outbox_create SET reason = ? WHERE create_id = ?", engine.StorableText(reason, maxReason), id)
		return err
	})
}

// DiscardCreates removes creates whose outcome is unknown. It returns the number of removed ones.
// Kinds: Unavailable, Internal.
func (o Outboxes) DiscardCreates(ctx context.Context, ids ...int64) (n int64, err error) {
	err = o.db.Write(ctx, "forget create", func(tx *engine.Tx) (err error) {
		arguments := idArguments(ids)
		n, err = tx.Affect(ctx, "DELETE FROM outbox_create WHERE "+engine.InList("create_id", arguments), arguments...)
		return err
	})
	return n, err
}

// Creates returns the creates of a resource with a natural key, or, without a resource, all, in
// their order, at most limit. Kinds: Unavailable, Internal.
func (o Outboxes) Creates(ctx context.Context, r adapter.Resource, naturalKey string, limit int) (all []outbox.Create, err error) {
	text, arguments := "SELECT create_id, resource, root, root_key, natural_key, reason, created_ms FROM outbox_create", []any{}
	if r != "" {
		text, arguments = text+" WHERE resource = ? AND natural_key = ?", []any{string(r), engine.StorableText(naturalKey, maxReason)}
	}
	from, to := inProgress()
	all, err = engine.CollectRows(ctx, o.db.ReadStatements.Query, func(rows engine.Rows) (c outbox.Create, err error) {
		var created int64
		err = rows.Scan(&c.ID, &c.Resource, &c.Root.Resource, &c.Root.Key, &c.NaturalKey, &c.Reason, &created)
		c.CreatedAt = time.UnixMilli(created).UTC()
		if c.Reason == "" && (created < from || created > to) {
			c.Reason = "the process that has sent it ended before the legacy store replied"
		}
		return c, err
	}, text+" ORDER BY create_id LIMIT ?", append(arguments, limit)...)
	return all, o.db.WrapError(ctx, "list creates", err)
}
