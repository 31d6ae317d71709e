package codec

import (
	"math"
	"strconv"
	"strings"
)

// numericBlanks is the white space allowed around numeric text.
const numericBlanks = " \t\n\r\v\f"

// ParseNumber returns the value of numeric text (wire 10, stock_orders 2.4): a number, optionally
// surrounded by white space. Numbers out of float range are infinite. It returns false for any
// other text, including the empty one.
func ParseNumber(s string) (float64, bool) {
	s = strings.Trim(s, numericBlanks)
	end, _ := scan(s)
	if end == 0 || end != len(s) {
		return 0, false
	}
	return float(s), true
}

// LeadingNumber returns the value of the longest number at the beginning of s, ignoring leading white
// space, and 0 if there is none (wire 10, stock_orders 2.3).
func LeadingNumber(s string) float64 {
	s = strings.TrimLeft(s, numericBlanks)
	end, _ := scan(s)
	if end == 0 {
		return 0
	}
	return float(s[:end])
}

// ParseID returns the record id in s, a part of a path (wire 2, "Ids"): the number at the beginning of
// s. It returns false if that number is missing, not an integer, not positive or out of the range
// of 64 bits, so that no record can have it.
func ParseID(s string) (int64, bool) {
	s = strings.TrimLeft(s, numericBlanks)
	end, plain := scan(s)
	if end == 0 {
		return 0, false
	}
	if plain {
		id, err := strconv.ParseInt(s[:end], 10, 64)
		return id, err == nil && id > 0
	}
	f := float(s[:end])
	if f != math.Trunc(f) || f < 1 || f >= 1<<63 {
		return 0, false
	}
	return int64(f), true
}

// ParseIDPart is like [ID], but ignores the fraction of the number, as the original does for some ids:
// 1.5 is 1.
func ParseIDPart(s string) (int64, bool) {
	if id, ok := ParseID(s); ok {
		return id, true
	}
	f := LeadingNumber(s)
	if f < 1 || f >= 1<<63 || f == math.Trunc(f) {
		return 0, false
	}
	return int64(f), true
}

// ParseRoundedID is like [ID], but rounds the number to an integer, halves away from zero, as the
// original's database does for some ids: 1.5 is 2.
func ParseRoundedID(s string) (int64, bool) {
	if id, ok := ParseID(s); ok {
		return id, true
	}
	f := math.Round(LeadingNumber(s))
	if f < 1 || f >= 1<<63 {
		return 0, false
	}
	return int64(f), true
}

// LeadingInteger returns the integer at the beginning of s, ignoring leading white space and
// everything after the integer, including a fraction and an exponent (product_parts 2.2 and 3.1).
// It returns false if there is none or it is out of the range of 64 bits.
func LeadingInteger(s string) (int64, bool) {
	s = strings.TrimLeft(s, numericBlanks)
	start := sign(s, 0)
	i, err := strconv.ParseInt(s[:start+digits(s, start)], 10, 64)
	return i, err == nil
}

// ParseLiteral returns the value of a JSON number literal (wire 6.2). For an integer that fits 64 bits,
// whole is true, i its exact value, and f the nearest float. Every other literal is a float, with
// i 0; out of float range it is infinite. "-0" is the float -0, because an integer has no
// negative zero.
func ParseLiteral(s string) (i int64, f float64, whole bool) {
	end, plain := scan(s)
	if end == 0 {
		return 0, 0, false
	}
	if plain && s != "-0" {
		if i, err := strconv.ParseInt(s[:end], 10, 64); err == nil {
			return i, float64(i), true
		}
	}
	return 0, float(s[:end]), false
}

// scan returns the length of the number at the beginning of s, 0 if there is none, and whether
// it has only a sign and digits.
func scan(s string) (end int, plain bool) {
	start := sign(s, 0)
	whole := digits(s, start)
	end, plain = start+whole, true
	if end < len(s) && s[end] == '.' {
		fraction := digits(s, end+1)
		if whole+fraction == 0 {
			return 0, false
		}
		end, plain = end+1+fraction, false
	} else if whole == 0 {
		return 0, false
	}
	if end < len(s) && (s[end] == 'e' || s[end] == 'E') {
		exponent := sign(s, end+1)
		if n := digits(s, exponent); n > 0 {
			end, plain = exponent+n, false
		}
	}
	return end, plain
}

// sign returns the index after an optional sign at i.
func sign(s string, i int) int {
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		i++
	}
	return i
}

// digits returns the number of digits in s from index i.
func digits(s string, i int) int {
	n := 0
	for i+n < len(s) && '0' <= s[i+n] && s[i+n] <= '9' {
		n++
	}
	return n
}

// float returns the value of a number that scan has accepted.
func float(s string) float64 {
	f, _ := strconv.ParseFloat(s, 64) // the only possible error is the range, with f infinite
	return f
}
