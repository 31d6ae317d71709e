package mask

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/portico-commerce/portico/mapping/contract"
)

// Path returns an encoded path of the interface in which only words of its routes
// stay, numbers, and names of what tells of nobody, such as SKUs.
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
	return ascii(strings.Join(segments, "/"))
}

func isNumber(s string) bool { return len(s) < 20 && strings.Trim(s, "0123456789") == "" }

// Query returns a query string without the parameters of OAuth, and with masks in
// the place of values that no list modifier has, and of what fields that tell of a
// person are compared with. What it keeps stays spelled as it came.
func (m *Masker) Query(route *contract.Route, query string) string {
	var kept []string
	pairs := strings.Split(query, "&")
	about := publicFilters(route, pairs)
	for _, pair := range pairs {
		name, value, valued := strings.Cut(pair, "=")
		path := keys(name)
		text := contract.FormDecode(value)
		switch {
		case strings.Contains(contract.FormDecode(name), "oauth_"):
			continue
		case !m.knowsParameter(name):
			name, value = url.QueryEscape(m.Value(contract.FormDecode(name))), url.QueryEscape(m.Value(text))
		case path[0] == "filter" && path[len(path)-1] != "attribute":
			masked, _ := m.value(scope{route: route, what: public}, text)
			if !about[filterOf(path)] {
				masked = m.operand(route, pairs, path, text)
			}
			if masked != text {
				value = url.QueryEscape(masked)
			}
		case !m.plain(route, path[0], text):
			value = url.QueryEscape(m.Value(text))
		}
		if pair = name; valued {
			pair += "=" + value
		}
		kept = append(kept, pair)
	}
	return ascii(strings.Join(kept, "&"))
}

// knowsParameter reports whether a parameter is a list modifier, in whose name
// nothing else stands.
func (m *Masker) knowsParameter(name string) bool {
	path := keys(name)
	hidden := strings.ContainsRune(contract.FormDecode(name), 0) // keys leaves out what follows
	if hidden || !slices.Contains([]string{"page", "limit", "order", "dir", "attrs", "store", "category_id", "filter"}, path[0]) {
		return false
	}
	for _, key := range path[1:] {
		if !isEntry(key) && !slices.Contains(Operators(), key) {
			return false
		}
	}
	return true
}

// Operators lists the words that may stand in the name of a filter.
func Operators() []string {
	return []string{"attribute", "eq", "neq", "seq", "sneq", "like", "nlike", "in", "nin", "gt", "lt", "gteq", "lteq", "moreq",
		"null", "notnull", "finset", "regexp", "from", "to", "is", "date", "datetime"}
}

// filterOf names the filter that a parameter belongs to.
func filterOf(path []string) string {
	if len(path) < 2 {
		return ""
	}
	return path[1]
}

// publicFilters returns which filters are known to be about fields that tell of
// nobody: however often one names its field, it must name none else.
func publicFilters(route *contract.Route, pairs []string) map[string]bool {
	known := map[string]bool{}
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		path := keys(name)
		if path[0] != "filter" || path[len(path)-1] != "attribute" {
			continue
		}
		of := filterOf(path)
		before, named := known[of]
		known[of] = isPublic(route, contract.FormDecode(value)) && of != "" && (before || !named)
	}
	return known
}

// isPublic reports whether a name is that of a field that tells of nobody.
func isPublic(route *contract.Route, name string) bool {
	if route == nil {
		return false
	}
	field, known := route.Field(name)
	return known && !field.Private()
}

// operand returns the mask of what a field is compared with: that which the same
// value has in a body, where the filter names its field.
func (m *Masker) operand(route *contract.Route, pairs, path []string, text string) string {
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		if other := keys(name); other[0] == "filter" && other[len(other)-1] == "attribute" && filterOf(other) == filterOf(path) {
			return m.Field(contract.FormDecode(value), text)
		}
	}
	return m.Value(text)
}

// plain reports whether the value of a list modifier is one of those it has.
func (m *Masker) plain(route *contract.Route, modifier, text string) bool {
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

// Headers returns what a recording keeps of the headers of a request: those by which
// replies differ, and of its User-Agent the first product, if they are spelled as
// clients spell them. Who called is not among them.
func Headers(header http.Header) map[string]string {
	const longest = 256
	kept := map[string]string{}
	for _, name := range []string{"Accept", "Accept-Language", "Content-Type", "If-None-Match", "Version", "X-Http-Method-Override"} {
		values, sent := header[name]
		value := strings.Join(values, ", ")
		if name == "X-Http-Method-Override" && sent {
			value = contract.MethodLabel(value)
		}
		if sent && len(value) <= longest && isPlain(value) {
			kept[name] = value
		}
	}
	if agent := Agent(header); agent != "" {
		kept["User-Agent"] = agent
	}
	return kept
}

// Agent returns the name of the first product of a User-Agent, "" where there is
// none, and "other" for what is no such name.
func Agent(header http.Header) string {
	const longest = 32
	agent := header.Get("User-Agent")
	name, _, _ := strings.Cut(agent, "/")
	name, _, _ = strings.Cut(name, " ")
	if agent != "" && (name == "" || len(name) > longest || !isPlain(name)) {
		return "other"
	}
	return name
}

// isPlain reports whether a text has only the characters of media types, languages,
// versions and entity tags.
func isPlain(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune(` ;,=/*+._"-`, r))
	}) < 0
}

// ascii escapes what no request line may hold.
func ascii(s string) string {
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
