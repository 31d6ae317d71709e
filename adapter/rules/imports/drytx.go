package imports

import (
	"context"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/outbox"
	"github.com/portico-commerce/portico/adapter/rules"
)

// A dryTx is a transaction that stores nothing.
type dryTx struct{ rules.Tx }

// Insert returns the keys of the records.
func (dryTx) Insert(_ context.Context, records ...adapter.Record) ([]adapter.Key, error) {
	keys := make([]adapter.Key, len(records))
	for i, r := range records {
		keys[i] = r.Key()
	}
	return keys, nil
}

// PassKeys does nothing.
func (dryTx) PassKeys(context.Context, map[adapter.Resource]adapter.Key) error { return nil }

// Update does nothing.
func (dryTx) Update(context.Context, adapter.Record, adapter.Record) error { return nil }

// UpdateWhere does nothing.
func (dryTx) UpdateWhere(context.Context, adapter.Record, adapter.Record, adapter.Key) error {
	return nil
}

// Delete does nothing.
func (dryTx) Delete(context.Context, adapter.Resource, adapter.Key) error { return nil }

// SetPrices does nothing.
func (dryTx) SetPrices(context.Context, string, ...rules.PriceChange) error { return nil }

// SetLevels does nothing.
func (dryTx) SetLevels(context.Context, adapter.Resource, ...rules.LevelChange) error { return nil }

// Note does nothing.
func (dryTx) Note(context.Context, string, adapter.Resource, ...adapter.Key) error { return nil }

// Forget does nothing.
func (dryTx) Forget(context.Context, adapter.Resource, ...adapter.Key) error { return nil }

// Changed does nothing.
func (dryTx) Changed(context.Context, map[adapter.Resource][]adapter.Key) error { return nil }

// SetPosition does nothing.
func (dryTx) SetPosition(context.Context, string, string) error { return nil }

// Agree does nothing.
func (dryTx) Agree(context.Context, outbox.Entry) error { return nil }

// Drop does nothing.
func (dryTx) Drop(context.Context, outbox.Entry) error { return nil }

// NoteConflicts does nothing.
func (dryTx) NoteConflicts(context.Context, ...outbox.Conflict) error { return nil }

// Saved does nothing.
func (dryTx) Saved(context.Context, ...adapter.Key) error { return nil }

func (dryTx) Restocked(context.Context, ...adapter.Key) error { return nil }
