package codec

import (
	"bytes"
	"encoding/xml"
	"io"
	"strconv"
	"strings"
)

// decodeXML decodes an XML document (wire 6.4). encoding/xml splits it into tokens; this package
// makes the checks that encoding/xml lacks: a single root and nothing next to it, matching tags,
// unique attributes, declared prefixes, valid references to characters and entities.
func decodeXML(body []byte) (Node, error) {
	doc, ok := xmlText(body)
	if !ok {
		return Node{}, ErrSyntax
	}
	r := xmlReader{prefixes: map[string][]string{}, entities: entities{texts: map[string]string{}, names: map[string]string{}}}
	if !r.read(doc) || !r.rooted {
		return Node{}, ErrSyntax
	}
	return r.root, nil
}

// An xmlReader builds the tree of a document. Its methods return false if the document is not
// well-formed or exceeds a limit.
type xmlReader struct {
	open     []*element          // elements that are not closed yet
	prefixes map[string][]string // namespaces by prefix, the innermost last
	entities entities
	typed    bool // after the document type declaration
	rooted   bool // after the start of the root
	root     Node
	values   int
}

// An element is an element that is being parsed.
type element struct {
	name     xml.Name // Space is the prefix
	fields   fields
	entries  int            // number of data_item children, which have no name
	lists    map[string]int // repeated names, with the next index of each
	leaf     bool           // no relevant children so far
	text     []byte         // of a leaf
	prefixes []string       // declared here
}

// dataItem is the element name of an entry of a list (contract 2, convention 1).
const dataItem = "data_item"

// read parses a whole document, or the replacement text of an entity, which must be balanced.
func (r *xmlReader) read(doc string) bool {
	depth := len(r.open)
	dec := xml.NewDecoder(strings.NewReader(doc))
	dec.Entity = r.entities.names
	for {
		start := dec.InputOffset()
		tok, err := dec.RawToken()
		if err != nil {
			return err == io.EOF && len(r.open) == depth
		}
		raw := doc[start:dec.InputOffset()]
		var ok bool
		switch tok := tok.(type) {
		case xml.StartElement:
			ok = r.start(tok, raw)
		case xml.EndElement:
			ok = len(r.open) > depth && r.end(tok.Name)
		case xml.CharData:
			ok = r.characters(tok, raw)
		case xml.ProcInst:
			ok = validInstruction(tok, raw)
		case xml.Directive:
			ok = !r.typed && !r.rooted && r.entities.declare(string(tok))
			r.typed = true
		case xml.Comment:
			ok = true
		}
		if !ok {
			return false
		}
	}
}

// validInstruction checks a processing instruction. The XML declaration has been removed before.
func validInstruction(pi xml.ProcInst, raw string) bool {
	behind := raw[len("<?")+len(pi.Target)]
	return !strings.EqualFold(pi.Target, "xml") && (isXMLBlank(behind) || behind == '?')
}

func isXMLBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func (r *xmlReader) start(tag xml.StartElement, raw string) bool {
	if len(r.open) == 0 && r.rooted || len(r.open) == maxXMLDepth {
		return false
	}
	r.rooted = true
	if r.values += 1 + len(tag.Attr); r.values > maxValues {
		return false
	}
	e := &element{name: tag.Name, leaf: true}
	if len(tag.Attr) > 0 {
		attributes, ok := r.attributes(tag, raw)
		if !ok || !r.declare(e, attributes) {
			return false
		}
	}
	r.open = append(r.open, e)
	return r.declared(tag.Name) && tag.Name.Space != "xmlns"
}

// declare processes the attributes of e: namespaces and, without a prefix, fields.
func (r *xmlReader) declare(e *element, attributes []xml.Attr) bool {
	for _, a := range attributes {
		if a.Name.Space != "xmlns" {
			continue
		}
		if a.Name.Local == "xmlns" || a.Value == "" {
			return false
		}
		r.prefixes[a.Name.Local] = append(r.prefixes[a.Name.Local], a.Value)
		e.prefixes = append(e.prefixes, a.Name.Local)
	}
	seen := make(map[xml.Name]bool, len(attributes))
	for _, a := range attributes {
		name := a.Name
		if !r.declared(name) {
			return false
		}
		if uris := r.prefixes[name.Space]; len(uris) > 0 {
			name.Space = uris[len(uris)-1]
		}
		if seen[name] {
			return false
		}
		seen[name] = true
		if name.Space == "" && name.Local != "xmlns" {
			e.fields.add(name.Local, TextNode(a.Value))
		}
	}
	return true
}

