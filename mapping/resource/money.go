package resource

import (
	"math"

	"github.com/portico-commerce/portico/adapter"
)

// Money is an amount or a percentage, in the double precision in which the original computes
// prices. It is never negative.
type Money float64

// moneyUnit is the number of parts of 1 that a stored amount has.
const moneyUnit = 10000

// maxStored is the greatest number of parts that a float64 holds exactly.
const maxStored = 1 << 53

// ParseMoney parses a decimal with four places. Anything else, and any negative amount,
// is 0: no price is negative (products 3.5).
func ParseMoney(v adapter.Value) Money {
	text := v.Text()
	if len(text) < 5 || text[len(text)-5] != '.' {
		return 0
	}
	parts := uint64(0)
	for i := range len(text) {
		digit := text[i] - '0'
		switch {
		case i == len(text)-5:
		case digit > 9 || parts > math.MaxInt64/10-1:
			return 0
		default:
			parts = 10*parts + uint64(digit)
		}
	}
	if parts > maxStored {
		return Money(float64(parts) / moneyUnit) // beyond any column
	}
	return Money(parts) / moneyUnit
}

// Percent returns a percentage of m, with four places.
func (m Money) Percent(percentage Money) Money { return (m * percentage / 100).FourPlaces() }

// FourPlaces returns m as a column of the original's tables holds it: with four places, and half of
// the last one rounded up.
func (m Money) FourPlaces() Money { return Money(roundDecimal(float64(m), 4) / moneyUnit) }

// Rounding says how amounts are rounded to cents where they fall on half a cent
// (configurations 3.4).
type Rounding uint8

const (
	// RoundDecimal rounds halves up, after it has rounded the binary number to 15 significant
	// digits: PHP up to 8.3.
	RoundDecimal Rounding = iota
	// RoundBinary rounds up only what is not below the binary number of the half: PHP 8.4 and
	// later.
	RoundBinary
)

// Cents returns an amount in cents.
func (r Rounding) Cents(m Money) uint64 {
	cents := 0.0
	if r == RoundBinary {
		cents = roundBinary(float64(m))
	} else {
		cents = roundDecimal(float64(m), 2)
	}
	if cents >= math.MaxUint64 {
		return math.MaxUint64 // more than any column can hold
	}
	return uint64(cents)
}

// significantDigits is the number of decimal digits that a double always holds.
const significantDigits = 15

// roundDecimal returns a value that is not negative as a number of units of its last place, of
// which it keeps so many. It rounds the value to 15 significant digits first, so that 1.005, which is
// 1.00499999999999989… in binary, rounds up.
func roundDecimal(value float64, places int) float64 {
	if value == 0 {
		return 0
	}
	digits := 1 // before the point; 0 and below for values below 0.1
	for limit := 10.0; value >= limit && digits <= significantDigits; limit *= 10 {
		digits++
	}
	for limit := 1.0; value < limit && digits > -significantDigits; limit /= 10 {
		digits--
	}
	unit := math.Pow10(places)
	precise := significantDigits - digits
	if precise <= places || precise-significantDigits >= places {
		return math.Floor(value*unit + 0.5)
	}
	return math.Floor(math.Floor(value*math.Pow10(precise)+0.5)/math.Pow10(precise-places) + 0.5)
}

// roundBinary returns a value that is not negative in cents. Halves are compared as the binary numbers
// nearest to them.
func roundBinary(value float64) float64 {
	cents := math.Floor(value * 100)
	if (cents+1)/100 == value {
		cents++
	}
	if value >= (cents+0.5)/100 {
		cents++
	}
	return cents
}
