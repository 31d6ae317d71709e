package reststore

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// decimalPlaces is the number of decimal places in the contract.
const decimalPlaces = 4

// Limits on numbers from the backend: characters and absolute exponent.
const (
	maxNumberLength = 64
	maxExponent     = 64
	maxPlaces       = maxNumberLength + maxExponent
)

var errNotNumber = errors.New("is not a number")

// parseScaled returns a number from a document or from jq times 10 to the power of shift,
// rounded half away from zero to an integer.
func parseScaled(v any, shift int) (*big.Int, error) {
	text, ok := numberText(v)
	if !ok || text == "" || len(text) > maxNumberLength {
		return nil, errNotNumber
	}
	mantissa, exponent := text, 0
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		e, err := strconv.Atoi(text[i+1:])
		if err != nil || e < -maxExponent || e > maxExponent {
			return nil, errNotNumber
		}
		mantissa, exponent = text[:i], e
	}
	unsigned := strings.TrimPrefix(mantissa, "-")
	whole, fraction, dotted := strings.Cut(unsigned, ".")
	if whole == "" || dotted && fraction == "" || !isDigits(whole) || !isDigits(fraction) {
		return nil, errNotNumber
	}
	n, _ := new(big.Int).SetString(whole+fraction, 10)
	if by := exponent - len(fraction) + shift; by >= 0 {
		n.Mul(n, pow10(by))
	} else {
		unit := pow10(-by)
		rest := new(big.Int)
		n.QuoRem(n, unit, rest)
		if rest.Lsh(rest, 1).Cmp(unit) >= 0 {
			n.Add(n, big.NewInt(1))
		}
	}
	if len(unsigned) < len(mantissa) {
		n.Neg(n)
	}
	return n, nil
}

func pow10(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

func isDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }

// formatScaled formats n times 10 to the power of -shift with shift decimal places.
func formatScaled(n *big.Int, shift int) string {
	text := n.String()
	sign := ""
	if strings.HasPrefix(text, "-") {
		sign, text = "-", text[1:]
	}
	if shift == 0 {
		return sign + text
	}
	if missing := shift + 1 - len(text); missing > 0 {
		text = strings.Repeat("0", missing) + text
	}
	return sign + text[:len(text)-shift] + "." + text[len(text)-shift:]
}

// numberText returns the decimal text of a number from a document or from jq. Strings are
// returned unchanged. It reports false for other types, and for numbers that are not
// finite or too large.
func numberText(v any) (string, bool) {
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

// decimal formats a number as a decimal of the contract. The number counts units of 10 to
// the power of -units: 2 for cents.
func decimal(v any, units int) (string, error) {
	n, err := parseScaled(v, decimalPlaces-units)
	if err != nil {
		return "", err
	}
	return formatScaled(n, decimalPlaces), nil
}

// parseInteger returns an integer, whatever form it is written in: 5, "5", 5.0, 5e0, true.
func parseInteger(v any) (int64, error) {
	if b, ok := v.(bool); ok {
		if b {
			return 1, nil
		}
		return 0, nil
	}
	text, _ := numberText(v)
	if i, err := strconv.ParseInt(text, 10, 64); err == nil && text[0] != '+' {
		return i, nil
	}
	// Parse the exact value to accept 5.0 and 5e0 but not 5.5.
	exact, err := parseScaled(v, maxPlaces)
	if err != nil {
		return 0, err
	}
	n, rest := exact.QuoRem(exact, pow10(maxPlaces), new(big.Int))
	if rest.Sign() != 0 || !n.IsInt64() {
		return 0, errors.New("is not a whole number")
	}
	return n.Int64(), nil
}
