package contracttests

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	replyTimeout = 60 * time.Second // for connecting, sending and reading together
	maxReply     = 32 << 20         // bytes of one reply, headers included
)

// A server is where requests go: a target's base URL, taken apart.
type server struct {
	scheme  string
	host    string // as in the Host header
	path    string // the base path, which stands before /api/rest; no slash at its end
	address string // to dial
	tls     *tls.Config
}

// apiPath begins the paths of the contract, below the base path of a server.
const apiPath = "/api/rest"

// parseServer takes apart a base URL: http or https, a host, perhaps a port, perhaps a
// path, nothing else.
func parseServer(base string, config *tls.Config) (server, error) {
	u, err := url.Parse(base)
	if err != nil {
		return server{}, errors.New("base URL must be http(s)://host[:port]") // err would repeat a password
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return server{}, errors.New("base URL must be http(s)://host[:port][/path]")
	}
	basePath := strings.TrimRight(u.EscapedPath(), "/")
	if before, _, found := strings.Cut(basePath+"/", apiPath+"/"); found {
		return server{}, fmt.Errorf("base URL must be what stands before %s: %s://%s%s", apiPath, u.Scheme, u.Host, before)
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return server{u.Scheme, u.Host, basePath, net.JoinHostPort(u.Hostname(), port), config}, nil
}

// baseURL returns what {{base_url}} in a request stands for.
func (s server) baseURL() string { return s.origin() + s.path }

// origin returns what stands before the target of a request in a URL.
func (s server) origin() string { return s.scheme + "://" + s.host }

// expected returns a text that is expected of an answer, in which {{base_url}} ends with
// the base path.
func (s server) expected(text string) string {
	return strings.ReplaceAll(text, "{{base_url}}", "{{base_url}}"+s.path)
}

// below returns a path of the server without the base path, for one of the contract.
// Others stay as they are.
func (s server) below(path string) string {
	if rest, ok := strings.CutPrefix(path, s.path); ok && strings.HasPrefix(rest, apiPath) {
		return rest
	}
	return path
}

func (s server) dial(ctx context.Context) (net.Conn, error) {
	if s.scheme == "https" {
		return (&tls.Dialer{Config: s.tls}).DialContext(ctx, "tcp", s.address)
	}
	return new(net.Dialer).DialContext(ctx, "tcp", s.address)
}

// A request is a step made ready for one server.
type request struct {
	method  string
	target  string // of the request line, as it is
	host    string
	headers []header // without Host, Content-Length and auth
	auth    []header // the credentials of the caller as, which no report shows
	body    *string  // nil: none
	as      string   // the caller of auth; empty if there is none
}

// newRequest returns the request of step s to srv.
func newRequest(srv server, creds Credentials, s *Step) request {
	fill := func(text string) string { return strings.ReplaceAll(text, "{{base_url}}", srv.baseURL()) }
	r := request{method: s.Method, host: srv.host, headers: s.headers()}
	for i := range r.headers {
		r.headers[i].value = fill(r.headers[i].value)
	}
	target, whole := strings.CutPrefix(fill(s.Path), "!")
	if !whole {
		target = srv.path + apiPath + target
	} else if strings.HasPrefix(target, "/") {
		target = srv.path + target
	} else if _, after, ok := strings.Cut(target, "://"); ok && isAbsolute(target) {
		// The authority of an absolute target is the Host (RFC 9112 3.2.2).
		if end := strings.IndexAny(after, "/?"); end >= 0 {
			after = after[:end]
		}
		r.host = after
	}
	r.target = target
	if s.Body != nil {
		body := fill(*s.Body)
		r.body = &body
	}
	if !s.overrides("Authorization") {
		r.auth = creds.headers(s.As, srv, &r)
	}
	if len(r.auth) > 0 {
		r.as = s.As
	}
	return r
}

// contentLength returns the value of the Content-Length header, or "" when the
// request has none.
func (r *request) contentLength() string {
	switch {
	case r.body != nil:
		return strconv.Itoa(len(*r.body))
	case r.method == "POST" || r.method == "PUT" || r.method == "DELETE":
		return "0"
	}
	return ""
}

// bytes returns the request as it goes over the wire.
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

// A reply is what came back.
type reply struct {
	status int
	header http.Header
	body   string
}

// send makes one request on a connection of its own. A Location in the reply has no base
// path: recordings and cases hold for any. It fails when there is no
// whole reply within a minute and 32 MiB, or more than one.
func (s server) send(ctx context.Context, r *request) (*reply, error) {
	ctx, cancel := context.WithTimeout(ctx, replyTimeout)
	defer cancel()
	conn, err := s.dial(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := conn.Write(r.bytes()); err != nil {
		return nil, fmt.Errorf("sending: %w", err)
	}
	// ReadResponse must know of a HEAD: its reply states a length but has no body.
	in := bufio.NewReader(io.LimitReader(conn, maxReply))
	resp, err := http.ReadResponse(in, &http.Request{Method: r.method})
	if err != nil {
		return nil, fmt.Errorf("reading the reply: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the body: %w", err)
	}
	if n := in.Buffered(); n > 0 {
		return nil, fmt.Errorf("%d bytes after the end of the reply", n)
	}
	for i, location := range resp.Header["Location"] {
		resp.Header["Location"][i] = s.below(location)
	}
	return &reply{resp.StatusCode, resp.Header, string(body)}, nil
}
