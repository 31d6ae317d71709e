package sqlstore

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/portico-commerce/portico/adapter"
)

// UpdateReadOnly overwrites a record's attributes in the local replica with the values
// that are not absent, read-only ones included. It changes nothing else, not even updated_at.
// Kinds: NotFound, Conflict, Invalid, Unsupported for a resource that clients write,
// Unavailable, Internal.
func (s *Replica) UpdateReadOnly(ctx context.Context, r adapter.Resource, key adapter.Key, values adapter.Record) error {
	op := fmt.Sprintf("update read-only %s %d", r, key)
	schema := s.db.schemas.Of(r)
	if r == adapter.Admins || schema == nil || !schema.ReadOnly() { // a backend does not decide who can log in
		return &adapter.Error{Kind: adapter.Unsupported, Op: op}
	}
	change := adapter.NewRecord(schema)
	if values.Schema != nil {
		change = values.Clone()
	}
	if given := change.Get(schema.Key); given.Kind() != adapter.Absent && given.Int() != int64(key) {
		return &adapter.Error{Kind: adapter.Invalid, Op: op, Field: schema.Key, Err: errReadOnly}
	}
	change.Set(schema.Key, adapter.IntegerValue(int64(key)))
	return s.db.write(ctx, op, func(tx *sql.Tx) error {
		t := newWriteTx(s.db, tx)
		if _, err := t.Lock(ctx, r, key); err != nil {
			return err
		}
		_, err := s.importIn(ctx, t, op, change, adapter.MergeExisting)
		return err
	})
}
