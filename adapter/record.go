package adapter

import (
	"slices"
	"unsafe"
)

// A Record holds the values of one record: one for each attribute of its schema, in the
// schema's order.
type Record struct {
	Schema *Schema
	Values []Value
}

// NewRecord returns a record of s in which every attribute is absent.
func NewRecord(s *Schema) Record {
	return Record{Schema: s, Values: make([]Value, len(s.Attributes))}
}

// Get returns the value of an attribute. It is absent if the schema has no attribute of
// that name. Hot paths should look up [Schema.Index] once instead.
func (r Record) Get(name string) Value {
	if i, ok := r.Schema.Index(name); ok {
		return r.Values[i]
	}
	return Value{}
}

// Key returns the key of the record, 0 if it has none.
func (r Record) Key() Key { return Key(r.Get(r.Schema.Key).Int()) }

// Set sets the value of an attribute. It panics if the schema has no attribute of that
// name, as that is a programming error.
func (r Record) Set(name string, v Value) {
	i, ok := r.Schema.Index(name)
	if !ok {
		panic("adapter: " + string(r.Schema.Resource) + " has no attribute " + name)
	}
	r.Values[i] = v
}

// Lacks returns the names of the attributes that an imported record needs and that have no
// value in r: see [Schema.Needs].
func (r Record) Lacks() (names []string) {
	for i, v := range r.Values {
		if a := &r.Schema.Attributes[i]; v.Empty() && r.Schema.Needs(a) {
			names = append(names, a.Name)
		}
	}
	return names
}

// Lacking returns the attributes that records imported together lack, such as
// "stock_items.min_qty", sorted and without duplicates. It omits the keys of their roots,
// which the import sets.
func Lacking(records ...Record) (names []string) {
	for _, r := range records {
		for _, name := range r.Lacks() {
			if name != r.Schema.RootAttribute {
				names = append(names, string(r.Schema.Resource)+"."+name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Size returns the approximate memory size of r in bytes.
func (r Record) Size() int64 {
	size := int64(len(r.Values)) * valueBytes
	for i := range r.Values {
		v := &r.Values[i]
		if v.kind == Text {
			size += v.number
		}
		for _, text := range v.Texts() {
			size += int64(len(text)) + stringHeaderBytes
		}
		for _, part := range v.Records() {
			size += part.Size()
		}
	}
	return size
}

const (
	valueBytes        = int64(unsafe.Sizeof(Value{}))
	stringHeaderBytes = int64(unsafe.Sizeof(""))
)

// Clone returns a copy of r. Setting its values does not change r.
func (r Record) Clone() Record {
	return Record{Schema: r.Schema, Values: append([]Value(nil), r.Values...)}
}
