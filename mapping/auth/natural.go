package auth

import (
	"cmp"
	"slices"
	"strings"
)

// sortNaturally sorts parameters by encoded name in natural order and, with everyPair, parameters
// with the same name by encoded value in natural order. Different names that are equal in natural
// order are sorted by bytes, so that the parameters of a name stay together.
func sortNaturally(all parameters, everyPair bool) {
	type encoded struct {
		parameter
		name, value string
	}
	sorted := make([]encoded, len(all))
	for i, p := range all {
		sorted[i] = encoded{parameter: p, name: string(appendEscaped(nil, p.name))}
		if everyPair {
			sorted[i].value = string(appendEscaped(nil, p.value))
		}
	}
	slices.SortStableFunc(sorted, func(a, b encoded) int {
		order := CompareNatural(a.name, b.name)
		if order == 0 {
			order = strings.Compare(a.name, b.name)
		}
		if order == 0 && everyPair && !isOAuth(a.parameter.name) {
			order = CompareNatural(a.value, b.value)
		}
		return order
	})
	for i := range all {
		all[i] = sorted[i].parameter
	}
}

// CompareNatural compares two encoded names, or two encoded values, in the natural order in which
// the original and its PHP client sort them (wire 12): runs of digits compare as numbers, all other
// characters byte by byte. Zeros in front of another digit are skipped at the start of a text. Later
// in it, a run that begins with a zero compares digit by digit, as behind a decimal point. The
// original also skips blanks, which encoded texts do not contain. Texts that differ only in skipped
// zeros are equal.
func CompareNatural(a, b string) int {
	a, b = skipZeros(a), skipZeros(b)
	for a != "" && b != "" {
		if isDigit(a[0]) && isDigit(b[0]) {
			x, y := leadingDigits(a), leadingDigits(b)
			if order := compareDigits(x, y); order != 0 {
				return order
			}
			a, b = a[len(x):], b[len(y):]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

// skipZeros returns s without the zeros at its start that another digit follows.
func skipZeros(s string) string {
	for len(s) > 1 && s[0] == '0' && isDigit(s[1]) {
		s = s[1:]
	}
	return s
}

// leadingDigits returns the digits that s begins with.
func leadingDigits(s string) string {
	end := 0
	for end < len(s) && isDigit(s[end]) {
		end++
	}
	return s[:end]
}

// compareDigits compares two runs of digits as numbers, or digit by digit if one begins with a zero.
func compareDigits(x, y string) int {
	if x[0] != '0' && y[0] != '0' && len(x) != len(y) {
		return cmp.Compare(len(x), len(y))
	}
	return strings.Compare(x, y)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
