package replica

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/idmap"
)

// A base is the content of a document when the local replica was last reconciled with it.
// Its JSON has an item, unlike idmap.EmptyBase.
type base struct {
	item       adapter.Record
	parts      map[adapter.Resource][]Item
	unresolved map[adapter.Resource][]string // as in Item
}

// baseJSON is the JSON of a base.
type baseJSON struct {
	Unresolved map[adapter.Resource][]string       `json:"unresolved,omitempty"` // first, see unresolvedIn
	Item       recordJSON                          `json:"item"`
	Parts      map[adapter.Resource][]basePartJSON `json:"parts,omitempty"`
}

type basePartJSON struct {
	ID   string     `json:"id,omitempty"`
	Item recordJSON `json:"item"`
}

// withBase returns a root's mapping with a new base.
func withBase(mapping idmap.Mapping, b base) (idmap.Mapping, error) {
	out := baseJSON{Unresolved: b.unresolved, Item: toJSON(b.item), Parts: map[adapter.Resource][]basePartJSON{}}
	for r, items := range b.parts {
		out.Parts[r] = convert(items, func(i Item) basePartJSON { return basePartJSON{i.ID, toJSON(i.Record)} })
	}
	var err error
	mapping.Base, err = json.Marshal(out)
	return mapping, internalError(err, "encode base of", mapping.Resource, mapping.Key)
}

// internalError returns err, unless it is nil, as one of kind Internal. It is for what is
// stored and cannot be encoded or decoded.
func internalError(err error, op string, r adapter.Resource, key adapter.Key) error {
	if err == nil {
		return nil
	}
	return &adapter.Error{Kind: adapter.Internal, Op: fmt.Sprintf("%s %s %d", op, r, key), Err: err}
}

// baseOf returns the base of a root's mapping. Resources and attributes that the schemas no
// longer have are left out.
func baseOf(root *resourcePlan, mapping idmap.Mapping) (base, error) {
	var in baseJSON
	err := unmarshal(mapping.Base, &in)
	b := base{parts: map[adapter.Resource][]Item{}, unresolved: in.Unresolved}
	if err == nil {
		b.item, err = fromJSON(root.schema, in.Item)
	}
	for _, part := range root.parts {
		if parts, present := in.Parts[part.Resource]; present && err == nil {
			b.parts[part.Resource], err = tryConvert(parts, func(p basePartJSON) (Item, error) {
				r, err := fromJSON(part.schema, p.Item)
				return Item{ID: p.ID, Record: r}, err
			})
		}
	}
	return b, internalError(err, "decode base of", mapping.Resource, mapping.Key)
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

// A recordJSON holds the values of a record that are neither absent nor unset: nil for null,
// a string for text, a number for an integer, a list of strings for texts, a list of such
// maps for records, and a map with the member bytes for text that is not valid UTF-8.
type recordJSON map[string]any

func toJSON(r adapter.Record) recordJSON {
	members := recordJSON{}
	for i, v := range r.Values {
		switch name := r.Schema.Attributes[i].Name; v.Kind() {
		case adapter.Null:
			members[name] = nil
		case adapter.Text:
			members[name] = textToJSON(v.Text())
		case adapter.Integer:
			members[name] = v.Int()
		case adapter.Texts:
			members[name] = convert(v.Texts(), textToJSON)
		case adapter.Records:
			members[name] = convert(v.Records(), toJSON)
		}
	}
	return members
}

func textToJSON(s string) any {
	if utf8.ValidString(s) {
		return s
	}
	return map[string]any{"bytes": []byte(s)}
}

// unmarshal is json.Unmarshal for what holds a recordJSON: integers stay exact.
func unmarshal(encoded []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(encoded))
	d.UseNumber()
	return d.Decode(to)
}

// fromJSON returns the record that toJSON encoded. Attributes that the schema does not have
// are left out.
func fromJSON(schema *adapter.Schema, members recordJSON) (adapter.Record, error) {
	r := adapter.NewRecord(schema)
	for name, member := range members {
		at, ok := schema.Index(name)
		if !ok {
			continue
		}
		var err error
		if r.Values[at], err = valueFromJSON(&schema.Attributes[at], member); err != nil {
			return r, fmt.Errorf("%s: %w", name, err)
		}
	}
	return r, nil
}

func valueFromJSON(a *adapter.Attribute, v any) (adapter.Value, error) {
	switch v := v.(type) {
	case nil:
		return adapter.NullValue(), nil
	case json.Number:
		n, err := strconv.ParseInt(v.String(), 10, 64)
		return adapter.IntegerValue(n), err
	case []any:
		if a.Nested == nil {
			texts, err := tryConvert(v, textFromJSON)
			return adapter.TextsValue(texts), err
		}
		records, err := tryConvert(v, func(member any) (adapter.Record, error) {
			members, _ := member.(map[string]any)
			return fromJSON(a.Nested, members)
		})
		return adapter.RecordsValue(records), err
	default:
		text, err := textFromJSON(v)
		return adapter.TextValue(text), err
	}
}

func textFromJSON(v any) (string, error) {
	if members, ok := v.(map[string]any); ok {
		encoded, _ := members["bytes"].(string)
		b, err := base64.StdEncoding.DecodeString(encoded)
		return string(b), err
	}
	s, ok := v.(string)
	if !ok {
		return "", fmt.Errorf("%v is not a text", v)
	}
	return s, nil
}

// convert returns a list with each element converted by f.
func convert[T, U any](list []T, f func(T) U) []U {
	converted := make([]U, len(list))
	for i, element := range list {
		converted[i] = f(element)
	}
	return converted
}

// tryConvert is convert for an f that can fail.
func tryConvert[T, U any](list []T, f func(T) (U, error)) (converted []U, err error) {
	converted = convert(list, func(element T) (u U) {
		if err == nil {
			u, err = f(element)
		}
		return u
	})
	return converted, err
}
