package expr

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"
)

// decimalPlaces is the number of decimal places in the contract.
const decimalPlaces = 4

// ErrNotNumber is the error of a value that is not a number.
var ErrNotNumber = errors.New("is not a number")

// maxNumberLength is the greatest length of a number, in characters.
const maxNumberLength = 64

// maxExponent is the greatest absolute exponent of a number.
const maxExponent = 64

// parseNumber parses a number from a document or from jq: digits, which may follow a minus
// sign and have a point between them, and an exponent.
func parseNumber(v any) (n decimal.Decimal, err error) {
	text, _ := Text(v)
	mantissa, exponent := text, "0"
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		mantissa, exponent = text[:i], text[i+1:]
	}
	whole, fraction, dotted := strings.Cut(strings.TrimPrefix(mantissa, "-"), ".")
	e, err := strconv.Atoi(exponent)
	if err != nil || e < -maxExponent || e > maxExponent || len(text) > maxNumberLength || !isDigits(whole) || dotted && !isDigits(fraction) {
		return n, ErrNotNumber
	}
	return decimal.NewFromString(text)
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// Text returns the decimal text of a number from a document or from jq. Strings are
// returned unchanged. It reports false for other types, and for numbers that are not
// finite or too large.
func Text(v any) (string, bool) {
	switch v := v.(type) {
	case json.Number:
		return v.String(), true
	case string:
		return v, true
	case int:
		return strconv.Itoa(v), true
	case *big.Int:
		if v.BitLen() > 256 {
			return "", false
		}
		return v.String(), true
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return "", false
		}
		// For numbers computed by jq: the shortest text that parses to the same number.
		return strconv.FormatFloat(v, 'g', -1, 64), true
	}
	return "", false
}

// Decimal formats a number as a decimal of the contract, rounded half away from zero.
// The number counts units of 10 to the power of -units: 2 for cents.
func Decimal(v any, units int) (string, error) {
	n, err := parseNumber(v)
	if err != nil {
		return "", err
	}
	return n.Shift(int32(-units)).StringFixed(decimalPlaces), nil
}

// Integer returns an integer, whatever form it is written in: 5, "5", 5.0, 5e0, true.
func Integer(v any) (int64, error) {
	if b, ok := v.(bool); ok {
		if b {
			return 1, nil
		}
		return 0, nil
	}
	text, _ := Text(v)
	if i, err := strconv.ParseInt(text, 10, 64); err == nil && text[0] != '+' {
		return i, nil
	}
	n, err := parseNumber(v) // accepts 5.0 and 5e0
	if err != nil {
		return 0, err
	}
	if !n.IsInteger() || !n.BigInt().IsInt64() {
		return 0, errors.New("is not a whole number")
	}
	return n.IntPart(), nil
}
