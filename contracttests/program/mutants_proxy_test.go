package program

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// A call is one request on its way to the implementation.
type call struct {
	method string
	path   string // below /api/rest as sent, without the query; others begin with !
	query  string // as sent
	as     string // the caller whose token the request has; guest without one
	header http.Header
	body   string
}

// clone returns a copy of the call with headers of its own.
func (c *call) clone() *call {
	copied := *c
	copied.header = c.header.Clone()
	return &copied
}

// equal reports whether two calls are the same request.
func (c *call) equal(d *call) bool {
	return c.method == d.method && c.path == d.path && c.query == d.query && c.as == d.as && c.body == d.body &&
		maps.EqualFunc(c.header, d.header, slices.Equal)
}

// A response is the reply to a call.
type response struct {
	status int
	header http.Header
	body   string
}

// clone returns a copy of the response with headers of its own.
func (r *response) clone() *response {
	copied := *r
	copied.header = r.header.Clone()
	return &copied
}

// equal reports whether two responses are the same.
func (r *response) equal(s *response) bool {
	return r.status == s.status && r.body == s.body && maps.EqualFunc(r.header, s.header, slices.Equal)
}

// An implementation answers calls. A fault may make several calls to it.
type implementation func(*call) *response

// A fault answers calls in place of an honest implementation, with one thing wrong.
type fault func(c *call, honest implementation) *response

// A mutantProxy is a handler that behaves like an implementation with one fault.
type mutantProxy struct {
	next        http.Handler
	credentials contracttests.Credentials
	mutant      atomic.Pointer[mutant] // nil: no fault
	hits        atomic.Int64           // calls on which the fault had an effect
}

// forwardTo returns a handler that forwards requests to the server at base.
func forwardTo(t *testing.T, base string) http.Handler {
	t.Helper()
	upstream, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 50, DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(upstream)
		r.Out.Host = r.In.Host
	}}
}

// maxMutantBody is the maximum size of a request body, in bytes.
const maxMutantBody = 32 << 20 // bytes of a request that the mutator takes

// ServeHTTP answers with the fault of the current mutant, if there is one.
func (p *mutantProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m := p.mutant.Load()
	if m == nil {
		p.next.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxMutantBody))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	sent := p.callOf(r, string(body))
	got := p.applyFault(m, sent, func(c *call) *response { return p.forward(r, sent, c) })
	maps.Copy(w.Header(), got.header)
	w.WriteHeader(got.status)
	// An error means that the client is gone.
	_, _ = io.WriteString(w, got.body)
}

// applyFault lets m answer a call that matches it, and counts a hit if that has an effect:
// another reply than the honest one to the same call, no honest reply to compare with, or
// a write that the client did not send.
func (p *mutantProxy) applyFault(m *mutant, sent *call, honest implementation) *response {
	if !m.matches(sent) {
		return honest(sent)
	}
	var honestReply *response
	otherWrite := false
	got := m.fault(sent.clone(), func(c *call) *response {
		r := honest(c)
		switch {
		case c.equal(sent):
			honestReply = r.clone()
		case c.method != http.MethodGet:
			otherWrite = true
		}
		return r
	})
	if otherWrite || honestReply == nil || !got.equal(honestReply) {
		p.hits.Add(1)
	}
	return got
}

// newCall returns a call of a Guest with the given request line.
func newCall(method, target string) *call {
	target, query, _ := strings.Cut(target, "?")
	path, below := strings.CutPrefix(target, "/api/rest")
	if !below {
		path = "!" + target
	}
	return &call{method: method, path: path, query: query, as: contracttests.Guest}
}

// callOf returns the call that r makes, with the caller whose token it has.
func (p *mutantProxy) callOf(r *http.Request, body string) *call {
	c := newCall(r.Method, r.RequestURI)
	c.header, c.body = r.Header.Clone(), body
	for _, as := range []string{contracttests.Admin, contracttests.Customer1, contracttests.Customer2} {
		if token := tokenOf(p.credentials.Authorization(as)); token != "" && tokenOf(r.Header.Get("Authorization")) == token {
			c.as = as
		}
	}
	return c
}

// tokenOf returns the token in an Authorization header, or "" if there is none.
func tokenOf(header string) string {
	_, rest, _ := strings.Cut(header, `oauth_token="`)
	token, _, _ := strings.Cut(rest, `"`)
	return token
}

// forward sends c, which is the received call sent or derived from it, to the
// implementation. It signs c again only if c differs from sent, because a wrong signature
// can be part of a case.
func (p *mutantProxy) forward(r *http.Request, sent, c *call) *response {
	target := "/api/rest" + c.path
	if whole, ok := strings.CutPrefix(c.path, "!"); ok {
		target = whole
	}
	if c.query != "" {
		target += "?" + c.query
	}
	forwarded := r.Clone(r.Context())
	forwarded.Method, forwarded.RequestURI, forwarded.Header = c.method, target, c.header.Clone()
	if target != r.RequestURI {
		u, err := r.URL.Parse(target)
		if err != nil {
			panic(err) // no fault of the table makes such a target
		}
		forwarded.URL = u
	}
	if c.as != sent.as || c.path != sent.path || c.query != sent.query {
		forwarded.Header.Set("Authorization", p.credentials.Authorization(c.as))
	}
	forwarded.Body, forwarded.ContentLength = io.NopCloser(strings.NewReader(c.body)), int64(len(c.body))
	if _, stated := forwarded.Header["Content-Length"]; stated {
		forwarded.Header.Set("Content-Length", strconv.Itoa(len(c.body)))
	}
	w := httptest.NewRecorder()
	p.next.ServeHTTP(w, forwarded)
	header := w.Header().Clone()
	header.Del("Content-Length")
	return &response{w.Code, header, w.Body.String()}
}

