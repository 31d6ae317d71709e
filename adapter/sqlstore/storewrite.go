package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/portico-commerce/portico/adapter"
)

// A writePlan holds the statements and hooks with which a store creates, changes and
// deletes the records of its table.
type writePlan struct {
	rowWithoutKey        *rowEncoder // encodes a record whose key the database chooses
	insertSQL, deleteSQL string      // insert a rowWithoutKey; delete a row by its key
	// duplicateSQL finds another row with the same unique values; "" for a table without
	// any.
	duplicateSQL string
	// Schema indexes of the timestamps that the store maintains, -1 for a table without.
	createdAt, updatedAt int
	hooks
}

// hooks are steps that a table adds to the writes of its records. They run within the
// transaction of the write; each may be nil.
type hooks struct {
	// beforeCreate runs before the record is checked and stored.
	beforeCreate func(ctx context.Context, tx *sql.Tx, r adapter.Record) error
	// beforeLock runs before the record that is to be changed or deleted is locked.
	beforeLock func(ctx context.Context, tx *sql.Tx, key adapter.Key) error
	// afterWrite runs after a record was created or updated. r is the record as it now
	// is, except for the timestamps that the store maintains; change holds the values
	// that the caller asked for.
	afterWrite func(ctx context.Context, tx *sql.Tx, key adapter.Key, r, change adapter.Record) error
}

func newWritePlan(e *engine, t *table) writePlan {
	key, _ := t.schema.Index(t.schema.Key)
	w := writePlan{rowWithoutKey: newRowEncoder(t, slices.DeleteFunc(t.columnIndexes(false), func(at int) bool { return at == key })), createdAt: t.timestampIndex("created_at"), updatedAt: t.timestampIndex("updated_at")}
	keyColumn := unqualified(t.keyColumn())
	w.insertSQL = w.rowWithoutKey.insertSQL(e, 1)
	if e.useReturning {
		w.insertSQL += " RETURNING " + keyColumn
	}
	db := e.flavor.NewDeleteBuilder().DeleteFrom(t.name)
	w.deleteSQL, _ = db.Where(db.Equal(keyColumn, nil)).Build()
	if len(t.unique) > 0 {
		sb := e.flavor.NewSelectBuilder()
		sb.Select("1").From(t.name)
		for _, name := range t.unique {
			sb.Where(sb.Equal(t.column(name).sortColumn(t.kind(name)), nil))
		}
		w.duplicateSQL, _ = sb.Where(sb.NotEqual(t.keyColumn(), nil)).Build()
	}
	return w
}

// Create stores a new record.
func (s *store) Create(ctx context.Context, p *adapter.CreateParams) (adapter.Key, error) {
	op := "create " + string(s.table.schema.Resource)
	if _, err := s.db.writeStatements.prepare(ctx, s.insertSQL); err != nil {
		return 0, s.db.wrapError(ctx, op, err)
	}
	var key adapter.Key
	err := s.transact(ctx, op, func(tx *sql.Tx) error {
		if s.beforeCreate != nil {
			if err := s.beforeCreate(ctx, tx, p.Record); err != nil {
				return err
			}
		}
		if err := runCheck(p.Check); err != nil {
			return err
		}
		var err error
		if key, err = s.create(ctx, tx, op, p.Record); err != nil || s.afterWrite == nil {
			return err
		}
		return s.afterWrite(ctx, tx, key, p.Record, p.Record)
	})
	if err != nil {
		return 0, err
	}
	return key, nil
}

