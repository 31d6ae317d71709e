package numeric

import (
	"math"
	"strconv"
	"strings"
)

// blanks are the white space allowed around numeric text.
const blanks = " \t\n\r\v\f"

// Parse returns the value of numeric text (wire 10, stock_orders 2.4): a number with
// optional white space before and behind it and nothing else. Numbers beyond
// the float range are infinite. It returns false for any other text, the empty
// one included.
func Parse(s string) (float64, bool) {
	s = strings.Trim(s, blanks)
	end, _ := scan(s)
	if end == 0 || end != len(s) {
		return 0, false
	}
	return float(s), true
}

// Leading returns the value of the longest number s begins with, white space
// before it aside, and 0 when there is none (wire 10, stock_orders 2.3).
func Leading(s string) float64 {
	s = strings.TrimLeft(s, blanks)
	end, _ := scan(s)
	if end == 0 {
		return 0
	}
	return float(s[:end])
}

// ID returns the record id that s, a part of a path, stands for (wire 2, "Ids"):
// the number s begins with. It returns false when that number is missing, not
// whole, not positive or beyond 64 bits, so that no record has it.
func ID(s string) (int64, bool) {
	s = strings.TrimLeft(s, blanks)
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

// IDPart is [ID] of a number whose fraction does not count, as the original reads
// some ids: 1.5 is 1.
func IDPart(s string) (int64, bool) {
	if id, ok := ID(s); ok {
		return id, true
	}
	f := Leading(s)
	if f < 1 || f >= 1<<63 || f == math.Trunc(f) {
		return 0, false
	}
	return int64(f), true
}

// IDRounded is [ID] of a number that is rounded to an integer, halves away from zero, as
// the original's database reads some ids: 1.5 is 2.
func IDRounded(s string) (int64, bool) {
	if id, ok := ID(s); ok {
		return id, true
	}
	f := math.Round(Leading(s))
	if f < 1 || f >= 1<<63 {
		return 0, false
	}
	return int64(f), true
}

// LeadingInteger returns the whole number s begins with, white space before it
// aside, whatever follows: a fraction and an exponent do not count
// (product_parts 2.2 and 3.1). It returns false when there is none, and when it
// is beyond 64 bits.
func LeadingInteger(s string) (int64, bool) {
	s = strings.TrimLeft(s, blanks)
	start := sign(s, 0)
	i, err := strconv.ParseInt(s[:start+digits(s, start)], 10, 64)
	return i, err == nil
}

// Literal returns the value of a JSON number literal (wire 6.2). A literal of
// digits alone that fits 64 bits is whole: i is its exact value, and f the
// nearest float. Every other literal is a float and i is 0; beyond the float
// range it is infinite. "-0" is the float -0, as only a float keeps its sign.
func Literal(s string) (i int64, f float64, whole bool) {
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

// scan returns the length of the number s begins with, 0 if there is none, and
// whether it is plain: a sign and digits only.
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

// sign returns i, or the index behind the sign at i.
func sign(s string, i int) int {
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		i++
	}
	return i
}

// digits returns how many digits s has from index i on.
func digits(s string, i int) int {
	n := 0
	for i+n < len(s) && '0' <= s[i+n] && s[i+n] <= '9' {
		n++
	}
	return n
}

// float returns the value of a number that scan accepted.
func float(s string) float64 {
	f, _ := strconv.ParseFloat(s, 64) // its only error is the range, and f is infinite then
	return f
}
