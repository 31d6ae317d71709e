package codec

import (
	"errors"
	"strings"

	"github.com/portico-commerce/portico/mapping/contract"
)

// Errors of [Decode].
var (
	// ErrSyntax: the body is not a valid document of its format, or is nested too deeply or
	// has too many values ("Decoding error.").
	ErrSyntax = errors.New("codec: the body is not a valid document")
	// ErrAlphabet: a form body contains a character that must be escaped
	// ("Invalid data type. Check Content-Type.").
	ErrAlphabet = errors.New("codec: the body is not form-encoded")
)

const (
	maxJSONDepth = 511     // nested objects and arrays (wire 6.2)
	maxXMLDepth  = 256     // nested elements, the root included (wire 6.4)
	maxFormDepth = 64      // brackets in one name
	maxValues    = 1 << 18 // values in one body, which bounds memory
)

// blanks are the only characters of a body that counts as empty (wire 6.1).
const blanks = " \t\n\r\v\f"

// Decode decodes a request body in format f (wire 6.2 to 6.5). The result may be of any kind
// for JSON and is a Struct for XML and Text. Errors are [ErrSyntax] and [ErrAlphabet]. The
// caller must limit the size of body.
func Decode(f contract.Format, body []byte) (Node, error) {
	switch f {
	case contract.XML:
		return decodeXML(body)
	case contract.Text:
		return decodeForm(string(body))
	default:
		return decodeJSON(body)
	}
}

func decodeForm(body string) (Node, error) {
	if strings.Trim(body, blanks) == "" {
		return Node{Kind: Struct}, nil
	}
	if !inAlphabet(body) {
		return Node{}, ErrAlphabet
	}
	n, ok := parseForm(body)
	if !ok {
		return Node{}, ErrSyntax
	}
	return n, nil
}

// fields collects the members of a Struct with unique keys.
type fields struct {
	members []Member
	index   map[string]int // position by key; only used with manyFields or more
}

// manyFields is the number of members from which a map is faster than a linear search. It
// keeps the time for a large body linear.
const manyFields = 16

// find returns the position of key among the members.
func (f *fields) find(key string) (int, bool) {
	if f.index != nil {
		i, ok := f.index[key]
		return i, ok
	}
	for i := range f.members {
		if f.members[i].Key == key {
			return i, true
		}
	}
	return 0, false
}

// add appends a member, whose key must be new.
func (f *fields) add(key string, value Node) {
	f.members = append(f.members, Member{key, value})
	switch {
	case f.index != nil:
		f.index[key] = len(f.members) - 1
	case len(f.members) == manyFields:
		f.index = make(map[string]int, 2*manyFields)
		for i := range f.members {
			f.index[f.members[i].Key] = i
		}
	}
}

// node returns the collected Struct.
func (f *fields) node() Node { return Node{Kind: Struct, Members: f.members} }
