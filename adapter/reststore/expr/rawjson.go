package expr

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A Path is a list of member names that lead to a value in a document. The empty path is
// the document itself.
type Path []string

// UnmarshalText decodes a path such as "data.items". "." is the document itself.
func (p *Path) UnmarshalText(text []byte) error {
	*p = Path{}
	if string(text) != "." {
		*p = strings.Split(string(text), ".")
	}
	if slices.Contains(*p, "") || strings.ContainsAny(string(text), "[]|") {
		return errors.New("must be names separated by dots, such as data.items, or . for the whole body")
	}
	return nil
}

// String returns the path as it is written in a mapping file.
func (p Path) String() string {
	if len(p) == 0 {
		return "the body"
	}
	return strings.Join(p, ".")
}

// Reset makes d read a text whose objects may have two members of one name.
func Reset(d *jsontext.Decoder, text []byte) *jsontext.Decoder {
	d.Reset(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true))
	return d
}

// AppendElements reads a list or an object and appends its elements or the values of its
// members.
func AppendElements(all []jsontext.Value, d *jsontext.Decoder, body []byte) ([]jsontext.Value, error) {
	start, err := d.ReadToken()
	isObject := start.Kind() == '{'
	for err == nil && d.PeekKind() != ']' && d.PeekKind() != '}' {
		if isObject {
			_, err = d.ReadToken() // the name
		}
		if err == nil {
			all, err = AppendValue(all, d, body)
		}
	}
	if err == nil {
		_, err = d.ReadToken()
	}
	return all, err
}

// AppendValue reads the next value and appends it as a slice of body.
func AppendValue(all []jsontext.Value, d *jsontext.Decoder, body []byte) ([]jsontext.Value, error) {
	v, err := d.ReadValue()
	if err != nil {
		return all, err
	}
	end := int(d.InputOffset())
	return append(all, body[end-len(v):end:end]), nil
}

// Seek advances d to the value at path p. It reports false if there is none.
func Seek(d *jsontext.Decoder, p Path) (found bool, err error) {
	for _, name := range p {
		if d.PeekKind() != '{' {
			_, err := d.ReadValue()
			return false, err
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
			if _, err := d.ReadValue(); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// ExpectEnd reads the rest of the JSON value of which d has reached path p. It fails if
// anything follows it, and if a member of the path is repeated.
func ExpectEnd(d *jsontext.Decoder, p Path) error {
	for d.StackDepth() > 0 {
		depth := d.StackDepth()
		t, err := d.ReadToken()
		if err == nil && t.Kind() != '}' {
			if t.String() == p[depth-1] {
				return fmt.Errorf("%s is repeated", p[:depth])
			}
			_, err = d.ReadValue()
		}
		if err != nil {
			return err
		}
	}
	if _, err := d.ReadToken(); err != io.EOF { //nolint:errorlint // ReadToken documents a bare io.EOF
		return errors.New("there is data after the JSON value")
	}
	return nil
}

// token returns the first token of the value at path p in d's input, or null if it is
// missing.
func token(d *jsontext.Decoder, p Path) (jsontext.Token, error) {
	if found, err := Seek(d, p); err != nil || !found {
		return jsontext.Null, err
	}
	return d.ReadToken()
}

// FlagAt returns the boolean at path p of a raw document.
func FlagAt(raw jsontext.Value, p Path) (bool, error) {
	t, err := token(Reset(new(jsontext.Decoder), raw), p)
	if kind := t.Kind(); err == nil && kind != 't' && kind != 'f' {
		err = fmt.Errorf("%s is not a boolean", p)
	}
	return err == nil && t.Bool(), err
}

// TextAt returns the string or number at path p of a raw document, or "" if it is null or
// missing.
func TextAt(raw jsontext.Value, p Path) (string, error) {
	return ReadText(Reset(new(jsontext.Decoder), raw), p)
}

// IntegerAt returns the integer at path p of a raw document.
func IntegerAt(raw jsontext.Value, p Path) (int64, error) {
	text, err := TextAt(raw, p)
	if err != nil {
		return 0, err
	}
	i, err := Integer(text)
	if err != nil {
		err = fmt.Errorf("%s %w", p, err)
	}
	return i, err
}

// ReadText is TextAt for the next value of d.
func ReadText(d *jsontext.Decoder, p Path) (string, error) {
	t, err := token(d, p)
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

// ErrDepth is the error of a value that is nested too deeply.
var ErrDepth = errors.New("is nested too deeply")

// Decode decodes a JSON value for jq, with numbers as json.Number. It fails if objects and
// lists nest deeper than depth.
func Decode(raw []byte, depth int) (v any, err error) {
	number := jsonv2.UnmarshalFromFunc(func(d *jsontext.Decoder, v *any) error {
		switch kind := d.PeekKind(); {
		case (kind == '{' || kind == '[') && d.StackDepth() >= depth:
			return ErrDepth
		case kind != '0':
			return errors.ErrUnsupported
		}
		n, err := d.ReadValue()
		if len(n) > maxNumberLength {
			return fmt.Errorf("contains a number of %d characters", len(n))
		}
		*v = json.Number(n)
		return err
	})
	err = jsonv2.Unmarshal(raw, &v, jsonv2.WithUnmarshalers(number))
	return v, err
}
