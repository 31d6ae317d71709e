package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"

	"github.com/huandu/go-sqlbuilder"

	"github.com/portico-commerce/portico/adapter"
)

// A valueTable stores the values of a table's added attributes, one row for each: the
// key of the record, the attribute, the value as text, and its folded form. Statements
// refer to it only if the schema has added attributes.
type valueTable struct {
	name, keyColumn string // keyColumn holds the record's key
}

// maxAddedJoins bounds the added attributes in one statement. Each takes up to two
// joins, as each other attribute of products takes one at a store view, and engines join
// about 60 tables.
const maxAddedJoins = 12

// withAdded returns a table whose columns include the added attributes that a query
// names, and adds the necessary joins to sb. Attributes beyond maxAddedJoins stay
// without a column, which leaves them to adapter.Apply.
func (t *table) withAdded(e *engine, sb *sqlbuilder.SelectBuilder, q *adapter.Query) *table {
	if !t.added {
		return t
	}
	joined, joins := t, 0
	for _, name := range queriedAttributes(q) {
		at, ok := t.schema.Index(name)
		if !ok || !t.schema.Attributes[at].Added {
			continue
		}
		if joins++; joins > maxAddedJoins {
			break
		}
		if joined == t {
			clone := *t
			clone.columns = slices.Clone(t.columns)
			joined = &clone
		}
		// The attribute's name might be too long for an alias.
		added := "added_" + strconv.Itoa(at)
		owner := added + "." + t.values.keyColumn
		sb.JoinWithOption(sqlbuilder.LeftJoin, t.values.name+" AS "+added, owner+" = "+t.keyColumn(), added+".attribute = "+sb.Var(name))
		kind := t.schema.Attributes[at].Kind
		c := &joined.columns[at]
		c.name = e.cast(added+".value", kind)
		c.null = owner + " IS NOT NULL AND " + added + ".value IS NULL"
		if kind == adapter.KindText {
			c.folded = added + ".value_folded"
		}
	}
	return joined
}

// valuesBatch is the number of records whose added values one statement reads.
const valuesBatch = 128

// addValues sets the added attributes of the records.
func (s *store) addValues(ctx context.Context, query queryFunc, records []adapter.Record) error {
	if !s.table.added {
		return nil
	}
	for batch := range slices.Chunk(records, valuesBatch) {
		if err := s.addValueBatch(ctx, query, batch); err != nil {
			return err
		}
	}
	return nil
}

func (s *store) addValueBatch(ctx context.Context, query queryFunc, records []adapter.Record) error {
	key, _ := s.table.schema.Index(s.table.schema.Key)
	byID := make(map[int64]adapter.Record, len(records))
	ids := make([]any, 0, valuesBatch)
	for _, r := range records {
		byID[r.Values[key].Int()] = r
		ids = append(ids, r.Values[key].Int())
	}
	values := s.table.values
	sb := s.db.engine.flavor.NewSelectBuilder()
	sb.Select(values.keyColumn, "attribute", "value").From(values.name).Where(sb.In(values.keyColumn, padToPowerOfTwo(ids)...))
	text, arguments := sb.Build()
	return eachRow(ctx, query, func(rows *sql.Rows) error {
		var id int64
		var attribute string
		var value sql.NullString
		if err := rows.Scan(&id, &attribute, &value); err != nil {
			return err
		}
		if r, ok := byID[id]; ok {
			return s.table.setAdded(r, attribute, value)
		}
		return nil
	}, text, arguments...)
}

// setAdded sets an added attribute of r to a stored value, unless the attribute is no
// longer configured or r has a value of a narrower scope.
func (t *table) setAdded(r adapter.Record, attribute string, stored sql.NullString) error {
	at, ok := t.schema.Index(attribute)
	if !ok || !t.schema.Attributes[at].Added || r.Values[at].Kind() != adapter.Absent {
		return nil
	}
	v, err := scopedValue(t.schema.Attributes[at].Kind, stored)
	if err != nil {
		return fmt.Errorf("%s of %s %d: %w", attribute, t.schema.Resource, r.Get(t.schema.Key).Int(), err)
	}
	r.Values[at] = v
	return nil
}

// insertAdded stores the added attributes of a new record. The schema of r may lack
// them.
func (t *table) insertAdded(ctx context.Context, db *DB, tx *sql.Tx, r adapter.Record) error {
	if !t.added {
		return nil
	}
	ib := db.engine.flavor.NewInsertBuilder()
	ib.InsertInto(t.values.name).Cols(t.values.keyColumn, "attribute", "value", "value_folded")
	stored := false
	for i := range t.schema.Attributes {
		a := &t.schema.Attributes[i]
		v := r.Get(a.Name)
		if !a.Added || v.Kind() == adapter.Absent {
			continue
		}
		value, folded, err := db.engine.valueTexts(a, v)
		if err != nil {
			return &adapter.Error{Kind: adapter.Invalid, Op: "store " + string(t.schema.Resource), Field: a.Name, Err: err}
		}
		ib.Values(r.Get(t.schema.Key).Int(), a.Name, value, folded)
		stored = true
	}
	if !stored {
		return nil
	}
	text, arguments := ib.Build()
	_, err := db.exec(ctx, tx, text, arguments...)
	return err
}

// replaceAdded replaces the stored values of those added attributes that change has. A
// value Unset deletes the stored one.
func (t *table) replaceAdded(ctx context.Context, db *DB, tx *sql.Tx, key adapter.Key, change adapter.Record) error {
	if !t.added {
		return nil
	}
	var names []any
	next := adapter.NewRecord(t.schema)
	next.Set(t.schema.Key, adapter.IntegerValue(int64(key)))
	for i, a := range t.schema.Attributes {
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
	sb := db.engine.flavor.NewDeleteBuilder().DeleteFrom(t.values.name)
	text, arguments := sb.Where(sb.Equal(t.values.keyColumn, int64(key)), sb.In("attribute", names...)).Build()
	if _, err := db.exec(ctx, tx, text, arguments...); err != nil {
		return err
	}
	return t.insertAdded(ctx, db, tx, next)
}

// valueTexts returns the two texts that a value table stores for v, a value of a.
func (e *engine) valueTexts(a *adapter.Attribute, v adapter.Value) (value, folded any, err error) {
	bound, err := e.bind(a, v)
	switch {
	case err != nil || bound == nil:
		return nil, nil, err
	case a.Kind == adapter.KindText:
		return v.Text(), adapter.Fold(v.Text()), nil
	case a.Kind == adapter.KindDecimal:
		canonical, err := a.Canonical(v)
		return canonical.Text(), nil, err
	default:
		return v.Text(), nil, nil
	}
}
