package adapter

import "unsafe"

// A Record holds the values of one record, one for each attribute of its
// schema and in the schema's order.
type Record struct {
	Schema *Schema
	Values []Value
}

// NewRecord returns a record of s in which every attribute is absent.
func NewRecord(s *Schema) Record {
	return Record{Schema: s, Values: make([]Value, len(s.Attributes))}
}

// Get returns the value of the attribute called name; absent when the schema
// has none of that name. Code on a hot path keeps [Schema.Index] instead.
func (r Record) Get(name string) Value {
	if i, ok := r.Schema.Index(name); ok {
		return r.Values[i]
	}
	return Value{}
}

// Set puts v under name. It panics when the schema has no such attribute: that
// is a mistake in the program, not in its input.
func (r Record) Set(name string, v Value) {
	i, ok := r.Schema.Index(name)
	if !ok {
		panic("adapter: " + string(r.Schema.Resource) + " has no attribute " + name)
	}
	r.Values[i] = v
}

// Size returns about how many bytes of memory r takes.
func (r Record) Size() int64 {
	size := int64(len(r.Values)) * valueSize
	for i := range r.Values {
		v := &r.Values[i]
		size += int64(len(v.text))
		if v.lists == nil {
			continue
		}
		for _, text := range v.lists.texts {
			size += int64(len(text)) + textSize
		}
		for _, part := range v.lists.records {
			size += part.Size()
		}
	}
	return size
}

const (
	valueSize = int64(unsafe.Sizeof(Value{}))
	textSize  = int64(unsafe.Sizeof(""))
)

// Clone returns a copy of r whose values may be set without changing r.
func (r Record) Clone() Record {
	return Record{Schema: r.Schema, Values: append([]Value(nil), r.Values...)}
}
