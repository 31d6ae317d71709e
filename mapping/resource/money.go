package resource

import (
	"github.com/portico-commerce/portico/adapter"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// Money is an amount or a percentage, in ten-thousandths. It is never negative.
type Money uint64

// moneyUnit is 1 in ten-thousandths.
const moneyUnit = 10000

// ParseMoney parses a decimal with four places. Anything else, and any negative amount,
// is 0: no price is negative (products 3.5).
func ParseMoney(v adapter.Value) Money {
	whole, fraction, _ := strings.Cut(v.Text(), ".")
	n, err := strconv.ParseUint(whole+fraction, 10, 63)
	if err != nil || len(fraction) != 4 {
		return 0
	}
	return Money(n)
}

// Cents returns m in cents, with half cents rounded up.
func (m Money) Cents() uint64 { return m.WithTax(NoTax) }

// WithTax returns m with a tax, in cents, with half cents rounded up.
func (m Money) WithTax(tax TaxFactor) (cents uint64) {
	const inCent = uint64(NoTax) * moneyUnit / 100
	cents, ok := mulDiv(uint64(m), uint64(tax), inCent)
	if !ok {
		return math.MaxUint64 // more than any column can hold
	}
	return cents
}

// Percent returns a percentage of m, with half of the last place rounded up.
func (m Money) Percent(percentage Money) Money {
	part, ok := mulDiv(uint64(m), uint64(percentage), 100*moneyUnit)
	if !ok {
		return math.MaxUint64
	}
	return Money(part)
}

// mulDiv returns a*b/c, with halves rounded up. ok is false if that is too large.
func mulDiv(a, b, c uint64) (quotient uint64, ok bool) {
	high, low := bits.Mul64(a, b)
	low, carry := bits.Add64(low, c/2, 0)
	high += carry
	if high >= c {
		return 0, false
	}
	quotient, _ = bits.Div64(high, low, c)
	return quotient, true
}

// A TaxFactor is the factor by which taxes multiply a price, in 10^-12.
type TaxFactor uint64

// NoTax leaves prices as they are.
const NoTax TaxFactor = 1e12

// With returns f with a further tax on top.
func (f TaxFactor) With(percent Money) TaxFactor {
	const whole = 100 * moneyUnit
	product, ok := mulDiv(uint64(f), min(uint64(percent), math.MaxUint64-whole)+whole, whole)
	if !ok {
		return math.MaxUint64
	}
	return TaxFactor(product)
}
