package codec

import (
	"math"
	"strconv"
	"strings"

	"github.com/portico-commerce/portico/mapping/contract"
)

// Append appends a reply body to dst: n, a Struct, in format f (wire 7 and 8).
//
// root is the name of the root element in XML. With numbered, XML names the entries of n
// data_item_1, data_item_2 and so on by position ("Documented orders list"). The other formats
// use neither. Text that is not valid UTF-8 keeps its bytes in the Text format, is shown with
// U+FFFD in JSON and yields an empty element in XML.
func Append(dst []byte, f contract.Format, root string, n *Node, numbered bool) []byte {
	if n.Kind != Struct {
		return appendValue(dst, f, root, n)
	}
	e := NewEncoder(f, root, n.Shape(), numbered)
	for i := range n.Members {
		dst = e.Append(dst, &n.Members[i])
	}
	return e.End(dst)
}

// appendValue renders a body without members.
func appendValue(dst []byte, f contract.Format, root string, n *Node) []byte {
	switch f {
	case contract.XML:
		return appendElement(append(dst, prolog...), root, n, 0)
	case contract.Text:
		return dst // a value without a name cannot be written as a form
	default:
		return appendJSON(dst, n)
	}
}

// An Encoder renders a Struct member by member. Its output equals the output of [Append], but a long
// list never needs to be in memory as a whole.
type Encoder struct {
	format   contract.Format
	root     string
	shape    Shape
	numbered bool
	members  int // rendered so far
	form     formWriter
}

// NewEncoder returns an encoder for a Struct of the given shape; f, root and numbered are as for
// [Append]. The shape must be known in advance because it determines the first byte.
func NewEncoder(f contract.Format, root string, shape Shape, numbered bool) Encoder {
	return Encoder{format: f, root: root, shape: shape, numbered: numbered}
}

// Append appends the next member to dst.
func (e *Encoder) Append(dst []byte, m *Member) []byte {
	place := e.members
	e.members++
	switch e.format {
	case contract.XML:
		if place == 0 {
			dst = appendOpening(append(dst, prolog...), e.root, 0)
		}
		name := elementOf(e.shape, m.Key)
		if e.numbered {
			name = dataItem + "_" + strconv.Itoa(e.members)
		}
		return appendElement(dst, name, &m.Value, 1)
	case contract.Text:
		return e.form.member(dst, m, false)
	default:
		return appendJSONMember(dst, e.shape, place, m)
	}
}

// End appends the text after the last member.
func (e *Encoder) End(dst []byte) []byte {
	switch {
	case e.format == contract.Text:
		return dst
	case e.format != contract.XML:
		return appendJSONEnd(dst, e.shape, e.members)
	case e.members == 0:
		return appendValue(dst, e.format, e.root, &Node{})
	default:
		return appendClosing(dst, e.root, 0)
	}
}

// jsonNumber returns the JSON text of a number node. Numbers out of float range keep their
// literal.
func jsonNumber(n *Node) string {
	if isAmount(n.Text) {
		return n.Text
	}
	_, f, whole := ParseLiteral(n.Text)
	switch {
	case whole:
		return n.String()
	case math.IsInf(f, 0):
		return n.Text
	default:
		return JSONNumber(f)
	}
}

// isAmount reports whether s, a number, is its own JSON text: up to twelve digits, and then up to two
// decimal places of which the last is not 0. Most numbers in replies are prices.
func isAmount(s string) bool {
	whole, decimals, point := strings.Cut(s, ".")
	if len(whole) > 12 || len(whole) > 1 && whole[0] == '0' || !isDigits(whole) {
		return false
	}
	return !point || len(decimals) <= 2 && isDigits(decimals) && decimals[len(decimals)-1] != '0'
}
