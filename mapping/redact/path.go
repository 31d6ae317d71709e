package redact

import "strings"

const (
	// maxSegments is the number of segments of a path that are shown.
	maxSegments = 12
	// maxWord is the length in bytes of the longest unknown word that is shown.
	maxWord = 24
	// maxDigits is the number of digits of the longest number that is shown.
	maxDigits = 19
)

// Path returns an encoded path of which only numbers and words of the contract's paths are
// shown. The word that names a resource is also shown if the contract does not know it, so that
// a misspelled one can be recognized.
func Path(path string) string {
	var shown []byte // nil as long as everything is shown
	rest, start := strings.TrimPrefix(path, "/"), len(path)
	start -= len(rest)
	if start == 0 && path != "" { // not a path: such as the "*" of OPTIONS
		return Masked
	}
	isAPI := strings.HasPrefix(rest, "api/")
	for n := 0; ; n++ {
		segment, after, more := strings.Cut(rest, "/")
		if n == maxSegments {
			if shown == nil {
				shown = []byte(path[:start])
			}
			return string(append(shown, "…"...))
		}
		namesResource := n == 0 || isAPI && n <= 2
		switch {
		case isShown(segment) || namesResource && isWord(segment):
			if shown != nil {
				shown = append(shown, segment...)
			}
		default:
			if shown == nil {
				shown = append(make([]byte, 0, len(path)), path[:start]...)
			}
			shown = append(shown, Masked...)
		}
		if !more {
			break
		}
		if shown != nil {
			shown = append(shown, '/')
		}
		start += len(segment) + 1
		rest = after
	}
	if shown == nil {
		return path
	}
	return string(shown)
}

// isShown reports whether a segment is a number or a word of the paths that Portico serves.
func isShown(segment string) bool {
	switch segment {
	case "api", "rest", "products", "stockitems", "customers", "orders", // the contract's
		"addresses", "categories", "category", "comments", "images", "items", "store", "websites", "billing", "shipping",
		"media", "catalog", "product", "placeholder", "image", // images
		"oauth", "initiate", "token", "authorize", "confirm", "confirmSimple", "reject", "rejectSimple", "simple", "index",
		"admin", "oauth_authorize", "oAuth_authorize", "customer", "account", "loginPost", // consent
		"soap", "v2_soap", "xmlrpc", "index.php": // the legacy store's
		return true
	}
	return isNumber(segment)
}

// isNumber reports whether s is a number that is shown; it may be empty.
func isNumber(s string) bool { return len(s) <= maxDigits && isDigits(s) }

// isDigits reports whether s has only digits; it may be empty.
func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// isWord reports whether s is a short word in lower-case letters.
func isWord(s string) bool {
	if len(s) > maxWord {
		return false
	}
	for i := range len(s) {
		if (s[i] < 'a' || s[i] > 'z') && s[i] != '_' {
			return false
		}
	}
	return true
}
