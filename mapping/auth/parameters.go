package auth

import "strings"

// A parameter is one name and its value, both decoded.
type parameter struct {
	name, value string
	list        bool // sent as name[]: value is only one of its entries
}

// parameters are in the order sent. Of a repeated name the last one counts.
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

// filled reports whether name counts as present (wire 12, checks 2, 6 and 10):
// "0" is as good as nothing there, a list is something.
func (p parameters) filled(name string) bool {
	found, _ := p.get(name)
	return found.list || found.value != "" && found.value != "0"
}

// cutScheme returns what follows the OAuth scheme in an Authorization value, or
// false for another scheme. The character between the two may be any.
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

// parseHeader returns the OAuth parameters of an Authorization value without
// its scheme (wire 12). Anything else in it is passed over.
func parseHeader(credentials string) parameters {
	var found parameters
	for part := range strings.SplitSeq(credentials, ",") {
		name, value, ok := strings.Cut(strings.Trim(part, " \t\n\r\x00\v"), "=")
		if !ok || !isOAuth(name) {
			continue
		}
		if found == nil {
			found = make(parameters, 0, 8)
		}
		found = append(found, parameter{name: unescape(name, false), value: unescape(strings.Trim(value, `"`), false)})
	}
	return found
}

// parseForm returns the pairs of an urlencoded body or of a query read as one.
func parseForm(form string) parameters {
	var found parameters
	for pair := range strings.SplitSeq(form, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		found = append(found, parameter{name: unescape(name, true), value: unescape(value, true)})
	}
	return found
}

// oauthOf returns the OAuth parameters among those of a form, each name once:
// where it first stood, with the value it was last given.
func oauthOf(form parameters) parameters {
	var found parameters
	at := map[string]int{}
	for _, p := range form {
		if name, index, bracket := strings.Cut(p.name, "["); bracket && strings.Contains(index, "]") {
			p.name, p.list = name, true
		}
		if !isOAuth(p.name) {
			continue
		}
		if i, again := at[p.name]; again {
			found[i] = p
			continue
		}
		at[p.name] = len(found)
		found = append(found, p)
	}
	return found
}

// appendSignedQuery appends the parameters of a query that a signature covers. In all
// of them a plus is a plus.
func appendSignedQuery(dst parameters, query string, covered coverage) parameters {
	for pair := range strings.SplitSeq(query, "&") {
		name, value, ok := strings.Cut(pair, "=")
		if covered == onlyLast && (!ok || strings.Contains(value, "=")) || pair == "" || isOAuth(name) {
			continue
		}
		dst = append(dst, parameter{name: unescape(name, false), value: unescape(value, false)})
	}
	return dst
}

// isOAuth reports whether name holds oauth_[a-z_-] anywhere, which makes a
// parameter one of OAuth (wire 12).
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

// unescape decodes the percent escapes of s, and plus signs as spaces when plus
// is true. What is no escape stays as it is.
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
