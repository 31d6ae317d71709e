package coordination

import (
	"context"
	"fmt"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// MaxEvidence is the maximum size of a result in bytes.
const MaxEvidence = 48 << 10

// Evidence holds results by name, such as the result of the last sweep, for all processes that share a database.
type Evidence struct{ db *engine.DB }

// NewEvidence returns the results of a database.
func NewEvidence(db *engine.DB) Evidence { return Evidence{db} }

const opNoteEvidence = "note evidence"

// Note stores a result, in place of the last one of that name. Kinds: Invalid for a content that is too long,
// Unavailable, Internal.
func (e Evidence) Note(ctx context.Context, name, content string) error {
	return e.db.Write(ctx, opNoteEvidence, func(tx *engine.Tx) error { return e.NoteIn(ctx, tx, name, content) })
}

// NoteIn is Note within a transaction.
func (e Evidence) NoteIn(ctx context.Context, tx *engine.Tx, name, content string) error {
	if len(content) > MaxEvidence {
		return &adapter.Error{Kind: adapter.Invalid, Op: opNoteEvidence, Err: fmt.Errorf("%s has %d bytes, and at most %d can be stored", name, len(content), MaxEvidence)}
	}
	if err := e.forget(ctx, tx, name); err != nil {
		return err
	}
	_, err := tx.Run(ctx, "INSERT INTO evidence (name, content, noted_ms) VALUES (?, ?, ?)", name, content, time.Now().UnixMilli())
	return err
}

// Forget deletes the result of a name. Kinds: Unavailable, Internal.
func (e Evidence) Forget(ctx context.Context, name string) error {
	return e.db.Write(ctx, "forget evidence", func(tx *engine.Tx) error { return e.forget(ctx, tx, name) })
}

func (e Evidence) forget(ctx context.Context, tx *engine.Tx, name string) error {
	_, err := tx.Run(ctx, "DELETE FROM evidence WHERE name = ?", name)
	return err
}

// Last returns the last result of a name and the time when it was noted, or "" if there is none. Kinds: Unavailable,
// Internal.
func (e Evidence) Last(ctx context.Context, name string) (content string, at time.Time, err error) {
	err = engine.EachRow(ctx, e.db.ReadStatements.Query, func(rows engine.Rows) error {
		var ms int64
		err := rows.Scan(&content, &ms)
		at = time.UnixMilli(ms).UTC()
		return err
	}, "SELECT content, noted_ms FROM evidence WHERE name = ?", name)
	return content, at, e.db.WrapError(ctx, "read evidence", err)
}