// edit changes the tree of a body in JSON or XML, and nothing else about its bytes. It
// does not touch a body that its renderer would not reproduce exactly.
func (r *response) edit(change func(root *codec.Node)) {
	var f contract.Format
	switch mediaType, _, _ := strings.Cut(r.header.Get("Content-Type"), ";"); mediaType {
	case "application/json":
		f = contract.JSON
	case "application/xml":
		f = contract.XML
	default:
		return
	}
	tree, err := codec.Decode(f, []byte(r.body))
	if err != nil {
		return
	}
	_, root, _ := strings.Cut(r.body, "<?xml version=\"1.0\"?>\n<")
	root, _, _ = strings.Cut(root, ">")
	root = strings.TrimSuffix(root, "/")
	numbered := len(tree.Members) > 0 && tree.Members[0].Key == "data_item_1"
	if numbered {
		number(&tree)
	}
	render := func() string { return string(codec.Append(nil, f, root, &tree, numbered)) }
	if render() != r.body {
		return
	}
	change(&tree)
	r.body = render()
}

// number renames the members of a list to their positions.
func number(n *codec.Node) {
	for i := range n.Members {
		n.Members[i].Key = strconv.Itoa(i)
	}
}

// edit changes the tree of a body in any format, and reports whether the call has such a
// body.
func (c *call) edit(change func(root *codec.Node)) bool {
	f, _, err := codec.ContentType(c.header.Get("Content-Type"))
	if err != nil || c.body == "" {
		return false
	}
	tree, err := codec.Decode(f, []byte(c.body))
	if err != nil || tree.Kind != codec.Struct {
		return false
	}
	before := string(codec.Append(nil, f, "service_api", &tree, false))
	change(&tree)
	if after := string(codec.Append(nil, f, "service_api", &tree, false)); after != before {
		c.body = after
	}
	return true
}

// matches reports whether the fault of m can show in c.
func (m *mutant) matches(c *call) bool {
	for pattern := range strings.SplitSeq(m.calls, ", ") {
		if matchesPattern(pattern, c) {
			return true
		}
	}
	return false
}

// matchesPattern reports whether c matches a pattern "role METHOD,METHOD
// /path/:parameter". The role may be left out, and customer stands for both customers; *
// is any method or any path.
func matchesPattern(pattern string, c *call) bool {
	words := strings.Fields(pattern)
	if len(words) == 3 {
		if !strings.HasPrefix(c.as, words[0]) {
			return false
		}
		words = words[1:]
	}
	if words[0] != "*" && !slices.Contains(strings.Split(words[0], ","), c.method) {
		return false
	}
	if words[1] == "*" {
		return true
	}
	return slices.EqualFunc(strings.Split(words[1], "/"), strings.Split("/"+strings.Trim(c.path, "/"), "/"), func(want, got string) bool {
		return want == got || strings.HasPrefix(want, ":") && (want != ":id" || got != "" && strings.Trim(got, "0123456789") == "")
	})
}

// TestMutantPatterns checks which calls a pattern matches.
func TestMutantPatterns(t *testing.T) {
	for name, test := range map[string]struct {
		pattern  string
		call     call
		concerns bool
	}{
		"the path":             {"GET /customers/:id", call{method: "GET", path: "/customers/17"}, true},
		"another path":         {"GET /customers/:id", call{method: "GET", path: "/customers"}, false},
		"another method":       {"GET /customers/:id", call{method: "PUT", path: "/customers/17"}, false},
		"one of two methods":   {"GET,PUT /customers/:id", call{method: "PUT", path: "/customers/17"}, true},
		"an id of digits":      {"GET /customers/:id", call{method: "GET", path: "/customers/addresses"}, false},
		"any text":             {"GET /products/:product", call{method: "GET", path: "/products/kettle-steel"}, true},
		"either customer":      {"customer GET /customers/:id", call{method: "GET", path: "/customers/1", as: "customer_2"}, true},
		"a role that is not":   {"customer GET /customers/:id", call{method: "GET", path: "/customers/1", as: "admin"}, false},
		"everything":           {"* *", call{method: "PATCH", path: "!/media/x"}, true},
		"outside the contract": {"GET /x", call{method: "GET", path: "!/x"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := matchesPattern(test.pattern, &test.call); got != test.concerns {
				t.Errorf("%q concerns %+v: %t, want %t", test.pattern, test.call, got, test.concerns)
			}
		})
	}
}
