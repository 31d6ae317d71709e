package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/outbox"
)

// Which of two systems has the writes of a resource is a row of the table write_owner, so that
// all processes that clients write through agree on it. The protocol by which it changes, so
// that no write is lost between the two:
//
//   - Each process announces itself from time to time, with what it is configured to wish for each
//     resource, and reads the rows. Its row expires if it does not, and the process then
//     writes nothing of these resources until it has announced itself again.
//   - If all processes wish something else than the row says, one of them begins the turn: it
//     sets turning and increments the epoch. From then on no process begins a write.
//   - A process knows an epoch once its last write under the one before has ended, whichever
//     side it went to.
//   - When all processes know the epoch, and the outbox has nothing of the resource, the
//     turn is completed: the row says the other side, under a new epoch.
//   - A turn that takes too long is given up under a new epoch, and tried again later.
//
// A transaction that stores a mirrored write locks the row for as long, so that even a process
// that was paused for long stores none after the turn.

// WriteOwners are the rows that say which system has the writes of resources.
type WriteOwners struct{ db *DB }

// WriteOwners returns the owners of the database.
func (db *DB) WriteOwners() WriteOwners { return WriteOwners{db} }

// Announce stores what a process wishes and knows, for a time, and returns all owners. Kinds:
// Unavailable, Internal.
func (w WriteOwners) Announce(ctx context.Context, p outbox.Process, ttl time.Duration) (owners []outbox.Owner, err error) {
	wishes, err := json.Marshal(p.Wishes)
	if err != nil {
		return nil, err
	}
	known, err := json.Marshal(p.Known)
	if err != nil {
		return nil, err
	}
	err = w.db.write(ctx, "announce process", func(tx *sql.Tx) error {
		if _, err := w.db.exec(ctx, tx, "INSERT INTO write_process (process_id, wishes, known, expires_ms) VALUES (?, ?, ?, "+w.db.engine.now+" + ?)"+
			w.db.engine.upsert("process_id", "wishes", "known", "expires_ms"), p.ID, string(wishes), string(known), ttl.Milliseconds()); err != nil {
			return err
		}
		owners, err = w.all(ctx, newWriteTx(w.db, tx).query)
		return err
	})
	return owners, err
}

// All returns all owners, by resource. Kinds: Unavailable, Internal.
func (w WriteOwners) All(ctx context.Context) ([]outbox.Owner, error) {
	owners, err := w.all(ctx, w.db.readStatements.query)
	return owners, w.db.wrapError(ctx, "read write owners", err)
}

func (w WriteOwners) all(ctx context.Context, query queryFunc) (owners []outbox.Owner, err error) {
	err = eachRow(ctx, query, func(rows *sql.Rows) error {
		var o outbox.Owner
		var mirrored, turning int64
		err := rows.Scan(&o.Resource, &mirrored, &turning, &o.Epoch)
		o.Mirrored, o.Turning = mirrored != 0, turning != 0
		owners = append(owners, o)
		return err
	}, "SELECT resource, mirrored, turning, epoch FROM write_owner ORDER BY resource")
	return owners, err
}

// Live reports whether some processes have announced themselves and have not expired. Kinds:
// Unavailable, Internal.
func (w WriteOwners) Live(ctx context.Context) (bool, error) {
	found, err := selectColumn[string](ctx, w.db.readStatements.query, "SELECT process_id FROM write_process WHERE expires_ms > "+w.db.engine.now+" LIMIT 1")
	return len(found) > 0, w.db.wrapError(ctx, "read processes", err)
}

// Leave removes the row of a process that writes nothing more. Kinds: Unavailable, Internal.
func (w WriteOwners) Leave(ctx context.Context, id string) error {
	return w.db.write(ctx, "leave process", func(tx *sql.Tx) error {
		_, err := w.db.exec(ctx, tx, "DELETE FROM write_process WHERE process_id = ?", id)
		return err
	})
}

// Begin begins to turn the writes of a resource: to Portico, which mirrors them, or to the other
// system. It fails with [*outbox.NoTurnError] while some process wishes otherwise, or if entries are parked
// that the other system would lack. Further kinds: Unavailable, Internal.
func (w WriteOwners) Begin(ctx context.Context, r adapter.Resource, mirror bool) error {
	return w.turn(ctx, r, func(tx *sql.Tx, o *outbox.Owner, processes []outbox.Process) error {
		for _, p := range processes {
			if p.Wishes[r] != mirror {
				return &outbox.NoTurnError{Reason: "not all processes are configured alike yet"}
			}
		}
		if o.Mirrored == mirror || o.Turning {
			return nil
		}
		if !mirror {
			if err := w.checkOutbox(ctx, tx, r, true); err != nil {
				return err
			}
		}
		o.Turning = true
		o.Epoch++
		return nil
	})
}

