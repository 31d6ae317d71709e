package codec

import (
	"strconv"

	"github.com/portico-commerce/portico/mapping/numeric"
)

// A Kind says what a [Node] is.
type Kind uint8

const (
	Null   Kind = iota
	False       // the JSON literal
	True        // the JSON literal
	Number      // Text is a JSON number as sent, or to be sent
	Text        // Text is the text
	Struct      // Members: a list or a record, which the wire does not tell apart
	// EmptyRecord, in replies only, is a record without members where the
	// contract wants one told from an empty list: {} in JSON.
	EmptyRecord
)

// A Node is one value of a request or reply body: an ordered tree that keeps
// what the contract's rules depend on, the order of the members and whether a
// number was sent as number or as text. The zero Node is null.
type Node struct {
	Kind    Kind
	Text    string
	Members []Member
}

// A Member is one entry of a [Struct] node. Entries of a list have the keys
// "0", "1", … as on the wire of the original, where lists are records too.
type Member struct {
	Key   string
	Value Node
}

// TextNode returns a text node.
func TextNode(s string) Node { return Node{Kind: Text, Text: s} }

// NumberNode returns a number node; s must be a JSON number.
func NumberNode(s string) Node { return Node{Kind: Number, Text: s} }

// Get returns the value under key, and whether there is one.
func (n *Node) Get(key string) (*Node, bool) {
	for i := range n.Members {
		if n.Members[i].Key == key {
			return &n.Members[i].Value, true
		}
	}
	return nil, false
}

// String returns the value as text, as it is stored and shown in messages
// (wire 6.2): null and false are "", true is "1", a number has its text form. A
// Struct has none and is "".
func (n *Node) String() string {
	switch n.Kind {
	case True:
		return "1"
	case Number:
		i, f, whole := numeric.Literal(n.Text)
		if whole {
			return strconv.FormatInt(i, 10)
		}
		return numeric.Text(f)
	case Text:
		return n.Text
	default:
		return ""
	}
}

// A Shape says what a [Struct] is on the wire, which knows it by the keys.
type Shape uint8

const (
	Array Shape = iota // keys "0", "1", … in this order, or none: a list
	Keyed              // other keys of digits alone: a list in XML, a record in JSON
	Named              // any other keys: a record
)

// Shape returns the shape of n, a Struct.
func (n *Node) Shape() Shape {
	shape := Array
	var buf [20]byte
	for i := range n.Members {
		key := n.Members[i].Key
		if shape == Array && key == string(strconv.AppendInt(buf[:0], int64(i), 10)) {
			continue
		}
		if !isDigits(key) {
			return Named
		}
		shape = Keyed
	}
	return shape
}

func isDigits(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
