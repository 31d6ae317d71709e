package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/huandu/go-sqlbuilder"

	"github.com/portico-commerce/portico/adapter"
)

// A writePlan holds the statements with which a store creates and deletes the records of
// its table.
type writePlan struct {
	row, rowWithoutKey          *rowEncoder // encode a record, with or without its key
	insertWithKeySQL, insertSQL string      // insert one of them
	deleteSQL                   string      // deletes a row by its key
}

func newWritePlan(e *engine, t *table) writePlan {
	key, _ := t.schema.Index(t.schema.Key)
	w := writePlan{row: newRowEncoder(t, t.columnIndexes(false)), rowWithoutKey: newRowEncoder(t, slices.DeleteFunc(t.columnIndexes(false), func(at int) bool { return at == key }))}
	keyColumn := unqualified(t.keyColumn())
	w.insertWithKeySQL = w.row.insertSQL(e, 1)
	w.insertSQL = w.rowWithoutKey.insertSQL(e, 1)
	if e.useReturning {
		w.insertSQL += " RETURNING " + keyColumn
	}
	db := e.flavor.NewDeleteBuilder().DeleteFrom(t.name)
	w.deleteSQL, _ = db.Where(db.Equal(keyColumn, nil)).Build()
	return w
}

// Get returns a record without locking it.
func (t *writeTx) Get(ctx context.Context, r adapter.Resource, key adapter.Key) (adapter.Record, error) {
	s := t.db.records[r]
	record, err := s.readByKey(ctx, t.query, s.getSQL, key)
	return record, notFound("get", r, key, err)
}

// notFound returns err as an error of kind NotFound if it says that there is no row.
func notFound(op string, r adapter.Resource, key adapter.Key, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return &adapter.Error{Kind: adapter.NotFound, Op: fmt.Sprintf("%s %s %d", op, r, key)}
	}
	return err
}