// create inserts a row with the values of its added attributes and returns its key.
func (s *store) create(ctx context.Context, tx *sql.Tx, op string, r adapter.Record) (adapter.Key, error) {
	for i, v := range r.Values {
		a := &s.table.schema.Attributes[i]
		if v.Kind() != adapter.Absent && !a.Added && (a.ReadOnly || !s.table.columns[i].isStored()) {
			return 0, &adapter.Error{Kind: adapter.Invalid, Op: op, Field: a.Name, Err: errReadOnly}
		}
	}
	r = r.Clone()
	for _, at := range []int{s.createdAt, s.updatedAt} {
		if at >= 0 {
			r.Values[at] = adapter.TextValue(now())
		}
	}
	arguments, err := s.rowWithoutKey.arguments(s.db.engine, r)
	if err != nil {
		return 0, err
	}
	if err := s.checkUnique(ctx, tx, op, 0, r); err != nil {
		return 0, err
	}
	key, err := s.db.insertRow(ctx, tx, s.insertSQL, arguments)
	if err != nil {
		return 0, err
	}
	r.Set(s.table.schema.Key, adapter.IntegerValue(key))
	return adapter.Key(key), s.table.insertAdded(ctx, s.db, tx, r)
}

// checkUnique fails with kind Conflict when a record with another key has the unique
// values of r. Two concurrent transactions can both pass, and the unique index then
// stops one of them. The index alone would not do: each insert that it refuses uses up
// a key.
func (s *store) checkUnique(ctx context.Context, tx *sql.Tx, op string, key adapter.Key, r adapter.Record) error {
	if s.duplicateSQL == "" {
		return nil
	}
	arguments := make([]any, 0, len(s.table.unique)+1)
	for _, name := range s.table.unique {
		at, _ := s.table.schema.Index(name)
		a, v := &s.table.schema.Attributes[at], r.Values[at]
		argument, err := s.db.engine.bind(a, v)
		if err != nil {
			return &adapter.Error{Kind: adapter.Invalid, Op: op, Field: name, Err: err}
		}
		if a.Kind == adapter.KindText {
			argument = fold(v)
		}
		arguments = append(arguments, argument)
	}
	var one int
	err := tx.QueryRowContext(ctx, s.duplicateSQL, append(arguments, int64(key))...).Scan(&one)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return err
	default:
		return &adapter.Error{Kind: adapter.Conflict, Op: op, Field: s.table.unique[len(s.table.unique)-1]}
	}
}

// Update changes one record in a transaction that locks the record before it reads it.
func (s *store) Update(ctx context.Context, p *adapter.UpdateParams) error {
	op := fmt.Sprintf("update %s %d", s.table.schema.Resource, p.Key)
	var executed string // the UPDATE statement
	err := s.withLocked(ctx, op, p.Key, p.OwnerID, func(tx *sql.Tx, current adapter.Record) error {
		change, err := p.Change(current.Clone())
		if err != nil {
			return &callerError{err}
		}
		executed, err = s.updateRow(ctx, tx, op, p.Key, current, change)
		return err
	})
	if err == nil && executed != "" {
		// Prepare it for the next change of the same attributes. This change is
		// committed, so a failure to prepare does not matter.
		_, _ = s.db.writeStatements.prepare(ctx, executed)
	}
	return err
}

// Delete deletes one record; the database deletes what refers to it.
func (s *store) Delete(ctx context.Context, p *adapter.DeleteParams) error {
	op := fmt.Sprintf("delete %s %d", s.table.schema.Resource, p.Key)
	if _, err := s.db.writeStatements.prepare(ctx, s.deleteSQL); err != nil {
		return s.db.wrapError(ctx, op, err)
	}
	return s.withLocked(ctx, op, p.Key, p.OwnerID, func(tx *sql.Tx, current adapter.Record) error {
		if err := runRecordCheck(p.Check, current); err != nil {
			return err
		}
		_, err := s.db.writeStatements.execTx(ctx, tx, s.deleteSQL, int64(p.Key))
		return err
	})
}

