package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// Get returns a record without locking it.
func (t *Tx) Get(ctx context.Context, r adapter.Resource, key adapter.Key) (adapter.Record, error) {
	s := t.records.Records[r]
	record, err := s.ReadByKey(ctx, t.Query, s.GetSQL, key)
	return record, notFound("get", r, key, err)
}

// notFound returns err as an error of kind NotFound if it means that there is no row.
func notFound(op string, r adapter.Resource, key adapter.Key, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return &adapter.Error{Kind: adapter.NotFound, Op: fmt.Sprintf("%s %s %d", op, r, key)}
	}
	return err
}

// Lock locks a record and returns it.
func (t *Tx) Lock(ctx context.Context, r adapter.Resource, key adapter.Key) (adapter.Record, error) {
	if slices.Contains(owners(), r) {
		if err := t.LockOnNodes(ctx, string(r), int64(key)); err != nil {
			return adapter.Record{}, err
		}
	}
	s := t.records.Records[r]
	for range engine.MaxAttempts {
		record, err := s.ReadByKey(ctx, t.Query, s.LockSQL, key)
		if !errors.Is(err, sql.ErrNoRows) {
			return record, err
		}
		// A transaction such as Reset may have deleted the record and inserted it again.
		// A statement that waited for the lock of the deleted row then finds none, so
		// try again while the record exists.
		if _, err := t.Get(ctx, r, key); err != nil {
			return adapter.Record{}, err
		}
	}
	return adapter.Record{}, &adapter.Error{Kind: adapter.Unavailable, Op: "lock " + string(r), Err: errReplaced}
}

var errReplaced = fmt.Errorf("%w: other transactions keep replacing the record", adapter.ErrContention)

// owners returns the resources whose records are locked before parts of them are written. The record itself
// need not change then.
func owners() []adapter.Resource {
	return []adapter.Resource{adapter.Customers, adapter.Products, adapter.Orders}
}

// Other returns the key of another record with the same values. Two concurrent transactions can both find
// none, and a unique index then stops one of them. The index alone does not suffice: each insert that it
// refuses uses up a key.
func (t *Tx) Other(ctx context.Context, like adapter.Record, except adapter.Key, names ...string) (adapter.Key, error) {
	of := t.records.Table(like.Schema.Resource)
	sb := t.DB.Engine.Flavor.NewSelectBuilder()
	sb.Select(of.KeyColumn()).From(of.Name)
	for _, name := range names {
		at, _ := of.Schema.Index(name)
		a, v := &of.Schema.Attributes[at], like.Values[at]
		argument, err := t.DB.Engine.Bind(a, v)
		if err != nil {
			return 0, &adapter.Error{Kind: adapter.Invalid, Op: "find " + string(of.Schema.Resource), Field: name, Err: err}
		}
		if a.Kind == adapter.KindText {
			argument = engine.Fold(v)
		}
		sb.Where(sb.Equal(of.Columns[at].SortColumn(a.Kind), argument))
	}
	text, arguments := sb.Where(sb.NotEqual(of.KeyColumn(), int64(except))).Limit(1).Build()
	var other int64
	if err := engine.First(t.Query(ctx, text, arguments...)).Scan(&other); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, err
	}
	return adapter.Key(other), nil
}

