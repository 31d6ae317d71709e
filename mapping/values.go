package mapping

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/numeric"
)

// The functions in this file convert values that were sent, for all resources (wire 6.2,
// 6.3 and 14). Messages show a value with Node.String, before any conversion.

// storedText returns the text that a value is stored as, without U+0000 and invalid
// UTF-8. ok is false for a list or a record.
func storedText(n *codec.Node) (text string, ok bool) {
	return strings.ReplaceAll(strings.ToValidUTF8(n.String(), ""), "\x00", ""), n.Kind != codec.Struct
}

// optionalText returns the value of an optional text: null for an empty one, unset for
// none. It truncates a long text to the stored length.
func optionalText(n *codec.Node) adapter.Value {
	text, _ := storedText(n)
	switch {
	case n.Kind == codec.Null || n.Kind == codec.False:
		return adapter.UnsetValue()
	case text == "":
		return adapter.NullValue()
	default:
		return adapter.TextValue(truncateRunes(text, contract.MaxTextLength))
	}
}

// truncateRunes returns the first characters of a text.
func truncateRunes(text string, characters int) string {
	for i := range text {
		if characters == 0 {
			return text[:i]
		}
		characters--
	}
	return text
}

// truncateBytes returns a text of at most longest bytes unchanged, and of another the
// longest beginning of at most that many bytes that ends between two characters.
func truncateBytes(text string, longest int) string {
	if len(text) <= longest {
		return text
	}
	for !utf8.RuneStart(text[longest]) {
		longest--
	}
	return text[:longest]
}

// truthy reports whether a value sets a flag: any but null, false, zero, the texts "" and
// "0", and an empty list.
func truthy(n *codec.Node) bool {
	switch n.Kind {
	case codec.Null, codec.False:
		return false
	case codec.Number:
		_, number, _ := numeric.Literal(n.Text)
		return number != 0
	case codec.Text:
		return n.Text != "" && n.Text != "0"
	case codec.Struct:
		return len(n.Members) > 0
	default:
		return true
	}
}

// flagValue returns 1 for a truthy value, otherwise 0.
func flagValue(n *codec.Node) int64 {
	if truthy(n) {
		return 1
	}
	return 0
}

// isFlagSet reports whether a member of a record is truthy.
func isFlagSet(sent *codec.Node, member string) bool {
	n, ok := sent.Get(member)
	return ok && truthy(n)
}

// presentMember returns a member of a record. ok is false if it is absent or null.
func presentMember(sent *codec.Node, member string) (n *codec.Node, ok bool) {
	n, ok = sent.Get(member)
	return n, ok && n.Kind != codec.Null
}

// isMissing reports whether a value counts as missing where one is required: null, false,
// a text without characters, or an empty list. Zero is not missing.
func isMissing(n *codec.Node) bool {
	return n.Kind == codec.False || isEmptyValue(n) || n.Kind == codec.Struct && len(n.Members) == 0
}

// numericValue returns the value of a number or a numeric text (products 5.2).
func numericValue(n *codec.Node) (float64, bool) {
	switch n.Kind {
	case codec.Number:
		return numberLiteral(n), true
	case codec.Text:
		return numeric.Parse(n.Text)
	default:
		return 0, false
	}
}

// integerPart returns the integer part of a number or a numeric text, clamped to 64 bits.
// ok is false for anything else.
func integerPart(n *codec.Node) (whole int64, ok bool) {
	if n.Kind != codec.Number && n.Kind != codec.Text {
		return 0, false
	}
	number, ok := numeric.Parse(n.Text)
	if !ok {
		return 0, false
	}
	if whole, exact := exactInteger(n); exact {
		return whole, true
	}
	return toInt64(number), true
}

// exactInteger returns the value of an integer that fits 64 bits, from its digits with an
// optional sign and surrounding blanks.
func exactInteger(n *codec.Node) (int64, bool) {
	whole, err := strconv.ParseInt(strings.TrimSpace(n.Text), 10, 64)
	return whole, err == nil
}

// wholeNumber returns the value of a number or a numeric text if it is an integer that
// fits 64 bits.
func wholeNumber(n *codec.Node) (whole int64, ok bool) {
	whole, ok = integerPart(n)
	_, exact := exactInteger(n)
	return whole, ok && (exact || isWhole(n) && whole != math.MaxInt64 && whole != math.MinInt64)
}

// typeFault returns the fault of a value for an attribute of the given kind, other than
// text, or 0 if it can be stored.
func typeFault(kind adapter.Kind, n *codec.Node) contract.FaultKey {
	ok := false
	switch kind {
	case adapter.KindTime:
		if n.Kind == codec.Struct {
			return contract.ValueCrash
		}
		_, fault := parseDateTime(n)
		return fault
	case adapter.KindInteger:
		_, ok = wholeNumber(n)
	default:
		_, ok = numericValue(n)
	}
	if !ok {
		return contract.OptionInvalid
	}
	return 0
}

// typedValue converts a valid value for an attribute of the given kind, other than text
// (products 4 and 5.2).
func typedValue(kind adapter.Kind, n *codec.Node) adapter.Value {
	switch kind {
	case adapter.KindDecimal:
		number, _ := numericValue(n)
		return adapter.TextValue(numeric.Decimal(clampDecimal(number)))
	case adapter.KindTime:
		stored, _ := parseDateTime(n)
		return adapter.TextValue(stored)
	default:
		whole, _ := integerPart(n)
		return adapter.IntegerValue(whole)
	}
}

// dropUnset makes the values of a new record that ask for the removal of a value absent, as
// there is nothing to remove.
func dropUnset(r adapter.Record) {
	for i, v := range r.Values {
		if v.Kind() == adapter.Unset {
			r.Values[i] = adapter.Value{}
		}
	}
}

func toInt64(f float64) int64 {
	switch {
	case f >= math.MaxInt64:
		return math.MaxInt64
	case f <= math.MinInt64:
		return math.MinInt64
	default:
		return int64(f)
	}
}

// castInteger converts a value to an integer from 0 to greatest: the integer part of its
// leading number; for a list 1, or 0 if it is empty.
func castInteger(n *codec.Node, greatest int64) int64 {
	if n.Kind == codec.Struct {
		return flagValue(n)
	}
	return min(max(toInt64(leadingNumber(n)), 0), greatest)
}

// leadingNumber returns the number that a value begins with.
func leadingNumber(n *codec.Node) float64 {
	if n.Kind == codec.Number {
		return numberLiteral(n)
	}
	return numeric.Leading(n.String())
}
