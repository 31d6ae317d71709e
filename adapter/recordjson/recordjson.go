// Package recordjson encodes records as JSON that is stored and read again, by this version
// of Portico or another.
//
// # Principles
//
//  1. Nothing is lost: null differs from absent, integers are exact, and texts keep bytes
//     that are not valid UTF-8.
//  2. Resources and attributes that the schemas do not have are left out when JSON is decoded,
//     as the configuration may have changed since it was stored.
//
// # How it is tested
//
// The tests encode every kind of value, and decode any JSON (fuzz tests in package replica).
package recordjson

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/portico-commerce/portico/adapter"
)

// A Record holds the values of a record that are neither absent nor unset: nil for null, a
// string for text, a number for an integer, a list of strings for texts, a list of such maps
// for records, and a map with the member bytes for text that is not valid UTF-8.
type Record map[string]any

// Encode returns the JSON of a record.
func Encode(r adapter.Record) Record {
	members := Record{}
	for i, v := range r.Values {
		switch name := r.Schema.Attributes[i].Name; v.Kind() {
		case adapter.Null:
			members[name] = nil
		case adapter.Text:
			members[name] = encodeText(v.Text())
		case adapter.Integer:
			members[name] = v.Int()
		case adapter.Texts:
			members[name], _ = convert(v.Texts(), func(s string) (any, error) { return encodeText(s), nil })
		case adapter.Records:
			members[name], _ = convert(v.Records(), func(r adapter.Record) (Record, error) { return Encode(r), nil })
		}
	}
	return members
}

func encodeText(s string) any {
	if utf8.ValidString(s) {
		return s
	}
	return map[string]any{"bytes": []byte(s)}
}

// Unmarshal is json.Unmarshal for values that contain a Record.
func Unmarshal(encoded []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(encoded))
	d.UseNumber()
	return d.Decode(to)
}

// Decode returns the record that Encode was given.
func (members Record) Decode(schema *adapter.Schema) (adapter.Record, error) {
	r := adapter.NewRecord(schema)
	for name, member := range members {
		at, ok := schema.Index(name)
		if !ok {
			continue
		}
		var err error
		if r.Values[at], err = decodeValue(&schema.Attributes[at], member); err != nil {
			return r, fmt.Errorf("%s: %w", name, err)
		}
	}
	return r, nil
}

func decodeValue(a *adapter.Attribute, v any) (adapter.Value, error) {
	switch v := v.(type) {
	case nil:
		return adapter.NullValue(), nil
	case json.Number:
		n, err := strconv.ParseInt(v.String(), 10, 64)
		return adapter.IntegerValue(n), err
	case []any:
		if a.Nested == nil {
			texts, err := convert(v, decodeText)
			return adapter.TextsValue(texts), err
		}
		records, err := convert(v, func(member any) (adapter.Record, error) {
			members, _ := member.(map[string]any)
			return Record(members).Decode(a.Nested)
		})
		return adapter.RecordsValue(records), err
	default:
		text, err := decodeText(v)
		return adapter.TextValue(text), err
	}
}

func decodeText(v any) (string, error) {
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

// convert returns a list with each element converted by f, up to the first that fails.
func convert[T, U any](list []T, f func(T) (U, error)) ([]U, error) {
	converted := make([]U, len(list))
	for i, element := range list {
		var err error
		if converted[i], err = f(element); err != nil {
			return nil, err
		}
	}
	return converted, nil
}
