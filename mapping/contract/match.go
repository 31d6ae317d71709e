package contract

import "strings"

// MaxParams is the greatest number of parameters in a route.
const MaxParams = 3

// Params are the decoded path parameters of a matched route, in path order.
type Params [MaxParams]string

// A Table finds the route of a path. It is immutable and safe for concurrent use.
type Table struct {
	routes []*Route
	byLen  [maxSegments + 1][]*Route
}

const maxSegments = 6

// NewTable returns a table of routes, which Match tries in the given order.
func NewTable(routes []*Route) *Table {
	t := &Table{routes: routes}
	for _, r := range routes {
		t.byLen[len(r.parts)] = append(t.byLen[len(r.parts)], r)
	}
	return t
}

// Routes returns the routes in the order in which they are tried.
func (t *Table) Routes() []*Route { return t.routes }

// ResourcesOfCalls returns the resource of each call, by the name of the call.
func (t *Table) ResourcesOfCalls() map[string]string {
	resources := map[string]string{}
	for _, r := range t.routes {
		for _, call := range r.Calls {
			if call != "" {
				resources[call] = r.Resource
			}
		}
	}
	return resources
}

// Match returns the first route that matches path, with its parameters, or nil if there is
// none. path is the request target after /api/rest, still encoded and without the query.
// Match ignores leading and trailing slashes; an empty segment inside is a segment. It
// splits the path before it form-decodes each segment, so an encoded slash never splits
// (wire 2).
func (t *Table) Match(path string) (*Route, Params) {
	path = strings.Trim(path, "/")
	if path == "" {
		return nil, Params{}
	}
	n := strings.Count(path, "/") + 1
	if n > maxSegments {
		return nil, Params{}
	}
	var segments [maxSegments]string
	for i := range n {
		segment, rest, _ := strings.Cut(path, "/")
		segments[i], path = FormDecode(segment), rest
	}
	for _, r := range t.byLen[n] {
		if params, ok := r.match(segments[:n]); ok {
			return r, params
		}
	}
	return nil, Params{}
}

func (r *Route) match(segments []string) (params Params, ok bool) {
	at := 0
	for i, part := range r.parts {
		if part[0] == ':' {
			params[at] = segments[i]
			at++
		} else if part != segments[i] {
			return Params{}, false
		}
	}
	return params, true
}

// FormDecode decodes one form-encoded name, value or path segment: + is a blank, %HH a
// byte, and a percent sign without two hex digits stands for itself.
func FormDecode(s string) string {
	if !strings.ContainsAny(s, "%+") {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '+':
			out = append(out, ' ')
		case c == '%' && i+2 < len(s) && hexDigit(s[i+1]) >= 0 && hexDigit(s[i+2]) >= 0:
			out = append(out, byte(hexDigit(s[i+1])<<4|hexDigit(s[i+2])))
			i += 2
		default:
			out = append(out, c)
		}
	}
	return string(out)
}

func hexDigit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	default:
		return -1
	}
}
