package sqlstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/rules"
)

// A writeTx is a transaction that writes records, as package rules asks it to.
type writeTx struct {
	*statementTx
	outboxTx
	// announcement is that of the import; nil: it was not announced.
	announcement *Announcement
}

func newWriteTx(db *DB, tx *sql.Tx) *writeTx {
	statements := &statementTx{db: db, tx: tx}
	return &writeTx{statementTx: statements, outboxTx: outboxTx{statementTx: statements}}
}

// A statementTx is a transaction that runs statements.
type statementTx struct {
	db       *DB
	tx       *sql.Tx
	executed []string // texts of the statements run, which are prepared afterwards
}

// A ruled is the database as package rules sees it.
type ruled struct {
	db           *DB
	lease        *Lease        // that writes need; nil: none
	announcement *Announcement // of imports; nil: they are not announced
	mirrors      bool          // whether what clients write is entered in the outbox
	trial        bool          // whether transactions are rolled back at their end
}

// Schemas returns the schemas of the records.
func (d ruled) Schemas() *adapter.Schemas { return d.db.schemas }

// Write runs f in a transaction. When a unique index refuses the write because of a
// concurrent transaction, Write runs f once more, so that Other finds the other record.
// It then prepares the statements that f ran for the next write.
func (d ruled) Write(ctx context.Context, op string, f func(rules.Tx) error) error {
	var done *writeTx
	run := func() error {
		return d.db.writeFenced(ctx, op, d.lease, func(tx *sql.Tx) error {
			done = newWriteTx(d.db, tx)
			done.announcement, done.mirrors = d.announcement, d.mirrors
			if err := f(done); err != nil || !d.trial {
				return err
			}
			return errTrial
		})
	}
	err := run()
	var fault *adapter.Error
	if errors.As(err, &fault) && fault.Kind == adapter.Conflict && fault.Field == "" {
		err = run()
	}
	if errors.Is(err, errTrial) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, text := range done.executed {
		// This write is committed, so a failure to prepare does not matter.
		_, _ = d.db.writeStatements.prepare(ctx, text)
	}
	return nil
}

// errTrial rolls back a transaction that was only a trial.
var errTrial = errors.New("it was a trial")

// Trial returns an adapter whose writes fail as those of a do, and change nothing if they do not
// fail. It must not create images, which have files.
func (a *Adapter) Trial() *Adapter {
	trial := *a
	d := trial.rules()
	d.trial = true
	trial.stores = rules.Stores(d, a.db.readerOf)
	return &trial
}

// exec runs a statement whose parameters are question marks on every engine.
func (t *statementTx) exec(ctx context.Context, text string, arguments ...any) error {
	t.executed = append(t.executed, text)
	_, err := t.db.writeStatements.execTx(ctx, t.tx, text, arguments...)
	return err
}

// query is exec for a statement that returns rows.
func (t *statementTx) query(ctx context.Context, text string, arguments ...any) (*sql.Rows, error) {
	t.executed = append(t.executed, text)
	return t.db.writeStatements.queryTx(ctx, t.tx, text, arguments...)
}

// rowExists reports whether a statement returns a row.
func (t *statementTx) rowExists(ctx context.Context, text string, arguments ...any) (bool, error) {
	found, err := selectColumn[int64](ctx, t.query, text, arguments...)
	return len(found) > 0, err
}