// withLocked runs f in a transaction that has locked the record. It fails with kind
// NotFound when ownerID is not 0 and the record belongs to another customer.
func (s *store) withLocked(ctx context.Context, op string, key adapter.Key, ownerID int64, f func(*sql.Tx, adapter.Record) error) error {
	if _, err := s.db.writeStatements.prepare(ctx, s.lockSQL); err != nil {
		return s.db.wrapError(ctx, op, err)
	}
	return s.transact(ctx, op, func(tx *sql.Tx) error {
		if s.beforeLock != nil {
			if err := s.beforeLock(ctx, tx, key); err != nil {
				return err
			}
		}
		current, err := s.lockRecord(ctx, tx, key)
		if err != nil {
			return err
		}
		if ownerID != 0 && !s.isOwnedBy(current, ownerID) {
			return sql.ErrNoRows
		}
		return f(tx, current)
	})
}

// isOwnedBy reports whether a record belongs to a customer.
func (s *store) isOwnedBy(r adapter.Record, ownerID int64) bool {
	return s.table.schema.Owner != "" && r.Get(s.table.schema.Owner).Int() == ownerID
}

// A callerError carries the error of a caller's callback out of the transaction, so
// that it is returned unchanged.
type callerError struct{ error }

// runCheck runs the caller's check of a write, if there is one.
func runCheck(check func() error) error {
	if check == nil {
		return nil
	}
	if err := check(); err != nil {
		return &callerError{err}
	}
	return nil
}

// runRecordCheck runs the caller's check of a write to an existing record, if there is
// one.
func runRecordCheck(check func(adapter.Record) error, current adapter.Record) error {
	if check == nil {
		return nil
	}
	return runCheck(func() error { return check(current.Clone()) })
}

// transact runs f in a transaction. When a unique index refuses the write because of a
// concurrent transaction, transact runs f once more, so that checkUnique finds the
// other record and names the field.
func (s *store) transact(ctx context.Context, op string, f func(*sql.Tx) error) error {
	var refused *callerError
	run := func() error {
		return s.db.write(ctx, op, func(tx *sql.Tx) error {
			err := f(tx)
			refused, _ = err.(*callerError) //nolint:errorlint // never wrapped
			return err
		})
	}
	err := run()
	var fault *adapter.Error
	if s.duplicateSQL != "" && refused == nil && errors.As(err, &fault) && fault.Kind == adapter.Conflict && fault.Field == "" {
		err = run()
	}
	if refused != nil {
		return refused.error
	}
	return err
}

// lockRecord locks one record and reads it.
func (s *store) lockRecord(ctx context.Context, tx *sql.Tx, key adapter.Key) (adapter.Record, error) {
	for range maxAttempts {
		r, err := s.readTx(ctx, tx, s.lockSQL, key)
		if err == nil {
			return r, s.addValues(ctx, func(ctx context.Context, text string, arguments ...any) (*sql.Rows, error) {
				return tx.QueryContext(ctx, text, arguments...)
			}, []adapter.Record{r})
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return r, err
		}
		// A transaction such as Reset may have deleted the record and inserted it again.
		// A statement that waited for the lock of the deleted row then finds none, so
		// try again while the record exists.
		if _, err := s.readTx(ctx, tx, s.getSQL, key); err != nil {
			return adapter.Record{}, err
		}
	}
	return adapter.Record{}, &adapter.Error{Kind: adapter.Unavailable, Op: "lock " + string(s.table.schema.Resource), Err: errReplaced}
}

// readTx reads one record within tx by a statement whose only parameter is the key.
func (s *store) readTx(ctx context.Context, tx *sql.Tx, text string, key adapter.Key) (adapter.Record, error) {
	rows, err := s.db.writeStatements.queryTx(ctx, tx, text, int64(key))
	if err != nil {
		return adapter.Record{}, err
	}
	r, err := s.scanRecord(rows)
	if err != nil {
		return adapter.Record{}, err
	}
	within := func(ctx context.Context, text string, arguments ...any) (*sql.Rows, error) {
		return tx.QueryContext(ctx, text, arguments...)
	}
	return r, s.addValues(ctx, within, []adapter.Record{r})
}

