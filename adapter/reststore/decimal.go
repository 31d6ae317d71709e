package reststore

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strconv"

	"github.com/portico-commerce/portico/adapter"
)

// decimalPlaces is the number of decimal places in the contract.
const decimalPlaces = 4

var errNotNumber = errors.New("is not a number")

// parseScaled is [adapter.ParseScaled] for a number from a document or from jq.
func parseScaled(v any, shift int) (*big.Int, error) {
	text, _ := numberText(v)
	n, ok := adapter.ParseScaled(text, shift)
	if !ok {
		return nil, errNotNumber
	}
	return n, nil
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
	return adapter.FormatScaled(n, decimalPlaces), nil
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
	if _, err := parseScaled(v, 0); err != nil {
		return 0, err
	}
	n, _ := new(big.Rat).SetString(text) // accepts 5.0 and 5e0 but not 5.5
	if !n.IsInt() || !n.Num().IsInt64() {
		return 0, errors.New("is not a whole number")
	}
	return n.Num().Int64(), nil
}
