package memstore

import (
	"context"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/outbox"
)

// Mirrored returns false: no other system repeats client writes to records in memory. The
// operations on entries below are therefore never called with any.
func (tx) Mirrored(context.Context, adapter.Resource) (bool, error) { return false, nil }

// Enqueue does nothing.
func (tx) Enqueue(context.Context, ...outbox.Entry) error { return nil }

// Entries returns none.
func (tx) Entries(context.Context, adapter.Resource, []adapter.Key) ([]outbox.Entry, error) {
	return nil, nil
}

// Agree does nothing.
func (tx) Agree(context.Context, outbox.Entry) error { return nil }

// Drop does nothing.
func (tx) Drop(context.Context, outbox.Entry) error { return nil }

// NoteConflicts does nothing.
func (tx) NoteConflicts(context.Context, ...outbox.Conflict) error { return nil }
