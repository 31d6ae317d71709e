package adapter

import "strconv"

// decimalUnit is one in the unit of ParseDecimal.
const decimalUnit = 10_000

// maxDecimal is exact in a double, and far above the range of DECIMAL(12,4).
const maxDecimal = 1 << 52

// ParseDecimal converts a number in plain notation to ten-thousandths: digits with an
// optional sign and an optional decimal point. ok is false for anything else, for more
// than four decimal places that are not 0, and for more than 2^52 ten-thousandths.
func ParseDecimal(s string) (tenThousandths int64, ok bool) {
	negative := false
	if s != "" && (s[0] == '-' || s[0] == '+') {
		negative, s = s[0] == '-', s[1:]
	}
	digits, places, point := 0, 0, false
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '.' && !point:
			point = true
			continue
		case c < '0' || c > '9', places == 4 && c != '0':
			return 0, false
		}
		digits++
		if places == 4 {
			continue
		}
		if point {
			places++
		}
		if tenThousandths = tenThousandths*10 + int64(c-'0'); tenThousandths > maxDecimal {
			return 0, false
		}
	}
	for ; places < 4; places++ {
		tenThousandths *= 10
	}
	if negative {
		tenThousandths = -tenThousandths
	}
	return tenThousandths, digits > 0 && -maxDecimal <= tenThousandths && tenThousandths <= maxDecimal
}

// FormatDecimal formats a number of ten-thousandths with four decimal places, the form of
// [KindDecimal].
func FormatDecimal(tenThousandths int64) string {
	switch tenThousandths { // the most frequent values need no allocation
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
