package codec

import (
	"cmp"
	"math"
	"strconv"
	"strings"
)

// NumberText returns the text form of f (wire 6.2): at most 14 significant digits, and an exponent if
// the point would be after the 14th digit or if more than three zeros would follow it: "12.5",
// "1.0E+14", "1.0E-7", "-0", "INF".
func NumberText(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "INF"
	case math.IsInf(f, -1):
		return "-INF"
	case math.IsNaN(f):
		return "NAN"
	}
	return format(f, 13, 14, 'E')
}

// JSONNumber returns f as a JSON number (wire 7): the shortest form that parses as f, without a
// fraction if it is integral: "43.29", "90", "1.0e+20". Values without a JSON number are "null".
func JSONNumber(f float64) string {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return "null"
	}
	return format(f, -1, 17, 'e')
}

// DecimalText returns f with four decimal places (stock_orders 2.3), rounded like "%.4f" in C; zero
// has no sign. An infinite f counts as the greatest finite number, which the caller clamps to the
// range of the field.
func DecimalText(f float64) string {
	f = min(max(f, -math.MaxFloat64), math.MaxFloat64)
	s := strconv.FormatFloat(f, 'f', 4, 64)
	if s == "-0.0000" {
		return "0.0000"
	}
	return s
}

// format formats f with the given number of digits after the first one (-1: as many as f needs).
// It uses plain notation if at most width digits would precede the point after the first one and
// at most three zeros would follow it, else an exponent.
func format(f float64, places, width int, mark byte) string {
	var buf [32]byte
	scientific := strconv.AppendFloat(buf[:0], f, 'e', places, 64)
	mantissa, power, _ := strings.Cut(string(scientific), "e")
	exponent, _ := strconv.Atoi(power)
	out := buf[:0]
	if mantissa[0] == '-' {
		out, mantissa = append(out, '-'), mantissa[1:]
	}
	significant := mantissa[:1]
	if len(mantissa) > 1 {
		significant = cmp.Or(strings.TrimRight(mantissa[:1]+mantissa[2:], "0"), "0")
	}
	point := exponent + 1 // digits before the point
	switch {
	case point > width || point < -3:
		out = append(append(out, significant[0]), '.')
		if len(significant) == 1 {
			out = append(out, '0')
		}
		out = append(append(out, significant[1:]...), mark)
		if exponent >= 0 {
			out = append(out, '+')
		}
		out = strconv.AppendInt(out, int64(exponent), 10)
	case point <= 0:
		out = append(out, "0."...)
		out = append(out, "000"[:-point]...)
		out = append(out, significant...)
	case point >= len(significant):
		out = append(out, significant...)
		for range point - len(significant) {
			out = append(out, '0')
		}
	default:
		out = append(append(out, significant[:point]...), '.')
		out = append(out, significant[point:]...)
	}
	return string(out)
}
