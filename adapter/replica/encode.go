package replica

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/portico-commerce/portico/adapter"
)

// A base is the content of a document when the local replica was last reconciled with it.
type base struct {
	item       adapter.Record
	parts      map[adapter.Resource][]Item
	unresolved map[adapter.Resource][]string // as in Item
}

// baseJSON is the JSON of a base. Its values are encoded by encodeRecord.
type baseJSON struct {
	Unresolved map[adapter.Resource][]string       `json:"unresolved,omitempty"` // first, see unresolvedIn
	Item       json.RawMessage                     `json:"item,omitempty"`
	Parts      map[adapter.Resource][]basePartJSON `json:"parts,omitempty"`
}

type basePartJSON struct {
	ID   string          `json:"id,omitempty"`
	Item json.RawMessage `json:"item,omitempty"`
}

// encodeBase returns the JSON of a base.
func encodeBase(b base) ([]byte, error) {
	out := baseJSON{Unresolved: b.unresolved}
	var err error
	if out.Item, err = encodeRecord(b.item); err != nil {
		return nil, err
	}
	if b.parts != nil {
		out.Parts = map[adapter.Resource][]basePartJSON{}
	}
	for r, items := range b.parts {
		out.Parts[r] = make([]basePartJSON, len(items))
		for i, item := range items {
			encoded, err := encodeRecord(item.Record)
			if err != nil {
				return nil, err
			}
			out.Parts[r][i] = basePartJSON{ID: item.ID, Item: encoded}
		}
	}
	return json.Marshal(out)
}

// decodeBase decodes the base of a root. Resources and attributes that the schemas no
// longer have are left out.
func decodeBase(root *resourcePlan, encoded []byte) (base, error) {
	var in baseJSON
	if err := json.Unmarshal(encoded, &in); err != nil {
		return base{}, err
	}
	b := base{parts: map[adapter.Resource][]Item{}, unresolved: in.Unresolved}
	var err error
	if b.item, err = decodeRecord(root.schema, in.Item); err != nil {
		return base{}, err
	}
	for _, part := range root.parts {
		parts, present := in.Parts[part.Resource]
		if !present {
			continue
		}
		items := make([]Item, len(parts))
		for i, p := range parts {
			items[i].ID = p.ID
			if items[i].Record, err = decodeRecord(part.schema, p.Item); err != nil {
				return base{}, err
			}
		}
		b.parts[part.Resource] = items
	}
	return b, nil
}

// unresolvedIn returns the unresolved references of a base without decoding the others. It
// is called for every document that is read.
func unresolvedIn(encoded []byte) map[adapter.Resource][]string {
	if !bytes.HasPrefix(encoded, []byte(`{"unresolved":`)) {
		return nil
	}
	var in struct {
		Unresolved map[adapter.Resource][]string `json:"unresolved"`
	}
	if err := json.Unmarshal(encoded, &in); err != nil {
		return nil // reconciling reports it
	}
	return in.Unresolved
}

// baseOf returns the base of a root's mapping.
func baseOf(root *resourcePlan, mapping Mapping) (base, error) {
	b, err := decodeBase(root, mapping.Base)
	if err != nil {
		return b, &adapter.Error{Kind: adapter.Internal, Op: fmt.Sprintf("decode base of %s %d", mapping.Resource, mapping.Key), Err: err}
	}
	return b, nil
}

// withBase returns a root's mapping with a new base.
func withBase(mapping Mapping, b base) (Mapping, error) {
	var err error
	if mapping.Base, err = encodeBase(b); err != nil {
		return mapping, &adapter.Error{Kind: adapter.Internal, Op: fmt.Sprintf("encode base of %s %d", mapping.Resource, mapping.Key), Err: err}
	}
	return mapping, nil
}

// bytesJSON encodes text that is not valid UTF-8, which a JSON string cannot hold.
type bytesJSON struct {
	Bytes []byte `json:"bytes"`
}

