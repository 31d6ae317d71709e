package rules

import (
	"context"
	"errors"
	"fmt"
	"github.com/portico-commerce/portico/adapter"
	"slices"
)

// records writes the records of one resource.
type records struct {
	db     Database
	schema *adapter.Schema
	// afterWrite, unless nil, runs after a record was created or updated. r is the record as
	// it now is, except for its timestamps; change holds the requested values. mirror collects
	// the changes that other systems are to repeat; it is nil for a new record.
	afterWrite func(ctx context.Context, tx Tx, key adapter.Key, r, change adapter.Record, mirror *mirroredWrite) error
}

// Timestamps names the attributes that writes set to the current time.
func Timestamps() []string { return []string{"created_at", "updated_at"} }

// HasTimestamp reports whether a write of the schema's records sets a timestamp.
func HasTimestamp(s *adapter.Schema, name string) bool {
	at, ok := s.Index(name)
	return ok && s.Attributes[at].ReadOnly
}

// Create stores a new record.
func (w records) Create(ctx context.Context, p *adapter.CreateParams) (adapter.Key, error) {
	op := "create " + string(w.schema.Resource)
	return w.writeNew(ctx, op, func(tx Tx) (adapter.Key, error) {
		if err := lockUnique(ctx, tx, p.Unique); err != nil {
			return 0, err
		}
		err := w.lockCustomer(ctx, tx, p.Record)
		if isNotFound(err) {
			err = Invalid(op, w.schema.Owner, errNoCustomer)
		}
		if err == nil {
			err = p.RunCheck()
		}
		if err != nil {
			return 0, err
		}
		key, err := insert(ctx, tx, op, p.Record)
		if err == nil {
			err = checkUniqueNow(ctx, tx, op, key, p.Record, p.Unique)
		}
		if err != nil || w.afterWrite == nil {
			return key, err
		}
		return key, w.afterWrite(ctx, tx, key, p.Record, p.Record, nil)
	})
}

var errNoCustomer = errors.New("no such customer")

// lockCustomer locks the customer that a record belongs to, unless it is one itself.
func (w records) lockCustomer(ctx context.Context, tx Tx, r adapter.Record) error {
	if !w.isPartOfCustomer() {
		return nil
	}
	_, err := tx.Lock(ctx, adapter.Customers, adapter.Key(r.Get(w.schema.Owner).Int()))
	return err
}

// isPartOfCustomer reports whether the records belong to customers.
func (w records) isPartOfCustomer() bool {
	return w.schema.Owner != "" && w.schema.Owner != w.schema.Key
}

// insert checks and stores a new record and returns its key.
func insert(ctx context.Context, tx Tx, op string, r adapter.Record) (adapter.Key, error) {
	r = r.Clone()
	for i, v := range r.Values {
		a := &r.Schema.Attributes[i]
		if v.Kind() != adapter.Absent && (a.ReadOnly || a.Nested != nil) {
			return 0, Invalid(op, a.Name, ErrReadOnly)
		}
	}
	if err := Canonicalize(op, r); err != nil {
		return 0, err
	}
	dropWriteOnly(r)
	moment := Now()
	for _, name := range Timestamps() {
		if HasTimestamp(r.Schema, name) {
			r.Set(name, moment)
		}
	}
	if err := CheckRequired(op, r); err != nil {
		return 0, err
	}
	if err := checkUnique(ctx, tx, op, 0, r); err != nil {
		return 0, err
	}
	keys, err := tx.Insert(ctx, r)
	if err != nil {
		return 0, err
	}
	return keys[0], nil
}

// dropWriteOnly removes the attributes that are never stored from a new record.
func dropWriteOnly(r adapter.Record) {
	for i := range r.Values {
		if r.Schema.Attributes[i].WriteOnly {
			r.Values[i] = adapter.Value{}
		}
	}
}

// Canonicalize brings the values of r into their canonical form. It fails with kind
// Invalid for a value that is not of its attribute's kind.
func Canonicalize(op string, r adapter.Record) (err error) {
	for i, v := range r.Values {
		a := &r.Schema.Attributes[i]
		if r.Values[i], err = a.Canonical(v); err != nil {
			return Invalid(op, a.Name, err)
		}
	}
	return nil
}

// CheckRequired fails with kind Invalid if r lacks required values, and names all of them. Its
// key and its times may be set later.
func CheckRequired(op string, r adapter.Record) error { return lacking(op, r.Lacks()) }

// IsStored reports whether an attribute is stored with the record itself rather than with
// its parts or not at all.
func IsStored(a *adapter.Attribute) bool { return a.Nested == nil && !a.WriteOnly }

// checkUnique fails with kind Conflict if a record with another key than r's, which may be
// 0, has the unique values of r.
func checkUnique(ctx context.Context, tx Tx, op string, key adapter.Key, r adapter.Record) error {
	unique := r.Schema.Unique
	if len(unique) == 0 {
		return nil
	}
	other, err := tx.Other(ctx, r, key, unique...)
	if err == nil && other != 0 {
		err = &adapter.Error{Kind: adapter.Conflict, Op: op, Field: unique[len(unique)-1]}
	}
	return err
}

// lockUnique makes transactions that call checkUniqueNow run one after the other. They call it first,
// unless names is empty. No unique key can decide what they check, because records that were stored
// before may share the values.
func lockUnique(ctx context.Context, tx Tx, names []string) error {
	if len(names) == 0 {
		return nil
	}
	return tx.LockName(ctx, "unique")
}

