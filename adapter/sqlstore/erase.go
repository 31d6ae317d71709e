package sqlstore

import (
	"context"
	"fmt"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// EraseCustomer erases a customer from all tables. The person holds the data to search other places
// for. If note is not nil, the text that it returns for the receipt is stored in the same transaction
// until EndErasure, so that a process that dies before it has shown the receipt leaves it there. The
// text must name nobody. Kinds: NotFound, Unsupported for a record of a backend, Invalid for a note that is too long,
// Unavailable, Internal.
func (db *DB) EraseCustomer(ctx context.Context, o ErasureOptions, note func(*ErasureReceipt) (string, error)) (*ErasureReceipt, ErasedPerson, error) {
	if note != nil {
		o.Last = func(ctx context.Context, tx *engine.Tx, receipt *ErasureReceipt) error {
			content, err := note(receipt)
			if err != nil {
				return err
			}
			return noteEvidence(ctx, tx, erasureNote(o.Customer), content)
		}
	}
	return erase(ctx, db.records.DB, o)
}

// UnendedErasure returns the note of an EraseCustomer call without a later EndErasure, or "". Call
// ScrubErased then, as EraseCustomer may have been interrupted before it scrubbed the file. Kinds:
// Unavailable, Internal.
func (db *DB) UnendedErasure(ctx context.Context, customer adapter.Key) (note string, err error) {
	note, _, err = db.Evidence(ctx, erasureNote(customer))
	return note, err
}

// ScrubErased removes the remains of deleted rows from the file of the database, as EraseCustomer
// does at its end. Kinds: Unavailable, Internal.
func (db *DB) ScrubErased(ctx context.Context) error { return scrub(ctx, db.records.DB) }

// EndErasure deletes the note of EraseCustomer. Call it when somebody has the receipt. Kinds:
// Unavailable, Internal.
func (db *DB) EndErasure(ctx context.Context, customer adapter.Key) error {
	return db.records.Write(ctx, "end erasure", func(tx *engine.Tx) error { return forgetEvidence(ctx, tx, erasureNote(customer)) })
}

// erasureNote is the name of the note of an erasure among the evidence.
func erasureNote(customer adapter.Key) string { return fmt.Sprintf("erasure/%d", customer) }
