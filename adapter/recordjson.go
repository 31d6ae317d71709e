package adapter

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// A JSONRecord holds the values of a record that are neither absent nor unset: nil for null, a
// string for text, a number for an integer, a list of strings for texts, a list of such maps
// for records, and a map with the member bytes for text that is not valid UTF-8.
type JSONRecord map[string]any

// EncodeJSON returns the JSON of a record.
func EncodeJSON(r Record) JSONRecord {
	members := JSONRecord{}
	for i, v := range r.Values {
		switch name := r.Schema.Attributes[i].Name; v.Kind() {
		case Null:
			members[name] = nil
		case Text:
			members[name] = encodeText(v.Text())
		case Integer:
			members[name] = v.Int()
		case Texts:
			members[name], _ = convert(v.Texts(), func(s string) (any, error) { return encodeText(s), nil })
		case Records:
			members[name], _ = convert(v.Records(), func(r Record) (JSONRecord, error) { return EncodeJSON(r), nil })
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

// UnmarshalJSON is json.Unmarshal for values that contain a Record.
func UnmarshalJSON(encoded []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(encoded))
	d.UseNumber()
	return d.Decode(to)
}

// Decode returns the record that Encode was given.
func (members JSONRecord) Decode(schema *Schema) (Record, error) {
	r := NewRecord(schema)
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

func decodeValue(a *Attribute, v any) (Value, error) {
	switch v := v.(type) {
	case nil:
		return NullValue(), nil
	case json.Number:
		n, err := strconv.ParseInt(v.String(), 10, 64)
		return IntegerValue(n), err
	case []any:
		if a.Nested == nil {
			texts, err := convert(v, decodeText)
			return TextsValue(texts), err
		}
		records, err := convert(v, func(member any) (Record, error) {
			members, _ := member.(map[string]any)
			return JSONRecord(members).Decode(a.Nested)
		})
		return RecordsValue(records), err
	default:
		text, err := decodeText(v)
		return TextValue(text), err
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
