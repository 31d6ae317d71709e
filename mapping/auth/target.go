package auth

import (
	"cmp"
	"strings"
)

// splitTarget returns the path and the query of a request target in origin or absolute form,
// both still encoded.
func splitTarget(target string) (path, query string) {
	if !strings.HasPrefix(target, "/") {
		if _, rest, absolute := strings.Cut(target, "://"); absolute {
			authority := strings.IndexAny(rest, "/?")
			if authority < 0 {
				return "/", ""
			}
			target = rest[authority:]
		}
	}
	path, query, _ = strings.Cut(target, "?")
	return cmp.Or(path, "/"), query
}

// validURI reports whether s, a path or a query, contains only characters that RFC 2396
// allows, and square brackets, which list modifiers use (wire 12, check 0).
func validURI(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '%':
			if i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2]) {
				return false
			}
			i += 2
		case isAlphanumeric(c), strings.IndexByte("-_.!~*'()[];/?:@&=+$,", c) >= 0:
		default:
			return false
		}
	}
	return true
}

// splitPort splits a host into name and port; port is "" if there is none.
func splitPort(host string) (name, port string) {
	colon := strings.LastIndexByte(host, ':')
	if colon < strings.LastIndexByte(host, ']') || colon < 0 {
		return host, ""
	}
	return host[:colon], host[colon+1:]
}

// origins returns the origins that a client of this host may have signed: with its port,
// unless it is the default port of the scheme, and without it, because clients of sites behind
// a proxy that hides the port sign it that way (wire 12; rulings 17).
func origins(scheme, host string) []string {
	name, port := splitPort(strings.ToLower(host))
	bare := scheme + "://" + name
	if port == "" || scheme == "http" && port == "80" || scheme == "https" && port == "443" {
		return []string{bare}
	}
	return []string{bare + ":" + port, bare}
}

func isAlphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}