// declared reports whether name is a qualified name whose prefix is declared.
func (r *xmlReader) declared(name xml.Name) bool {
	if strings.Contains(name.Local, ":") {
		return false
	}
	switch name.Space {
	case "", "xml", "xmlns":
		return true
	}
	return len(r.prefixes[name.Space]) > 0
}

func (r *xmlReader) end(name xml.Name) bool {
	e := r.open[len(r.open)-1]
	if e.name != name {
		return false
	}
	r.open = r.open[:len(r.open)-1]
	for _, prefix := range e.prefixes {
		uris := r.prefixes[prefix]
		r.prefixes[prefix] = uris[:len(uris)-1]
	}
	switch {
	case len(r.open) == 0:
		r.root = e.fields.node()
	case name.Space == "":
		r.open[len(r.open)-1].child(name.Local, e.value())
	}
	return true
}

// value returns the decoded value of an element below the root.
func (e *element) value() Node {
	if e.leaf {
		if len(e.fields.members) == 0 {
			return TextNode(string(e.text))
		}
		if i, ok := e.fields.find("value"); ok {
			return e.fields.members[i].Value
		}
	}
	return e.fields.node()
}

// child adds a child's value. A repeated name becomes a list, which grows with each value.
func (e *element) child(name string, value Node) {
	e.leaf, e.text = false, nil
	i, repeated := e.fields.find(name)
	switch {
	case repeated:
		list := &e.fields.members[i].Value
		next, ok := e.lists[name]
		if !ok {
			next = makeList(list)
		}
		list.Members = append(list.Members, Member{strconv.Itoa(next), value})
		if e.lists == nil {
			e.lists = map[string]int{}
		}
		e.lists[name] = next + 1
	case name == dataItem:
		e.fields.add(strconv.Itoa(e.entries), value)
		e.entries++
	default:
		e.fields.add(name, value)
	}
}

// makeList turns n into a list with its own value as the first entry, unless n has an entry 0,
// and returns the next index. XML names cannot begin with a digit, so the members whose keys do
// are the entries.
func makeList(n *Node) (next int) {
	if _, ok := n.Get("0"); !ok {
		*n = Node{Kind: Struct, Members: []Member{{"0", *n}}}
		return 1
	}
	for _, m := range n.Members {
		if '0' <= m.Key[0] && m.Key[0] <= '9' {
			next++
		}
	}
	return next
}

func (r *xmlReader) characters(data xml.CharData, raw string) bool {
	if len(r.open) == 0 {
		return strings.Trim(raw, " \t\r\n") == ""
	}
	if !strings.HasPrefix(raw, "<![CDATA[") && strings.Contains(raw, "&") {
		if !validCharRefs(raw) {
			return false
		}
		if len(r.entities.names) > 0 {
			return r.expand(raw)
		}
	}
	r.text(data)
	return true
}

func (r *xmlReader) text(data []byte) {
	if e := r.open[len(r.open)-1]; e.leaf {
		e.text = append(e.text, data...)
	}
}

// expand parses text that may refer to entities of the document.
func (r *xmlReader) expand(raw string) bool {
	for raw != "" {
		before, name, behind := r.entities.cut(raw)
		if before != "" {
			tok, err := xml.NewDecoder(strings.NewReader(before)).RawToken()
			data, ok := tok.(xml.CharData)
			if err != nil || !ok {
				return false
			}
			r.text(data)
		}
		if name != "" {
			replacement, ok := r.entities.enter(name)
			if !ok || !r.read(replacement) {
				return false
			}
			r.entities.leave()
		}
		raw = behind
	}
	return true
}

// attributes returns the attributes of a tag, processed according to XML: separated by blanks,
// with line breaks in values replaced by blanks and entities expanded.
func (r *xmlReader) attributes(tag xml.StartElement, raw string) ([]xml.Attr, bool) {
	if !validCharRefs(raw) {
		return nil, false
	}
	var (
		out   = make([]byte, 0, len(raw))
		quote byte
		ok    bool
	)
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		switch {
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case c == quote:
			quote = 0
			if next := raw[i+1]; !isXMLBlank(next) && next != '/' && next != '>' {
				return nil, false
			}
		case c == '\r' && raw[i+1] == '\n':
			continue
		case isXMLBlank(c):
			c = ' '
		case c == '&':
			if name, n := r.entities.reference(raw[i:]); name != "" {
				if out, ok = r.entities.appendAttribute(out, name); !ok {
					return nil, false
				}
				i += n - 1
				continue
			}
		}
		out = append(out, c)
	}
	if string(out) == raw {
		return tag.Attr, true
	}
	tok, err := xml.NewDecoder(bytes.NewReader(out)).RawToken()
	tag, ok = tok.(xml.StartElement)
	return tag.Attr, ok && err == nil
}
