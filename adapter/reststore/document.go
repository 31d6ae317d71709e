package reststore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A backend's JSON is parsed in two steps: a response is split into raw documents, and
// only documents that changed are decoded.

var errNotList = errors.New("is not a list")

// splitList returns the raw elements of the list at path p, or nil if it is null. It fails
// unless the whole body is valid JSON.
func splitList(body []byte, p path) ([]jsontext.Value, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(body))
	found, err := seekPath(d, p)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, fmt.Errorf("%s is missing", p)
	}
	var list []jsontext.Value
	switch d.PeekKind() {
	case 'n':
		_, err = d.ReadToken()
	case '[':
		list = []jsontext.Value{}
		_, err = d.ReadToken()
		for err == nil && d.PeekKind() != ']' {
			var v jsontext.Value
			if v, err = readRaw(d, body); err == nil {
				list = append(list, v)
			}
		}
		if err == nil {
			_, err = d.ReadToken()
		}
	default:
		// Report a syntax error in preference to a wrong type.
		if err = d.SkipValue(); err == nil {
			err = fmt.Errorf("%s %w", p, errNotList)
		}
	}
	if err != nil {
		return nil, err
	}
	return list, expectEnd(d)
}

// rawAt returns the raw value at path p, or nil if it is null or missing. It fails unless
// the whole body is valid JSON.
func rawAt(body []byte, p path) (jsontext.Value, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(body))
	found, err := seekPath(d, p)
	if err != nil {
		return nil, err
	}
	var v jsontext.Value
	if found {
		if v, err = readRaw(d, body); err != nil {
			return nil, err
		}
		if v.Kind() == 'n' {
			v = nil
		}
	}
	return v, expectEnd(d)
}

// readRaw reads the next value and returns it as a slice of body.
func readRaw(d *jsontext.Decoder, body []byte) (jsontext.Value, error) {
	v, err := d.ReadValue()
	if err != nil {
		return nil, err
	}
	end := int(d.InputOffset())
	return jsontext.Value(body[end-len(v) : end : end]), nil
}

// seekPath advances d to the value at path p. It reports false if there is none.
func seekPath(d *jsontext.Decoder, p path) (found bool, err error) {
	for _, name := range p {
		if d.PeekKind() != '{' {
			return false, d.SkipValue()
		}
		if _, err := d.ReadToken(); err != nil {
			return false, err
		}
		for {
			t, err := d.ReadToken()
			if err != nil {
				return false, err
			}
			if t.Kind() == '}' {
				return false, nil
			}
			if t.String() == name {
				break
			}
			if err := d.SkipValue(); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// expectEnd reads the rest of the JSON value and fails if anything follows it.
func expectEnd(d *jsontext.Decoder) error {
	for d.StackDepth() > 0 {
		if _, err := d.ReadToken(); err != nil {
			return err
		}
	}
	if _, err := d.ReadToken(); err != io.EOF { //nolint:errorlint // ReadToken documents a bare io.EOF
		return errors.New("there is data after the JSON value")
	}
	return nil
}

// textAt returns the string or number at path p of a raw document, or "" if it is null or
// missing.
func textAt(raw jsontext.Value, p path) (string, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(raw))
	found, err := seekPath(d, p)
	if err != nil || !found {
		return "", err
	}
	t, err := d.ReadToken()
	if err != nil {
		return "", err
	}
	switch t.Kind() {
	case '"', '0':
		return t.String(), nil
	case 'n':
		return "", nil
	}
	return "", fmt.Errorf("%s is neither a string nor a number", p)
}

var errDepth = errors.New("is nested too deeply")

// decode decodes a JSON value for jq, with numbers as json.Number. It fails if objects and
// lists nest deeper than depth.
func decode(raw []byte, depth int) (any, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(raw))
	v, err := decodeValue(d, depth)
	if err != nil {
		return nil, err
	}
	return v, expectEnd(d)
}

func decodeValue(d *jsontext.Decoder, depth int) (any, error) {
	t, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch t.Kind() {
	case 't', 'f':
		return t.Bool(), nil
	case '"':
		return t.String(), nil
	case '0':
		n := t.String()
		if len(n) > maxNumberLength {
			return nil, fmt.Errorf("contains a number of %d characters", len(n))
		}
		return json.Number(n), nil
	case 'n':
		return nil, nil
	}
	if depth == 0 {
		return nil, errDepth
	}
	if t.Kind() == '[' {
		elements := []any{}
		for d.PeekKind() != ']' {
			v, err := decodeValue(d, depth-1)
			if err != nil {
				return nil, err
			}
			elements = append(elements, v)
		}
		_, err = d.ReadToken()
		return elements, err
	}
	members := map[string]any{}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		if members[key], err = decodeValue(d, depth-1); err != nil {
			return nil, err
		}
	}
	_, err = d.ReadToken()
	return members, err
}

// String returns the path as it is written in a mapping file.
func (p path) String() string {
	if len(p) == 0 {
		return "the body"
	}
	return strings.Join(p, ".")
}
