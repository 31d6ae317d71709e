package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/replica"
	"github.com/portico-commerce/portico/adapter/rules/imports"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// A Replica is a DB that serves as the local replica of a backend. It serves records as
// Adapter does, and its ID map is the table backend_record.
type Replica struct {
	*RecordAdapter
	coordination.IDMap
	coordination.OutboxUndo
	records *Database
}

var _ replica.Replica = (*Replica)(nil)

// Replica returns the database as the local replica of a backend.
func (db *DB) Replica() *Replica {
	return &Replica{db.adapter, coordination.NewIDMap(db.records.DB), coordination.NewOutboxUndo(db.records.DB), db.records}
}

// FileContent returns the bytes of a media file by its name, as [DB.OpenMedia] does.
func (s *Replica) FileContent(ctx context.Context, name string) (content []byte, err error) {
	file, err := s.records.OpenMedia(ctx, name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	content, err = io.ReadAll(file)
	return content, s.records.WrapError(ctx, "read media", err)
}

// DeleteReadOnly deletes a record that clients cannot delete, its parts, and their
// mappings, in one transaction. It updates no timestamps. Kinds: NotFound, in which case
// the mappings stay; Conflict if other records refer to it; Unsupported for a
// resource whose records clients delete; Unavailable; Internal.
func (s *Replica) DeleteReadOnly(ctx context.Context, r adapter.Resource, key adapter.Key) error {
	op := fmt.Sprintf("delete read-only %s %d", r, key)
	schema := s.records.Schemas.Of(r)
	if r == adapter.Admins || schema == nil || r != adapter.StockItems && !schema.ReadOnly() {
		return &adapter.Error{Kind: adapter.Unsupported, Op: op}
	}
	return s.records.Write(ctx, op, func(tx *engine.Tx) error {
		write := newTx(s.records, tx)
		if _, err := write.Lock(ctx, r, key); err != nil {
			return err
		}
		if err := write.Delete(ctx, r, key); err != nil {
			return err
		}
		return s.IDMap.DeleteMappings(ctx, tx, r, key)
	})
}

var errOtherKey = errors.New("the attribute is read-only")

// UpdateReadOnly overwrites a record's attributes in the local replica with the values
// that are not absent, read-only ones included. It changes nothing else, not even updated_at.
// Kinds: NotFound, Conflict, Invalid, Unsupported for a resource that clients write,
// Unavailable, Internal.
func (s *Replica) UpdateReadOnly(ctx context.Context, r adapter.Resource, key adapter.Key, values adapter.Record) error {
	op := fmt.Sprintf("update read-only %s %d", r, key)
	schema := s.records.Schemas.Of(r)
	if r == adapter.Admins || schema == nil || !schema.ReadOnly() { // a backend does not decide who can log in
		return &adapter.Error{Kind: adapter.Unsupported, Op: op}
	}
	change := adapter.NewRecord(schema)
	if values.Schema != nil {
		change = values.Clone()
	}
	if given := change.Get(schema.Key); given.Kind() != adapter.Absent && given.Int() != int64(key) {
		return &adapter.Error{Kind: adapter.Invalid, Op: op, Field: schema.Key, Err: errOtherKey}
	}
	change.Set(schema.Key, adapter.IntegerValue(int64(key)))
	return s.records.Write(ctx, op, func(tx *engine.Tx) error {
		t := newTx(s.records, tx)
		if _, err := t.Lock(ctx, r, key); err != nil {
			return err
		}
		_, err := s.importIn(ctx, t, op, change, adapter.MergeExisting)
		return err
	})
}

// importIn imports one record. A record that belongs to a customer who does not exist is
// a Conflict, as for a foreign key.
func (s *Replica) importIn(ctx context.Context, tx *Tx, op string, r adapter.Record, existing adapter.ExistingPolicy) (adapter.Imported, error) {
	done, err := imports.ImportIn(ctx, tx, s.records.Schemas, op, r, adapter.ImportOptions{Existing: existing})
	if fault, ok := errors.AsType[*adapter.Error](err); ok && fault.Kind == adapter.NotFound && fault.Field != "" {
		err = &adapter.Error{Kind: adapter.Conflict, Op: op, Field: fault.Field, Err: err}
	}
	return done, err
}
