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

// A valueTable keeps the values of a table's added attributes, a row for each:
// the key of the record, the attribute, the value as text and its folded form.
// Without added attributes no statement names it.
type valueTable struct {
	name, keyColumn string // owner is the column of the record's key
}

// maxAddedJoins bounds the added attributes of one statement. Each is joined up to
// twice, and engines join about 60 tables.
const maxAddedJoins = 16

// withAdded returns the table with columns for those of its added attributes that
// a query names, and joins to sb what they need. A query that names too many is
// left to adapter.Apply.
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
		// Not called as the attribute: engines cut long names.
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

// addValues gives the records the values of their added attributes.
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
	rows, err := query(ctx, text, arguments...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id int64
		var attribute string
		var value sql.NullString
		if err := rows.Scan(&id, &attribute, &value); err != nil {
			return err
		}
		if r, ok := byID[id]; ok {
			if err := s.table.setAdded(r, attribute, value); err != nil {
				return err
			}
		}
	}
	return rows.Err()
}

// setAdded puts a stored value into r, if the attribute is still one of the
// store's and r has no value of a narrower scope.
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

// insertAdded stores the values that a new record has of added attributes. r may
// be of a schema without them.
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

// replaceAdded puts the values that change has of added attributes in the place of
// what the record of key has. Unset leaves none.
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

// valueTexts returns v, a value of a, as tables of values keep it.
func (e *engine) valueTexts(a *adapter.Attribute, v adapter.Value) (value, folded any, err error) {
	bound, err := e.bind(a, v)
	switch {
	case err != nil || bound == nil:
		return nil, nil, err
	case a.Kind == adapter.KindText:
		return v.Text(), adapter.Fold(v.Text()), nil
	case a.Kind == adapter.KindDecimal:
		units, err := parseDecimal(v.Text())
		return formatDecimal(units), nil, err
	default:
		return v.Text(), nil, nil
	}
}
