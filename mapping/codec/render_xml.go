package codec

import (
	"strings"
	"unicode/utf8"
)

const prolog = "<?xml version=\"1.0\"?>\n"

// appendElement renders an element, indented according to its depth (wire 7, "XML").
func appendElement(dst []byte, name string, n *Node, depth int) []byte {
	if n.Kind == Struct && len(n.Members) > 0 {
		dst = appendOpening(dst, name, depth)
		shape := n.Shape()
		for i := range n.Members {
			m := &n.Members[i]
			dst = appendElement(dst, elementOf(shape, m.Key), &m.Value, depth+1)
		}
		return appendClosing(dst, name, depth)
	}
	dst = append(append(appendIndent(dst, depth), '<'), name...)
	text := n.String()
	if text == "" {
		return append(dst, "/>\n"...)
	}
	dst = appendXMLText(append(dst, '>'), text)
	return append(append(append(dst, "</"...), name...), ">\n"...)
}

// appendOpening appends the start tag of an element with child elements.
func appendOpening(dst []byte, name string, depth int) []byte {
	return append(append(append(appendIndent(dst, depth), '<'), name...), ">\n"...)
}

// appendClosing appends the end tag of an element with child elements.
func appendClosing(dst []byte, name string, depth int) []byte {
	return append(append(append(appendIndent(dst, depth), "</"...), name...), ">\n"...)
}

func appendIndent(dst []byte, depth int) []byte {
	for range depth {
		dst = append(dst, "  "...)
	}
	return dst
}

// elementOf returns the element name for a member of a Struct.
func elementOf(shape Shape, key string) string {
	if shape == Named {
		return elementName(key)
	}
	return dataItem
}

// elementName returns the element name for a key (wire 7, "key clean-up"). A key with no usable
// characters becomes a list entry.
func elementName(key string) string {
	if isElementName(key) {
		return key
	}
	name := strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r == ' ' || r == ':':
			return '_'
		case r != utf8.RuneError && (isNameStart(r) || isNameRest(r)):
			return r
		default:
			return -1
		}
	}, key), "_")
	if name == "" {
		return dataItem
	}
	if first, _ := utf8.DecodeRuneInString(name); !isNameStart(first) {
		return dataItem + "_" + name
	}
	return name
}

// isElementName reports whether key needs no clean-up, which is true for nearly all keys.
func isElementName(key string) bool {
	for i := 0; i < len(key); i++ {
		c := key[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
		case i > 0 && ('0' <= c && c <= '9' || c == '.' || c == '-'):
		case i > 0 && i < len(key)-1 && c == '_':
		default:
			return false
		}
	}
	return key != ""
}

// appendXMLText appends text with escapes. It omits the whole text if XML cannot represent it.
func appendXMLText(dst []byte, s string) []byte {
	start := len(dst)
	done := 0 // everything before this offset has been appended
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < utf8.RuneSelf && c != '&' && c != '<' && c != '>' || c == '\n' || c == '\t' {
			i++
			continue
		}
		dst = append(dst, s[done:i]...)
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 || !isXMLChar(r) {
			return dst[:start]
		}
		i += size
		done = i
		switch r {
		case '&':
			dst = append(dst, "&amp;"...)
		case '<':
			dst = append(dst, "&lt;"...)
		case '>':
			dst = append(dst, "&gt;"...)
		default:
			dst = appendCharRef(dst, r)
		}
	}
	return append(dst, s[done:]...)
}

// appendCharRef appends a character reference to r in upper-case hexadecimal.
func appendCharRef(dst []byte, r rune) []byte {
	dst = append(dst, "&#x"...)
	shift := 20
	for shift > 0 && r>>shift == 0 {
		shift -= 4
	}
	for ; shift >= 0; shift -= 4 {
		dst = append(dst, upperHex[r>>shift&15])
	}
	return append(dst, ';')
}
