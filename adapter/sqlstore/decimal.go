package sqlstore

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// Decimals have four places; here they are counted in ten-thousandths.
const (
	decimalPlaces = 4
	decimalUnit   = 10_000
	// maxDecimal bounds what a double holds exactly, far above DECIMAL(12,4).
	maxDecimal = 1 << 52
)

var errDecimal = errors.New("not a decimal with at most four places")

// An operand is a number in units of an attribute's last place: equal to units
// when exact, else between units and units+1. Numbers too large for a column
// are below or above all its values.
type operand struct {
	units        int64
	exact        bool
	below, above bool
}

// parseOperand reads a number in plain notation: digits with an optional sign
// and an optional decimal point. places is how many the attribute keeps, limit
// the greatest units its column can hold.
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

// parseDecimal reads a decimal text of at most four places.
func parseDecimal(s string) (tenThousandths int64, err error) {
	o, ok := parseOperand(s, decimalPlaces, maxDecimal)
	if !ok || !o.exact {
		return 0, errDecimal
	}
	return o.units, nil
}

// fourPlaces reports whether s, a number in plain notation, is written as
// formatDecimal does: digits, with four of them behind the point.
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

// formatDecimal writes a decimal with its four places.
func formatDecimal(tenThousandths int64) string {
	switch tenThousandths { // what most columns hold: no new text for these
	case 0:
		return "0.0000"
	case decimalUnit:
		return "1.0000"
	}
	var buf [24]byte
	b := buf[:0]
	n := uint64(tenThousandths)
	if tenThousandths < 0 {
		b, n = append(b, '-'), -n
	}
	b = strconv.AppendUint(b, n/decimalUnit, 10)
	f := n % decimalUnit
	b = append(b, '.', byte('0'+f/1000), byte('0'+f/100%10), byte('0'+f/10%10), byte('0'+f%10))
	return string(b)
}

// decimalOfFloat reads a double the database keeps a decimal as.
func decimalFromFloat(f float64) (tenThousandths int64, err error) {
	scaled := math.Round(f * decimalUnit)
	if !(math.Abs(scaled) <= maxDecimal) { // also not a number
		return 0, errDecimal
	}
	return int64(scaled), nil
}

// decimalOfInteger reads an integer the database keeps a whole decimal as.
func decimalFromInteger(i int64) (tenThousandths int64, err error) {
	if i > maxDecimal/decimalUnit || i < -maxDecimal/decimalUnit {
		return 0, errDecimal
	}
	return i * decimalUnit, nil
}
