package codec

import "unicode/utf8"

// appendJSON renders a value (wire 7, "JSON"): a Struct with list keys as an array, any other as
// an object.
func appendJSON(dst []byte, n *Node) []byte {
	switch n.Kind {
	case Null:
		return append(dst, "null"...)
	case False:
		return append(dst, "false"...)
	case True:
		return append(dst, "true"...)
	case Number:
		return append(dst, jsonNumber(n)...)
	case Text:
		return appendJSONString(dst, n.Text)
	case EmptyRecord:
		return append(dst, "{}"...)
	}
	shape := n.Shape()
	for i := range n.Members {
		dst = appendJSONMember(dst, shape, i, &n.Members[i])
	}
	return appendJSONEnd(dst, shape, len(n.Members))
}

// appendJSONMember appends the member at a position of a Struct, with the separator before it.
func appendJSONMember(dst []byte, shape Shape, place int, m *Member) []byte {
	if place == 0 {
		dst = append(dst, brackets(shape)[0])
	} else {
		dst = append(dst, ',')
	}
	if shape != Array {
		dst = append(appendJSONString(dst, m.Key), ':')
	}
	return appendJSON(dst, &m.Value)
}

// appendJSONEnd closes a Struct with the given number of members.
func appendJSONEnd(dst []byte, shape Shape, members int) []byte {
	if members == 0 {
		return append(dst, "[]"...) // for every shape
	}
	return append(dst, brackets(shape)[1])
}

func brackets(shape Shape) string {
	if shape == Array {
		return "[]"
	}
	return "{}"
}

const (
	lowerHex = "0123456789abcdef"
	upperHex = "0123456789ABCDEF"
)

func appendJSONString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	done := 0 // everything before this offset has been appended
	for i := 0; i < len(s); {
		looked, x := min(8, len(s)-i), uint64(0) // 0 is not plain
		switch {
		case looked == 8:
			x = four(s[i:]) | four(s[i+4:])<<32
		case len(s) >= 8: // the last bytes, with bytes before them
			x = four(s[len(s)-8:]) | four(s[len(s)-4:])<<32
		case len(s) >= 4:
			x = four(s) | four(s[len(s)-4:])<<32
		}
		if allPlain(x) {
			i += looked
			continue
		}
		c := s[i]
		if c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' && c != '/' {
			i++
			continue
		}
		dst = append(dst, s[done:i]...)
		r, size := utf8.DecodeRuneInString(s[i:])
		i += size
		done = i
		switch r {
		case '"', '\\', '/':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, `\b`...)
		case '\f':
			dst = append(dst, `\f`...)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		default:
			if r > 0xffff {
				r -= 0x10000
				dst = appendUnit(dst, 0xd800+r>>10)
				r = 0xdc00 + r&0x3ff
			}
			dst = appendUnit(dst, r)
		}
	}
	return append(append(dst, s[done:]...), '"')
}

// allPlain reports whether JSON shows the eight bytes of x unchanged. It looks at all
// of them at once: in each term, and in x for bytes outside ASCII, the high bit of a byte is
// set if it needs an escape. A borrow only reaches the byte after one that does.
func allPlain(x uint64) bool {
	const each, high = 0x0101010101010101, 0x8080808080808080
	control, quote, backslash, slash := x-each*' ', (x^each*'"')-each, (x^each*'\\')-each, (x^each*'/')-each
	return (x|control|quote|backslash|slash)&high == 0
}

// four returns the first four bytes of s.
func four(s string) uint64 {
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24
}

// appendUnit appends the escape of one UTF-16 code unit.
func appendUnit(dst []byte, u rune) []byte {
	return append(dst, '\\', 'u', lowerHex[u>>12], lowerHex[u>>8&15], lowerHex[u>>4&15], lowerHex[u&15])
}
