package expr

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// HasErrors reports whether a response has errors. It fails if the body is not a response
// with data; both may be the case. It does not look for repeated names inside the data.
func HasErrors(body []byte) (has bool, err error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true))
	start, err := d.ReadToken()
	if err == nil && start.Kind() != '{' {
		err = errors.New("the body is not an object")
	}
	count, isObject := 0, false // of members with the name data
	for err == nil && d.PeekKind() != '}' {
		var name jsontext.Token
		if name, err = d.ReadToken(); err != nil {
			break
		}
		member := name.String()
		var value jsontext.Value
		value, err = d.ReadValue()
		switch {
		case member == "errors":
			has = has || err != nil || value.Kind() != 'n' && !isEmptyList(value)
		case member == "data":
			count, isObject = count+1, value.Kind() == '{'
		}
	}
	if err == nil {
		_, err = d.ReadToken()
	}
	switch {
	case err != nil:
	case !isEnd(d):
		err = errors.New("there is data after the JSON value")
	case !isObject:
		err = errors.New("data is missing or null")
	case count > 1:
		err = errors.New("data is repeated")
	}
	return has, err
}

// isEnd reports whether d has read all of its input.
func isEnd(d *jsontext.Decoder) bool {
	_, err := d.ReadToken()
	return err == io.EOF //nolint:errorlint // ReadToken documents a bare io.EOF
}

func isEmptyList(v jsontext.Value) bool {
	return v.Kind() == '[' && len(bytes.TrimSpace(v[1:len(v)-1])) == 0
}
