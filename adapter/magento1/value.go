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
