package codec

import (
	"math"

	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/numeric"
)

// Append appends a reply body to dst: n, a Struct, in format f (wire 7 and 8).
//
// root is the name of the root element in XML. With numbered set, XML names the
// entries of n data_item_1, data_item_2 and so on by their position ("Documented
// orders list"); the other formats have no use for either. Text that is not
// UTF-8 keeps its bytes in the Text format, is shown with U+FFFD in JSON and
// leaves its element empty in XML.
func Append(dst []byte, f contract.Format, root string, n *Node, numbered bool) []byte {
	switch f {
	case contract.XML:
		return appendXML(dst, root, n, numbered)
	case contract.Text:
		return appendForm(dst, n)
	default:
		return appendJSON(dst, n)
	}
}

// jsonNumber returns the text of a number node as JSON. Beyond the float range
// only the literal itself says what was meant.
func jsonNumber(n *Node) string {
	_, f, whole := numeric.Literal(n.Text)
	switch {
	case whole:
		return n.String()
	case math.IsInf(f, 0):
		return n.Text
	default:
		return numeric.JSON(f)
	}
}
