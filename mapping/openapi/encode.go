package openapi

import (
	"bytes"
	"encoding/json"
	"iter"
	"slices"

	"go.yaml.in/yaml/v3"
)

// A Map is a map whose keys keep the order in which they were first set.
type Map[V any] struct {
	keys   []string
	values map[string]V
}

// Set sets the value of a key.
func (m *Map[V]) Set(key string, value V) {
	if m.values == nil {
		m.values = map[string]V{}
	}
	if _, known := m.values[key]; !known {
		m.keys = append(m.keys, key)
	}
	m.values[key] = value
}

// Get returns the value of a key, and whether there is one.
func (m Map[V]) Get(key string) (V, bool) { v, ok := m.values[key]; return v, ok }

// All returns the keys with their values, in order.
func (m Map[V]) All() iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, key := range m.keys {
			if !yield(key, m.values[key]) {
				return
			}
		}
	}
}

// Len returns the number of keys.
func (m Map[V]) Len() int { return len(m.keys) }

// IsZero reports whether the map is empty, for the JSON encoder.
func (m Map[V]) IsZero() bool { return len(m.keys) == 0 }

// MarshalJSON encodes the map as an object.
func (m Map[V]) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, key := range m.keys {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := marshal(key)
		if err != nil {
			return nil, err
		}
		value, err := marshal(m.values[key])
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// MarshalJSON encodes a single type as a text, several as a list.
func (t Types) MarshalJSON() ([]byte, error) {
	if len(t) == 1 {
		return json.Marshal(t[0])
	}
	return json.Marshal([]string(t))
}

// MarshalJSON encodes the schema, with "additionalProperties": false if it is closed. Types of a value that has
// several, null apart, become alternatives: generators such as oapi-codegen refuse a list of types.
func (s *Schema) MarshalJSON() ([]byte, error) {
	type plain Schema
	if len(s.Type) > 2 || len(s.Type) == 2 && !slices.Contains(s.Type, "null") {
		one := plain(*s)
		one.Type, one.Pattern, one.Enum = nil, "", nil
		for _, t := range s.Type {
			one.OneOf = append(one.OneOf, s.only(t))
		}
		return marshal(&one)
	}
	encoded, err := marshal((*plain)(s))
	if s.Integers && err == nil {
		encoded, err = marshal(struct {
			*plain
			Enum []json.Number `json:"enum"`
		}{(*plain)(s), s.integers()})
	}
	if err != nil || !s.Closed {
		return encoded, err
	}
	return slices.Concat(encoded[:len(encoded)-1], []byte(`,"additionalProperties":false}`)), nil
}

// marshal encodes a value, with <, > and & unescaped.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// JSON returns the document in JSON: the same bytes for the same document.
func (d *Document) JSON() ([]byte, error) {
	plain, err := marshal(d)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = json.Indent(&b, plain, "", "  ")
	b.WriteByte('\n')
	return b.Bytes(), err
}

// YAML returns the document in YAML: the same bytes for the same document.
func (d *Document) YAML() ([]byte, error) {
	plain, err := marshal(d)
	if err != nil {
		return nil, err
	}
	var node yaml.Node // JSON is YAML, in another style
	if err := yaml.Unmarshal(plain, &node); err != nil {
		return nil, err
	}
	useBlocks(&node)
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := encoder.Encode(&node); err != nil {
		return nil, err
	}
	return b.Bytes(), encoder.Close()
}

// useBlocks lets the encoder choose the style of all nodes.
func useBlocks(n *yaml.Node) {
	n.Style = 0
	for _, child := range n.Content {
		useBlocks(child)
	}
}
