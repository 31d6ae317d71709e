package codec

import (
	"strconv"
)

// A Kind is the kind of a [Node].
type Kind uint8

// The kinds of nodes. Null is the zero Kind.
const (
	Null   Kind = iota
	False       // the JSON literal
	True        // the JSON literal
	Number      // Text is the JSON number
	Text        // Text is the text
	Struct      // Members: a list or a record; the wire does not distinguish the two
	// EmptyRecord, only in replies, is a record without members where the contract
	// distinguishes it from an empty list: {} in JSON.
	EmptyRecord
)

// A Node is one value of a request or reply body: an ordered tree that preserves the properties
// that the contract's rules depend on: the order of members and whether a number was sent as a
// number or as text. The zero Node is null.
type Node struct {
	Kind    Kind
	Text    string
	Members []Member
}

// A Member is one entry of a [Struct] node. Entries of a list have the keys "0", "1", … as in
// the original, where lists are records, too.
type Member struct {
	Key   string
	Value Node
}

// TextNode returns a text node.
func TextNode(s string) Node { return Node{Kind: Text, Text: s} }

// NumberNode returns a number node; s must be a JSON number.
func NumberNode(s string) Node { return Node{Kind: Number, Text: s} }

// RecordNode returns a record.
func RecordNode(members ...Member) Node { return Node{Kind: Struct, Members: members} }

// ListNode returns a list.
func ListNode(values []Node) Node {
	n := Node{Kind: Struct, Members: make([]Member, len(values))}
	for i, v := range values {
		n.Members[i] = Member{Key: strconv.Itoa(i), Value: v}
	}
	return n
}

// TextsNode returns a list of texts.
func TextsNode(texts []string) Node {
	values := make([]Node, len(texts))
	for i, text := range texts {
		values[i] = TextNode(text)
	}
	return ListNode(values)
}

// Get returns the value for key and whether there is one.
func (n *Node) Get(key string) (*Node, bool) {
	for i := range n.Members {
		if n.Members[i].Key == key {
			return &n.Members[i].Value, true
		}
	}
	return nil, false
}

// String returns the value as text, in the form in which it is stored and shown in messages
// (wire 6.2): "" for null and false, "1" for true, the text form of a number. A Struct has no
// text form and yields "".
func (n *Node) String() string {
	switch n.Kind {
	case True:
		return "1"
	case Number:
		i, f, whole := ParseLiteral(n.Text)
		if whole {
			return strconv.FormatInt(i, 10)
		}
		return NumberText(f)
	case Text:
		return n.Text
	default:
		return ""
	}
}

// A Shape is the form that a [Struct] takes on the wire, which depends on its keys.
type Shape uint8

const (
	Array Shape = iota // no keys, or "0", "1", … in order: a list
	Keyed              // other keys, all of them digits: a list in XML, a record in JSON
	Named              // all other keys: a record
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
