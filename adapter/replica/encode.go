package replica

import (
	"bytes"
	"encoding/base64"
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

// emptyBase is the base of a mapping that only ties two ids together: all values of the
// document are taken over. The JSON of any other base has an item.
const emptyBase = "{}"

// withBase returns a root's mapping with a new base.
func withBase(mapping Mapping, b base) (Mapping, error) {
	out := baseJSON{Unresolved: b.unresolved, Item: toJSON(b.item), Parts: map[adapter.Resource][]basePartJSON{}}
	for r, items := range b.parts {
		out.Parts[r] = make([]basePartJSON, len(items))
		for i, item := range items {
			out.Parts[r][i] = basePartJSON{item.ID, toJSON(item.Record)}
		}
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
func baseOf(root *resourcePlan, mapping Mapping) (base, error) {
	var in baseJSON
	err := unmarshal(mapping.Base, &in)
	b := base{parts: map[adapter.Resource][]Item{}, unresolved: in.Unresolved}
	if err == nil {
		b.item, err = fromJSON(root.schema, in.Item)
	}
	for _, part := range root.parts {
		parts, present := in.Parts[part.Resource]
		if !present {
			continue
		}
		items := make([]Item, len(parts))
		for i, p := range parts {
			var itemErr error
			items[i].ID = p.ID
			items[i].Record, itemErr = fromJSON(part.schema, p.Item)
			err = errors.Join(err, itemErr)
		}
		b.parts[part.Resource] = items
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
		if v.Kind() != adapter.Absent && v.Kind() != adapter.Unset {
			members[r.Schema.Attributes[i].Name] = valueToJSON(v)
		}
	}
	return members
}

func valueToJSON(v adapter.Value) any {
	list := []any{}
	switch v.Kind() {
	case adapter.Text:
		return textToJSON(v.Text())
	case adapter.Integer:
		return v.Int()
	case adapter.Texts:
		for _, text := range v.Texts() {
			list = append(list, textToJSON(text))
		}
		return list
	case adapter.Records:
		for _, r := range v.Records() {
			list = append(list, toJSON(r))
		}
		return list
	default:
		return nil
	}
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
		texts, records := make([]string, len(v)), make([]adapter.Record, len(v))
		for i, member := range v {
			var err error
			if a.Nested == nil {
				texts[i], err = textFromJSON(member)
			} else {
				members, _ := member.(map[string]any)
				records[i], err = fromJSON(a.Nested, members)
			}
			if err != nil {
				return adapter.Value{}, err
			}
		}
		if a.Nested == nil {
			return adapter.TextsValue(texts), nil
		}
		return adapter.RecordsValue(records), nil
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
