package memstore

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/outbox"
	"github.com/portico-commerce/portico/adapter/rules"
)

// A tx changes the new version of a state that a write makes. No other goroutine sees that
// version or writes, so that there is nothing to lock. It implements [rules.Tx].
type tx struct{ *state }

// Get returns a record as it is stored, without its parts.
func (x tx) Get(_ context.Context, r adapter.Resource, key adapter.Key) (adapter.Record, error) {
	found := x.row(r, key)
	if found == nil {
		return adapter.Record{}, &adapter.Error{Kind: adapter.NotFound}
	}
	return found.withoutParts(), nil
}

// withoutParts returns a copy of the record without its price lists.
func (r *row) withoutParts() adapter.Record {
	record := r.record.Clone()
	for i, a := range record.Schema.Attributes {
		if a.Nested != nil {
			record.Values[i] = adapter.Value{}
		}
	}
	return record
}

// Lock is Get.
func (x tx) Lock(ctx context.Context, r adapter.Resource, key adapter.Key) (adapter.Record, error) {
	return x.Get(ctx, r, key)
}

// LockName does nothing.
func (x tx) LockName(context.Context, string) error { return nil }

// Try runs f on a new version, and takes it if f succeeds.
func (x tx) Try(_ context.Context, f func() error) (failure, err error) {
	before := *x.state
	*x.state = *before.next()
	if failure = f(); failure != nil {
		*x.state = before
	}
	return failure, nil
}

// Other returns the key of a record, other than except, with values of like.
func (x tx) Other(_ context.Context, like adapter.Record, except adapter.Key, names ...string) (adapter.Key, error) {
	for _, r := range x.find(like, names...) {
		if key := r.record.Key(); key != except {
			return key, nil
		}
	}
	return 0, nil
}

// Find returns the records in which an attribute has one of some values.
func (x tx) Find(_ context.Context, r adapter.Resource, attribute string, values []adapter.Value, lists ...string) ([]adapter.Record, error) {
	t := x.tables[r]
	at, _ := t.schema.Index(attribute)
	wanted := make(map[string]bool, len(values))
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = v.Text()
		if wanted[v.Text()] = true; t.schema.Attributes[at].Kind == adapter.KindText {
			wanted[adapter.Fold(v.Text())] = true
		}
	}
	near, ok := t.lookUp(attribute, texts)
	if !ok {
		near = t.rows.all()
	}
	var found []adapter.Record
	for stored := range near {
		if stored.record.Values[at].Empty() || !wanted[comparisonKey(stored.record, at)] {
			continue
		}
		record := stored.withoutParts()
		for _, list := range lists {
			record.Set(list, stored.record.Get(list))
		}
		found = append(found, record)
	}
	return found, nil
}

// Insert stores new records.
func (x tx) Insert(_ context.Context, records ...adapter.Record) ([]adapter.Key, error) {
	keys := make([]adapter.Key, len(records))
	for i, r := range records {
		r = r.Clone()
		r.Set(r.Schema.Key, x.newKey(r.Schema.Resource, r.Get(r.Schema.Key)))
		if err := x.insert(r); err != nil {
			return nil, err
		}
		keys[i] = r.Key()
	}
	return keys, nil
}

// PassKeys makes later keys greater than the given ones.
func (x tx) PassKeys(_ context.Context, greatest map[adapter.Resource]adapter.Key) error {
	for r, key := range greatest {
		x.last[r] = max(x.last[r], key)
	}
	return nil
}

// insert stores a new record that has a key. It fails with kind Conflict if another record
// has the key or the unique values, and with kind Invalid if the record lacks a value or its
// owner.
func (s *state) insert(r adapter.Record) error {
	for i, a := range r.Schema.Attributes {
		switch v := r.Values[i]; {
		case v.Kind() == adapter.Unset:
			r.Values[i] = adapter.Value{}
		case v.Kind() == adapter.Absent && isStored(&a) && !r.Schema.DistinctNulls:
			r.Values[i] = adapter.NullValue()
		}
	}
	resource, unique := r.Schema.Resource, r.Schema.Unique
	op := "store " + string(resource)
	if s.row(resource, r.Key()) != nil {
		return &adapter.Error{Kind: adapter.Conflict, Op: op, Field: r.Schema.Key, Err: errTaken}
	}
	if len(unique) > 0 && len(s.find(r, unique...)) > 0 {
		return &adapter.Error{Kind: adapter.Conflict, Op: op, Field: unique[len(unique)-1], Err: errTaken}
	}
	if root, attribute := r.Schema.Root, r.Schema.RootAttribute; root != "" && s.row(root, adapter.Key(r.Get(attribute).Int())) == nil {
		return &adapter.Error{Kind: adapter.Invalid, Op: op, Field: attribute, Err: errNoRoot}
	}
	s.put(&row{record: r})
	return nil
}

var (
	errTaken  = errors.New("another record has it")
	errNoRoot = errors.New("no such record")
)

// isStored reports whether an attribute is stored with the record itself, rather than with
// others or not at all.
func isStored(a *adapter.Attribute) bool { return a.Nested == nil && !a.OnDemand && !a.WriteOnly }

// Update stores the values of change that are not absent.
func (x tx) Update(_ context.Context, current, change adapter.Record) error {
	x.update(x.row(current.Schema.Resource, current.Key()), change)
	return nil
}

func (s *state) update(old *row, change adapter.Record) {
	next := *old
	next.record = withChange(old.record, change)
	s.put(&next)
}

// withChange returns a copy of r with the values that change has.
func withChange(r, change adapter.Record) adapter.Record {
	r = r.Clone()
	for i, v := range change.Values {
		switch v.Kind() {
		case adapter.Absent:
		case adapter.Unset:
			r.Values[i] = adapter.Value{}
		default:
			r.Values[i] = v
		}
	}
	return r
}

