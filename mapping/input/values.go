package input

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// The functions in this file convert values that were sent, for all resources (wire 6.2,
// 6.3 and 14). Messages show a value with Node.String, before any conversion.

// StoredText returns the text that a value is stored as, without U+0000 and invalid
// UTF-8. ok is false for a list or a record.
func StoredText(n *codec.Node) (text string, ok bool) {
	return strings.ReplaceAll(strings.ToValidUTF8(n.String(), ""), "\x00", ""), n.Kind != codec.Struct
}

// Line returns an optional text, cut to at most that many characters and bytes (0 is no limit), or null if
// the text is empty.
func Line(n *codec.Node, characters, bytes int) adapter.Value {
	text, _ := StoredText(n)
	if characters > 0 {
		text = TruncateRunes(text, characters)
	}
	if bytes > 0 {
		text = TruncateBytes(text, bytes)
	}
	if text == "" {
		return adapter.NullValue()
	}
	return adapter.TextValue(text)
}

// TruncateRunes returns the first characters of a text.
func TruncateRunes(text string, characters int) string {
	for i := range text {
		if characters == 0 {
			return text[:i]
		}
		characters--
	}
	return text
}

// TruncateBytes returns a text of at most longest bytes unchanged, and of another the
// longest beginning of at most that many bytes that ends between two characters.
func TruncateBytes(text string, longest int) string {
	if len(text) <= longest {
		return text
	}
	for !utf8.RuneStart(text[longest]) {
		longest--
	}
	return text[:longest]
}

// Truthy reports whether a value sets a flag: any but null, false, zero, the texts "" and
// "0", and an empty list.
func Truthy(n *codec.Node) bool {
	switch n.Kind {
	case codec.Null, codec.False:
		return false
	case codec.Number:
		_, number, _ := codec.ParseLiteral(n.Text)
		return number != 0
	case codec.Text:
		return n.Text != "" && n.Text != "0"
	case codec.Struct:
		return len(n.Members) > 0
	default:
		return true
	}
}

// FlagValue returns 1 for a truthy value, otherwise 0.
func FlagValue(n *codec.Node) int64 {
	if Truthy(n) {
		return 1
	}
	return 0
}

// IsSet reports whether a member of a record is truthy.
func IsSet(sent *codec.Node, member string) bool {
	n, ok := sent.Get(member)
	return ok && Truthy(n)
}

// Present returns a member of a record. ok is false if it is absent or null.
func Present(sent *codec.Node, member string) (n *codec.Node, ok bool) {
	n, ok = sent.Get(member)
	return n, ok && n.Kind != codec.Null
}

// IsMissing reports whether a value counts as missing where one is required: null, false,
// a text without characters, or an empty list. Zero is not missing.
func IsMissing(n *codec.Node) bool {
	return n.Kind == codec.False || IsEmpty(n) || n.Kind == codec.Struct && len(n.Members) == 0
}

// Number returns the value of a number or a numeric text (products 5.2).
func Number(n *codec.Node) (float64, bool) {
	switch n.Kind {
	case codec.Number:
		return NumberLiteral(n), true
	case codec.Text:
		return codec.ParseNumber(n.Text)
	default:
		return 0, false
	}
}

// IntegerPart returns the integer part of a number or a numeric text, clamped to 64 bits.
// ok is false for anything else.
func IntegerPart(n *codec.Node) (whole int64, ok bool) {
	if n.Kind != codec.Number && n.Kind != codec.Text {
		return 0, false
	}
	number, ok := codec.ParseNumber(n.Text)
	if !ok {
		return 0, false
	}
	if whole, exact := exactInteger(n); exact {
		return whole, true
	}
	return Int64(number), true
}

// exactInteger returns the value of an integer that fits 64 bits, from its digits with an
// optional sign and surrounding blanks.
func exactInteger(n *codec.Node) (int64, bool) {
	whole, err := strconv.ParseInt(strings.TrimSpace(n.Text), 10, 64)
	return whole, err == nil
}

// WholeNumber returns the value of a number or a numeric text if it is an integer that
// fits 64 bits.
func WholeNumber(n *codec.Node) (whole int64, ok bool) {
	whole, ok = IntegerPart(n)
	_, exact := exactInteger(n)
	return whole, ok && (exact || isWhole(n) && whole != math.MaxInt64 && whole != math.MinInt64)
}

