package magento1

import (
	"database/sql"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/portico-commerce/portico/adapter"
)

// longestNumber bounds the text of a number, in bytes.
const longestNumber = 64

// value returns what a column holds as a value of an attribute's kind: null for
// NULL and for what is no such value.
func value(kind adapter.Kind, column sql.NullString) adapter.Value {
	if !column.Valid {
		return adapter.NullValue()
	}
	switch kind {
	case adapter.KindInteger:
		if n, err := strconv.ParseInt(strings.TrimSpace(column.String), 10, 64); err == nil {
			return adapter.IntegerValue(n)
		}
	case adapter.KindDecimal:
		if decimal, ok := decimal(column.String); ok {
			return adapter.TextValue(decimal)
		}
	case adapter.KindTime:
		if moment, ok := moment(column.String); ok {
			return adapter.TextValue(moment)
		}
	case adapter.KindTexts:
		return adapter.TextsValue(lines(column.String))
	case adapter.KindText:
		return adapter.TextValue(storable(column.String))
	}
	return adapter.NullValue()
}

// storable returns a text as every engine can store it.
func storable(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// decimal returns a number in plain notation with four places.
func decimal(s string) (string, bool) {
	s = strings.TrimSpace(s)
	if len(s) > longestNumber || strings.Trim(s, "+-.0123456789") != "" {
		return "", false // no exponents: they can be of any size
	}
	number, ok := new(big.Rat).SetString(s)
	if !ok {
		return "", false
	}
	text := number.FloatString(4)
	if strings.Trim(text, "-0.") == "" {
		return "0.0000", true // and never below zero
	}
	return text, true
}

// moment returns a date or a time in the form of adapter.KindTime.
func moment(s string) (string, bool) {
	if len(s) == len(time.DateOnly) {
		s += " 00:00:00"
	}
	s, _, _ = strings.Cut(s, ".") // fractions of a second
	t, err := time.Parse(time.DateTime, s)
	if err != nil || t.Year() == 0 {
		return "", false // of zeros, among others
	}
	return t.Format(time.DateTime), true
}

// lines returns the lines of a text, none of them with a line break.
func lines(s string) []string {
	s = strings.ReplaceAll(storable(s), "\r\n", "\n")
	return strings.Split(strings.ReplaceAll(s, "\r", "\n"), "\n")
}
