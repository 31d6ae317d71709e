package sqlstore

import (
	"context"
	"errors"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/idmap"
	"github.com/portico-commerce/portico/adapter/rules"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// A Tx is a transaction that writes records for package rules.
type Tx struct {
	*engine.Tx
	coordination.OutboxWriter
	records *Database
	// announcement belongs to the import; nil if it was not announced.
	announcement *coordination.Announcement
	intent       *newIntent
	// savepoints: Try undoes only the failed write. Otherwise a failure ends the transaction with
	// errNeedsSavepoints.
	savepoints bool
}

// newTx returns a transaction of a database that writes its records.
func newTx(db *Database, tx *engine.Tx) *Tx {
	return &Tx{Tx: tx, OutboxWriter: coordination.OutboxWriter{Tx: tx}, records: db}
}

// A ruled is the database in the form that package rules uses.
type ruled struct {
	DB           *Database
	lease        *coordination.Lease        // required for writes; nil: none
	announcement *coordination.Announcement // of imports; nil: they are not announced
	mirrors      bool                       // whether client writes are entered in the outbox
	long         bool                       // whether a transaction may take long
	trial        bool                       // whether transactions are rolled back at their end
	intent       *newIntent                 // of the record that a transaction creates; nil: it has none
	root         *idmap.Mapping             // must have no write intent; nil: no root is checked
}

// A newIntent is the write intent of a record that is being created, by the key that it gets.
type newIntent struct {
	resource adapter.Resource
	of       func(adapter.Key) ([]byte, error)
}

// put stores the intent in the mapping of a new record.
func (i *newIntent) put(ctx context.Context, t *Tx, key adapter.Key) (err error) {
	m := idmap.Mapping{Resource: i.resource, Key: key}
	if m.Intent, err = i.of(key); err != nil {
		return err
	}
	return coordination.NewIDMap(t.DB).PutImported(ctx, t.Tx, &m, false)
}

// Schemas returns the schemas of the records.
func (d ruled) Schemas() *adapter.Schemas { return d.DB.Schemas }

// Write runs f in a transaction. When a unique index refuses the write because of a
// concurrent transaction, Write runs f once more, so that Other finds the other record.
// It then prepares the statements that f ran for the next write.
func (d ruled) Write(ctx context.Context, op string, f func(rules.Tx) error) error {
	var done *Tx
	savepoints := false
	write := d.DB.Write
	if d.long {
		write = d.DB.WriteAlone
	}
	run := func() error {
		return write(ctx, op, coordination.Leased(ctx, d.DB.DB, d.lease, func(tx *engine.Tx) error {
			done = newTx(d.DB, tx)
			done.savepoints = savepoints
			done.announcement, done.Mirrors, done.intent = d.announcement, d.mirrors, d.intent
			err := done.touch(ctx, d.root)
			if err == nil {
				err = f(done)
			}
			if err != nil || !d.trial {
				return err
			}
			return errTrial
		}))
	}
	err := run()
	if errors.Is(err, errNeedsSavepoints) {
		savepoints = true
		err = run()
	}
	if fault, ok := errors.AsType[*adapter.Error](err); ok && fault.Kind == adapter.Conflict && fault.Field == "" {
		err = run()
	}
	if errors.Is(err, errTrial) {
		return nil
	}
	if err != nil {
		return err
	}
	done.Prepare(ctx)
	return nil
}

// Try runs f so that only its failure is undone. As failures are rare, and savepoints cost two
// statements each, the first run of a transaction has none, and a failure makes it run once more.
func (t *Tx) Try(ctx context.Context, f func() error) (failure, err error) {
	if t.savepoints {
		if _, err := t.Run(ctx, "SAVEPOINT attempt"); err != nil {
			return nil, err
		}
	}
	err = f()
	switch {
	case err == nil && !t.savepoints:
		return nil, nil
	case err == nil:
		_, err = t.Run(ctx, "RELEASE SAVEPOINT attempt")
		return nil, err
	case t.isFatal(ctx, err):
		return nil, err
	case !t.savepoints:
		return nil, &adapter.Error{Kind: adapter.Internal, Err: errors.Join(errNeedsSavepoints, err)}
	}
	failure = t.DB.WrapError(ctx, "", err)
	_, err = t.Run(ctx, "ROLLBACK TO SAVEPOINT attempt")
	return failure, err
}

// isFatal reports whether an error ends the whole transaction.
func (t *Tx) isFatal(ctx context.Context, err error) bool {
	_, again := t.DB.Engine.Classify(err)
	return again || ctx.Err() != nil || adapter.KindOf(t.DB.WrapError(ctx, "", err)) == adapter.Unavailable
}

// errNeedsSavepoints ends a transaction without savepoints in which one of several writes failed.
var errNeedsSavepoints = errors.New("one of several writes failed")

// touch fails with errNotIdle if the mapping of a root has a write intent. It locks the mapping, so
// that no intent is stored before the transaction ends.
func (t *Tx) touch(ctx context.Context, root *idmap.Mapping) error {
	if root == nil {
		return nil
	}
	idle, err := coordination.NewIDMap(t.DB).Touch(ctx, t.Tx, root.Resource, root.Key)
	if err == nil && !idle {
		err = errNotIdle
	}
	return err
}

// errTrial rolls back a transaction that was only a trial.
var errTrial = errors.New("it was a trial")

// Changed marks the records that an import has changed.
func (t *Tx) Changed(ctx context.Context, changed map[adapter.Resource][]adapter.Key) error {
	return coordination.NoteImport(ctx, t.Tx, t.announcement, changed)
}
