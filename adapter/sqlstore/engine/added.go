package engine

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"

	"github.com/huandu/go-sqlbuilder"
	"github.com/portico-commerce/portico/adapter"
)

// maxAddedJoins bounds the added attributes in one statement. Each takes up to two joins,
// as each other attribute of products takes one at a store view, and engines join about
// 60 tables.
const maxAddedJoins = 12

// WithAdded returns a table whose columns include the added attributes that a query
// names, and adds the necessary joins to sb. Attributes beyond maxAddedJoins stay
// without a column, which leaves them to adapter.Apply.
func (t *Table) WithAdded(e *Engine, sb *sqlbuilder.SelectBuilder, q *adapter.Query) *Table {
	if !t.Added {
		return t
	}
	joined, joins := t, 0
	for _, name := range QueriedAttributes(q) {
		at, ok := t.Schema.Index(name)
		if !ok || !t.Schema.Attributes[at].Added {
			continue
		}
		if joins++; joins > maxAddedJoins {
			break
		}
		if joined == t {
			clone := *t
			clone.Columns = slices.Clone(t.Columns)
			joined = &clone
		}
		// The attribute's name might be too long for an alias.
		added := "added_" + strconv.Itoa(at)
		owner := added + "." + t.Values.KeyColumn
		sb.JoinWithOption(sqlbuilder.LeftJoin, t.Values.Name+" AS "+added, owner+" = "+t.KeyColumn(), added+".attribute = "+sb.Var(name))
		kind := t.Schema.Attributes[at].Kind
		c := &joined.Columns[at]
		c.Name = e.Cast(added+".value", kind)
		c.Null = owner + " IS NOT NULL AND " + added + ".value IS NULL"
		if kind == adapter.KindText {
			c.Folded = added + ".value_folded"
		}
	}
	return joined
}

// SetAdded sets an added attribute of r to a stored value, unless the attribute is no
// longer configured or r has a value of a narrower scope.
func (t *Table) SetAdded(r adapter.Record, attribute string, stored sql.NullString) error {
	at, ok := t.Schema.Index(attribute)
	if !ok || !t.Schema.Attributes[at].Added || r.Values[at].Kind() != adapter.Absent {
		return nil
	}
	v, err := ScopedValue(t.Schema.Attributes[at].Kind, stored)
	if err != nil {
		return fmt.Errorf("%s of %s %d: %w", attribute, t.Schema.Resource, r.Get(t.Schema.Key).Int(), err)
	}
	r.Values[at] = v
	return nil
}

// InsertAdded stores the added attributes of a new record. The schema of r may lack
// them.
func (t *Table) InsertAdded(ctx context.Context, tx *Tx, r adapter.Record) error {
	if !t.Added {
		return nil
	}
	ib := tx.DB.Engine.Flavor.NewInsertBuilder()
	ib.InsertInto(t.Values.Name).Cols(t.Values.KeyColumn, "attribute", "value", "value_folded")
	stored := false
	for i := range t.Schema.Attributes {
		a := &t.Schema.Attributes[i]
		v := r.Get(a.Name)
		if !a.Added || v.Kind() == adapter.Absent {
			continue
		}
		value, folded, err := tx.DB.Engine.ValueTexts(a, v)
		if err != nil {
			return &adapter.Error{Kind: adapter.Invalid, Op: "store " + string(t.Schema.Resource), Field: a.Name, Err: err}
		}
		ib.Values(r.Get(t.Schema.Key).Int(), a.Name, value, folded)
		stored = true
	}
	if !stored {
		return nil
	}
	text, arguments := ib.Build()
	_, err := tx.Run(ctx, text, arguments...)
	return err
}

// ReplaceAdded replaces the stored values of the added attributes that change has. A
// value Unset deletes the stored one.
func (t *Table) ReplaceAdded(ctx context.Context, tx *Tx, key adapter.Key, change adapter.Record) error {
	if !t.Added {
		return nil
	}
	var names []any
	next := adapter.NewRecord(t.Schema)
	next.Set(t.Schema.Key, adapter.IntegerValue(int64(key)))
	for i, a := range t.Schema.Attributes {
		if v := change.Values[i]; a.Added && v.Kind() != adapter.Absent {
			names = append(names, a.Name)
			if v.Kind() != adapter.Unset {
				next.Values[i] = v
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	sb := tx.DB.Engine.Flavor.NewDeleteBuilder().DeleteFrom(t.Values.Name)
	text, arguments := sb.Where(sb.Equal(t.Values.KeyColumn, int64(key)), sb.In("attribute", names...)).Build()
	if _, err := tx.Run(ctx, text, arguments...); err != nil {
		return err
	}
	return t.InsertAdded(ctx, tx, next)
}
