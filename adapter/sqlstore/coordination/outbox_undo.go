package coordination

import (
	"context"
	"encoding/json"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

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
