package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/portico-commerce/portico/adapter"
)

// Amend stores the values of a record that are not absent as they are, read-only ones
// too, and nothing besides: no time of a change, for one. Kinds: NotFound, Conflict,
// Invalid, Unsupported for a resource whose records clients write, Unavailable,
// Internal.
func (s *Side) Amend(ctx context.Context, r adapter.Resource, key adapter.Key, values adapter.Record) error {
	op := fmt.Sprintf("amend %s %d", r, key)
	if r == adapter.Admins || !slices.Contains(readOnlyResources(), r) { // who may log in no backend says
		return &adapter.Error{Kind: adapter.Unsupported, Op: op}
	}
	t := s.db.table(r)
	values, err := t.fit(op, values)
	if err != nil {
		return err
	}
	text, arguments, err := t.amendment(s.db.engine, op, key, values)
	if err != nil {
		return err
	}
	store := newStore(s.db, t)
	return s.db.write(ctx, op, func(tx *sql.Tx) error {
		if _, err := store.locked(ctx, tx, key); err != nil || text == "" {
			return err
		}
		if _, err := s.db.writing.execIn(ctx, tx, text, arguments...); err != nil {
			return err
		}
		if r == adapter.Stores && values.Get("website_id").Kind() != adapter.Absent {
			return s.db.relist(ctx, tx)
		}
		return nil
	})
}

// amendment returns the statement that stores values, "" when there are none.
func (t *table) amendment(e *engine, op string, key adapter.Key, values adapter.Record) (text string, arguments []any, err error) {
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
		ub.SetMore(ub.Assign(bare(c.name), argument))
		if c.folded != "" {
			ub.SetMore(ub.Assign(bare(c.folded), fold(v)))
		}
		changed = true
	}
	if !changed {
		return "", nil, nil
	}
	text, arguments = ub.Where(ub.Equal(bare(t.key()), int64(key))).Build()
	return text, arguments, nil
}
