package contracttests

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// parseXML parses an XML body. It returns a record whose only member is the root element.
// A self-closing element is null; an element without child elements is a text.
// Attributes, prefixes, comments and text between elements are errors, because the
// contract has none (wire 7, XML).
func parseXML(body string) (node, error) {
	dec := xml.NewDecoder(strings.NewReader(body))
	root := node{kind: record}
	for {
		tok, err := dec.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			return node{}, err
		}
		switch v := tok.(type) {
		case xml.ProcInst: // its content is checked by rendering the body again
		case xml.StartElement:
			value, err := parseXMLElement(dec, v, 0)
			if err != nil {
				return node{}, err
			}
			root.members = append(root.members, member{v.Name.Local, value})
		case xml.CharData:
			if strings.TrimSpace(string(v)) != "" {
				return node{}, fmt.Errorf("text outside the root element, before byte %d", dec.InputOffset())
			}
		default:
			return node{}, fmt.Errorf("unexpected %T before byte %d", v, dec.InputOffset())
		}
	}
	if len(root.members) != 1 {
		return node{}, fmt.Errorf("%d root elements", len(root.members))
	}
	return root, nil
}

// parseXMLElement parses the content of an element up to its end tag.
func parseXMLElement(dec *xml.Decoder, start xml.StartElement, depth int) (node, error) {
	if depth > maxDepth {
		return node{}, errDepth
	}
	if start.Name.Space != "" || len(start.Attr) > 0 {
		return node{}, fmt.Errorf("element <%s> has a prefix or attributes", start.Name.Local)
	}
	opened := dec.InputOffset()
	n := node{kind: null}
	var chars strings.Builder
	for {
		tok, err := dec.Token()
		if err == io.EOF {
			return node{}, io.ErrUnexpectedEOF
		}
		if err != nil {
			return node{}, err
		}
		switch v := tok.(type) {
		case xml.StartElement:
			value, err := parseXMLElement(dec, v, depth+1)
			if err != nil {
				return node{}, err
			}
			n.members = append(n.members, member{v.Name.Local, value})
		case xml.CharData:
			chars.Write(v)
		case xml.EndElement:
			switch {
			case len(n.members) > 0:
				// Recordings contain {{any}} in place of the white space after
				// some elements. A reply with this text would differ from its
				// rendering.
				if strings.TrimSpace(strings.ReplaceAll(chars.String(), "{{any}}", "")) != "" {
					return node{}, fmt.Errorf("element <%s> has text between elements", start.Name.Local)
				}
				n.kind = record
				if n.isXMLList() {
					n.kind = list
				}
			case dec.InputOffset() > opened: // there is an end tag
				n.kind, n.text = text, chars.String()
			}
			return n, nil
		default:
			return node{}, errors.New("unexpected comment, directive or instruction in an element")
		}
	}
}

// isXMLList reports whether all members are list entries: data_item or, in the documented
// list of orders, data_item_1 and so on.
func (n *node) isXMLList() bool {
	for i := range n.members {
		name := n.members[i].name
		if name != "data_item" && !strings.HasPrefix(name, "data_item_") {
			return false
		}
	}
	return true
}

// renderXML writes the document that parseXML returned as n, in the XML notation of the
// contract (wire 7, XML).
func renderXML(b *strings.Builder, n *node) {
	b.WriteString("<?xml version=\"1.0\"?>\n")
	renderElements(b, n.members, "")
}

// renderElements writes the members that are elements, one on each line.
func renderElements(b *strings.Builder, members []member, indent string) {
	for i := range members {
		name, n := members[i].name, &members[i].value
		if isAttribute(name) {
			continue
		}
		b.WriteString(indent + "<" + name)
		elements := renderAttributes(b, n.members)
		switch {
		case n.kind == null, len(n.members) > 0 && elements == 0:
			b.WriteString("/>\n")
			continue
		case elements > 0:
			b.WriteString(">\n")
			renderElements(b, n.members, indent+"  ")
			b.WriteString(indent)
		default:
			b.WriteByte('>')
			writeXMLText(b, n.text)
		}
		b.WriteString("</" + name + ">\n")
	}
}

// isAttribute reports whether a member is an XML attribute. Only requests have
// attributes.
func isAttribute(name string) bool { return strings.HasPrefix(name, "@") }

// renderAttributes writes the members that are attributes, and returns the number of the
// others.
func renderAttributes(b *strings.Builder, members []member) int {
	elements := 0
	for i := range members {
		if !isAttribute(members[i].name) {
			elements++
			continue
		}
		b.WriteString(" " + members[i].name[1:] + `="`)
		var value strings.Builder
		writeXMLText(&value, members[i].value.text)
		b.WriteString(strings.ReplaceAll(value.String(), `"`, "&quot;") + `"`)
	}
	return elements
}

// writeXMLText writes a text in which &, <, >, carriage returns and all characters
// outside ASCII are escaped.
func writeXMLText(b *strings.Builder, s string) {
	for _, r := range s {
		switch {
		case r == '&':
			b.WriteString("&amp;")
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '\r' || r >= 0x80:
			fmt.Fprintf(b, "&#x%X;", r)
		default:
			b.WriteRune(r)
		}
	}
}
