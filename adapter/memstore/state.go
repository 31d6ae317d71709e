package memstore

import (
	"iter"
	"maps"
	"slices"
	"strconv"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/rules"
)

// A state is all stored data at one moment. A write makes the next one; nothing changes a
// state after that.
type state struct {
	version *version
	tables  map[adapter.Resource]*table
	// last is the greatest key that was ever used, by resource. Entries of price lists have
	// keys as well.
	last    map[adapter.Resource]adapter.Key
	files   sorted[string, *file]
	numbers sorted[string, bool] // the numbers that series of files have, by numberKey
	// notes holds the sources of records, by noteID.
	notes sorted[string, []string]
	// positions holds how far the changes of each source have been imported.
	positions map[string]string
}

// A table holds the records of one resource, and finds them by one of their attributes.
type table struct {
	schema *adapter.Schema
	rows   sorted[adapter.Key, *row]
	by     int                           // schema index of the attribute, -1 if there is none
	keys   sorted[string, []adapter.Key] // by comparisonKey of its values
}

// A row is a stored record with the data that belongs to it alone. It is never changed,
// only replaced.
type row struct {
	record adapter.Record              // values of the default scope; a product's price lists, too
	views  map[int64]adapter.Record    // values of a product or a category, by store view
	types  rules.Types                 // the images to which the types of a product point
	levels map[int64]rules.ImageValues // values of an image, by scope
}

// newState returns a state without records.
func newState(schemas *adapter.Schemas) *state {
	s := &state{tables: map[adapter.Resource]*table{}, last: map[adapter.Resource]adapter.Key{}}
	for _, r := range adapter.Resources() {
		t := &table{schema: schemas.Of(r), by: -1}
		if at, ok := t.schema.Index(indexedBy(t.schema)); ok {
			t.by = at
		}
		s.tables[r] = t
	}
	return s
}

// indexedBy names the attribute by which the rules look for records, parts by their root.
func indexedBy(s *adapter.Schema) string {
	switch s.Resource {
	case adapter.Customers:
		return "email"
	case adapter.Products:
		return "sku"
	case adapter.Orders:
		return "customer_id"
	}
	return s.RootAttribute
}

// next returns a new version, which a write may change. It shares the records with s.
func (s *state) next() *state {
	next := &state{version: new(version), tables: make(map[adapter.Resource]*table, len(s.tables)), last: maps.Clone(s.last), files: s.files, numbers: s.numbers, notes: s.notes, positions: s.positions}
	for r, t := range s.tables {
		own := *t
		next.tables[r] = &own
	}
	return next
}

// row returns the row of a record, or nil.
func (s *state) row(r adapter.Resource, key adapter.Key) *row {
	found, _ := s.tables[r].rows.get(key)
	return found
}

// put stores a row and replaces the row with its key.
func (s *state) put(r *row) { s.replace(r.record.Schema.Resource, r.record.Key(), r) }

// replace stores a row, or nil to remove it, in place of the row with the key.
func (s *state) replace(r adapter.Resource, key adapter.Key, next *row) {
	t := s.tables[r]
	was, had := t.indexed(s.row(r, key))
	is, has := t.indexed(next)
	if had && (!has || was != is) {
		keys := slices.DeleteFunc(slices.Clone(t.keysBy(was)), func(k adapter.Key) bool { return k == key })
		if t.keys.set(s.version, was, keys); len(keys) == 0 {
			t.keys.remove(s.version, was)
		}
	}
	if has && (!had || was != is) {
		keys := append(slices.Clone(t.keysBy(is)), key)
		slices.Sort(keys)
		t.keys.set(s.version, is, keys)
	}
	if next == nil {
		t.rows.remove(s.version, key)
	} else {
		t.rows.set(s.version, key, next)
	}
}

// indexed returns the value by which the table finds a row. ok is false for a nil row, and
// for a row without a value.
func (t *table) indexed(r *row) (value string, ok bool) {
	if r == nil || t.by < 0 || r.record.Values[t.by].Empty() {
		return "", false
	}
	return comparisonKey(r.record, t.by), true
}

// keysBy returns the keys of the rows with a value, in ascending order.
func (t *table) keysBy(value string) []adapter.Key {
	keys, _ := t.keys.get(value)
	return keys
}

// comparisonKey returns a value in a form that is the same for equal values.
func comparisonKey(r adapter.Record, attribute int) string {
	if r.Schema.Attributes[attribute].Kind == adapter.KindText {
		return adapter.Fold(r.Values[attribute].Text())
	}
	return r.Values[attribute].Text()
}

// find returns the rows, by key, that have the values of like for the named attributes.
// Null equals nothing.
func (s *state) find(like adapter.Record, names ...string) []*row {
	t := s.tables[like.Schema.Resource]
	wanted := map[int]string{}
	for _, name := range names {
		at, _ := t.schema.Index(name)
		if like.Values[at].Empty() {
			return nil
		}
		wanted[at] = comparisonKey(like, at)
	}
	near := t.rows.all()
	if value, ok := wanted[t.by]; ok {
		near = t.byKeys(t.keysBy(value))
	}
	var found []*row
	for r := range near {
		has := true
		for at, value := range wanted {
			has = has && !r.record.Values[at].Empty() && comparisonKey(r.record, at) == value
		}
		if has {
			found = append(found, r)
		}
	}
	return found
}

// byKeys returns the rows of the given keys that have one.
func (t *table) byKeys(keys []adapter.Key) iter.Seq[*row] {
	return func(yield func(*row) bool) {
		for _, key := range keys {
			if r, ok := t.rows.get(key); ok && !yield(r) {
				return
			}
		}
	}
}

// parts returns the parts of a record that belong to a resource, by key.
func (s *state) parts(r adapter.Resource, root adapter.Key) iter.Seq[*row] {
	t := s.tables[r]
	return t.byKeys(t.keysBy(strconv.FormatInt(int64(root), 10)))
}

// newKey returns a key that was never used. A record may come with a key of its own.
func (s *state) newKey(r adapter.Resource, own adapter.Value) adapter.Value {
	if own.Empty() {
		own = adapter.IntegerValue(int64(s.last[r]) + 1)
	}
	s.last[r] = max(s.last[r], adapter.Key(own.Int()))
	return own
}

// numberKey returns the key of a number of a series of files.
func numberKey(series string, number int64) string {
	return series + "\x00" + strconv.FormatInt(number, 10)
}