// Lock locks a record and returns it.
func (t *writeTx) Lock(ctx context.Context, r adapter.Resource, key adapter.Key) (adapter.Record, error) {
	s := t.db.records[r]
	for range maxAttempts {
		record, err := s.readByKey(ctx, t.query, s.lockSQL, key)
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

var errReplaced = errors.New("other transactions keep replacing the record")

// readByKey reads one record by a statement whose only parameter is the key.
func (s *store) readByKey(ctx context.Context, query queryFunc, text string, key adapter.Key) (adapter.Record, error) {
	rows, err := query(ctx, text, int64(key))
	if err != nil {
		return adapter.Record{}, err
	}
	r, err := s.scanRecord(rows)
	if err != nil {
		return adapter.Record{}, err
	}
	return r, s.addValues(ctx, query, []adapter.Record{r})
}

// LockName takes the lock of that name until the transaction ends. Names are rows of the
// table write_lock.
func (t *writeTx) LockName(ctx context.Context, lock string) error {
	if t.db.engine.lockClause == "" {
		return nil // the transaction has locked the whole database
	}
	rows, err := t.query(ctx, "SELECT name FROM write_lock WHERE name = ?"+t.db.engine.lockClause, lock)
	if err != nil {
		return err
	}
	var name string
	if err := scanOne(rows, &name); err != nil {
		return errors.Join(errNoLock, err)
	}
	return nil
}

var errNoLock = errors.New("a row is missing in the table write_lock")

// Other returns the key of another record with the same values. Two concurrent
// transactions can both find none, and a unique index then stops one of them. The index
// alone would not do: each insert that it refuses uses up a key.
func (t *writeTx) Other(ctx context.Context, like adapter.Record, except adapter.Key, names ...string) (adapter.Key, error) {
	of := t.db.table(like.Schema.Resource)
	sb := t.db.engine.flavor.NewSelectBuilder()
	sb.Select(of.keyColumn()).From(of.name)
	for _, name := range names {
		at, _ := of.schema.Index(name)
		a, v := &of.schema.Attributes[at], like.Values[at]
		argument, err := t.db.engine.bind(a, v)
		if err != nil {
			return 0, &adapter.Error{Kind: adapter.Invalid, Op: "find " + string(of.schema.Resource), Field: name, Err: err}
		}
		if a.Kind == adapter.KindText {
			argument = fold(v)
		}
		sb.Where(sb.Equal(of.columns[at].sortColumn(a.Kind), argument))
	}
	text, arguments := sb.Where(sb.NotEqual(of.keyColumn(), int64(except))).Limit(1).Build()
	rows, err := t.query(ctx, text, arguments...)
	if err != nil {
		return 0, err
	}
	var other int64
	if err := scanOne(rows, &other); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, err
	}
	return adapter.Key(other), nil
}

// Find returns the records of which an attribute is one of some values.
func (t *writeTx) Find(ctx context.Context, r adapter.Resource, attribute string, values []adapter.Value, lists ...string) ([]adapter.Record, error) {
	s := t.db.records[r]
	at, _ := s.table.schema.Index(attribute)
	a, column := &s.table.schema.Attributes[at], s.table.columns[at].name
	folded := a.Kind == adapter.KindText && s.table.columns[at].folded != ""
	if folded {
		column = s.table.columns[at].folded
	}
	var found []adapter.Record
	sc := s.scannerPool.Get().(*scanner)
	defer s.putScanner(sc)
	sc.setColumns(s.table, s.ownIndexes)
	for batch := range slices.Chunk(values, idsPerStatement) {
		arguments := make([]any, 0, idsPerStatement)
		for _, v := range batch {
			argument, err := t.db.engine.bind(a, v)
			if err != nil {
				return nil, &adapter.Error{Kind: adapter.Invalid, Op: "find " + string(r), Field: attribute, Err: err}
			}
			if folded {
				argument = fold(v)
			}
			if argument != nil { // null equals nothing
				arguments = append(arguments, argument)
			}
		}
		if len(arguments) == 0 {
			continue
		}
		arguments = padToPowerOfTwo(distinct(arguments))
		sb := t.db.engine.flavor.NewSelectBuilder()
		sb.Select(s.table.selectColumns(s.ownIndexes)...).From(s.table.name)
		text, arguments := sb.Where(sb.In(column, arguments...)).OrderBy(s.table.keyColumn()).Build()
		err := eachRow(ctx, t.query, func(rows *sql.Rows) error {
			record, err := sc.record(s.table.schema, rows)
			found = append(found, record)
			return err
		}, text, arguments...)
		if err != nil {
			return nil, err
		}
	}
	if len(lists) > 0 {
		wanted, err := t.db.products.requestedParts(&adapter.Query{}, lists)
		if err != nil {
			return nil, err
		}
		return found, t.db.products.addParts(ctx, t.query, found, wanted, &adapter.ListParams{})
	}
	return found, s.addValues(ctx, t.query, found)
}

// distinct returns arguments without those that repeat others.
func distinct(arguments []any) []any {
	seen := make(map[any]bool, len(arguments))
	return slices.DeleteFunc(arguments, func(argument any) bool {
		repeated := seen[argument]
		seen[argument] = true
		return repeated
	})
}

// idsPerStatement is the number of ids that one statement looks for.
const idsPerStatement = 128

// Insert inserts rows with the values of their added attributes and returns their keys.
func (t *writeTx) Insert(ctx context.Context, records ...adapter.Record) ([]adapter.Key, error) {
	keys := make([]adapter.Key, 0, len(records))
	for len(records) > 0 {
		schema := records[0].Schema
		isKeyless := func(r adapter.Record) bool { return r.Get(schema.Key).Kind() == adapter.Absent }
		keyless, n, limit := isKeyless(records[0]), 1, min(len(records), recordsPerInsert)
		if keyless && !t.db.engine.useReturning && !t.db.engine.lastKeyFollows {
			limit = 1 // the keys would not be known
		}
		for n < limit && isKeyless(records[n]) == keyless {
			n++
		}
		inserted, err := t.insertRows(ctx, t.db.records[schema.Resource], records[:n], keyless)
		if err != nil {
			return nil, err
		}
		keys, records = append(keys, inserted...), records[n:]
	}
	return keys, nil
}

// insertRows inserts rows by one statement, all with keys or all without.
func (t *writeTx) insertRows(ctx context.Context, s *store, records []adapter.Record, keyless bool) (keys []adapter.Key, err error) {
	row, text := s.row, s.insertWithKeySQL
	if keyless {
		row, text = s.rowWithoutKey, s.insertSQL
	}
	if len(records) > 1 {
		text = row.insertSQL(t.db.engine, len(records))
		if keyless && t.db.engine.useReturning {
			text += " RETURNING " + unqualified(s.table.keyColumn())
		}
	}
	arguments := make([]any, 0, len(records)*len(row.columns))
	for _, r := range records {
		if arguments, err = row.appendArguments(arguments, t.db.engine, r); err != nil {
			return nil, err
		}
	}
	switch {
	case keyless:
		keys, err = t.insertKeyless(ctx, text, arguments, len(records))
	case len(records) == 1:
		err = t.exec(ctx, text, arguments...)
	default: // there are too many different statements to prepare them
		_, err = t.db.exec(ctx, t.tx, text, arguments...)
	}
	if err != nil {
		return nil, err
	}
	for i, r := range records {
		if !keyless {
			keys = append(keys, r.Key())
		} else if s.table.added {
			r = r.Clone()
			r.Set(s.table.schema.Key, adapter.IntegerValue(int64(keys[i])))
		}
		if err := s.table.insertAdded(ctx, t.db, t.tx, r); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// insertKeyless runs an INSERT of some rows without keys and returns the keys that the
// database chose, which ascend as the rows do.
func (t *writeTx) insertKeyless(ctx context.Context, text string, arguments []any, n int) ([]adapter.Key, error) {
	if n == 1 {
		t.executed = append(t.executed, text)
		key, err := t.db.insertRow(ctx, t.tx, text, arguments)
		return []adapter.Key{adapter.Key(key)}, err
	}
	if !t.db.engine.useReturning {
		keys := make([]adapter.Key, 0, n)
		last, err := t.db.insertRow(ctx, t.tx, text, arguments)
		for key := last - int64(n) + 1; key <= last; key++ {
			keys = append(keys, adapter.Key(key))
		}
		return keys, err
	}
	keys, err := selectColumn[adapter.Key](ctx, t.tx.QueryContext, t.db.engine.rebind(text), arguments...)
	slices.Sort(keys)
	return keys, err
}

// PassKeys moves the key counter of each resource past a key.
func (t *writeTx) PassKeys(ctx context.Context, greatest map[adapter.Resource]adapter.Key) error {
	if t.db.engine.counters.passKey == nil {
		return nil
	}
	resources, counters := keyCounters{t.db}.ofRecords()
	for i, c := range counters {
		key := greatest[resources[i]]
		if key == 0 {
			continue
		}
		behind, move := t.db.engine.counters.passKey(c, int64(key))
		is, err := t.rowExists(ctx, behind)
		for i := 0; is && err == nil && i < len(move); i++ {
			_, err = t.tx.ExecContext(ctx, move[i])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Update stores the values of change in a locked record.
func (t *writeTx) Update(ctx context.Context, current, change adapter.Record) error {
	of, key := t.db.table(current.Schema.Resource), current.Key()
	ub := t.db.engine.flavor.NewUpdateBuilder().Update(of.name)
	assigned, err := of.assign(t.db.engine, ub, change)
	if err != nil {
		return err
	}
	if list, differs := of.nullNames(current, change); differs {
		ub.SetMore(ub.Assign("nulls", list))
		assigned = true
	}
	if assigned {
		text, arguments := ub.Where(ub.Equal(unqualified(of.keyColumn()), int64(key))).Build()
		if err := t.exec(ctx, text, arguments...); err != nil {
			return err
		}
	}
	return of.replaceAdded(ctx, t.db, t.tx, key, change)
}

// assign adds the assignments of the values of r that columns hold to an UPDATE, and
// reports whether there are any.
func (t *table) assign(e *engine, ub *sqlbuilder.UpdateBuilder, r adapter.Record) (assigned bool, err error) {
	for i, v := range r.Values {
		a, c := &t.schema.Attributes[i], &t.columns[i]
		if v.Kind() == adapter.Absent || a.Added {
			continue
		}
		argument, err := e.bind(a, v)
		if err != nil {
			return false, &adapter.Error{Kind: adapter.Invalid, Op: "update " + string(t.schema.Resource), Field: a.Name, Err: err}
		}
		ub.SetMore(ub.Assign(unqualified(c.name), argument))
		if c.folded != "" {
			ub.SetMore(ub.Assign(unqualified(c.folded), fold(v)))
		}
		assigned = true
	}
	return assigned, nil
}

// nullNames returns the content of the column nulls after change is stored, and whether
// it differs from the present content.
func (t *table) nullNames(current, change adapter.Record) (list string, differs bool) {
	if !t.nulls {
		return "", false
	}
	var before, after []string
	for i, a := range t.schema.Attributes {
		if a.Added {
			continue // a NULL in its row of the value table says so
		}
		was, is := current.Values[i].Kind(), change.Values[i].Kind()
		if was == adapter.Null {
			before = append(before, a.Name)
		}
		if is == adapter.Null || is == adapter.Absent && was == adapter.Null {
			after = append(after, a.Name)
		}
	}
	return joinNulls(after), !slices.Equal(before, after)
}

// UpdateWhere stores values in all records, except one, that have those of where.
func (t *writeTx) UpdateWhere(ctx context.Context, where, change adapter.Record, except adapter.Key) error {
	of := t.db.table(where.Schema.Resource)
	ub := t.db.engine.flavor.NewUpdateBuilder().Update(of.name)
	if _, err := of.assign(t.db.engine, ub, change); err != nil {
		return err
	}
	for i, v := range where.Values {
		if v.Kind() == adapter.Absent {
			continue
		}
		argument, err := t.db.engine.bind(&of.schema.Attributes[i], v)
		if err != nil {
			return err
		}
		ub.Where(ub.Equal(unqualified(of.columns[i].name), argument))
	}
	if except != 0 {
		ub.Where(ub.NotEqual(unqualified(of.keyColumn()), int64(except)))
	}
	text, arguments := ub.Build()
	return t.exec(ctx, text, arguments...)
}

// Delete deletes a record; the database deletes what belongs to it.
func (t *writeTx) Delete(ctx context.Context, r adapter.Resource, key adapter.Key) error {
	return t.exec(ctx, t.db.records[r].deleteSQL, int64(key))
}
