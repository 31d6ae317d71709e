package redact

import (
	"net/url"
	"slices"
	"strings"

	"github.com/portico-commerce/portico/mapping/contract"
)

// Path returns an encoded path with every segment masked except words of the routes,
// numbers, and names of records without personal data, such as SKUs.
func (m *Masker) Path(route *contract.Route, path string) string {
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		text := contract.FormDecode(segment)
		switch {
		case m.words[text], text == "api", text == "rest", isNumber(text), route != nil && !route.Personal():
		case slices.Contains([]string{"billing", "shipping"}, strings.ToLower(text)):
		default:
			segments[i] = url.PathEscape(m.Value(text))
		}
	}
	return escapeNonASCII(strings.Join(segments, "/"))
}

// Query returns a query string without OAuth parameters. It masks values that no list
// modifier can have, and the operands of filters on personal fields. Everything else keeps
// its original spelling.
func (m *Masker) Query(route *contract.Route, query string) string {
	var kept []string
	pairs := strings.Split(query, "&")
	about := publicFilters(route, pairs)
	for _, pair := range pairs {
		name, value, valued := strings.Cut(pair, "=")
		path := splitFormName(name)
		text := contract.FormDecode(value)
		switch {
		case strings.Contains(contract.FormDecode(name), "oauth_"):
			continue
		case !m.isKnownParameter(name):
			name, value = url.QueryEscape(m.Value(contract.FormDecode(name))), url.QueryEscape(m.Value(text))
		case path[0] == "filter" && path[len(path)-1] != "attribute":
			masked, _ := m.maskText(scope{route: route, kind: public}, text)
			if !about[filterOf(path)] {
				masked = m.maskOperand(pairs, path, text)
			}
			if masked != text {
				value = url.QueryEscape(masked)
			}
		case !m.isModifierValue(route, path[0], text):
			value = url.QueryEscape(m.Value(text))
		}
		if pair = name; valued {
			pair += "=" + value
		}
		kept = append(kept, pair)
	}
	return escapeNonASCII(strings.Join(kept, "&"))
}

// isKnownParameter reports whether a parameter is a list modifier without anything unknown in
// its name.
func (m *Masker) isKnownParameter(name string) bool {
	path := splitFormName(name)
	hidden := strings.ContainsRune(contract.FormDecode(name), 0) // splitFormName drops everything after U+0000
	if hidden || !slices.Contains([]string{"page", "limit", "order", "dir", "attrs", "store", "category_id", "filter"}, path[0]) {
		return false
	}
	return !slices.ContainsFunc(path[1:], func(key string) bool { return !isEntry(key) && !slices.Contains(contract.FilterWords(), key) })
}

// filterOf returns the name of the filter that a parameter belongs to.
func filterOf(path []string) string {
	if len(path) < 2 {
		return ""
	}
	return path[1]
}

// publicFilters returns the filters that are only about public fields: if a filter names
// its field several times, all of them must be public.
func publicFilters(route *contract.Route, pairs []string) map[string]bool {
	known := map[string]bool{}
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		path := splitFormName(name)
		if path[0] != "filter" || path[len(path)-1] != "attribute" {
			continue
		}
		of := filterOf(path)
		before, named := known[of]
		known[of] = isPublic(route, contract.FormDecode(value)) && of != "" && (before || !named)
	}
	return known
}

// isPublic reports whether name is a public field of the route.
func isPublic(route *contract.Route, name string) bool {
	if route == nil {
		return false
	}
	field, known := route.Field(name)
	return known && !field.Private()
}

// maskOperand returns the mask of a filter's operand. If the filter names its field, it is the
// mask that the same value has in a body.
func (m *Masker) maskOperand(pairs, path []string, text string) string {
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		if other := splitFormName(name); other[0] == "filter" && other[len(other)-1] == "attribute" && filterOf(other) == filterOf(path) {
			return m.Field(contract.FormDecode(value), text)
		}
	}
	return m.Value(text)
}

// isModifierValue reports whether text is a possible value of the list modifier.
func (m *Masker) isModifierValue(route *contract.Route, modifier, text string) bool {
	known := func(name string) bool {
		if route == nil {
			return false
		}
		_, ok := route.Field(name)
		return ok
	}
	switch modifier {
	case "order", "filter":
		return known(text)
	case "attrs":
		for name := range strings.SplitSeq(text, ",") {
			if name = strings.TrimSpace(name); name != "" && !known(name) {
				return false
			}
		}
		return true
	case "dir":
		return strings.EqualFold(text, "asc") || strings.EqualFold(text, "desc")
	case "store":
		return len(text) <= 32 && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
	}
	return isNumber(text)
}

// escapeNonASCII escapes the bytes that a request line must not contain.
func escapeNonASCII(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c > '~' {
			const digits = "0123456789ABCDEF"
			b.Write([]byte{'%', digits[c>>4], digits[c&15]})
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