var errNotEncodable = errors.New("an unset value cannot be encoded")

// encodeRecord returns the values of a record as a JSON object with a member for each
// attribute that is not absent: null for null, a string for text, a number for an integer,
// an array of strings for texts, an array of such objects for records.
func encodeRecord(r adapter.Record) ([]byte, error) {
	members := map[string]any{}
	for i, v := range r.Values {
		if v.Kind() == adapter.Absent {
			continue
		}
		encoded, err := encodeValue(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.Schema.Attributes[i].Name, err)
		}
		members[r.Schema.Attributes[i].Name] = encoded
	}
	return json.Marshal(members)
}

func encodeValue(v adapter.Value) (any, error) {
	switch v.Kind() {
	case adapter.Null:
		return nil, nil
	case adapter.Text:
		return encodeText(v.Text()), nil
	case adapter.Integer:
		return v.Int(), nil
	case adapter.Texts:
		list := make([]any, len(v.Texts()))
		for i, text := range v.Texts() {
			list[i] = encodeText(text)
		}
		return list, nil
	case adapter.Records:
		list := make([]json.RawMessage, len(v.Records()))
		for i, r := range v.Records() {
			encoded, err := encodeRecord(r)
			if err != nil {
				return nil, err
			}
			list[i] = encoded
		}
		return list, nil
	default:
		return nil, errNotEncodable
	}
}

func encodeText(s string) any {
	if utf8.ValidString(s) {
		return s
	}
	return bytesJSON{[]byte(s)}
}

// decodeRecord decodes what encodeRecord returned; empty input is a record without values.
// Attributes that the schema does not have are left out.
func decodeRecord(schema *adapter.Schema, encoded []byte) (adapter.Record, error) {
	r := adapter.NewRecord(schema)
	if len(encoded) == 0 {
		return r, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(encoded, &members); err != nil {
		return r, err
	}
	for name, member := range members {
		at, ok := schema.Index(name)
		if !ok {
			continue
		}
		v, err := decodeValue(&schema.Attributes[at], member)
		if err != nil {
			return r, fmt.Errorf("%s: %w", name, err)
		}
		r.Values[at] = v
	}
	return r, nil
}

func decodeValue(a *adapter.Attribute, encoded json.RawMessage) (adapter.Value, error) {
	switch {
	case string(encoded) == "null":
		return adapter.NullValue(), nil
	case len(encoded) > 0 && encoded[0] == '[':
		return decodeList(a, encoded)
	case len(encoded) > 0 && (encoded[0] == '"' || encoded[0] == '{'):
		text, err := decodeText(encoded)
		return adapter.TextValue(text), err
	default:
		n, err := strconv.ParseInt(string(encoded), 10, 64)
		return adapter.IntegerValue(n), err
	}
}

// decodeList decodes the JSON array that encodeValue makes of a list of texts or, if the
// attribute has a nested schema, of records.
func decodeList(a *adapter.Attribute, encoded json.RawMessage) (adapter.Value, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(encoded, &list); err != nil {
		return adapter.Value{}, err
	}
	if a.Nested == nil {
		texts := make([]string, len(list))
		for i, member := range list {
			var err error
			if texts[i], err = decodeText(member); err != nil {
				return adapter.Value{}, err
			}
		}
		return adapter.TextsValue(texts), nil
	}
	records := make([]adapter.Record, len(list))
	for i, member := range list {
		var err error
		if records[i], err = decodeRecord(a.Nested, member); err != nil {
			return adapter.Value{}, err
		}
	}
	return adapter.RecordsValue(records), nil
}

func decodeText(encoded json.RawMessage) (string, error) {
	if len(encoded) > 0 && encoded[0] == '{' {
		var b bytesJSON
		err := json.Unmarshal(encoded, &b)
		return string(b.Bytes), err
	}
	var s string
	err := json.Unmarshal(encoded, &s)
	return s, err
}
