package coordination

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/outbox"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// The owner of a resource's writes, one of two systems, is a row of the table write_owner, so that all
// processes that clients write through agree on it. The owner changes by a handover, in which no write is
// lost between the two:
//
//   - Each process announces itself from time to time, with the desired owner by resource from its
//     configuration, and reads the rows. Its row expires if it does not, and the process then writes nothing
//     of these resources until it has announced itself again.
//   - If all processes desire another owner than the row has, one of them begins the handover: it sets
//     turning and increments the epoch. From then on no process begins a write.
//   - A process knows an epoch once its last write under the previous epoch has ended, whichever system it
//     went to.
//   - When all processes know the epoch, and the outbox has no entry of the resource, the handover is
//     completed: the row names the other owner, under a new epoch.
//   - A handover that takes too long is aborted under a new epoch, and tried again later.
//
// A transaction that stores a mirrored write locks the row until it ends, so that even a process that was
// paused for long stores none after the handover.

// OwnerTable stores the owners of the writes of resources.
type OwnerTable struct {
	db      *engine.DB
	schemas *adapter.Schemas
}

// NewOwnerTable returns the owners of a database whose records have schemas.
func NewOwnerTable(db *engine.DB, schemas *adapter.Schemas) OwnerTable {
	return OwnerTable{db, schemas}
}

// Announce stores the desired owners and known epochs of a process, for a time, and returns all owners.
// Kinds: Unavailable, Internal.
func (w OwnerTable) Announce(ctx context.Context, p outbox.Process, ttl time.Duration) (owners []outbox.Owner, err error) {
	wishes, err := json.Marshal(p.Wishes)
	if err != nil {
		return nil, err
	}
	known, err := json.Marshal(p.Known)
	if err != nil {
		return nil, err
	}
	err = w.db.Write(ctx, "announce process", func(tx *engine.Tx) error {
		if _, err := tx.Run(ctx, "INSERT INTO write_process (process_id, wishes, known, expires_ms) VALUES (?, ?, ?, "+w.db.Engine.Now+" + ?)"+
			w.db.Engine.Upsert("process_id", "wishes", "known", "expires_ms"), p.ID, string(wishes), string(known), ttl.Milliseconds()); err != nil {
			return err
		}
		// A process that was killed before the clock was set back would hold up handovers until
		// then.
		if _, err := tx.Run(ctx, "UPDATE write_process SET expires_ms = "+w.db.Engine.Now+" + ? WHERE expires_ms > "+w.db.Engine.Now+" + ?", ttl.Milliseconds(), ttl.Milliseconds()); err != nil {
			return err
		}
		owners, err = w.all(ctx, tx.Query)
		return err
	})
	return owners, err
}

// All returns all owners, by resource. Kinds: Unavailable, Internal.
func (w OwnerTable) All(ctx context.Context) ([]outbox.Owner, error) {
	owners, err := w.all(ctx, w.db.ReadStatements.Query)
	return owners, w.db.WrapError(ctx, "read write owners", err)
}

func (w OwnerTable) all(ctx context.Context, query engine.QueryFunc) ([]outbox.Owner, error) {
	return engine.CollectRows(ctx, query, func(rows engine.Rows) (o outbox.Owner, err error) {
		var mirrored, turning int64
		err = rows.Scan(&o.Resource, &mirrored, &turning, &o.Epoch)
		o.Mirrored, o.Turning = mirrored != 0, turning != 0
		return o, err
	}, "SELECT resource, mirrored, turning, epoch FROM write_owner ORDER BY resource")
}

// Live reports whether some processes have announced themselves and have not expired. Kinds:
// Unavailable, Internal.
func (w OwnerTable) Live(ctx context.Context) (bool, error) {
	found, err := engine.SelectColumn[string](ctx, w.db.ReadStatements.Query, "SELECT process_id FROM write_process WHERE expires_ms > "+w.db.Engine.Now+" LIMIT 1")
	return len(found) > 0, w.db.WrapError(ctx, "read processes", err)
}

// Leave removes the row of a process that no longer writes. Kinds: Unavailable, Internal.
func (w OwnerTable) Leave(ctx context.Context, id string) error {
	return w.db.Write(ctx, "leave process", func(tx *engine.Tx) error {
		_, err := tx.Run(ctx, "DELETE FROM write_process WHERE process_id = ?", id)
		return err
	})
}

