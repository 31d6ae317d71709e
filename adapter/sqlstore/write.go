package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/portico-commerce/portico/adapter"
)

// A writing says how the records of a table are created, changed and deleted.
type writing struct {
	fresh          *row   // a record without its key
	insert, remove string // statements that store a fresh row, and remove one by its key
	twin           string // statement that finds another row of the same unique values, "" without any
	// The places of the times the store keeps, -1 where a table has none.
	createdAt, updatedAt int
	hooks
}

// hooks are what writes do besides the row of the record, within their
// transactions; each may be nil.
type hooks struct {
	// beforeCreate runs before anything else.
	beforeCreate func(ctx context.Context, tx *sql.Tx, r adapter.Record) error
	// beforeLock runs before the record is locked that is to be changed or removed.
	beforeLock func(ctx context.Context, tx *sql.Tx, key adapter.Key) error
	// afterWrite runs when a record is stored or changed. r is the record as it now
	// is, apart from what the store itself keeps, and change what was asked for.
	afterWrite func(ctx context.Context, tx *sql.Tx, key adapter.Key, r, change adapter.Record) error
}

func newWriting(e *engine, t *table) writing {
	key, _ := t.schema.Index(t.schema.Key)
	w := writing{fresh: newRow(t, slices.DeleteFunc(t.places(false), func(at int) bool { return at == key })), createdAt: t.kept("created_at"), updatedAt: t.kept("updated_at")}
	keyColumn := bare(t.key())
	w.insert = w.fresh.insert(e, 1)
	if e.returning {
		w.insert += " RETURNING " + keyColumn
	}
	db := e.flavor.NewDeleteBuilder().DeleteFrom(t.name)
	w.remove, _ = db.Where(db.Equal(keyColumn, nil)).Build()
	if len(t.unique) > 0 {
		sb := e.flavor.NewSelectBuilder()
		sb.Select("1").From(t.name)
		for _, name := range t.unique {
			sb.Where(sb.Equal(t.column(name).sorted(t.kind(name)), nil))
		}
		w.twin, _ = sb.Where(sb.NotEqual(t.key(), nil)).Build()
	}
	return w
}

