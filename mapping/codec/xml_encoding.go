package codec

import (
	"bytes"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/ianaindex"
)

// xmlDeclaration matches an XML declaration; the encoding is in group 1 or 2.
var xmlDeclaration = regexp.MustCompile(`^<\?xml[ \t\r\n]+version[ \t\r\n]*=[ \t\r\n]*(?:"1\.0"|'1\.0')` +
	`(?:[ \t\r\n]+encoding[ \t\r\n]*=[ \t\r\n]*(?:"([A-Za-z][A-Za-z0-9._-]*)"|'([A-Za-z][A-Za-z0-9._-]*)'))?` +
	`(?:[ \t\r\n]+standalone[ \t\r\n]*=[ \t\r\n]*(?:"(?:yes|no)"|'(?:yes|no)'))?[ \t\r\n]*\?>`)

// xmlText returns the document in body as UTF-8 without its XML declaration. It returns false for
// an unsupported encoding and for bytes that are invalid in the encoding. A byte order mark is
// only allowed before a declaration (wire 6.4).
func xmlText(body []byte) (string, bool) {
	body, marked := bytes.CutPrefix(body, []byte("\ufeff"))
	declared := xmlDeclaration.FindSubmatch(body)
	if declared == nil {
		return string(body), !marked && validXMLText(body)
	}
	body = body[len(declared[0]):]
	name := string(declared[1]) + string(declared[2])
	if name != "" && !strings.EqualFold(name, "utf-8") && !strings.EqualFold(name, "utf8") {
		converted, ok := fromSingleByte(name, body)
		if !ok {
			return "", false
		}
		if !marked { // a byte order mark means UTF-8 and has priority
			body = converted
		}
	}
	return string(body), validXMLText(body)
}

// fromSingleByte converts text in the named single-byte encoding to UTF-8.
func fromSingleByte(name string, text []byte) ([]byte, bool) {
	if strings.EqualFold(name, "us-ascii") || strings.EqualFold(name, "ascii") {
		return text, bytes.IndexFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
	}
	var (
		enc encoding.Encoding
		err error
	)
	if enc, err = ianaindex.IANA.Encoding(name); err != nil || enc == nil {
		enc, _ = htmlindex.Get(name)
	}
	table, ok := enc.(*charmap.Charmap)
	if !ok {
		return nil, false
	}
	// The tables map codes that Windows leaves undefined to C1 controls.
	windows := strings.HasPrefix(table.String(), "Windows")
	out := make([]byte, 0, len(text)+len(text)/8)
	for _, b := range text {
		r := table.DecodeByte(b)
		if r == utf8.RuneError || windows && 0x80 <= r && r <= 0x9f {
			return nil, false
		}
		out = utf8.AppendRune(out, r)
	}
	return out, true
}

// validXMLText reports whether text is valid UTF-8 and has only characters that XML allows.
func validXMLText(text []byte) bool {
	for i := 0; i < len(text); {
		if c := text[i]; c >= ' ' && c < utf8.RuneSelf {
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 || !isXMLChar(r) {
			return false
		}
		i += size
	}
	return true
}
