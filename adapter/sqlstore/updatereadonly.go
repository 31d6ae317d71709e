package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/portico-commerce/portico/adapter"
)

// UpdateReadOnly overwrites a record's attributes in the local replica with the values
// that are not absent, read-only ones included. It changes nothing else, not even updated_at.
// Kinds: NotFound, Conflict, Invalid, Unsupported for a resource that clients write,
// Unavailable, Internal.
func (s *Replica) UpdateReadOnly(ctx context.Context, r adapter.Resource, key adapter.Key, values adapter.Record) error {
	op := fmt.Sprintf("update read-only %s %d", r, key)
	if r == adapter.Admins || !slices.Contains(readOnlyResources(), r) { // a backend does not decide who can log in
		return &adapter.Error{Kind: adapter.Unsupported, Op: op}
	}
	t := s.db.table(r)
	values, err := t.conform(op, values)
	if err != nil {
		return err
	}
	text, arguments, err := t.updateStatement(s.db.engine, op, key, values)
	if err != nil {
		return err
	}
	return s.db.write(ctx, op, func(tx *sql.Tx) error {
		if _, err := (&writeTx{db: s.db, tx: tx}).Lock(ctx, r, key); err != nil || text == "" {
			return err
		}
		if _, err := s.db.writeStatements.execTx(ctx, tx, text, arguments...); err != nil {
			return err
		}
		if r == adapter.Stores && values.Get("website_id").Kind() != adapter.Absent {
			return s.db.rebuildListing(ctx, tx)
		}
		return nil
	})
}

// updateStatement returns the statement that stores values and its arguments; text is
// "" if there are no values.
func (t *table) updateStatement(e *engine, op string, key adapter.Key, values adapter.Record) (text string, arguments []any, err error) {
	ub := e.flavor.NewUpdateBuilder().Update(t.name)
	changed := false
	for i, v := range values.Values {
		a, c := &t.schema.Attributes[i], &t.columns[i]
		if v.Kind() == adapter.Absent {
			continue
		}
		argument, err := e.bind(a, v)
		if err == nil && a.Name == t.schema.Key {
			if v.Int() == int64(key) {
				continue
			}
			err = errReadOnly
		}
		if err != nil {
			return "", nil, &adapter.Error{Kind: adapter.Invalid, Op: op, Field: a.Name, Err: err}
		}
		ub.SetMore(ub.Assign(unqualified(c.name), argument))
		if c.folded != "" {
			ub.SetMore(ub.Assign(unqualified(c.folded), fold(v)))
		}
		changed = true
	}
	if !changed {
		return "", nil, nil
	}
	text, arguments = ub.Where(ub.Equal(unqualified(t.keyColumn()), int64(key))).Build()
	return text, arguments, nil
}