// Find returns the records in which an attribute has one of some values.
func (t *Tx) Find(ctx context.Context, r adapter.Resource, attribute string, values []adapter.Value, lists ...string) ([]adapter.Record, error) {
	s := t.records.Records[r]
	at, _ := s.Table.Schema.Index(attribute)
	a, column := &s.Table.Schema.Attributes[at], s.Table.Columns[at].Name
	folded := a.Kind == adapter.KindText && s.Table.Columns[at].Folded != ""
	if folded {
		column = s.Table.Columns[at].Folded
	}
	var found []adapter.Record
	sc := s.ScannerPool.Get().(*engine.Scanner)
	defer s.PutScanner(sc)
	sc.SetColumns(s.Table, s.OwnIndexes)
	for batch := range slices.Chunk(values, engine.IDsPerStatement) {
		arguments := make([]any, 0, engine.IDsPerStatement)
		for _, v := range batch {
			argument, err := t.DB.Engine.Bind(a, v)
			if err != nil {
				return nil, &adapter.Error{Kind: adapter.Invalid, Op: "find " + string(r), Field: attribute, Err: err}
			}
			if folded {
				argument = engine.Fold(v)
			}
			if argument != nil { // null equals nothing
				arguments = append(arguments, argument)
			}
		}
		if len(arguments) == 0 {
			continue
		}
		arguments = engine.PadToPowerOfTwo(distinct(arguments))
		sb := t.DB.Engine.Flavor.NewSelectBuilder()
		sb.Select(s.Table.SelectColumns(s.OwnIndexes)...).From(s.Table.Name)
		text, arguments := sb.Where(sb.In(column, arguments...)).OrderBy(s.Table.KeyColumn()).Build()
		err := engine.EachRow(ctx, t.Query, func(rows engine.Rows) error {
			record, err := sc.Record(s.Table.Schema, rows)
			found = append(found, record)
			return err
		}, text, arguments...)
		if err != nil {
			return nil, err
		}
	}
	if len(lists) > 0 {
		wanted, err := t.records.Products.RequestedParts(&adapter.Query{}, lists)
		if err != nil {
			return nil, err
		}
		return found, t.records.Products.AddParts(ctx, t.Query, found, wanted, &adapter.ListParams{})
	}
	return found, s.AddValues(ctx, t.Query, found)
}

// distinct returns arguments without duplicates.
func distinct(arguments []any) []any {
	seen := make(map[any]bool, len(arguments))
	return slices.DeleteFunc(arguments, func(argument any) bool {
		repeated := seen[argument]
		seen[argument] = true
		return repeated
	})
}

// recordsPerInsert is the number of records that one statement inserts. Databases
// allow 32,766 values in a statement, and a record has at most some 200.
const recordsPerInsert = 100

// Insert inserts rows with the values of their added attributes, and the write intent of the record
// that the transaction creates. It returns their keys.
func (t *Tx) Insert(ctx context.Context, records ...adapter.Record) ([]adapter.Key, error) {
	keys := make([]adapter.Key, 0, len(records))
	for len(records) > 0 {
		schema := records[0].Schema
		isKeyless := func(r adapter.Record) bool { return r.Get(schema.Key).Kind() == adapter.Absent }
		keyless, n, limit := isKeyless(records[0]), 1, min(len(records), recordsPerInsert)
		if keyless && !t.DB.Engine.UseReturning && !t.DB.Engine.LastKeyFollows {
			limit = 1 // the keys would not be known
		}
		for n < limit && isKeyless(records[n]) == keyless {
			n++
		}
		inserted, err := t.insertRows(ctx, t.records.Records[schema.Resource], records[:n], keyless)
		if err != nil {
			return nil, err
		}
		if t.intent != nil && t.intent.resource == schema.Resource {
			if err := t.intent.put(ctx, t, inserted[0]); err != nil {
				return nil, err
			}
		}
		keys, records = append(keys, inserted...), records[n:]
	}
	return keys, nil
}