// Begin begins the handover of a resource's writes: to Portico, which mirrors them, or to the other system.
// It fails with [*outbox.NoTurnError] while some process desires the other owner, or if there are dead-letter
// entries that the other system would lack. Further kinds: Unavailable, Internal.
func (w OwnerTable) Begin(ctx context.Context, r adapter.Resource, mirror bool) error {
	return w.turn(ctx, r, func(tx *engine.Tx, o *outbox.Owner, processes []outbox.Process) error {
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

// Complete completes the handover that started in epoch. It fails with [*outbox.NoTurnError] while some
// process does not know the epoch, or entries are to be delivered. Further kinds: Unavailable, Internal.
func (w OwnerTable) Complete(ctx context.Context, r adapter.Resource, epoch int64) error {
	return w.turn(ctx, r, func(tx *engine.Tx, o *outbox.Owner, processes []outbox.Process) error {
		if !o.Turning || o.Epoch != epoch {
			return nil // another process has completed it
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

// GiveUp aborts the handover that started in epoch. ended is false if it had ended already. Kinds:
// Unavailable, Internal.
func (w OwnerTable) GiveUp(ctx context.Context, r adapter.Resource, epoch int64) (ended bool, err error) {
	err = w.turn(ctx, r, func(_ *engine.Tx, o *outbox.Owner, _ []outbox.Process) error {
		if ended = o.Turning && o.Epoch == epoch; ended {
			o.Turning = false
			o.Epoch++
		}
		return nil
	})
	return ended && err == nil, err
}

// turn lets change decide on the locked row of a resource, which it creates.
func (w OwnerTable) turn(ctx context.Context, r adapter.Resource, change func(tx *engine.Tx, o *outbox.Owner, processes []outbox.Process) error) error {
	var refused *outbox.NoTurnError
	err := w.db.Write(ctx, "turn writes of "+string(r), func(tx *engine.Tx) error {
		refused = nil
		locks := make([]int64, ownerLocks)
		for i := range locks {
			locks[i] = int64(i)
		}
		if err := tx.LockOnNodes(ctx, ownerLock+string(r), locks...); err != nil {
			return err
		}
		// This locks the row.
		if _, err := tx.Run(ctx, "INSERT INTO write_owner (resource, mirrored, turning, epoch) VALUES (?, 0, 0, 0)"+w.db.Engine.Upsert("resource", "resource"), string(r)); err != nil {
			return err
		}
		owners, err := w.all(ctx, tx.Query)
		if err != nil {
			return err
		}
		processes, err := w.processes(ctx, tx)
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
			return tx.Exec(ctx, "UPDATE write_owner SET mirrored = ?, turning = ?, epoch = ? WHERE resource = ?", engine.Flag(o.Mirrored), engine.Flag(o.Turning), o.Epoch, string(r))
		}
		return nil
	})
	if refused != nil {
		return refused
	}
	return err
}

// processes returns the processes that have not expired.
func (w OwnerTable) processes(ctx context.Context, tx *engine.Tx) ([]outbox.Process, error) {
	if err := tx.Exec(ctx, "DELETE FROM write_process WHERE expires_ms <= "+w.db.Engine.Now); err != nil {
		return nil, err
	}
	return engine.CollectRows(ctx, tx.Query, func(rows engine.Rows) (p outbox.Process, err error) {
		var wishes, known []byte
		err = rows.Scan(&p.ID, &wishes, &known)
		if err == nil {
			err = errors.Join(json.Unmarshal(wishes, &p.Wishes), json.Unmarshal(known, &p.Known))
		}
		return p, err
	}, "SELECT process_id, wishes, known FROM write_process")
}

// checkOutbox fails if the outbox has entries of a resource or of its root, or creates with an unknown
// outcome. With parkedOnly, only dead-letter entries count, which do not go away by themselves.
func (w OwnerTable) checkOutbox(ctx context.Context, tx *engine.Tx, r adapter.Resource, parkedOnly bool) error {
	root := r
	if s := w.schemas.Of(r); s.Root != "" {
		root = s.Root
	}
	condition := ""
	if parkedOnly {
		condition = " AND parked = 1"
	}
	entries, err := selectEntries(ctx, tx.Query, "root = ? AND held = 0"+condition+" ORDER BY entry_id LIMIT 1", string(root))
	if err != nil {
		return err
	}
	from, to := inProgress()
	creates, err := engine.SelectColumn[int64](ctx, tx.Query, "SELECT create_id FROM outbox_create WHERE (resource = ? OR root = ?) AND "+isUnknownCreate, string(r), string(root), from, to)
	switch {
	case err != nil:
		return err
	case len(creates) > 0:
		return &outbox.NoTurnError{Reason: "nobody knows what has become of some records that were to be created at the legacy store: see portico mirror list"}
	case len(entries) == 0:
		return nil
	case entries[0].Parked:
		return &outbox.NoTurnError{Reason: "the legacy store refuses changes: see portico mirror list"}
	default:
		return &outbox.NoTurnError{Reason: "the legacy store does not have all changes yet"}
	}
}
