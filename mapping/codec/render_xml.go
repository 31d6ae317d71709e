package codec

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// appendXML renders a whole document (wire 7, "XML").
func appendXML(dst []byte, root string, n *Node, numbered bool) []byte {
	dst = append(dst, "<?xml version=\"1.0\"?>\n"...)
	if !numbered || n.Kind != Struct || len(n.Members) == 0 {
		return appendElement(dst, root, n, 0)
	}
	dst = append(append(append(dst, '<'), root...), ">\n"...)
	for i := range n.Members {
		dst = appendElement(dst, dataItem+"_"+strconv.Itoa(i+1), &n.Members[i].Value, 1)
	}
	return append(append(append(dst, "</"...), root...), ">\n"...)
}

// appendElement renders one element with the indentation of its depth.
func appendElement(dst []byte, name string, n *Node, depth int) []byte {
	dst = append(append(appendIndent(dst, depth), '<'), name...)
	if n.Kind == Struct && len(n.Members) > 0 {
		dst = append(dst, ">\n"...)
		list := n.isCountable()
		for i := range n.Members {
			m := &n.Members[i]
			child := dataItem
			if !list {
				child = elementName(m.Key)
			}
			dst = appendElement(dst, child, &m.Value, depth+1)
		}
		dst = appendIndent(dst, depth)
	} else {
		text := n.String()
		if text == "" {
			return append(dst, "/>\n"...)
		}
		dst = appendXMLText(append(dst, '>'), text)
	}
	return append(append(append(dst, "</"...), name...), ">\n"...)
}

func appendIndent(dst []byte, depth int) []byte {
	for range depth {
		dst = append(dst, "  "...)
	}
	return dst
}

// isCountable reports whether all keys of n are digits, so that XML writes it as
// a list.
func (n *Node) isCountable() bool {
	for i := range n.Members {
		key := n.Members[i].Key
		if key == "" {
			return false
		}
		for j := 0; j < len(key); j++ {
			if key[j] < '0' || key[j] > '9' {
				return false
			}
		}
	}
	return true
}

// elementName returns the element name for a key (wire 7, "key clean-up"). What
// has nothing left to name it counts as an entry of a list.
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

// isElementName reports whether key needs no clean-up, as nearly all keys do.
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

// appendXMLText appends text with its references. Text that XML cannot hold is
// left out as a whole.
func appendXMLText(dst []byte, s string) []byte {
	start := len(dst)
	done := 0 // what is before it has been appended
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

// appendCharRef appends a reference to r in upper-case hexadecimal.
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