// Create stores a new record.
func (s *store) Create(ctx context.Context, p *adapter.CreateParams) (adapter.Key, error) {
	op := "create " + string(s.table.schema.Resource)
	if _, err := s.db.writing.prepared(ctx, s.insert); err != nil {
		return 0, s.db.fault(ctx, op, err)
	}
	var key adapter.Key
	err := s.transact(ctx, op, func(tx *sql.Tx) error {
		if s.beforeCreate != nil {
			if err := s.beforeCreate(ctx, tx, p.Record); err != nil {
				return err
			}
		}
		if err := allow(p.Check); err != nil {
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

// create stores a row and returns its key.
func (s *store) create(ctx context.Context, tx *sql.Tx, op string, r adapter.Record) (adapter.Key, error) {
	for i, v := range r.Values {
		a := &s.table.schema.Attributes[i]
		if v.Kind() != adapter.Absent && !a.Added && (a.ReadOnly || !s.table.columns[i].own()) {
			return 0, &adapter.Error{Kind: adapter.Invalid, Op: op, Field: a.Name, Err: errReadOnly}
		}
	}
	r = r.Clone()
	for _, at := range []int{s.createdAt, s.updatedAt} {
		if at >= 0 {
			r.Values[at] = adapter.TextValue(now())
		}
	}
	arguments, err := s.fresh.arguments(s.db.engine, r)
	if err != nil {
		return 0, err
	}
	if err := s.checkUnique(ctx, tx, op, 0, r); err != nil {
		return 0, err
	}
	key, err := s.db.insertRow(ctx, tx, s.insert, arguments)
	if err != nil {
		return 0, err
	}
	r.Set(s.table.schema.Key, adapter.IntegerValue(key))
	return adapter.Key(key), s.table.insertAdded(ctx, s.db, tx, r)
}

// checkUnique fails when another record than that of key has the unique values of
// r. Two that come at the same time both pass, and the index stops one of them;
// but a key that the index refuses is used up, so it must not be asked first.
func (s *store) checkUnique(ctx context.Context, tx *sql.Tx, op string, key adapter.Key, r adapter.Record) error {
	if s.twin == "" {
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
	err := tx.QueryRowContext(ctx, s.twin, append(arguments, int64(key))...).Scan(&one)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return err
	default:
		return &adapter.Error{Kind: adapter.Conflict, Op: op, Field: s.table.unique[len(s.table.unique)-1]}
	}
}

// Update changes one record inside a transaction that has locked it before it
// reads.
func (s *store) Update(ctx context.Context, p *adapter.UpdateParams) error {
	op := fmt.Sprintf("update %s %d", s.table.schema.Resource, p.Key)
	var stored string // the statement that stored the change
	err := s.change(ctx, op, p.Key, p.OwnerID, func(tx *sql.Tx, current adapter.Record) error {
		change, err := p.Change(current.Clone())
		if err != nil {
			return &callerError{err}
		}
		stored, err = s.write(ctx, tx, op, p.Key, current, change)
		return err
	})
	if err == nil && stored != "" {
		// For the next change of the same attributes. This one is done.
		_, _ = s.db.writing.prepared(ctx, stored)
	}
	return err
}

// Delete removes one record, and with it what refers to it.
func (s *store) Delete(ctx context.Context, p *adapter.DeleteParams) error {
	op := fmt.Sprintf("delete %s %d", s.table.schema.Resource, p.Key)
	if _, err := s.db.writing.prepared(ctx, s.remove); err != nil {
		return s.db.fault(ctx, op, err)
	}
	return s.change(ctx, op, p.Key, p.OwnerID, func(tx *sql.Tx, current adapter.Record) error {
		if err := allowFor(p.Check, current); err != nil {
			return err
		}
		_, err := s.db.writing.execIn(ctx, tx, s.remove, int64(p.Key))
		return err
	})
}

// change runs f on a record that is locked, and is ownerID's unless that is 0.
func (s *store) change(ctx context.Context, op string, key adapter.Key, ownerID int64, f func(*sql.Tx, adapter.Record) error) error {
	if _, err := s.db.writing.prepared(ctx, s.lock); err != nil {
		return s.db.fault(ctx, op, err)
	}
	return s.transact(ctx, op, func(tx *sql.Tx) error {
		if s.beforeLock != nil {
			if err := s.beforeLock(ctx, tx, key); err != nil {
				return err
			}
		}
		current, err := s.locked(ctx, tx, key)
		if err != nil {
			return err
		}
		if ownerID != 0 && !s.belongs(current, ownerID) {
			return sql.ErrNoRows
		}
		return f(tx, current)
	})
}

// belongs reports whether a record is that of a customer.
func (s *store) belongs(r adapter.Record, ownerID int64) bool {
	return s.table.schema.Owner != "" && r.Get(s.table.schema.Owner).Int() == ownerID
}

// A callerError is what a function of the caller failed with, on its way out of
// the transaction.
type callerError struct{ error }

// allow asks what the caller has given to allow a write, if anything.
func allow(check func() error) error {
	if check == nil {
		return nil
	}
	if err := check(); err != nil {
		return &callerError{err}
	}
	return nil
}

// allowFor is allow for the write of a record there is.
func allowFor(check func(adapter.Record) error, current adapter.Record) error {
	if check == nil {
		return nil
	}
	return allow(func() error { return check(current.Clone()) })
}

// transact runs f as a transaction. One that only the index kept from storing
// unique values twice runs again: it then sees who has them.
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
	if s.twin != "" && refused == nil && errors.As(err, &fault) && fault.Kind == adapter.Conflict && fault.Field == "" {
		err = run()
	}
	if refused != nil {
		return refused.error
	}
	return err
}

// locked reads one record and locks it.
func (s *store) locked(ctx context.Context, tx *sql.Tx, key adapter.Key) (adapter.Record, error) {
	for range maxAttempts {
		r, err := s.readIn(ctx, tx, s.lock, key)
		if err == nil {
			return r, s.addValues(ctx, func(ctx context.Context, text string, arguments ...any) (*sql.Rows, error) {
				return tx.QueryContext(ctx, text, arguments...)
			}, []adapter.Record{r})
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return r, err
		}
		// A transaction that takes the record away may put it back, as Reset does:
		// who waited for its lock has then lost sight of the record.
		if _, err := s.readIn(ctx, tx, s.get, key); err != nil {
			return adapter.Record{}, err
		}
	}
	return adapter.Record{}, &adapter.Error{Kind: adapter.Unavailable, Op: "lock " + string(s.table.schema.Resource), Err: errReplaced}
}

// readIn reads one record.
func (s *store) readIn(ctx context.Context, tx *sql.Tx, text string, key adapter.Key) (adapter.Record, error) {
	rows, err := s.db.writing.queryIn(ctx, tx, text, int64(key))
	if err != nil {
		return adapter.Record{}, err
	}
	r, err := s.only(rows)
	if err != nil {
		return adapter.Record{}, err
	}
	within := func(ctx context.Context, text string, arguments ...any) (*sql.Rows, error) {
		return tx.QueryContext(ctx, text, arguments...)
	}
	return r, s.addValues(ctx, within, []adapter.Record{r})
}

// write stores the values of change that differ from those of current, and the
// time of the change where the table has one. It returns the statement that did,
// "" when there was nothing to store.
func (s *store) write(ctx context.Context, tx *sql.Tx, op string, key adapter.Key, current, change adapter.Record) (text string, err error) {
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
		if a.ReadOnly || a.Fixed || !c.own() {
			return "", &adapter.Error{Kind: adapter.Invalid, Op: op, Field: a.Name, Err: errReadOnly}
		}
		argument, _ := s.db.engine.bind(a, v)
		ub.SetMore(ub.Assign(bare(c.name), argument))
		if c.folded != "" {
			ub.SetMore(ub.Assign(bare(c.folded), fold(v)))
		}
		changed = true
		if slices.Contains(s.table.unique, a.Name) {
			if err := s.checkUnique(ctx, tx, op, key, next); err != nil {
				return "", err
			}
		}
	}
	if list, differs := s.nulls(current, change); differs {
		ub.SetMore(ub.Assign("nulls", list))
		changed = true
	}
	if s.updatedAt >= 0 {
		ub.SetMore(ub.Assign(bare(s.table.columns[s.updatedAt].name), now()))
		changed = true
	}
	if changed {
		var arguments []any
		text, arguments = ub.Where(ub.Equal(bare(s.table.key()), int64(key))).Build()
		if _, err = s.db.writing.execIn(ctx, tx, text, arguments...); err != nil {
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

// differs reports whether v is another value than current has at a place.
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

// nulls returns what the column nulls holds once change is stored, and whether
// that is another list than before.
func (s *store) nulls(current, change adapter.Record) (list string, differs bool) {
	if !s.table.nulls {
		return "", false
	}
	var before, after []string
	for i, a := range s.table.schema.Attributes {
		if a.Added {
			continue // a row of its own tells
		}
		was, is := current.Values[i].Kind(), change.Values[i].Kind()
		if was == adapter.Null {
			before = append(before, a.Name)
		}
		if is == adapter.Null || is == adapter.Absent && was == adapter.Null && !s.table.settles {
			after = append(after, a.Name)
		}
	}
	return nullList(after), !slices.Equal(before, after)
}

var (
	errReadOnly = errors.New("not to be changed")
	errReplaced = errors.New("the record is replaced again and again")
	errKind     = errors.New("a value of another kind than the attribute")
	errTime     = errors.New("not a time between the years 1 and 9999")
)