// updateRow stores those values of change that differ from current, and the time of the
// change if the table has one. It returns the UPDATE statement that it ran, or "" when
// the row did not change.
func (s *store) updateRow(ctx context.Context, tx *sql.Tx, op string, key adapter.Key, current, change adapter.Record) (text string, err error) {
	ub := s.db.engine.flavor.NewUpdateBuilder()
	ub.Update(s.table.name)
	next, changed := current.Clone(), false
	for i, v := range change.Values {
		a, c := &s.table.schema.Attributes[i], &s.table.columns[i]
		if v.Kind() == adapter.Absent || a.Added {
			continue
		}
		differs, err := s.differs(op, i, current, v)
		if err != nil {
			return "", err
		}
		next.Values[i] = v
		if !differs {
			continue
		}
		if a.ReadOnly || a.Fixed || !c.isStored() {
			return "", &adapter.Error{Kind: adapter.Invalid, Op: op, Field: a.Name, Err: errReadOnly}
		}
		argument, _ := s.db.engine.bind(a, v)
		ub.SetMore(ub.Assign(unqualified(c.name), argument))
		if c.folded != "" {
			ub.SetMore(ub.Assign(unqualified(c.folded), fold(v)))
		}
		changed = true
		if slices.Contains(s.table.unique, a.Name) {
			if err := s.checkUnique(ctx, tx, op, key, next); err != nil {
				return "", err
			}
		}
	}
	if list, differs := s.nullNames(current, change); differs {
		ub.SetMore(ub.Assign("nulls", list))
		changed = true
	}
	if s.updatedAt >= 0 {
		ub.SetMore(ub.Assign(unqualified(s.table.columns[s.updatedAt].name), now()))
		changed = true
	}
	if changed {
		var arguments []any
		text, arguments = ub.Where(ub.Equal(unqualified(s.table.keyColumn()), int64(key))).Build()
		if _, err = s.db.writeStatements.execTx(ctx, tx, text, arguments...); err != nil {
			return "", err
		}
	}
	if err := s.table.replaceAdded(ctx, s.db, tx, key, change); err != nil {
		return "", err
	}
	if s.afterWrite != nil {
		err = s.afterWrite(ctx, tx, key, next, change)
	}
	return text, err
}

// differs reports whether v differs from the value that current has at a schema index.
func (s *store) differs(op string, at int, current adapter.Record, v adapter.Value) (bool, error) {
	a := &s.table.schema.Attributes[at]
	if v.Kind() == adapter.Unset && !s.table.nulls {
		return false, &adapter.Error{Kind: adapter.Invalid, Op: op, Field: a.Name, Err: errKind}
	}
	after, err := s.db.engine.bind(a, v)
	if err != nil {
		return false, &adapter.Error{Kind: adapter.Invalid, Op: op, Field: a.Name, Err: err}
	}
	before, err := s.db.engine.bind(a, current.Values[at])
	if err != nil {
		return false, err
	}
	return after != before || current.Values[at].Kind() == adapter.Absent && v.Kind() != adapter.Unset, nil
}

// nullNames returns the content of the column nulls after change is stored, and whether
// it differs from the present content.
func (s *store) nullNames(current, change adapter.Record) (list string, differs bool) {
	if !s.table.nulls {
		return "", false
	}
	var before, after []string
	for i, a := range s.table.schema.Attributes {
		if a.Added {
			continue // a NULL in its row of the value table says so
		}
		was, is := current.Values[i].Kind(), change.Values[i].Kind()
		if was == adapter.Null {
			before = append(before, a.Name)
		}
		if is == adapter.Null || is == adapter.Absent && was == adapter.Null && !s.table.clearsNullsOnUpdate {
			after = append(after, a.Name)
		}
	}
	return joinNulls(after), !slices.Equal(before, after)
}

var (
	errReadOnly = errors.New("the attribute is read-only")
	errReplaced = errors.New("other transactions keep replacing the record")
	errKind     = errors.New("the value is not of the attribute's kind")
	errTime     = errors.New("must be a time between the years 1 and 9999")
)