// typeFault returns the fault of a value for an attribute of the given kind, or 0 if
// it can be stored. dates reads times.
func typeFault(kind adapter.Kind, n *codec.Node, dates DateReader) contract.FaultKey {
	ok := false
	switch kind {
	case adapter.KindText:
		return 0
	case adapter.KindTime:
		if n.Kind == codec.Struct {
			return contract.ValueCrash
		}
		_, fault := parseDateTime(n, dates)
		return fault
	case adapter.KindInteger:
		_, ok = WholeNumber(n)
	default:
		_, ok = Number(n)
	}
	if !ok {
		return contract.OptionInvalid
	}
	return 0
}

// TypedValue converts a valid value for an attribute of the given kind, other than text
// (products 4 and 5.2). dates reads times.
func TypedValue(kind adapter.Kind, n *codec.Node, dates DateReader) adapter.Value {
	switch kind {
	case adapter.KindDecimal:
		number, _ := Number(n)
		return Decimal(number)
	case adapter.KindTime:
		stored, _ := parseDateTime(n, dates)
		return adapter.TextValue(stored)
	default:
		whole, _ := IntegerPart(n)
		return adapter.IntegerValue(whole)
	}
}

// MaxDecimal is the largest absolute value of a decimal attribute.
const MaxDecimal = 99999999.9999

// Decimal returns the value of a decimal attribute that is nearest to a number.
func Decimal(number float64) adapter.Value {
	return adapter.TextValue(codec.DecimalText(max(-MaxDecimal, min(number, MaxDecimal))))
}

// DropUnset makes the values of a new record that ask for the removal of a value absent, as
// there is nothing to remove.
func DropUnset(r adapter.Record) {
	for i, v := range r.Values {
		if v.Kind() == adapter.Unset {
			r.Values[i] = adapter.Value{}
		}
	}
}

// Int64 returns the integer part of f, clamped to 64 bits.
func Int64(f float64) int64 {
	switch {
	case f >= math.MaxInt64:
		return math.MaxInt64
	case f <= math.MinInt64:
		return math.MinInt64
	default:
		return int64(f)
	}
}

// CastInteger converts a value to an integer from 0 to greatest: the integer part of its
// leading number; for a list 1, or 0 if it is empty.
func CastInteger(n *codec.Node, greatest int64) int64 {
	if n.Kind == codec.Struct {
		return FlagValue(n)
	}
	return min(max(Int64(LeadingNumber(n)), 0), greatest)
}

// LeadingNumber returns the number that a value begins with.
func LeadingNumber(n *codec.Node) float64 {
	if n.Kind == codec.Number {
		return NumberLiteral(n)
	}
	return codec.LeadingNumber(n.String())
}

// castNumber returns the number that an amount begins with. Blanks and apostrophes do not count, and of
// a comma and a point the last one is the decimal point (own_attributes 11).
func castNumber(n *codec.Node) float64 {
	if n.Kind != codec.Text {
		return LeadingNumber(n)
	}
	text := strings.NewReplacer(" ", "", "'", "").Replace(n.Text)
	comma, point := strings.Index(text, ","), strings.Index(text, ".")
	switch {
	case comma < point:
		text = strings.ReplaceAll(text, ",", "")
	case comma > point:
		text = strings.ReplaceAll(strings.ReplaceAll(text, ".", ""), ",", ".")
	}
	return codec.LeadingNumber(text)
}

// isWhole reports whether a value is a number without a fraction, or a text that reads as
// one.
func isWhole(n *codec.Node) bool {
	switch n.Kind {
	case codec.Number:
		return isInteger(NumberLiteral(n))
	case codec.Text:
		number, ok := codec.ParseNumber(n.Text)
		return ok && isInteger(number)
	default:
		return false
	}
}

// isInteger reports whether f is an integer that fits 64 bits.
func isInteger(f float64) bool { return f == math.Trunc(f) && f >= math.MinInt64 && f < math.MaxInt64 }

// NumberLiteral returns the value of a number node.
func NumberLiteral(n *codec.Node) float64 {
	_, number, _ := codec.ParseLiteral(n.Text)
	return number
}

// IsEmpty reports whether a value is present but empty in the sense of the specification: null, or
// a text without characters, such as an empty element's.
func IsEmpty(n *codec.Node) bool {
	return n.Kind == codec.Null || n.Kind == codec.Text && n.Text == ""
}