// UpdateWhere changes the records that have all values of where.
func (x tx) UpdateWhere(_ context.Context, where, change adapter.Record, except adapter.Key) error {
	var names []string
	for i, v := range where.Values {
		if v.Kind() != adapter.Absent {
			names = append(names, where.Schema.Attributes[i].Name)
		}
	}
	for _, r := range x.find(where, names...) {
		if r.record.Key() == except {
			continue
		}
		x.update(r, change)
	}
	return nil
}

// Delete deletes a record and its parts. The orders of a customer stay, without a customer.
// Types may point to a deleted image from then on; they then show no image, as no image gets
// its key.
func (x tx) Delete(ctx context.Context, r adapter.Resource, key adapter.Key) error {
	x.replace(r, key, nil)
	for _, part := range adapter.Resources() {
		if x.tables[part].schema.Root != r {
			continue
		}
		for p := range x.parts(part, key) {
			if err := x.Delete(ctx, part, p.record.Key()); err != nil {
				return err
			}
		}
	}
	if r != adapter.Customers {
		return nil
	}
	where := adapter.NewRecord(x.tables[adapter.Orders].schema)
	change := adapter.NewRecord(where.Schema)
	where.Set("customer_id", adapter.IntegerValue(int64(key)))
	change.Set("customer_id", adapter.NullValue())
	return x.UpdateWhere(ctx, where, change, 0)
}

// StoreViews returns all store views.
func (x tx) StoreViews(context.Context) ([]rules.StoreView, error) {
	var views []rules.StoreView
	for r := range x.tables[adapter.Stores].rows.all() {
		views = append(views, rules.StoreView{ID: int64(r.record.Key()), Website: r.record.Get("website_id").Int()})
	}
	return views, nil
}

// Websites returns the websites that a product is assigned to.
func (x tx) Websites(_ context.Context, product adapter.Key) ([]int64, error) {
	return x.websites(product), nil
}

func (s *state) websites(product adapter.Key) []int64 {
	var ids []int64
	for r := range s.parts(adapter.ProductWebsites, product) {
		ids = append(ids, r.record.Get("website_id").Int())
	}
	return ids
}

// At returns a product as it is shown at a scope.
func (x tx) At(_ context.Context, product adapter.Record, level int64, parts ...string) (adapter.Record, error) {
	v := view{schema: product.Schema, level: level}
	if err := v.include(parts); err != nil {
		return adapter.Record{}, err
	}
	return x.show(&v, x.row(adapter.Products, product.Key())), nil
}

// SetValues stores values of a product at store views.
func (x tx) SetValues(_ context.Context, product adapter.Key, views []int64, values adapter.Record) error {
	next := *x.row(adapter.Products, product)
	next.views = cloneOrMake(next.views)
	for _, id := range views {
		own, ok := next.views[id]
		if !ok {
			own = adapter.NewRecord(values.Schema)
		}
		next.views[id] = withChange(own, values)
	}
	x.put(&next)
	return nil
}

// SetPrices changes a price list of some products.
func (x tx) SetPrices(_ context.Context, list string, changes ...rules.PriceChange) error {
	for i := range changes {
		x.setPrices(list, &changes[i])
	}
	return nil
}

func (x tx) setPrices(list string, change *rules.PriceChange) {
	old := x.row(adapter.Products, change.Product)
	changed := map[adapter.Key]adapter.Record{}
	for _, entry := range change.Changed {
		changed[entry.Key()] = entry
	}
	var entries []adapter.Record
	for _, entry := range old.record.Get(list).Records() {
		if next, ok := changed[entry.Key()]; ok {
			entry = next
		}
		if !slices.Contains(change.Removed, entry.Key()) {
			entries = append(entries, entry)
		}
	}
	next := *old
	next.record = old.record.Clone()
	next.record.Set(list, adapter.RecordsValue(append(entries, change.Added...)))
	x.completePrices(next.record, list)
	x.put(&next)
}

// completePrices sets the missing keys of entries of a price list, and sorts the entries by
// key.
func (s *state) completePrices(product adapter.Record, list string) {
	var entries []adapter.Record
	for _, entry := range product.Get(list).Records() {
		entry = entry.Clone()
		entry.Set(entry.Schema.Key, s.newKey(entry.Schema.Resource, entry.Get(entry.Schema.Key)))
		entries = append(entries, entry)
	}
	slices.SortFunc(entries, func(a, b adapter.Record) int { return cmp.Compare(a.Key(), b.Key()) })
	product.Set(list, adapter.RecordsValue(entries))
}

// Saved does nothing, as nothing is derived from products.
func (x tx) Saved(context.Context, ...adapter.Key) error { return nil }

// Restocked does nothing.
func (x tx) Restocked(context.Context, ...adapter.Key) error { return nil }

// Mirrored returns false: no other system repeats client writes to records in memory. The
// operations on entries below are therefore never called with any.
func (tx) Mirrored(context.Context, adapter.Resource) (bool, error) { return false, nil }

// Enqueue does nothing.
func (tx) Enqueue(context.Context, ...outbox.Entry) error { return nil }

// Entries returns none.
func (tx) Entries(context.Context, adapter.Resource, []adapter.Key) ([]outbox.Entry, error) {
	return nil, nil
}

// Agree does nothing.
func (tx) Agree(context.Context, outbox.Entry) error { return nil }

// Drop does nothing.
func (tx) Drop(context.Context, outbox.Entry) error { return nil }

// NoteConflicts does nothing.
func (tx) NoteConflicts(context.Context, ...outbox.Conflict) error { return nil }
