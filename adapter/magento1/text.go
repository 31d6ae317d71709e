package magento1

import (
	"errors"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
)

var errCharset = errors.New(`the character set must be one of the WHATWG Encoding Standard that contains ASCII, such as "utf-8", "windows-1252" or "iso-8859-2"`)

// A textDecoder converts the bytes of texts to UTF-8. The zero TextDecoder expects UTF-8.
type textDecoder struct{ charset encoding.Encoding }

// newTextDecoder returns the decoder of a character set by name, or of UTF-8 for "".
func newTextDecoder(name string) (textDecoder, error) {
	if name == "" {
		return textDecoder{}, nil
	}
	charset, err := htmlindex.Get(name)
	if err != nil {
		return textDecoder{}, errCharset
	}
	const ascii = "Az09_~\x1b$B"
	if same, err := charset.NewDecoder().String(ascii); err != nil || same != ascii {
		return textDecoder{}, errCharset
	}
	if canonical, _ := htmlindex.Name(charset); canonical == "utf-8" {
		return textDecoder{}, nil
	}
	return textDecoder{charset}, nil
}

// Decode returns a text that every database engine can store: bytes that are no text, and
// zero bytes, become U+FFFD. ok is false if there are any.
func (d textDecoder) Decode(text []byte) (s string, ok bool) {
	s = string(text)
	if d.charset != nil {
		decoded, err := d.charset.NewDecoder().String(s)
		if err != nil {
			return cleanText(s), false
		}
		return cleanText(decoded), !strings.ContainsAny(decoded, "\uFFFD\x00")
	}
	if utf8.ValidString(s) && !strings.Contains(s, "\x00") {
		return s, true
	}
	return cleanText(s), false
}

// cleanText replaces invalid UTF-8 and zero bytes by U+FFFD.
func cleanText(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