// insertRows inserts rows by one statement, all with keys or all without.
func (t *Tx) insertRows(ctx context.Context, s *recordStore, records []adapter.Record, keyless bool) (keys []adapter.Key, err error) {
	row := s.Row
	if keyless {
		row = s.RowWithoutKey
	}
	rows := make([][]any, len(records))
	for i, r := range records {
		if rows[i], err = row.Arguments(t.DB.Engine, r); err != nil {
			return nil, err
		}
	}
	switch {
	case keyless:
		keys, err = t.insertKeyless(ctx, s, rows)
	case len(rows) == 1:
		err = t.Exec(ctx, s.InsertWithKeySQL, rows[0]...)
	default:
		err = t.InsertValues(ctx, s.Table.Name, row.Columns, rows, "")
	}
	if err != nil {
		return nil, err
	}
	for i, r := range records {
		if !keyless {
			keys = append(keys, r.Key())
		} else if s.Table.Added {
			r = r.Clone()
			r.Set(s.Table.Schema.Key, adapter.IntegerValue(int64(keys[i])))
		}
		if err := s.Table.InsertAdded(ctx, t.Tx, r); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// insertKeyless inserts rows without keys and returns the keys that the database chose, which ascend in
// the order of the rows.
func (t *Tx) insertKeyless(ctx context.Context, s *recordStore, rows [][]any) ([]adapter.Key, error) {
	n := len(rows)
	if n == 1 {
		t.Executed = append(t.Executed, s.InsertSQL)
		key, err := t.InsertRow(ctx, s.InsertSQL, rows[0])
		return []adapter.Key{adapter.Key(key)}, err
	}
	text, arguments, _, err := t.InsertStatement(ctx, s.Table.Name, s.RowWithoutKey.Columns, rows)
	if err != nil {
		return nil, err
	}
	if !t.DB.Engine.UseReturning {
		keys := make([]adapter.Key, 0, n)
		last, err := t.InsertRow(ctx, text, arguments)
		for key := last - int64(n) + 1; key <= last; key++ {
			keys = append(keys, adapter.Key(key))
		}
		return keys, err
	}
	text += " RETURNING " + engine.Unqualified(s.Table.KeyColumn())
	keys, err := engine.SelectColumn[adapter.Key](ctx, t.Query, text, arguments...)
	slices.Sort(keys)
	return keys, err
}

// PassKeys moves the key counter of each resource past a key.
func (t *Tx) PassKeys(ctx context.Context, greatest map[adapter.Resource]adapter.Key) error {
	if t.DB.Engine.Counters.PassKey == nil {
		return nil
	}
	resources, counters := t.records.RecordCounters()
	for i, c := range counters {
		key := greatest[resources[i]]
		if key == 0 {
			continue
		}
		behind, move := t.DB.Engine.Counters.PassKey(c, int64(key))
		is, err := t.RowExists(ctx, behind)
		for i := 0; is && err == nil && i < len(move); i++ {
			_, err = t.Run(ctx, move[i])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Update stores the values of change in a locked record.
func (t *Tx) Update(ctx context.Context, current, change adapter.Record) error {
	of, key := t.records.Table(current.Schema.Resource), current.Key()
	ub := t.DB.Engine.Flavor.NewUpdateBuilder().Update(of.Name)
	assigned, err := of.Assign(t.DB.Engine, ub, change)
	if err != nil {
		return err
	}
	if list, differs := of.NullNames(current, change); differs {
		ub.SetMore(ub.Assign("nulls", list))
		assigned = true
	}
	if assigned {
		text, arguments := ub.Where(ub.Equal(engine.Unqualified(of.KeyColumn()), int64(key))).Build()
		if err := t.Exec(ctx, text, arguments...); err != nil {
			return err
		}
	}
	return of.ReplaceAdded(ctx, t.Tx, key, change)
}

// UpdateWhere stores values in all records, except one, that have the values of where.
func (t *Tx) UpdateWhere(ctx context.Context, where, change adapter.Record, except adapter.Key) error {
	of := t.records.Table(where.Schema.Resource)
	ub := t.DB.Engine.Flavor.NewUpdateBuilder().Update(of.Name)
	if _, err := of.Assign(t.DB.Engine, ub, change); err != nil {
		return err
	}
	for i, v := range where.Values {
		if v.Kind() == adapter.Absent {
			continue
		}
		argument, err := t.DB.Engine.Bind(&of.Schema.Attributes[i], v)
		if err != nil {
			return err
		}
		ub.Where(ub.Equal(engine.Unqualified(of.Columns[i].Name), argument))
	}
	if except != 0 {
		ub.Where(ub.NotEqual(engine.Unqualified(of.KeyColumn()), int64(except)))
	}
	text, arguments := ub.Build()
	return t.Exec(ctx, text, arguments...)
}

// Delete deletes a record; the database deletes everything that belongs to it.
func (t *Tx) Delete(ctx context.Context, r adapter.Resource, key adapter.Key) error {
	return t.Exec(ctx, t.records.Records[r].DeleteSQL, int64(key))
}
