package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/replica"
	"github.com/portico-commerce/portico/adapter/sqlstore/backups"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// ImportRecords inserts records of the backend into the local replica, each with its mapping, in one
// transaction, and returns their keys.
//
// Either the first record is a root and the others are its parts, or all are parts of one existing root that
// the mapping of each names. Key 0 means the next free key; keys that the database chooses later are greater
// than any key given here. ImportRecords sets a part's Mapping.RootKey, and the RootAttribute of its schema,
// to the root's key. Unlike a client's write, it checks and derives nothing, except that records without
// created_at and updated_at get the current time and that the product listing is kept up to date.
//
// A mapping of the same key and backend id is replaced.
//
// Kinds: Conflict when a key, an id or a unique value is taken; Invalid; Unsupported for images, whose files
// the local replica does not have; Unavailable; Internal.
func (s *Replica) ImportRecords(ctx context.Context, records []replica.ImportedRecord) ([]adapter.Key, error) {
	const op = "import records"
	checked, err := s.checkImported(op, records)
	if err != nil || len(checked) == 0 {
		return nil, err
	}
	var keys []adapter.Key
	err = s.records.Write(ctx, op, func(tx *engine.Tx) error {
		keys, err = s.storeAll(ctx, newTx(s.records, tx), op, checked)
		return err
	})
	if err != nil {
		return nil, err
	}
	return keys, nil
}

var errNoRoot = errors.New("want one root followed by its parts, or parts of one existing root")

// checkImported returns records of the schemas of their tables, or an error if
// ImportRecords cannot store them.
func (s *Replica) checkImported(op string, records []replica.ImportedRecord) ([]replica.ImportedRecord, error) {
	checked := slices.Clone(records)
	for i := range checked {
		a := &checked[i]
		m := &a.Mapping
		schema := s.records.Schemas.Of(m.Resource)
		if schema == nil {
			return nil, &adapter.Error{Kind: adapter.Unsupported, Op: op + " of " + string(m.Resource)}
		}
		if err := coordination.CheckMapping(op, m); err != nil {
			return nil, err
		}
		first := &checked[0].Mapping
		isRoot, rootFirst := m.Root == "", first.Root == ""
		switch {
		case isRoot != (i == 0 && rootFirst), !isRoot && schema.RootAttribute == "",
			!rootFirst && (m.RootKey == 0 || m.RootKey != first.RootKey || m.Root != first.Root):
			return nil, &adapter.Error{Kind: adapter.Invalid, Op: op, Err: errNoRoot}
		}
		if a.Record.Schema == nil {
			a.Record = adapter.NewRecord(schema)
		}
	}
	return checked, nil
}

// A rootID identifies the root of the records that are stored.
type rootID struct {
	resource adapter.Resource
	key      adapter.Key
}

// storeAll stores records that checkImported has returned.
func (s *Replica) storeAll(ctx context.Context, tx *Tx, op string, records []replica.ImportedRecord) ([]adapter.Key, error) {
	root := rootID{records[0].Mapping.Root, records[0].Mapping.RootKey}
	if root.resource == "" {
		root.resource = records[0].Mapping.Resource
	} else if err := s.lockRoot(ctx, tx, op, root, records[0].Record.Schema.RootAttribute); err != nil {
		return nil, err
	}
	greatest := map[adapter.Resource]adapter.Key{}
	for _, r := range records {
		greatest[r.Mapping.Resource] = max(greatest[r.Mapping.Resource], r.Mapping.Key)
	}
	if err := tx.PassKeys(ctx, greatest); err != nil { // for all at once, as it locks the counters in one order
		return nil, err
	}
	keys := make([]adapter.Key, 0, len(records))
	for _, r := range records {
		r.Record = r.Record.Clone() // records is needed unchanged if the transaction is retried
		isRoot := r.Mapping.Root == ""
		if !isRoot {
			r.Mapping.Root, r.Mapping.RootKey = root.resource, root.key
			r.Record.Set(r.Record.Schema.RootAttribute, adapter.IntegerValue(int64(root.key)))
		}
		if r.Mapping.Key != 0 {
			r.Record.Set(r.Record.Schema.Key, adapter.IntegerValue(int64(r.Mapping.Key)))
		}
		done, err := s.importIn(ctx, tx, op, r.Record, adapter.RefuseExisting)
		if err != nil {
			return nil, err
		}
		given := r.Mapping.Key != 0
		r.Mapping.Key = done.Key
		if err := s.IDMap.PutImported(ctx, tx.Tx, &r.Mapping, given); err != nil {
			return nil, fmt.Errorf("the ids of %s: %w", r.Mapping.Resource, err)
		}
		if isRoot {
			root.key = done.Key
		}
		keys = append(keys, done.Key)
	}
	return keys, nil
}

// lockRoot locks an existing root. It fails with kind Invalid when there is none.
func (s *Replica) lockRoot(ctx context.Context, tx *Tx, op string, root rootID, owner string) error {
	if _, err := s.Store(root.resource); err != nil {
		return &adapter.Error{Kind: adapter.Invalid, Op: op, Field: owner, Err: errNoRoot}
	}
	_, err := tx.Lock(ctx, root.resource, root.key)
	if adapter.KindOf(err) == adapter.NotFound {
		return &adapter.Error{Kind: adapter.Invalid, Op: op, Field: owner, Err: err}
	}
	return err
}

// passOutside makes the keys that the database chooses later greater than the given ones, on
// an engine that cannot do so within a transaction.
func (db *Database) passOutside(ctx context.Context, passed map[adapter.Resource]adapter.Key) error {
	if db.Engine.Counters.Describe == nil || len(passed) == 0 {
		return nil
	}
	resources, counters := db.RecordCounters()
	for i, c := range counters {
		key := int64(passed[resources[i]])
		if key <= 0 {
			continue
		}
		last, err := backups.LastKey(ctx, db.DB, engine.QueryOf(db.Writer.QueryContext), c)
		if err != nil {
			return err
		}
		if last >= key {
			continue
		}
		if _, err := db.Writer.ExecContext(ctx, db.Engine.Counters.ContinueAt(c, key+1)); err != nil {
			return err
		}
	}
	return nil
}