// checkUniqueNow fails with kind Conflict if a record with another key than r's has the values of r
// for the named attributes, of which there may be none.
func checkUniqueNow(ctx context.Context, tx Tx, op string, key adapter.Key, r adapter.Record, names []string) error {
	if len(names) == 0 {
		return nil
	}
	other, err := tx.Other(ctx, r, key, names...)
	if err == nil && other != 0 {
		err = &adapter.Error{Kind: adapter.Conflict, Op: op, Field: names[len(names)-1], Err: fmt.Errorf("%s %d has it", r.Schema.Resource, other)}
	}
	return err
}

// Update changes one record.
func (w records) Update(ctx context.Context, p *adapter.UpdateParams) error {
	op := fmt.Sprintf("update %s %d", w.schema.Resource, p.Key)
	return w.writeMirrored(ctx, op, func(tx Tx, mirror *mirroredWrite) error {
		if err := lockUnique(ctx, tx, p.Unique); err != nil {
			return err
		}
		current, err := w.lock(ctx, tx, p.Key, p.OwnerID)
		if err != nil {
			return err
		}
		change, err := p.RunChange(current)
		if err != nil {
			return err
		}
		next, err := update(ctx, tx, op, current, change)
		if err != nil {
			return err
		}
		if err := checkUniqueNow(ctx, tx, op, p.Key, next, p.Unique); err != nil {
			return err
		}
		mirror.changed(current, current, onlyOf(next, change), 0)
		if w.afterWrite == nil {
			return nil
		}
		return w.afterWrite(ctx, tx, p.Key, next, change, mirror)
	})
}

// Delete deletes one record and everything that belongs to it.
func (w records) Delete(ctx context.Context, p *adapter.DeleteParams) error {
	op := fmt.Sprintf("delete %s %d", w.schema.Resource, p.Key)
	return w.writeMirrored(ctx, op, func(tx Tx, mirror *mirroredWrite) error {
		current, err := w.lock(ctx, tx, p.Key, p.OwnerID)
		if err != nil {
			return err
		}
		if err := p.RunCheck(current); err != nil {
			return err
		}
		mirror.removed(current, 0, true)
		return tx.Delete(ctx, w.schema.Resource, p.Key)
	})
}

// lock locks a record, after its customer if it belongs to one. It fails with kind
// NotFound if ownerID is not 0 and the record does not belong to that customer.
func (w records) lock(ctx context.Context, tx Tx, key adapter.Key, ownerID int64) (adapter.Record, error) {
	if w.isPartOfCustomer() {
		seen, err := tx.Get(ctx, w.schema.Resource, key)
		if err == nil {
			err = w.lockCustomer(ctx, tx, seen)
		}
		if err != nil {
			return adapter.Record{}, err
		}
	}
	current, err := tx.Lock(ctx, w.schema.Resource, key)
	if err == nil && ownerID != 0 && (w.schema.Owner == "" || current.Get(w.schema.Owner).Int() != ownerID) {
		err = &adapter.Error{Kind: adapter.NotFound, Op: fmt.Sprintf("lock %s %d of customer %d", w.schema.Resource, key, ownerID)}
	}
	return current, err
}

// update stores the values of change that differ from current, a locked record, and sets
// updated_at. Records of customers show a null only until the next update (customers 5.2).
// update returns the resulting record.
func update(ctx context.Context, tx Tx, op string, current, change adapter.Record) (next adapter.Record, err error) {
	next, differing := current.Clone(), adapter.NewRecord(current.Schema)
	changed, rename := false, false
	for i, v := range change.Values {
		a := &current.Schema.Attributes[i]
		if v.Kind() == adapter.Absent && current.Schema.Owner != "" && !a.Added && current.Values[i].Kind() == adapter.Null {
			v = adapter.UnsetValue()
		}
		if v.Kind() == adapter.Absent {
			continue
		}
		if v, err = a.Canonical(v); err == nil && v.Kind() == adapter.Unset && !current.Schema.DistinctNulls {
			err = ErrKind
		}
		if err != nil {
			return next, Invalid(op, a.Name, err)
		}
		if a.WriteOnly {
			continue
		}
		next.Values[i] = v
		if Same(v, current.Values[i]) {
			continue
		}
		switch {
		case a.ReadOnly, a.Fixed, !IsStored(a):
			return next, Invalid(op, a.Name, ErrReadOnly)
		case a.Required && (v.Empty() || v.Kind() == adapter.Unset):
			return next, Invalid(op, a.Name, ErrRequired)
		}
		differing.Values[i], changed = v, true
		rename = rename || slices.Contains(current.Schema.Unique, a.Name)
	}
	if rename {
		if err := checkUnique(ctx, tx, op, current.Key(), next); err != nil {
			return next, err
		}
	}
	if HasTimestamp(current.Schema, "updated_at") {
		differing.Set("updated_at", Now())
		changed = true
	}
	if !changed {
		return next, nil
	}
	return next, tx.Update(ctx, current, differing)
}

// Same reports whether a change to v leaves a value unchanged.
func Same(v, current adapter.Value) bool {
	return v.Equal(current) || v.Kind() == adapter.Unset && current.Kind() == adapter.Absent
}

// touch sets updated_at of the records of a resource that have a value.
func (w records) touch(ctx context.Context, tx Tx, r adapter.Resource, name string, value adapter.Value) error {
	where := adapter.NewRecord(w.db.Schemas().Of(r))
	change := adapter.NewRecord(where.Schema)
	where.Set(name, value)
	change.Set("updated_at", Now())
	return tx.UpdateWhere(ctx, where, change, 0)
}
