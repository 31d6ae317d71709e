package auth

import (
	"cmp"
	"slices"
	"strings"
)

// A parameter is a decoded name and value.
type parameter struct {
	name, value string
	list        bool // sent as name[]: value is only one of its entries
}

// parameters are in the order sent. The last one of a repeated name counts.
type parameters []parameter

// get returns the parameter called name, and whether there is one.
func (p parameters) get(name string) (parameter, bool) {
	for i := len(p) - 1; i >= 0; i-- {
		if p[i].name == name {
			return p[i], true
		}
	}
	return parameter{}, false
}

// text returns the value of the parameter called name, or "".
func (p parameters) text(name string) string {
	found, _ := p.get(name)
	return found.value
}

// isPresent reports whether name counts as present (wire 12, checks 2, 6 and 10): "0" counts as
// absent, a list as present.
func (p parameters) isPresent(name string) bool {
	found, _ := p.get(name)
	return found.list || found.value != "" && found.value != "0"
}

// cutScheme returns the part of an Authorization header after the OAuth scheme. It returns
// false for another scheme. Any character may separate the two.
func cutScheme(authorization string) (credentials string, ok bool) {
	const scheme = "oauth"
	if len(authorization) < len(scheme) || !strings.EqualFold(authorization[:len(scheme)], scheme) {
		return "", false
	}
	if len(authorization) <= len(scheme)+1 {
		return "", true
	}
	return authorization[len(scheme)+1:], true
}

// maxParameters is the maximum number of different OAuth parameters in a request. The
// protocol has about ten; the rest leaves room for extensions.
const maxParameters = 64

// set sets a parameter. An existing parameter keeps its position. It fails with a [*Problem]
// if there are too many names.
func (p *parameters) set(one parameter) error {
	for i := range *p {
		if (*p)[i].name == one.name {
			(*p)[i] = one
			return nil
		}
	}
	if len(*p) == maxParameters {
		return parameterRejected(one.name[:min(len(one.name), maxNameInProblem)])
	}
	if *p == nil {
		*p = make(parameters, 0, 8)
	}
	*p = append(*p, one)
	return nil
}

// maxNameInProblem is the maximum length of a parameter name that a problem repeats.
const maxNameInProblem = 64

// parseHeader parses the OAuth parameters of an Authorization header without its scheme (wire 12).
// It ignores everything else in the header. It returns the errors of [parameters.set].
func parseHeader(credentials string) (found parameters, err error) {
	for part := range strings.SplitSeq(credentials, ",") {
		name, value, ok := strings.Cut(strings.Trim(part, " \t\n\r\x00\v"), "=")
		if !ok || !isOAuth(name) {
			continue
		}
		if err := found.set(parameter{name: unescape(name, false), value: unescape(strings.Trim(value, `"`), false)}); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// parseForm parses the OAuth parameters of a form-encoded body or query. It drops all other
// parameters, because the sender has not been authenticated yet. It returns the errors of
// [parameters.set].
func parseForm(form string) (found parameters, err error) {
	for pair := range strings.SplitSeq(form, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if name = unescape(name, true); !isOAuth(name) {
			continue
		}
		p := parameter{name: name, value: unescape(value, true)}
		if name, index, bracket := strings.Cut(name, "["); bracket && strings.Contains(index, "]") {
			if !isOAuth(name) {
				continue
			}
			p.name, p.list = name, true
		}
		if err := found.set(p); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// appendSignedForm appends the parameters of a form-encoded body that a signature covers.
func appendSignedForm(dst parameters, form string) parameters {
	for pair := range strings.SplitSeq(form, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if name = unescape(name, true); pair != "" && !isOAuth(name) {
			dst = append(dst, parameter{name: name, value: unescape(value, true)})
		}
	}
	return dst
}

// appendSignedQuery appends the parameters of a query that a signature covers under a rule.
func appendSignedQuery(dst parameters, query string, r rule) parameters {
	for pair := range strings.SplitSeq(query, "&") {
		name, value, ok := strings.Cut(pair, "=")
		if !r.everyPair && (!ok || strings.Contains(value, "=")) || pair == "" || isOAuth(name) {
			continue
		}
		dst = append(dst, parameter{name: unescape(name, r.plusAsSpace), value: unescape(value, r.plusAsSpace)})
	}
	return dst
}

// isOAuth reports whether name contains oauth_ followed by one of a-z, _ and -, which makes it
// an OAuth parameter (wire 12).
func isOAuth(name string) bool {
	const prefix = "oauth_"
	for {
		i := strings.Index(name, prefix)
		if i < 0 || i+len(prefix) == len(name) {
			return false
		}
		name = name[i+len(prefix):]
		if c := name[0]; 'a' <= c && c <= 'z' || c == '_' || c == '-' {
			return true
		}
	}
}

// unescape decodes the percent escapes of s and, with plus, plus signs as spaces. Invalid
// escapes stay unchanged.
func unescape(s string, plus bool) string {
	if strings.IndexByte(s, '%') < 0 && (!plus || strings.IndexByte(s, '+') < 0) {
		return s
	}
	decoded := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]):
			decoded = append(decoded, unhex(s[i+1])<<4|unhex(s[i+2]))
			i += 2
		case c == '+' && plus:
			decoded = append(decoded, ' ')
		default:
			decoded = append(decoded, c)
		}
	}
	return string(decoded)
}

// unhex returns the value of a hexadecimal digit.
func unhex(c byte) byte {
	switch {
	case c <= '9':
		return c - '0'
	case c <= 'F':
		return c - 'A' + 10
	default:
		return c - 'a' + 10
	}
}

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
