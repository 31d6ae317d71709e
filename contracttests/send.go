package contracttests

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// replyTimeout is the time for connecting, sending and reading together.
const replyTimeout = 60 * time.Second

// A server is a parsed base URL.
type server struct {
	scheme  string
	host    string // as in the Host header
	path    string // the base path before /api/rest, without a trailing slash
	address string // host:port to dial
	tls     *tls.Config
}

// apiPath is the prefix of all paths of the contract, below the base path of a server.
const apiPath = "/api/rest"

// parseServer parses a base URL, which consists of http or https, a host, and optionally
// a port and a path. Errors do not repeat the URL, which may contain a password.
func parseServer(base string, config *tls.Config) (server, error) {
	u, err := url.Parse(base)
	if err != nil {
		return server{}, errors.New("base URL must be http(s)://host[:port]") // err might contain a password
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return server{}, errors.New("base URL must be http(s)://host[:port][/path]")
	}
	basePath := strings.TrimRight(u.EscapedPath(), "/")
	if before, _, found := strings.Cut(basePath+"/", apiPath+"/"); found {
		return server{}, fmt.Errorf("base URL must end before %s: %s://%s%s", apiPath, u.Scheme, u.Host, before)
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return server{u.Scheme, u.Host, basePath, net.JoinHostPort(u.Hostname(), port), config}, nil
}

// baseURL returns the value of {{base_url}} in requests, without a trailing slash.
func (s server) baseURL() string { return s.origin() + s.path }

// origin returns the scheme and host, which precede the request target in a URL.
func (s server) origin() string { return s.scheme + "://" + s.host }

// withBasePath appends the base path to each {{base_url}} in an expected text. There,
// {{base_url}} matches only a scheme and a host.
func (s server) withBasePath(text string) string {
	return strings.ReplaceAll(text, "{{base_url}}", "{{base_url}}"+s.path)
}

// withoutBasePath removes the base path from a path of the API. It returns other paths
// unchanged.
func (s server) withoutBasePath(path string) string {
	if rest, ok := strings.CutPrefix(path, s.path); ok && strings.HasPrefix(rest, apiPath) {
		return rest
	}
	return path
}

// A request is the request of a step, ready to be sent to one server.
type request struct {
	method  string
	target  string // as in the request line
	host    string
	headers []header // without Host, Content-Length and auth
	auth    []header // the credentials of the caller; not shown in reports
	body    *string  // nil for none
	as      string   // the caller that auth belongs to; "" without auth
}

// newRequest returns the request of step s to srv, authenticated as the caller of s. A
// step that sets an Authorization header of its own is not authenticated.
func newRequest(srv server, creds Credentials, s *Step) request {
	expand := func(text string) string { return strings.ReplaceAll(text, "{{base_url}}", srv.baseURL()) }
	r := request{method: s.Method, host: srv.host, headers: s.headers()}
	if at := slices.IndexFunc(r.headers, func(h header) bool { return strings.EqualFold(h.name, "Host") }); at >= 0 {
		r.host = r.headers[at].value
		r.headers = slices.Delete(r.headers, at, at+1)
	}
	for i := range r.headers {
		r.headers[i].value = expand(r.headers[i].value)
	}
	target, whole := strings.CutPrefix(expand(s.Path), "!")
	if !whole {
		target = srv.path + apiPath + target
	} else if strings.HasPrefix(target, "/") {
		target = srv.path + target
	} else if _, after, ok := strings.Cut(target, "://"); ok && isAbsolute(target) {
		// The Host of an absolute target is its authority (RFC 9112 3.2.2).
		if end := strings.IndexAny(after, "/?"); end >= 0 {
			after = after[:end]
		}
		r.host = after
	}
	r.target = target
	if s.Body != nil {
		body := expand(*s.Body)
		r.body = &body
	}
	if !s.setsHeader("Authorization") {
		r.auth = creds.headers(s.As, srv, &r)
	}
	if len(r.auth) > 0 {
		r.as = s.As
	}
	return r
}

// contentLength returns the value of the Content-Length header, or "" if the request has
// none.
func (r *request) contentLength() string {
	switch {
	case r.body != nil:
		return strconv.Itoa(len(*r.body))
	case r.method == "POST" || r.method == "PUT" || r.method == "DELETE":
		return "0"
	}
	return ""
}

// bytes returns the request as it is sent, with its credentials.
func (r *request) bytes() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", r.method, r.target, r.host)
	for _, h := range slices.Concat(r.headers, r.auth) {
		fmt.Fprintf(&b, "%s: %s\r\n", h.name, h.value)
	}
	if n := r.contentLength(); n != "" {
		fmt.Fprintf(&b, "Content-Length: %s\r\n", n)
	}
	b.WriteString("\r\n")
	if r.body != nil {
		b.WriteString(*r.body)
	}
	return b.Bytes()
}

// A reply is a complete reply of a server.
type reply struct {
	status int
	header http.Header
	body   string
}

// roundTrip makes one request on a new connection, as described at [connection.exchange].
func (s server) roundTrip(ctx context.Context, r *request) (*reply, error) {
	ctx, cancel := context.WithTimeout(ctx, replyTimeout)
	defer cancel()
	c, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.exchange(ctx, r)
}
