package codec

import (
	"bytes"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// decodeJSON decodes a JSON text (wire 6.2). It is strict about UTF-8, escapes and literals. The
// last of several values for a name counts, at the position of the first.
func decodeJSON(body []byte) (Node, error) {
	r := jsonReader{dec: jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true))}
	n, err := r.value()
	if err != nil {
		return Node{}, ErrSyntax
	}
	if _, err := r.dec.ReadToken(); err != io.EOF {
		return Node{}, ErrSyntax
	}
	return n, nil
}

type jsonReader struct {
	dec    *jsontext.Decoder
	values int
}

// value decodes the next value. maxJSONDepth limits its recursion.
func (r *jsonReader) value() (Node, error) {
	tok, err := r.dec.ReadToken()
	if err != nil {
		return Node{}, err
	}
	if r.values++; r.values > maxValues {
		return Node{}, ErrSyntax
	}
	switch tok.Kind() {
	case 'n':
		return Node{}, nil
	case 'f':
		return Node{Kind: False}, nil
	case 't':
		return Node{Kind: True}, nil
	case '0':
		return NumberNode(tok.String()), nil
	case '"':
		return TextNode(tok.String()), nil
	}
	if r.dec.StackDepth() > maxJSONDepth {
		return Node{}, ErrSyntax
	}
	if tok.Kind() == '[' {
		return r.array()
	}
	return r.object()
}

func (r *jsonReader) array() (Node, error) {
	n := Node{Kind: Struct}
	for r.dec.PeekKind() != ']' {
		v, err := r.value()
		if err != nil {
			return Node{}, err
		}
		n.Members = append(n.Members, Member{strconv.Itoa(len(n.Members)), v})
	}
	_, err := r.dec.ReadToken()
	return n, err
}

func (r *jsonReader) object() (Node, error) {
	var record fields
	for r.dec.PeekKind() != '}' {
		name, err := r.dec.ReadToken()
		if err != nil {
			return Node{}, err
		}
		key := name.String()
		v, err := r.value()
		if err != nil {
			return Node{}, err
		}
		if i, ok := record.find(key); ok {
			record.members[i].Value = v
		} else {
			record.add(key, v)
		}
	}
	_, err := r.dec.ReadToken()
	return record.node(), err
}
