package rules

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/outbox"
)

// PasswordHash is the attribute of customers that holds only a hash, so that a new password cannot be sent
// to the other system.
const PasswordHash = "password_hash"

// A mirroredWrite collects the changes of a client's write, for another system to repeat it. It is nil if no
// other system repeats the write; then nothing is collected.
type mirroredWrite struct {
	tx      Tx
	entries []outbox.Entry
}

// writeMirrored is write for a change or a deletion. It stores the entries that mirror collects.
func (w records) writeMirrored(ctx context.Context, op string, f func(tx Tx, mirror *mirroredWrite) error) error {
	return w.write(ctx, op, func(tx Tx) error {
		is, err := tx.Mirrored(ctx, w.schema.Resource)
		if err != nil {
			return err
		}
		if !is {
			return f(tx, nil)
		}
		mirror := &mirroredWrite{tx: tx}
		if err := f(tx, mirror); err != nil || len(mirror.entries) == 0 {
			return err
		}
		return tx.Enqueue(ctx, mirror.entries...)
	})
}

// writeMirroredEach is write for a write of several records. mirrorOf returns the mirroredWrite that
// collects the changes of one record.
func (w records) writeMirroredEach(ctx context.Context, op string, f func(tx Tx, mirrorOf func(adapter.Key) *mirroredWrite) error) error {
	return w.writeMirrored(ctx, op, func(tx Tx, all *mirroredWrite) error {
		if all == nil {
			return f(tx, func(adapter.Key) *mirroredWrite { return nil })
		}
		each := map[adapter.Key]*mirroredWrite{}
		err := f(tx, func(key adapter.Key) *mirroredWrite {
			if each[key] == nil {
				each[key] = &mirroredWrite{tx: tx}
			}
			return each[key]
		})
		for _, key := range slices.Sorted(maps.Keys(each)) {
			all.entries = append(all.entries, each[key].entries...)
		}
		return err
	})
}

// writeNew is write for a new record, whose key f returns. It fails with kind Unavailable if
// another system repeats the writes of clients: records are created there first, and come here by an import.
func (w records) writeNew(ctx context.Context, op string, f func(Tx) (adapter.Key, error)) (key adapter.Key, err error) {
	err = w.write(ctx, op, func(tx Tx) error {
		is, err := tx.Mirrored(ctx, w.schema.Resource)
		switch {
		case err != nil:
		case is:
			err = &adapter.Error{Kind: adapter.Unavailable, Op: op, Err: errCreatedThere}
		default:
			key, err = f(tx)
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	return key, nil
}

var errCreatedThere = errors.New("the other system creates the records of this resource")

// entry returns the entry of a record at a scope, which it adds if there is none.
func (m *mirroredWrite) entry(r adapter.Record, level int64, held bool) *outbox.Entry {
	id := outbox.Record{Resource: r.Schema.Resource, Key: r.Key(), StoreID: level}
	for i := range m.entries {
		if m.entries[i].Record == id && m.entries[i].Held == held {
			return &m.entries[i]
		}
	}
	m.entries = append(m.entries, outbox.Entry{Record: id, Root: outbox.RootOf(r), Agreed: map[string]string{}, Held: held})
	return &m.entries[len(m.entries)-1]
}

// changed notes the values of a record at a scope that differ in change, where absent values change nothing.
// before holds the record's own values there.
func (m *mirroredWrite) changed(of, before, change adapter.Record, level int64) {
	if m == nil {
		return
	}
	for i, v := range change.Values {
		a := &change.Schema.Attributes[i]
		if v.Kind() == adapter.Absent || a.ReadOnly || a.Fixed || !IsStored(a) || Same(v, before.Values[i]) {
			continue
		}
		e := m.entry(of, level, a.Name == PasswordHash)
		agree(e, a, before.Values[i])
		if at, ok := before.Schema.Index("qty"); ok { // the interface changes no stock item without it
			agree(e, &before.Schema.Attributes[at], before.Values[at])
		}
	}
}

// agree notes the value on which both systems agreed before the write, which may change the
// record several times.
func agree(e *outbox.Entry, a *adapter.Attribute, before adapter.Value) {
	if _, noted := e.Agreed[a.Name]; !noted {
		e.Agreed[a.Name] = outbox.State(a, before)
	}
}

// onlyOf returns r with only the values that change has as well: the others are consequences, which the
// other system derives itself.
func onlyOf(r, change adapter.Record) adapter.Record {
	r = r.Clone()
	for i, v := range change.Values {
		if v.Kind() == adapter.Absent {
			r.Values[i] = adapter.Value{}
		}
	}
	return r
}

// imageChanged notes the values of an image at a scope that a change has changed. before holds the values
// that the image showed there.
func (m *mirroredWrite) imageChanged(before, change adapter.Record, level int64) {
	if m == nil {
		return
	}
	if change.Get("removed").Int() == 1 {
		m.entry(before, level, false).Agreed["removed"] = "" // no image has this value
		return
	}
	m.changed(before, before, change, level)
}

// pricesChanged notes that some price lists of a product have changed. before has their former entries.
func (m *mirroredWrite) pricesChanged(before adapter.Record, lists []string) {
	if m == nil {
		return
	}
	for _, list := range lists {
		at, _ := before.Schema.Index(list)
		m.entry(before, 0, false).Agreed[list] = outbox.State(&before.Schema.Attributes[at], before.Values[at])
	}
}

// removed notes that a record was deleted at a scope. gone means that it no longer exists at all.
func (m *mirroredWrite) removed(r adapter.Record, level int64, gone bool) {
	if m == nil {
		return
	}
	e := m.entry(r, level, false)
	e.Removed, e.Gone, e.Agreed = true, gone, map[string]string{}
	e.Identity = adapter.EncodeJSON(identity(r))
}

// identity returns the values that identify a record in paths: its key, and for a part its root and the
// target of the assignment.
func identity(r adapter.Record) adapter.Record {
	named := adapter.NewRecord(r.Schema)
	for _, name := range append([]string{r.Schema.Key, r.Schema.RootAttribute}, r.Schema.Unique...) {
		if at, ok := r.Schema.Index(name); ok && r.Schema.Attributes[at].Kind == adapter.KindInteger {
			named.Values[at] = r.Values[at]
		}
	}
	return named
}

// ownValues returns the product's own values at a store view.
func (m *mirroredWrite) ownValues(ctx context.Context, product adapter.Record, view int64) (own adapter.Record, err error) {
	own = adapter.NewRecord(product.Schema)
	if m == nil || view == 0 {
		return own, nil
	}
	found, err := m.tx.Levels(ctx, adapter.Products, []adapter.Key{product.Key()})
	for _, l := range found {
		if l.Level == view {
			own = l.Record
		}
	}
	return own, err
}