// Complete completes a turn that has begun under an epoch. It fails with [*outbox.NoTurnError] while some process
// does not know the epoch, or entries are to be delivered. Further kinds: Unavailable,
// Internal.
func (w WriteOwners) Complete(ctx context.Context, r adapter.Resource, epoch int64) error {
	return w.turn(ctx, r, func(tx *sql.Tx, o *outbox.Owner, processes []outbox.Process) error {
		if !o.Turning || o.Epoch != epoch {
			return nil // another process has done so
		}
		for _, p := range processes {
			if p.Known[r] < epoch {
				return &outbox.NoTurnError{Reason: "some processes still have writes in progress"}
			}
		}
		if o.Mirrored {
			if err := w.checkOutbox(ctx, tx, r, false); err != nil {
				return err
			}
		}
		o.Mirrored, o.Turning = !o.Mirrored, false
		o.Epoch++
		return nil
	})
}

// GiveUp ends a turn that has begun under an epoch without an effect. ended is false if it had
// ended already. Kinds: Unavailable, Internal.
func (w WriteOwners) GiveUp(ctx context.Context, r adapter.Resource, epoch int64) (ended bool, err error) {
	err = w.turn(ctx, r, func(_ *sql.Tx, o *outbox.Owner, _ []outbox.Process) error {
		if ended = o.Turning && o.Epoch == epoch; ended {
			o.Turning = false
			o.Epoch++
		}
		return nil
	})
	return ended && err == nil, err
}

// turn lets change decide on the locked row of a resource, which it creates.
func (w WriteOwners) turn(ctx context.Context, r adapter.Resource, change func(tx *sql.Tx, o *outbox.Owner, processes []outbox.Process) error) error {
	var refused *outbox.NoTurnError
	err := w.db.write(ctx, "turn writes of "+string(r), func(tx *sql.Tx) error {
		refused = nil
		// This locks the row.
		if _, err := w.db.exec(ctx, tx, "INSERT INTO write_owner (resource, mirrored, turning, epoch) VALUES (?, 0, 0, 0)"+w.db.engine.upsert("resource", "resource"), string(r)); err != nil {
			return err
		}
		t := newWriteTx(w.db, tx)
		owners, err := w.all(ctx, t.query)
		if err != nil {
			return err
		}
		processes, err := w.processes(ctx, t)
		if err != nil {
			return err
		}
		for _, o := range owners {
			if o.Resource != r {
				continue
			}
			before := o
			err := change(tx, &o, processes)
			if errors.As(err, &refused) || err != nil || o == before {
				return err
			}
			return t.exec(ctx, "UPDATE write_owner SET mirrored = ?, turning = ?, epoch = ? WHERE resource = ?", flag(o.Mirrored), flag(o.Turning), o.Epoch, string(r))
		}
		return nil
	})
	if refused != nil {
		return refused
	}
	return err
}

// processes returns the processes that have not expired.
func (w WriteOwners) processes(ctx context.Context, t *writeTx) (all []outbox.Process, err error) {
	if err := t.exec(ctx, "DELETE FROM write_process WHERE expires_ms <= "+w.db.engine.now); err != nil {
		return nil, err
	}
	err = eachRow(ctx, t.query, func(rows *sql.Rows) error {
		var p outbox.Process
		var wishes, known []byte
		err := rows.Scan(&p.ID, &wishes, &known)
		if err == nil {
			err = errors.Join(json.Unmarshal(wishes, &p.Wishes), json.Unmarshal(known, &p.Known))
		}
		all = append(all, p)
		return err
	}, "SELECT process_id, wishes, known FROM write_process")
	return all, err
}

// checkOutbox fails if the outbox has something of a resource or of what belongs to the same
// records; parkedOnly: something that does not go away by itself.
func (w WriteOwners) checkOutbox(ctx context.Context, tx *sql.Tx, r adapter.Resource, parkedOnly bool) error {
	root := r
	if s := w.db.schemas.Of(r); s.Root != "" {
		root = s.Root
	}
	t := newWriteTx(w.db, tx)
	condition := ""
	if parkedOnly {
		condition = " AND parked = 1"
	}
	entries, err := selectEntries(ctx, t.query, "root = ? AND held = 0"+condition+" ORDER BY entry_id LIMIT 1", string(root))
	if err != nil {
		return err
	}
	creates, err := selectColumn[int64](ctx, t.query, "SELECT create_id FROM outbox_create WHERE (resource = ? OR root = ?) AND "+isUnknownCreate, string(r), string(root), beforeTimeout())
	switch {
	case err != nil:
		return err
	case len(creates) > 0:
		return &outbox.NoTurnError{Reason: "nobody knows what has become of some records that were to be created at the old shop: see portico mirror list"}
	case len(entries) == 0:
		return nil
	case entries[0].Parked:
		return &outbox.NoTurnError{Reason: "the old shop refuses changes: see portico mirror list"}
	default:
		return &outbox.NoTurnError{Reason: "the old shop does not have all changes yet"}
	}
}

// Waiting reports whether entries of a root wait to be delivered. Kinds: Unavailable, Internal.
func (o Outbox) Waiting(ctx context.Context, root outbox.Root) (bool, error) {
	found, err := selectColumn[int64](ctx, o.db.readStatements.query, "SELECT entry_id FROM outbox_entry WHERE root = ? AND root_key = ? AND held = 0 AND parked = 0 LIMIT 1", string(root.Resource), int64(root.Key))
	return len(found) > 0, o.db.wrapError(ctx, "read outbox", err)
}
