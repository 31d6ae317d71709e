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

// JSON of a backend is taken apart in two steps: replies are cut into documents by
// where these stand, and only those that are not known are decoded.

var errNotList = errors.New("is no list")

// cut returns the raw elements of the list that p leads to, and nil for null. The
// whole body must be JSON.
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
		// What is no JSON at all says so itself.
		if err = d.SkipValue(); err == nil {
			err = fmt.Errorf("%s %w", p, errNotList)
		}
	}
	if err != nil {
		return nil, err
	}
	return list, expectEnd(d)
}

// single returns the raw value that p leads to, and nil for null and where there is
// none. The whole body must be JSON.
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

// element reads a value, as a part of body.
func readRaw(d *jsontext.Decoder, body []byte) (jsontext.Value, error) {
	v, err := d.ReadValue()
	if err != nil {
		return nil, err
	}
	end := int(d.InputOffset())
	return jsontext.Value(body[end-len(v) : end : end]), nil
}

// seek reads up to the value that p leads to. It reports false where there is none.
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

// finish reads what follows, which must be JSON too.
func expectEnd(d *jsontext.Decoder) error {
	for d.StackDepth() > 0 {
		var err error
		if k := d.PeekKind(); k == '}' || k == ']' {
			_, err = d.ReadToken()
		} else {
			err = d.SkipValue()
		}
		if err != nil {
			return err
		}
	}
	if _, err := d.ReadToken(); err != io.EOF { //nolint:errorlint // as it is documented
		return errors.New("something follows the JSON value")
	}
	return nil
}

// text returns the text or number that p leads to in a raw document, "" for null and
// where there is none.
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
	return "", fmt.Errorf("%s is neither a text nor a number", p)
}

var errDepth = errors.New("is nested too deep")

// decode returns a JSON value as jq takes it: numbers as they are written.
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
	case 't':
		return true, nil
	case 'f':
		return false, nil
	case '"':
		return t.String(), nil
	case '0':
		n := t.String()
		if len(n) > maxNumberLength {
			return nil, fmt.Errorf("holds a number of %d characters", len(n))
		}
		return json.Number(n), nil
	case '{':
		if depth == 0 {
			return nil, errDepth
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
		_, err := d.ReadToken()
		return members, err
	case '[':
		if depth == 0 {
			return nil, errDepth
		}
		elements := []any{}
		for d.PeekKind() != ']' {
			v, err := decodeValue(d, depth-1)
			if err != nil {
				return nil, err
			}
			elements = append(elements, v)
		}
		_, err := d.ReadToken()
		return elements, err
	}
	return nil, nil
}

// String returns the path as a mapping file has it.
func (p path) String() string {
	if len(p) == 0 {
		return "the body"
	}
	return strings.Join(p, ".")
}
