package contract

import "strings"

// MaxParams is the greatest number of parameters of a route.
const MaxParams = 3

// Params are the decoded parameters of a matched path, in its order.
type Params [MaxParams]string

// A Table finds the route of a path.
type Table struct {
	routes []*Route
	byLen  [maxSegments + 1][]*Route
}

const maxSegments = 6

// NewTable returns the table of routes, which are tried in the given order.
func NewTable(routes []*Route) *Table {
	t := &Table{routes: routes}
	for _, r := range routes {
		t.byLen[len(r.parts)] = append(t.byLen[len(r.parts)], r)
	}
	return t
}

// Routes returns the routes in the order in which they are tried.
func (t *Table) Routes() []*Route { return t.routes }

// Match returns the first route that path matches, nil when there is none, and
// its parameters. path is what follows /api/rest in the request target, still
// encoded and without the query. Slashes around it are ignored, an empty
// segment inside is a segment, and each segment is form-decoded after the path
// has been split, so an encoded slash never splits (wire 2).
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

// FormDecode decodes one name, value or path segment: + is a blank, %HH a byte,
// and a percent sign that starts no such pair stands for itself.
func FormDecode(s string) string {
	if !strings.ContainsAny(s, "%+") {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '+':
			out = append(out, ' ')
		case c == '%' && i+2 < len(s) && unhex(s[i+1]) >= 0 && unhex(s[i+2]) >= 0:
			out = append(out, byte(unhex(s[i+1])<<4|unhex(s[i+2])))
			i += 2
		default:
			out = append(out, c)
		}
	}
	return string(out)
}

func unhex(c byte) int {
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
