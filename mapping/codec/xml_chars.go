package codec

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// isXMLChar reports whether XML 1.0 allows r in a document.
func isXMLChar(r rune) bool {
	switch {
	case r < ' ':
		return r == '\t' || r == '\n' || r == '\r'
	case r < 0xd800:
		return true
	default:
		return 0xe000 <= r && r <= 0xfffd || 0x10000 <= r && r <= utf8.MaxRune
	}
}

// isNameStart reports whether XML 1.0 allows r as the first character of a name.
func isNameStart(r rune) bool {
	switch {
	case r < utf8.RuneSelf:
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r == '_' || r == ':'
	case r < 0x2000:
		return r >= 0xc0 && r != 0xd7 && r != 0xf7 && (r < 0x300 || r >= 0x370) && r != 0x37e
	case r < 0x3001:
		return r == 0x200c || r == 0x200d || 0x2070 <= r && r <= 0x218f || 0x2c00 <= r && r <= 0x2fef
	default:
		return r <= 0xd7ff || 0xf900 <= r && r <= 0xfdcf || 0xfdf0 <= r && r <= 0xfffd || 0x10000 <= r && r <= 0xeffff
	}
}

// isNameRest reports whether XML 1.0 allows r in a name only after the first character.
func isNameRest(r rune) bool {
	return '0' <= r && r <= '9' || r == '-' || r == '.' || r == 0xb7 || 0x300 <= r && r <= 0x36f || r == 0x203f || r == 0x2040
}

// nameLength returns the length of the XML name at the beginning of s.
func nameLength(s string) int {
	for i, r := range s {
		if !isNameStart(r) && (i == 0 || !isNameRest(r)) {
			return i
		}
	}
	return len(s)
}

// validCharRefs reports whether all character references in raw refer to characters that XML
// allows.
func validCharRefs(raw string) bool {
	for {
		_, reference, found := strings.Cut(raw, "&#")
		if !found {
			return true
		}
		code, behind, closed := strings.Cut(reference, ";")
		if !closed {
			return false
		}
		if _, ok := charRef(code); !ok {
			return false
		}
		raw = behind
	}
}

// charRef returns the character for the text of a reference between "&#" and ";".
func charRef(code string) (rune, bool) {
	base := 10
	if hex, ok := strings.CutPrefix(code, "x"); ok {
		code, base = hex, 16
	}
	n, err := strconv.ParseUint(code, base, 32)
	if err != nil || n > utf8.MaxRune || !isXMLChar(rune(n)) {
		return 0, false
	}
	return rune(n), true
}
