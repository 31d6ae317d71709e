package codec

import (
	"errors"
	"strings"

	"github.com/portico-commerce/portico/mapping/contract"
)

// What [Decode] fails with.
var (
	// ErrSyntax: the body is no document of its format, or one too deep or
	// with too many values ("Decoding error.").
	ErrSyntax = errors.New("codec: the body does not decode")
	// ErrAlphabet: a form body holds a character that must be escaped
	// ("Invalid data type. Check Content-Type.").
	ErrAlphabet = errors.New("codec: the body is not form-encoded")
)

const (
	maxJSONDepth = 511     // nested objects and arrays (wire 6.2)
	maxXMLDepth  = 256     // nested elements, the root included (wire 6.4)
	maxFormDepth = 64      // brackets of one name
	maxValues    = 1 << 18 // values of one body, so that memory stays in proportion
)

// blanks are the characters of a body that counts as empty (wire 6.1).
const blanks = " \t\n\r\v\f"

// Decode returns the value of a request body in format f (wire 6.2 to 6.5),
// which may be of any kind in JSON and is a Struct in XML and Text. It fails
// with [ErrSyntax] or [ErrAlphabet]. The caller limits the size of body.
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

// fields collects the members of one Struct, each key once.
type fields struct {
	members []Member
	index   map[string]int // places by key, kept once there are many
}

// manyFields is the number of members from which on a map finds a key faster
// than a look at each, and keeps the time for a large body linear.
const manyFields = 16

// find returns the place of key among the members.
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

// add appends a member whose key is not there yet.
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

// node returns the Struct collected.
func (f *fields) node() Node { return Node{Kind: Struct, Members: f.members} }
