package sqlstore

import (
	"math"
	"strings"
)

// Decimals have four decimal places. Integers named units or tenThousandths hold them in
// ten-thousandths.
const (
	decimalPlaces = 4
	decimalUnit   = 10_000
	// maxDecimal is exact in a double, and far above the range of DECIMAL(12,4).
	maxDecimal = 1 << 52
)

// An operand is a number in units of an attribute's last decimal place. If exact, it
// equals units; otherwise it lies between units and units+1. below and above mark
// numbers that are less or greater than all values of the column.
type operand struct {
	units        int64
	exact        bool
	below, above bool
}

// parseOperand parses a number in plain notation: digits with an optional sign and an
// optional decimal point. places is the number of decimal places that the attribute
// has, limit the greatest number of units that its column can hold.
func parseOperand(s string, places int, limit int64) (o operand, ok bool) {
	negative := false
	if s != "" && (s[0] == '-' || s[0] == '+') {
		negative = s[0] == '-'
		s = s[1:]
	}
	digits, fraction, point := 0, 0, false
	rest, over := false, false
	push := func(d int64) {
		if o.units > (limit-d)/10 {
			over = true
			return
		}
		o.units = o.units*10 + d
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '.' && !point:
			point = true
		case c < '0' || c > '9':
			return operand{}, false
		case point && fraction == places:
			digits++
			rest = rest || c != '0'
		default:
			digits++
			if point {
				fraction++
			}
			push(int64(c - '0'))
		}
	}
	for ; fraction < places; fraction++ {
		push(0)
	}
	switch {
	case digits == 0:
		return operand{}, false
	case over:
		return operand{below: negative, above: !negative}, true
	case negative && rest:
		return operand{units: -o.units - 1}, true
	case negative:
		return operand{units: -o.units, exact: true}, true
	default:
		return operand{units: o.units, exact: !rest}, true
	}
}

// hasFourPlaces reports whether s, a number in plain notation, has the form that
// adapter.FormatDecimal returns: digits, four of them after the point.
func hasFourPlaces(s string) bool {
	digits := strings.TrimPrefix(s, "-")
	point := len(digits) - 1 - decimalPlaces
	if point < 1 || digits[point] != '.' {
		return false
	}
	for i := 0; i < len(digits); i++ {
		if i != point && (digits[i] < '0' || digits[i] > '9') {
			return false
		}
	}
	return true
}

// decimalFromFloat converts a double in which the database stores a decimal.
func decimalFromFloat(f float64) (tenThousandths int64, err error) {
	scaled := math.Round(f * decimalUnit)
	if !(math.Abs(scaled) <= maxDecimal) { // also true for NaN
		return 0, errDecimal
	}
	return int64(scaled), nil
}

// decimalFromInteger converts an integer in which the database stores a whole decimal.
func decimalFromInteger(i int64) (tenThousandths int64, err error) {
	if i > maxDecimal/decimalUnit || i < -maxDecimal/decimalUnit {
		return 0, errDecimal
	}
	return i * decimalUnit, nil
}
