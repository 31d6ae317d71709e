package magento1

import (
	"database/sql"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/portico-commerce/portico/adapter"
)

// maxNumberBytes bounds the text of a number.
const maxNumberBytes = 64

// valueOf converts a column to a value of an attribute's kind: null for NULL and for text
// that is not a value of that kind.
func valueOf(kind adapter.Kind, text sql.NullString) adapter.Value {
	if !text.Valid {
		return adapter.NullValue()
	}
	switch kind {
	case adapter.KindInteger:
		if n, err := strconv.ParseInt(strings.TrimSpace(text.String), 10, 64); err == nil {
			return adapter.IntegerValue(n)
		}
	case adapter.KindDecimal:
		if decimal, ok := normalizeDecimal(text.String); ok {
			return adapter.TextValue(decimal)
		}
	case adapter.KindTime:
		if moment, ok := normalizeTime(text.String); ok {
			return adapter.TextValue(moment)
		}
	case adapter.KindTexts:
		return adapter.TextsValue(splitLines(text.String))
	case adapter.KindText:
		return adapter.TextValue(cleanText(text.String))
	}
	return adapter.NullValue()
}

// cleanText returns a text that every database engine can store: invalid UTF-8 and zero
// bytes become U+FFFD.
func cleanText(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// normalizeDecimal returns a number in plain notation with four decimal places.
func normalizeDecimal(s string) (string, bool) {
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
	return text, true
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
	s = strings.ReplaceAll(cleanText(s), "\r\n", "\n")
	return strings.Split(strings.ReplaceAll(s, "\r", "\n"), "\n")
}
