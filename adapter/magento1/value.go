package magento1

import (
	"database/sql"
	"errors"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"

	"github.com/portico-commerce/portico/adapter"
)

// maxNumberBytes bounds the text of a number.
const maxNumberBytes = 64

// valueOf converts a column to a value of an attribute's kind: null for NULL and for text
// that is not a value of that kind. The problem is one of the constants Reason…, or "".
// Zero dates are null without being a problem.
func valueOf(d textDecoder, kind adapter.Kind, column sql.RawBytes) (v adapter.Value, problem string) {
	if column == nil {
		return adapter.NullValue(), ""
	}
	switch kind {
	case adapter.KindInteger:
		whole, places, _ := strings.Cut(strings.TrimSpace(string(column)), ".")
		n, err := strconv.ParseInt(whole, 10, 64)
		if err != nil || strings.Trim(places, "0") != "" {
			return adapter.NullValue(), ReasonValue
		}
		return adapter.IntegerValue(n), ""
	case adapter.KindDecimal:
		decimal, ok := normalizeDecimal(string(column))
		if !ok {
			return adapter.NullValue(), ReasonValue
		}
		return adapter.TextValue(decimal), ""
	case adapter.KindTime:
		moment, ok := normalizeTime(string(column))
		switch {
		case ok:
			return adapter.TextValue(moment), ""
		case strings.HasPrefix(string(column), "0000-00-00"):
			return adapter.NullValue(), ""
		}
		return adapter.NullValue(), ReasonValue
	case adapter.KindText, adapter.KindTexts:
		s, ok := d.Decode(column)
		if !ok {
			problem = ReasonEncoding
		}
		if kind == adapter.KindTexts {
			return adapter.TextsValue(splitLines(s)), problem
		}
		return adapter.TextValue(s), problem
	default:
		return adapter.NullValue(), ReasonValue
	}
}

// normalizeDecimal returns a number in plain notation with four decimal places.
func normalizeDecimal(s string) (string, bool) {
	if n, ok := adapter.ParseDecimal(s); ok {
		return adapter.FormatDecimal(n), true
	}
	s = strings.TrimSpace(s)
	if len(s) > maxNumberBytes || strings.Trim(s, "+-.0123456789") != "" {
		return "", false // an exponent could make the number arbitrarily long
	}
	number, ok := new(big.Rat).SetString(s)
	if !ok {
		return "", false
	}
	text := number.FloatString(4)
	if strings.Trim(text, "-0.") == "" {
		return "0.0000", true // no negative zero
	}
	_, fits := adapter.ParseDecimal(text) // which a number of many digits does not
	return text, fits
}

// normalizeTime returns a date or a time in the form of adapter.KindTime.
func normalizeTime(s string) (string, bool) {
	if len(s) == len(time.DateOnly) {
		s += " 00:00:00"
	}
	s, _, _ = strings.Cut(s, ".") // drop fractions of a second
	t, err := time.Parse(time.DateTime, s)
	if err != nil || t.Year() == 0 {
		return "", false // zero dates, among others
	}
	return t.Format(time.DateTime), true
}

// splitLines returns the lines of a text without line breaks.
func splitLines(s string) []string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Split(strings.ReplaceAll(s, "\r", "\n"), "\n")
}

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
