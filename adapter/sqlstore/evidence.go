package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// maxEvidence is the maximum size of a result in bytes.
const maxEvidence = 48 << 10

// NoteEvidence stores a result, in place of the last one of that name. Processes that share
// the database read it with Evidence. Kinds: Invalid for a content that is too long,
// Unavailable, Internal.
func (db *DB) NoteEvidence(ctx context.Context, name, content string) error {
	return db.records.Write(ctx, opNoteEvidence, func(tx *engine.Tx) error { return noteEvidence(ctx, tx, name, content) })
}

const opNoteEvidence = "note evidence"

// noteEvidence is NoteEvidence within a transaction.
func noteEvidence(ctx context.Context, tx *engine.Tx, name, content string) error {
	if len(content) > maxEvidence {
		return &adapter.Error{Kind: adapter.Invalid, Op: opNoteEvidence, Err: fmt.Errorf("%s has %d bytes, and at most %d can be stored", name, len(content), maxEvidence)}
	}
	if err := forgetEvidence(ctx, tx, name); err != nil {
		return err
	}
	_, err := tx.Run(ctx, "INSERT INTO evidence (name, content, noted_ms) VALUES (?, ?, ?)", name, content, time.Now().UnixMilli())
	return err
}

// forgetEvidence deletes the result of a name.
func forgetEvidence(ctx context.Context, tx *engine.Tx, name string) error {
	_, err := tx.Run(ctx, "DELETE FROM evidence WHERE name = ?", name)
	return err
}

// Evidence returns the last result of a name and the time when it was noted, or "" if there
// is none. Kinds: Unavailable, Internal.
func (db *DB) Evidence(ctx context.Context, name string) (content string, at time.Time, err error) {
	err = engine.EachRow(ctx, db.records.ReadStatements.Query, func(rows *sql.Rows) error {
		var ms int64
		err := rows.Scan(&content, &ms)
		at = time.UnixMilli(ms).UTC()
		return err
	}, "SELECT content, noted_ms FROM evidence WHERE name = ?", name)
	return content, at, db.records.WrapError(ctx, "read evidence", err)
}
