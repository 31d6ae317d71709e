package adapter

import (
	"math/big"
	"strconv"
	"strings"
)

const (
	// MaxScaledLength is the greatest length of a number for ParseScaled, in characters, and
	// maxExponent its greatest absolute exponent.
	MaxScaledLength = 64
	maxExponent     = 64
	// ScaledPlaces is a shift with which ParseScaled rounds no number.
	ScaledPlaces = MaxScaledLength + maxExponent
)

// ParseScaled returns a number times 10 to the power of shift, rounded half away from zero to
// an integer. The number has at most MaxScaledLength characters: digits, which may follow a minus sign and
// have a point between them, and an exponent of at most 64. ok is false for any other text.
func ParseScaled(text string, shift int) (n *big.Int, ok bool) {
	if len(text) > MaxScaledLength {
		return nil, false
	}
	mantissa, exponent := text, 0
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		e, err := strconv.Atoi(text[i+1:])
		if err != nil || e < -maxExponent || e > maxExponent {
			return nil, false
		}
		mantissa, exponent = text[:i], e
	}
	unsigned := strings.TrimPrefix(mantissa, "-")
	whole, fraction, dotted := strings.Cut(unsigned, ".")
	if whole == "" || dotted && fraction == "" || !isDigits(whole) || !isDigits(fraction) {
		return nil, false
	}
	n, _ = new(big.Int).SetString(whole+fraction, 10)
	if by := exponent - len(fraction) + shift; by >= 0 {
		n.Mul(n, powerOf10(by))
	} else {
		unit := powerOf10(-by)
		rest := new(big.Int)
		n.QuoRem(n, unit, rest)
		if rest.Lsh(rest, 1).Cmp(unit) >= 0 {
			n.Add(n, big.NewInt(1))
		}
	}
	if len(unsigned) < len(mantissa) {
		n.Neg(n)
	}
	return n, true
}

func isDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }

func powerOf10(n int) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}

// FormatScaled formats n times 10 to the power of -shift with shift decimal places.
func FormatScaled(n *big.Int, shift int) string {
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
